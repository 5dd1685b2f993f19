"""COMET's hierarchical losses level by level, the weights of its levels, and their passes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from methods.base import Batch
from methods.comet import COMET, COMETConfig, observation_loss, same_id_loss, sample_loss
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from methods.parts.losses import two_view_nce
from tests import make


def pooled(h: Tensor) -> Tensor:
    return torch.stack([h[:, 2 * t : 2 * t + 2].amax(1) for t in range(h.shape[1] // 2)], dim=1)


@pytest.mark.parametrize(("steps", "levels"), [(2, 1), (3, 1), (4, 2), (9, 3)])
def test_hierarchical_losses_are_means_over_levels_of_pooled_steps(steps: int, levels: int) -> None:
    torch.manual_seed(0)
    h1, h2 = a, b = torch.randn(2, 3, steps, 4, dtype=torch.float64)
    observation, sample = [], []
    for level in range(levels):
        h1, h2 = (h1, h2) if level == 0 else (pooled(h1), pooled(h2))
        observation.append(sum(two_view_nce(h1[i], h2[i], 1.0) for i in range(3)) / 3)
        sample.append(sum(two_view_nce(h1[:, t], h2[:, t], 1.0) for t in range(h1.shape[1])) / h1.shape[1])
    torch.testing.assert_close(observation_loss(a, b), torch.stack(observation).mean(), rtol=1e-12, atol=0)
    torch.testing.assert_close(sample_loss(a, b), torch.stack(sample).mean(), rtol=1e-12, atol=0)


def make_comet(**knobs: object) -> COMET:
    torch.manual_seed(0)
    config = COMETConfig(**knobs)  # type: ignore[arg-type]
    return COMET(make.encoder(), config)


def batch_of_trials() -> Batch:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        batch = make.batch([0, 0, 0, 1], steps=30)
    return batch._replace(x2=batch.x1, trial=torch.tensor([0, 0, 1, 2]))


def test_the_loss_weighs_four_levels_of_the_steps_that_the_encoder_gives() -> None:
    torch.manual_seed(0)
    weights = {"observation_weight": 0.3, "sample_weight": 0.2, "trial_weight": 0.4, "patient_weight": 2.0}
    method = COMET(ResNet1d(ResNet1dConfig(output=8)), COMETConfig(encoder_dropout=0.0, mask_spans=0, **weights))
    batch = batch_of_trials()
    h = method.encoder(batch.x1)  # (B, 8, K) of 30 samples
    assert h.shape[1] == 8
    expected = (
        0.3 * observation_loss(h, h)
        + 0.2 * sample_loss(h, h)
        + 0.4 * same_id_loss(h, h, batch.trial)
        + 2.0 * same_id_loss(h, h, batch.patient)
    )
    torch.testing.assert_close(method(batch), expected)
    method(batch).backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in method.encoder.parameters())
