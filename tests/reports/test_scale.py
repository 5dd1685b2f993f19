"""The statistics of a whole paper's store: 8 methods and 4 ablations x 3 datasets x 3 ratios x 5 seeds, 540 cells."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.store import Predictions
from reports.load import load
from reports.statistics.bootstrap import RESAMPLES, score_columns
from reports.statistics.table import components, intervals, pairwise, ties

DATASETS = {
    "ptb-xl": (2158, 6, (0.5, 0.15, 0.17, 0.13, 0.05)),
    "chapman": (1000, 6, (0.36, 0.22, 0.22, 0.2)),
    "cpsc2018": (680, 13, (0.14, 0.16, 0.1, 0.03, 0.25, 0.09, 0.12, 0.1, 0.01)),
}
"""Test patients, heartbeats per patient, shares of the classes."""
VARIANTS, RATIOS, SEEDS = 12, (0.3, 0.1, 0.01), 5


@pytest.mark.slow
def test_the_statistics_of_540_cells_are_all_there(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> None:
    predictions = {}
    for dataset, (patients, windows, shares) in DATASETS.items():
        generator = np.random.default_rng(patients)
        design = {"patients": patients, "windows": windows, "shares": shares, "scatter": scatter()}
        found = simulate_predictions(generator, methods=VARIANTS, seeds=SEEDS * len(RATIOS), **design)
        for (method, run), own in found.items():
            predictions[f"m{method}", dataset, RATIOS[run // SEEDS], 41 + run % SEEDS] = own
    root = write_predictions(predictions)
    run = load(root)
    columns = score_columns(run, run.plan.cells, "heartbeat")
    pairs = pairwise(columns)
    marked = ties(intervals(columns), pairs)
    parts = components(columns, strict=False, frozen=True)
    shutil.rmtree(root)  # more than a hundred megabytes
    assert columns[0].scores.shape == (VARIANTS, SEEDS, 1 + RESAMPLES)
    assert len(marked) == 30 * VARIANTS
    assert len(pairs) == 30 * VARIANTS * (VARIANTS - 1) // 2
    assert len(parts) == 27 * VARIANTS * 5
