"""FIX's probe as an evaluation: probabilities of a single-label task sum to one."""

from __future__ import annotations

import numpy as np

from benchmark.training.evaluations.linear_fix import summing_to_one


def test_rows_are_divided_by_their_sums_and_nothing_is_shared_out_evenly() -> None:
    found = summing_to_one(np.array([[0.2, 0.6], [0.0, 0.0], [1.0, 1.0]], np.float32))
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]])
    assert found.dtype == np.float32
