"""Assignment of windows to the batches of an epoch, reproducible from (seed, epoch) on any device.

`shuffled` draws windows at random; `trial` keeps the windows of a pseudo-trial together and shuffles the trials anew
each epoch; `trial-fixed` does so once and then only permutes inside the batches, as the PMQ authors' loader does. All
three drop an epoch's last, smaller batch (batch normalisation); a corpus smaller than a batch shrinks the batch.

`patient` puts at most one window of a patient into a batch and fills as many batches as that allows; of a patient with
more windows than batches, an epoch draws one per batch. `patient-once` takes one window of each patient. A `patient`
batch holds at most half of the patients, else the patient with the fewest windows would limit the number of batches.

The order is drawn on the CPU, so that every device type trains on the same batches.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.machine.seeds import stream
from methods.base import Batching


class EpochShape(NamedTuple):
    """Number and size of an epoch's batches."""

    updates: int
    batch_size: int


def epoch_shape(patient: Tensor, batching: Batching, batch_size: int) -> EpochShape:
    """Updates and batch size of an epoch over the windows of the given patients (N,).

    Raises ValueError for patient batching with fewer than two patients.
    """
    if batching not in ("patient", "patient-once"):
        return EpochShape(max(1, len(patient) // batch_size), min(batch_size, len(patient)))
    windows = torch.unique(patient, return_counts=True)[1]  # (P,) of each patient
    if len(windows) < 2:
        raise ValueError(f"batching {batching!r} needs two patients, the corpus has {len(windows)}; use 'shuffled'")
    if batching == "patient-once":
        size = min(batch_size, len(windows))
        return EpochShape(len(windows) // size, size)
    size = min(batch_size, max(2, len(windows) // 2))
    return EpochShape(full_batches(windows, size), size)


def full_batches(windows: Tensor, size: int) -> int:
    """Largest number of full batches of `size` different patients; windows: (P,) number of each patient's.

    n batches can be filled if sum(min(windows, n)) >= n * size.
    """
    enough = range(1, int(windows.sum()) // size + 1)
    return bisect_left(enough, True, key=lambda n: int(windows.clamp(max=n).sum()) < n * size)


def epoch_batches(
    trial: Tensor, patient: Tensor, shape: EpochShape, *, batching: Batching, seed: int, epoch: int
) -> Tensor:
    """Window indices of an epoch's batches (n, B); trial, patient: (N,) ids of the windows."""
    if batching == "shuffled":
        order = torch.randperm(len(trial), generator=_generator("shuffled", seed, epoch))
        return _cut(order, shape)
    if batching == "trial":
        return _cut(_grouped_order(trial, _generator("trial", seed, epoch)), shape)
    if batching == "trial-fixed":
        fixed = _cut(_grouped_order(trial, _generator("trial", seed, 0)), shape)
        return _permute_inside(fixed, _generator("inside", seed, epoch))
    generator = _generator("patient", seed, epoch)
    most = shape.updates if batching == "patient" else 1
    order = _first_of_each(patient, _grouped_order(patient, generator), most)
    # Round robin: a patient's windows are consecutive, so no batch gets two of them.
    dealt = order[: shape.updates * shape.batch_size].view(shape.batch_size, shape.updates).T  # (n, B)
    return dealt[torch.randperm(shape.updates, generator=generator)]


def _generator(*parts: int | str) -> torch.Generator:
    generator = torch.Generator()
    generator.manual_seed(stream(*parts))
    return generator


def _cut(order: Tensor, shape: EpochShape) -> Tensor:
    """Consecutive windows as batches (n, B)."""
    return order[: shape.updates * shape.batch_size].view(shape.updates, shape.batch_size)


def _grouped_order(group: Tensor, generator: torch.Generator) -> Tensor:
    """Windows ordered by shuffled group, shuffled inside each group: (N,)."""
    groups, inverse = torch.unique(group, return_inverse=True)
    rank = torch.randperm(len(groups), generator=generator)[inverse]  # (N,)
    shuffle = torch.randperm(len(group), generator=generator)  # (N,)
    return shuffle[torch.argsort(rank[shuffle], stable=True)]


def _first_of_each(group: Tensor, order: Tensor, most: int) -> Tensor:
    """The first `most` windows of each group in an order in which a group's windows follow each other."""
    _, run, count = torch.unique_consecutive(group[order], return_inverse=True, return_counts=True)
    within = torch.arange(len(order)) - (count.cumsum(0) - count)[run]  # (N,)
    return order[within < most]


def _permute_inside(batches: Tensor, generator: torch.Generator) -> Tensor:
    inside = torch.rand(batches.shape, generator=generator).argsort(dim=1)  # (n, B)
    return batches.gather(1, inside)
