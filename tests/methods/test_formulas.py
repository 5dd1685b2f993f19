"""Losses against plain loops, and the momentum of each schedule."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from methods import METHODS
from methods.byol import BYOL, BYOLConfig, byol_loss
from methods.clocs import cmsc_loss
from methods.comet import COMET, COMETConfig, observation_loss, same_id_loss, sample_loss
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from methods.etp import symmetric_info_nce
from methods.moco import moco_loss
from methods.parts.losses import two_view_nce, unit_length
from tests import make


def unit(*counts: int) -> list[torch.Tensor]:
    """Rows of unit length, (n, 6) of each count."""
    torch.manual_seed(1)
    return [unit_length(torch.randn(count, 6, dtype=torch.float64)) for count in counts]


@pytest.mark.parametrize(
    "patient", [[0, 1, 2, 3], [7, 7, 7, 7], [0, 5, 0, 5, 0], [0, 0], [2**24, 2**24 + 1, 2**40, 2**24]]
)
def test_clocs_attracts_pairs_of_a_patient_in_either_direction(patient: list[int]) -> None:
    count = len(patient)
    z1, z2 = unit(count, count)
    logits = z1 @ z2.T / 0.3
    by_row, by_column = (-logits.log_softmax(dim) for dim in (1, 0))
    terms: dict[str, list[float]] = {"row": [], "column": [], "above": [], "below": []}
    for i in range(count):
        for j in range(count):
            if i == j:
                terms["row"].append(float(by_row[i, i]))
                terms["column"].append(float(by_column[i, i]))
            elif patient[i] == patient[j]:
                terms["above" if i < j else "below"].append(float((by_row if i < j else by_column)[i, j]))
    means = [sum(values) / len(values) for values in terms.values() if values]
    assert cmsc_loss(z1, z2, torch.tensor(patient), 0.3).item() == pytest.approx(sum(means) / len(means), rel=1e-12)


def test_etp_is_the_mean_of_both_directions() -> None:
    ecg, text = unit(5, 5)
    logits = ecg @ text.T / 0.07
    expected = -(logits.log_softmax(1).diagonal().mean() + logits.log_softmax(0).diagonal().mean()) / 2
    torch.testing.assert_close(symmetric_info_nce(ecg, text, 0.07), expected)


@pytest.mark.parametrize("ids", [[], [-1, -1], [0, 5, -1, 2**40], [1, 1, 1]])
def test_moco_has_the_filled_queue_as_negatives(ids: list[int]) -> None:
    q, k, queue = unit(4, 4, len(ids))
    anchors = []
    for i in range(4):
        positive = math.exp(q[i] @ k[i] / 0.2)
        negatives = [math.exp(q[i] @ queue[j] / 0.2) for j, owner in enumerate(ids) if owner != -1]
        anchors.append(-math.log(positive / (positive + math.fsum(negatives))))
    ours = moco_loss(q, k, queue, torch.tensor(ids, dtype=torch.int64), 0.2)
    assert ours.item() == pytest.approx(sum(anchors) / 4, rel=1e-12, abs=1e-12)


def test_byol_predicts_the_other_views_target_in_both_directions() -> None:
    p, z = unit(5, 5)
    cosines = [math.fsum(a * b for a, b in zip(p[i].tolist(), z[i].tolist(), strict=True)) for i in range(5)]
    assert byol_loss(2 * p, 3 * z).item() == pytest.approx(2 - 2 * sum(cosines) / 5, rel=1e-12)
    method = BYOL(make.encoder(), BYOLConfig(time_mask=0.0, frequency_mask=0.0))
    batch = make.batch(range(5), steps=40)
    with torch.no_grad():
        for parameter in method.momentum_encoder.parameters():
            parameter.mul_(1.3)
    (p1, p2), (z1, z2) = ([branch(x) for x in (batch.x1, batch.x2)] for branch in (method.online, method.target))
    torch.testing.assert_close(method(batch), (byol_loss(p1, z2) + byol_loss(p2, z1)) / 2)


COSINE = [1 - 0.2 * (math.cos(math.pi * done / 4) + 1) / 2 for done in range(4)]


@pytest.mark.parametrize(
    ("name", "settings", "updates", "expected"),
    [
        ("moco", {"momentum": 0.9}, 4, [0.9] * 3),
        ("byol", {"momentum": 0.8}, 4, [*COSINE, 1.0, 1.0]),  # more updates than were announced
        ("byol", {"momentum": 0.8}, None, [0.8] * 3),
        ("byol", {"momentum": 0.8, "momentum_schedule": "constant"}, 2, [0.8] * 3),
        ("jepa", {"momentum": 0.5}, 4, [0.5, 0.625, 0.75, 0.875, 1.0, 1.0]),
        ("jepa", {"momentum": 0.5}, 1, [0.5, 1.0]),
    ],
)
def test_copies_follow_by_the_momentum_of_the_schedule(
    name: str, settings: dict[str, Any], updates: int | None, expected: list[float]
) -> None:
    method: Any = METHODS[name](make.encoder(), METHODS[name].Config(**settings))
    if updates is not None:
        method.begin(updates)
    pairs = [(method.momentum_encoder, method.encoder), (method.momentum_projection_head, method.projection_head)]
    moving = [pair for copied, source in pairs for pair in zip(copied.parameters(), source.parameters(), strict=True)]
    for momentum in expected:
        with torch.no_grad():
            for _, source in moving:
                source.add_(1.0)
        followed = [momentum * copied + (1 - momentum) * source for copied, source in moving]
        method.after_step()
        torch.testing.assert_close([copied for copied, _ in moving], followed)


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


def test_comets_loss_weighs_four_levels_of_the_steps_that_the_encoder_gives() -> None:
    torch.manual_seed(0)
    weights = {"observation_weight": 0.3, "sample_weight": 0.2, "trial_weight": 0.4, "patient_weight": 2.0}
    method = COMET(ResNet1d(ResNet1dConfig(output=8)), COMETConfig(encoder_dropout=0.0, mask_spans=0, **weights))
    batch = make.batch([0, 0, 0, 1], steps=30)
    batch = batch._replace(x2=batch.x1, trial=torch.tensor([0, 0, 1, 2]))
    h = method.encoder(batch.x1)  # (B, 8, K) of 30 samples
    assert h.shape[1] == 8
    expected = (
        0.3 * observation_loss(h, h)
        + 0.2 * sample_loss(h, h)
        + 0.4 * same_id_loss(h, h, batch.trial)
        + 2.0 * same_id_loss(h, h, batch.patient)
    )
    torch.testing.assert_close(method(batch), expected)
    for name in weights:  # a level of no weight costs no pass
        alone = COMET(method.encoder, COMETConfig(mask_spans=0, **dict.fromkeys(weights, 0.0) | {name: 1.0}))
        assert len(list(alone.loss_terms(batch))) == 1


@pytest.mark.parametrize("name", ["pmq", "clocs", "comet", "pclr"])
def test_positives_are_the_windows_of_the_patient(name: str) -> None:
    hyperparameters = {"queue_size": 2} if name == "pmq" else {}
    of_batch = torch.tensor([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    expected = {"pclr": torch.eye(3), "pmq": torch.cat([of_batch, torch.tensor([[1, 0]] * 2 + [[0, 0]])], 1)}
    method = METHODS[name](make.encoder(), METHODS[name].Config(**hyperparameters))
    if name == "pmq":
        method.queue.push(torch.randn(1, 6), torch.tensor([5]), torch.tensor([50]))  # type: ignore[operator, union-attr]
    torch.testing.assert_close(method.positives(make.batch([5, 5, 6])), expected.get(name, of_batch).bool())
