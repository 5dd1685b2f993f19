"""Who has what, and what stays."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from benchmark.data.simulate.cohorts import COHORTS
from benchmark.data.simulate.patient import (
    EPISODIC,
    RHYTHMS,
    Population,
    check_diagnoses,
    choose,
    clash,
    draw_anatomy,
    draw_diagnoses,
    draw_person,
    keep_or_redraw,
)


@pytest.mark.parametrize("name", COHORTS)
def test_recordings_are_possible_and_structure_persists(name: str) -> None:
    population = COHORTS[name].population
    for seed in range(80):
        rng = np.random.default_rng(seed)
        person = draw_person(rng, population, 1.0)
        for visit in range(3):
            shown = check_diagnoses(draw_diagnoses(rng, person, population, first=visit == 0))
            assert sum(diagnosis in RHYTHMS for diagnosis in shown) == 1
            stays = set(person.conditions) if visit == 0 else set(person.conditions) - EPISODIC
            assert stays <= set(shown)
            assert ("NORM" in shown) == (set(shown) <= {"NORM", "SR", "SB", "ST", "SA"})


def test_conditions_of_a_patient_never_clash() -> None:
    population = COHORTS["ptb-xl"].population
    people = [draw_person(np.random.default_rng([seed, 1]), population, 1.0) for seed in range(400)]
    assert any(len(person.conditions) > 1 for person in people)
    assert not any(clash(a, b) for person in people for a, b in combinations(person.conditions, 2))
    healthy = np.mean([not person.conditions for person in people])
    assert healthy == pytest.approx(population.conditions["NORM"] / sum(population.conditions.values()), abs=0.07)


def test_a_further_condition_comes_as_often_as_said_and_where_it_is_drawn_to() -> None:
    shares = {"LVH": 1.0, "TWI": 1.0, "PVC": 1.0, "NORM": 1.0}

    def pairs(affinities: dict[tuple[str, str], float]) -> Counter[tuple[str, ...]]:
        population = Population(shares, companion=0.5, rhythms={"SR": 1.0}, affinities=affinities)
        people = (draw_person(np.random.default_rng([seed, 2]), population, 0.0) for seed in range(500))
        return Counter(person.conditions[:2] for person in people)

    drawn = pairs({("LVH", "TWI"): 9.0})
    leading = sum(count for found, count in drawn.items() if found[:1] == ("LVH",))
    assert drawn[("LVH",)] / leading == pytest.approx(0.5, abs=0.15)
    assert drawn["LVH", "TWI"] > 4 * drawn["LVH", "PVC"]
    assert pairs({})["LVH", "TWI"] < 2 * pairs({})["LVH", "PVC"]


def test_choose_follows_the_shares() -> None:
    rng = np.random.default_rng(0)
    drawn = Counter(choose(rng, {"a": 3.0, "b": 1.0, "never": 0.0}) for _ in range(2000))
    assert drawn["a"] == pytest.approx(1500, abs=90)
    assert drawn["never"] == 0


def test_conditions_are_kept_as_often_as_said_and_redrawn_in_the_same_shares() -> None:
    population = COHORTS["mimic-iv-ecg"].population
    people = [draw_person(np.random.default_rng([seed, 3]), population, 0.0) for seed in range(600)]

    def later(share: float) -> list[tuple[str, ...]]:
        drawn = (keep_or_redraw(np.random.default_rng([n, 4]), who, population, share) for n, who in enumerate(people))
        return [who.conditions for who in drawn]

    own = [who.conditions for who in people]
    assert later(1.0) == own
    ill = [index for index, conditions in enumerate(own) if conditions]
    found = {share: later(share) for share in (0.0, 0.5)}
    same = {share: np.mean([found[share][index] == own[index] for index in ill]) for share in found}
    assert same[0.0] < 0.1
    assert same[0.5] == pytest.approx(0.5 + same[0.0] / 2, abs=0.07)
    healthy = [np.mean([not conditions for conditions in drawn]) for drawn in (own, found[0.0])]
    assert healthy[0] == pytest.approx(healthy[1], abs=0.07)


def test_without_anatomy_men_and_women_are_alike() -> None:
    drawn = [draw_anatomy(np.random.default_rng(seed), woman=bool(seed % 2), spread=0.0) for seed in range(6)]
    assert len({patient.resting_rate for patient in drawn}) == 1
    shapes = [
        [(name, wave.centre, wave.rise, wave.fall, *wave.dipole) for name, wave in patient.heart.waves.items()]
        for patient in drawn
    ]
    without_notch = [[shape for shape in own if shape[0] != "notch"] for own in shapes]  # of height 0 anywhere
    assert all(own == without_notch[0] for own in without_notch)
    one, other = (draw_anatomy(np.random.default_rng(0), woman=woman, spread=1.0) for woman in (False, True))
    assert np.linalg.norm(other.heart.waves["wall"].dipole) < np.linalg.norm(one.heart.waves["wall"].dipole)
