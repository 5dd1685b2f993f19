"""The chance of a repeat: by hand where the variance is known, and against simulated pairs of runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from reports.statistics.another_run.repeat import EXPECTED, chance_of_repeat
from reports.statistics.interval import LEVEL, estimate
from reports.statistics.test_set import Floats

MANY = 1_000_000


@pytest.mark.parametrize("difference", [0.0001, 0.02, -0.02, 0.05])
@pytest.mark.parametrize("patients_se", [0.0, 0.01])
@pytest.mark.parametrize("share", [1.0, 1 / 28])
def test_with_many_seeds_it_is_a_normal_tail(difference: float, patients_se: float, share: float) -> None:
    """d' scatters by sqrt(2) of the seeds' error alone; what it must exceed holds the patients' error too."""
    bound = norm.isf(share * LEVEL / 2) * math.hypot(patients_se, 0.01)
    expected = norm.sf((bound - abs(difference)) / (np.sqrt(2) * 0.01))
    found = chance_of_repeat(difference, patients_se, 0.01, MANY, MANY, share=share)
    assert found == pytest.approx(expected, abs=0.012)


def test_the_same_numbers_give_the_same_chance_every_time() -> None:
    above, below = (chance_of_repeat(sign * 0.02, 0.005, 0.005, 5, 100, share=1.0) for sign in (1, -1))
    assert above == below == 0.61795


def test_what_no_seed_changes_is_found_again() -> None:
    assert chance_of_repeat(0.03, 0.01, 0.0, 5, 100, share=1.0) == 1.0
    assert chance_of_repeat(0.01, 0.01, 0.0, 5, 100, share=1.0) == 0.0


def test_of_one_seed_nothing_is_known() -> None:
    assert math.isnan(chance_of_repeat(0.03, 0.01, math.nan, 1, 100, share=1.0))


def found_again(truths: Floats, seeds: int) -> tuple[Floats, Floats]:
    """The stated chance of each difference that a first run finds, and whether a second one finds it."""
    generator = np.random.default_rng(3)
    stated, found = [], []
    for runs in truths[:, None, None] + generator.standard_normal((len(truths), 2, seeds)):  # (2, S)
        first, second = (estimate(np.tile(run[:, None], 4), patients=50) for run in runs)
        if first.p < LEVEL:
            errors = (first.patients_se, first.seeds_se, seeds)
            stated.append(chance_of_repeat(first.mean, *errors, 50, share=1.0))
            found.append(second.p < LEVEL and first.mean * second.mean > 0)
    return np.array(stated), np.array(found, dtype=float)


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_of_differences_of_all_sizes_at_least_as_many_are_found_again_as_stated(seeds: int) -> None:
    bound = student.isf(LEVEL / 2, seeds - 1) / np.sqrt(seeds)
    stated, found = found_again(np.random.default_rng(1).uniform(-4 * bound, 4 * bound, size=1000), seeds)
    unsure = stated < EXPECTED
    assert unsure.sum() > 100
    assert 0.0 < found[unsure].mean() - stated[unsure].mean() < 0.15
    assert found[~unsure].mean() > EXPECTED


def test_of_differences_about_twice_their_error_fewer_are() -> None:
    stated, found = found_again(np.random.default_rng(1).normal(0, 2 / np.sqrt(5), size=1500), 5)
    assert 0.1 < stated.mean() - found.mean() < 0.4
