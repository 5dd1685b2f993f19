"""SCP-ECG statements of PTB-XL: codes, likelihoods and report words of each diagnosis."""

from __future__ import annotations

import numpy as np

from benchmark.data.readers.scp import SCP_STATEMENTS

STATEMENT_COLUMNS = (
    *("", "description", "diagnostic", "form", "rhythm", "diagnostic_class", "diagnostic_subclass"),
    *("Statement Category", "SCP-ECG Statement Description", "AHA code", "aECG REFID", "CDISC Code", "DICOM Code"),
)


STATEMENTS: tuple[dict[str, str], ...] = tuple(
    {
        "": own.code,
        "description": own.description,
        **{kind: "1.0" for kind in own.kinds.split()},
        "diagnostic_class": own.superclass,
        "diagnostic_subclass": own.subclass,
        "SCP-ECG Statement Description": own.description,
    }
    for own in SCP_STATEMENTS
)
"""Rows of scp_statements.csv."""
_SUPERCLASS = {own.code: own.superclass for own in SCP_STATEMENTS if own.superclass}
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
_RHYTHM_CODES = {own.code for own in SCP_STATEMENTS if own.kinds == "rhythm"}
INSTEAD: dict[str, tuple[tuple[str, float], ...]] = {
    "MI-INF": (("ILMI", 0.12), ("IPMI", 0.03), ("IPLMI", 0.03), ("PMI", 0.03)),
    "MI-ANT": (("AMI", 0.15), ("ALMI", 0.12), ("INJAL", 0.03), ("INJLA", 0.02)),
    "LAFB": (("LPFB", 0.08), ("IVCD", 0.12)),
    "LBBB": (("ILBBB", 0.10), ("IVCD", 0.10), ("WPW", 0.08)),
    "RBBB": (("IRBBB", 0.40), ("IVCD", 0.05)),
    "STD": (
        *(("ISC_", 0.20), ("ISCIN", 0.10), ("ISCIL", 0.08), ("ISCAS", 0.08), ("ISCLA", 0.05), ("ISCAN", 0.04)),
        *(("NST_", 0.15),),
    ),
    "STE-INF": (("INJIL", 0.30),),
    "LVH": (("SEHYP", 0.03),),
    "TWI": (("LNGQT", 0.06), ("DIG", 0.06), ("ANEUR", 0.03), ("EL", 0.03)),
    "SVT": (("PSVT", 0.20), ("SVARR", 0.10)),
}
"""Diagnosis -> codes that stand in place of its first one, and how often; each of the same superclass."""
FURTHER: dict[str, tuple[tuple[str, float], ...]] = {
    **{name: (("QWAVE", 0.30), ("ABQRS", 0.20)) for name in ("MI-INF", "MI-ANT", "MI-LAT")},
    "TWI": (("NT_", 0.30), ("LOWT", 0.25), ("TAB_", 0.06), ("LVOLT", 0.05)),
    "LVH": (("VCLVH", 0.50), ("HVOLT", 0.10), ("LAO/LAE", 0.20)),
    "RVH": (("RAO/RAE", 0.40),),
    **{name: (("ABQRS", 0.20),) for name in ("LBBB", "RBBB")},
    "AVB1": (("LPR", 0.40),),
    "AVB3": (("PACE", 0.50),),
    "PVC": (("BIGU", 0.12), ("TRIGU", 0.08), ("PRC(S)", 0.05)),
    "PAC": (("SVARR", 0.15), ("PRC(S)", 0.05)),
}
"""Diagnosis -> codes that stand beside its own, and how often; those that are diagnostic have its superclass."""


def scp_codes(diagnoses: tuple[str, ...], rng: np.random.Generator) -> dict[str, float]:
    """SCP code -> likelihood in percent; forms and rhythms have 0 ('not stated'), as in PTB-XL.

    Which finer codes stand instead of a diagnosis's own or beside it is drawn from a stream of its own, whatever the
    signal shows: superclasses, folds and all other cells of the tables are those of the diagnoses.
    """
    likelihoods = rng.choice(_LIKELIHOODS, size=len(diagnoses), p=_LIKELIHOOD_SHARES)
    (finer,) = rng.spawn(1)  # takes no number of the recording's stream
    own: dict[str, float] = {}
    beside: dict[str, float] = {}
    for name, likelihood in zip(diagnoses, likelihoods, strict=True):
        (first, *others), instead = CODES[name][0], dict(INSTEAD.get(name, ()))
        drawn = np.searchsorted(np.cumsum(list(instead.values())), finer.random(), side="right")
        for code in ([*instead, first][drawn], *others):
            own[code] = float(likelihood) if code in _SUPERCLASS else 0.0
        for code, share in FURTHER.get(name, ()):
            if finer.random() < share:
                beside[code] = float(likelihood) if code in _SUPERCLASS else 0.0
    return own | {code: likelihood for code, likelihood in beside.items() if code not in own}


def superclasses(codes: dict[str, float]) -> tuple[str, ...]:
    """Diagnostic superclasses of the codes, each once."""
    return tuple(dict.fromkeys(_SUPERCLASS[code] for code in codes if code in _SUPERCLASS))


def german_report(diagnoses: tuple[str, ...]) -> str:
    """Report text: the rhythm first, then the findings."""
    ordered = sorted(diagnoses, key=lambda name: CODES[name][0][0] not in _RHYTHM_CODES)
    return " ".join(CODES[name][1] for name in ordered)
