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

from numpy.random import Generator

from benchmark.data.datasets.base import rows_beside
from benchmark.data.simulate.patient import clashes

GRADES = ("normal", "borderline", "abnormal")
"""Grades of the whole ECG, in ascending order."""
RAPID_RATE = 110
"""Beats per minute from which fibrillation has a rapid ventricular response."""


READINGS = {row.pop("finding"): row for row in rows_beside(__file__, "machine_findings.csv")}
"""Finding -> shares and lines, of which one is printed; blank: none.

`missed`: share of the ECGs with the finding whose report omits it, for a line of `when_missed`; `uncertain`: share of
the mentions that are uncertain; `false_alarm`: share of the ECGs without the finding with an uncertain wording.
"""
LINE_OF_RHYTHM = {row["rhythm"]: row["line"] for row in rows_beside(__file__, "machine_rhythms.csv")}
MISREADINGS: dict[str, dict[tuple[str, ...], float]] = {}
for row in rows_beside(__file__, "machine_rhythms.csv"):
    for pair in row["printed_instead"].split("|"):
        printed, share = pair.rsplit(": ", 1)
        MISREADINGS.setdefault(row["rhythm"], {})[tuple(printed.split(" + "))] = float(share)
"""Rhythm -> lines printed instead -> share of its ECGs; 'Sinus rhythm' is renamed by rate."""
GRADE_OF = {row["line"]: row["grade"] for row in rows_beside(__file__, "machine_lines.csv")}
"""Line -> grade of the whole ECG; others are borderline."""
REMARKS = {row["line"]: float(row["remark"]) for row in rows_beside(__file__, "machine_lines.csv") if row["remark"]}
"""Line -> share of all ECGs with it, independent of the simulated findings."""


def machine_report(diagnoses: tuple[str, ...], rate: float, rng: Generator, errors: float) -> list[str]:
    """Draw the report lines of a recording with these diagnoses and so many beats per minute.

    errors: scale of the rates of errors and uncertain wordings: 0 none, 1 as published, larger up to always wrong.
    """
    rhythm = next(name for name in diagnoses if name in LINE_OF_RHYTHM)
    lines = [_at_rate(line, rate) for line in _misread(rhythm, rng, errors)] or [LINE_OF_RHYTHM[rhythm]]
    if lines == ["Atrial fibrillation"] and rate > RAPID_RATE:
        lines = ["Atrial fibrillation with rapid ventricular response"]
    lines += [_finding_line(name, diagnoses, rng, errors) for name in READINGS]
    lines += [line for line, share in REMARKS.items() if rng.random() < errors * share]
    printed = [line for line in dict.fromkeys(lines) if line]
    grade = max((GRADE_OF.get(line, "borderline") for line in printed), key=GRADES.index)
    return [*printed, f"{grade.capitalize()} ECG"]


def _misread(rhythm: str, rng: Generator, errors: float) -> tuple[str, ...]:
    """Draw the lines printed instead of the rhythm; () if it is read correctly."""
    misreadings = MISREADINGS[rhythm]
    drawn = rng.random()
    scale = min(errors, 1 / sum(misreadings.values()))
    for lines, share in misreadings.items():
        drawn -= share * scale
        if drawn < 0:
            return lines
    return ()


def _at_rate(line: str, rate: float) -> str:
    """Rename 'Sinus rhythm' by rate (bradycardia < 60/min, tachycardia > 100/min); other lines stay."""
    if line != "Sinus rhythm" or 60 <= rate <= 100:
        return line
    return "Sinus bradycardia" if rate < 60 else "Sinus tachycardia"


def _finding_line(name: str, diagnoses: tuple[str, ...], rng: Generator, errors: float) -> str:
    """Draw the line of one finding, '' for none; no false alarm clashes with the diagnoses."""
    reading = READINGS[name]
    column = "wordings"
    error, hedge, which = rng.random(3)
    if name not in diagnoses:
        is_possible = not clashes(name, [other for other in diagnoses if other != "NORM"])
        if not is_possible or error >= errors * float(reading["false_alarm"]):
            return ""
        column = "uncertain_wordings"
    elif error < errors * float(reading["missed"]):
        column = "when_missed"
    elif hedge < errors * float(reading["uncertain"]):
        column = "uncertain_wordings"
    lines = reading[column].split("|")
    return lines[int(which * len(lines))]
