"""One simulated recording: rhythm, conduction, beats, projection to the leads, noise.

Sinus rhythm varies with respiration and the 0.1 Hz wave of blood pressure (Task Force of the ESC and NASPE 1996,
Circulation 93:1043); fibrillation conducts at random, flutter every second to fourth wave. AV block of second degree,
Mobitz type I: the PR interval grows within a group, most at its second beat, until a P wave is not conducted; of third
degree: none is, beside slow junctional escape (Kusumoto et al. 2019, JACC 74:e51). Noise is generated at the electrodes
and projected to the leads, so it obeys Einthoven's laws too; its levels follow Clifford et al. 2006 (Advanced Methods
and Tools for ECG Data Analysis, ch. 3): 1 is a routine hospital recording.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmark.data.simulate.heart import (
    ATRIAL,
    BLOCKED,
    CLOCKS,
    ESCAPE,
    SINUS,
    VENTRICULAR,
    Heart,
    lead_vectors,
    rotation,
    twelve_leads,
    wave_trains,
)
from benchmark.data.simulate.patient import RHYTHMS, Anatomy, check_diagnoses, diseased, draw_anatomy
from benchmark.results.arrays import Doubles, Floats

PREMATURE = {"PAC": ATRIAL, "PVC": VENTRICULAR}
"""Diagnosis -> kind of its premature beats."""
MARGIN_S = 2.0
"""Seconds before and after the recording with beats, so that its ends may cut waves."""
FIBRILLATION_DIPOLE = np.array([-0.30, 0.35, -0.85])
DRIFT_HZ = (0.3, 0.9, 1.7)
"""Frequencies of the phase modulation of f-waves, Hz."""
SWELL_HZ = ((0.2, 0.6), (0.9, 1.6))
"""Frequency ranges of the amplitude modulation of f-waves, Hz."""
FLUTTER_DIPOLE = np.array([-0.15, -0.90, -0.60])


class Breath(NamedTuple):
    """Respiration during a recording: frequency and phase."""

    hz: float
    phase: float

    def at(self, time: Doubles) -> Doubles:
        """Compute respiration from -1 to 1 at `time` in seconds; same shape."""
        return np.sin(2 * np.pi * self.hz * time + self.phase)


class Beats(NamedTuple):
    """B beats in order of time."""

    time: NDArray[Any]  # (B,) peak of R, seconds from the recording's start
    kind: NDArray[Any]  # (B,) SINUS, ATRIAL, VENTRICULAR, BLOCKED or ESCAPE; BLOCKED: where R would have been
    rr: NDArray[Any]  # (B,) RR interval that the beat's repolarisation follows, seconds
    delay: NDArray[Any]  # (B,) PR prolongation over the heart's, seconds


def draw_rate(rng: Generator, rhythm: str, resting_rate: float) -> float:
    """Draw the heart rate of a recording, beats per minute. Each rhythm stays within its definition."""
    if rhythm == "SB":
        return rng.uniform(50.5, 58.5) if rng.random() < 0.85 else rng.uniform(42, 50)
    if rhythm == "ST":
        return float(np.clip(103 + 17 * abs(rng.standard_normal()), 103, 160))
    if rhythm == "AFIB":
        return float(np.clip(96 + 22 * rng.standard_normal(), 58, 165))
    if rhythm == "AFL":
        flutter_rate = rng.uniform(240, 320)
        waves_per_beat = rng.choice([2, 3, 4], p=[0.5, 0.15, 0.35])
        return float(flutter_rate / waves_per_beat)
    if rhythm == "SVT":
        return rng.uniform(150, 210)
    return float(np.clip(resting_rate + 5 * rng.standard_normal(), 62, 97))


def draw_beats(
    rng: Generator, rhythm: str, rate: float, premature: tuple[int, ...], seconds: float, breath: Breath
) -> Beats:
    """Draw the beats of a recording, at a mean rate per minute without premature beats.

    premature: ATRIAL, VENTRICULAR, both or neither; of each at least one falls into the recording.
    """
    basic = 60.0 / rate
    most_seconds = 1.4 * (seconds + 2 * MARGIN_S)
    count = int(np.ceil(most_seconds / basic)) + 8
    rr = _intervals(rng, rhythm, basic, count, breath)  # (B,)
    kind = np.full(count, SINUS, dtype=np.int8)
    start = -MARGIN_S + rng.uniform(0, basic)
    for ectopic in premature:
        _make_premature(rng, ectopic, rr, kind, start, seconds)
    time = start + np.cumsum(rr)
    is_within = time < seconds + MARGIN_S  # (B,)
    beats = Beats(time, kind, followed(rr), np.zeros(count))
    return Beats(*[values[is_within] for values in beats])


def followed(rr: Doubles) -> Doubles:
    """Return the RR intervals that set repolarisation, (B,): mostly their mean, since it adapts over minutes."""
    return 0.8 * float(rr.mean()) + 0.2 * rr


def _intervals(rng: Generator, rhythm: str, basic: float, count: int, breath: Breath) -> Doubles:
    """Draw RR intervals, (count,) seconds, with mean `basic`."""
    if rhythm == "AFIB":
        free = rng.gamma(12.0, 1.0, count)  # (B,)
        conducted = 0.3 * basic + 0.7 * basic * free / free.mean()  # (B,)
        rr = np.maximum(0.30, conducted + 0.05 * rng.standard_normal(count))  # (B,)
        return np.asarray(rr * basic / rr.mean())
    if rhythm == "AFL":
        return basic + 0.002 * rng.standard_normal(count)
    if rhythm == "SVT":
        return basic * (1 + 0.006 * rng.standard_normal(count))
    quiet = min(1.0, (75.0 * basic / 60.0) ** 2)
    with_breath = rng.uniform(0.13, 0.20) if rhythm == "SA" else quiet * rng.uniform(0.008, 0.045)
    time = basic * np.arange(count, dtype=np.float64)  # (B,)
    depth = quiet * rng.uniform(0.005, 0.025)
    phase = rng.uniform(0, 2 * np.pi)
    pressure = depth * np.sin(2 * np.pi * 0.1 * time + phase)  # (B,)
    jitter = 0.006 * rng.standard_normal(count)  # (B,)
    return basic * (1 + with_breath * breath.at(time) + pressure + jitter)


def _make_premature(
    rng: Generator, ectopic: int, rr: Doubles, kind: NDArray[np.int8], start: float, seconds: float
) -> None:
    """Turn some sinus beats into premature ones, in place, each followed by its pause.

    A ventricular beat leaves the sinus node's timing (full compensatory pause); an atrial one resets it.
    """
    chosen = rng.random(len(rr)) < rng.uniform(0.04, 0.2)  # (B,)
    coupling = rng.uniform(0.56, 0.72)  # a focus has a fixed coupling interval
    middle = rng.uniform(0.35, 0.65) * seconds
    chosen[int(np.searchsorted(start + np.cumsum(rr), middle))] = True
    for beat in np.flatnonzero(chosen):
        if beat < 1 or beat + 1 >= len(rr) or kind[beat - 1 : beat + 2].any():
            continue
        early = rr[beat] * (1 - coupling - 0.015 * rng.standard_normal())
        kind[beat] = ectopic
        rr[beat] -= early
        rr[beat + 1] += early if ectopic == VENTRICULAR else rng.uniform(0.0, 0.35) * early


def atrial_activity(rng: Generator, rhythm: str, rate: float, samples: int, fs: float) -> tuple[Doubles, Doubles]:
    """Draw time course (n,) and dipole (3,) in mV of the f-waves (AFIB) or the flutter's sawtooth (AFL)."""
    time = np.arange(samples) / fs
    if rhythm == "AFL":
        waves_per_beat = next(n for n in (2, 3, 4) if n * rate >= 239)
        phase = 2 * np.pi * (waves_per_beat * rate / 60 * time + rng.uniform())
        sawtooth = np.sin(phase) + 0.42 * np.sin(2 * phase + 0.4) + 0.15 * np.sin(3 * phase + 0.8)
        return sawtooth, FLUTTER_DIPOLE * rng.uniform(0.10, 0.20)
    drift = np.zeros(samples)
    for hz in DRIFT_HZ:
        depth = rng.uniform(0.4, 1.0)
        drift = drift + depth * np.sin(2 * np.pi * hz * time + rng.uniform(0, 2 * np.pi))
    phase = 2 * np.pi * rng.uniform(5.0, 7.5) * time + drift
    swell = np.zeros(samples)
    for lowest, highest in SWELL_HZ:
        hz = rng.uniform(lowest, highest)
        swell = swell + 0.3 * np.sin(2 * np.pi * hz * time + rng.uniform(0, 2 * np.pi))
    waves = np.sin(phase) + 0.35 * np.sin(2 * phase + 0.7)
    return (1 + swell) * waves, FIBRILLATION_DIPOLE * rng.uniform(0.05, 0.13)


