"""Scores of classes and of groups of patients against those of their own lines, and what is too small to score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, NO_BOTH, NO_WINDOW, Lines, class_scores, per_recording
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.store import Predictions, Row, Store, read_people, save_people
from reports.runs import TIDY, Run, kept_in, open_run
from reports.statistics.classes import MACRO, PartTable, class_tables, classes_of, computed, estimated, subgroup_tables

SCORES = ["auprc", "brier", "ece", "sens90"]
CLASSES = 4


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
    assert [(part.lines, part.patients, part.share) for part in table.parts] == [(n, n, n / 3) for n in lines]
    found = [table.scores["m0", part.name, "auroc"][0] for part in table.parts]
    assert [not math.isnan(one.mean) for one in found] == tested
    untested = "the class has not both signs in the test set"
    assert [one.remark == untested for one in found] == [not one for one in tested]


@pytest.fixture
def run(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Run:
    """Two methods, two seeds, 160 patients of whom the store knows the groups: 15 are 80 or over."""
    found = simulate_predictions(np.random.default_rng(5), methods=2, seeds=2, patients=160, scatter=scatter())
    root = write_predictions({(f"m{m}", "ptb-xl", 0.1, 41 + s): own for (m, s), own in found.items()})
    store = Store(root)
    for key in store.row_keys():
        store.save_row(
            replace(row_at(store, key), provenance={"data": {"fingerprint": "f00d"}}), store.predictions(key)
        )
    names = np.unique(found[0, 0].recording)
    bands = np.repeat(["under 40", "40 to 59", "60 to 79", "80 and over"], [60, 50, 35, 15])
    save_people(root, "f00d", {str(n): (("women", "men")[i % 2], str(bands[i])) for i, n in enumerate(names)})
    return open_run(root)


def row_at(store: Store, key: str) -> Row:
    row = store.load_row(key)
    assert isinstance(row, Row)
    return row


def with_pool(run: Run, pool: str) -> Run:
    data = {**run.plan.config["data"], "pool": pool}
    return replace(run, plan=replace(run.plan, config={**run.plan.config, "data": data}))


def lines_of(run: Run, variant: str, seed: int, chosen: Callable[[int], bool] = lambda number: True) -> Lines:
    """The windows of the recordings whose numbers are chosen."""
    key = next(cell.key for cell in run.plan.cells if (cell.variant, cell.seed) == (variant, seed))
    found = run.store.predictions(key)
    number = np.unique(found.recording, return_inverse=True)[1]
    mask = np.array(list(map(chosen, number)))
    return Lines(found.truth[mask], found.probability[mask], False)


def groups_of(run: Run) -> PartTable:
    (table,) = subgroup_tables(run, ["heartbeat"])
    return table


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_scores_that_no_row_holds_are_those_of_the_stored_lines(run: Run, pool: str) -> None:
    run = with_pool(run, pool)
    cell = run.plan.cells[0]
    stored = run.store.predictions(cell.key)
    probability, truth, _ = per_recording(stored.probability, stored.truth, stored.recording, run.plan.pool)
    assert len(truth) < len(stored.truth)
    windows = Lines(stored.truth, stored.probability, False)
    for unit, lines in ((RECORDING, Lines(truth, probability, False)), (HEARTBEAT, windows)):
        found = computed(run, [cell], unit, SCORES)
        assert (found.columns.tolist(), set(found["unit"])) == (list(TIDY), {unit})
        for name in SCORES:
            assert found.set_index("metric").value[name] == pytest.approx(METRICS[name].of(lines))
    empty = computed(run, [], RECORDING, SCORES)
    assert (empty.columns.tolist(), len(empty)) == (list(TIDY), 0)


@pytest.mark.parametrize("windows", [0, 1])
def test_what_has_no_score_says_why(run: Run, windows: int) -> None:
    cell = run.plan.cells[0]
    found = run.store.predictions(cell.key)
    arrays = (getattr(found, name)[:windows] for name in ("probability", "truth", "recording", "patient"))
    run.store.save_row(row_at(run.store, cell.key), Predictions(*arrays))
    brier, ece = computed(open_run(run.store.root), [cell], HEARTBEAT, ["brier", "ece"]).to_dict("records")
    assert np.isnan(brier["value"])
    assert brier["reason"] == (NO_BOTH if windows else NO_WINDOW)
    assert (np.isnan(ece["value"]), ece["reason"]) == ((False, "") if windows else (True, NO_WINDOW))


def test_an_interval_ends_where_scores_and_gaps_end() -> None:
    wide = np.array([[0.5, -2.0, 2.0, 3.0, -1.0], [0.6, 2.0, -2.0, -1.0, 3.0], [0.4, 0.5, 0.6, 0.1, 0.2]])
    score, gap = estimated(wide, 40), estimated(wide - 0.5, 40, gap=True)
    assert (score.mean, score.seeds, score.remark) == (pytest.approx(0.5), 3, "")
    assert 0 < score.low < score.high < 1
    assert gap.low < 0 < gap.high
    near = np.tile([[0.99], [0.97], [0.99]], 5)
    assert estimated(near, 40).high == 1
    assert estimated(-near, 40, gap=True).low == -1
    far = estimated(np.tile([[0.9], [-0.9], [0.0]], 5), 40)
    assert np.isnan([far.low, far.high]).all()
    assert far.remark.startswith("not estimable")


def test_classes_have_the_names_of_the_plan_or_numbers(store_root: Path) -> None:
    run = open_run(store_root)
    named = replace(run.plan, datasets={"ptb-xl": run.plan.datasets["ptb-xl"] | {"classes": ["NORM", "MI"]}})
    assert classes_of(replace(run, plan=named), "ptb-xl", 2) == ["NORM", "MI"]
    assert classes_of(replace(run, plan=named), "ptb-xl", 3) == ["class 1", "class 2", "class 3"]


def test_a_group_scores_as_its_own_lines_and_the_gap_is_to_the_largest(run: Run) -> None:
    table = groups_of(run)
    women = [class_scores(lines_of(run, "m1", seed, lambda n: n % 2 == 0)) for seed in (41, 42)]
    men = [class_scores(lines_of(run, "m1", seed, lambda n: n % 2 == 1)) for seed in (41, 42)]
    groups = {part.name: part for part in table.parts}
    sexes = [(own.name, own.patients, own.classes, own.reference) for own in table.parts if own.attribute == "sex"]
    assert sexes == [("women", 80, CLASSES, True), ("men", 80, CLASSES, False)]
    for name in ("f1", "auroc"):
        means = [np.mean([own[name].mean() for own in group]) for group in (women, men)]
        own, gap = table.scores["m1", "men", name]
        assert own.mean == pytest.approx(means[1], abs=1e-7)
        assert gap.mean == pytest.approx(means[1] - means[0], abs=1e-7)
        assert gap.low < gap.mean < gap.high
        assert table.scores["m1", "women", name][1].mean == 0
    assert (groups["80 and over"].patients, groups["80 and over"].classes) == (15, 0)
    assert "80 and over" not in {name for _, name, _ in table.scores}
    assert 0 < groups["60 to 79"].classes <= CLASSES


@pytest.mark.parametrize(("patients", "scored"), [(19, False), (20, True)])
def test_a_group_is_scored_from_twenty_patients_on_and_the_largest_is_the_reference(
    run: Run, patients: int, scored: bool
) -> None:
    names = list(read_people(run.store.root, "f00d"))
    save_people(run.store.root, "f00d", {name: (("men", "women")[i < patients], "") for i, name in enumerate(names)})
    groups = {group.name: group for group in groups_of(run).parts}
    assert (groups["women"].patients, groups["women"].classes > 0) == (patients, scored)
    assert (groups["men"].classes > 0) == scored, "a group alone is not compared"
    assert (groups["women"].reference, groups["men"].reference) == (False, True)


def test_kept_values_come_back_equal_and_a_store_without_groups_has_none(run: Run, tmp_path: Path) -> None:
    kept = kept_in(tmp_path / "out", run)
    first = [repr(tables(run, ["heartbeat"], kept)) for tables in (subgroup_tables, class_tables)]
    cells = run.store.cells.rename(tmp_path / "away")
    assert [repr(tables(run, ["heartbeat"], kept)) for tables in (subgroup_tables, class_tables)] == first
    cells.rename(run.store.cells)
    (run.store.root / "people" / "f00d.json").unlink()
    assert [table.parts for table in subgroup_tables(run, ["heartbeat"], kept)] == [()]


def test_macro_scores_are_means_over_seeds_of_the_stored_predictions(run: Run) -> None:
    (table,) = class_tables(run, ["heartbeat"])
    own = [class_scores(lines_of(run, "m0", seed)) for seed in (41, 42)]
    for name in ("auroc", "auprc", "f1", "sens90"):
        (found,) = table.scores["m0", MACRO, name]
        assert found.mean == pytest.approx(np.mean([one[name].mean() for one in own]), abs=1e-7)
        assert found.low < found.mean < found.high or found.remark.startswith("not estimable")
    by_top_label = [METRICS["ece"].of(lines_of(run, "m0", seed)) for seed in (41, 42)]
    assert table.scores["m0", MACRO, "ece"][0].mean == pytest.approx(np.mean(by_top_label), abs=1e-7)
    assert [part.lines for part in table.parts] == lines_of(run, "m0", 41).truth.sum(axis=0).tolist()
    assert sum(part.patients for part in table.parts) == table.patients == 160


def test_the_pool_and_the_kind_of_labels_move_the_scores(run: Run) -> None:
    for tables, group in ((subgroup_tables, "men"), (class_tables, MACRO)):
        (by_mean,), (by_max,) = (tables(with_pool(run, pool), ["recording"]) for pool in ("mean", "max"))
        assert by_mean.scores["m1", group, "auroc"] != by_max.scores["m1", group, "auroc"]
    single = groups_of(run)
    for key in run.store.row_keys():
        run.store.save_row(replace(row_at(run.store, key), labels="multi"), run.store.predictions(key))
    assert single.scores["m1", "men", "f1"] != groups_of(open_run(run.store.root)).scores["m1", "men", "f1"]
