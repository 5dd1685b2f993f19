"""Diagnoses of one ECG are possible together, and structural disease stays."""

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


@pytest.mark.parametrize("names", [("LBB",), ("LBBB", "RBBB"), ("AVB2", "AFIB"), ("NORM", "AFIB"), ("SR", "SR")])
def test_unknown_and_contradictory_diagnoses_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"unknown diagnosis 'LBB'|cannot stand in one ECG"):
        check_diagnoses(names)
