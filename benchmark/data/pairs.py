"""What a batch is made of: two views of the heartbeats of a pseudo-trial, gathered on the device by index.

A pseudo-trial of 2n heartbeats gives n windows per epoch for every pairing, so that an epoch is the same amount of
data for every method. Window j is beats 2j and 2j + 1. `neighbor`: both (the paper's x_q, x_k). `same`: one of the two,
in both views. `patient`: one of the two, and a beat of another recording of the patient (PCLR); where the patient has
one recording only, another beat of that. What is drawn comes from torch's default generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from methods.base import Batch, Pairing

LARGE = 2**62
"""A draw below this modulo a small n is even enough, and exact where a product with a float would round up to n."""


class Kinship(NamedTuple):
    """Which pseudo-trials belong together, as ranges of their order by patient and recording."""

    order: Tensor  # (T,) pseudo-trials by patient, a patient's by recording
    position: Tensor  # (T,) where in the order a pseudo-trial stands
    patient_start: Tensor  # (T,) first place of its patient
    patient_count: Tensor  # (T,) pseudo-trials of its patient
    recording_start: Tensor  # (T,) first place of its recording
    recording_count: Tensor  # (T,) pseudo-trials of its recording


@dataclass(frozen=True)
class PairSource:
    """A pretraining corpus on the device."""

    beats: Tensor  # (T, P, S, L) float16, P heartbeats of S samples in each of T pseudo-trials
    recording: Tensor  # (T,) int64
    patient: Tensor  # (T,) int64, numbered from 1 as the authors do
    text: Tensor | None = None  # (T, E) embedded report of the recording
    recordings_without_text: int = 0
    """Left out of a corpus with text."""

    @property
    def windows(self) -> int:
        """Pairs that the corpus holds."""
        return self.beats.shape[0] * (self.beats.shape[1] // 2)

    @cached_property
    def trial_of_window(self) -> Tensor:
        """Pseudo-trial of every window (N,), on the CPU."""
        per_trial = self.beats.shape[1] // 2
        return torch.arange(self.beats.shape[0]).repeat_interleave(per_trial)

    @cached_property
    def patient_of_window(self) -> Tensor:
        """Patient of every window (N,), on the CPU."""
        return self.patient.cpu()[self.trial_of_window]

    @cached_property
    def kinship(self) -> Kinship:
        """Who has which pseudo-trials."""
        return find_kinship(self.patient, self.recording)


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


def draw_kin(kin: Kinship, trial: Tensor, beat: Tensor, beats: int) -> tuple[Tensor, Tensor]:
    """A beat of another recording of the same patient, else another beat of the recording: pseudo-trials and beats.

    trial, beat: (B,), the beats that are to get a partner; `beats` is the number of a pseudo-trial's. All candidates
    are equally likely.
    """
    own_start, own_count = kin.recording_start[trial], kin.recording_count[trial]  # (B,), (B,)
    others = kin.patient_count[trial] - own_count  # (B,) pseudo-trials of the patient's other recordings
    draw = torch.randint(LARGE, trial.shape, device=trial.device)  # (B,)

    place = kin.patient_start[trial] + draw // beats % others.clamp(min=1)  # (B,)
    place += own_count * (place >= own_start)
    in_other = place * beats + draw % beats  # (B,) beats numbered through the order

    own = kin.position[trial] * beats + beat  # (B,)
    in_own = own_start * beats + draw % (own_count * beats - 1)  # (B,)
    in_own += in_own >= own
    chosen = torch.where(others > 0, in_other, in_own)  # (B,)
    return kin.order[chosen // beats], chosen % beats


def make_batch(source: PairSource, windows: Tensor, pairing: Pairing) -> Batch:
    """Two float32 views of the given windows (B,) of a corpus."""
    per_trial = source.beats.shape[1] // 2
    trial, first = windows // per_trial, 2 * (windows % per_trial)  # (B,), (B,)
    if pairing == "neighbor":
        partner, beat, other = trial, first, first + 1
    else:
        beat = first + torch.randint(0, 2, first.shape, device=first.device)  # (B,)
        partner, other = trial, beat
    if pairing == "patient":
        partner, other = draw_kin(source.kinship, trial, beat, source.beats.shape[1])  # (B,), (B,)
    x1 = source.beats[trial, beat].float()  # (B, S, L)
    x2 = x1 if pairing == "same" else source.beats[partner, other].float()  # (B, S, L)
    text = None if source.text is None else source.text[trial]  # (B, E)
    return Batch(x1, x2, source.patient[trial], source.recording[trial], trial, text)


def source_facts(source: PairSource, pairing: Pairing) -> dict[str, int]:
    """What to say of a corpus: what a pairing or a missing text makes of it."""
    facts = {}
    if pairing == "patient":
        alone = source.kinship.patient_count == source.kinship.recording_count  # (T,)
        facts["windows_of_patients_with_one_recording"] = int(alone.sum()) * (source.beats.shape[1] // 2)
    if source.text is not None:
        facts["recordings_without_text"] = source.recordings_without_text
    return facts
