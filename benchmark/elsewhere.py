"""Encoders whose weights come from elsewhere, as rows of the tables.

Each is a class in a .py file (`methods.encoders.pretrained`). Whether it saw the test patients of a column is known by
what the class says. Two datasets hold the same people
where they have a cohort in common, whatever their names (`benchmark.data.audit`). Simulated cohorts count by the names
that they bear.

The task of a cell is the same recordings, cut to the encoder's signals. It learns from all its windows of the labelled
recordings. Its prediction of a recording, pooled over its windows, stands for each of the run's test windows of that
recording, so that all rows are tested on the same windows.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.corpus import trials_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS, Entry
from benchmark.data.heartbeats import Beats
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation, zero_missing_leads
from benchmark.data.splits import TaskSpec, tested_recordings
from benchmark.data.task import Task, Windows
from benchmark.results.metrics import pooled_by
from benchmark.results.names import RECORDING
from benchmark.results.store import Answer
from methods.encoders.pretrained import ORDER, PretrainedEncoder, Signals

CHALLENGE_2020 = ("CPSC 2018", "CPSC 2018 extra", "INCART", "PTB", "PTB-XL", "Georgia")
COHORTS_OF = {
    "ptb-xl": ("PTB-XL",),
    "cpsc2018": ("CPSC 2018",),
    "chapman": ("Chapman-Shaoxing",),
    "ningbo": ("Ningbo",),
    "mimic-iv-ecg": ("MIMIC-IV-ECG",),
    "ptbdb": ("PTB",),
    "incartdb": ("INCART",),
    "ecg-arrhythmia": ("Chapman-Shaoxing", "Ningbo"),
    "mimic-iv-ecg-demo": ("MIMIC-IV-ECG",),
    "challenge2020": CHALLENGE_2020,
    "challenge2021": (*CHALLENGE_2020, "Chapman-Shaoxing", "Ningbo"),
}
"""Public dataset -> the cohorts whose recordings it holds, by the releases' descriptions."""
COHORTS = tuple(dict.fromkeys(cohort for cohorts in COHORTS_OF.values() for cohort in cohorts))
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
        """'PTB-XL, folds 1, 2', as the class names it."""
        if self.folds is not None:
            return f"{self.name} (folds {', '.join(map(str, sorted(self.folds)))})"
        return self.name if self.recordings is None else f"{self.name} ({len(self.recordings)} recordings)"

    def saw(self, held: Collection[Entry], column: Prepared) -> Answer:
        """Whether it holds one of a column's recordings, all of them of a cohort that it has.

        Folds are compared where the column is its dataset and has the publisher's: those of cards are 1, 9 and 10
        for the sides. Names are, where some of them are the column's: they may be in another spelling.
        """
        if not held:
            return "no"
        if self.folds is None and self.recordings is None:
            return "yes"
        if not self.is_of(column):
            return "not known"
        if self.folds is not None:
            known = column.dataset_name in DATASETS and self.folds <= {entry.fold for entry in column.entries}
            found = any(entry.fold in self.folds for entry in held)
        else:
            names = self.recordings or frozenset()
            known = any(entry.recording in names for entry in column.entries)
            found = any(entry.recording in names for entry in held)
        return "not known" if not known else "yes" if found else "no"

    def is_of(self, column: Prepared) -> bool:
        """Whether it is the column's dataset, by any spelling of its name."""
        return letters(self.name) == letters(column.dataset_name)


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
    known = [*COHORTS_OF, *COHORTS, *here]
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
    """A name without what differs in spelling: 'PTB-XL' and 'ptbxl' are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def cohorts_of(name: str) -> tuple[str, ...]:
    """The cohorts of a dataset or a cohort by any spelling of its name."""
    for known, cohorts in COHORTS_OF.items():
        if letters(known) == letters(name):
            return cohorts
    return tuple(cohort for cohort in COHORTS if letters(cohort) == letters(name))


def saw(kind: type[PretrainedEncoder], column: Prepared, spec: TaskSpec) -> Answer:
    """Whether a recording of a column's test patients is among an encoder's pretraining data."""
    sources = sources_of(kind)
    if sources is None:
        return "not known"
    tested = {column.entries[r].patient for r in tested_recordings(column, spec)}
    of_tested = [entry for entry in column.entries if entry.patient in tested]
    cohorts = COHORTS_OF.get(column.dataset_name, ())
    answers: set[Answer] = {"no"}
    for source in sources:
        if source.is_other:
            continue
        shares = source.is_of(column) or not {*cohorts}.isdisjoint(cohorts_of(source.name))
        held = of_tested if shares else []
        answers.add(source.saw(held, column))
    return "yes" if "yes" in answers else "not known" if "not known" in answers else "no"


def words_of(kind: type[PretrainedEncoder]) -> str:
    """'PTB-XL, CODE-15': what it was pretrained on; 'nothing', 'data that are not known'."""
    sources = sources_of(kind)
    if sources is None:
        return "data that are not known"
    return ", ".join(source.words() for source in sources) or "nothing"


WINDOWS = 3
CLOSE = 1e-3
"""Largest difference, relative, between a window alone and among others."""
ATTRIBUTE_KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,), "title": (str,), "signals": (Signals,), "features": (int,), "licence": (str,), "weights": (tuple,),
    "pretrained_on": (tuple, type(None)),
}  # fmt: skip
"""Attribute of the class -> its types."""


def tried(kind: type[PretrainedEncoder]) -> PretrainedEncoder:
    """The encoder with its weights, after it has given features for windows of noise.

    Raises ValueError in one line that names the value, its place and the remedy.
    """
    told_of(kind)
    encoder, where = opened_encoder(kind), kind.word()
    x = noise(kind)  # (n, S, 12)
    try:
        with torch.no_grad():
            found = encoder.steps(encoder.embed(x))  # (n, 1, K)
            again, alone = encoder.steps(encoder.embed(x)), encoder.steps(encoder.embed(x[:1]))
    except ValueError:
        raise
    except Exception as error:  # of anyone's code
        reason = (" ".join(str(error).split()) or type(error).__name__)[-160:]
        own = kind.signals
        raise ValueError(
            f"{where}: it takes no windows of {len(own.leads)} leads and {own.samples} samples, {own.layout} "
            f"({reason}); correct signals: leads, rate, seconds or layout"
        ) from error
    if found.ndim != 3 or len(found) != WINDOWS:
        shape = (found.shape[0], *found.shape[2:])
        raise ValueError(f"{where}: {WINDOWS} windows give {shape}; one row of numbers a window is needed, pooled")
    if found.shape[2] != kind.features:
        raise ValueError(
            f"{where}: features {kind.features}, but a window gives {found.shape[2]} numbers; write {found.shape[2]}"
        )
    if not found.isfinite().all():
        raise ValueError(f"{where}: windows of noise give numbers that are not finite; check signals.unit")
    if not torch.equal(found, again):
        raise ValueError(f"{where}: the same windows give other numbers at each call; switch its dropout off")
    if not (found[:1] - alone).abs().max() <= CLOSE * found[:1].abs().max().clamp_min(1e-6):
        raise ValueError(f"{where}: a window's numbers depend on the others of its batch; use statistics that are kept")
    return encoder


def opened_encoder(kind: type[PretrainedEncoder]) -> PretrainedEncoder:
    """The encoder with its weights. Raises ValueError for a file that is missing or not of its network."""
    kind.external_files()
    try:
        return kind.loaded()
    except ValueError:
        raise
    except Exception as error:  # of anyone's code
        reason = " ".join(str(error).split())[:160]
        raise ValueError(
            f"{kind.word()}: load() fails ({type(error).__name__}: {reason}); it has to read the weights of its network"
        ) from error


def told_of(kind: type[PretrainedEncoder]) -> tuple[Source, ...] | None:
    """What it was pretrained on, after its attributes have been checked. Raises ValueError in one line."""
    for name, types in ATTRIBUTE_KINDS.items():
        value: Any = getattr(kind, name, "nothing")
        if not isinstance(value, types):
            wanted = " or ".join("None" if own is type(None) else own.__name__ for own in types)
            raise ValueError(f"{kind.word()}: {kind.__name__}.{name} is {value!r}; set it, {wanted}")
    if kind.licence.strip() == "":
        raise ValueError(f"{kind.word()}: licence is empty; state that of the weights, or 'unknown'")
    return sources_of(kind)


def noise(kind: type[PretrainedEncoder]) -> Tensor:
    """Windows of noise (n, S, 12) in mV, the same at each call."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(WINDOWS, kind.signals.samples, len(ORDER), generator=generator)  # (n, S, 12)


