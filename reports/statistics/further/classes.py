"""Scores of single classes and their macro means: AUROC, AUPRC, F1, sensitivity at 90 % specificity, calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmark.results.metrics import CLASS_SCORES, METRICS, class_scores
from benchmark.results.plan import PlannedCell
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import macro
from reports.runs.kept import Kept
from reports.runs.run import Run
from reports.statistics.bootstrap import resampled_lines
from reports.statistics.columns import of_each
from reports.statistics.further.lines import RESAMPLES, Estimated, Place, by_variant, classes_of, estimated, places
from reports.statistics.test_set import Floats, ResampledTestSet, resampled_test_set

MACRO = ""
"""In place of a class: the mean over the classes (ECE of single labels: of the most probable class)."""


@dataclass(frozen=True)
class ClassCounts:
    """How often a class occurs in a test set."""

    name: str
    lines: int
    """Windows or recordings of the class."""
    patients: int
    """With a line of the class."""
    share: float
    """Prevalence: of all lines."""


@dataclass(frozen=True)
class ClassTable:
    """The scores of the rows of one place, by class."""

    place: Place
    counts: tuple[ClassCounts, ...]
    """Of each class."""
    lines: int
    """Of the test set."""
    patients: int
    scores: dict[tuple[str, str, str], Estimated]
    """(variant, class or MACRO, score) -> estimate; scores: `CLASS_SCORES`."""


def class_tables(run: Run, units: Sequence[str], kept: Kept | None = None) -> list[ClassTable]:
    """The table of each place with a finished cell, from the stored predictions. Raises UnequalTestSets, CorruptRow.

    kept: where they are looked up and left for the next report.
    """
    known = kept.get("classes", *units) if kept else None
    if known is not None:
        return [_as_stored(table) for table in known]
    found = [_table(run, place, cells) for place, cells in places(run, units)]
    tables = [table for table in found if table.lines]
    if kept:
        kept.put([_to_store(table) for table in tables], "classes", *units)
    return tables


def _table(run: Run, place: Place, cells: Sequence[PlannedCell]) -> ClassTable:
    first = cells[0].key
    test = resampled_test_set(run.store.predictions(first), place.unit, resamples=RESAMPLES, pool=run.plan.pool)
    counts = tuple(_counts(test, classes_of(run, place.dataset, test.truth.shape[1])))
    if not len(test.truth):
        return ClassTable(place, counts, 0, 0, {})

    def score(found: Predictions, labels: str) -> dict[str, Floats]:
        lines = resampled_lines(test, found.probability, multi=labels == "multi")
        own = class_scores(lines)  # (1+R, C) each
        top = {} if lines.multi else {"top": METRICS["ece"].of(lines)}
        return own | {f"{name} {MACRO}": macro(values) for name, values in own.items()} | top

    scored = of_each(run, [cell.key for cell in cells], first, score)
    scores = {}
    for variant, keys in by_variant(run, cells).items():
        own = [scored[key] for key in keys]
        for name in CLASS_SCORES:
            whole = "top" if name == "ece" and "top" in own[0] else f"{name} {MACRO}"
            scores[variant, MACRO, name] = estimated(np.stack([one[whole] for one in own]), test.patients)
            by_class = np.stack([one[name] for one in own])  # (S, 1+R, C)
            for c, count in enumerate(counts):
                tested = 0 < count.lines < len(test.truth)
                found = estimated(by_class[..., c], test.patients) if tested else _untested(len(keys))
                scores[variant, count.name, name] = found
    return ClassTable(place, counts, len(test.truth), test.patients, scores)


def _untested(seeds: int) -> Estimated:
    nan = float("nan")
    return Estimated(nan, nan, nan, seeds, "the class has not both signs in the test set")


def _counts(test: ResampledTestSet, names: Sequence[str]) -> Iterator[ClassCounts]:
    for name, truth in zip(names, test.truth.T, strict=True):
        share = float(truth.mean()) if len(truth) else 0.0
        yield ClassCounts(name, int(truth.sum()), len(np.unique(test.patient[truth == 1])), share)


def _to_store(table: ClassTable) -> dict[str, Any]:
    scores = [[*place, *asdict(found).values()] for place, found in table.scores.items()]
    return asdict(table) | {"scores": scores}


def _as_stored(table: dict[str, Any]) -> ClassTable:
    scores = {(variant, name, score): Estimated(*found) for variant, name, score, *found in table["scores"]}
    counts = tuple(ClassCounts(**count) for count in table["counts"])
    return ClassTable(Place(**table["place"]), counts, table["lines"], table["patients"], scores)
