"""A simulated patient: anatomy, diagnoses, and how each diagnosis changes the heart.

Conduction and structure persist over a patient's recordings; rhythm, ischaemia and premature beats are episodic. A
change is applied to the healthy heart in body axes, before the rotation of the patient's anatomy, so that a finding
shows in its diagnostic leads: criteria of Surawicz et al. 2009 (JACC 53:976, conduction), Hancock et al. 2009 (JACC
53:992, hypertrophy), Thygesen et al. 2018 (Circulation 138:e618, ST segments and Q waves). Infarctions, shifts of ST
and the anterior fascicle's block are additive, so that they combine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from benchmark.data.datasets.base import rows_beside
from benchmark.data.simulate.heart import (
    CHANGES,
    HEALTHY,
    Heart,
    Wave,
    changed,
    interpolate,
    rotation,
)
from benchmark.results.arrays import Doubles

RHYTHMS = ("SR", "SB", "ST", "SA", "AFIB", "AFL", "SVT")
"""The rhythms; a recording has exactly one."""
SINUS_RHYTHMS = RHYTHMS[:4]


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
    clashes: str
    """Diagnoses that one ECG cannot show with it."""


DIAGNOSES = {row.pop("name"): Diagnosis(**row) for row in rows_beside(__file__, "diagnoses.csv")}


def clashes(name: str, others: Iterable[str]) -> bool:
    """Tell whether one ECG cannot show a diagnosis together with one of the others, or not legibly."""
    return not {*others}.isdisjoint(DIAGNOSES[name].clashes.split())


def check_diagnoses(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names. Raises ValueError for an unknown name, a name given twice, or two that clash."""
    unknown = [name for name in names if name not in DIAGNOSES]
    if unknown:
        raise ValueError(f"unknown diagnosis {unknown[0]!r}: known are {', '.join(DIAGNOSES)}")
    for one, other in combinations(names, 2):
        if one == other or clashes(one, [other]):
            raise ValueError(f"diagnoses {one!r} and {other!r} cannot stand in one ECG: drop one of them")
    return names


HEART_ANGLES = np.array([6.0, 9.0, 14.0])
"""Standard deviation of the heart's rotation about the x, y and z axes, degrees."""
WOMEN_VOLTAGE, WOMEN_JT = 0.92, 1.04
"""Factors of QRS voltage and JT interval in women."""

CONDUCTION = np.ones((3, 8))
CONDUCTION[0] = [1.0, 1.0, 1.1, 0.6, 0.45, 0.6, 0.75, 0.9]
"""Gain of I, II, V1-V6 for atria, QRS and repolarisation; the atria lie behind V1, too near for a far dipole."""

PVC_FOCI = np.array([[0.25, 1.25, 0.75], [-0.75, -0.70, -1.05], [1.05, -0.55, 1.00]])
"""QRS direction of ventricular beats from the right outflow tract, the left ventricle's base, and the apex."""


class Anatomy(NamedTuple):
    """Anatomy of one patient."""

    heart: Heart
    """The heart without any disease."""
    position: Doubles  # (3, 3) rotation of the ventricles' dipole
    atrial_position: Doubles  # (3, 3)
    across: Doubles  # (6,) mean displacement of the chest electrodes, as in `dipole.lead_vectors`
    down: Doubles  # (6,)
    conduction: Doubles  # (3, 8) factor of a lead for atria, QRS, repolarisation: corrects the far-dipole model
    resting_rate: float
    """Beats per minute."""
    severity: Mapping[str, float]
    """Diagnosis -> severity in this patient; 1 is typical."""
    ectopic_focus: Mapping[str, Wave]
    """Waves of the patient's premature ventricular beats."""


def draw_anatomy(rng: Generator, *, woman: bool, variation: float = 1.0) -> Anatomy:
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
        severity={name: rng.uniform(0.7, 1.35) for name in DIAGNOSES},
        ectopic_focus=_draw_focus(rng),
    )


def _normal(rng: Generator, size: int | tuple[int, ...] | None = None) -> Doubles:
    """Draw standard normal numbers, clipped at two deviations, since extremes are left to the diagnoses."""
    return np.minimum(np.maximum(rng.standard_normal(size), -2.0), 2.0)  # faster than np.clip on a few numbers


def _factor(rng: Generator, deviation: float) -> float:
    """Draw a factor around 1 whose logarithm has this standard deviation."""
    return float(np.exp(deviation * _normal(rng)))


def _draw_heart(rng: Generator, woman: bool, variation: float) -> Heart:
    voltage = _factor(rng, 0.16 * variation) * (WOMEN_VOLTAGE**variation if woman else 1.0)
    slow = _factor(rng, 0.06 * variation)
    jt = _factor(rng, 0.055 * variation) * (WOMEN_JT**variation if woman else 1.0)
    pace = {"P": 1.0, "R": slow, "J": jt}
    waves = {}
    for name, wave in HEALTHY.waves.items():
        waves[name] = _personal(rng, wave, pace[wave.clock], voltage, variation)
    notch = 0.09 * voltage * variation * _normal(rng, 3)  # (3,)
    waves["notch"] = Wave("R", rng.uniform(-0.018, 0.028), 0.005, 0.005, notch)
    healthy = HEALTHY.intervals
    intervals = {
        "pr": healthy["pr"] + 0.015 * variation * float(_normal(rng)),
        "onset": healthy["onset"] * slow,
        "j_point": healthy["j_point"] * slow,
    }
    return Heart(waves, intervals)


