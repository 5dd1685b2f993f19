"""Momentum copies and running averages of weights, the queue of keys, and the base of the methods with a copy.

A momentum copy moves by `target <- m target + (1 - m) online` (MoCo, Eq. 2; PMQ, Eq. 2), where m is constant or rises
to 1 with the share of the updates done; the running average counts all iterates alike. Both average parameters only. Of
the buffers of batch normalisation, a momentum copy forwards batches and so keeps running statistics of its own; the
running average forwards none and copies those of its source, like torch's `AveragedModel`. The queue holds the newest M
keys and their ids (MoCo, section 3.2; PMQ, section "Patient Memory Queue").
"""

from __future__ import annotations

import copy
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from methods.base import PretrainMethod
from methods.encoders.base import Encoder

M = TypeVar("M", bound=nn.Module)


def momentum_copy(module: M) -> M:
    """Make a copy of a module that gets no gradient."""
    return copy.deepcopy(module).requires_grad_(False)


@torch.no_grad()
def update_momentum(target: nn.Module, source: nn.Module, momentum: float | Tensor) -> None:
    """Move a copy: target <- momentum * target + (1 - momentum) * source, parameter by parameter.

    A scheduled momentum is a 0-d tensor, so that nothing is read back from the device.
    """
    for moved, parameter in zip(target.parameters(), source.parameters(), strict=True):
        moved.lerp_(parameter, 1.0 - momentum)


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


class AveragedMethod(PretrainMethod):
    """A method of which downstream tasks get the running average of the encoder."""

    def __init__(self, encoder: Encoder, config: Any) -> None:
        super().__init__(encoder, config)
        self.average: RunningAverage[Encoder] = RunningAverage(encoder)

    def after_step(self) -> None:
        """Add the new weights to the running average."""
        self.average.update(self.encoder)

    def exported(self) -> Encoder:
        """Return the running average of the encoder."""
        return self.average.module


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


class MomentumMethod(PretrainMethod):
    """Online and momentum branch. The config of a subclass has `momentum`, the first one."""

    updates_done: Tensor  # ()
    updates: Tensor  # (), 0 before `begin`

    def __init__(self, encoder: Encoder, config: Any, projection_head: nn.Module, prediction_head: nn.Module) -> None:
        super().__init__(encoder, config)
        self.projection_head, self.prediction_head = projection_head, prediction_head
        self.momentum_encoder = momentum_copy(encoder)
        self.momentum_projection_head = momentum_copy(projection_head)
        self.register_buffer("updates_done", torch.zeros((), dtype=torch.int64))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    def begin(self, updates: int) -> None:
        """Set the length of a schedule of the momentum; before that the momentum is constant."""
        self.updates.fill_(updates)

    def online(self, x: Tensor) -> Tensor:
        """Compute the prediction from a view: (B, S, L) -> (B, K)."""
        return self.prediction_head(self.projection_head(self.encoder.pooled(x, self.mask)))  # (B, K)

    @torch.no_grad()
    def target(self, x: Tensor) -> Tensor:
        """Compute the momentum projection of a view: (B, S, L) -> (B, K)."""
        return self.momentum_projection_head(self.momentum_encoder.pooled(x, self.mask))  # (B, K)

    def after_step(self) -> None:
        """Move the copies (MoCo, Eq. 2)."""
        momentum = self.momentum()
        update_momentum(self.momentum_encoder, self.encoder, momentum)
        update_momentum(self.momentum_projection_head, self.projection_head, momentum)
        self.updates_done += 1

    def momentum(self) -> float | Tensor:
        """Give the momentum of the next move, here a constant; a schedule is a 0-d tensor."""
        return self.config.momentum

    def share_done(self) -> Tensor:
        """Compute the share of the updates that are done: 0-d, 0 where their number is not known."""
        return torch.where(self.updates > 0, self.updates_done / self.updates.clamp(min=1), 0.0).clamp(max=1)  # ()
