"""COMET's hierarchical losses against plain loops, the weights of its levels, and their passes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from methods.base import Batch
from methods.comet import COMET, COMETConfig, observation_loss, patient_loss, sample_loss, trial_loss
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from methods.parts.masks import Mask
from tests import make


def contrast(rows1: list[Tensor], rows2: list[Tensor]) -> float:
    """NT-Xent of two lists of vectors by the book, on dot products."""
    rows, count, losses = rows1 + rows2, len(rows1), []
    for i, anchor in enumerate(rows):
        dots = [math.exp((anchor @ row).item()) for row in rows]
        losses.append(-math.log(dots[(i + count) % (2 * count)] / (math.fsum(dots) - dots[i])))
    return sum(losses) / len(losses)


def pooled(h: Tensor) -> Tensor:
    return torch.stack([h[:, 2 * t : 2 * t + 2].amax(1) for t in range(h.shape[1] // 2)], dim=1)


@pytest.mark.parametrize(("steps", "levels"), [(2, 1), (3, 1), (4, 2), (9, 3)])
def test_hierarchical_losses_equal_plain_loops(steps: int, levels: int) -> None:
    torch.manual_seed(0)
    h1, h2 = a, b = torch.randn(2, 3, steps, 4, dtype=torch.float64)
    observation, sample = [], []
    for level in range(levels):
        h1, h2 = (h1, h2) if level == 0 else (pooled(h1), pooled(h2))
        observation.append(sum(contrast(list(h1[i]), list(h2[i])) for i in range(3)) / 3)
        sample.append(sum(contrast(list(h1[:, t]), list(h2[:, t])) for t in range(h1.shape[1])) / h1.shape[1])
    assert observation_loss(a, b).item() == pytest.approx(sum(observation) / levels, rel=1e-12)
    assert sample_loss(a, b).item() == pytest.approx(sum(sample) / levels, rel=1e-12)


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
        + 0.4 * trial_loss(h, h, batch.trial)
        + 2.0 * patient_loss(h, h, batch.patient)
    )
    torch.testing.assert_close(method(batch), expected)
    method(batch).backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in method.encoder.parameters())


def test_each_level_has_two_passes_of_its_own_and_two_levels_are_masked() -> None:
    method = make_comet()
    passes: list[bool] = []
    encode = method.encoder.forward

    def counted(x: Tensor, mask: Mask | None = None) -> Tensor:
        passes.append(mask is not None)
        return encode(x, mask)

    method.encoder.forward = counted  # type: ignore[method-assign]
    method(batch_of_trials())
    assert passes == [True] * 4 + [False] * 4


def test_unmasked_views_differ_by_the_dropout() -> None:
    method = make_comet(observation_weight=0.0, sample_weight=0.0)
    assert method.encoder.dropout == 0.1
    assert method(batch_of_trials()).item() != method(batch_of_trials()).item()
    method.eval()
    assert method(batch_of_trials()).item() == method(batch_of_trials()).item()


def test_some_level_must_count() -> None:
    with pytest.raises(ValueError, match="all four weights are 0: give at least one level"):
        COMETConfig(patient_weight=0, trial_weight=0, sample_weight=0, observation_weight=0)
