"""Scores of the parts of a test set: its classes and the groups of its patients, with their intervals.

Groups are by sex and age band; the gap of each is to the largest group of its attribute. All groups of an attribute are
scored over the same classes: those that each group with enough patients has often enough. The patients are resampled
together, so that a patient with recordings in two bands is drawn in both.

`computed` has the scores that no row holds, of a run's cells, from their stored predictions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.results.metrics import (
    CLASS_SCORES,
    METRICS,
    NO_WINDOW,
    Lines,
    class_f1,
    class_scores,
    macro,
    per_recording,
)
from benchmark.results.names import HEARTBEAT, Pool
from benchmark.results.store import ATTRIBUTES, Groups, PlannedCell, Predictions, read_people
from reports.runs import CELL, TIDY, ReportCache, Run, fingerprints_of, layouts, over_subsets
from reports.statistics.bootstrap import (
    Floats,
    ResampledLines,
    ResampledTestSet,
    mean_of,
    of_each,
    pooled,
    resampled_lines,
    resampled_test_set,
)
from reports.statistics.estimates import estimate

RESAMPLES = 200
"""The first of the resamples of the main statistics; enough for a standard error (Efron and Tibshirani, 1993)."""
MACRO = ""
"""In place of a class: the mean over the classes (ECE of single labels: of the most probable class)."""
FEWEST_PATIENTS = 20
"""Test patients of a group that is scored."""
FEWEST_OF_CLASS = 5
"""Patients with and patients without a class in each scored group, else the class does not count."""
SCORES = ("f1", "auroc")
"""Of a group."""
UNLABELLED = "no labelled window of class "
"""How the note of a row begins whose labelled windows lack classes (`benchmark.data.splits.absent_classes`)."""


@dataclass(frozen=True)
class Estimated:
    """A mean over seeds with its 95 % interval, in [0, 1] (a gap: in [-1, 1]); NaN where unknown, `remark` says why."""

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
    """A class of a test set, or a group of its patients."""

    name: str
    lines: int
    """Windows or recordings of the part."""
    patients: int
    """With a line of the part."""
    share: float
    """Of all lines: the prevalence of a class."""
    attribute: str = ""
    """Of a group: 'sex' or 'age'."""
    classes: int = 0
    """Of a group: those of the dataset that it is scored over."""
    reference: bool = False
    """The group that gaps are to: the largest of its attribute."""


@dataclass(frozen=True)
class PartTable:
    """The scores of the rows of one place, by class or by group."""

    place: Place
    lines: int
    """Of the test set, as patients and classes."""
    patients: int
    classes: int
    parts: tuple[Part, ...]
    """No groups where the store does not know the recordings' sex and age."""
    scores: dict[tuple[str, str, str], tuple[Estimated, ...]]
    """(variant, class or MACRO, score of `CLASS_SCORES`) -> the score; (variant, group, score of `SCORES`) -> the score
    and its gap, none for a group with too few patients or classes."""
    unlabelled: tuple[tuple[str, int, int], ...] = ()
    """(classes without a labelled window, cells of the place where that is so, cells of the place)."""


def class_tables(run: Run, units: Sequence[str], kept: ReportCache | None = None) -> list[PartTable]:
    """The scores by class of each place with a finished cell and a test line. Raises UnequalTestSets, CorruptRow.

    kept: where they are looked up and left for the next report.
    """
    tables = _looked_up(kept, ("classes", *units), lambda: [_by_class(run, *own) for own in _places(run, units)])
    return [table for table in tables if table.lines]


def subgroup_tables(run: Run, units: Sequence[str], kept: ReportCache | None = None) -> list[PartTable]:
    """The scores by group of each place with a finished cell; arguments and errors as for `class_tables`."""
    people = {name: _people(run, name) for name in run.plan.datasets}
    groups = str(sorted((name, sorted(own.items())) for name, own in people.items()))
    return _looked_up(
        kept,
        ("subgroups", *units, groups),
        lambda: [_by_group(run, place, cells, people[place.dataset]) for place, cells in _places(run, units)],
    )


