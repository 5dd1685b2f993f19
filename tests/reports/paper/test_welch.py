"""Welch's test from printed numbers against scipy, and the range that rounding leaves."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind, ttest_ind_from_stats

from reports.paper.printed import PMQ, Measured, Place, methods_of, printed_cells
from reports.paper.welch import WelchTest, against_the_best, compare, p_range, p_value


@pytest.fixture(scope="module")
def tests() -> list[WelchTest]:
    return against_the_best(printed_cells(), PMQ, [variant for variant in methods_of(1) if variant != PMQ])


def test_one_cell_each_is_welch(tests: list[WelchTest]) -> None:
    cells = printed_cells()
    for test in tests:
        own, other = cells[test.place], cells[test.place._replace(variant=test.rival)]
        expected = ttest_ind_from_stats(own.mean, own.std, 5, other.mean, other.std, 5, equal_var=False)
        assert test.difference.p == pytest.approx(expected.pvalue, rel=1e-9)
        assert float(p_value(own.mean - other.mean, own.std, other.std, 5, 5)) == pytest.approx(expected.pvalue)


def test_the_interval_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(70, 1, 5), rng.normal(69, 2, 7)
    measured = [Measured(float(x.mean()), float(x.std(ddof=1)), len(x)) for x in (first, second)]
    expected = ttest_ind(first, second, equal_var=False).confidence_interval()
    found = compare(measured[:1], measured[1:])
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_a_mean_of_cells_has_a_narrower_interval_than_one() -> None:
    first, second = Measured(70.0, 1.0, 5), Measured(69.0, 1.0, 5)
    one, three = compare([first], [second]), compare([first] * 3, [second] * 3)
    assert three.points == one.points == 1.0
    assert three.high - three.low < (one.high - one.low) / math.sqrt(3)


def test_a_single_seed_has_no_interval() -> None:
    found = compare([Measured(70.0, None, 1)], [Measured(69.0, 1.0, 5)])
    assert found.points == 1.0
    assert math.isnan(found.low)
    assert math.isnan(found.p)


@pytest.mark.parametrize(("mean", "p"), [(70.0, 1.0), (70.1, 0.0)])
def test_without_any_spread_only_equal_means_are_alike(mean: float, p: float) -> None:
    assert compare([Measured(mean, 0.0, 5)], [Measured(70.0, 0.0, 5)]).p == p
    assert float(p_value(mean - 70.0, 0.0, 0.0, 5, 5)) == p


def test_three_of_27_remain_and_one_favours_pmq(tests: list[WelchTest]) -> None:
    assert len(tests) == 27
    assert sum(test.difference.p < 0.05 for test in tests) == 9
    remaining = {(test.place[1:], test.rival): test.difference.points > 0 for test in tests if test.remains}
    assert remaining == {
        ((0.1, "chapman", "acc"), "comet"): False,
        ((0.01, "ptb-xl", "acc"), "etp"): False,
        ((0.01, "chapman", "acc"), "etp"): True,
    }


def test_rounding_leaves_one_to_six(tests: list[WelchTest]) -> None:
    assert sum(test.holm_range[1] < 0.05 for test in tests) == 1
    assert sum(test.holm_range[0] < 0.05 for test in tests) == 6
    assert sum(test.depends_on_rounding for test in tests) == 5
    assert all(low <= test.difference.p <= high for test in tests for low, high in [test.p_range])
    assert all(test.holm_range[0] <= test.holm <= test.holm_range[1] for test in tests)


def test_no_numbers_that_print_alike_leave_the_range() -> None:
    first, second = Measured(53.6, 0.3, 5), Measured(52.8, 0.1, 5)
    low, high = p_range(first, second)
    rng = np.random.default_rng(0)
    shifts = [*product((-0.0499, 0.0499), repeat=4), *rng.uniform(-0.05, 0.05, (500, 4))]
    for m1, m2, s1, s2 in shifts:
        p = ttest_ind_from_stats(53.6 + m1, 0.3 + s1, 5, 52.8 + m2, 0.1 + s2, 5, equal_var=False).pvalue
        assert low <= p <= high


def test_of_rivals_printed_alike_the_first_is_taken(tests: list[WelchTest]) -> None:
    (tied,) = [test for test in tests if test.place == Place(PMQ, 0.1, "chapman", "auroc")]
    assert tied.rival == "byol"


def combined(first: list[Measured], second: list[Measured]) -> tuple[float, float, float]:
    """Interval and p of a difference of means of cells, by the formulas of Welch and Satterthwaite."""
    sides = [(own, [(cell.std or 0.0) ** 2 / cell.seeds / len(own) ** 2 for cell in own]) for own in (first, second)]
    variances = [variance for _, found in sides for variance in found]
    freedom = sum(variances) ** 2 / sum(
        v**2 / (cell.seeds - 1) for own, found in sides for cell, v in zip(own, found, strict=True)
    )
    points = float(np.mean([cell.mean for cell in first]) - np.mean([cell.mean for cell in second]))
    reach = float(student.ppf(0.975, freedom)) * math.sqrt(sum(variances))
    return points - reach, points + reach, 2 * float(student.sf(abs(points) / math.sqrt(sum(variances)), freedom))


@pytest.mark.parametrize("cells", [1, 3])
def test_several_cells_are_one_sample_with_the_freedom_of_all(cells: int) -> None:
    rng = np.random.default_rng(cells)
    for _ in range(50):
        first, second = (
            [Measured(rng.normal(70, 2), 0.1 + rng.random(), int(rng.integers(2, 8))) for _ in range(cells)]
            for _ in range(2)
        )
        found = compare(first, second)
        assert (found.low, found.high, found.p) == pytest.approx(combined(first, second), rel=1e-10, abs=1e-12)
