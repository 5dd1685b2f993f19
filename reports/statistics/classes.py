"""Scores of the classes of a test set, with their intervals.

`computed` has the scores that no row holds, of a run's cells, from their stored predictions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.results.metrics import (
    CLASS_SCORES,
    METRICS,
    NO_WINDOW,
    Lines,
    class_scores,
    macro,
    per_recording,
)
from benchmark.results.names import HEARTBEAT, Pool
from benchmark.results.store import PlannedCell, Predictions
from reports.results import COORDINATES, SCORES, Results, layouts, mean_over_subsets
from reports.statistics.bootstrap import (
    Floats,
    ResampledTestSet,
    mean_of,
    of_each,
    resampled_lines,
    resampled_test_set,
)
from reports.statistics.estimates import estimate

RESAMPLES = 200
"""The first of the resamples of the main statistics; enough for a standard error (Efron and Tibshirani, 1993)."""
MACRO = ""
"""In place of a class: the mean over the classes (ECE of single labels: of the most probable class)."""
UNLABELLED = "no labelled window of class "
"""How the note of a row begins whose labelled windows lack classes (`benchmark.data.splits.absent_classes`)."""


@dataclass(frozen=True)
class Estimated:
    """A mean over seeds with its 95 % interval, in [0, 1]; NaN where unknown, `remark` says why."""

    mean: float
    low: float
    high: float
    seeds: int
    remark: str = ""


@dataclass(frozen=True)
class Place:
    """A test set at one label ratio: what one table of further scores is about."""

    evaluation: str
    unit: str
    dataset: str
    ratio: float


@dataclass(frozen=True)
class Part:
    """A class of a test set."""

    name: str
    lines: int
    """Windows or recordings of the class."""
    patients: int
    """With a line of the class."""
    share: float
    """Of all lines: the prevalence."""


@dataclass(frozen=True)
class PartTable:
    """The scores of the rows of one place by class."""

    place: Place
    lines: int
    """Of the test set, as patients."""
    patients: int
    parts: tuple[Part, ...]
    scores: dict[tuple[str, str, str], Estimated]
    """(variant, class or MACRO, score of `CLASS_SCORES`) -> the score."""
    unlabelled: tuple[tuple[str, int, int], ...] = ()
    """(classes without a labelled window, cells of the place where that is so, cells of the place)."""


def class_tables(run: Results, units: Sequence[str]) -> list[PartTable]:
    """The scores by class of each place with a finished cell and a test line. Raises UnequalTestSets, CorruptRow."""
    tables = (_by_class(run, *own) for own in _places(run, units))
    return [table for table in tables if table.lines]


def _places(run: Results, units: Sequence[str]) -> Iterator[tuple[Place, list[PlannedCell]]]:
    """Each place of the main tables that has a finished cell, with its finished cells."""
    for evaluation in dict.fromkeys(cell.evaluation for cell in run.plan.cells):
        main = next((layout for layout in layouts(run.plan, evaluation) if not layout.name), None)
        cells = [cell for cell in main.cells if cell.key in run.rows] if main else []
        for unit in units:
            for dataset in run.plan.datasets:
                for ratio in main.ratios if main else ():
                    there = [cell for cell in cells if (cell.dataset, cell.ratio) == (dataset, ratio)]
                    if there:
                        yield Place(evaluation, unit, dataset, ratio), there


def _scores_of(
    run: Results, cells: Sequence[PlannedCell], score: Callable[[Predictions, str], dict[str, Floats]]
) -> Iterator[tuple[str, dict[str, Floats]]]:
    """Each row in the order of the plan, and the scores of its seeds by name, (S, 1+R, ...)."""
    by_cell = of_each(run, [cell.key for cell in cells], cells[0].key, score)
    for variant in run.plan.variants:
        own: dict[int, list[dict[str, Floats]]] = {}
        for cell in cells:
            if cell.variant == variant:
                own.setdefault(cell.seed, []).append(by_cell[cell.key])
        if own:
            names = next(iter(own.values()))[0]
            by_seed = {name: [mean_of(np.stack([one[name] for one in of])) for of in own.values()] for name in names}
            yield variant, {name: np.stack(values) for name, values in by_seed.items()}


def estimated(scores: Floats, patients: int) -> Estimated:
    """The estimate of (S, 1+R) scores of seeds."""
    found = estimate(scores, patients)
    low, high = np.clip([found.low, found.high], 0, 1)
    return Estimated(found.mean, float(low), float(high), found.seeds, found.remark)


def _by_class(run: Results, place: Place, cells: Sequence[PlannedCell]) -> PartTable:
    test = resampled_test_set(run.predictions(cells[0].key), place.unit, resamples=RESAMPLES, pool=run.plan.pool)
    lines, classes = test.truth.shape
    names = classes_of(run, place.dataset, classes)
    parts = tuple(_part(test, name, truth == 1) for name, truth in zip(names, test.truth.T, strict=True))
    scores: dict[tuple[str, str, str], Estimated] = {}

    def score(found: Predictions, labels: str) -> dict[str, Floats]:
        own = resampled_lines(test, found.probability, multi=labels == "multi")
        by_class = class_scores(own)  # (1+R, C) each
        whole = {f"{name} {MACRO}": macro(values) for name, values in by_class.items()}
        return by_class | whole | ({} if own.multi else {f"ece {MACRO}": METRICS["ece"].of(own)})

    for variant, found in _scores_of(run, cells, score) if lines else ():
        for name in CLASS_SCORES:
            scores[variant, MACRO, name] = estimated(found[f"{name} {MACRO}"], test.patients)
            for c, part in enumerate(parts):
                own = estimated(found[name][..., c], test.patients) if 0 < part.lines < lines else None
                scores[variant, part.name, name] = own or _untested(len(found[name]))
    notes = Counter(note for cell in cells for note in run.rows[cell.key].notes if note.startswith(UNLABELLED))
    unlabelled = tuple((note.removeprefix(UNLABELLED), count, len(cells)) for note, count in notes.items())
    return PartTable(place, lines, test.patients, parts, scores, unlabelled)


def classes_of(run: Results, dataset: str, count: int) -> list[str]:
    """Names of the classes of a dataset; numbers where the plan names others."""
    named = list(run.plan.datasets[dataset].get("classes") or [])
    return named if len(named) == count else [f"class {number}" for number in range(1, count + 1)]


def _part(test: ResampledTestSet, name: str, lines: NDArray[np.bool_]) -> Part:
    """A class of a test set by its lines (n,)."""
    share = float(lines.mean()) if len(lines) else 0.0
    return Part(name, int(lines.sum()), len(np.unique(test.patient[lines])), share)


def _untested(seeds: int) -> Estimated:
    nan = float("nan")
    return Estimated(nan, nan, nan, seeds, "the class has not both signs in the test set")


def computed(run: Results, cells: Sequence[PlannedCell], unit: str, metrics: Sequence[str]) -> pd.DataFrame:
    """One line per seed of each row and metric, with the columns `SCORES` (`mean_over_subsets`). Raises CorruptRow."""
    lines = []
    for cell in cells:
        if cell.key not in run.rows:
            continue
        place = {name: getattr(cell, name) for name in COORDINATES} | {"key": cell.key} | {"unit": unit}
        multi = run.rows[cell.key].labels == "multi"
        found = _lines(run.predictions(cell.key), unit, run.plan.pool, multi=multi)
        for metric in metrics:
            value = float(METRICS[metric].of(found)) if len(found.truth) else float("nan")
            reason = METRICS[metric].undefined if len(found.truth) else NO_WINDOW
            lines.append(place | {"metric": metric, "value": value, "undefined": reason if np.isnan(value) else ""})
    return mean_over_subsets(pd.DataFrame(lines, columns=list(SCORES)).astype({"value": float}))


def _lines(predictions: Predictions, unit: str, pool: Pool, *, multi: bool) -> Lines:
    """The lines of a test set: its windows, or its recordings with the pooled probabilities of their windows."""
    if unit == HEARTBEAT or not len(predictions.truth):
        return Lines(predictions.truth, predictions.probability, multi)
    probability, truth, _ = per_recording(predictions.probability, predictions.truth, predictions.recording, pool)
    return Lines(truth, probability, multi)