def _personal(rng: Generator, wave: Wave, pace: float, voltage: float, variation: float) -> Wave:
    size = np.linalg.norm(wave.dipole)
    bent = wave.dipole + 0.11 * size * variation * _normal(rng, 3)  # (3,)
    height = voltage * _factor(rng, 0.15 * variation)
    rise, fall = np.exp(0.10 * variation * _normal(rng, 2))
    if wave.clock == "J":
        rise = rise * rise
        fall = fall**0.5
    return wave._replace(
        centre=wave.centre * pace, rise=wave.rise * pace * rise, fall=wave.fall * pace * fall, dipole=height * bent
    )


def _draw_focus(rng: Generator) -> Mapping[str, Wave]:
    typical = PVC_FOCI[rng.integers(len(PVC_FOCI))] * _factor(rng, 0.2)  # (3,)
    direction = typical + 0.2 * _normal(rng, 3)  # (3,)
    turned = direction + 0.35 * np.linalg.norm(direction) * 0.5 * _normal(rng, 3)  # (3,)
    slow = rng.uniform(0.9, 1.15)
    waves = {
        "direction": Wave("R", 0.0, 0.0, 0.0, direction),
        "turned": Wave("R", 0.0, 0.0, 0.0, turned),
    }
    return changed(Heart(waves, {}), "focus", slow).waves


EPISODIC = ("AFIB", "AFL", "SVT", "STD", "STE-ANT", "STE-INF", "PAC", "PVC")
RECURRENCE = 0.65
"""Probability that an episodic condition shows in a later recording; the first shows all conditions."""
MOST_CONDITIONS = 3


class Population(NamedTuple):
    """Prevalences in a cohort; each mapping's values are relative shares."""

    conditions: Mapping[str, float]
    """Leading condition of a patient; NORM: none."""
    companion: float
    """Probability that a patient with a condition has a further one, drawn from the same shares."""
    rhythms: Mapping[str, float]
    """Rhythm of a recording, unless a condition sets it."""
    affinities: Mapping[str, float]
    """'leading condition, blank, further one' -> factor of the further one's share."""


def draw_person(rng: Generator, population: Population, variation: float) -> Anatomy:
    """Draw the anatomy of a patient of the population, after the conditions; `variation` as in `draw_anatomy`."""
    draw_conditions(rng, population)
    woman = bool(rng.integers(2))
    rng.standard_normal()  # of an age, which no signal shows
    return draw_anatomy(rng, woman=woman, variation=variation)


def draw_diagnoses(
    rng: Generator, conditions: tuple[str, ...], population: Population, *, first: bool
) -> tuple[str, ...]:
    """Draw the diagnoses of a recording: conditions first (NORM without any), and exactly one rhythm.

    `first`: the patient's first recording, which shows all conditions.
    """
    seen = rng.random(len(conditions)) < RECURRENCE
    shown = [name for name, again in zip(conditions, seen, strict=True) if first or again or name not in EPISODIC]
    if not any(name in RHYTHMS for name in shown):
        possible = {rhythm: share for rhythm, share in population.rhythms.items() if not clashes(rhythm, shown)}
        shown.append(choose(rng, possible))
    healthy = len(shown) == 1 and shown[0] in SINUS_RHYTHMS
    return ("NORM", *shown) if healthy else tuple(shown)


def choose(rng: Generator, shares: Mapping[str, float]) -> str:
    """Draw one of the names, with probability proportional to its share."""
    weights = np.array(list(shares.values()))
    drawn = rng.random() * weights.sum()
    number = int(np.searchsorted(np.cumsum(weights), drawn, side="right"))
    return list(shares)[number]


def draw_conditions(rng: Generator, population: Population) -> tuple[str, ...]:
    """Draw the conditions of a patient, the leading one first; none of a healthy one."""
    leading = choose(rng, population.conditions)
    if leading == "NORM":
        return ()
    conditions = [leading]
    while len(conditions) < MOST_CONDITIONS and rng.random() < population.companion:
        possible = {}
        for name, share in population.conditions.items():
            if name not in ("NORM", *conditions) and not clashes(name, conditions):
                possible[name] = share * population.affinities.get(f"{leading} {name}", 1.0)
        if not possible:
            break
        conditions.append(choose(rng, possible))
    return tuple(conditions)


def diseased(patient: Anatomy, names: tuple[str, ...], scale: float) -> Heart:
    """Change a patient's healthy heart by diagnoses, as `check_diagnoses` allows them.

    scale: of all changes of a beat's shape, as in `interpolate`.
    """
    heart = patient.heart
    for name in CHANGES:
        if name in names:
            share = 1.0 if name in (*RHYTHMS, "PAC") else scale
            heart = interpolate(heart, changed(heart, name, patient.severity[name]), share)
    if "PVC" in names:
        heart = heart._replace(waves={**heart.waves, **patient.ectopic_focus})
    return heart
