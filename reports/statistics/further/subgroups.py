"""Scores of subgroups of the test patients, by sex and age band, and the gap of each to the largest of its attribute.

All groups of an attribute are scored over the same classes: those that each group with enough patients has often
enough. The patients are resampled together, so that a patient with recordings in two bands is drawn in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.people.groups import ATTRIBUTES
from benchmark.results.people.stored import Groups, read_people
from benchmark.results.plan import PlannedCell
from benchmark.results.rows import Predictions
from benchmark.results.scoring.definitions import class_f1
from benchmark.results.scoring.lines import macro
from reports.runs.kept import Kept
from reports.runs.run import Run, fingerprints_of
from reports.statistics.bootstrap import ResampledLines
from reports.statistics.columns import of_each
from reports.statistics.further.lines import RESAMPLES, Estimated, Place, by_variant, estimated, places
from reports.statistics.test_set import Floats, ResampledTestSet, pooled, resampled_test_set

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


def subgroup_tables(run: Run, units: Sequence[str], kept: Kept | None = None) -> list[SubgroupTable]:
    """The table of each place with a finished cell. Raises UnequalTestSets, CorruptRow.

    kept: where they are looked up and left for the next report.
    """
    people = {name: people_of(run, name) for name in run.plan.datasets}
    known = kept.get("subgroups", *units, people_key(people)) if kept else None
    if known is not None:
        return [_as_stored(table) for table in known]
    tables = [_table(run, place, cells, people[place.dataset]) for place, cells in places(run, units)]
    if kept:
        kept.put([_to_store(table) for table in tables], "subgroups", *units, people_key(people))
    return tables


def people_of(run: Run, dataset: str) -> Groups:
    """Sex and age band of the recordings of a dataset; {} where the store does not have them."""
    files = (read_people(run.store.root, own) for own in fingerprints_of(run, dataset))
    return next((found for found in files if found), {})


def people_key(people: dict[str, Groups]) -> str:
    """A text that differs where the groups do."""
    return str(sorted((name, sorted(own.items())) for name, own in people.items()))


def _table(run: Run, place: Place, cells: Sequence[PlannedCell], people: Groups) -> SubgroupTable:
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
    return ResampledTestSet(test.truth[lines], patient, None, np.ascontiguousarray(test.excess[:, there]))


def _scores(probability: NDArray[np.float32], own: Scored, *, multi: bool) -> list[tuple[str, Floats]]:
    """(score, (1+R,) values) of a group, over the classes that count."""
    lines = ResampledLines(own.test.truth, probability[own.lines], multi, own.test)
    by_class = {"f1": class_f1(lines), "auroc": lines.areas_to_first_order()}
    return [(name, macro(by_class[name][:, own.counting])) for name in SCORES]


def _to_store(table: SubgroupTable) -> dict[str, Any]:
    scores = [[*place, *(asdict(one) for one in both)] for place, both in table.scores.items()]
    return asdict(table) | {"scores": scores}


def _as_stored(table: dict[str, Any]) -> SubgroupTable:
    groups = tuple(Group(**group) for group in table["groups"])
    scores = {
        (variant, name, score): (Estimated(**own), Estimated(**gap))
        for variant, name, score, own, gap in table["scores"]
    }
    return SubgroupTable(Place(**table["place"]), table["all_classes"], groups, scores)
