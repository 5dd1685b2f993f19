"""The report that an ECG machine would print of a simulated recording, with the errors of such machines.

Wordings and error rates of ECG machines: the tables of `machine_report`.

Published rates for programs like that of MIMIC-IV-ECG, against cardiologists: fibrillation is missed
in 9 % of its ECGs and seen in 1 % of the others, sinus rhythm is missed in 1 % and read into 10 % of the others (Poon
et al. 2005, J. Electrocardiol. 38:235); missed fibrillation is mostly called sinus or supraventricular tachycardia (Bae
et al. 2012, Clin. Cardiol. 35:348); a third of the statements of flutter are wrong (Lindow et al. 2019, Scand. J. Prim.
Health Care 37:426); infarction, bundle branch block and hypertrophy are found in 74-93 % with 97-99 % specificity (de
Bruyne et al. 1997, J. Clin. Epidemiol. 50:947), hypertrophy against echocardiography in 45 % with 83 % (Devereux et al.
1984, JACC 3:82). Rates of single findings are our choice within these bounds or, without a study, assumed.

Wordings and error rates are tables of this file, scaled by `errors`. The summary follows from the lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmark.data.simulate.patient import clash

NORMAL, BORDERLINE, ABNORMAL = range(3)
"""Grades of the whole ECG that a line implies."""
Said = tuple[str, ...]
"""Lines of a report."""


class RhythmReading(NamedTuple):
    """Report lines of a rhythm and its misreadings."""

    line: str
    grade: int
    mistaken: Mapping[Said, float]
    """Lines printed instead -> share of the ECGs with this rhythm; 'Sinus rhythm' is renamed by rate."""


class FindingReading(NamedTuple):
    """Report lines of a finding and its error rates."""

    wordings: Said
    hedged: Said
    """Wordings of uncertainty."""
    grade: int
    missed: float
    """Share of the ECGs with the finding whose report omits it."""
    instead: Said
    """Lines, one of which is printed then; '': none."""
    hedging: float
    """Share of the mentions that are hedged."""
    false_alarm: float
    """Share of the ECGs without the finding whose report has a hedged wording."""


RHYTHM_READINGS: Mapping[str, RhythmReading] = {
    "SR": RhythmReading(
        "Sinus rhythm",
        NORMAL,
        {
            ("Sinus arrhythmia",): 0.010,
            ("Atrial fibrillation",): 0.006,
            ("Ectopic atrial rhythm",): 0.006,
            ("Sinus rhythm", "PAC(s)"): 0.010,
        },
    ),
    "SB": RhythmReading(
        "Sinus bradycardia",
        BORDERLINE,
        {("Junctional rhythm",): 0.010, ("Ectopic atrial bradycardia",): 0.010},
    ),
    "ST": RhythmReading(
        "Sinus tachycardia",
        BORDERLINE,
        {("Supraventricular tachycardia",): 0.020, ("Atrial flutter",): 0.010},
    ),
    "SA": RhythmReading(
        "Sinus arrhythmia",
        BORDERLINE,
        {("Sinus rhythm",): 0.30, ("Sinus rhythm", "PAC(s)"): 0.10, ("Atrial fibrillation",): 0.05},
    ),
    "AFIB": RhythmReading(
        "Atrial fibrillation",
        ABNORMAL,
        {
            ("Sinus rhythm", "PAC(s)"): 0.042,
            ("Supraventricular tachycardia",): 0.020,
            ("Atrial flutter",): 0.020,
            ("Undetermined rhythm",): 0.010,
        },
    ),
    "AFL": RhythmReading(
        "Atrial flutter",
        ABNORMAL,
        {
            ("Atrial fibrillation",): 0.20,
            ("Sinus rhythm",): 0.09,
            ("Supraventricular tachycardia",): 0.08,
            ("Sinus rhythm", "Nonspecific T wave changes"): 0.05,
        },
    ),
    "SVT": RhythmReading(
        "Supraventricular tachycardia",
        ABNORMAL,
        {
            ("Sinus rhythm",): 0.18,
            ("Atrial flutter",): 0.05,
            ("Atrial fibrillation",): 0.04,
        },
    ),
}

_ST_T = "Nonspecific ST-T changes"
_T = "Nonspecific T wave changes"
_POOR_R = "Poor R wave progression - probable normal variant"
FINDING_READINGS: Mapping[str, FindingReading] = {
    "LBBB": FindingReading(
        ("Left bundle branch block",),
        ("Incomplete left bundle branch block",),
        grade=ABNORMAL,
        missed=0.07,
        instead=("IV conduction defect", "Left ventricular hypertrophy with ST-T changes"),
        hedging=0.05,
        false_alarm=0.002,
    ),
    "RBBB": FindingReading(
        ("Right bundle branch block", "RBBB"),
        ("Incomplete right bundle branch block", "rSr'(V1) - probable normal variant"),
        grade=ABNORMAL,
        missed=0.08,
        instead=("IV conduction defect",),
        hedging=0.06,
        false_alarm=0.02,
    ),
    "LAFB": FindingReading(
        ("Left anterior fascicular block",),
        ("Left axis deviation", "Leftward axis"),
        grade=BORDERLINE,
        missed=0.10,
        instead=("", _POOR_R),
        hedging=0.45,
        false_alarm=0.03,
    ),
    "AVB1": FindingReading(
        ("Prolonged PR interval", "First degree A-V block"),
        ("Borderline first degree A-V block",),
        grade=BORDERLINE,
        missed=0.10,
        instead=("",),
        hedging=0.15,
        false_alarm=0.01,
    ),
    "AVB2": FindingReading(
        ("Second degree A-V block, Mobitz I (Wenckebach)",),
        ("Possible second degree A-V block",),
        grade=ABNORMAL,
        missed=0.40,
        instead=("", "PAC(s)", "Sinus pause"),
        hedging=0.20,
        false_alarm=0.001,
    ),
    "AVB3": FindingReading(
        ("Complete heart block",),
        ("Possible complete heart block",),
        grade=ABNORMAL,
        missed=0.25,
        instead=("Junctional rhythm", "Junctional escape beats"),
        hedging=0.15,
        false_alarm=0.0005,
    ),
    "STD": FindingReading(
        ("Lateral ST-T changes may be due to myocardial ischemia", "Inferior/lateral ST-T changes"),
        ("Nonspecific ST depression", "Possible lateral ischemia"),
        grade=ABNORMAL,
        missed=0.20,
        instead=(_ST_T, ""),
        hedging=0.40,
        false_alarm=0.015,
    ),
    "STE-ANT": FindingReading(
        ("Anterior ST elevation, consider acute injury", "Probable acute anterior infarct"),
        ("ST elevation, probable early repolarization", "Possible anterior injury"),
        grade=ABNORMAL,
        missed=0.22,
        instead=(_ST_T, ""),
        hedging=0.30,
        false_alarm=0.008,
    ),
    "STE-INF": FindingReading(
        ("Inferior ST elevation, consider acute injury", "Probable acute inferior infarct"),
        ("Inferior ST elevation, age undetermined", "Possible inferior injury"),
        grade=ABNORMAL,
        missed=0.22,
        instead=(_ST_T, ""),
        hedging=0.30,
        false_alarm=0.003,
    ),
    "MI-ANT": FindingReading(
        ("Anterior infarct - age undetermined", "Anteroseptal infarct - age undetermined"),
        ("Possible anteroseptal infarct - age undetermined", "Consider anterior infarct"),
        grade=ABNORMAL,
        missed=0.25,
        instead=(_POOR_R, ""),
        hedging=0.35,
        false_alarm=0.025,
    ),
    "MI-INF": FindingReading(
        ("Inferior infarct - age undetermined",),
        ("Possible inferior infarct - age undetermined", "Consider inferior infarct"),
        grade=ABNORMAL,
        missed=0.33,
        instead=("", "Inferior T wave changes are nonspecific"),
        hedging=0.35,
        false_alarm=0.02,
    ),
    "MI-LAT": FindingReading(
        ("Lateral infarct - age undetermined",),
        ("Possible lateral infarct - age undetermined", "Consider lateral infarct"),
        grade=ABNORMAL,
        missed=0.35,
        instead=("", "Lateral T wave changes are nonspecific"),
        hedging=0.35,
        false_alarm=0.008,
    ),
    "LVH": FindingReading(
        ("Left ventricular hypertrophy", "Left ventricular hypertrophy with ST-T changes"),
        ("Possible left ventricular hypertrophy", "LVH by voltage only - may be normal variant"),
        grade=ABNORMAL,
        missed=0.42,
        instead=(_ST_T, "", ""),
        hedging=0.30,
        false_alarm=0.03,
    ),
    "RVH": FindingReading(
        ("Right ventricular hypertrophy",),
        ("Possible right ventricular hypertrophy", "Consider right ventricular hypertrophy"),
        grade=ABNORMAL,
        missed=0.55,
        instead=("Right axis deviation", ""),
        hedging=0.40,
        false_alarm=0.003,
    ),
    "TWI": FindingReading(
        ("T wave changes are nonspecific", _T),
        ("Borderline T wave abnormalities",),
        grade=BORDERLINE,
        missed=0.15,
        instead=("", _ST_T),
        hedging=0.20,
        false_alarm=0.03,
    ),
    "PAC": FindingReading(
        ("PAC(s)", "Atrial premature complexes"),
        ("Possible PAC(s)",),
        grade=BORDERLINE,
        missed=0.20,
        instead=("", "Sinus arrhythmia"),
        hedging=0.05,
        false_alarm=0.008,
    ),
    "PVC": FindingReading(
        ("PVC(s)", "Ventricular premature complexes"),
        ("Aberrant complexes",),
        grade=BORDERLINE,
        missed=0.08,
        instead=("",),
        hedging=0.05,
        false_alarm=0.004,
    ),
}

REMARKS: Mapping[str, tuple[int, float]] = {
    "Possible left atrial abnormality": (BORDERLINE, 0.030),
    "Possible right atrial abnormality": (BORDERLINE, 0.010),
    "Prolonged QT interval": (ABNORMAL, 0.020),
    "Short PR interval": (BORDERLINE, 0.010),
    "Low QRS voltages in precordial leads": (BORDERLINE, 0.010),
    "Generalized low QRS voltages": (BORDERLINE, 0.010),
    _POOR_R: (BORDERLINE, 0.015),
    "Early R wave progression": (NORMAL, 0.005),
    "Baseline artifact": (NORMAL, 0.010),
    "Warning: Data quality may affect interpretation": (NORMAL, 0.010),
}
"""Line -> grade, and share of all ECGs with it; independent of the simulated findings."""


RAPID_RATE = 110
"""Beats per minute from which fibrillation has a rapid ventricular response."""
RAPID = "Atrial fibrillation with rapid ventricular response"
SUMMARIES = {NORMAL: "Normal ECG", BORDERLINE: "Borderline ECG", ABNORMAL: "Abnormal ECG"}

GRADES: dict[str, int] = {
    **{line: BORDERLINE for reading in FINDING_READINGS.values() for line in (*reading.hedged, *reading.instead)},
    **{line: reading.grade for reading in FINDING_READINGS.values() for line in reading.wordings},
    **{line: grade for line, (grade, _) in REMARKS.items()},
    **{reading.line: reading.grade for reading in RHYTHM_READINGS.values()},
    RAPID: ABNORMAL,
}
"""Line -> grade of the whole ECG; unlisted rhythms are borderline."""


def machine_report(diagnoses: tuple[str, ...], rate: float, rng: np.random.Generator, errors: float = 1.0) -> list[str]:
    """Report lines of a recording.

    Args:
        diagnoses: what the recording shows.
        rate: beats per minute.
        rng: draws wordings and errors.
        errors: scale of error and hedging rates: 0 none, 1 as published, larger up to always wrong.
    """
    rhythm = next(name for name in diagnoses if name in RHYTHM_READINGS)
    lines = [_at_rate(line, rate) for line in _misread(rhythm, rng, errors)] or [RHYTHM_READINGS[rhythm].line]
    if lines == ["Atrial fibrillation"] and rate > RAPID_RATE:
        lines = [RAPID]
    lines += [_finding_line(name, diagnoses, rng, errors) for name in FINDING_READINGS]
    lines += [line for line, (_, share) in REMARKS.items() if rng.random() < errors * share]
    said = [line for line in dict.fromkeys(lines) if line]
    return [*said, SUMMARIES[max(GRADES.get(line, BORDERLINE) for line in said)]]


def _misread(rhythm: str, rng: np.random.Generator, errors: float) -> Said:
    """Lines printed instead of the rhythm; () if it is read correctly."""
    mistaken, drawn = RHYTHM_READINGS[rhythm].mistaken, rng.random()
    scale = min(errors, 1 / sum(mistaken.values()))
    for lines, share in mistaken.items():
        drawn -= share * scale
        if drawn < 0:
            return lines
    return ()


def _at_rate(line: str, rate: float) -> str:
    """'Sinus rhythm' renamed by rate (bradycardia < 60/min, tachycardia > 100/min); other lines unchanged."""
    if line != "Sinus rhythm" or 60 <= rate <= 100:
        return line
    return "Sinus bradycardia" if rate < 60 else "Sinus tachycardia"


def _finding_line(name: str, diagnoses: tuple[str, ...], rng: np.random.Generator, errors: float) -> str:
    """Line of one finding, '' for none; no false alarm that clashes with the diagnoses."""
    reading = FINDING_READINGS[name]
    error, hedge, which = rng.random(3)
    if name not in diagnoses:
        alleged = error < errors * reading.false_alarm and not any(clash(name, d) for d in diagnoses if d != "NORM")
        return _one_of(reading.hedged, which) if alleged else ""
    if error < errors * reading.missed:
        return _one_of(reading.instead, which)
    return _one_of(reading.hedged if hedge < errors * reading.hedging else reading.wordings, which)


def _one_of(lines: Said, which: float) -> str:
    """The line at the fraction `which`, in [0, 1)."""
    return lines[int(which * len(lines))]
