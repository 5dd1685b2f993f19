"""A simulated patient: anatomy, diagnoses, and how each diagnosis changes the heart.

Conduction and structure persist over a patient's recordings; rhythm, ischaemia and premature beats are episodic. A
change is applied to the healthy heart in body axes, before the rotation of the patient's anatomy, so that a finding
shows in its diagnostic leads: criteria of Surawicz et al. 2009 (JACC 53:976, conduction), Hancock et al. 2009 (JACC
53:992, hypertrophy), Thygesen et al. 2018 (Circulation 138:e618, ST segments and Q waves). Infarctions, shifts of ST
and the anterior fascicle's block are additive, so that they combine.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.data.simulate.heart import (
    ATRIAL,
    HEALTHY,
    SINUS,
    VENTRICULAR,
    Floats,
    Heart,
    Wave,
    interpolate,
    rotation,
    scaled,
    vector,
    with_waves,
    without_atrial_waves,
)

RHYTHMS: tuple[str, ...] = ("SR", "SB", "ST", "SA", "AFIB", "AFL", "SVT")
"""The rhythms; a recording has exactly one."""
SINUS_RHYTHMS: tuple[str, ...] = ("SR", "SB", "ST", "SA")


class Diagnosis(NamedTuple):
    """A row of diagnoses.csv."""

    description: str
    scp: str
    """SCP codes in PTB-XL."""
    german: str
    """Words of the (mostly German) report of PTB-XL."""
    snomed: str
    """Code of Chapman's and Ningbo's headers; '' for none."""
    cpsc2018: str
    """Class of CPSC2018; '' for none."""


def rows_of(name: str) -> list[list[str]]:
    """Read the rows of a table beside this file."""
    with open(Path(__file__).with_name(name), newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


DIAGNOSES = {name: Diagnosis(*cells) for name, *cells in rows_of("diagnoses.csv")}

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
    """Tell whether two different diagnoses exclude each other in one ECG."""
    if one in RHYTHMS and other in RHYTHMS:
        return True
    if "NORM" in (one, other):
        return ({one, other} - {"NORM"}).pop() not in SINUS_RHYTHMS
    return any((one in a and other in b) or (other in a and one in b) for a, b in _CLASHES)


def check_diagnoses(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names. Raises ValueError for an unknown name, a name given twice, or two that clash."""
    if unknown := [name for name in names if name not in DIAGNOSES]:
        raise ValueError(f"unknown diagnosis {unknown[0]!r}: known are {', '.join(DIAGNOSES)}")
    for one, other in combinations(names, 2):
        if one == other or clash(one, other):
            raise ValueError(f"diagnoses {one!r} and {other!r} cannot stand in one ECG: drop one of them")
    return names


HEART_ANGLES = vector(6.0, 9.0, 14.0)
"""Standard deviation of the heart's rotation about the x, y and z axes, degrees."""
WOMEN_VOLTAGE, WOMEN_JT = 0.92, 1.04
"""Factors of QRS voltage and JT interval in women."""

CONDUCTION = np.ones((3, 8))
CONDUCTION[0] = [1.0, 1.0, 1.1, 0.6, 0.45, 0.6, 0.75, 0.9]
"""Gain of I, II, V1-V6 for atria, QRS and repolarisation; the atria lie behind V1, too near for a far dipole."""

PVC_FOCI: tuple[Floats, ...] = (vector(0.25, 1.25, 0.75), vector(-0.75, -0.70, -1.05), vector(1.05, -0.55, 1.00))
"""QRS direction of ventricular beats from the right outflow tract, the left ventricle's base, and the apex."""


@dataclass(frozen=True)
class Anatomy:
    """Anatomy of one patient."""

    heart: Heart
    """Without any disease."""
    position: Floats  # (3, 3) rotation of the ventricles' dipole
    atrial_position: Floats  # (3, 3)
    across: Floats  # (6,) mean displacement of the chest electrodes, as in `dipole.lead_vectors`
    down: Floats  # (6,)
    conduction: Floats  # (3, 8) factor of a lead for atria, QRS and repolarisation (correction of the far-dipole model)
    resting_rate: float
    """Beats per minute."""
    severity: Mapping[str, float]
    """Diagnosis -> severity in this patient; 1 is typical."""
    ectopic_focus: Mapping[str, Wave]
    """Waves of the patient's premature ventricular beats."""


