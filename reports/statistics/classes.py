"""Scores of single classes and of subgroups of patients, with their intervals.

Scores that no row holds, of a run's cells, from their stored predictions: lines like those of `Run.tidy`.

Scores of subgroups of the test patients, by sex and age band, and the gap of each to the largest of its attribute.

All groups of an attribute are scored over the same classes: those that each group with enough patients has often
enough. The patients are resampled together, so that a patient with recordings in two bands is drawn in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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
from reports.runs import CELL, TIDY, ReportCache, Run, fingerprints_of, layouts
from reports.statistics.bootstrap import (
    Floats,
    ResampledLines,
    ResampledTestSet,
    of_each,
    pooled,
    resampled_lines,
    resampled_test_set,
)
from reports.statistics.estimates import estimate

RESAMPLES = 200
"""The first of the resamples of the main statistics; enough for a standard error (Efron and Tibshirani, 1993)."""


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


def places(run: Run, units: Sequence[str]) -> Iterator[tuple[Place, list[PlannedCell]]]:
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


def by_variant(run: Run, cells: Sequence[PlannedCell]) -> dict[str, list[str]]:
    """Variant -> keys of its cells, in the order of the rows."""
    keys = {name: [cell.key for cell in cells if cell.variant == name] for name in run.plan.variants}
    return {name: own for name, own in keys.items() if own}


def classes_of(run: Run, dataset: str, count: int) -> list[str]:
    """Names of the classes of a dataset; numbers where the plan names others."""
    named = list(run.plan.datasets[dataset].get("classes") or [])
    return named if len(named) == count else [f"class {number}" for number in range(1, count + 1)]


def estimated(scores: Floats, patients: int, *, gap: bool = False) -> Estimated:
    """The estimate of (S, 1+R) scores or gaps of seeds."""
    found = estimate(scores, patients)
    low, high = np.clip([found.low, found.high], -1 if gap else 0, 1)
    return Estimated(found.mean, float(low), float(high), found.seeds, found.remark)


def stacked(values: Sequence[Mapping[str, Floats]], name: str) -> Floats:
    """(S, 1+R, ...) the values of one name of S seeds."""
    return np.stack([own[name] for own in values])


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


def class_tables(run: Run, units: Sequence[str], kept: ReportCache | None = None) -> list[ClassTable]:
    """The table of each place with a finished cell, from the stored predictions. Raises UnequalTestSets, CorruptRow.

    kept: where they are looked up and left for the next report.
    """
    known = kept.get("classes", *units) if kept else None
    if known is not None:
        return [_class_as_stored(table) for table in known]
    found = [_class_table(run, place, cells) for place, cells in places(run, units)]
    tables = [table for table in found if table.lines]
    if kept:
        kept.put([_class_to_store(table) for table in tables], "classes", *units)
    return tables


def _class_table(run: Run, place: Place, cells: Sequence[PlannedCell]) -> ClassTable:
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


def _class_to_store(table: ClassTable) -> dict[str, Any]:
    scores = [[*place, *asdict(found).values()] for place, found in table.scores.items()]
    return asdict(table) | {"scores": scores}


def _class_as_stored(table: dict[str, Any]) -> ClassTable:
    scores = {(variant, name, score): Estimated(*found) for variant, name, score, *found in table["scores"]}
    counts = tuple(ClassCounts(**count) for count in table["counts"])
    return ClassTable(Place(**table["place"]), counts, table["lines"], table["patients"], scores)


def computed(run: Run, cells: Sequence[PlannedCell], unit: str, metrics: Sequence[str]) -> pd.DataFrame:
    """One line per finished cell and metric, with the columns `TIDY`. Raises CorruptRow."""
    lines = []
    for cell in cells:
        if cell.key not in run.rows:
            continue
        place = {name: getattr(cell, name) for name in CELL} | {"unit": unit}
        multi = run.rows[cell.key].labels == "multi"
        found = lines_of(run.store.predictions(cell.key), unit, run.plan.pool, multi=multi)
        for metric in metrics:
            value = float(METRICS[metric].of(found)) if len(found.truth) else float("nan")
            reason = METRICS[metric].undefined if len(found.truth) else NO_WINDOW
            lines.append(place | {"metric": metric, "value": value, "reason": reason if np.isnan(value) else ""})
    return pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float})


def lines_of(predictions: Predictions, unit: str, pool: Pool, *, multi: bool) -> Lines:
    """The lines of a test set: its windows, or its recordings with the pooled probabilities of their windows."""
    if unit == HEARTBEAT or not len(predictions.truth):
        return Lines(predictions.truth, predictions.probability, multi)
    probability, truth, _ = per_recording(predictions.probability, predictions.truth, predictions.recording, pool)
    return Lines(truth, probability, multi)


FEWEST_PATIENTS = 20
"""Test patients of a group that is scored."""
FEWEST_OF_CLASS = 5
"""Patients with and patients without a class in each scored group, else the class does not count."""
SCORES = ("f1", "auroc")


@dataclass(frozen=True)
class Group:
    """One group of the test patients."""

    attribute: str
    name: str
    patients: int
    classes: int
    """That are scored, of those of the dataset."""
    reference: bool
    """The group that gaps are to: the largest of its attribute."""


@dataclass(frozen=True)
class SubgroupTable:
    """The scores of the rows of one place, by subgroup."""

    place: Place
    all_classes: int
    groups: tuple[Group, ...]
    """None where the store does not know the recordings' sex and age."""
    scores: dict[tuple[str, str, str], tuple[Estimated, Estimated]]
    """(variant, group, score) -> the score and its gap; none for a group with too few patients or classes."""


