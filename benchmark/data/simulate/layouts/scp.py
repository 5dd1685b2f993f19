"""SCP-ECG statements of PTB-XL: codes, likelihoods and report words of each diagnosis."""

from __future__ import annotations

import numpy as np

STATEMENT_COLUMNS = (
    *("", "description", "diagnostic", "form", "rhythm", "diagnostic_class", "diagnostic_subclass"),
    *("Statement Category", "SCP-ECG Statement Description", "AHA code", "aECG REFID", "CDISC Code", "DICOM Code"),
)


def _diagnostic(code: str, superclass: str, subclass: str, description: str, *, form: bool = False) -> dict[str, str]:
    return {
        "": code,
        "description": description,
        "diagnostic": "1.0",
        "form": "1.0" if form else "",
        "diagnostic_class": superclass,
        "diagnostic_subclass": subclass,
        "SCP-ECG Statement Description": description,
    }


def _other(code: str, kind: str, description: str) -> dict[str, str]:
    return {"": code, "description": description, kind: "1.0", "SCP-ECG Statement Description": description}


STATEMENTS: tuple[dict[str, str], ...] = (
    _diagnostic("NDT", "STTC", "STTC", "non-diagnostic T abnormalities", form=True),
    _diagnostic("NORM", "NORM", "NORM", "normal ECG"),
    _diagnostic("IMI", "MI", "IMI", "inferior myocardial infarction"),
    _diagnostic("ASMI", "MI", "AMI", "anteroseptal myocardial infarction"),
    _diagnostic("INJAS", "MI", "AMI", "subendocardial injury in anteroseptal leads"),
    _diagnostic("INJIN", "MI", "IMI", "subendocardial injury in inferior leads"),
    _diagnostic("LMI", "MI", "LMI", "lateral myocardial infarction"),
    _diagnostic("RVH", "HYP", "RVH", "right ventricular hypertrophy"),
    _diagnostic("2AVB", "CD", "_AVB", "second degree AV block"),
    _diagnostic("3AVB", "CD", "_AVB", "third degree AV block"),
    _diagnostic("LVH", "HYP", "LVH", "left ventricular hypertrophy"),
    _diagnostic("LAFB", "CD", "LAFB/LPFB", "left anterior fascicular block"),
    _diagnostic("ISCAL", "STTC", "ISCA", "ischemic in anterolateral leads"),
    _diagnostic("1AVB", "CD", "_AVB", "first degree AV block"),
    _diagnostic("CLBBB", "CD", "CLBBB", "complete left bundle branch block"),
    _diagnostic("CRBBB", "CD", "CRBBB", "complete right bundle branch block"),
    _other("PVC", "form", "ventricular premature complex"),
    _other("PAC", "form", "atrial premature complex"),
    _other("STD_", "form", "non-specific ST depression"),
    _other("STE_", "form", "non-specific ST elevation"),
    _other("INVT", "form", "inverted T-waves"),
    _other("SR", "rhythm", "sinus rhythm"),
    _other("AFIB", "rhythm", "atrial fibrillation"),
    _other("STACH", "rhythm", "sinus tachycardia"),
    _other("SARRH", "rhythm", "sinus arrhythmia"),
    _other("SBRAD", "rhythm", "sinus bradycardia"),
    _other("AFLT", "rhythm", "atrial flutter"),
    _other("SVTAC", "rhythm", "supraventricular tachycardia"),
)
"""Rows of scp_statements.csv for the codes in use."""
_SUPERCLASS = {row[""]: row["diagnostic_class"] for row in STATEMENTS if "diagnostic_class" in row}
_LIKELIHOODS, _LIKELIHOOD_SHARES = (100.0, 80.0, 50.0, 35.0), (0.70, 0.15, 0.11, 0.04)

CODES: dict[str, tuple[tuple[str, ...], str]] = {
    "NORM": (("NORM",), "normales ekg"),
    "MI-INF": (("IMI",), "alter inferiorer infarkt"),
    "MI-ANT": (("ASMI",), "alter anteroseptaler infarkt"),
    "MI-LAT": (("LMI",), "alter lateraler infarkt"),
    "RVH": (("RVH",), "rechtshypertrophie"),
    "LVH": (("LVH",), "linkshypertrophie"),
    "LAFB": (("LAFB",), "linksanteriorer hemiblock"),
    "LBBB": (("CLBBB",), "kompletter linksschenkelblock"),
    "RBBB": (("CRBBB",), "kompletter rechtsschenkelblock"),
    "AVB1": (("1AVB",), "av-block i. grades"),
    "AVB2": (("2AVB",), "av-block ii. grades, typ wenckebach"),
    "AVB3": (("3AVB",), "av-block iii. grades"),
    "TWI": (("NDT", "INVT"), "unspezifisch abnormales t"),
    "STD": (("ISCAL", "STD_"), "st-senkung, anterolaterale ischämie möglich"),
    "STE-ANT": (("INJAS", "STE_"), "st-hebung anteroseptal"),
    "STE-INF": (("INJIN", "STE_"), "st-hebung inferior"),
    "PVC": (("PVC",), "ventrikuläre extrasystole(n)"),
    "PAC": (("PAC",), "supraventrikuläre extrasystole(n)"),
    "SR": (("SR",), "sinusrhythmus"),
    "SB": (("SBRAD",), "sinusbradykardie"),
    "ST": (("STACH",), "sinustachykardie"),
    "SA": (("SARRH",), "sinusarrhythmie"),
    "AFIB": (("AFIB",), "vorhofflimmern"),
    "AFL": (("AFLT",), "vorhofflattern"),
    "SVT": (("SVTAC",), "supraventrikuläre tachykardie"),
}
"""Diagnosis -> SCP codes and words of the (mostly German) report."""
_RHYTHM_CODES = {row[""] for row in STATEMENTS if row.get("rhythm")}


def scp_codes(diagnoses: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """SCP code -> likelihood in percent; forms and rhythms have 0 ('not stated'), as in PTB-XL."""
    likelihoods = rng.choice(_LIKELIHOODS, size=len(diagnoses), p=_LIKELIHOOD_SHARES)
    found = {}
    for name, likelihood in zip(diagnoses, likelihoods, strict=True):
        for code in CODES[name][0]:
            found[code] = float(likelihood) if code in _SUPERCLASS else 0.0
    return found


def superclasses(codes: dict[str, float]) -> tuple[str, ...]:
    """Diagnostic superclasses of the codes, each once."""
    return tuple(dict.fromkeys(_SUPERCLASS[code] for code in codes if code in _SUPERCLASS))


def german_report(diagnoses: tuple[str, ...]) -> str:
    """Report text: the rhythm first, then the findings."""
    ordered = sorted(diagnoses, key=lambda name: CODES[name][0][0] not in _RHYTHM_CODES)
    return " ".join(CODES[name][1] for name in ordered)