def draw_anatomy(rng: np.random.Generator, *, woman: bool, variation: float = 1.0) -> Anatomy:
    """Draw a patient's anatomy. `variation` scales the differences between patients (1: realistic, 0: none)."""
    turned = HEART_ANGLES * _normal(rng, 3) * variation  # (3,)
    trunk = 0.28 * _normal(rng, 2) * variation  # (2,) the row of electrodes as a whole
    return Anatomy(
        heart=_draw_heart(rng, woman, variation),
        position=rotation(turned),
        atrial_position=rotation(0.5 * turned + 6.0 * _normal(rng, 3) * variation),
        across=0.5 * trunk[0] + 0.12 * variation * _normal(rng, 6),
        down=trunk[1] + 0.15 * variation * _normal(rng, 6),
        conduction=CONDUCTION * np.exp(0.09 * variation * _normal(rng, (3, 8))),
        resting_rate=float(73 + 8 * variation * _normal(rng)),
        severity={name: float(rng.uniform(0.7, 1.35)) for name in DIAGNOSES},
        ectopic_focus=_draw_focus(rng),
    )


def _normal(rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Floats:
    """Standard normal, clipped at two standard deviations, since extremes are left to the diagnoses."""
    return np.minimum(np.maximum(rng.standard_normal(size), -2.0), 2.0)  # faster than np.clip on a few numbers


def _draw_heart(rng: np.random.Generator, woman: bool, variation: float) -> Heart:
    voltage = float(np.exp(0.16 * variation * _normal(rng))) * (WOMEN_VOLTAGE**variation if woman else 1.0)
    slow = float(np.exp(0.06 * variation * _normal(rng)))
    jt = float(np.exp(0.055 * variation * _normal(rng))) * (WOMEN_JT**variation if woman else 1.0)
    pace = {"P": 1.0, "R": slow, "J": jt}
    waves = {name: _personal(rng, wave, pace[wave.clock], voltage, variation) for name, wave in HEALTHY.waves.items()}
    notch = 0.09 * voltage * variation * _normal(rng, 3)  # (3,)
    waves["notch"] = Wave("R", float(rng.uniform(-0.018, 0.028)), 0.005, 0.005, notch)
    pr = HEALTHY.pr + 0.015 * variation * float(_normal(rng))
    return Heart(waves=waves, pr=pr, onset=HEALTHY.onset * slow, j_point=HEALTHY.j_point * slow)


def _personal(rng: np.random.Generator, wave: Wave, pace: float, voltage: float, variation: float) -> Wave:
    size = float(np.linalg.norm(wave.dipole))
    bent = wave.dipole + 0.11 * size * variation * _normal(rng, 3)  # (3,)
    height = voltage * float(np.exp(0.15 * variation * _normal(rng)))
    rise, fall = np.exp(0.10 * variation * _normal(rng, 2))
    if wave.clock == "J":
        rise, fall = rise * rise, fall**0.5
    return wave._replace(
        centre=wave.centre * pace, rise=wave.rise * pace * rise, fall=wave.fall * pace * fall, dipole=height * bent
    )


def _draw_focus(rng: np.random.Generator) -> dict[str, Wave]:
    direction = PVC_FOCI[rng.integers(len(PVC_FOCI))] * np.exp(0.2 * _normal(rng)) + 0.2 * _normal(rng, 3)  # (3,)
    turned = direction + 0.35 * float(np.linalg.norm(direction)) * 0.5 * _normal(rng, 3)  # (3,)
    slow = float(rng.uniform(0.9, 1.15))
    only = (VENTRICULAR,)
    return {
        "pvc_early": Wave("R", -0.004, 0.020 * slow, 0.022 * slow, direction, beats=only),
        "pvc_late": Wave("R", 0.048 * slow, 0.022 * slow, 0.024 * slow, 0.6 * turned, beats=only),
        "pvc_st": Wave("J", 0.110, 0.060, 0.080, -0.15 * direction, beats=only),
        "pvc_t": Wave("J", 0.265, 0.060, 0.045, -0.42 * direction, beats=only),
    }


EPISODIC: frozenset[str] = frozenset({"AFIB", "AFL", "SVT", "STD", "STE-ANT", "STE-INF", "PAC", "PVC"})
RECURRENCE = 0.65
"""Probability that an episodic condition shows in a later recording; the first shows all conditions."""
MOST_CONDITIONS = 3


@dataclass(frozen=True)
class Population:
    """Prevalences in a cohort; each mapping's values are relative shares."""

    conditions: Mapping[str, float]
    """Leading condition of a patient; NORM: none."""
    companion: float
    """Probability that a patient with a condition has a further one, drawn from the same shares."""
    rhythms: Mapping[str, float]
    """Rhythm of a recording, unless a condition sets it."""
    affinities: Mapping[tuple[str, str], float]
    """(leading condition, further one) -> factor of the further one's share."""


def draw_person(rng: np.random.Generator, population: Population, variation: float) -> Anatomy:
    """Draw the anatomy of a patient of the population, after the conditions; `variation` as in `draw_anatomy`."""
    draw_conditions(rng, population)
    woman = bool(rng.integers(2))
    rng.standard_normal()  # of an age, which no signal shows
    return draw_anatomy(rng, woman=woman, variation=variation)


def draw_diagnoses(
    rng: np.random.Generator, conditions: tuple[str, ...], population: Population, *, first: bool
) -> tuple[str, ...]:
    """Draw the diagnoses of a recording: conditions first (NORM without any), and exactly one rhythm.

    `first`: the patient's first recording, which shows all conditions.
    """
    seen = rng.random(len(conditions)) < RECURRENCE
    shown = [name for name, again in zip(conditions, seen, strict=True) if first or again or name not in EPISODIC]
    if not any(name in RHYTHMS for name in shown):
        possible = {
            rhythm: share for rhythm, share in population.rhythms.items() if not any(clash(rhythm, s) for s in shown)
        }
        shown.append(choose(rng, possible))
    healthy = len(shown) == 1 and shown[0] in SINUS_RHYTHMS
    return ("NORM", *shown) if healthy else tuple(shown)


def choose(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    """Draw one of the names, with probability proportional to its share."""
    weights = np.array(list(shares.values()))
    return list(shares)[int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))]


