"""Seeds and patients needed: at the bound the detectable difference is reached, and what more cannot help is None."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm, t

from reports.statistics.another_run.needed import detectable, patients_needed, seeds_needed


def test_of_patients_alone_the_detectable_difference_is_that_of_a_normal_test() -> None:
    assert detectable(0.01, 0.0, 3) == pytest.approx(0.01 * (norm.ppf(0.975) + norm.ppf(0.8)), rel=1e-4)


def test_of_seeds_alone_it_is_that_of_a_t_test() -> None:
    assert detectable(0.0, 0.01, 4) == pytest.approx(0.01 * (t.ppf(0.975, 3) + t.ppf(0.8, 3)), rel=1e-4)


def test_the_number_of_seeds_is_the_least_that_suffices() -> None:
    found = seeds_needed(0.02, 0.002, 0.01, 3)
    assert found is not None
    assert found > 3
    spread = 0.01 * math.sqrt(3)
    assert detectable(0.002, spread / math.sqrt(found), found) <= 0.02
    assert detectable(0.002, spread / math.sqrt(found - 1), found - 1) > 0.02


def test_the_multiple_of_the_patients_is_the_least_that_suffices_whatever_the_sign() -> None:
    found = patients_needed(-0.02, 0.02, 0.001, 5)
    assert found is not None
    assert found > 1
    assert detectable(0.02 / math.sqrt(found), 0.001, 5) <= 0.02 < detectable(0.02 / math.sqrt(found - 1), 0.001, 5)


def test_what_the_other_part_of_the_error_forbids_is_none() -> None:
    assert seeds_needed(0.01, 0.02, 0.001, 3) is None
    assert patients_needed(0.01, 0.001, 0.02, 3) is None


def test_no_more_than_a_hundred_are_named() -> None:
    of_seeds, of_patients = detectable(0.0, 0.1 * math.sqrt(3 / 100), 100), detectable(0.01, 0.0, 3)
    assert [seeds_needed(size * of_seeds, 0.0, 0.1, 3) for size in (1, 0.9999)] == [100, None]
    assert [patients_needed(size * of_patients, 0.1, 0.0, 3) for size in (1, 0.9999)] == [100, None]


def test_one_seed_says_nothing_of_more_seeds() -> None:
    assert seeds_needed(0.5, 0.01, float("nan"), 1) is None
    assert patients_needed(0.05, 0.02, float("nan"), 1) == 2


def test_no_error_needs_no_more() -> None:
    assert detectable(0.0, 0.0, 3) == 0.0
    assert seeds_needed(0.01, 0.0, 0.0, 3) == seeds_needed(0.0, 0.0, 0.0, 3) == 3
    assert patients_needed(0.01, 0.0, 0.0, 3) == patients_needed(0.0, 0.0, 0.0, 3) == 1
