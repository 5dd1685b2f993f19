"""The report that an ECG machine would print of a simulated recording, with the errors of such machines.

Published rates for programs like that of MIMIC-IV-ECG, against cardiologists: fibrillation is missed in 9 % of its
ECGs and seen in 1 % of the others, sinus rhythm is missed in 1 % and read into 10 % of the others (Poon et al. 2005, J.
Electrocardiol. 38:235); missed fibrillation is mostly called sinus or supraventricular tachycardia (Bae et al. 2012,
Clin. Cardiol. 35:348); a third of the statements of flutter are wrong (Lindow et al. 2019, Scand. J. Prim. Health Care
37:426); infarction, bundle branch block and hypertrophy are found in 74-93 % with 97-99 % specificity (de Bruyne et al.
1997, J. Clin. Epidemiol. 50:947), hypertrophy against echocardiography in 45 % with 83 % (Devereux et al. 1984, JACC
3:82). Rates of single findings are our choice within these bounds or, without a study, assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benchmark.data.simulate.patient import clash

NORMAL, BORDERLINE, ABNORMAL = range(3)
"""Grades of the whole ECG that a line implies."""
GRADE_OF = {"normal": NORMAL, "borderline": BORDERLINE, "abnormal": ABNORMAL}
Lines = tuple[str, ...]
"""Lines of a report."""


class RhythmReading(NamedTuple):
    """Report lines of a rhythm and its misreadings."""

    line: str
    grade: int
    mistaken: Mapping[Lines, float]
    """Lines printed instead -> share of the ECGs with this rhythm; 'Sinus rhythm' is renamed by rate."""


class FindingReading(NamedTuple):
    """Report lines of a finding and its error rates."""

    grade: int
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


def rhythm_readings(table: str) -> dict[str, RhythmReading]:
    """Read a table: 'rhythm | grade | line', then what is printed instead, with its share."""
    heads, misreadings = (table.splitlines()[start::2] for start in range(2))
    readings = {}
    for head, misread in zip(heads, misreadings, strict=True):
        name, grade, line = head.split(" | ")
        shares = (pair.strip().rsplit(" ", 1) for pair in misread.split(", "))
        mistaken = {tuple(lines.split(" + ")): float(share) for lines, share in shares}
        readings[name] = RhythmReading(line, GRADE_OF[grade], mistaken)
    return readings


def finding_readings(table: str) -> dict[str, FindingReading]:
    """Read a table: 'finding | grade | missed uncertain false_alarm', then a line of each kind of wordings.

    These are certain, uncertain, and printed when the finding is missed, where '-' is no line.
    """
    readings = {}
    for head, *wordings in zip(*(table.splitlines()[start::4] for start in range(4)), strict=True):
        name, grade, rates = head.split(" | ")
        missed, uncertain, false_alarm = map(float, rates.split())
        lines = (tuple("" if line == "-" else line for line in row.strip().split("; ")) for row in wordings)
        readings[name] = FindingReading(GRADE_OF[grade], missed, uncertain, false_alarm, *lines)
    return readings


RHYTHM_READINGS: Mapping[str, RhythmReading] = rhythm_readings("""\
SR | normal | Sinus rhythm
    Sinus arrhythmia 0.01, Atrial fibrillation 0.006, Ectopic atrial rhythm 0.006, Sinus rhythm + PAC(s) 0.01
SB | borderline | Sinus bradycardia
    Junctional rhythm 0.01, Ectopic atrial bradycardia 0.01
ST | borderline | Sinus tachycardia
    Supraventricular tachycardia 0.02, Atrial flutter 0.01
SA | borderline | Sinus arrhythmia
    Sinus rhythm 0.3, Sinus rhythm + PAC(s) 0.1, Atrial fibrillation 0.05
AFIB | abnormal | Atrial fibrillation
    Sinus rhythm + PAC(s) 0.042, Supraventricular tachycardia 0.02, Atrial flutter 0.02, Undetermined rhythm 0.01
AFL | abnormal | Atrial flutter
    Atrial fibrillation 0.2, Sinus rhythm 0.09, Supraventricular tachycardia 0.08, \
    Sinus rhythm + Nonspecific T wave changes 0.05
SVT | abnormal | Supraventricular tachycardia
    Sinus rhythm 0.18, Atrial flutter 0.05, Atrial fibrillation 0.04
""")
FINDING_READINGS: Mapping[str, FindingReading] = finding_readings("""\
LBBB | abnormal | 0.07 0.05 0.002
    Left bundle branch block
    Incomplete left bundle branch block
    IV conduction defect; Left ventricular hypertrophy with ST-T changes
RBBB | abnormal | 0.08 0.06 0.02
    Right bundle branch block; RBBB
    Incomplete right bundle branch block; rSr'(V1) - probable normal variant
    IV conduction defect
LAFB | borderline | 0.1 0.45 0.03
    Left anterior fascicular block
    Left axis deviation; Leftward axis
    -; Poor R wave progression - probable normal variant
AVB1 | borderline | 0.1 0.15 0.01
    Prolonged PR interval; First degree A-V block
    Borderline first degree A-V block
    -
AVB2 | abnormal | 0.4 0.2 0.001
    Second degree A-V block, Mobitz I (Wenckebach)
    Possible second degree A-V block
    -; PAC(s); Sinus pause
