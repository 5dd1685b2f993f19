"""The memory queue: the newest M keys and their ids (MoCo, section 3.2; PMQ, section "Patient Memory Queue")."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

EMPTY = -1
"""Id of a slot that holds no key yet."""


class Entries(NamedTuple):
    """Contents of the queue."""

    keys: Tensor  # (M, K)
    patient: Tensor  # (M,) int64, EMPTY where there is no key
    recording: Tensor  # (M,) int64, EMPTY where there is no key


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

    def snapshot(self) -> Entries:
        """Copies of all entries, unaffected by a later `push`: a loss may hold them until its backward pass."""
        return Entries(self.keys.clone(), self.patient.clone(), self.recording.clone())

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