ELECTRODES = 9
"""RA, LA, LL, V1-V6."""
EIGHT_FROM_ELECTRODES = np.vstack(
    [
        np.pad([[-1, 1, 0], [-1, 0, 1]], ((0, 0), (0, 6))),  # I = LA - RA, II = LL - RA
        np.hstack([np.full((6, 3), -1 / 3), np.eye(6)]),  # V1-V6 against Wilson's central terminal
    ]
)  # (8, 9)

WHITE_MV, MUSCLE_MV, MAINS_MV = 0.003, 0.004, 0.002
"""Medians over recordings, per electrode: root mean square of the first two, amplitude of the third; mV."""
WANDER_HZ = ((0.03, 0.10), (0.10, 0.25), (0.25, 0.6))
"""Frequency ranges of the components of the baseline wander, Hz."""
WANDER_MV = 0.035
"""Median amplitude of one component of the baseline wander, mV."""


def electrode_noise(rng: Generator, samples: int, fs: float, level: float, mains_hz: float, breath: Breath) -> Floats:
    """Draw the noise of the leads I, II, V1-V6, (n, 8) in mV; as many draws whatever the level, a factor of all noise.

    Baseline wander, mains and respiration are shared by all electrodes; white noise and muscle are each electrode's.
    """
    time = np.arange(samples) / fs
    wander_hz = [rng.uniform(lowest, highest) for lowest, highest in WANDER_HZ]
    hertz = np.array([*wander_hz, mains_hz])  # (4,)
    turns = time[:, None] * hertz + rng.uniform(size=4)  # (n, 4)
    phase = (2 * np.pi * (turns - np.floor(turns))).astype(np.float32)  # (n, 4)
    sources = np.column_stack([np.sin(phase), np.cos(phase), breath.at(time)]).astype(np.float32)  # (n, 9)
    wander = WANDER_MV * np.exp(0.7 * rng.standard_normal())
    mains = MAINS_MV * np.exp(1.0 * rng.standard_normal())
    size = np.array([wander, wander * 0.6, wander * 0.35, mains] * 2 + [wander * 0.4])  # (9,)
    loading = size[:, None] * rng.standard_normal((len(size), ELECTRODES))  # (9, 9) of a source at an electrode, mV

    white = WHITE_MV * np.exp(0.4 * rng.standard_normal(ELECTRODES))  # (9,)
    of_patient = 0.6 * rng.standard_normal()
    muscle = MUSCLE_MV * np.exp(of_patient + 0.5 * rng.standard_normal(ELECTRODES))  # (9,)
    muscle[3:] *= 0.6  # less on the chest than on the limbs
    knots = np.maximum(0.0, 1 + 0.8 * rng.standard_normal(8))
    swell = np.interp(np.linspace(0, 7, samples), np.arange(8), knots)  # (n,)
    raw = rng.standard_normal((samples + 2, ELECTRODES), dtype=np.float32)  # (n + 2, 9)
    # The difference over two samples lies around fs / 4, where muscle is strongest at 500 Hz.
    tremor = (raw[2:] - raw[:-2]) * swell[:, None].astype(np.float32)  # (n, 9)
    tremor *= (muscle / np.sqrt(2)).astype(np.float32)
    rough = raw[1:-1] * white.astype(np.float32) + tremor  # (n, 9)

    to_leads = EIGHT_FROM_ELECTRODES.T * level  # (9, 8)
    smooth = sources @ (loading @ to_leads).astype(np.float32)  # (n, 8)
    return np.asarray(smooth + rough @ to_leads.astype(np.float32))