def draw_conditions(rng: np.random.Generator, population: Population) -> tuple[str, ...]:
    """Draw the conditions of a patient, the leading one first; none of a healthy one."""
    leading = choose(rng, population.conditions)
    if leading == "NORM":
        return ()
    conditions = [leading]
    while len(conditions) < MOST_CONDITIONS and rng.random() < population.companion:
        possible = {
            name: share * population.affinities.get((leading, name), 1.0)
            for name, share in population.conditions.items()
            if name not in ("NORM", *conditions) and not any(clash(name, other) for other in conditions)
        }
        if not possible:
            break
        conditions.append(choose(rng, possible))
    return tuple(conditions)


def _lbbb(heart: Heart, severity: float) -> Heart:
    wall, slow = heart.waves["wall"], 0.85 + 0.15 * severity
    first = wall._replace(centre=-0.012 * slow, rise=0.017 * slow, fall=0.019 * slow)
    second = wall._replace(centre=0.030 * slow, rise=0.019 * slow, fall=0.017 * slow)
    late = wall._replace(centre=0.056 * slow, rise=0.014 * slow, fall=0.013 * slow)
    changed = with_waves(
        heart,
        septum=Wave("R", -0.036 * slow, 0.010, 0.010, vector(0.16, 0.10, 0.02)),
        wall=scaled(first, vector(0.70, 0.40, 2.6)),
        wall_2=scaled(second, vector(0.74, 0.33, 3.0)),
        base=scaled(late, vector(0.30, 0.05, 1.2)),
        notch=None,
        st=Wave("J", 0.060, 0.050, 0.080, vector(-0.10, -0.05, -0.15)),
        t=heart.waves["t"]._replace(dipole=vector(-0.34, -0.14, -0.40)),
    )
    return replace(changed, onset=-0.057 * slow, j_point=0.086 * slow)


