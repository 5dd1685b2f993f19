"""MoCo's loss against a plain loop, and the order of its events."""

from __future__ import annotations

import math

import pytest
import torch

from methods.moco import MoCo, MoCoConfig, moco_loss
from methods.parts.losses import unit_length
from tests import make


@pytest.mark.parametrize("ids", [[], [-1, -1], [0, 5, -1, 2**40], [1, 1, 1]])
def test_equals_a_plain_loop(ids: list[int]) -> None:
    q, k, queue = (unit_length(torch.randn(n, 6, dtype=torch.float64)) for n in (4, 4, len(ids)))
    anchors = []
    for i in range(4):
        positive = math.exp(q[i] @ k[i] / 0.2)
        negatives = [math.exp(q[i] @ queue[j] / 0.2) for j, owner in enumerate(ids) if owner != -1]
        anchors.append(-math.log(positive / (positive + math.fsum(negatives))))
    ours = moco_loss(q, k, queue, torch.tensor(ids, dtype=torch.int64), 0.2)
    assert ours.item() == pytest.approx(sum(anchors) / 4, rel=1e-12, abs=1e-12)


def make_moco(**knobs: object) -> MoCo:
    torch.manual_seed(0)
    settings = {"queue_size": 8, **knobs}
    return MoCo(make.encoder(depth=3, output=8), MoCoConfig(**settings))  # type: ignore[arg-type]


def test_the_first_loss_is_zero_and_the_second_is_not() -> None:
    method = make_moco()
    assert method(make.batch(range(5), steps=40)).item() == 0
    assert method(make.batch(range(5), steps=40)).item() > 0.1