@dataclass(frozen=True)
class Scored:
    """A group, its part of the test set and the classes that count in its attribute."""

    group: Group
    lines: NDArray[np.bool_]
    """(n,) those of the group."""
    test: ResampledTestSet
    """Its lines and patients, as often as these are drawn from all."""
    counting: NDArray[np.bool_]
    """(C,)"""


def subgroup_tables(run: Run, units: Sequence[str], kept: ReportCache | None = None) -> list[SubgroupTable]:
    """The table of each place with a finished cell. Raises UnequalTestSets, CorruptRow.

    kept: where they are looked up and left for the next report.
    """
    people = {name: people_of(run, name) for name in run.plan.datasets}
    known = kept.get("subgroups", *units, people_key(people)) if kept else None
    if known is not None:
        return [_subgroup_as_stored(table) for table in known]
    tables = [_subgroup_table(run, place, cells, people[place.dataset]) for place, cells in places(run, units)]
    if kept:
        kept.put([_subgroup_to_store(table) for table in tables], "subgroups", *units, people_key(people))
    return tables


def people_of(run: Run, dataset: str) -> Groups:
    """Sex and age band of the recordings of a dataset; {} where the store does not have them."""
    files = (read_people(run.store.root, own) for own in fingerprints_of(run, dataset))
    return next((found for found in files if found), {})


def people_key(people: dict[str, Groups]) -> str:
    """A text that differs where the groups do."""
    return str(sorted((name, sorted(own.items())) for name, own in people.items()))


