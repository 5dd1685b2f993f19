"""Whether an encoder from elsewhere saw the test patients of a column: what is known of its pretraining data.

By the word of its card. Two datasets hold the same people where they have a cohort in common, whatever their names
(`benchmark.data.audit.overlaps`). Simulated cohorts count by the names that they bear.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.data.audit.overlaps import HOLDS, known_as
from benchmark.data.prepared.load import Prepared
from benchmark.data.readers.base import Entry
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import split_or_none
from benchmark.results.plan import Answer
from methods.encoders.pretrained import PretrainedEncoder

COHORTS = tuple(dict.fromkeys(cohort for cohorts in HOLDS.values() for cohort in cohorts))
FORMS = "NAME, {dataset: NAME, folds: [1, 2]}, {dataset: NAME, recordings: FILE} or {other: NAME}"


@dataclass(frozen=True)
class Source:
    """A dataset that an encoder was pretrained on, whole or in part."""

    name: str
    is_other: bool = False
    """None of the datasets that the suite knows."""
    folds: frozenset[int] | None = None
    """Official folds that it saw; None: all."""
    recordings: frozenset[str] | None = None
    """Names of the recordings that it saw; None: all."""

    def words(self) -> str:
        """'PTB-XL, folds 1, 2', as the card names it."""
        if self.folds is not None:
            return f"{self.name} (folds {', '.join(map(str, sorted(self.folds)))})"
        return self.name if self.recordings is None else f"{self.name} ({len(self.recordings)} recordings)"

    def saw(self, held: Collection[Entry], column: Prepared) -> Answer:
        """Whether it holds one of a column's recordings, all of them of a cohort that it has.

        Folds are compared where the column is its dataset and has the publisher's: those of cards and of ecgbench are
        1, 9 and 10 for the sides. Names are, where some of them are the column's: they may be in another spelling.
        """
        if not held:
            return "no"
        if self.folds is None and self.recordings is None:
            return "yes"
        if not self.is_of(column):
            return "not known"
        if self.folds is not None:
            known = column.dataset_name in DATASETS and self.folds <= {entry.fold for entry in column.entries}
            found = known and any(entry.fold in self.folds for entry in held)
        else:
            names = self.recordings or frozenset()
            known = any(entry.recording in names for entry in column.entries)
            found = known and any(entry.recording in names for entry in held)
        return "yes" if found else "no" if known else "not known"

    def is_of(self, column: Prepared) -> bool:
        """Whether it is the column's dataset, by any spelling of its name."""
        return letters(self.name) in (letters(column.dataset_name), letters(known_as(column)))


def sources_of(kind: type[PretrainedEncoder]) -> tuple[Source, ...] | None:
    """What an encoder was pretrained on, as its class says; None: not known. Raises ValueError in one line."""
    if kind.pretrained_on is None:
        return None
    return tuple(_source(given, kind) for given in kind.pretrained_on)


def _source(given: Any, kind: type[PretrainedEncoder]) -> Source:
    place = f"{kind.word()}: pretraining data {given!r}"
    if isinstance(given, str):
        return Source(given)
    keys = set(given) if isinstance(given, Mapping) else set()
    name = given.get("other", given.get("dataset")) if isinstance(given, Mapping) else None
    if keys not in ({"other"}, {"dataset"}, {"dataset", "folds"}, {"dataset", "recordings"}) or not isinstance(
        name, str
    ):
        raise ValueError(f"{place}; write {FORMS}")
    if "folds" in given:
        folds = given["folds"]
        if not isinstance(folds, list | tuple) or not all(isinstance(fold, int) for fold in folds):
            raise ValueError(f"{place}: folds are a list of numbers, e.g. [1, 2, 3]")
        return Source(name, folds=frozenset(folds))
    if "recordings" in given:
        file = kind.file(str(given["recordings"]))
        try:
            return Source(name, recordings=frozenset(map(str.strip, file.read_text(encoding="utf-8").splitlines())))
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{place}: {file} cannot be read as names, one a line ({error})") from None
    return Source(name, is_other="other" in given)


def refuse_unknown(kind: type[PretrainedEncoder], here: Collection[str]) -> None:
    """Raise ValueError for pretraining data by a name that neither the suite nor a run (`here`) knows."""
    known = [*HOLDS, *COHORTS, *here]
    by_letters = {letters(name): name for name in reversed(known)}
    for source in sources_of(kind) or ():
        if not source.is_other and letters(source.name) not in by_letters:
            near = difflib.get_close_matches(letters(source.name), by_letters, n=1)
            hint = f" (did you mean {by_letters[near[0]]!r}?)" if near else ""
            raise ValueError(
                f"{kind.word()}: pretraining data {source.name!r} are unknown{hint}; there are "
                f"{', '.join(dict.fromkeys(known))}; for others write {{other: {source.name}}}"
            )


def letters(name: str) -> str:
    """A name without what differs in spelling: 'PTB-XL' and 'ptbxl' are one; 'ecgbench:' does not count."""
    return re.sub(r"[^a-z0-9]", "", name.lower().removeprefix("ecgbench:"))


def cohorts_of(name: str) -> dict[str, str]:
    """Cohort -> beginning of the paths of its recordings, of a dataset or a cohort by any spelling of its name."""
    for known, cohorts in HOLDS.items():
        if letters(known) == letters(name):
            return cohorts
    return {cohort: "" for cohort in COHORTS if letters(cohort) == letters(name)}


def saw(kind: type[PretrainedEncoder], column: Prepared, spec: TaskSpec) -> Answer:
    """Whether a recording of a column's test patients is among an encoder's pretraining data."""
    sources = sources_of(kind)
    if sources is None:
        return "not known"
    tested = {column.entries[r].patient for r in split_or_none(column, spec)[0].test}
    of_tested = [entry for entry in column.entries if entry.patient in tested]
    own = HOLDS.get(known_as(column), {})
    answers: set[Answer] = {"no"}
    for source in sources:
        if source.is_other:
            continue
        shared = [own[cohort] for cohort in cohorts_of(source.name) if cohort in own]
        same = source.is_of(column)
        held = [entry for entry in of_tested if same or any(entry.path.startswith(begin) for begin in shared)]
        answers.add(source.saw(held, column))
    return "yes" if "yes" in answers else "not known" if "not known" in answers else "no"


def words_of(kind: type[PretrainedEncoder]) -> str:
    """'PTB-XL, CODE-15': what it was pretrained on; 'nothing', 'data that are not known'."""
    sources = sources_of(kind)
    if sources is None:
        return "data that are not known"
    return ", ".join(source.words() for source in sources) or "nothing"
