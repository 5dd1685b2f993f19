"""The corpus of a pretraining: pseudo-trials of windows on disk, pairs of them, and the batches of an epoch.

A pseudo-trial is `per_trial` consecutive windows of a recording; it gives half as many pairs per epoch for every
method, one of a single window gives one. `neighbor`: two windows that follow each other (PMQ, Segment(t, t + 2 dt));
`same`: one window twice; `patient`: a window and one of another recording of the patient (PCLR), else another one of
the same recording. Windows stay in their memory map, and a thread reads those of the next batches while an update runs.
What a batch holds is drawn on the CPU from the seed of its step, so that every device trains on the same batches, and a
run goes on from any step to the same bits. Pseudo-trials of heartbeats are standardised as a whole (PMQ, COMET), once
per number K of windows, and kept beside the windows in trials-K.f16.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from benchmark.data.column import column_of
from benchmark.data.damage import remember, stamp_of
from benchmark.data.datasets.base import LEADS, DatasetError, Entry
from benchmark.data.heartbeats import normalise_trials
from benchmark.data.prepare import Prepared, memory_map
from benchmark.data.report_text import embed_reports, has_text
from benchmark.data.splits import TaskSpec
from benchmark.machine import LARGE, stream
from benchmark.results.arrays import AnyFloats, Halves, Ints
from benchmark.results.files import replacing
from methods.base import Batch, Batching, Pairing

AHEAD = 2
"""Batches that are read ahead of the update."""
CHUNK = 128
"""Pseudo-trials that are standardised at a time."""


class Scale(NamedTuple):
    """Scalar mean and deviation, mV, of all samples and leads, as in the PTB-XL benchmark (Strodthoff et al. 2021)."""

    mean: float
    deviation: float

    def applied(self, signal: AnyFloats) -> Halves:
        """Standardise signals of any shape, in float32."""
        return ((signal.astype(np.float32) - np.float32(self.mean)) / np.float32(self.deviation)).astype(np.float16)


def scale_of(prepared: Prepared, recordings: Ints) -> Scale:
    """Return mean and deviation (ddof 0) over all samples of some recordings; (0, 1) of nothing or of zeros."""
    count, total, squares = 0, 0.0, 0.0
    for number in recordings:
        values = prepared.windows_of(int(number)).astype(np.float64)
        count += values.size
        total += float(values.sum())
        squares += float(np.square(values).sum())
    mean = total / max(count, 1)
    return Scale(mean, float(np.sqrt(max(0.0, squares / max(count, 1) - mean * mean))) or 1.0)


@dataclass(frozen=True)
class Trials:
    """T pseudo-trials of a prepared dataset, in the order of its recordings."""

    maps: tuple[Halves, ...]
    """(n, 12) memory maps in which they lie; several for a corpus of several datasets."""
    start: Ints
    """(T,) first sample of each, in the maps one after the other."""
    recording: Ints
    """(T,) index into the prepared entries."""
    patient: Ints
    """(T,) patients numbered from 0 in order of first appearance in the prepared entries."""
    window: int
    """S, samples of a window."""
    per_trial: int
    """P, windows of a pseudo-trial."""
    scale: Scale | None = None
    """Mean and deviation that standardise the windows when they are read; None: they are not standardised."""

    def take(self, trial: Ints, first: Ints | int = 0, windows: int = 1) -> Halves:
        """Return (n, windows * S, 12) consecutive samples of numbered pseudo-trials, each from its given sample on."""
        length, start, begin = windows * self.window, self.start[trial] + first, 0
        taken = np.empty((len(start), length, len(LEADS)), np.float16)
        for samples in self.maps:
            inside = (start >= begin) & (start < begin + max(len(samples), 1))  # (n,)
            if inside.any():
                stretches = sliding_window_view(samples, (length, len(LEADS)))[:, 0]  # (stretches, length, 12)
                taken[inside] = stretches[start[inside] - begin]
            begin += len(samples)
        return taken if self.scale is None else self.scale.applied(taken)

    def windows(self, index: Ints) -> Halves:
        """Return (n, S, 12) numbered windows: trial * per_trial + position in the pseudo-trial."""
        trial, position = np.divmod(index, self.per_trial)  # (n,), (n,)
        return self.take(trial, position * self.window)

    def windows_in(self, trial: Ints) -> Ints:
        """Number the windows of whole pseudo-trials."""
        return (trial[:, None] * self.per_trial + np.arange(self.per_trial)).ravel()


def trials_of(prepared: Prepared, per_trial: int) -> Trials:
    """Return the pseudo-trials of `per_trial` windows; those left over at a recording's end are dropped."""
    cut, count = prepared.segmentation, prepared.trials_of_each(per_trial)  # (R,)
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    position = np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count)  # (T,) in its recording
    first = prepared.first_window[recording]  # (T,) item of its recording
    maps, start = [prepared.windows.reshape(-1, len(LEADS))], first * cut.samples_per_item
    start = start + position * cut.step(per_trial)  # (T,)
    if prepared.members:
        parts = [(trials_of(data, per_trial), used) for data, used in prepared.members]
        maps = [part.maps[0] for part, _ in parts]
        begin = np.cumsum([0, *map(len, maps)])[:-1]
        used_starts = [part.start[np.isin(part.recording, used)] for part, used in parts]
        start = np.concatenate([one + at for one, at in zip(used_starts, begin, strict=True)])  # (T,)
    elif cut.standardises_trials:
        maps = [normalised_trials(prepared, first + position * per_trial, per_trial)]
        start = np.arange(len(recording)) * per_trial * cut.samples  # (T,)
    _, seen, number = np.unique([entry.patient for entry in prepared.entries], return_index=True, return_inverse=True)
    patient = np.argsort(np.argsort(seen))[number]  # (R,) by first appearance
    return Trials(tuple(maps), start, recording, patient[recording], cut.samples, per_trial)


