"""Pretraining batches: two views of the windows of a pseudo-trial, in memory or read ahead from disk.

A pseudo-trial of 2n windows gives n pairs per epoch for every pairing, so that an epoch is the same amount of data for
every method; one of a single window gives one. Pair j of heartbeats is beats 2j and 2j + 1; a pair of crops is
two consecutive ones at a position drawn anew each time (PMQ, Segment(t, t + 2 dt)). `neighbor`: both (the paper's x_q,
x_k). `same`: one of the two, in both views. `patient`: one of the two, and a window of another recording of the patient
(PCLR); with one recording only, another window of that. Random numbers come from torch's default generator, or from
another one that reads ahead (benchmark.data.batches).

A block is some batches that follow each other in the epoch's shuffled order. While the updates of one block are made,
a thread reads the windows of the next from the memory map, in the order of the file. Which windows these are is drawn
from the seed of each step by a generator beside torch's own, which then makes the same draws: batches, and what a
method draws after them, are those of a corpus in memory to the bit, and a run can be resumed from any step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.datasets.base import LEADS
from benchmark.data.trials import Scale, Trials
from benchmark.machine.device import LARGE
from benchmark.machine.process import free_bytes
from methods.base import Batch, Pairing

Streaming = Literal["auto", "always", "never"]
"""When a corpus is read from disk: if it does not fit into memory, or as told."""
SHARE = 0.25
"""Of the free memory of host and device: a larger corpus is streamed. Several pretrainings may share a host."""
ROWS = 512
"""Windows copied at a time: as many as stay in a CPU's cache."""


@dataclass(frozen=True)
class MappedSignal:
    """T pseudo-trials of P windows of S samples that stay in their memory map."""

    trials: Trials
    chosen: NDArray[np.int64]
    """(T,) their numbers in `trials`."""
    device: torch.device
    """Where the windows go that are taken."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(T, P, S, L) of all of it."""
        return len(self.chosen), self.trials.per_trial, self.trials.window, len(LEADS)

    def read(self, trial: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.float16]:
        """Windows (n, S, L) that begin at the given samples of pseudo-trials, read in the order of the file."""
        number = self.chosen[trial]  # (n,)
        place = self.trials.start[number] + start  # (n,)
        order = np.argsort(place, kind="stable")  # (n,)
        ask_for(self.trials.samples, place[order], self.trials.window)
        read = np.empty((len(trial), *self.shape[2:]), np.float16)  # (n, S, L)
        for part in np.split(order, range(ROWS, len(order), ROWS)):
            read[part] = self.trials.cut(number[part], start[part])
        return read

    def take(self, trial: Tensor, start: Tensor) -> Tensor:
        """Windows (B, S, L) in float16 on the device; trial, start: (B,)."""
        return torch.from_numpy(self.read(trial.cpu().numpy(), start.cpu().numpy())).to(self.device)


def ask_for(samples: NDArray[np.float16], start: NDArray[np.int64], length: int) -> None:
    """Let the system begin to read stretches of a memory map's file, all at once and nothing around them.

    samples: (n, 12). start: (m,) first sample of each, ascending. Without effect on another system or array.
    """
    if not isinstance(samples, np.memmap) or samples.filename is None or not hasattr(os, "posix_fadvise"):
        return
    bytes_of_sample = samples.strides[0]
    with open(samples.filename, "rb") as file:
        for place in (samples.offset + start * bytes_of_sample).tolist():
            os.posix_fadvise(file.fileno(), place, length * bytes_of_sample, os.POSIX_FADV_WILLNEED)


def is_streamed(asked: Streaming, size: int, device: torch.device) -> bool:
    """Whether a corpus of `size` bytes is read from disk."""
    if asked != "auto":
        return asked == "always"
    return size > SHARE * min(free_bytes(place) for place in {device, torch.device("cpu")})


class PatientIndex(NamedTuple):
    """Pseudo-trials of each patient and recording, as ranges of their order by patient and recording."""

    order: Tensor  # (T,) pseudo-trials by patient, a patient's by recording
    position: Tensor  # (T,) place of a pseudo-trial in the order
    patient_start: Tensor  # (T,) first place of its patient
    patient_count: Tensor  # (T,) pseudo-trials of its patient
    recording_start: Tensor  # (T,) first place of its recording
    recording_count: Tensor  # (T,) pseudo-trials of its recording