def _looked_up(
    kept: ReportCache | None, place: Sequence[str], compute: Callable[[], list[PartTable]]
) -> list[PartTable]:
    known = kept.get(*place) if kept else None
    if known is not None:
        return [
            PartTable(
                **table
                | {"place": Place(**table["place"]), "parts": tuple(Part(**part) for part in table["parts"])}
                | {"unlabelled": tuple((*own,) for own in table["unlabelled"])}
                | {"scores": {(*key,): tuple(Estimated(*one) for one in found) for *key, found in table["scores"]}}
            )
            for table in known
        ]
    tables = compute()
    if kept:
        scores = [[[*key, list(map(astuple, found))] for key, found in table.scores.items()] for table in tables]
        kept.put([asdict(table) | {"scores": own} for table, own in zip(tables, scores, strict=True)], *place)
    return tables


def _places(run: Run, units: Sequence[str]) -> Iterator[tuple[Place, list[PlannedCell]]]:
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
    run: Run, cells: Sequence[PlannedCell], score: Callable[[Predictions, str], dict[str, Floats]]
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


def estimated(scores: Floats, patients: int, *, gap: bool = False) -> Estimated:
    """The estimate of (S, 1+R) scores or gaps of seeds."""
    found = estimate(scores, patients)
    low, high = np.clip([found.low, found.high], -1 if gap else 0, 1)
    return Estimated(found.mean, float(low), float(high), found.seeds, found.remark)


def _by_class(run: Run, place: Place, cells: Sequence[PlannedCell]) -> PartTable:
    test = resampled_test_set(run.store.predictions(cells[0].key), place.unit, resamples=RESAMPLES, pool=run.plan.pool)
    lines, classes = test.truth.shape
    names = classes_of(run, place.dataset, classes)
    parts = tuple(_part(test, name, truth == 1) for name, truth in zip(names, test.truth.T, strict=True))
    scores: dict[tuple[str, str, str], tuple[Estimated, ...]] = {}

    def score(found: Predictions, labels: str) -> dict[str, Floats]:
        own = resampled_lines(test, found.probability, multi=labels == "multi")
        by_class = class_scores(own)  # (1+R, C) each
        whole = {f"{name} {MACRO}": macro(values) for name, values in by_class.items()}
        return by_class | whole | ({} if own.multi else {f"ece {MACRO}": METRICS["ece"].of(own)})

    for variant, found in _scores_of(run, cells, score) if lines else ():
        for name in CLASS_SCORES:
            scores[variant, MACRO, name] = (estimated(found[f"{name} {MACRO}"], test.patients),)
            for c, part in enumerate(parts):
                own = estimated(found[name][..., c], test.patients) if 0 < part.lines < lines else None
                scores[variant, part.name, name] = (own or _untested(len(found[name])),)
    notes = Counter(note for cell in cells for note in run.rows[cell.key].notes if note.startswith(UNLABELLED))
    unlabelled = tuple((note.removeprefix(UNLABELLED), count, len(cells)) for note, count in notes.items())
    return PartTable(place, lines, test.patients, classes, parts, scores, unlabelled)


def classes_of(run: Run, dataset: str, count: int) -> list[str]:
    """Names of the classes of a dataset; numbers where the plan names others."""
    named = list(run.plan.datasets[dataset].get("classes") or [])
    return named if len(named) == count else [f"class {number}" for number in range(1, count + 1)]


def _part(test: ResampledTestSet, name: str, lines: NDArray[np.bool_]) -> Part:
    """A part of a test set by its lines (n,)."""
    share = float(lines.mean()) if len(lines) else 0.0
    return Part(name, int(lines.sum()), len(np.unique(test.patient[lines])), share)


def _untested(seeds: int) -> Estimated:
    nan = float("nan")
    return Estimated(nan, nan, nan, seeds, "the class has not both signs in the test set")


@dataclass(frozen=True)
class Scored:
    """A group, its part of the test set and the classes that count in its attribute."""

    part: Part
    lines: NDArray[np.bool_]
    """(n,) those of the group."""
    test: ResampledTestSet
    """Its lines and patients, as often as these are drawn from all."""
    counting: NDArray[np.bool_]
    """(C,)"""


def _people(run: Run, dataset: str) -> Groups:
    """Sex and age band of the recordings of a dataset; {} where the store does not have them."""
    files = (read_people(run.store.root, own) for own in fingerprints_of(run, dataset))
    return next((found for found in files if found), {})


