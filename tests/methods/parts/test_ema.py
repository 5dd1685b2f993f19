"""Momentum copies and running averages follow their source by their formula and get no gradient."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from methods.parts.ema import RunningAverage, momentum_copy, update_momentum


def head() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))


@pytest.mark.parametrize("momentum", [0.0, 0.9, 1.0])
def test_moves_parameters_and_only_those(momentum: float) -> None:
    target, source = momentum_copy(head()), head()
    source(torch.randn(8, 3))
    before = [parameter.clone() for parameter in target.parameters()]
    update_momentum(target, source, momentum)
    for old, new, origin in zip(before, target.parameters(), source.parameters(), strict=True):
        torch.testing.assert_close(new, momentum * old + (1 - momentum) * origin)
        assert not new.requires_grad
    assert torch.equal(target[1].running_mean, torch.zeros(3))


def test_a_copy_is_apart_from_its_source() -> None:
    source = head()
    copied = momentum_copy(source)
    with torch.no_grad():
        source[0].weight += 1
    assert not torch.equal(copied[0].weight, source[0].weight)
    assert all(parameter.requires_grad for parameter in source.parameters())


def test_different_modules_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in their parameters"):
        update_momentum(nn.Linear(3, 3), head(), 0.9)
    with pytest.raises(ValueError, match="differ in their parameters"):
        update_momentum(nn.Linear(3, 3), nn.Linear(3, 4), 0.9)


def test_the_running_average_counts_the_initial_weights() -> None:
    source = nn.Linear(2, 2, bias=False)
    average = RunningAverage(source)
    iterates = [source.weight.detach().clone()]
    for _ in range(4):
        with torch.no_grad():
            source.weight += torch.randn(2, 2)
        average.update(source)
        iterates.append(source.weight.detach().clone())
    torch.testing.assert_close(average.module.weight.detach(), torch.stack(iterates).mean(0))
    assert (average.count.item(), average.count.dtype) == (5, torch.int64)
    assert not average.module.weight.requires_grad


def test_a_momentum_copy_counts_its_own_batches_and_the_running_average_its_sources() -> None:
    source = head()
    copied, average = momentum_copy(source), RunningAverage(source)
    source(torch.randn(8, 3) + 5)
    copied(torch.randn(8, 3) - 5)
    own = copied[1].running_mean.clone()
    update_momentum(copied, source, 0.5)
    average.update(source)
    assert torch.equal(copied[1].running_mean, own)
    for name, counted in source.named_buffers():
        assert torch.equal(average.module.get_buffer(name), counted)
    assert average.module[1].num_batches_tracked == 1


def test_the_running_average_resumes_from_its_state() -> None:
    source = nn.Linear(2, 2)
    first, second = RunningAverage(source), RunningAverage(nn.Linear(2, 2))
    first.update(source)
    second.load_state_dict(first.state_dict())
    first.update(source)
    second.update(source)
    assert all(
        torch.equal(a, b) for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    )


def test_a_changing_momentum_is_a_tensor() -> None:
    source, by_number, by_tensor = (nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)) for _ in range(3))
    by_tensor.load_state_dict(by_number.state_dict())
    update_momentum(by_number, source, 0.75)
    update_momentum(by_tensor, source, torch.tensor(0.75))
    for a, b in zip(by_number.parameters(), by_tensor.parameters(), strict=True):
        torch.testing.assert_close(a, b)
