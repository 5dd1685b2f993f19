"""Scores from stored predictions: of windows, and of recordings pooled as the run pools them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import METRICS
from benchmark.results.names import Pool
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import Lines
from benchmark.results.scoring.pooling import per_recording
from reports.runs.run import open_run
from reports.statistics.further.computed import computed

PLACE = ("pmq", "ptb-xl", 0.1, 41)


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_recordings_are_pooled_as_the_plan_says(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
    pool: Pool,
) -> None:
    design = {"patients": 40, "scatter": scatter(), "advantage": 1.5}
    found = simulate_predictions(np.random.default_rng(2), methods=1, seeds=1, **design)[0, 0]
    recordings = np.array([f"r{n // 3}" for n in range(len(found.truth))])
    truth = found.truth[np.argsort(found.truth.argmax(axis=1), kind="stable")]  # a recording's windows share a class
    found = Predictions(found.probability, truth, recordings, recordings)
    run = open_run(write_predictions({PLACE: found}, pool=pool))
    (line,) = computed(run, run.plan.cells, "recording", ["brier"]).to_dict("records")
    probability, truth, _ = per_recording(found.probability, found.truth, recordings, pool)
    assert line["value"] == METRICS["brier"].of(Lines(truth, probability, False))
    other, _, _ = per_recording(found.probability, found.truth, recordings, "max" if pool == "mean" else "mean")
    assert line["value"] != METRICS["brier"].of(Lines(truth, other, False))
