"""The bins of the calibration error."""

from __future__ import annotations

import numpy as np

from benchmark.results.scoring.calibration import BINS, bins_of


def test_fifteen_bins_of_equal_width_an_edge_in_the_lower_one() -> None:
    assert BINS == 15
    probability = np.array([0.0, 0.0666, 0.0667, 0.5, 0.9333, 0.9334, 1.0], np.float32)
    assert bins_of(probability).tolist() == [0, 0, 1, 7, 13, 14, 14]
    assert bins_of(np.array([0.2, 0.4], np.float64).astype(np.float64)).tolist() == [2, 5]
