"""Simulate one recording of a patient: beats, waves, respiration, projection to twelve leads, noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.data.simulate.anatomy import Anatomy, draw_anatomy
from benchmark.data.simulate.conduction import second_degree, third_degree
from benchmark.data.simulate.diagnoses import RHYTHMS, check_diagnoses
from benchmark.data.simulate.dipole import LIMB_VECTORS, Floats, lead_vectors, rotation, twelve_leads, wave_trains
from benchmark.data.simulate.heart import ATRIAL, BLOCKED, CLOCKS, KINDS, SINUS, VENTRICULAR, Heart, Wave
from benchmark.data.simulate.noise import electrode_noise
from benchmark.data.simulate.pathology import diseased
from benchmark.data.simulate.rhythm import Beats, Breath, atrial_activity, draw_beats, draw_rate

MOST_SEVERE = 2.0
"""Maximum of `severity`; beyond it the waves are no longer realistic."""
STREAM_OF_SINGLE_RECORDINGS = 1000
"""Stream number of `simulate`, distinct from the cohorts', which count from 0."""


@dataclass(frozen=True)
class Simulated:
    """A simulated recording and its ground truth."""

    signal: NDArray[np.float32]  # (n, 12) mV, leads as in benchmark.data.readers.base.LEADS
    beats: Beats
    """Ventricular beats whose R peak is within the recording."""
    rate: float
    """Beats per minute."""
    pr: float | None
    """PR interval in seconds, the shortest if it varies; None if no P wave is conducted."""
    qrs: float
    """QRS duration in seconds."""
    qt: float
    """QT interval in seconds, of a beat at the mean rate."""
    axes: Mapping[str, float]
    """Frontal axis in degrees of the P, QRS and T areas; P is absent without P waves."""


def simulate(
    diagnosis: str | tuple[str, ...],
    *,
    seed: int,
    seconds: float = 10.0,
    fs: float = 500.0,
    noise: float = 1.0,
    anatomy: float = 1.0,
    severity: float = 1.0,
) -> NDArray[np.float32]:
    """One recording of a newly drawn patient, e.g. `simulate("LBBB", seed=1)`.

    Args:
        diagnosis: a name of `DIAGNOSES`, or several that one ECG can show together.
        seed: of patient and recording.
        seconds: length in seconds.
        fs: sampling rate in Hz.
        noise: scale of all noise, 0 for none.
        anatomy: scale of the differences between patients, 0 for the typical one.
        severity: scale of disease changes of a beat's shape, 0 for none, 1 as drawn.

    Returns:
        (n, 12) float32 in mV, leads in the order of `benchmark.data.readers.base.LEADS`.

    Raises:
        ValueError: unknown or contradictory diagnoses, or a length, rate or scale out of range.
    """
    if anatomy < 0:
        raise ValueError(f"anatomy is {anatomy}: the dial goes from 0 (typical heart) upwards")
    names = (diagnosis,) if isinstance(diagnosis, str) else diagnosis
    rng = np.random.default_rng([seed, STREAM_OF_SINGLE_RECORDINGS])
    patient = draw_anatomy(rng, woman=bool(rng.integers(2)), spread=anatomy)
    return record(patient, names, rng, seconds=seconds, fs=fs, noise=noise, severity=severity).signal


def record(
    patient: Anatomy,
    diagnoses: tuple[str, ...],
    rng: np.random.Generator,
    *,
    seconds: float = 10.0,
    fs: float = 500.0,
    noise: float = 1.0,
    severity: float = 1.0,
    mains_hz: float = 50.0,
) -> Simulated:
    """One recording of a patient with these diagnoses.

    Args:
        patient: the patient's anatomy.
        diagnoses: what this recording shows.
        rng: the recording's stream; draws rate, electrode positions and noise.
        seconds, fs, noise, severity: as `simulate`.
        mains_hz: 50 or 60 Hz.

    Raises:
        ValueError: as `simulate`.
    """
    check_diagnoses(diagnoses)
    if not (1 <= seconds <= 3600 and fs >= 50 and noise >= 0 and 0 <= severity <= MOST_SEVERE):
        raise ValueError(
            f"cannot record {seconds} s at {fs} Hz with noise {noise} and severity {severity}: "
            f"1-3600 s, 50 Hz or more, noise >= 0, severity 0-{MOST_SEVERE:g}"
        )
    samples = round(seconds * fs)
    rhythm = next((name for name in diagnoses if name in RHYTHMS), "SR")
    heart = diseased(patient.heart, diagnoses, patient.severity, patient.ectopic_focus, share=severity)
    rate = draw_rate(rng, rhythm, patient.resting_rate)
    breath = Breath(hz=float(rng.uniform(0.18, 0.32)), phase=float(rng.uniform(0, 2 * np.pi)))
    ectopic = tuple(kind for name, kind in (("PAC", ATRIAL), ("PVC", VENTRICULAR)) if name in diagnoses)
    beats = draw_beats(rng, rhythm, rate, ectopic, seconds, breath)
    if "AVB2" in diagnoses:
        beats = second_degree(rng, beats)
    elif "AVB3" in diagnoses:
        beats = third_degree(rng, beats, seconds)
    trains = _trains(rng, heart, beats, samples, fs)  # (n, C)
    eight = _seen_by_leads(rng, patient, heart, trains, breath, fs)  # (n, 8)
    eight += _atria_in_leads(rng, patient, rhythm, rate, samples, fs)
    noisy = eight.astype(np.float32) + electrode_noise(rng, samples, fs, noise, mains_hz, breath)  # (n, 8)
    return _with_truth(twelve_leads(noisy), heart, beats, seconds, patient)


