"""The report that an ECG machine would print of a simulated recording, with the errors of such machines.

Published rates for programs like that of MIMIC-IV-ECG, against cardiologists: fibrillation is missed in 9 % of its
ECGs and seen in 1 % of the others, sinus rhythm is missed in 1 % and read into 10 % of the others (Poon et al. 2005, J.
Electrocardiol. 38:235); missed fibrillation is mostly called sinus or supraventricular tachycardia (Bae et al. 2012,
Clin. Cardiol. 35:348); a third of the statements of flutter are wrong (Lindow et al. 2019, Scand. J. Prim. Health Care
37:426); infarction, bundle branch block and hypertrophy are detected in 74-93 % with 97-99 % specificity (de Bruyne et
al. 1997, J. Clin. Epidemiol. 50:947), hypertrophy against echocardiography in 45 % with 83 % (Devereux et al. 1984,
JACC 3:82). Rates of single findings (machine_*.csv) are our choice within these bounds or assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmark.data.simulate.heart import rows_of
from benchmark.data.simulate.patient import clash

GRADES = ("normal", "borderline", "abnormal")
"""Of the whole ECG, in ascending order."""
SUMMARIES = {"normal": "Normal ECG", "borderline": "Borderline ECG", "abnormal": "Abnormal ECG"}
Lines = tuple[str, ...]
"""Lines of a report."""

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


class RhythmReading(NamedTuple):
    """Report lines of a rhythm."""

    line: str
    grade: str
    misreadings: Mapping[Lines, float]
    """Lines printed instead -> share of the ECGs with this rhythm; 'Sinus rhythm' is renamed by rate."""


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


def rhythm_reading(line: str, grade: str, misreadings: str) -> RhythmReading:
    """Read a row of machine_rhythms.csv."""
    pairs = (pair.rsplit(": ", 1) for pair in misreadings.split("|"))
    return RhythmReading(line, grade, {tuple(lines.split(" + ")): float(share) for lines, share in pairs})


def finding_reading(grade: str, missed: str, uncertain: str, false_alarm: str, *wordings: str) -> FindingReading:
    """Read a row of machine_findings.csv."""
    lines = (tuple(words.split("|")) for words in wordings)
    return FindingReading(grade, float(missed), float(uncertain), float(false_alarm), *lines)


RHYTHM_READINGS = {
    name: rhythm_reading(*cells) for name, *cells in (row.values() for row in rows_of("machine_rhythms.csv"))
}
FINDING_READINGS = {
    name: finding_reading(*cells) for name, *cells in (row.values() for row in rows_of("machine_findings.csv"))
}
GRADE_OF: dict[str, str] = {
    **{
        line: "borderline"
        for reading in FINDING_READINGS.values()
        for line in (*reading.uncertain_wordings, *reading.when_missed)
    },
    **{line: reading.grade for reading in FINDING_READINGS.values() for line in reading.wordings},
    **{line: grade for line, (grade, _) in REMARKS.items()},
    **{reading.line: reading.grade for reading in RHYTHM_READINGS.values()},
    RAPID: "abnormal",
}
"""Line -> grade of the whole ECG; rhythms that are not listed are borderline."""


def machine_report(diagnoses: tuple[str, ...], rate: float, rng: np.random.Generator, errors: float = 1.0) -> list[str]:
    """Draw the report lines of a recording with these diagnoses and so many beats per minute.

    errors: scale of the rates of errors and uncertain wordings: 0 none, 1 as published, larger up to always wrong.
    """
    rhythm = next(name for name in diagnoses if name in RHYTHM_READINGS)
    lines = [_at_rate(line, rate) for line in _misread(rhythm, rng, errors)] or [RHYTHM_READINGS[rhythm].line]
    if lines == ["Atrial fibrillation"] and rate > RAPID_RATE:
        lines = [RAPID]
    lines += [_finding_line(name, diagnoses, rng, errors) for name in FINDING_READINGS]
    lines += [line for line, (_, share) in REMARKS.items() if rng.random() < errors * share]
    printed = [line for line in dict.fromkeys(lines) if line]
    return [*printed, SUMMARIES[max((GRADE_OF.get(line, "borderline") for line in printed), key=GRADES.index)]]


def _misread(rhythm: str, rng: np.random.Generator, errors: float) -> Lines:
    """Lines printed instead of the rhythm; () if it is read correctly."""
    misreadings, drawn = RHYTHM_READINGS[rhythm].misreadings, rng.random()
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