def _subgroup_table(run: Run, place: Place, cells: Sequence[PlannedCell], people: Groups) -> SubgroupTable:
    first = cells[0].key
    predictions = run.store.predictions(first)
    test = resampled_test_set(predictions, place.unit, resamples=RESAMPLES, pool=run.plan.pool)
    recordings = predictions.recording if test.recording is None else np.unique(predictions.recording)  # (n,)
    found = [own for number, name in enumerate(ATTRIBUTES) for own in _groups(test, recordings, people, number, name)]
    classes = test.truth.shape[1]
    scored = [own for own in found if own.group.classes]
    if not scored:
        return SubgroupTable(place, classes, tuple(own.group for own in found), {})

    def score(cell: Predictions, labels: str) -> dict[str, Floats]:
        probability = pooled(test, cell.probability)
        each = [_scores(probability, own, multi=labels == "multi") for own in scored]
        return {f"{own.group.name} {name}": v for own, values in zip(scored, each, strict=True) for name, v in values}

    by_cell = of_each(run, [cell.key for cell in cells], first, score)
    scores = {}
    for variant, keys in by_variant(run, cells).items():
        for own in scored:
            reference = next(o.group for o in scored if o.group.attribute == own.group.attribute and o.group.reference)
            for name in SCORES:
                values = np.stack([by_cell[key][f"{own.group.name} {name}"] for key in keys])  # (S, 1+R)
                others = np.stack([by_cell[key][f"{reference.name} {name}"] for key in keys])
                gap = estimated(values - others, own.group.patients, gap=True)  # the reference has as many or more
                scores[variant, own.group.name, name] = estimated(values, own.group.patients), gap
    return SubgroupTable(place, classes, tuple(own.group for own in found), scores)


def _groups(
    test: ResampledTestSet, recordings: NDArray[np.str_], people: Groups, number: int, attribute: str
) -> list[Scored]:
    """The groups of an attribute that have a test patient, and the classes that count in all with enough patients."""
    names, line = np.unique(recordings, return_inverse=True)
    said = np.array([people.get(str(name), ("", ""))[number] for name in names], np.str_)[line]  # (n,)
    lines = {name: said == name for name in ATTRIBUTES[attribute] if (said == name).any()}
    patients = {name: len(np.unique(test.patient[own])) for name, own in lines.items()}
    enough = [name for name, count in patients.items() if count >= FEWEST_PATIENTS]
    counting = np.ones(test.truth.shape[1], np.bool_)  # (C,)
    for name in enough:
        for sign in (0, 1):
            of_sign = [test.patient[lines[name] & (truth == sign)] for truth in test.truth.T]
            counting &= np.array([len(np.unique(own)) >= FEWEST_OF_CLASS for own in of_sign])
    compared = int(counting.sum()) if len(enough) > 1 else 0
    largest = max(enough, key=patients.__getitem__, default="")
    groups = {name: compared if name in enough else 0 for name in lines}
    return [
        Scored(Group(attribute, name, patients[name], groups[name], name == largest), own, part_of(test, own), counting)
        for name, own in lines.items()
    ]


def part_of(test: ResampledTestSet, lines: NDArray[np.bool_]) -> ResampledTestSet:
    """Some lines of a test set, (n,), and their patients."""
    there, patient = np.unique(test.patient[lines], return_inverse=True)
    return ResampledTestSet(test.truth[lines], patient, None, np.ascontiguousarray(test.counts_minus_one[:, there]))


def _scores(probability: NDArray[np.float32], own: Scored, *, multi: bool) -> list[tuple[str, Floats]]:
    """(score, (1+R,) values) of a group, over the classes that count."""
    lines = ResampledLines(own.test.truth, probability[own.lines], multi, own.test)
    by_class = {"f1": class_f1(lines), "auroc": lines.areas_to_first_order()}
    return [(name, macro(by_class[name][:, own.counting])) for name in SCORES]


def _subgroup_to_store(table: SubgroupTable) -> dict[str, Any]:
    scores = [[*place, *(asdict(one) for one in both)] for place, both in table.scores.items()]
    return asdict(table) | {"scores": scores}


def _subgroup_as_stored(table: dict[str, Any]) -> SubgroupTable:
    groups = tuple(Group(**group) for group in table["groups"])
    scores = {
        (variant, name, score): (Estimated(**own), Estimated(**gap))
        for variant, name, score, own, gap in table["scores"]
    }
    return SubgroupTable(Place(**table["place"]), table["all_classes"], groups, scores)
