"""What JEPA hides, and what its context and target depend on."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.dilated import Dilated, DilatedConfig
from methods.jepa import JEPA, JEPAConfig, hidden_steps, hide


@pytest.mark.parametrize("steps", [2, 3, 12, 300])
def test_some_steps_are_hidden_and_some_are_not(steps: int) -> None:
    torch.manual_seed(0)
    counts = torch.stack([hidden_steps(steps, 4, 0.2) for _ in range(100)]).sum(1)
    assert counts.min() >= 1
    assert counts.max() < steps
    assert hidden_steps(300, 1, 0.2).sum() == 60
    assert hidden_steps(2, 9, 1.0).sum() == 1


def test_what_is_hidden_is_zero_at_the_embedded_steps_of_the_hidden_ones() -> None:
    hidden = torch.tensor([False, True, False])
    assert hide(torch.ones(1, 6, 2), hidden)[0, :, 0].tolist() == [1, 1, 0, 0, 1, 1]
    assert hide(torch.ones(1, 2, 2), hidden)[0, :, 0].tolist() == [0, 1]  # a token stands before the others


def test_the_prediction_depends_on_the_visible_alone_and_the_target_on_all() -> None:
    torch.manual_seed(0)
    method, x = JEPA(Dilated(DilatedConfig.small()), JEPAConfig()).eval(), torch.randn(4, 20, 12)
    hidden = hidden_steps(20, 4, 0.2)
    other = torch.where(hidden[:, None], torch.randn_like(x), x)
    context = [method.encoder(view, lambda embedded: hide(embedded, hidden)) for view in (x, other)]
    assert torch.equal(*context)
    assert not torch.equal(method.momentum_encoder(x), method.momentum_encoder(other))
