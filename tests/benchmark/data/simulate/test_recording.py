"""One recording: what a cardiologist would look for, measured on the noise-free signal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS
from benchmark.data.simulate.heart import SINUS
from benchmark.data.simulate.patient import DIAGNOSES, draw_anatomy
from benchmark.data.simulate.recording import Simulated, record, simulate
from tests.benchmark.data.simulate.signed_mean import signed_mean

Beat = dict[str, np.ndarray]
PATIENTS = range(16)
FS = 500


def _clean(diagnosis: str, seed: int) -> Simulated:
    rng = np.random.default_rng(seed)
    patient = draw_anatomy(rng, woman=bool(seed % 2))
    return record(patient, (diagnosis,), rng, noise=0.0)


def _average_beat(recorded: Simulated) -> Beat:
    """Lead -> mean sinus beat from 300 ms before R to 450 ms after, less its level just before QRS."""
    beats = [
        recorded.signal[round((time - 0.3) * FS) : round((time - 0.3) * FS) + 375]
        for time, kind in zip(recorded.beats.time, recorded.beats.kind, strict=True)
        if kind == SINUS and 0.4 < time < 9.4
    ]
    beat = np.mean(beats, axis=0)  # (375, 12)
    beat = beat - beat[round(0.225 * FS) : round(0.235 * FS)].mean(axis=0)
    return dict(zip(LEADS, beat.T, strict=True))


def _qrs_width(recorded: Simulated) -> float:
    """Milliseconds during which the leads together move faster than an eighth of their fastest."""
    beat = np.stack(list(_average_beat(recorded).values()), axis=1)[round(0.19 * FS) : round(0.46 * FS)]
    speed = np.linalg.norm(np.diff(beat, axis=0), axis=1)
    fast = np.flatnonzero(speed > speed.max() / 8)
    return 1000 * float(fast[-1] - fast[0]) / FS


def _st(beat: Beat, lead: str) -> float:
    """mV at 60 ms after a normal J point."""
    return float(beat[lead][round((0.3 + 0.047 + 0.06) * FS)])


def _t(beat: Beat, lead: str) -> float:
    """Largest deflection of repolarisation, with its sign."""
    part = beat[lead][round(0.43 * FS) :]
    return float(part[np.abs(part).argmax()])


STORED = {
    "NORM": -0.000671279,
    "SR": -0.000671279,
    "SB": 0.000318656,
    "ST": 0.000617188,
    "SA": -0.000389477,
    "AFIB": -0.000315513,
    "AFL": -0.001047549,
    "SVT": 0.000106226,
    "LBBB": -0.000170380,
    "RBBB": -0.002058848,
    "LAFB": 0.000323152,
    "AVB1": -0.000754828,
    "AVB2": 0.000405871,
    "AVB3": 0.000281866,
    "STD": -0.001379232,
    "STE-ANT": -0.001395854,
    "STE-INF": -0.001211928,
    "MI-ANT": -0.000277013,
    "MI-INF": -0.000401382,
    "MI-LAT": -0.000906457,
    "LVH": -0.000801823,
    "RVH": -0.000999511,
    "TWI": 0.000174380,
    "PAC": -0.000148293,
    "PVC": 0.000278184,
}
"""Diagnosis -> `signed_mean` in mV of its ECG by seed 5, of version 3 of the simulator."""


def test_every_diagnosis_is_the_stored_one() -> None:
    drawn = {diagnosis: signed_mean(simulate(diagnosis, seed=5)) for diagnosis in DIAGNOSES}
    assert drawn == pytest.approx(STORED, rel=0, abs=2e-8), "another ECG is another result: raise SIMULATOR_VERSION"


def _in(beat: Beat, lead: str, begin: float, end: float) -> np.ndarray:
    """Samples of a lead between two times, in seconds from the beginning of the average beat."""
    return beat[lead][round(begin * FS) : round(end * FS)]


CRITERIA: list[tuple[str, Callable[[Beat], bool], float]] = [
    ("NORM", lambda b: b["aVR"].min() < -b["aVR"].max(), 1.0),
    ("NORM", lambda b: _in(b, "II", 0.10, 0.22).max() > 0.05, 0.9),  # P upright
    ("NORM", lambda b: min(_t(b, lead) for lead in ("I", "II", "V4", "V5", "V6")) > 0, 0.8),
    ("NORM", lambda b: abs(_st(b, "V5")) < 0.1, 0.9),
    ("LBBB", lambda b: b["V6"].max() > 4 * -_in(b, "V6", 0, 0.4).min(), 0.9),
    ("LBBB", lambda b: -b["V1"].min() > 3 * _in(b, "V1", 0.22, 0.4).max(), 0.9),
    ("RBBB", lambda b: _in(b, "V1", 0.33, 0.40).max() > 0.2, 0.9),
    ("RBBB", lambda b: _in(b, "V6", 0.33, 0.40).min() < -0.2 and _in(b, "I", 0.33, 0.40).min() < -0.1, 0.9),
    ("STD", lambda b: max(_st(b, lead) for lead in ("II", "V5", "V6")) < -0.05, 0.8),
    ("STE-ANT", lambda b: min(_st(b, lead) for lead in ("V2", "V3")) > 0.1, 0.9),
    ("STE-INF", lambda b: min(_st(b, lead) for lead in ("II", "III", "aVF")) > 0.08, 0.9),
    ("STE-INF", lambda b: _st(b, "aVL") < -0.05, 0.9),
    ("MI-INF", lambda b: max(_in(b, lead, 0.25, 0.29).min() for lead in ("III", "aVF")) < -0.15, 0.9),
    ("MI-LAT", lambda b: max(_in(b, lead, 0.25, 0.29).min() for lead in ("I", "V6")) < -0.15, 0.9),
    ("MI-ANT", lambda b: _in(b, "V2", 0.24, 0.36).max() < 0.1, 0.85),
    ("LVH", lambda b: _t(b, "V6") < 0, 0.4),
]


def test_findings_show_in_their_diagnostic_leads() -> None:
    beats = {name: [_average_beat(_clean(name, seed)) for seed in PATIENTS] for name, _, _ in CRITERIA}
    for row, (name, holds, least) in enumerate(CRITERIA):
        assert np.mean([holds(beat) for beat in beats[name]]) >= least, (row, name)
    r = np.mean([[beat[f"V{n}"].max() for n in range(1, 6)] for beat in beats["NORM"]], axis=0)
    assert (np.diff(r) > 0).all()  # R grows from V1 to V5
    voltages = {name: [beat["V5"].max() - beat["V1"].min() for beat in beats[name]] for name in ("LVH", "NORM")}
    assert np.median(voltages["LVH"]) > 3.5 > np.quantile(voltages["NORM"], 0.9)  # Sokolow and Lyon's limit


def test_qrs_widths() -> None:
    width = {name: np.array([_qrs_width(_clean(name, s)) for s in PATIENTS]) for name in ("NORM", "LBBB", "RBBB")}
    assert 70 <= np.median(width["NORM"]) <= 100
    assert width["NORM"].max() < 110
    assert width["RBBB"].min() >= 112
    assert width["LBBB"].min() >= 120