def normalised_trials(prepared: Prepared, first: Ints, per_trial: int) -> Halves:
    """Write (n, 12) pseudo-trials of the given first windows, one after the other, and map them.

    They are written once, to a temporary name that is renamed, with their digest (benchmark.data.damage).
    """
    path: Path = prepared.folder / f"trials-{per_trial}.f16"
    shape = len(first) * per_trial * prepared.segmentation.samples, len(LEADS)
    if not path.is_file() or path.stat().st_size != 2 * shape[0] * shape[1]:
        content = hashlib.sha256()
        with replacing(path) as file:
            for chunk in np.split(first, range(CHUNK, len(first), CHUNK)):
                windows = prepared.windows[(chunk[:, None] + np.arange(per_trial)).ravel()]  # (CHUNK * P, S, L)
                trials = normalise_trials(windows, per_trial).astype(np.float16).tobytes()
                content.update(trials)
                file.write(trials)
        remember(path, content.hexdigest(), stamp_of(path))
    return memory_map(path, shape)


def scaled(trials: Trials, prepared: Prepared, spec: TaskSpec, recordings: Ints) -> Trials:
    """Return the pseudo-trials, standardised by mean and deviation of some recordings where the task asks for that."""
    return replace(trials, scale=scale_of(prepared, recordings)) if spec.standardise == "dataset" else trials


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
    """What is pretrained on: T of the pseudo-trials of a dataset."""

    trials: Trials
    chosen: Ints
    """(T,) their numbers in `trials`."""
    device: torch.device
    """Device to which batches are moved."""
    random_start: bool = False
    """Whether a window may begin at any sample; heartbeats begin where they were cut."""
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
        trial, pair = numbers // pairs_of(windows), numbers % pairs_of(windows)  # (B,), (B,)
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
            shift, window = draw(samples + 1), draw(windows)
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


def corpus_trials(prepared: Prepared, spec: TaskSpec, recordings: Ints | None = None) -> tuple[Ints, Ints]:
    """Number the pseudo-trials to pretrain on, and their recordings, (T,) each.

    Those of given recordings; by default all of a dataset without labels, else those of its training part, none where
    it cannot be split.
    """
    count = prepared.trials_of_each(spec.per_trial)  # (R,)
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    if recordings is None:
        recordings = column_of(prepared, spec).split.train if prepared.classes else recording
    trials = np.flatnonzero(np.isin(recording, recordings))
    return trials, recording[trials]


def pretrained_entries(prepared: Prepared, spec: TaskSpec) -> list[Entry]:
    """Return the recordings of `corpus_trials`."""
    return [prepared.entries[r] for r in np.unique(corpus_trials(prepared, spec)[1])]


def corpus_of(
    prepared: Prepared,
    spec: TaskSpec,
    device: torch.device,
    text_embedder: str | None = None,
    recordings: Ints | None = None,
) -> Corpus:
    """Return the corpus of `corpus_trials`; with an embedder, of the recordings with a report, and its embedding.

    Raises DatasetError if no recording is usable.
    """
    chosen, recording = corpus_trials(prepared, spec, recordings)  # (T,), (T,)
    if not len(chosen):
        raise DatasetError(
            f"{prepared.title}: no recording to pretrain on has the {spec.per_trial} "
            f"{prepared.segmentation.unit_name}s of a pseudo-trial: lower pretrain.beats_per_trial"
        )
    used, text = np.unique(recording), None  # (R,)
    if text_embedder is not None:
        used = np.array([r for r in used if has_text(prepared.entries[r].report)], np.int64)  # (R',)
        if not len(used):
            remedy = "leave out the methods that learn from text"
            raise DatasetError(f"{prepared.title}: no recording has a report; {remedy}")
        with_text = np.isin(recording, used)
        chosen, recording = chosen[with_text], recording[with_text]
        reports = [prepared.entries[r].report for r in used]
        vectors = embed_reports(reports, text_embedder, cache=prepared.folder, device=device)  # (R', E)
        text = torch.from_numpy(vectors[np.searchsorted(used, recording)]).to(device)  # (T, E)
    trials = scaled(trials_of(prepared, spec.per_trial), prepared, spec, used)
    return Corpus(trials, chosen, device, prepared.segmentation.kind == "recordings", text)


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
    """Pairs (N,) ordered by shuffled group, shuffled inside each group."""
    groups, inverse = torch.unique(group, return_inverse=True)
    rank = torch.randperm(len(groups), generator=generator)[inverse]  # (N,)
    shuffle = torch.randperm(len(group), generator=generator)  # (N,)
    return shuffle[torch.argsort(rank[shuffle], stable=True)]
