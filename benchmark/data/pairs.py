"""What a batch is made of: two views of the heartbeats of a pseudo-trial, gathered on the device by index.

A pseudo-trial of 2n heartbeats gives n windows per epoch for every pairing, so that an epoch is the same amount of
data for every method. `neighbor`: beats 2j and 2j + 1 (the paper's x_q, x_k). `same`: one of the two, in both views.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from methods.base import Batch

Pairing = Literal["neighbor", "same"]


@dataclass(frozen=True)
class PairSource:
    """A pretraining corpus on the device."""

    beats: Tensor  # (T, P, S, L) float16, P heartbeats of S samples in each of T pseudo-trials
    recording: Tensor  # (T,) int64
    patient: Tensor  # (T,) int64, numbered from 1 as the authors do

    @property
    def windows(self) -> int:
        """Pairs per epoch."""
        return self.beats.shape[0] * (self.beats.shape[1] // 2)

    def trial_of_window(self) -> Tensor:
        """Pseudo-trial of every window (N,), on the CPU."""
        per_trial = self.beats.shape[1] // 2
        return torch.arange(self.beats.shape[0]).repeat_interleave(per_trial)


def make_batch(source: PairSource, windows: Tensor, pairing: Pairing) -> Batch:
    """Two float32 views of the given windows (B,) of a corpus; `same` draws its beat from torch's default generator."""
    per_trial = source.beats.shape[1] // 2
    trial, first = windows // per_trial, 2 * (windows % per_trial)  # (B,), (B,)
    if pairing == "neighbor":
        x1 = source.beats[trial, first].float()  # (B, S, L)
        x2 = source.beats[trial, first + 1].float()  # (B, S, L)
    else:
        beat = first + torch.randint(0, 2, first.shape, device=first.device)  # (B,)
        x1 = x2 = source.beats[trial, beat].float()  # (B, S, L)
    return Batch(x1, x2, source.patient[trial], source.recording[trial], trial)
