"""Positive candidates of a batch's queries, reported by a method and counted during training."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Positives(NamedTuple):
    """Which of C >= N candidates attract the N queries of a batch. Candidate i < N is query i's own key."""

    attracts: Tensor  # (N, C) bool
    recording: Tensor  # (C,) int64, the ECG a candidate came from; -1 where there is none

    @classmethod
    def own_keys(cls, recording: Tensor) -> Positives:
        """Own keys as the only positives of N queries; recording: (N,) int64."""
        return cls(torch.eye(len(recording), dtype=torch.bool, device=recording.device), recording)
