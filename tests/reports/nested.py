"""Simulated experiments of the nested design: rows of equal true score over encoders, labelled subsets and patients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmark.results.names import OVERALL
from reports.statistics.bootstrap import ScoreColumn, mean_of

ENCODERS, SUBSETS, TUNINGS, PATIENTS = 0.02, 0.04, 0.03, 0.01
"""Deviations of a row's score over encoders, over labelled subsets, over fine-tunings where several are on one subset,
and over test parts of `TESTED` patients."""
TESTED, RESAMPLES = 200, 200


def experiment(
    seed: int, *, seeds: int, subsets: int, patients: int, rows: int = 2, repeats: int = 1
) -> list[ScoreColumn]:
    """A dataset's column and its Overall: rows of equal true score, which test patients and resamples move alike."""
    random = np.random.default_rng(seed)
    encoder = random.normal(0, ENCODERS, (rows, seeds, 1, 1))
    subset = random.normal(0, SUBSETS, (rows, seeds, subsets, 1))
    drawn = random.normal(0, PATIENTS * np.sqrt(TESTED / patients), (rows, 1, 1, 1 + RESAMPLES))
    tuning = random.normal(0, TUNINGS * (repeats > 1), (rows, seeds, subsets, repeats, 1))
    each = (subset[:, :, :, None] + tuning).reshape(rows, seeds, subsets * repeats, 1)
    runs = 0.5 + encoder + each + drawn  # (V, S, L * F, 1+R)
    names = tuple(f"row {row}" for row in range(rows))
    keys = np.array([[f"{row} {number}" for number in range(seeds)] for row in range(rows)])
    place = (names, tuple(range(seeds)), patients, keys, mean_of(runs, axis=2))
    column = ScoreColumn("recording", 0.1, "ptb-xl", "f1", *place, runs if subsets * repeats > 1 else None, repeats)
    return [column, replace(column, dataset="", metric=OVERALL, runs=None)]