def _trains(rng: np.random.Generator, heart: Heart, beats: Beats, samples: int, fs: float) -> Floats:
    """Time course of every wave of the heart over all beats, (n, C)."""
    waves = list(heart.waves.values())
    number = {clock: i for i, clock in enumerate(CLOCKS)}
    clock = np.array([number[wave.clock] for wave in waves])  # (C,)
    pace = _paces(beats)[clock]  # (C, B)
    origin = _origins(heart, beats)[clock]  # (C, B)
    centre = origin + np.array([wave.centre for wave in waves])[:, None] * pace  # (C, B)
    present = np.array([[kind in wave.beats for kind in range(KINDS)] for wave in waves])[:, beats.kind]  # (C, B)
    height = present * (1 + 0.02 * rng.standard_normal(centre.shape))  # (C, B)
    rise = np.array([wave.rise for wave in waves])[:, None] * pace
    fall = np.array([wave.fall for wave in waves])[:, None] * pace
    order = np.array([wave.order for wave in waves], dtype=np.float64)  # (C,)
    return wave_trains(centre, rise, fall, height, order, samples, fs)


def _paces(beats: Beats) -> Floats:
    """Time scale of atria, ventricles and repolarisation by RR interval (Fridericia's cube root), (3, B)."""
    root = np.cbrt(beats.rr)
    return np.stack([np.minimum(1.0, root), np.ones_like(root), root])


def _origins(heart: Heart, beats: Beats) -> Floats:
    """Onset of P, peak of R and J point of every beat, (3, B) seconds."""
    onset_of_p = beats.time + heart.onset - heart.pr * np.minimum(1.0, beats.rr**0.25) - beats.delay
    return np.stack([onset_of_p, beats.time, beats.time + heart.j_point])


def _seen_by_leads(
    rng: np.random.Generator, patient: Anatomy, heart: Heart, trains: Floats, breath: Breath, fs: float
) -> Floats:
    """Waves (n, C) in leads I, II, V1-V6 at this recording's electrode positions, with respiration: (n, 8) in mV."""
    across = patient.across + 0.10 * rng.standard_normal(6)
    down = patient.down + 0.25 * rng.standard_normal() + 0.12 * rng.standard_normal(6)
    leads = lead_vectors(across, down)  # (8, 3)
    posture = rotation(3.0 * rng.standard_normal(3))  # (3, 3)
    contact = float(np.exp(0.05 * rng.standard_normal()))
    still = _lead_heights(patient, heart, leads @ posture) * contact  # (C, 8)
    inhaled = _lead_heights(patient, heart, leads @ posture @ rotation(rng.uniform(1, 4) * np.ones(3))) * contact
    time = np.arange(len(trains)) / fs
    swing = breath.at(time)[:, None]  # (n, 1)
    seen: Floats = trains @ still + swing * (trains @ (inhaled - still))
    return seen


def _atria_in_leads(
    rng: np.random.Generator, patient: Anatomy, rhythm: str, rate: float, samples: int, fs: float
) -> Floats | float:
    """f-waves or flutter in the leads I, II, V1-V6, (n, 8) in mV; 0 in the other rhythms."""
    activity = atrial_activity(rng, rhythm, rate, samples, fs)
    if activity is None:
        return 0.0
    course, dipole = activity
    seen = (lead_vectors(patient.across, patient.down) @ dipole) * patient.conduction[0]  # (8,)
    in_leads: Floats = course[:, None] * seen
    return in_leads


def _lead_heights(patient: Anatomy, heart: Heart, leads: Floats) -> Floats:
    """Height of every wave in the leads I, II, V1-V6, (C, 8) in mV."""
    dipole = np.stack([_turned(wave, patient) for wave in heart.waves.values()])  # (C, 3)
    part = [CLOCKS.index(wave.clock) for wave in heart.waves.values()]
    return (dipole @ leads.T) * patient.conduction[part]


def _turned(wave: Wave, patient: Anatomy) -> Floats:
    return (patient.atrial_position if wave.clock == "P" else patient.position) @ wave.dipole


def _with_truth(signal: NDArray[np.float32], heart: Heart, beats: Beats, seconds: float, patient: Anatomy) -> Simulated:
    inside = (beats.time >= 0) & (beats.time < seconds) & (beats.kind != BLOCKED)
    shown = Beats(beats.time[inside], beats.kind[inside], beats.rr[inside], beats.delay[inside])
    mean_rr = float(np.diff(shown.time).mean()) if len(shown.time) > 1 else float(shown.rr.mean())
    t = heart.waves["t"]
    qrs = heart.j_point - heart.onset
    has_p = any(wave.clock == "P" for wave in heart.waves.values()) and SINUS in beats.kind
    return Simulated(
        signal=signal,
        beats=shown,
        rate=60.0 / mean_rr,
        pr=heart.pr * min(1.0, mean_rr**0.25) if has_p else None,
        qrs=qrs,
        qt=qrs + (t.centre + 2.3 * t.fall) * float(np.cbrt(mean_rr)),
        axes=_axes(patient, heart),
    )


def _axes(patient: Anatomy, heart: Heart) -> dict[str, float]:
    """Frontal axis of the sinus beat's P, QRS and T areas in degrees, as ECG machines print them."""
    axes = {}
    for name, clock in zip(("P", "QRS", "T"), CLOCKS, strict=True):
        waves = [wave for wave in heart.waves.values() if wave.clock == clock and 0 in wave.beats]
        if waves:
            area = sum(_turned(wave, patient) * (wave.rise + wave.fall) for wave in waves)  # (3,)
            one, two = LIMB_VECTORS @ area
            axes[name] = float(np.degrees(np.arctan2((two - one / 2) * 2 / np.sqrt(3), one)))
    return axes
