"""The report that an ECG machine would print of a simulated recording, with the errors of such machines.

Published rates for programs like that of MIMIC-IV-ECG, against cardiologists: fibrillation is missed in 9 % of its
ECGs and seen in 1 % of the others, sinus rhythm is missed in 1 % and read into 10 % of the others (Poon et al. 2005, J.
Electrocardiol. 38:235); missed fibrillation is mostly called sinus or supraventricular tachycardia (Bae et al. 2012,
Clin. Cardiol. 35:348); a third of the statements of flutter are wrong (Lindow et al. 2019, Scand. J. Prim. Health Care
37:426); infarction, bundle branch block and hypertrophy are detected in 74-93 % with 97-99 % specificity (de Bruyne et
al. 1997, J. Clin. Epidemiol. 50:947), hypertrophy against echocardiography in 45 % with 83 % (Devereux et al. 1984,
JACC 3:82). Rates of single findings (machine_reports.csv) are our choice within these bounds or assumed.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.data.simulate.patient import clash

GRADES = ("normal", "borderline", "abnormal")
"""Of the whole ECG, in ascending order."""
SUMMARIES = {"normal": "Normal ECG", "borderline": "Borderline ECG", "abnormal": "Abnormal ECG"}
Lines = tuple[str, ...]
"""Lines of a report."""

RHYTHM_LINES = {
    "SR": ("Sinus rhythm", "normal"),
    "SB": ("Sinus bradycardia", "borderline"),
    "ST": ("Sinus tachycardia", "borderline"),
    "SA": ("Sinus arrhythmia", "borderline"),
    "AFIB": ("Atrial fibrillation", "abnormal"),
    "AFL": ("Atrial flutter", "abnormal"),
    "SVT": ("Supraventricular tachycardia", "abnormal"),
}
"""Rhythm -> its line and grade."""
PAC = ("Sinus rhythm", "PAC(s)")
MISREADINGS: dict[str, dict[Lines, float]] = {
    "SR": {
        ("Sinus arrhythmia",): 0.01,
        ("Atrial fibrillation",): 0.006,
        ("Ectopic atrial rhythm",): 0.006,
        PAC: 0.01,
    },
    "SB": {("Junctional rhythm",): 0.01, ("Ectopic atrial bradycardia",): 0.01},
    "ST": {("Supraventricular tachycardia",): 0.02, ("Atrial flutter",): 0.01},
    "SA": {("Sinus rhythm",): 0.3, PAC: 0.1, ("Atrial fibrillation",): 0.05},
    "AFIB": {
        PAC: 0.042,
        ("Supraventricular tachycardia",): 0.02,
        ("Atrial flutter",): 0.02,
        ("Undetermined rhythm",): 0.01,
    },
    "AFL": {
        ("Atrial fibrillation",): 0.2,
        ("Sinus rhythm",): 0.09,
        ("Supraventricular tachycardia",): 0.08,
        ("Sinus rhythm", "Nonspecific T wave changes"): 0.05,
    },
    "SVT": {("Sinus rhythm",): 0.18, ("Atrial flutter",): 0.05, ("Atrial fibrillation",): 0.04},
}
"""Rhythm -> lines printed instead -> share of its ECGs; 'Sinus rhythm' is renamed by rate."""
REMARKS = {
    "Possible left atrial abnormality": ("borderline", 0.030),
    "Possible right atrial abnormality": ("borderline", 0.010),
    "Prolonged QT interval": ("abnormal", 0.020),
    "Short PR interval": ("borderline", 0.010),
    "Low QRS voltages in precordial leads": ("borderline", 0.010),
    "Generalized low QRS voltages": ("borderline", 0.010),
    "Poor R wave progression - probable normal variant": ("borderline", 0.015),
    "Early R wave progression": ("normal", 0.005),
    "Baseline artifact": ("normal", 0.010),
    "Warning: Data quality may affect interpretation": ("normal", 0.010),
}
"""Line -> grade, and share of all ECGs with it; independent of the simulated findings."""
RAPID_RATE = 110
"""Beats per minute from which fibrillation has a rapid ventricular response."""
RAPID = "Atrial fibrillation with rapid ventricular response"


class FindingReading(NamedTuple):
    """Report lines of a finding and its error rates."""

    grade: str
    missed: float
    """Share of the ECGs with the finding whose report omits it."""
    uncertain: float
    """Share of the mentions that are uncertain."""
    false_alarm: float
    """Share of the ECGs without the finding whose report has an uncertain wording."""
    wordings: Lines
    uncertain_wordings: Lines
    when_missed: Lines
    """Lines, one of which is printed when the finding is missed; '': none."""


def finding_readings(path: Path) -> dict[str, FindingReading]:
    """Read a table with a finding in each row."""
    with open(path, newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    readings = {}
    for name, grade, missed, uncertain, false_alarm, *wordings in rows:
        lines = (tuple(text.split("|")) for text in wordings)
        readings[name] = FindingReading(grade, float(missed), float(uncertain), float(false_alarm), *lines)
    return readings


FINDING_READINGS = finding_readings(Path(__file__).with_name("machine_reports.csv"))
GRADE_OF: dict[str, str] = {
    **{
        line: "borderline"
        for reading in FINDING_READINGS.values()
        for line in (*reading.uncertain_wordings, *reading.when_missed)
    },
    **{line: reading.grade for reading in FINDING_READINGS.values() for line in reading.wordings},
    **{line: grade for line, (grade, _) in REMARKS.items()},
    **dict(RHYTHM_LINES.values()),
    RAPID: "abnormal",
}
"""Line -> grade of the whole ECG; rhythms that are not listed are borderline."""


def machine_report(diagnoses: tuple[str, ...], rate: float, rng: np.random.Generator, errors: float = 1.0) -> list[str]:
    """Draw the report lines of a recording with these diagnoses and so many beats per minute.

    errors: scale of the rates of errors and uncertain wordings: 0 none, 1 as published, larger up to always wrong.
    """
    rhythm = next(name for name in diagnoses if name in RHYTHM_LINES)
    lines = [_at_rate(line, rate) for line in _misread(rhythm, rng, errors)] or [RHYTHM_LINES[rhythm][0]]
    if lines == ["Atrial fibrillation"] and rate > RAPID_RATE:
        lines = [RAPID]
    lines += [_finding_line(name, diagnoses, rng, errors) for name in FINDING_READINGS]
    lines += [line for line, (_, share) in REMARKS.items() if rng.random() < errors * share]
    printed = [line for line in dict.fromkeys(lines) if line]
    return [*printed, SUMMARIES[max((GRADE_OF.get(line, "borderline") for line in printed), key=GRADES.index)]]


def _misread(rhythm: str, rng: np.random.Generator, errors: float) -> Lines:
    """Lines printed instead of the rhythm; () if it is read correctly."""
    misreadings, drawn = MISREADINGS[rhythm], rng.random()
    scale = min(errors, 1 / sum(misreadings.values()))
    for lines, share in misreadings.items():
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
        possible = not any(clash(name, other) for other in diagnoses if other != "NORM")
        lines = reading.uncertain_wordings if possible and error < errors * reading.false_alarm else ("",)
    elif error < errors * reading.missed:
        lines = reading.when_missed
    else:
        lines = reading.uncertain_wordings if hedge < errors * reading.uncertain else reading.wordings
    return lines[int(which * len(lines))]