AVB3 | abnormal | 0.25 0.15 0.0005
    Complete heart block
    Possible complete heart block
    Junctional rhythm; Junctional escape beats
STD | abnormal | 0.2 0.4 0.015
    Lateral ST-T changes may be due to myocardial ischemia; Inferior/lateral ST-T changes
    Nonspecific ST depression; Possible lateral ischemia
    Nonspecific ST-T changes; -
STE-ANT | abnormal | 0.22 0.3 0.008
    Anterior ST elevation, consider acute injury; Probable acute anterior infarct
    ST elevation, probable early repolarization; Possible anterior injury
    Nonspecific ST-T changes; -
STE-INF | abnormal | 0.22 0.3 0.003
    Inferior ST elevation, consider acute injury; Probable acute inferior infarct
    Inferior ST elevation, age undetermined; Possible inferior injury
    Nonspecific ST-T changes; -
MI-ANT | abnormal | 0.25 0.35 0.025
    Anterior infarct - age undetermined; Anteroseptal infarct - age undetermined
    Possible anteroseptal infarct - age undetermined; Consider anterior infarct
    Poor R wave progression - probable normal variant; -
MI-INF | abnormal | 0.33 0.35 0.02
    Inferior infarct - age undetermined
    Possible inferior infarct - age undetermined; Consider inferior infarct
    -; Inferior T wave changes are nonspecific
MI-LAT | abnormal | 0.35 0.35 0.008
    Lateral infarct - age undetermined
    Possible lateral infarct - age undetermined; Consider lateral infarct
    -; Lateral T wave changes are nonspecific
LVH | abnormal | 0.42 0.3 0.03
    Left ventricular hypertrophy; Left ventricular hypertrophy with ST-T changes
    Possible left ventricular hypertrophy; LVH by voltage only - may be normal variant
    Nonspecific ST-T changes; -; -
RVH | abnormal | 0.55 0.4 0.003
    Right ventricular hypertrophy
    Possible right ventricular hypertrophy; Consider right ventricular hypertrophy
    Right axis deviation; -
TWI | borderline | 0.15 0.2 0.03
    T wave changes are nonspecific; Nonspecific T wave changes
    Borderline T wave abnormalities
    -; Nonspecific ST-T changes
PAC | borderline | 0.2 0.05 0.008
    PAC(s); Atrial premature complexes
    Possible PAC(s)
    -; Sinus arrhythmia
PVC | borderline | 0.08 0.05 0.004
    PVC(s); Ventricular premature complexes
    Aberrant complexes
    -
""")

REMARKS: Mapping[str, tuple[int, float]] = {
    "Possible left atrial abnormality": (BORDERLINE, 0.030),
    "Possible right atrial abnormality": (BORDERLINE, 0.010),
    "Prolonged QT interval": (ABNORMAL, 0.020),
    "Short PR interval": (BORDERLINE, 0.010),
    "Low QRS voltages in precordial leads": (BORDERLINE, 0.010),
    "Generalized low QRS voltages": (BORDERLINE, 0.010),
    "Poor R wave progression - probable normal variant": (BORDERLINE, 0.015),
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
    **{
        line: BORDERLINE
        for reading in FINDING_READINGS.values()
        for line in (*reading.uncertain_wordings, *reading.when_missed)
    },
    **{line: reading.grade for reading in FINDING_READINGS.values() for line in reading.wordings},
    **{line: grade for line, (grade, _) in REMARKS.items()},
    **{reading.line: reading.grade for reading in RHYTHM_READINGS.values()},
    RAPID: ABNORMAL,
}
"""Line -> grade of the whole ECG; unlisted rhythms are borderline."""


def machine_report(diagnoses: tuple[str, ...], rate: float, rng: np.random.Generator, errors: float = 1.0) -> list[str]:
    """Draw the report lines of a recording.

    Args:
        diagnoses: what the recording shows.
        rate: beats per minute.
        rng: draws wordings and errors.
        errors: scale of the rates of errors and uncertain wordings: 0 none, 1 as published, larger up to always wrong.
    """
    rhythm = next(name for name in diagnoses if name in RHYTHM_READINGS)
    lines = [_at_rate(line, rate) for line in _misread(rhythm, rng, errors)] or [RHYTHM_READINGS[rhythm].line]
    if lines == ["Atrial fibrillation"] and rate > RAPID_RATE:
        lines = [RAPID]
    lines += [_finding_line(name, diagnoses, rng, errors) for name in FINDING_READINGS]
    lines += [line for line, (_, share) in REMARKS.items() if rng.random() < errors * share]
    printed = [line for line in dict.fromkeys(lines) if line]
    return [*printed, SUMMARIES[max(GRADES.get(line, BORDERLINE) for line in printed)]]


def _misread(rhythm: str, rng: np.random.Generator, errors: float) -> Lines:
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
        false_alarm = error < errors * reading.false_alarm and not any(clash(name, d) for d in diagnoses if d != "NORM")
        return _one_of(reading.uncertain_wordings, which) if false_alarm else ""
    if error < errors * reading.missed:
        return _one_of(reading.when_missed, which)
    return _one_of(reading.uncertain_wordings if hedge < errors * reading.uncertain else reading.wordings, which)


def _one_of(lines: Lines, which: float) -> str:
    """The line at the fraction `which`, in [0, 1)."""
    return lines[int(which * len(lines))]
