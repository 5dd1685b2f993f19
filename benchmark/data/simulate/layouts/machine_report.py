"""The lines an ECG machine prints under a recording: rhythm, findings, summary; not always complete."""

from __future__ import annotations

import numpy as np

RHYTHM_LINES: dict[str, str] = {
    "SR": "Sinus rhythm",
    "SB": "Sinus bradycardia",
    "ST": "Sinus tachycardia",
    "SA": "Sinus arrhythmia",
    "AFIB": "Atrial fibrillation",
    "AFL": "Atrial flutter",
    "SVT": "Supraventricular tachycardia",
}
FINDING_LINES: dict[str, tuple[str, ...]] = {
    "LBBB": ("Left bundle branch block",),
    "RBBB": ("Right bundle branch block", "RBBB"),
    "LAFB": ("Left anterior fascicular block", "Left axis deviation"),
    "AVB1": ("Prolonged PR interval", "First degree A-V block"),
    "STD": ("Lateral ST-T changes may be due to myocardial ischemia", "Nonspecific ST depression"),
    "STE-ANT": ("Anterior ST elevation, consider acute injury", "Probable acute anterior infarct"),
    "STE-INF": ("Inferior ST elevation, consider acute injury", "Probable acute inferior infarct"),
    "MI-ANT": ("Anterior infarct - age undetermined", "Possible anteroseptal infarct - age undetermined"),
    "MI-INF": ("Inferior infarct - age undetermined", "Possible inferior infarct - age undetermined"),
    "LVH": ("Left ventricular hypertrophy", "Left ventricular hypertrophy with ST-T changes", "Possible LVH"),
    "TWI": ("Nonspecific T wave changes", "T wave changes are nonspecific"),
    "PAC": ("PAC(s)", "Atrial premature complexes"),
    "PVC": ("PVC(s)", "Ventricular premature complexes"),
}
OMITTED = 0.12
"""Share of findings that the machine overlooks."""
MILD: frozenset[str] = frozenset({"SB", "ST", "SA", "TWI", "PAC", "AVB1"})


def machine_report(diagnoses: tuple[str, ...], rate: float, rng: np.random.Generator) -> list[str]:
    """Report lines of a recording.

    Args:
        diagnoses: what the recording shows.
        rate: beats per minute.
        rng: which wording is used, and what is overlooked.
    """
    rhythm = next(name for name in diagnoses if name in RHYTHM_LINES)
    first = RHYTHM_LINES[rhythm]
    if rhythm == "AFIB" and rate > 110:
        first += " with rapid ventricular response"
    if rhythm in ("SR", "ST") and "PVC" in diagnoses and rng.random() < 0.4:
        first += " with PVC(s)"
    lines, noticed = [first], []
    for name in diagnoses:
        wordings = FINDING_LINES.get(name)
        if wordings is None or rng.random() < OMITTED:
            continue
        noticed.append(name)
        wording = wordings[int(rng.integers(len(wordings)))]
        if name != "PVC" or "PVC" not in first:
            lines.append(wording)
    abnormal = [name for name in (*noticed, rhythm) if name != "SR"]
    if not abnormal:
        return [*lines, "Normal ECG"]
    return [*lines, "Borderline ECG" if all(name in MILD for name in abnormal) else "Abnormal ECG"]
