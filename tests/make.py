"""Small things that tests of several rooms start from."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig


def encoder(hidden: int = 4, depth: int = 2, output: int = 6) -> Dilated:
    """A tiny dilated encoder, the same at each call."""
    torch.manual_seed(0)
    return Dilated(DilatedConfig(hidden=hidden, depth=depth, output=output))


def batch(
    patient: Sequence[int] = (0, 1, 2, 3), recording: Sequence[int] = (), *, steps: int = 20, text: int = 0
) -> Batch:
    """Two views of noise for each pair; a recording is one pseudo-trial. text: width of the report embedding, 0: none.

    Without `recording` every pair is of a recording of its own.
    """
    x1, x2 = torch.randn(2, len(patient), steps, 12)  # (B, S, L) each
    ids = torch.tensor(recording or range(len(patient)))
    return Batch(x1, x2, torch.tensor(patient), ids, ids, torch.randn(len(patient), text) if text else None)
