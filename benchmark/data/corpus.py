"""The corpus of a pretraining: pairs of windows of its pseudo-trials, and the batches of an epoch.

A pseudo-trial (benchmark.data.trials) gives half as many pairs per epoch as it has windows for every method, one of a
single window gives one. `neighbor`: two windows that follow each other (PMQ, Segment(t, t + 2 dt));
`same`: one window twice; `patient`: a window and one of another recording of the patient (PCLR), else another one of
the same recording. Windows stay in their memory map, and a thread reads those of the next batches while an update runs.
What a batch holds is drawn on the CPU from the seed of its step, so that every device trains on the same batches, and a
run goes on from any step to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from benchmark.data.column import Column
from benchmark.data.datasets.base import DatasetError
from benchmark.data.report_text import embed_reports, has_text
from benchmark.data.trials import Trials
from benchmark.machine import LARGE, stream
from benchmark.results.arrays import Ints
from methods.base import Batch, Batching, Pairing

AHEAD = 2
"""Batches that are read ahead of the update."""


class PatientIndex(NamedTuple):
    """Pseudo-trials of each patient and recording, as ranges of their order by patient and recording, (T,) each."""

    order: Tensor
    position: Tensor
    """Position of each pseudo-trial in the order."""
    patient_start: Tensor
    patient_count: Tensor
    recording_start: Tensor
    recording_count: Tensor


def draw_partner(
    index: PatientIndex, trial: Tensor, window: Tensor, windows: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Draw pseudo-trial and window (B,) of the partner of each of B windows, of `windows` in a pseudo-trial.

    One of another recording of the patient, else another one of the same recording, else itself. All candidates are
    equally likely.
    """
    start, count = index.recording_start[trial], index.recording_count[trial]  # (B,), (B,) of the recording
    others = index.patient_count[trial] - count  # (B,) pseudo-trials of the patient's other recordings
    draw = torch.randint(LARGE, trial.shape, generator=generator)  # (B,)

    position = index.patient_start[trial] + draw // windows % others.clamp(min=1)  # (B,)
    position += count * (position >= start)
    in_other = position * windows + draw % windows  # (B,) windows numbered through the order

    itself = index.position[trial] * windows + window  # (B,)
    further = count * windows - 1  # (B,) windows of the recording besides this one
    in_same = start * windows + draw % further.clamp(min=1)  # (B,)
    in_same += in_same >= itself
    in_same = torch.where(further > 0, in_same, itself)  # (B,)
    partner = torch.where(others > 0, in_other, in_same)  # (B,)
    return index.order[partner // windows], partner % windows


class Pairs(NamedTuple):
    """The two windows of B pairs: numbers of their pseudo-trials and first samples in them, (B,) each."""

    trial: Tensor
    first: Tensor
    other_trial: Tensor
    other_first: Tensor


def pairs_of(per_trial: int) -> int:
    """Count the pairs of a pseudo-trial; one window gives a pair too, of itself or with another recording."""
    return max(1, per_trial // 2)


@dataclass(frozen=True)
class Corpus:
    """Recordings to pretrain on: T of the pseudo-trials of a dataset."""

    trials: Trials
    chosen: Ints
    """(T,) their numbers in `trials`."""
    device: torch.device
    """Device to which batches are moved."""
    random_start: bool = False
    """A window may begin at any sample; heartbeats begin where they were cut."""
    text: Tensor | None = None  # (T, E) embedded report of the recording, on the device

    @cached_property
    def patient(self) -> Tensor:
        """(T,) numbered from 1, as by the PMQ authors: their queue marks its empty slots with patient 0."""
        return torch.from_numpy(self.trials.patient[self.chosen] + 1)

    @cached_property
    def recording(self) -> Tensor:
        """(T,)"""
        return torch.from_numpy(self.trials.recording[self.chosen])

    @cached_property
    def trial_of_pair(self) -> Tensor:
        """(N,) pseudo-trial of every pair."""
        return torch.arange(len(self.chosen)).repeat_interleave(pairs_of(self.trials.per_trial))

    @property
    def patient_of_pair(self) -> Tensor:
        """(N,) patient of every pair."""
        return self.patient[self.trial_of_pair]

    @cached_property
    def patient_index(self) -> PatientIndex:
        """Pseudo-trials by patient and recording."""
        of_recording = self.patient * (int(self.recording.max()) + 1) + self.recording  # (T,) patient by patient
        order = torch.argsort(of_recording, stable=True)  # (T,)
        ranges = []
        for ids in (self.patient, of_recording):
            start = torch.searchsorted(ids[order], ids)  # (T,)
            ranges += [start, torch.searchsorted(ids[order], ids, right=True) - start]
        return PatientIndex(order, torch.argsort(order), *ranges)

    def draw_pairs(self, numbers: Tensor, pairing: Pairing, generator: torch.Generator | None = None) -> Pairs:
        """Draw the two windows of numbered pairs (B,); by torch's default generator, or one that reads ahead."""
        samples, windows = self.trials.window, self.trials.per_trial
        trial = numbers // pairs_of(windows)  # (B,)
        pair = numbers % pairs_of(windows)  # (B,)
        shift = window = torch.zeros_like(trial)  # (B,), shift the same for both windows

        def draw(below: int) -> Tensor:
            return torch.randint(below, trial.shape, generator=generator)  # (B,)

        if self.random_start and pairing != "patient":
            distance = samples if pairing == "neighbor" else 0
            first = draw((windows - 1) * samples - distance + 1)
            return Pairs(trial, first, trial, first + distance)
        if pairing == "neighbor":
            return Pairs(trial, 2 * pair * samples, trial, (2 * pair + 1) * samples)
        if not self.random_start:
            window = 2 * pair + draw(2)
        elif windows > 1:
            windows -= 1
            shift = draw(samples + 1)
            window = draw(windows)
        first = window * samples + shift
        if pairing == "same":
            return Pairs(trial, first, trial, first)
        other, other_window = draw_partner(self.patient_index, trial, window, windows, generator)
        return Pairs(trial, first, other, other_window * samples + shift)

    def read(self, pairs: Pairs, pairing: Pairing) -> list[Tensor]:
        """Read both windows (B, S, 12) of some pairs, or the one of `same`, in float16; pinned for a GPU."""
        sides = [(pairs.trial, pairs.first), (pairs.other_trial, pairs.other_first)][: 1 if pairing == "same" else 2]
        taken = [self.trials.take(self.chosen[trial.numpy()], first.numpy()) for trial, first in sides]
        windows = map(torch.from_numpy, taken)
        return [one.pin_memory() if self.device.type == "cuda" else one for one in windows]

    def batches(
        self, order: Tensor, pairing: Pairing, seed_of: Callable[[int], int], first: int = 0
    ) -> Generator[Batch]:
        """Yield the batches of an epoch from step `first` on, those of its `order` (n, B), read ahead.

        seed_of: step -> seed, by which torch is seeded before a batch is handed out; its generator is left as if it had
        drawn the batch.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="corpus") as reader:

            def begin(step: int) -> Future[list[Tensor]]:
                pairs = self.draw_pairs(order[step], pairing, torch.Generator().manual_seed(seed_of(step)))
                return reader.submit(self.read, pairs, pairing)

            waiting = [begin(step) for step in range(len(order))[first : first + AHEAD]]
            for step in range(first, len(order)):
                if step + AHEAD < len(order):
                    waiting.append(begin(step + AHEAD))
                torch.manual_seed(seed_of(step))
                trial = self.draw_pairs(order[step], pairing).trial  # those that are read: the seed is the same
                x = [one.to(self.device, non_blocking=True).float() for one in waiting.pop(0).result()]
                ids = [one.to(self.device) for one in (self.patient[trial], self.recording[trial], trial)]
                text = None if self.text is None else self.text[ids[2]]
                yield Batch(x[0], x[-1], ids[0], ids[1], ids[2], text)


def pretrained_recordings(column: Column, recordings: Ints | None = None) -> Ints:
    """Number those of some recordings that have a pseudo-trial, ascending.

    By default of all of a dataset without labels, else of its training part, none where it cannot be split.
    """
    if recordings is None:
        recordings = column.split.train if column.data.classes else np.arange(column.data.usable)
    return recordings[column.data.trials_of_each(column.spec.per_trial)[recordings] > 0]


def corpus_of(
    column: Column, device: torch.device, text_embedder: str | None = None, recordings: Ints | None = None
) -> Corpus:
    """Return the corpus of `pretrained_recordings`; with an embedder, of those with a report, and its embedding.

    Raises DatasetError if no recording is usable.
    """
    data = column.data
    used = pretrained_recordings(column, recordings)  # (R,)
    if not len(used):
        raise DatasetError(
            f"{data.title}: no recording to pretrain on has the {column.spec.per_trial} "
            f"{data.segmentation.unit_name}s of a pseudo-trial: lower pretrain.beats_per_trial"
        )
    reports = [data.recordings.report[r] for r in used] if text_embedder else []
    if text_embedder:
        has_report = [has_text(report) for report in reports]
        used = used[has_report]  # (R',)
        reports = list(compress(reports, has_report))
    if not len(used):
        raise DatasetError(f"{data.title}: no recording has a report; leave out the methods that learn from text")
    trials = column.scaled_trials(used)
    text = None
    chosen = np.flatnonzero(np.isin(trials.recording, used))  # (T,)
    if text_embedder:
        vectors = embed_reports(reports, text_embedder, cache=data.folder, device=device)  # (R', E)
        text = torch.from_numpy(vectors[np.searchsorted(used, trials.recording[chosen])]).to(device)  # (T, E)
    return Corpus(trials, chosen, device, data.segmentation.kind == "recordings", text)


class EpochShape(NamedTuple):
    """Number and size of an epoch's batches."""

    updates: int
    batch_size: int


def epoch_shape(patient: Tensor, batching: Batching, batch_size: int) -> EpochShape:
    """Return updates and batch size of an epoch over pairs of the given patients (N,).

    A last, smaller batch is dropped (batch normalisation); a corpus smaller than a batch shrinks the batch. A batch of
    different patients holds at most half of them, else the one with the fewest pairs would limit their number. Raises
    ValueError for patient batching with fewer than two patients.
    """
    if batching not in ("patient", "patient-once"):
        return EpochShape(max(1, len(patient) // batch_size), min(batch_size, len(patient)))
    pairs = torch.unique(patient, return_counts=True)[1]  # of each patient
    if len(pairs) < 2:
        raise ValueError(f"batching {batching!r} needs two patients, the corpus has {len(pairs)}; use 'shuffled'")
    if batching == "patient-once":
        size = min(batch_size, len(pairs))
        return EpochShape(len(pairs) // size, size)
    size = min(batch_size, max(2, len(pairs) // 2))
    updates = 0  # n batches can be filled if sum(min(pairs, n)) >= n * size
    while int(pairs.clamp(max=updates + 1).sum()) >= (updates + 1) * size:
        updates += 1
    return EpochShape(updates, size)


def epoch_order(
    trial: Tensor, patient: Tensor, shape: EpochShape, *, batching: Batching, seed: int, epoch: int
) -> Tensor:
    """Number the pairs of an epoch's batches (n, B); trial, patient: (N,) of the pairs.

    shuffled: at random; trial: the pairs of a pseudo-trial together, shuffled anew each epoch; trial-fixed: the same
    batches in every epoch, permuted inside, as by the PMQ authors' loader; patient: at most one pair of a patient in a
    batch, and as many batches as that allows; patient-once: one pair of each patient in an epoch.
    """
    kind = batching.partition("-")[0]
    generator = _generator(kind, seed, 0 if batching == "trial-fixed" else epoch)
    size = shape.updates * shape.batch_size
    if kind == "shuffled":
        return torch.randperm(len(trial), generator=generator)[:size].view(shape)
    if kind == "trial":
        order = _grouped(trial, generator)[:size].view(shape)  # (n, B)
        inside = torch.rand(shape, generator=_generator("inside", seed, epoch)).argsort(dim=1)  # (n, B)
        return order.gather(1, inside) if batching == "trial-fixed" else order
    order = _grouped(patient, generator)  # (N,)
    _, run, count = torch.unique_consecutive(patient[order], return_inverse=True, return_counts=True)
    position = torch.arange(len(order)) - (count.cumsum(0) - count)[run]  # (N,) among its patient's
    order = order[position < (shape.updates if batching == "patient" else 1)]
    # Round robin: a patient's pairs are consecutive, so no batch gets two of them.
    dealt = order[:size].view(shape.batch_size, shape.updates).T  # (n, B)
    return dealt[torch.randperm(shape.updates, generator=generator)]


def _generator(*parts: int | str) -> torch.Generator:
    return torch.Generator().manual_seed(stream(*parts))


def _grouped(group: Tensor, generator: torch.Generator) -> Tensor:
    """Order pairs (N,) by group, the groups and the pairs of each group at random."""
    groups, inverse = torch.unique(group, return_inverse=True)
    rank = torch.randperm(len(groups), generator=generator)[inverse]  # (N,)
    shuffle = torch.randperm(len(group), generator=generator)  # (N,)
    return shuffle[torch.argsort(rank[shuffle], stable=True)]
