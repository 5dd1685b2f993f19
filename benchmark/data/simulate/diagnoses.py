"""The diagnoses that can be simulated, and which of them exclude each other in one ECG."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

RHYTHMS: tuple[str, ...] = ("SR", "SB", "ST", "SA", "AFIB", "AFL", "SVT")
"""The rhythms; a recording has exactly one."""
SINUS_RHYTHMS: tuple[str, ...] = ("SR", "SB", "ST", "SA")

DIAGNOSES: Mapping[str, str] = MappingProxyType(
    {
        "NORM": "normal ECG",
        "SR": "sinus rhythm, 60-99 beats a minute",
        "SB": "sinus bradycardia, below 60 a minute",
        "ST": "sinus tachycardia, above 100 a minute",
        "SA": "sinus arrhythmia: the rate follows the breath",
        "AFIB": "atrial fibrillation: no P waves, irregular RR intervals, f-waves strongest in V1",
        "AFL": "atrial flutter: sawtooth at 240-320 a minute, conducted 2:1 to 4:1",
        "SVT": "supraventricular tachycardia: regular, narrow, 150-210 a minute, P hidden behind QRS",
        "LBBB": "left bundle branch block: broad notched R in I, aVL, V5, V6, discordant ST and T",
        "RBBB": "right bundle branch block: rsR' in V1, broad S in I and V6",
        "LAFB": "left anterior fascicular block: left axis, qR in aVL, rS in II, III, aVF",
        "AVB1": "first-degree AV block: PR above 210 ms",
        "AVB2": "second-degree AV block, Wenckebach: PR grows from beat to beat until one P is not conducted",
        "AVB3": "third-degree AV block: P waves and a slow junctional rhythm, each at its own rate",
        "STD": "horizontal ST depression in II and V4-V6",
        "STE-ANT": "anterior ST elevation in V1-V4, reciprocal depression in III",
        "STE-INF": "inferior ST elevation in II, III, aVF, reciprocal depression in aVL",
        "MI-ANT": "old anterior infarction: QS or lost R in V1-V4",
        "MI-INF": "old inferior infarction: broad Q in II, III, aVF",
        "MI-LAT": "old lateral infarction: broad Q in I, aVL, V5, V6, small R beside it",
        "LVH": "left ventricular hypertrophy: tall R in V5 and V6, deep S in V1 and V2, strain",
        "RVH": "right ventricular hypertrophy: right axis, tall R in V1, deep S in I and V6, strain in V1-V3",
        "TWI": "flat or inverted T waves",
        "PAC": "premature atrial beats",
        "PVC": "premature ventricular beats",
    }
)

_INFARCTIONS = frozenset({"MI-ANT", "MI-INF", "MI-LAT"})
_SHIFTS = frozenset({"STD", "STE-ANT", "STE-INF"})
_CLASHES: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"LBBB"}), frozenset({"RBBB", "LAFB", "LVH", "RVH", "TWI"}) | _INFARCTIONS | _SHIFTS),
    (_SHIFTS, _SHIFTS | {"TWI"}),
    (frozenset({"STE-ANT", "STE-INF"}), frozenset({"LVH", "RVH"})),
    (frozenset({"MI-INF"}), frozenset({"LAFB", "STE-INF"})),
    (frozenset({"MI-ANT"}), frozenset({"LVH", "STE-ANT"})),
    (frozenset({"MI-LAT"}), frozenset({"LVH"})),
    (frozenset({"RVH"}), frozenset({"LVH", "RBBB", "LAFB", "MI-ANT", "MI-LAT", "TWI"})),
    (frozenset({"AFIB", "AFL", "SVT"}), frozenset({"AVB1", "AVB2", "AVB3", "PAC"})),
    (frozenset({"SVT", "AFL"}), frozenset({"PVC"})),
    (frozenset({"AVB2", "AVB3"}), frozenset({"SB", "SA", "AVB1", "AVB2", "AVB3", "PAC", "PVC"})),
)
"""Groups of findings that one ECG cannot show together, or not legibly."""


def clash(one: str, other: str) -> bool:
    """Whether two different diagnoses exclude each other in one ECG."""
    if one in RHYTHMS and other in RHYTHMS:
        return True
    if "NORM" in (one, other):
        return ({one, other} - {"NORM"}).pop() not in SINUS_RHYTHMS
    return any((one in a and other in b) or (other in a and one in b) for a, b in _CLASHES)


def check_diagnoses(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, if one ECG can show them all.

    Raises:
        ValueError: an unknown name, a name given twice, or two that clash.
    """
    for place, name in enumerate(names):
        if name not in DIAGNOSES:
            near = difflib.get_close_matches(name.upper(), DIAGNOSES, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"unknown diagnosis {name!r}: {hint}known are {', '.join(DIAGNOSES)}")
        for earlier in names[:place]:
            if earlier == name or clash(earlier, name):
                raise ValueError(f"diagnoses {earlier!r} and {name!r} cannot stand in one ECG: drop one of them")
    return names
