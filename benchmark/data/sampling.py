"""Which windows stand in which batch of an epoch, reproducible from (seed, epoch) on any device.

`shuffled` draws windows at random; `trial` keeps the windows of a pseudo-trial together and shuffles the trials anew
each epoch; `trial-fixed` does so once and then only permutes inside the batches, as the PMQ authors' loader does.
The order is drawn on the CPU, so that every device type trains on the same batches. The last, smaller batch of an
epoch is left out (batch normalisation); where there is less than one batch, the batch shrinks.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from benchmark.provenance import stream

Batching = Literal["shuffled", "trial", "trial-fixed"]


def _generator(*parts: int | str) -> torch.Generator:
    generator = torch.Generator()
    generator.manual_seed(stream(*parts))
    return generator


def _trial_order(trial: Tensor, generator: torch.Generator) -> Tensor:
    """Windows ordered by shuffled trial, shuffled inside each trial."""
    trials, inverse = torch.unique(trial, return_inverse=True)
    rank = torch.randperm(len(trials), generator=generator)[inverse]  # (N,)
    shuffle = torch.randperm(len(trial), generator=generator)  # (N,)
    return shuffle[torch.argsort(rank[shuffle], stable=True)]


def _permute_inside(batches: Tensor, generator: torch.Generator) -> Tensor:
    inside = torch.rand(batches.shape, generator=generator).argsort(dim=1)  # (n, B)
    return batches.gather(1, inside)


def updates_per_epoch(windows: int, batch_size: int) -> int:
    """Optimiser steps of one epoch."""
    return max(1, windows // batch_size)


def epoch_batches(trial: Tensor, *, batching: Batching, batch_size: int, seed: int, epoch: int) -> Tensor:
    """Window indices of an epoch's batches (n, B); `trial` (N,) holds each window's pseudo-trial."""
    windows = len(trial)
    size = min(batch_size, windows)
    count = updates_per_epoch(windows, batch_size)
    if batching == "shuffled":
        order = torch.randperm(windows, generator=_generator("shuffled", seed, epoch))
    else:
        order = _trial_order(trial, _generator("trial", seed, epoch if batching == "trial" else 0))
    batches = order[: count * size].view(count, size)  # (n, B)
    if batching == "trial-fixed":
        return _permute_inside(batches, _generator("inside", seed, epoch))
    return batches
