"""What attracts the queries of a batch besides their own keys: told by a method, counted by whoever watches it."""

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
        """Each query, of the recordings (N,), is attracted by its own key alone."""
        return cls(torch.eye(len(recording), dtype=torch.bool, device=recording.device), recording)