def _rbbb(heart: Heart, severity: float) -> Heart:
    late = Wave("R", 0.058, 0.015, 0.017, vector(-0.56, -0.06, -0.50) * (0.6 + 0.4 * severity))
    t = heart.waves["t"]
    changed = with_waves(
        heart,
        base=scaled(heart.waves["base"], vector(0.8, 1.0, 0.35)),
        right_wall=late,
        t=t._replace(dipole=t.dipole + vector(0.02, 0.0, 0.26)),
    )
    return replace(changed, j_point=0.096)


def _lafb(heart: Heart, severity: float) -> Heart:
    septum, wall, base = heart.waves["septum"], heart.waves["wall"], heart.waves["base"]
    changed = with_waves(
        heart,
        septum=septum._replace(dipole=septum.dipole + vector(-0.02, 0.33, 0.07)),
        wall=wall._replace(centre=0.004, rise=0.012, fall=0.013, dipole=wall.dipole * vector(0.95, -0.80, 1.2)),
        base=base._replace(centre=0.030, dipole=base.dipole + vector(0.0, -0.25 * severity, 0.0)),
    )
    return replace(changed, onset=-0.044, j_point=0.060)


def _first_degree_block(heart: Heart, severity: float) -> Heart:
    return replace(heart, pr=0.17 + 0.09 * severity)


def _st_depression(heart: Heart, severity: float) -> Heart:
    plateau = Wave("J", 0.085, 0.105, 0.085, vector(-0.17, -0.12, 0.03) * severity, order=4)
    return with_waves(heart, st_shift=plateau, t=scaled(heart.waves["t"], 0.6))


def _st_elevation(heart: Heart, severity: float, shift: Floats, t_factor: Floats) -> Heart:
    plateau = Wave("J", 0.100, 0.120, 0.090, shift * severity, order=4)
    return with_waves(heart, st_shift=plateau, t=scaled(heart.waves["t"], t_factor))


def _old_anterior_infarction(heart: Heart, severity: float) -> Heart:
    septum, wall, t = heart.waves["septum"], heart.waves["wall"], heart.waves["t"]
    inverted = 0.95 * max(0.0, severity - 0.85)
    lost = vector(0.12, 0.09, 0.66 + 0.15 * severity)
    return with_waves(
        heart,
        septum=septum._replace(centre=-0.014, rise=0.014, fall=0.014, dipole=septum.dipole + lost),
        wall=wall._replace(dipole=wall.dipole * vector(0.75, 0.95, 1.0) + vector(0.0, 0.0, 0.22)),
        t=t._replace(dipole=t.dipole + vector(-0.4 * inverted, 0.0, inverted)),
    )


def _old_infarction(heart: Heart, severity: float, lost: Floats, wall_factor: Floats, inversion: Floats) -> Heart:
    """Broad Q waves, a smaller wall, and T waves inverted from a severity on."""
    septum, wall, t = heart.waves["septum"], heart.waves["wall"], heart.waves["t"]
    changed = with_waves(
        heart,
        septum=septum._replace(centre=-0.024, rise=0.0115, fall=0.0115, dipole=septum.dipole + lost),
        wall=wall._replace(centre=0.006, dipole=wall.dipole * wall_factor),
        t=t._replace(dipole=t.dipole + inversion * (0.9 * max(0.0, severity - 0.85))),
    )
    return replace(changed, onset=-0.050)


def _old_inferior_infarction(heart: Heart, severity: float) -> Heart:
    lost = vector(0.08, -0.37 - 0.15 * severity, 0.06)
    return _old_infarction(heart, severity, lost, vector(1.0, 0.75, 1.0), vector(0.0, -1.0, -0.1))


def _old_lateral_infarction(heart: Heart, severity: float) -> Heart:
    lost = vector(-0.28 - 0.13 * severity, 0.12, 0.08)
    return _old_infarction(heart, severity, lost, vector(0.72, 1.0, 0.9), vector(-1.0, 0.1, 0.0))