def segmentation_of(signals: Signals, beats: Beats = "authors") -> Segmentation:
    """How recordings are cut for an encoder: heartbeats, or consecutive windows, a shorter recording with zeros."""
    raw = signals.standardise != "recording"
    if signals.heartbeats:
        return Segmentation("heartbeats", signals.samples, signals.rate, raw=raw, beats=beats)
    return Segmentation("recordings", signals.samples, signals.rate, signals.samples, raw=raw, pad=True)


@dataclass(frozen=True)
class ExternalWindows:
    """A dataset's recordings in the windows of an encoder."""

    prepared: Prepared
    """The dataset cut by `segmentation_of`."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""

    def of(self, windows: Windows) -> Windows:
        """All own windows (m, S, 12) of the recordings of some windows, in the order in which these first appear."""
        _, first = np.unique(windows.recording, return_index=True)  # (R,)
        place = {(entry.recording, entry.patient): r for r, entry in enumerate(self.prepared.entries)}
        count = self.prepared.trials_of_each(1)  # (R',) of all recordings
        recordings, whose = [], [np.empty(0, np.int64)]
        for n in np.sort(first):
            r = place.get((windows.recording[n], windows.patient[n]))
            if r is not None:
                recordings.append(r)
                whose.append(np.full(count[r], n))
        rows = np.concatenate(whose)  # (m,) a window of the same recording
        signal = zero_missing_leads(self._signals(recordings), self.leads)
        return Windows(
            signal=torch.from_numpy(signal).to(windows.signal.device),
            target=windows.target[torch.from_numpy(rows).to(windows.target.device)],
            recording=windows.recording[rows],
            patient=windows.patient[rows],
        )

    def _signals(self, recordings: list[int]) -> NDArray[np.float16]:
        """Windows (m, S, 12) of numbered recordings; heartbeats are not standardised once more."""
        if self.prepared.segmentation.kind == "heartbeats":
            nothing = self.prepared.windows[:0]  # (0, S, 12)
            return np.concatenate([nothing, *map(self.prepared.windows_of, recordings)])
        count = self.prepared.trials_of_each(1)  # (R',)
        start = np.cumsum(count) - count  # (R',)
        index = [np.arange(start[r], start[r] + count[r]) for r in recordings]
        return trials_of(self.prepared, 1).take(np.concatenate([np.empty(0, np.int64), *index]))


def own_task(task: Task, own: ExternalWindows, validation: Windows, test: Windows) -> Task:
    """A task in own windows; `validation` and `test`: those sides, which label ratios and seeds share.

    Scores that choose count recordings.
    """
    return replace(task, train=own.of(task.train), validation=validation, test=test, unit=RECORDING, crops=None)


def lacking(task: Task, own: Task) -> list[str]:
    """A note on each side on which recordings give no window in the own form."""
    notes = []
    for side, windows in task.sides().items():
        there = len(own.sides()[side].recordings)
        if there < len(windows.recordings):
            without = len(windows.recordings) - there
            what = ": predicted by the classes' shares of the labels" if side == "test" else ""
            notes.append(f"{without} of {len(windows.recordings)} {side} recordings give no window of its own{what}")
    return notes


def spread(probability: NDArray[np.float32], own: Task, task: Task) -> NDArray[np.float32]:
    """Probabilities (n, C) of a task's test windows from those (m, C) of its own: each has that of its recording.

    A recording without an own window has the classes' shares among the labelled windows.
    """
    share = task.train.target.float().mean(0).cpu().numpy()  # (C,)
    names, whose = np.unique(own.test.recording, return_inverse=True)  # (R,), (m,)
    pooled = pooled_by(whose, probability, task.pool) if len(names) else np.empty((0, len(share)))  # (R, C)
    of_name = dict(zip(names.tolist(), pooled, strict=True))
    found = [of_name.get(name, share) for name in task.test.recording.tolist()]
    return np.stack(found).astype(np.float32) if found else np.empty((0, len(share)), np.float32)
