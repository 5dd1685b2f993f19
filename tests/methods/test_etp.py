"""ETP's loss against a plain loop."""

from __future__ import annotations

import math

import pytest
import torch

from methods.etp import symmetric_info_nce
from methods.parts.losses import unit_length


@pytest.mark.parametrize("count", [1, 2, 5])
def test_equals_a_plain_loop(count: int) -> None:
    torch.manual_seed(4)
    ecg, text = (unit_length(torch.randn(count, 6, dtype=torch.float64)) for _ in range(2))
    exponentials = (ecg @ text.T / 0.07).exp().tolist()
    by_ecg = [-math.log(exponentials[i][i] / math.fsum(exponentials[i])) for i in range(count)]
    by_text = [-math.log(exponentials[i][i] / math.fsum(row[i] for row in exponentials)) for i in range(count)]
    expected = (sum(by_ecg) + sum(by_text)) / (2 * count)
    assert symmetric_info_nce(ecg, text, 0.07).item() == pytest.approx(expected, rel=1e-12, abs=1e-12)
