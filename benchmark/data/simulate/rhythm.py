"""Beat times: RR intervals of each rhythm, premature beats, and continuous atrial activity.

Sinus rhythm varies with respiration and the 0.1 Hz wave of blood pressure (Task Force of the ESC and
NASPE 1996, Circulation 93:1043); fibrillation conducts at random; flutter conducts every second to fourth wave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.simulate.dipole import Floats
from benchmark.data.simulate.heart import SINUS, VENTRICULAR, vector

MARGIN_S = 2.0
"""Seconds before and after the recording with beats, so that its ends may cut waves."""
FIBRILLATION_DIPOLE = vector(-0.30, 0.35, -0.85)
SWELL_HZ = ((0.2, 0.6), (0.9, 1.6))
"""Frequency ranges of the amplitude modulation of f-waves, Hz."""
FLUTTER_DIPOLE = vector(-0.15, -0.90, -0.60)


class Breath(NamedTuple):
    """Respiration during a recording: frequency and phase."""

    hz: float
    phase: float

    def at(self, time: Floats) -> Floats:
        """Respiration from -1 to 1 at `time` in seconds; same shape."""
        course: Floats = np.sin(2 * np.pi * self.hz * time + self.phase)
        return course


@dataclass(frozen=True)
class Beats:
    """B beats in order of time."""

    time: Floats  # (B,) peak of R, seconds from the recording's start
    kind: NDArray[np.int8]  # (B,) SINUS, ATRIAL, VENTRICULAR, BLOCKED or ESCAPE; BLOCKED: where R would have been
    rr: Floats  # (B,) RR interval that the beat's repolarisation follows, seconds
    delay: Floats  # (B,) PR prolongation over the heart's, seconds


def draw_rate(rng: np.random.Generator, rhythm: str, resting_rate: float) -> float:
    """Heart rate of a recording, beats per minute. Each rhythm stays within its definition."""
    if rhythm == "SB":
        return float(rng.uniform(50.5, 58.5) if rng.random() < 0.85 else rng.uniform(42, 50))
    if rhythm == "ST":
        return float(np.clip(103 + 17 * abs(rng.standard_normal()), 103, 160))
    if rhythm == "AFIB":
        return float(np.clip(96 + 22 * rng.standard_normal(), 58, 165))
    if rhythm == "AFL":
        return float(rng.uniform(240, 320) / rng.choice([2, 3, 4], p=[0.5, 0.15, 0.35]))
    if rhythm == "SVT":
        return float(rng.uniform(150, 210))
    return float(np.clip(resting_rate + 5 * rng.standard_normal(), 62, 97))


def draw_beats(
    rng: np.random.Generator, rhythm: str, rate: float, premature: tuple[int, ...], seconds: float, breath: Breath
) -> Beats:
    """Beats of one recording.

    Args:
        rng: the recording's stream.
        rhythm: one of `diagnoses.RHYTHMS`.
        rate: mean rate without premature beats, per minute.
        premature: ATRIAL, VENTRICULAR, both or neither; of each at least one falls into the recording.
        seconds: length of the recording.
        breath: modulates the sinus rhythm.
    """
    basic = 60.0 / rate
    count = int(np.ceil(1.4 * (seconds + 2 * MARGIN_S) / basic)) + 8
    rr = _intervals(rng, rhythm, basic, count, breath)  # (B,)
    kind = np.full(count, SINUS, dtype=np.int8)
    start = -MARGIN_S + rng.uniform(0, basic)
    for ectopic in premature:
        _make_premature(rng, ectopic, rr, kind, start, seconds)
    time = start + np.cumsum(rr)
    kept = time < seconds + MARGIN_S
    return Beats(time[kept], kind[kept], followed(rr)[kept], np.zeros(int(kept.sum())))


def followed(rr: Floats) -> Floats:
    """RR intervals that set repolarisation, (B,): mostly their mean, since it adapts over minutes."""
    return 0.8 * float(rr.mean()) + 0.2 * rr


def _intervals(rng: np.random.Generator, rhythm: str, basic: float, count: int, breath: Breath) -> Floats:
    """RR intervals, (count,) seconds, with mean `basic`."""
    if rhythm == "AFIB":
        free = rng.gamma(12.0, 1.0, count)
        rr = np.maximum(0.30, 0.3 * basic + 0.7 * basic * free / free.mean() + 0.05 * rng.standard_normal(count))
        return np.asarray(rr * basic / rr.mean())
    if rhythm == "AFL":
        return np.full(count, basic) + 0.002 * rng.standard_normal(count)
    if rhythm == "SVT":
        return basic * (1 + 0.006 * rng.standard_normal(count))
    quiet = min(1.0, (75.0 * basic / 60.0) ** 2)
    with_breath = rng.uniform(0.13, 0.20) if rhythm == "SA" else quiet * rng.uniform(0.008, 0.045)
    time = basic * np.arange(count, dtype=np.float64)
    slow = quiet * rng.uniform(0.005, 0.025) * np.sin(2 * np.pi * 0.1 * time + rng.uniform(0, 2 * np.pi))
    return basic * (1 + with_breath * breath.at(time) + slow + 0.006 * rng.standard_normal(count))


def _make_premature(
    rng: np.random.Generator, ectopic: int, rr: Floats, kind: NDArray[np.int8], start: float, seconds: float
) -> None:
    """Turn some sinus beats into premature ones, in place, each followed by its pause.

    A ventricular beat leaves the sinus node's timing (full compensatory pause); an atrial one resets it.
    """
    chosen = rng.random(len(rr)) < rng.uniform(0.04, 0.2)  # (B,)
    coupling = rng.uniform(0.56, 0.72)  # a focus has a fixed coupling interval
    chosen[int(np.searchsorted(start + np.cumsum(rr), rng.uniform(0.35, 0.65) * seconds))] = True
    for beat in np.flatnonzero(chosen):
        if beat < 1 or beat + 1 >= len(rr) or kind[beat - 1 : beat + 2].any():
            continue
        early = rr[beat] * (1 - coupling - 0.015 * rng.standard_normal())
        kind[beat] = ectopic
        rr[beat] -= early
        rr[beat + 1] += early if ectopic == VENTRICULAR else rng.uniform(0.0, 0.35) * early


def atrial_activity(
    rng: np.random.Generator, rhythm: str, rate: float, samples: int, fs: float
) -> tuple[Floats, Floats] | None:
    """Continuous atrial activity outside sinus rhythm.

    Returns:
        time course (n,) and dipole (3,) in mV of the f-waves (AFIB) or the flutter's sawtooth (AFL), else None.
    """
    if rhythm not in ("AFIB", "AFL"):
        return None
    time = np.arange(samples) / fs
    if rhythm == "AFL":
        waves_per_beat = next(n for n in (2, 3, 4) if n * rate >= 239)
        phase = 2 * np.pi * (waves_per_beat * rate / 60 * time + rng.uniform())
        sawtooth = np.sin(phase) + 0.42 * np.sin(2 * phase + 0.4) + 0.15 * np.sin(3 * phase + 0.8)
        return sawtooth, FLUTTER_DIPOLE * rng.uniform(0.10, 0.20)
    drift = sum(
        rng.uniform(0.4, 1.0) * np.sin(2 * np.pi * f * time + rng.uniform(0, 2 * np.pi)) for f in (0.3, 0.9, 1.7)
    )
    phase = 2 * np.pi * rng.uniform(5.0, 7.5) * time + drift
    swell = 1 + sum(0.3 * np.sin(2 * np.pi * rng.uniform(*f) * time + rng.uniform(0, 2 * np.pi)) for f in SWELL_HZ)
    return swell * (np.sin(phase) + 0.35 * np.sin(2 * phase + 0.7)), FIBRILLATION_DIPOLE * rng.uniform(0.05, 0.13)
