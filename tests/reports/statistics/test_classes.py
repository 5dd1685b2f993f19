"""Scores of classes against those of their own lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, NO_BOTH, NO_WINDOW, Lines, class_scores, per_recording
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.store import Predictions, Row, Store
from reports.load import load
from reports.results import SCORES as COLUMNS_OF_SCORES
from reports.results import Results
from reports.statistics.classes import MACRO, class_tables, classes_of, computed, estimated

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
    (table,) = class_tables(load(write_predictions({("m0", "ptb-xl", 0.1, 41): own})), ["heartbeat"])
    lines = np.eye(3, dtype=int)[truth].sum(axis=0).tolist()
    assert [(part.lines, part.patients, part.share) for part in table.parts] == [(n, n, n / 3) for n in lines]
    found = [table.scores["m0", part.name, "auroc"] for part in table.parts]
    assert [not math.isnan(one.mean) for one in found] == tested
    untested = "the class has not both signs in the test set"
    assert [one.remark == untested for one in found] == [not one for one in tested]


@pytest.fixture
def run(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Results:
    """Two methods, two seeds, 160 patients."""
    found = simulate_predictions(np.random.default_rng(5), methods=2, seeds=2, patients=160, scatter=scatter())
    return load(write_predictions({(f"m{m}", "ptb-xl", 0.1, 41 + s): own for (m, s), own in found.items()}))


def row_at(store: Store, key: str) -> Row:
    row = store.load_row(key)
    assert isinstance(row, Row)
    return row


def with_pool(run: Results, pool: str) -> Results:
    data = {**run.plan.config["data"], "pool": pool}
    return replace(run, plan=replace(run.plan, config={**run.plan.config, "data": data}))


def lines_of(run: Results, variant: str, seed: int) -> Lines:
    key = next(cell.key for cell in run.plan.cells if (cell.variant, cell.seed) == (variant, seed))
    found = run.predictions(key)
    return Lines(found.truth, found.probability, False)


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_scores_that_no_row_holds_are_those_of_the_stored_lines(run: Results, pool: str) -> None:
    run = with_pool(run, pool)
    cell = run.plan.cells[0]
    stored = run.predictions(cell.key)
    probability, truth, _ = per_recording(stored.probability, stored.truth, stored.recording, run.plan.pool)
    assert len(truth) < len(stored.truth)
    windows = Lines(stored.truth, stored.probability, False)
    for unit, lines in ((RECORDING, Lines(truth, probability, False)), (HEARTBEAT, windows)):
        found = computed(run, [cell], unit, SCORES)
        assert (found.columns.tolist(), set(found["unit"])) == (list(COLUMNS_OF_SCORES), {unit})
        for name in SCORES:
            assert found.set_index("metric").value[name] == pytest.approx(METRICS[name].of(lines))
    empty = computed(run, [], RECORDING, SCORES)
    assert (empty.columns.tolist(), len(empty)) == (list(COLUMNS_OF_SCORES), 0)


@pytest.mark.parametrize("windows", [0, 1])
def test_what_has_no_score_says_why(run: Results, windows: int) -> None:
    cell = run.plan.cells[0]
    found = run.predictions(cell.key)
    arrays = (getattr(found, name)[:windows] for name in ("probability", "truth", "recording", "patient"))
    run.stores[0].save_row(row_at(run.stores[0], cell.key), Predictions(*arrays))
    brier, ece = computed(load(run.stores[0].root), [cell], HEARTBEAT, ["brier", "ece"]).to_dict("records")
    assert np.isnan(brier["value"])
    assert brier["undefined"] == (NO_BOTH if windows else NO_WINDOW)
    assert (np.isnan(ece["value"]), ece["undefined"]) == ((False, "") if windows else (True, NO_WINDOW))


def test_an_interval_ends_where_scores_end() -> None:
    wide = np.array([[0.5, -2.0, 2.0, 3.0, -1.0], [0.6, 2.0, -2.0, -1.0, 3.0], [0.4, 0.5, 0.6, 0.1, 0.2]])
    score = estimated(wide, 40)
    assert (score.mean, score.seeds, score.remark) == (pytest.approx(0.5), 3, "")
    assert 0 < score.low < score.high < 1
    near = np.tile([[0.99], [0.97], [0.99]], 5)
    assert estimated(near, 40).high == 1
    assert estimated(1 - near, 40).low == 0
    far = estimated(np.tile([[0.9], [-0.9], [0.0]], 5), 40)
    assert np.isnan([far.low, far.high]).all()
    assert far.remark.startswith("not estimable")


def test_classes_have_the_names_of_the_plan_or_numbers(store_root: Path) -> None:
    run = load(store_root)
    named = replace(run.plan, datasets={"ptb-xl": run.plan.datasets["ptb-xl"] | {"classes": ["NORM", "MI"]}})
    assert classes_of(replace(run, plan=named), "ptb-xl", 2) == ["NORM", "MI"]
    assert classes_of(replace(run, plan=named), "ptb-xl", 3) == ["class 1", "class 2", "class 3"]


def test_macro_scores_are_means_over_seeds_of_the_stored_predictions(run: Results) -> None:
    (table,) = class_tables(run, ["heartbeat"])
    own = [class_scores(lines_of(run, "m0", seed)) for seed in (41, 42)]
    for name in ("auroc", "auprc", "f1", "sens90"):
        found = table.scores["m0", MACRO, name]
        assert found.mean == pytest.approx(np.mean([one[name].mean() for one in own]), abs=1e-7)
        assert found.low < found.mean < found.high or found.remark.startswith("not estimable")
    by_top_label = [METRICS["ece"].of(lines_of(run, "m0", seed)) for seed in (41, 42)]
    assert table.scores["m0", MACRO, "ece"].mean == pytest.approx(np.mean(by_top_label), abs=1e-7)
    assert [part.lines for part in table.parts] == lines_of(run, "m0", 41).truth.sum(axis=0).tolist()
    assert sum(part.patients for part in table.parts) == table.patients == 160


def test_the_pool_moves_the_scores(run: Results) -> None:
    (by_mean,), (by_max,) = (class_tables(with_pool(run, pool), ["recording"]) for pool in ("mean", "max"))
    assert by_mean.scores["m1", MACRO, "auroc"] != by_max.scores["m1", MACRO, "auroc"]
