"""Scores by sex and age band against those of the groups' own lines, and groups too small to score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, class_scores
from benchmark.results.people.stored import read_people, save_people
from benchmark.results.rows import Predictions, Row
from benchmark.results.scoring.lines import Lines
from benchmark.results.store import Store
from reports.runs.kept import kept_in
from reports.runs.run import Run, open_run
from reports.statistics.further.classes import MACRO, class_tables
from reports.statistics.further.subgroups import FEWEST_OF_CLASS, SubgroupTable, subgroup_tables

CLASSES = 4


@pytest.fixture
def run(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Run:
    """Two methods, two seeds, 160 patients of whom the store knows the groups: 15 are 80 or over."""
    found = simulate_predictions(np.random.default_rng(5), methods=2, seeds=2, patients=160, scatter=scatter())
    places = {(f"m{m}", "ptb-xl", 0.1, 41 + s): own for (m, s), own in found.items()}
    root = write_predictions(places)
    store = Store(root)
    for key in store.row_keys():
        row = store.load_row(key)
        assert isinstance(row, Row)
        store.save_row(replace(row, provenance={"data": {"fingerprint": "f00d"}}), store.predictions(key))
    names = np.unique(found[0, 0].recording)
    bands = np.repeat(["under 40", "40 to 59", "60 to 79", "80 and over"], [60, 50, 35, 15])
    save_people(root, "f00d", {str(n): (("women", "men")[i % 2], str(bands[i])) for i, n in enumerate(names)})
    return open_run(root)


def lines_of(run: Run, variant: str, seed: int, chosen: Callable[[int], bool]) -> Lines:
    key = next(cell.key for cell in run.plan.cells if (cell.variant, cell.seed) == (variant, seed))
    found = run.store.predictions(key)
    order = {name: number for number, name in enumerate(np.unique(found.recording))}
    mask = np.array([chosen(order[name]) for name in found.recording])
    return Lines(found.truth[mask], found.probability[mask], False)


def table_of(run: Run) -> SubgroupTable:
    (table,) = subgroup_tables(run, ["heartbeat"])
    return table


def test_a_group_scores_as_its_own_lines_and_the_gap_is_to_the_largest(run: Run) -> None:
    table = table_of(run)
    women = [class_scores(lines_of(run, "m1", seed, lambda n: n % 2 == 0)) for seed in (41, 42)]
    men = [class_scores(lines_of(run, "m1", seed, lambda n: n % 2 == 1)) for seed in (41, 42)]
    sexes = [group for group in table.groups if group.attribute == "sex"]
    assert [(own.name, own.patients, own.classes, own.reference) for own in sexes] == [
        ("women", 80, CLASSES, True),
        ("men", 80, CLASSES, False),
    ]
    for name in ("f1", "auroc"):
        means = [np.mean([own[name].mean() for own in group]) for group in (women, men)]
        own, gap = table.scores["m1", "men", name]
        assert own.mean == pytest.approx(means[1], abs=1e-7)
        assert gap.mean == pytest.approx(means[1] - means[0], abs=1e-7)
        assert gap.low < gap.mean < gap.high
        assert table.scores["m1", "women", name][1].mean == 0


def test_the_largest_group_is_the_reference_wherever_it_stands(run: Run) -> None:
    people = {
        name: ("", ("under 40", "40 to 59")[band != "under 40"])
        for name, (_, band) in read_people(run.store.root, "f00d").items()
    }
    save_people(run.store.root, "f00d", people)
    ages = [own for own in table_of(run).groups if own.attribute == "age"]
    assert [(own.name, own.patients, own.reference) for own in ages] == [
        ("under 40", 60, False),
        ("40 to 59", 100, True),
    ]


def test_too_few_patients_are_not_scored(run: Run) -> None:
    table = table_of(run)
    groups = {group.name: group for group in table.groups}
    assert (groups["80 and over"].patients, groups["80 and over"].classes) == (15, 0)
    assert not [place for place in table.scores if place[1] == "80 and over"]
    assert 0 < groups["60 to 79"].classes <= CLASSES
    assert FEWEST_OF_CLASS == 5


@pytest.mark.parametrize(("patients", "scored"), [(19, False), (20, True)])
def test_a_group_is_scored_from_twenty_patients_on(run: Run, patients: int, scored: bool) -> None:
    names = list(read_people(run.store.root, "f00d"))
    save_people(run.store.root, "f00d", {name: (("men", "women")[i < patients], "") for i, name in enumerate(names)})
    groups = {group.name: group for group in table_of(run).groups}
    assert (groups["women"].patients, groups["women"].classes > 0) == (patients, scored)
    assert (groups["men"].classes > 0) == scored, "a group alone is not compared"


def test_a_store_without_groups_has_none_and_kept_values_come_back_equal(run: Run, tmp_path: Path) -> None:
    kept = kept_in(tmp_path / "out", run)
    first = [repr(tables(run, ["heartbeat"], kept)) for tables in (subgroup_tables, class_tables)]
    cells = run.store.cells.rename(tmp_path / "away")
    assert [repr(tables(run, ["heartbeat"], kept)) for tables in (subgroup_tables, class_tables)] == first
    cells.rename(run.store.cells)
    (run.store.root / "people" / "f00d.json").unlink()
    assert table_of(run).groups == ()
    (found,) = subgroup_tables(run, ["heartbeat"], kept)
    assert found.groups == ()


def test_macro_scores_are_means_over_seeds_of_the_stored_predictions(run: Run) -> None:
    (table,) = class_tables(run, ["heartbeat"])
    own = [class_scores(lines_of(run, "m0", seed, lambda n: True)) for seed in (41, 42)]
    for name, found in ((name, table.scores["m0", MACRO, name]) for name in ("auroc", "auprc", "f1", "sens90")):
        assert found.mean == pytest.approx(np.mean([one[name].mean() for one in own]), abs=1e-7)
        assert found.low < found.mean < found.high
    by_top_label = [METRICS["ece"].of(lines_of(run, "m0", seed, lambda n: True)) for seed in (41, 42)]
    assert table.scores["m0", MACRO, "ece"].mean == pytest.approx(np.mean(by_top_label), abs=1e-7)
    assert [count.lines for count in table.counts] == lines_of(run, "m0", 41, lambda n: True).truth.sum(axis=0).tolist()
    assert sum(count.patients for count in table.counts) == table.patients == 160


def test_recordings_are_pooled_as_the_plan_says(run: Run) -> None:
    data = {**run.plan.config["data"], "pool": "max"}
    pooled = replace(run, plan=replace(run.plan, config={**run.plan.config, "data": data}))
    for tables, group in ((subgroup_tables, "men"), (class_tables, MACRO)):
        (by_mean,), (by_max,) = (tables(own, ["recording"]) for own in (run, pooled))
        assert by_mean.scores["m1", group, "auroc"] != by_max.scores["m1", group, "auroc"]


def test_groups_of_several_labels_are_scored_by_the_threshold(run: Run) -> None:
    for key in run.store.row_keys():
        row = run.store.load_row(key)
        assert isinstance(row, Row)
        run.store.save_row(replace(row, labels="multi"), run.store.predictions(key))
    (single,), (multi,) = (subgroup_tables(own, ["heartbeat"]) for own in (run, open_run(run.store.root)))
    assert single.scores["m1", "men", "f1"] != multi.scores["m1", "men", "f1"]