def second_degree(rng: Generator, beats: Beats) -> Beats:
    """Group sinus beats as Wenckebach; `delay`: PR prolongation over a group's first beat, seconds."""
    group = int(rng.choice((3, 4, 5), p=(0.40, 0.35, 0.25)))  # P waves, of which the last is not conducted
    position = (np.arange(len(beats.time)) + rng.integers(group)) % group  # (B,)
    step = rng.uniform(0.06, 0.11)
    later_steps = 0.5 ** np.arange(1, group - 1)  # (group - 2,) decreasing
    grown = step * np.cumsum([0.0, 1.0, *later_steps])  # (group,)
    lost = position == group - 1  # (B,)
    delay = np.where(lost, 0.0, grown[position])
    time = beats.time + delay
    kind = np.where(lost, BLOCKED, beats.kind).astype(np.int8)  # (B,)
    conducted = time[~lost]  # (B',)
    rr = beats.rr.copy()
    rr[~lost] = followed(np.diff(conducted, prepend=conducted[0] - beats.rr[0]))
    return Beats(time=time, kind=kind, rr=rr, delay=delay)


def third_degree(rng: Generator, beats: Beats, seconds: float) -> Beats:
    """Return sinus beats without ventricles, and independent junctional escape beats at 40-56/min, in order of time."""
    basic = 60.0 / rng.uniform(40.0, 56.0)
    count = int((seconds + 2 * MARGIN_S) / basic) + 2
    rr = basic * (1 + 0.008 * rng.standard_normal(count))  # (E,)
    time = -MARGIN_S + basic * rng.uniform() + np.cumsum(rr) - rr[0]  # (E,)
    escapes = Beats(time, np.full(count, ESCAPE, np.int8), rr, np.zeros(count))
    blocked = beats._replace(kind=np.full_like(beats.kind, BLOCKED))
    order = np.argsort(np.concatenate([beats.time, time]), kind="stable")  # (B + E,)
    together = [np.concatenate(both) for both in zip(blocked, escapes, strict=True)]
    return Beats(*[values[order] for values in together])


