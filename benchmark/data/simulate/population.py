"""Draw the patients of a cohort, their conditions, and the diagnoses of each recording.

Conduction and structure persist over a patient's recordings; rhythm, ischaemia and premature beats are episodic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from benchmark.data.simulate.anatomy import Anatomy, draw_anatomy
from benchmark.data.simulate.diagnoses import RHYTHMS, SINUS_RHYTHMS, clash

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
    affinities: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(leading condition, further one) -> factor of the further one's share."""


@dataclass(frozen=True)
class Person:
    """A patient."""

    woman: bool
    age: int
    """Years at the first recording."""
    conditions: tuple[str, ...]
    """The leading one first; empty if healthy."""
    anatomy: Anatomy


def draw_person(rng: np.random.Generator, population: Population, spread: float) -> Person:
    """A patient of the population; `spread` as in `draw_anatomy`."""
    conditions = _draw_conditions(rng, population)
    woman = bool(rng.integers(2))
    mean, deviation = (66, 12) if conditions else (46, 15)
    age = int(np.clip(mean + deviation * rng.standard_normal(), 18, 89))
    return Person(woman, age, conditions, draw_anatomy(rng, woman=woman, spread=spread))


def keep_or_redraw(rng: np.random.Generator, person: Person, population: Population, persistence: float) -> Person:
    """The patient at a later recording: unchanged with probability `persistence`, else with newly drawn conditions."""
    if rng.random() < persistence:
        return person
    return replace(person, conditions=_draw_conditions(rng, population))


def draw_diagnoses(rng: np.random.Generator, person: Person, population: Population, *, first: bool) -> tuple[str, ...]:
    """Diagnoses of a recording: conditions first (NORM without any), and exactly one rhythm.

    `first`: the patient's first recording, which shows all conditions.
    """
    seen = rng.random(len(person.conditions)) < RECURRENCE
    shown = [
        name for name, again in zip(person.conditions, seen, strict=True) if first or again or name not in EPISODIC
    ]
    if not any(name in RHYTHMS for name in shown):
        possible = {
            rhythm: share for rhythm, share in population.rhythms.items() if not any(clash(rhythm, s) for s in shown)
        }
        shown.append(choose(rng, possible))
    healthy = len(shown) == 1 and shown[0] in SINUS_RHYTHMS
    return ("NORM", *shown) if healthy else tuple(shown)


def choose(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    """One of the names, with probability proportional to its share."""
    weights = np.array(list(shares.values()))
    return list(shares)[int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))]


def _draw_conditions(rng: np.random.Generator, population: Population) -> tuple[str, ...]:
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
