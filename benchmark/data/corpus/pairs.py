"""Pretraining batches: two views of the windows of a pseudo-trial, gathered on the device by index.

A pseudo-trial of 2n windows gives n pairs per epoch for every pairing, so that an epoch is the same amount of data for
every method; one of a single window gives one. Pair j of heartbeats is beats 2j and 2j + 1; a pair of plain windows is
two consecutive ones at a position drawn anew each time (PMQ, Segment(t, t + 2 dt)). `neighbor`: both (the paper's x_q,
x_k). `same`: one of the two, in both views. `patient`: one of the two, and a window of another recording of the patient
(PCLR); with one recording only, another window of that. Random numbers come from torch's default generator, or from
another one that reads ahead (benchmark.data.corpus.ahead).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.data.corpus.mapped import MappedSignal
from benchmark.data.prepared.scale import Scale
from benchmark.machine.seeds import LARGE
from methods.base import Batch, Pairing

WHOLE = (0, 1)
"""The share of a process that is alone."""


class Kinship(NamedTuple):
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
    """True: plain windows, which may begin at any sample; False: heartbeats, which begin where they were cut."""
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
    def kinship(self) -> Kinship:
        """Pseudo-trials by patient and recording."""
        return find_kinship(self.patient, self.recording)


def pairs_of(per_trial: int) -> int:
    """Pairs of a pseudo-trial of so many windows; one window gives a pair too, of itself or with another recording."""
    return max(1, per_trial // 2)


def find_kinship(patient: Tensor, recording: Tensor) -> Kinship:
    """Kinship of pseudo-trials from their patients and recordings, (T,) each."""
    order = torch.argsort(recording, stable=True)
    order = order[torch.argsort(patient[order], stable=True)]  # (T,)
    position = torch.argsort(order)  # (T,)
    ranges = []
    for ids in (patient[order], recording[order]):
        _, run, count = torch.unique_consecutive(ids, return_inverse=True, return_counts=True)
        start = count.cumsum(0) - count  # (runs,)
        ranges += [start[run][position], count[run][position]]  # (T,), (T,)
    return Kinship(order, position, *ranges)


def draw_kin(
    kin: Kinship, trial: Tensor, window: Tensor, windows: int, generator: torch.Generator | None = None
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


def draw_views(
    source: PairSource,
    pairs: Tensor,
    pairing: Pairing,
    generator: torch.Generator | None = None,
    share: tuple[int, int] = WHOLE,
) -> Views:
    """The views of the given pairs (B,) of a corpus.

    share: (rank, ranks) for a rank's share of them. All views are drawn, so that every rank draws the same.
    """
    trial, pair = pairs // source.pairs_each, pairs % source.pairs_each  # (B,), (B,)
    if source.anywhere:
        views = plain_views(source, trial, pairing, generator)
    else:
        views = heartbeat_views(source, trial, pair, pairing, generator)
    rank, ranks = share
    return Views(*(part.chunk(ranks)[rank] for part in views))  # (b,) each, b = B / ranks


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
    partner, other = draw_kin(source.kinship, trial, beat, beats, generator)  # (B,), (B,)
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
        return Views(trial, t, draw_kin(source.kinship, trial, t, 1, generator)[0], t)
    shift, window = drawn(samples + 1), drawn(windows - 1)  # (B,) the shift is the same for both, (B,)
    partner, other = draw_kin(source.kinship, trial, window, windows - 1, generator)  # (B,), (B,)
    return Views(trial, window * samples + shift, partner, other * samples + shift)


def make_batch(source: PairSource, pairs: Tensor, pairing: Pairing, share: tuple[int, int] = WHOLE) -> Batch:
    """Two float32 views of the given pairs (B,) of a corpus; share: as of `draw_views`."""
    views = draw_views(source, pairs, pairing, share=share)
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
    """Counts to report of a corpus: windows of patients with one recording, recordings without text."""
    facts = {}
    if pairing == "patient":
        alone = source.kinship.patient_count == source.kinship.recording_count  # (T,)
        facts["windows_of_patients_with_one_recording"] = int(alone.sum()) * source.pairs_each
    if source.text is not None:
        facts["recordings_without_text"] = source.recordings_without_text
    return facts