def _lv_hypertrophy(heart: Heart, severity: float) -> Heart:
    wall, strain = heart.waves["wall"], min(1.0, max(0.0, 2.2 * (severity - 0.75)))
    t, broad = heart.waves["t"], 1.25
    larger = wall.dipole * (vector(1.60, 0.85, 1.70) + 0.5 * severity) + vector(0.0, 0.0, 0.25)
    changed = with_waves(
        heart,
        wall=wall._replace(rise=broad * wall.rise, fall=broad * wall.fall, dipole=larger),
        base=scaled(heart.waves["base"], 1.2),
        st=Wave("J", 0.080, 0.070, 0.080, vector(-0.13, -0.06, 0.06) * strain),
        t=t._replace(dipole=(1 - strain) * t.dipole + strain * vector(-0.32, -0.14, -0.20)),
    )
    return replace(changed, onset=-0.045, j_point=0.052)


def _rv_hypertrophy(heart: Heart, severity: float) -> Heart:
    wall, t = heart.waves["wall"], heart.waves["t"]
    to_the_right = wall.dipole * vector(0.45, 1.0, 0.2) + vector(-0.14, 0.05, -0.55 - 0.42 * severity)
    late = Wave("R", 0.030, 0.010, 0.012, vector(-0.35, 0.02, -0.06) * (0.6 + 0.4 * severity))
    strain = min(1.0, max(0.0, 1.6 * (severity - 0.6)))
    return with_waves(
        heart,
        wall=wall._replace(dipole=to_the_right),
        base=scaled(heart.waves["base"], vector(1.0, 1.0, 0.25)),
        right_wall=late,
        st_strain=Wave("J", 0.080, 0.070, 0.080, vector(0.02, -0.05, 0.08) * strain),
        t=t._replace(dipole=t.dipole + vector(0.0, -0.14, 0.40) * strain),
    )


def _t_inversion(heart: Heart, severity: float) -> Heart:
    return with_waves(heart, st=None, t=scaled(heart.waves["t"], 0.35 - 0.75 * severity))


def _premature_atrial(heart: Heart) -> Heart:
    focus = Wave("P", 0.045, 0.020, 0.022, vector(-0.06, 0.10, -0.06), beats=(ATRIAL,))
    return with_waves(heart, p_ectopic=focus)


def _supraventricular_tachycardia(heart: Heart) -> Heart:
    retrograde = Wave("J", 0.055, 0.020, 0.020, vector(0.02, -0.09, 0.03), beats=(SINUS,))
    return with_waves(without_atrial_waves(heart), p_retrograde=retrograde)


_SHAPES: Mapping[str, Callable[[Heart, float], Heart]] = {
    "TWI": _t_inversion,
    "LVH": _lv_hypertrophy,
    "RVH": _rv_hypertrophy,
    "MI-ANT": _old_anterior_infarction,
    "MI-INF": _old_inferior_infarction,
    "MI-LAT": _old_lateral_infarction,
    "LAFB": _lafb,
    "LBBB": _lbbb,
    "RBBB": _rbbb,
    "STD": _st_depression,
    "STE-ANT": partial(_st_elevation, shift=vector(0.08, -0.10, -0.17), t_factor=vector(1.1, 0.7, 2.0)),
    "STE-INF": partial(_st_elevation, shift=vector(-0.06, 0.22, 0.05), t_factor=vector(0.7, 1.6, 0.5)),
    "AVB1": _first_degree_block,
}
"""Changes of graded severity, in the order in which several are applied."""

_ATRIA: Mapping[str, Callable[[Heart], Heart]] = {
    "PAC": _premature_atrial,
    "AFIB": without_atrial_waves,
    "AFL": without_atrial_waves,
    "SVT": _supraventricular_tachycardia,
}
"""Changes without severity; the remaining diagnoses change only the beat times."""


def diseased(
    heart: Heart,
    names: tuple[str, ...],
    severity: Mapping[str, float],
    focus: Mapping[str, Wave],
    *,
    share: float = 1.0,
) -> Heart:
    """Change a patient's healthy heart by diagnoses, as `check_diagnoses` allows them.

    severity: diagnosis -> severity in this patient; 1 is typical. focus: waves of the patient's premature ventricular
    beats, added if diagnosed. share: scale of all changes, as in `interpolate`.
    """
    for name, change in _SHAPES.items():
        if name in names:
            heart = interpolate(heart, change(heart, severity[name]), share)
    for name, replacement in _ATRIA.items():
        if name in names:
            heart = replacement(heart)
    return with_waves(heart, **focus) if "PVC" in names else heart
