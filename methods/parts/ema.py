"""Averages of a network's weights: the momentum copy (MoCo, Eq. 2; PMQ, Eq. 2) and the running average of all iterates.

Both average parameters only. Buffers of batch normalisation: a momentum copy forwards batches and so keeps running
statistics of its own; the running average forwards none and copies those of its source, like torch's `AveragedModel`.
"""

from __future__ import annotations

import copy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


def momentum_copy(module: M) -> M:
    """A copy of a module that gets no gradient."""
    return copy.deepcopy(module).requires_grad_(False)


@torch.no_grad()
def update_momentum(target: nn.Module, source: nn.Module, momentum: float | Tensor) -> None:
    """target <- momentum * target + (1 - momentum) * source, parameter by parameter.

    A scheduled momentum is a 0-d tensor, so that nothing is read back from the device. Raises ValueError if the
    parameters differ in shape.
    """
    targets, sources = _paired(target, source)
    if isinstance(momentum, Tensor):
        torch._foreach_lerp_(targets, sources, [1.0 - momentum] * len(targets))
    else:
        torch._foreach_lerp_(targets, sources, 1.0 - momentum)


class RunningAverage(nn.Module, Generic[M]):
    """Uniform average of a module's weights over all iterates, the initial ones included; buffers are the latest."""

    module: M
    count: Tensor  # ()

    def __init__(self, module: M) -> None:
        super().__init__()
        self.module = momentum_copy(module)
        self.register_buffer("count", torch.ones((), dtype=torch.int64))

    @torch.no_grad()
    def update(self, source: nn.Module) -> None:
        """Add an iterate to the average. Raises ValueError if the parameters differ in shape."""
        averages, sources = _paired(self.module, source)
        self.count += 1
        for average, parameter in zip(averages, sources, strict=True):
            average.lerp_(parameter, 1.0 / self.count.to(average.dtype))
        for kept, counted in zip(self.module.buffers(), source.buffers(), strict=True):
            kept.copy_(counted)


def _paired(target: nn.Module, source: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """Parameters of both modules, in the same order."""
    targets, sources = list(target.parameters()), list(source.parameters())
    shapes = [[tuple(parameter.shape) for parameter in side] for side in (targets, sources)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"momentum copy and its source differ in their parameters: {shapes[0]} and {shapes[1]}")
    return [t.detach() for t in targets], [s.detach() for s in sources]
