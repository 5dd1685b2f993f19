"""Scores by class: which classes of a test set have any.

Scores computed from stored predictions pool the windows of a recording as the run does.

What tables of further scores share: names of classes, and estimates within their range.

Scores by sex and age band against those of the groups' own lines, and groups too small to score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, NO_BOTH, NO_WINDOW, Lines, class_scores, per_recording
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.store import Predictions, Row, Store, read_people, save_people
from reports.runs import TIDY, Run, kept_in, open_run
from reports.statistics.bootstrap import ResampledTestSet
from reports.statistics.classes import (
    FEWEST_OF_CLASS,
    MACRO,
    RESAMPLES,
    SubgroupTable,
    _counts,
    class_tables,
    classes_of,
    computed,
    estimated,
    subgroup_tables,
)


@pytest.mark.parametrize(
    ("truth", "tested"),
    [([0, 1, 1], [True, True, False]), ([0, 1, 2], [True, True, True]), ([1, 1, 1], [False, False, False])],
)
def test_a_class_with_a_line_and_a_line_without_it_has_scores(
    truth: list[int], tested: list[bool], write_predictions: Callable[..., Path]
) -> None:
    probability = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.2, 0.8, 0.0]], np.float32)
    ids = np.array(["r1", "r2", "r3"])
    own = Predictions(probability, np.eye(3, dtype=np.int64)[truth], ids, ids)
    (table,) = class_tables(open_run(write_predictions({("m0", "ptb-xl", 0.1, 41): own})), ["heartbeat"])
    lines = np.eye(3, dtype=int)[truth].sum(axis=0).tolist()
    assert [(count.lines, count.patients, count.share) for count in table.counts] == [(n, n, n / 3) for n in lines]
    found = [table.scores["m0", count.name, "auroc"] for count in table.counts]
    assert [not math.isnan(own.mean) for own in found] == tested
    untested = "the class has not both signs in the test set"
    assert [own.remark == untested for own in found] == [not own for own in tested]


def test_a_test_set_without_lines_has_classes_of_none() -> None:
    empty = SimpleNamespace(truth=np.zeros((0, 2), np.int64), patient=np.zeros(0, np.int64))
    assert [tuple(vars(own).values()) for own in _counts(cast(ResampledTestSet, empty), ["NORM", "MI"])] == [
        ("NORM", 0, 0, 0.0),
        ("MI", 0, 0, 0.0),
    ]


SCORES = ["auprc", "brier", "ece", "sens90"]


@pytest.fixture
def folder(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Path:
    found = simulate_predictions(np.random.default_rng(3), methods=1, seeds=1, patients=60, scatter=scatter())
    return write_predictions({("m0", "ptb-xl", 0.1, 41): found[0, 0]})


def pooling(folder: Path, pool: str) -> Run:
    store = Store(folder)
    plan = store.load_plan()
    data = {**plan.config["data"], "pool": pool}
    store.save_plan(replace(plan, config={**plan.config, "data": data}))
    return open_run(folder)


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_recordings_are_pooled_as_the_plan_says(folder: Path, pool: str) -> None:
    run = pooling(folder, pool)
    (cell,) = run.plan.cells
    stored = run.store.predictions(cell.key)
    probability, truth, _ = per_recording(stored.probability, stored.truth, stored.recording, run.plan.pool)
    assert len(truth) < len(stored.truth)
    windows = Lines(stored.truth, stored.probability, False)
    for unit, lines in ((RECORDING, Lines(truth, probability, False)), (HEARTBEAT, windows)):
        found = computed(run, [cell], unit, SCORES)
        assert (found.columns.tolist(), set(found["unit"])) == (list(TIDY), {unit})
        for name in SCORES:
            assert found.set_index("metric").value[name] == pytest.approx(METRICS[name].of(lines))


def test_without_a_cell_there_is_a_frame_without_lines(folder: Path) -> None:
    found = computed(open_run(folder), [], RECORDING, SCORES)
    assert (found.columns.tolist(), len(found)) == (list(TIDY), 0)


@pytest.mark.parametrize("windows", [0, 1])
def test_what_has_no_score_says_why(folder: Path, windows: int) -> None:
    run = open_run(folder)
    (cell,) = run.plan.cells
    found, row = run.store.predictions(cell.key), run.store.load_row(cell.key)
    assert row is not None
    arrays = (getattr(found, name)[:windows] for name in ("probability", "truth", "recording", "patient"))
    run.store.save_row(row, Predictions(*arrays))
    (brier, ece) = computed(open_run(folder), [cell], HEARTBEAT, ["brier", "ece"]).to_dict("records")
    assert np.isnan(brier["value"])
    assert brier["reason"] == (NO_BOTH if windows else NO_WINDOW)
    assert (np.isnan(ece["value"]), ece["reason"]) == ((False, "") if windows else (True, NO_WINDOW))


def test_the_pool_moves_the_scores(folder: Path) -> None:
    of_pool = [
        computed(run, run.plan.cells, RECORDING, ["brier"]).value.item()
        for run in (pooling(folder, "mean"), pooling(folder, "max"))
    ]
    assert of_pool[0] != of_pool[1]


def test_an_interval_ends_where_scores_and_gaps_end() -> None:
    """The paper of the bootstrap calls 200 resamples enough for a standard error."""
    assert RESAMPLES == 200
    wide = np.array([[0.5, -2.0, 2.0, 3.0, -1.0], [0.6, 2.0, -2.0, -1.0, 3.0], [0.4, 0.5, 0.6, 0.1, 0.2]])
    score, gap = estimated(wide, 40), estimated(wide - 0.5, 40, gap=True)
    assert (score.mean, score.seeds, score.remark) == (pytest.approx(0.5), 3, "")
    assert 0 < score.low < score.high < 1
    near = np.tile([[0.99], [0.97], [0.99]], 5)
    assert estimated(near, 40).high == 1
    assert estimated(-near, 40, gap=True).low == -1
    far = estimated(np.tile([[0.9], [-0.9], [0.0]], 5), 40)
    assert np.isnan([far.low, far.high]).all()
    assert far.remark.startswith("not estimable")
    assert gap.low < 0 < gap.high


def test_classes_have_the_names_of_the_plan_or_numbers(store_root: Path) -> None:
    run = open_run(store_root)
    named = replace(run.plan, datasets={"ptb-xl": run.plan.datasets["ptb-xl"] | {"classes": ["NORM", "MI"]}})
    assert classes_of(replace(run, plan=named), "ptb-xl", 2) == ["NORM", "MI"]
    assert classes_of(replace(run, plan=named), "ptb-xl", 3) == ["class 1", "class 2", "class 3"]


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
        assert found.low < found.mean < found.high or found.remark.startswith("not estimable")
    by_top_label = [METRICS["ece"].of(lines_of(run, "m0", seed, lambda n: True)) for seed in (41, 42)]
    assert table.scores["m0", MACRO, "ece"].mean == pytest.approx(np.mean(by_top_label), abs=1e-7)
    assert [count.lines for count in table.counts] == lines_of(run, "m0", 41, lambda n: True).truth.sum(axis=0).tolist()
    assert sum(count.patients for count in table.counts) == table.patients == 160


def test_recordings_are_pooled_as_the_plan_says_subgroups(run: Run) -> None:
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