STREAM_OF_SINGLE_RECORDINGS = 1000
"""Stream number of `simulate`, distinct from the cohorts', which count from 0."""


class Simulated(NamedTuple):
    """A simulated recording and its ground truth."""

    signal: Floats  # (n, 12) mV, leads as in benchmark.data.datasets.base.LEADS
    beats: Beats
    """Those of the margins before and after the recording too."""
    rate: float
    """QRS complexes per minute; NaN where the recording has fewer than two."""


def simulate(diagnosis: str | tuple[str, ...], *, seed: int, anatomy: float = 1.0, **settings: float) -> Floats:
    """Draw one recording of a newly drawn patient, e.g. `simulate("LBBB", seed=1)`: (n, 12) float32 in mV.

    diagnosis: a name of `DIAGNOSES`, or several that one ECG can show together. seed: of patient and recording.
    anatomy: scale of the differences between patients, 0 for the typical one. settings: `seconds`, `fs`, `noise` and
    `severity`, as in `record`. Raises ValueError for unknown or contradictory diagnoses.
    """
    names = (diagnosis,) if isinstance(diagnosis, str) else diagnosis
    rng = np.random.default_rng([seed, STREAM_OF_SINGLE_RECORDINGS])
    patient = draw_anatomy(rng, woman=bool(rng.integers(2)), variation=anatomy)
    return record(patient, names, rng, **settings).signal


