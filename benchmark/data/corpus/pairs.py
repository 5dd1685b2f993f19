"""Pretraining batches: two views of the windows of a pseudo-trial, gathered on the device by index.

A pseudo-trial of 2n windows gives n pairs per epoch for every pairing, so that an epoch is the same amount of data for
every method; one of a single window gives one. Pair j of heartbeats is beats 2j and 2j + 1; a pair of plain windows is
two consecutive ones at a position drawn anew each time (PMQ, Segment(t, t + 2 dt)). `neighbor`: both (the paper's x_q,
x_k). `same`: one of the two, in both views. `patient`: one of the two, and a window of another recording of the patient
(PCLR); with one recording only, another window of that. Random numbers come from torch's default generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.data.prepared.scale import Scale
from benchmark.machine.seeds import LARGE
from methods.base import Batch, Pairing


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
    """A pretraining corpus on the device."""

    signal: Tensor  # (T, P, S, L) float16, P windows of S samples in each of T pseudo-trials
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


def draw_kin(kin: Kinship, trial: Tensor, window: Tensor, windows: int) -> tuple[Tensor, Tensor]:
    """Partner of each window: one of another recording of the patient, else another of the same recording, else
    itself.

    trial, window: (B,) -> the partners' pseudo-trials and windows (B,); windows: number per pseudo-trial. All
    candidates are equally likely.
    """
    own_start, own_count = kin.recording_start[trial], kin.recording_count[trial]  # (B,), (B,)
    others = kin.patient_count[trial] - own_count  # (B,) pseudo-trials of the patient's other recordings
    draw = torch.randint(LARGE, trial.shape, device=trial.device)  # (B,)

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

    first: Tensor  # (B,) first sample of x1 in its pseudo-trial
    partner: Tensor  # (B,) pseudo-trial of x2
    second: Tensor  # (B,) first sample of x2 in the partner


def heartbeat_views(source: PairSource, trial: Tensor, pair: Tensor, pairing: Pairing) -> Views:
    """Views that are whole heartbeats; trial, pair: (B,), the pair's number within its pseudo-trial."""
    _, beats, samples, _ = source.signal.shape
    if pairing == "neighbor":
        return Views(2 * pair * samples, trial, (2 * pair + 1) * samples)
    beat = 2 * pair + torch.randint(0, 2, pair.shape, device=pair.device)  # (B,)
    if pairing == "same":
        return Views(beat * samples, trial, beat * samples)
    partner, other = draw_kin(source.kinship, trial, beat, beats)  # (B,), (B,)
    return Views(beat * samples, partner, other * samples)


def plain_views(source: PairSource, trial: Tensor, pairing: Pairing) -> Views:
    """Views that begin at any sample of a pseudo-trial of P windows, equal or without overlap; trial: (B,).

    `neighbor` needs P >= 2. At P = 1, whole recordings, there is one place to begin.
    """
    _, windows, samples, _ = source.signal.shape
    if pairing == "neighbor":
        t = torch.randint((windows - 2) * samples + 1, trial.shape, device=trial.device)  # (B,)
        return Views(t, trial, t + samples)
    if pairing == "same":
        t = torch.randint((windows - 1) * samples + 1, trial.shape, device=trial.device)  # (B,)
        return Views(t, trial, t)
    if windows == 1:
        t = torch.zeros_like(trial)  # (B,)
        return Views(t, draw_kin(source.kinship, trial, t, 1)[0], t)
    shift = torch.randint(samples + 1, trial.shape, device=trial.device)  # (B,) the same for both
    window = torch.randint(windows - 1, trial.shape, device=trial.device)  # (B,)
    partner, other = draw_kin(source.kinship, trial, window, windows - 1)  # (B,), (B,)
    return Views(window * samples + shift, partner, other * samples + shift)


def make_batch(source: PairSource, pairs: Tensor, pairing: Pairing) -> Batch:
    """Two float32 views of the given pairs (B,) of a corpus."""
    trial, pair = pairs // source.pairs_each, pairs % source.pairs_each  # (B,), (B,)
    views = plain_views(source, trial, pairing) if source.anywhere else heartbeat_views(source, trial, pair, pairing)
    x1 = take(source.signal, trial, views.first)  # (B, S, L)
    x2 = x1 if pairing == "same" else take(source.signal, views.partner, views.second)  # (B, S, L)
    text = None if source.text is None else source.text[trial]  # (B, E)
    return Batch(x1, x2, source.patient[trial], source.recording[trial], trial, text)


def take(signal: Tensor, trial: Tensor, start: Tensor) -> Tensor:
    """Windows (B, S, L) in float32 that begin at the given samples of pseudo-trials (T, P, S, L)."""
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
