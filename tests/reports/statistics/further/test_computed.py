"""Scores computed from stored predictions pool the windows of a recording as the run does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, NO_BOTH, NO_WINDOW
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import Lines
from benchmark.results.scoring.pooling import per_recording
from benchmark.results.store import Store
from reports.runs.run import TIDY, Run, open_run
from reports.statistics.further.computed import computed

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
