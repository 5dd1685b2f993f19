"""ETP's loss against a plain loop, and what it asks of the text."""

from __future__ import annotations

import math

import pytest
import torch

from methods.etp import ETP, ETPConfig, symmetric_info_nce
from methods.parts.losses import unit_length
from tests import make


def make_etp() -> ETP:
    torch.manual_seed(0)
    return ETP(make.encoder(), ETPConfig(text_width=9))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_equals_a_plain_loop(count: int) -> None:
    torch.manual_seed(4)
    ecg, text = (unit_length(torch.randn(count, 6, dtype=torch.float64)) for _ in range(2))
    exponentials = (ecg @ text.T / 0.07).exp().tolist()
    by_ecg = [-math.log(exponentials[i][i] / math.fsum(exponentials[i])) for i in range(count)]
    by_text = [-math.log(exponentials[i][i] / math.fsum(row[i] for row in exponentials)) for i in range(count)]
    expected = (sum(by_ecg) + sum(by_text)) / (2 * count)
    assert symmetric_info_nce(ecg, text, 0.07).item() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_missing_or_misshapen_text_is_refused() -> None:
    with pytest.raises(ValueError, match=r"text is none, methods\.etp\.text_width = 9; set it to the width of"):
        make_etp()(make.batch(text=9)._replace(text=None))
    with pytest.raises(ValueError, match="text is 12 wide"):
        make_etp()(make.batch(text=12))