@dataclass(frozen=True)
class PairSource:
    """A pretraining corpus, on the device but for its signal where that is streamed."""

    signal: Tensor | MappedSignal  # (T, P, S, L) float16, P windows of S samples in each of T pseudo-trials
    recording: Tensor  # (T,) int64
    patient: Tensor  # (T,) int64, numbered from 1 as the authors do
    text: Tensor | None = None  # (T, E) embedded report of the recording
    recordings_without_text: int = 0
    """Number of recordings left out of a corpus with text."""
    anywhere: bool = False
    """True: crops, which may begin at any sample; False: heartbeats, which begin where they were cut."""
    scale: Scale | None = None
    """By which the signals were standardised, if by one for all."""

    @property
    def pairs(self) -> int:
        """N, the pairs that the corpus holds."""
        return self.signal.shape[0] * self.pairs_each

    @property
    def pairs_each(self) -> int:
        """Pairs of a pseudo-trial."""
        return pairs_of(self.signal.shape[1])

    @cached_property
    def trial_of_pair(self) -> Tensor:
        """Pseudo-trial of every pair (N,), on the CPU."""
        return torch.arange(self.signal.shape[0]).repeat_interleave(self.pairs_each)

    @cached_property
    def patient_of_pair(self) -> Tensor:
        """Patient of every pair (N,), on the CPU."""
        return self.patient.cpu()[self.trial_of_pair]

    @cached_property
    def patient_index(self) -> PatientIndex:
        """Pseudo-trials by patient and recording."""
        return find_patient_index(self.patient, self.recording)


