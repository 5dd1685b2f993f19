"""Machine report of a recording: rhythm, findings, remarks and summary, with errors.

Wordings and error rates are the tables of `machine_errors`, scaled by `errors`. The summary follows from the lines.
"""

from __future__ import annotations

import numpy as np

from benchmark.data.simulate.diagnoses import clash
from benchmark.data.simulate.layouts.machine_errors import (
    ABNORMAL,
    BORDERLINE,
    FINDING_READINGS,
    NORMAL,
    REMARKS,
    RHYTHM_READINGS,
    Said,
)

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
