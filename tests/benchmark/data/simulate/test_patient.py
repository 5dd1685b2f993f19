"""Who has what, and what stays."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmark.data.simulate.cohorts import COHORTS
from benchmark.data.simulate.patient import (
    EPISODIC,
    RHYTHMS,
    check_diagnoses,
    clash,
    draw_anatomy,
    draw_conditions,
    draw_diagnoses,
)


@pytest.mark.parametrize("name", COHORTS)
def test_recordings_are_possible_and_structure_persists(name: str) -> None:
    population = COHORTS[name].population
    for seed in range(80):
        rng = np.random.default_rng(seed)
        conditions = draw_conditions(rng, population)
        assert not any(clash(a, b) for a, b in combinations(conditions, 2))
        for visit in range(3):
            shown = check_diagnoses(draw_diagnoses(rng, conditions, population, first=visit == 0))
            assert sum(diagnosis in RHYTHMS for diagnosis in shown) == 1
            stays = set(conditions) if visit == 0 else set(conditions) - EPISODIC
            assert stays <= set(shown)
            assert ("NORM" in shown) == (set(shown) <= {"NORM", "SR", "SB", "ST", "SA"})


def test_without_anatomy_men_and_women_are_alike() -> None:
    drawn = [draw_anatomy(np.random.default_rng(seed), woman=bool(seed % 2), variation=0.0) for seed in range(6)]
    assert len({patient.resting_rate for patient in drawn}) == 1
    shapes = [
        [(name, wave.centre, wave.rise, wave.fall, *wave.dipole) for name, wave in patient.heart.waves.items()]
        for patient in drawn
    ]
    without_notch = [[wave for wave in waves if wave[0] != "notch"] for waves in shapes]  # of height 0 anywhere
    assert all(waves == without_notch[0] for waves in without_notch)
    one, other = (draw_anatomy(np.random.default_rng(0), woman=woman, variation=1.0) for woman in (False, True))
    assert np.linalg.norm(other.heart.waves["wall"].dipole) < np.linalg.norm(one.heart.waves["wall"].dipole)


@pytest.mark.parametrize("names", [("LBB",), ("LBBB", "RBBB"), ("AVB2", "AFIB"), ("NORM", "AFIB"), ("SR", "SR")])
def test_unknown_and_contradictory_diagnoses_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"unknown diagnosis 'LBB'|cannot stand in one ECG"):
        check_diagnoses(names)