def _by_group(run: Run, place: Place, cells: Sequence[PlannedCell], people: Groups) -> PartTable:
    predictions = run.store.predictions(cells[0].key)
    test = resampled_test_set(predictions, place.unit, resamples=RESAMPLES, pool=run.plan.pool)
    recordings = predictions.recording if test.recording is None else np.unique(predictions.recording)  # (n,)
    names, line = np.unique(recordings, return_inverse=True)
    groups: list[Scored] = []
    for number, attribute in enumerate(ATTRIBUTES):
        said = np.array([people.get(str(name), ("", ""))[number] for name in names], np.str_)[line]  # (n,)
        groups += _groups(test, said, attribute)
    scored = [own for own in groups if own.part.classes]
    references = {own.part.attribute: own.part.name for own in scored if own.part.reference}
    scores: dict[tuple[str, str, str], tuple[Estimated, ...]] = {}

    def score(cell: Predictions, labels: str) -> dict[str, Floats]:
        probability = pooled(test, cell.probability)
        found: dict[str, Floats] = {}
        for own in scored:
            lines = ResampledLines(own.test.truth, probability[own.lines], labels == "multi", own.test)
            by_class = {"f1": class_f1(lines), "auroc": lines.areas_to_first_order()}  # (1+R, C) each
            found |= {f"{own.part.name} {name}": macro(by_class[name][:, own.counting]) for name in SCORES}
        return found

    for variant, found in _scores_of(run, cells, score) if scored else ():
        for part in (own.part for own in scored):
            for name in SCORES:
                values, others = found[f"{part.name} {name}"], found[f"{references[part.attribute]} {name}"]
                gap = estimated(values - others, part.patients, gap=True)  # the reference has as many or more
                scores[variant, part.name, name] = (estimated(values, part.patients), gap)
    parts = tuple(own.part for own in groups)
    return PartTable(place, len(test.truth), test.patients, test.truth.shape[1], parts, scores)


def _groups(test: ResampledTestSet, said: NDArray[np.str_], attribute: str) -> Iterator[Scored]:
    """The groups of an attribute with a test patient, by the group of each line (n,)."""
    found = {name: _part(test, name, said == name) for name in ATTRIBUTES[attribute] if (said == name).any()}
    enough = [part for part in found.values() if part.patients >= FEWEST_PATIENTS]
    largest = max(enough, key=lambda part: part.patients, default=None)
    counting = np.ones(test.truth.shape[1], np.bool_)  # (C,)
    for part in enough:
        for sign in (0, 1):
            of_sign = [test.patient[(said == part.name) & (truth == sign)] for truth in test.truth.T]
            counting &= np.array([len(np.unique(own)) >= FEWEST_OF_CLASS for own in of_sign])
    compared = int(counting.sum()) if len(enough) > 1 else 0
    for name, part in found.items():
        lines = said == name
        classes = compared if part in enough else 0
        group = Part(name, part.lines, part.patients, part.share, attribute, classes, part is largest)
        there, patient = np.unique(test.patient[lines], return_inverse=True)
        drawn = np.ascontiguousarray(test.counts_minus_one[:, there])  # (1+R, patients of the group)
        yield Scored(group, lines, ResampledTestSet(test.truth[lines], patient, None, drawn), counting)


def computed(run: Run, cells: Sequence[PlannedCell], unit: str, metrics: Sequence[str]) -> pd.DataFrame:
    """One line per seed of each row and metric, with the columns `TIDY` (`over_subsets`). Raises CorruptRow."""
    lines = []
    for cell in cells:
        if cell.key not in run.rows:
            continue
        place = {name: getattr(cell, name) for name in CELL} | {"unit": unit}
        multi = run.rows[cell.key].labels == "multi"
        found = _lines(run.store.predictions(cell.key), unit, run.plan.pool, multi=multi)
        for metric in metrics:
            value = float(METRICS[metric].of(found)) if len(found.truth) else float("nan")
            reason = METRICS[metric].undefined if len(found.truth) else NO_WINDOW
            lines.append(place | {"metric": metric, "value": value, "reason": reason if np.isnan(value) else ""})
    return over_subsets(pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float}))


def _lines(predictions: Predictions, unit: str, pool: Pool, *, multi: bool) -> Lines:
    """The lines of a test set: its windows, or its recordings with the pooled probabilities of their windows."""
    if unit == HEARTBEAT or not len(predictions.truth):
        return Lines(predictions.truth, predictions.probability, multi)
    probability, truth, _ = per_recording(predictions.probability, predictions.truth, predictions.recording, pool)
    return Lines(truth, probability, multi)