def record(
    patient: Anatomy,
    diagnoses: tuple[str, ...],
    rng: Generator,
    *,
    seconds: float = 10.0,
    fs: float = 500.0,
    noise: float = 1.0,
    severity: float = 1.0,
    mains_hz: float = 50.0,
) -> Simulated:
    """Draw one recording of a patient with these diagnoses, from the recording's stream. Raises as `simulate`.

    noise: scale of all noise. severity: scale of the changes of a beat's shape, at most 2.
    """
    samples = round(seconds * fs)
    rhythms = [name for name in check_diagnoses(diagnoses) if name in RHYTHMS]
    rhythm = rhythms[0] if rhythms else "SR"
    heart = diseased(patient, diagnoses, severity)
    rate = draw_rate(rng, rhythm, patient.resting_rate)
    breath = Breath(hz=rng.uniform(0.18, 0.32), phase=rng.uniform(0, 2 * np.pi))
    ectopic = tuple(kind for name, kind in PREMATURE.items() if name in diagnoses)
    beats = draw_beats(rng, rhythm, rate, ectopic, seconds, breath)
    if "AVB2" in diagnoses:
        beats = second_degree(rng, beats)
    elif "AVB3" in diagnoses:
        beats = third_degree(rng, beats, seconds)
    trains = _trains(rng, heart, beats, samples, fs)  # (n, C)
    eight = _seen_by_leads(rng, patient, heart, trains, breath, fs)  # (n, 8)
    if rhythm in ("AFIB", "AFL"):
        course, dipole = atrial_activity(rng, rhythm, rate, samples, fs)  # (n,), (3,)
        gain = (lead_vectors(patient.across, patient.down) @ dipole) * patient.conduction[0]  # (8,)
        eight += course[:, None] * gain
    noisy = eight.astype(np.float32) + electrode_noise(rng, samples, fs, noise, mains_hz, breath)  # (n, 8)
    is_inside = (beats.time >= 0) & (beats.time < seconds)  # (B,)
    peaks = beats.time[is_inside & (beats.kind != BLOCKED)]
    measured_rate = 60.0 / float(np.diff(peaks).mean()) if len(peaks) > 1 else np.nan
    return Simulated(twelve_leads(noisy), beats, measured_rate)


def _trains(rng: Generator, heart: Heart, beats: Beats, samples: int, fs: float) -> Doubles:
    """Draw the time course of every wave of the heart over all beats, (n, C)."""
    waves = list(heart.waves.values())
    clock = [CLOCKS.index(wave.clock) for wave in waves]  # (C,)
    root = np.cbrt(beats.rr)  # (B,) Fridericia's
    pace = np.stack([np.minimum(1.0, root), np.ones_like(root), root])[clock]  # (C, B)
    pr = heart.intervals["pr"] * np.minimum(1.0, beats.rr**0.25)  # (B,)
    onset_of_p = beats.time + heart.intervals["onset"] - pr - beats.delay  # (B,)
    j_point = beats.time + heart.intervals["j_point"]  # (B,)
    origin = np.stack([onset_of_p, beats.time, j_point])[clock]  # (C, B)
    times = np.array([(wave.centre, wave.rise, wave.fall) for wave in waves])  # (C, 3)
    centre, rise, fall = times.T[:, :, None] * pace  # (C, B) each
    present = np.array([np.isin(beats.kind, wave.beats) for wave in waves])  # (C, B)
    height = present * (1 + 0.02 * rng.standard_normal(centre.shape))  # (C, B)
    order = np.array([wave.order for wave in waves], float)  # (C,)
    return wave_trains(origin + centre, rise, fall, height, order, samples, fs)


def _seen_by_leads(
    rng: Generator, patient: Anatomy, heart: Heart, trains: Doubles, breath: Breath, fs: float
) -> Doubles:
    """Project waves (n, C) to I, II, V1-V6 at this recording's electrode positions, with respiration: (n, 8) in mV."""
    across = patient.across + 0.10 * rng.standard_normal(6)
    down = patient.down + 0.25 * rng.standard_normal() + 0.12 * rng.standard_normal(6)  # (6,)
    posture = lead_vectors(across, down) @ rotation(3.0 * rng.standard_normal(3))  # (8, 3)
    contact = float(np.exp(0.05 * rng.standard_normal()))
    position = {"P": patient.atrial_position, "R": patient.position, "J": patient.position}
    waves = list(heart.waves.values())
    dipole = np.stack([position[wave.clock] @ wave.dipole for wave in waves])  # (C, 3)
    clock = [CLOCKS.index(wave.clock) for wave in waves]  # (C,)
    conduction = patient.conduction[clock]  # (C, 8)
    still = (dipole @ posture.T) * conduction * contact  # (C, 8)
    inhaled_posture = posture @ rotation(rng.uniform(1, 4) * np.ones(3))  # (8, 3)
    inhaled = (dipole @ inhaled_posture.T) * conduction * contact  # (C, 8)
    swing = breath.at(np.arange(len(trains)) / fs)[:, None]  # (n, 1)
    return trains @ still + swing * (trains @ (inhaled - still))
