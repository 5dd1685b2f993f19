"""Data missing from a report, with reasons: skipped recordings, unscored patients, failed and damaged cells."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.results.files.read import MEBIBYTE, read_regular
from benchmark.results.names import SKIPPED_COLUMNS
from benchmark.results.plain_text import harmless
from benchmark.results.plan import Plan, PlannedCell
from reports.runs.failures import unfinished
from reports.runs.run import Run
from reports.tables.captions import ratio_text

LARGEST_SKIPPED = 256 * MEBIBYTE
"""Bytes of skipped.csv."""
TRACEBACK_LIMIT = 8000
"""Last characters of a traceback that are shown."""


class SkippedRecording(NamedTuple):
    """One line of skipped.csv."""

    dataset: str
    recording: str
    patient: str
    reason: str
    """Kind, a colon, and details of this recording."""


@dataclass(frozen=True)
class Source:
    """Size of one dataset, and its skipped recordings."""

    title: str
    kind: str
    """'simulated' or 'real'."""
    recordings: str
    patients: str
    skipped: int
    reasons: tuple[tuple[str, int], ...]
    """(kind of reason, recordings); the most frequent first."""
    listed: tuple[SkippedRecording, ...]
    """Lines of skipped.csv; empty where their counts are not this plan's."""


@dataclass(frozen=True)
class Unscored:
    """Number of patients of one class, and of those without a scored recording."""

    dataset: str
    label: str
    patients: int
    unscored: int
    reasons: str


@dataclass(frozen=True)
class FailedCells:
    """One error and all cells that ended in it."""

    state: str
    """'failed' or 'damaged'."""
    error: str
    """One line."""
    traceback: str
    """Of the first cell, or its end; '' where none was kept."""
    cells: tuple[str, ...]


def read_skipped(file: Path) -> list[SkippedRecording]:
    """The lines of a skipped.csv; empty where the file is missing or has other columns."""
    try:
        lines = csv.DictReader(StringIO(read_regular(file, LARGEST_SKIPPED).decode("utf-8", "replace"), newline=""))
        if lines.fieldnames != list(SKIPPED_COLUMNS):
            return []
        return [SkippedRecording(*(harmless(line[name] or "") for name in SKIPPED_COLUMNS)) for line in lines]
    except (OSError, csv.Error):
        return []


def sources(plan: Plan, skipped: Sequence[SkippedRecording]) -> Iterator[Source]:
    """The datasets of a plan and its pretraining corpus, each once."""
    corpus = str(plan.pretraining["name"])
    for name, facts in ({corpus: plan.pretraining} | plan.datasets).items():
        reasons = _reasons(facts)
        own = [line for line in skipped if line.dataset == name]
        counted = Counter(line.reason.partition(":")[0] for line in own)
        yield Source(
            title=str(facts.get("title") or name),
            kind="simulated" if facts.get("simulated") else "real",
            recordings=str(facts["recordings"]),
            patients=str(facts["patients"]),
            skipped=sum(reasons.values()),
            reasons=tuple(sorted(reasons.items(), key=lambda found: (-found[1], found[0]))),
            listed=tuple(own) if counted == reasons else (),
        )


def _reasons(facts: Mapping[str, Any]) -> dict[str, int]:
    """Kind of reason -> recordings; a plain count gets 'reason not recorded'."""
    skipped = facts.get("skipped") or {}
    return dict(skipped) if isinstance(skipped, Mapping) else {"reason not recorded": int(skipped)}


def coverage(run: Run) -> Iterator[Unscored]:
    """One line per class of each dataset, from its first finished cell: all have the same recordings."""
    told = set[str]()
    for cell in run.plan.cells:
        row = run.rows.get(cell.key)
        if row is None or not row.coverage or cell.dataset in told:
            continue
        told.add(cell.dataset)
        title = str(run.plan.datasets[cell.dataset]["title"])
        for label, found in row.coverage.items():
            reasons = Counter(found["unscored"].values()).most_common()
            text = ", ".join(f"{reason}: {count}" for reason, count in reasons)
            yield Unscored(title, label, found["patients"], len(found["unscored"]), text)


def failures(run: Run) -> Iterator[FailedCells]:
    """One per error, in plan order."""
    for found in unfinished(run, run.plan.cells):
        cells = dict.fromkeys(_place(run.plan, cell) for cell in found.cells)
        yield FailedCells(found.state, found.error, found.traceback[-TRACEBACK_LIMIT:], tuple(cells))


def _place(plan: Plan, cell: PlannedCell) -> str:
    dataset = plan.datasets[cell.dataset]["title"]
    where = f"{plan.variants[cell.variant]}, {dataset}, {ratio_text(cell.ratio, cell.evaluation)}, seed {cell.seed}"
    return f"{where}, {cell.evaluation} ({cell.key})"