def pairs_of(per_trial: int) -> int:
    """Pairs of a pseudo-trial of so many windows; one window gives a pair too, of itself or with another recording."""
    return max(1, per_trial // 2)


def find_patient_index(patient: Tensor, recording: Tensor) -> PatientIndex:
    """Index of the patients of pseudo-trials from their patients and recordings, (T,) each."""
    order = torch.argsort(recording, stable=True)
    order = order[torch.argsort(patient[order], stable=True)]  # (T,)
    position = torch.argsort(order)  # (T,)
    ranges = []
    for ids in (patient[order], recording[order]):
        _, run, count = torch.unique_consecutive(ids, return_inverse=True, return_counts=True)
        start = count.cumsum(0) - count  # (runs,)
        ranges += [start[run][position], count[run][position]]  # (T,), (T,)
    return PatientIndex(order, position, *ranges)


def draw_partner(
    kin: PatientIndex, trial: Tensor, window: Tensor, windows: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Partner of each window: one of another recording of the patient, else another of the same recording, else
    itself.

    trial, window: (B,) -> the partners' pseudo-trials and windows (B,); windows: number per pseudo-trial. All
    candidates are equally likely.
    """
    own_start, own_count = kin.recording_start[trial], kin.recording_count[trial]  # (B,), (B,)
    others = kin.patient_count[trial] - own_count  # (B,) pseudo-trials of the patient's other recordings
    draw = torch.randint(LARGE, trial.shape, device=trial.device, generator=generator)  # (B,)

    place = kin.patient_start[trial] + draw // windows % others.clamp(min=1)  # (B,)
    place += own_count * (place >= own_start)
    in_other = place * windows + draw % windows  # (B,) windows numbered through the order

    own = kin.position[trial] * windows + window  # (B,)
    further = own_count * windows - 1  # (B,) windows of the recording besides this one
    in_own = own_start * windows + draw % further.clamp(min=1)  # (B,)
    in_own += in_own >= own
    in_own = torch.where(further > 0, in_own, own)  # (B,)
    chosen = torch.where(others > 0, in_other, in_own)  # (B,)
    return kin.order[chosen // windows], chosen % windows


class Views(NamedTuple):
    """Positions of the two windows of B pairs."""

    trial: Tensor  # (B,) pseudo-trial of x1
    first: Tensor  # (B,) first sample of x1 in its pseudo-trial
    partner: Tensor  # (B,) pseudo-trial of x2
    second: Tensor  # (B,) first sample of x2 in the partner


def draw_views(source: PairSource, pairs: Tensor, pairing: Pairing, generator: torch.Generator | None = None) -> Views:
    """The views of the given pairs (B,) of a corpus."""
    trial, pair = pairs // source.pairs_each, pairs % source.pairs_each  # (B,), (B,)
    if source.anywhere:
        return plain_views(source, trial, pairing, generator)
    return heartbeat_views(source, trial, pair, pairing, generator)


def heartbeat_views(
    source: PairSource, trial: Tensor, pair: Tensor, pairing: Pairing, generator: torch.Generator | None
) -> Views:
    """Views that are whole heartbeats; trial, pair: (B,), the pair's number within its pseudo-trial."""
    _, beats, samples, _ = source.signal.shape
    if pairing == "neighbor":
        return Views(trial, 2 * pair * samples, trial, (2 * pair + 1) * samples)
    beat = 2 * pair + torch.randint(0, 2, pair.shape, device=pair.device, generator=generator)  # (B,)
    if pairing == "same":
        return Views(trial, beat * samples, trial, beat * samples)
    partner, other = draw_partner(source.patient_index, trial, beat, beats, generator)  # (B,), (B,)
    return Views(trial, beat * samples, partner, other * samples)


def plain_views(source: PairSource, trial: Tensor, pairing: Pairing, generator: torch.Generator | None) -> Views:
    """Views that begin at any sample of a pseudo-trial of P windows, equal or without overlap; trial: (B,).

    `neighbor` needs P >= 2. At P = 1, whole recordings, there is one place to begin.
    """
    _, windows, samples, _ = source.signal.shape

    def drawn(below: int) -> Tensor:
        return torch.randint(below, trial.shape, device=trial.device, generator=generator)  # (B,)

    if pairing == "neighbor":
        t = drawn((windows - 2) * samples + 1)  # (B,)
        return Views(trial, t, trial, t + samples)
    if pairing == "same":
        t = drawn((windows - 1) * samples + 1)  # (B,)
        return Views(trial, t, trial, t)
    if windows == 1:
        t = torch.zeros_like(trial)  # (B,)
        return Views(trial, t, draw_partner(source.patient_index, trial, t, 1, generator)[0], t)
    shift, window = drawn(samples + 1), drawn(windows - 1)  # (B,) the shift is the same for both, (B,)
    partner, other = draw_partner(source.patient_index, trial, window, windows - 1, generator)  # (B,), (B,)
    return Views(trial, window * samples + shift, partner, other * samples + shift)


def make_batch(source: PairSource, pairs: Tensor, pairing: Pairing) -> Batch:
    """Two float32 views of the given pairs (B,) of a corpus."""
    views = draw_views(source, pairs, pairing)
    x1 = take(source.signal, views.trial, views.first)  # (b, S, L)
    x2 = x1 if pairing == "same" else take(source.signal, views.partner, views.second)  # (b, S, L)
    return batch_of(source, views, x1, x2)


def batch_of(source: PairSource, views: Views, x1: Tensor, x2: Tensor) -> Batch:
    """The batch of some views, whose windows are x1 and x2 (B, S, L)."""
    text = None if source.text is None else source.text[views.trial]  # (B, E)
    return Batch(x1, x2, source.patient[views.trial], source.recording[views.trial], views.trial, text)


def take(signal: Tensor | MappedSignal, trial: Tensor, start: Tensor) -> Tensor:
    """Windows (B, S, L) in float32 that begin at the given samples of pseudo-trials (T, P, S, L)."""
    if isinstance(signal, MappedSignal):
        return signal.take(trial, start).float()
    sample = start[:, None] + torch.arange(signal.shape[2], device=signal.device)  # (B, S)
    return signal.flatten(1, 2)[trial[:, None], sample].float()


def source_facts(source: PairSource, pairing: Pairing) -> dict[str, int]:
    """Counts to report of a corpus: windows of patients with one recording and all, recordings without text."""
    facts = {}
    if pairing == "patient":
        alone = source.patient_index.patient_count == source.patient_index.recording_count  # (T,)
        facts["windows_of_patients_with_one_recording"] = int(alone.sum()) * source.pairs_each
        facts["windows_of_all_patients"] = source.pairs
    if source.text is not None:
        facts["recordings_without_text"] = source.recordings_without_text
    return facts


BLOCK_BYTES = 64 * 2**20
"""Of the windows of a block. Two blocks are in memory at a time."""


class Block(NamedTuple):
    """Windows of the batches of some steps, in float16 on the host; pinned where they go to a GPU."""

    first: int
    """Its first step."""
    x1: Tensor  # (G, B, S, L)
    x2: Tensor  # (G, B, S, L)


@contextmanager
def batches_ahead(
    source: PairSource,
    pairs: Tensor,
    pairing: Pairing,
    seed_of: Callable[[int], int],
    first: int = 0,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Callable[[int], Batch]]:
    """Within, the batch of each step from `first` on, to be asked for in order; pairs: (n, B) of an epoch.

    seed_of: step -> the seed that torch has when the step's batch is asked for.
    """
    signal = source.signal
    if isinstance(signal, Tensor):
        yield lambda step: make_batch(source, pairs[step], pairing)
        return
    if pairing == "patient":
        _ = source.patient_index  # found once, before two threads ask for it
    _, _, samples, leads = signal.shape
    each = max(1, block_bytes // bytes_of_batch(samples, leads, pairs.shape[1], pairing))
    marks = [first, *range(first + 1, len(pairs), each), len(pairs)]  # the first step waits for itself alone
    ranges = iter(pairwise(marks if first < len(pairs) else []))
    with ThreadPoolExecutor(1, thread_name_prefix="corpus") as reader:

        def begin() -> Future[Block] | None:
            steps = next(ranges, None)
            return reader.submit(read_block, source, pairs, pairing, seed_of, range(*steps)) if steps else None

        now, ahead = None, begin()

        def batch(step: int) -> Batch:
            nonlocal now, ahead
            if now is None or step >= now.first + len(now.x1):
                assert ahead is not None, f"step {step} is beyond the epoch"
                now, ahead = ahead.result(), begin()
            views = draw_views(source, pairs[step], pairing)  # those that were read: the seed is the same
            return batch_of(source, views, *on_device(now, step, pairing, signal.device))

        yield batch


def bytes_of_batch(samples: int, leads: int, size: int, pairing: Pairing) -> int:
    """Of the windows (S, L) of a batch of `size` pairs, in float16."""
    return size * samples * leads * 2 * (1 if pairing == "same" else 2)


def read_block(
    source: PairSource,
    pairs: Tensor,
    pairing: Pairing,
    seed_of: Callable[[int], int],
    steps: range,
) -> Block:
    """The windows of the batches of some steps, all read at once."""
    signal = source.signal
    assert isinstance(signal, MappedSignal)
    generator = torch.Generator(pairs.device)
    drawn: list[Views] = []
    for step in steps:
        generator.manual_seed(seed_of(step))
        drawn.append(draw_views(source, pairs[step], pairing, generator))
    sides = [(views.trial, views.first) for views in drawn]
    if pairing != "same":
        sides += [(views.partner, views.second) for views in drawn]
    trial, start = (torch.cat(own).cpu().numpy() for own in zip(*sides, strict=True))  # (n,), (n,)
    read = torch.from_numpy(signal.read(trial, start))  # (n, S, L)
    read = read.view(-1, len(steps), pairs.shape[1], *read.shape[1:])  # (1 or 2, G, B, S, L)
    read = read.pin_memory() if signal.device.type == "cuda" else read
    return Block(steps.start, read[0], read[-1])


def on_device(block: Block, step: int, pairing: Pairing, device: torch.device) -> tuple[Tensor, Tensor]:
    """Both views (B, S, L) of a step in float32 on the device, which is not waited for."""
    x1 = block.x1[step - block.first].to(device, non_blocking=True).float()  # (B, S, L)
    if pairing == "same":
        return x1, x1
    return x1, block.x2[step - block.first].to(device, non_blocking=True).float()  # (B, S, L)
