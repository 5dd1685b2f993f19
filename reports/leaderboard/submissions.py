"""Opens the submissions of a board, each by itself: one that cannot be read is named with its reason, and the others
go on.

A submission is a results capsule, a results folder, or one run of it (FOLDER@KEY). What it was tested on is read from
the predictions of every cell, not from what its plan says.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmark.results.keys import digest
from benchmark.results.plain_text import harmless
from benchmark.results.store import CorruptRow, NoResults, Store
from reports.runs.open import ALL, runs_of
from reports.runs.run import Run
from reports.runs.scrub_paths import portable

LONGEST_NAME = 60
"""Characters of a submission's name."""


class Tested(NamedTuple):
    """Digests of one cell's predictions."""

    windows: str
    """Recording and patient of each test window, in order."""
    labels: str
    """Their labels, in order."""
    content: str
    """Of the whole file: cells with equal predictions share it."""


@dataclass(frozen=True)
class Submission:
    """One opened run with a name of its own."""

    name: str
    run: Run
    tested: dict[str, Tested]
    """Cell key -> digests, for the finished cells."""


class Unread(NamedTuple):
    """A source that is no submission, and why."""

    name: str
    reason: str


@contextmanager
def open_submissions(sources: Sequence[str]) -> Iterator[tuple[list[Submission], list[Unread]]]:
    """The submissions that the sources name, in their order, and what cannot be read; capsules are deleted on exit."""
    opened: list[tuple[str, Run]] = []
    unread: list[Unread] = []
    with TemporaryDirectory(prefix="results-") as scratch:
        for number, source in enumerate(dict.fromkeys(sources)):
            try:
                runs = runs_of(source, Path(scratch) / str(number))
            except (NoResults, OSError) as error:
                there = Path(source).exists() or Path(source.rpartition("@")[0] or source).exists()
                unread.append(Unread(name_of(source), shown(str(error)) if there else "no such file or folder"))
                continue
            several = source.endswith(f"@{ALL}")
            opened += [(f"{name_of(source)}@{run.plan.key}" if several else name_of(source), run) for run in runs]
        named = zip(unique([name for name, _ in opened]), (run for _, run in opened), strict=True)
        found, again = once([submission(name, run) for name, run in named])
        yield found, [*unread, *again]


def once(submissions: Sequence[Submission]) -> tuple[list[Submission], list[Unread]]:
    """The submissions without those that hold the same results as an earlier one."""
    first: dict[str, Submission] = {}
    again = []
    for own in submissions:
        content = digest([own.run.plan.key, sorted(own.tested.items())])
        if content in first:
            again.append(Unread(own.name, f"the same results as {first[content].name}"))
        first.setdefault(content, own)
    return list(first.values()), again


def submission(name: str, run: Run) -> Submission:
    """A submission of a run; rows whose predictions cannot be read count as damaged."""
    tested, damaged = {}, dict(run.damaged)
    for key in run.rows:
        try:
            tested[key] = digests_of(run.store, key)
        except CorruptRow as error:
            damaged[key] = str(error)
    damaged = {key: shown(problem) for key, problem in damaged.items()}
    rows = {key: row for key, row in run.rows.items() if key in tested}
    return Submission(name, Run(run.name, run.source, run.store, run.plan, rows, run.failures, damaged), tested)


def digests_of(store: Store, key: str) -> Tested:
    """The digests of a cell's predictions. Raises CorruptRow."""
    found = store.predictions(key)
    names = [*found.recording.tolist(), "", *found.patient.tolist()]
    return Tested(
        windows=_sha256("\n".join(harmless(name).replace("\n", "?") for name in names).encode()),
        labels=_sha256(repr(found.truth.shape).encode() + found.truth.tobytes()),
        content=_sha256((store.cells / f"{key}.npz").read_bytes()),
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def name_of(source: str) -> str:
    """'alice' of capsules/alice.zip, 'runs@KEY' of home/runs@KEY: no folder of this machine is shown."""
    path, separator, key = source.rpartition("@")
    if separator and path and not Path(source).exists():
        name = Path(path).name + ("" if key == ALL else f"@{key}")
    else:
        name = Path(source).resolve().name
    return one_line(name.removesuffix(".zip"))[:LONGEST_NAME] or "submission"


def unique(names: Sequence[str]) -> list[str]:
    """The names, equal ones numbered: 'alice', 'alice (2)'."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def shown(problem: str) -> str:
    """A problem in one line, without the folders of this machine."""
    return one_line(str(portable(problem)))


def one_line(text: str) -> str:
    """Text of others on one line, without harmful characters."""
    return " ".join(harmless(text).split())
