"""Momentum copies and running averages of weights, the memory queue of keys, and projection heads.

A network's weights are averaged by the momentum copy (MoCo, Eq. 2; PMQ, Eq. 2) and by the running average of all
iterates. Both average parameters only. Of the buffers of batch normalisation, a momentum copy forwards batches and so
keeps running statistics of its own; the running average forwards none and copies those of its source, like torch's
`AveragedModel`.

The memory queue holds the newest M keys and their ids (MoCo, section 3.2; PMQ, section "Patient Memory Queue"). The
heads between the representation and the space of the loss are multi-layer perceptrons of one width.
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
    """Move a copy: target <- momentum * target + (1 - momentum) * source, parameter by parameter.

    A scheduled momentum is a 0-d tensor, so that nothing is read back from the device.
    """
    targets: list[Tensor] = list(target.parameters())
    sources: list[Tensor] = list(source.parameters())
    if not targets:
        return
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
        """Add an iterate to the average."""
        self.count += 1
        for average, parameter in zip(self.module.parameters(), source.parameters(), strict=True):
            average.lerp_(parameter, 1.0 / self.count.to(average.dtype))
        for stored, latest in zip(self.module.buffers(), source.buffers(), strict=True):
            stored.copy_(latest)


EMPTY = -1
"""Id of a slot that holds no key yet."""


class KeyQueue(nn.Module):
    """Ring buffer of M slots. All state is in buffers, hence in checkpoints; with M = 0 the queue stays empty."""

    keys: Tensor
    patient: Tensor
    recording: Tensor
    pointer: Tensor

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(size, width))  # (M, K)
        self.register_buffer("patient", torch.full((size,), EMPTY))  # (M,)
        self.register_buffer("recording", torch.full((size,), EMPTY))  # (M,)
        self.register_buffer("pointer", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def push(self, keys: Tensor, patient: Tensor, recording: Tensor) -> None:
        """Overwrite the oldest slots with a batch of any size; of more than M keys the newest M stay.

        keys: (B, K); patient, recording: (B,) int64 >= 0. Nothing is read back from the device.
        """
        size, batch = self.keys.shape[0], keys.shape[0]
        newest = torch.arange(max(batch - size, 0), batch, device=keys.device)  # (min(B, M),)
        slots = (self.pointer + newest) % max(size, 1)  # (min(B, M),)
        self.keys.index_copy_(0, slots, keys[newest].to(self.keys.dtype))
        self.patient.index_copy_(0, slots, patient[newest])
        self.recording.index_copy_(0, slots, recording[newest])
        self.pointer.copy_((self.pointer + batch) % max(size, 1))


def batch_norm_head(width: int, layers: int) -> nn.Sequential:
    """Linear-BatchNorm `layers` times with ReLU between: (B, width) -> (B, width). The last layer is normalised too.

    The projection head (three layers) and the prediction head (two) of PMQ, section "Implementation details".
    Layer i is modules 3i to 3i + 1; ReLU is module 3i + 2.
    """
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def mlp_head(width: int, layers: int) -> nn.Sequential:
    """Linear `layers` times with ReLU between, no normalisation: (B, width) -> (B, width). MoCo v2 has two layers."""
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])
