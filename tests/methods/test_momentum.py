"""Momentum copies follow their source by their formula and get no gradient.

The queue keeps the newest M keys in a ring, for any batch size, and its snapshots are left alone.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from methods.momentum import EMPTY, KeyQueue, RunningAverage, momentum_copy, update_momentum


def head() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))


def copies(module: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


@pytest.mark.parametrize("momentum", [0.0, 0.9, 1.0])
def test_a_momentum_copy_moves_parameters_only(momentum: float) -> None:
    original, source = head(), head()
    target, given = momentum_copy(original), copies(original)
    source(torch.randn(8, 3))
    before = copies(target)
    update_momentum(target, source, momentum)
    for old, new, origin in zip(before, target.parameters(), source.parameters(), strict=True):
        torch.testing.assert_close(new, momentum * old + (1 - momentum) * origin)
        assert not new.requires_grad
    assert torch.equal(target[1].running_mean, torch.zeros(3))
    assert all(parameter.requires_grad for parameter in original.parameters())
    assert all(map(torch.equal, copies(original), given)), "a copy is apart from what it was made of"


def test_a_momentum_copy_counts_its_own_batches() -> None:
    source = head()
    copied, average = momentum_copy(source), RunningAverage(source)
    source(torch.randn(8, 3) + 5)
    copied(torch.randn(8, 3) - 5)
    statistics = copied[1].running_mean.clone()
    update_momentum(copied, source, 0.5)
    average.update(source)
    assert torch.equal(copied[1].running_mean, statistics)
    for name, counted in source.named_buffers():
        assert torch.equal(average.module.get_buffer(name), counted)
    assert average.module[1].num_batches_tracked == 1


LARGE = 2**40
"""A recording's id, which single precision does not hold."""


def push_numbers(queue: KeyQueue, first: int, count: int) -> None:
    """Push keys whose value and patient are first, first + 1, ..., and whose recording is `LARGE` more."""
    numbers = torch.arange(first, first + count)
    queue.push(numbers[:, None].repeat(1, queue.keys.shape[1]).float(), numbers, numbers + LARGE)


@pytest.mark.parametrize("size", [0, 1, 4, 6, 7, 64])
@pytest.mark.parametrize("batches", [[2], [3, 3, 3], [1, 2, 3, 4, 5, 6, 7, 8], [20], [64, 1], [7, 7]])
def test_holds_the_newest_keys(size: int, batches: list[int]) -> None:
    queue = KeyQueue(size, 2)
    assert queue.patient.tolist() == [EMPTY] * size
    pushed = 0
    for count in batches:
        push_numbers(queue, pushed, count)
        pushed += count
        held = sorted(queue.patient[queue.patient != EMPTY].tolist())
        assert held == list(range(max(0, pushed - size), pushed))
        filled = queue.patient != EMPTY
        assert torch.equal(queue.keys[filled, 0], queue.patient[filled].float())
        assert torch.equal(queue.recording[filled], queue.patient[filled] + LARGE)
        assert queue.pointer.item() == pushed % max(size, 1)
