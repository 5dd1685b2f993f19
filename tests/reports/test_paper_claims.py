"""Welch's test from printed numbers against scipy, and the range that rounding leaves.

The printed tables as data, and what they say when held against themselves.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind_from_stats

from reports import paper_claims as paper
from reports.paper_claims import (
    PMQ,
    RANDOM,
    WITHOUT_NEIGHBOUR,
    Measured,
    Place,
    WelchTest,
    against_the_best,
    compare,
    methods_of,
    p_range,
    p_value,
    printed_cells,
)


@pytest.fixture(scope="module")
def tests() -> list[WelchTest]:
    return against_the_best(printed_cells(), PMQ, [variant for variant in methods_of(1) if variant != PMQ])


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


NAMES = {"PTB-XL": "ptb-xl", "Chapman": "chapman", "CPSC2018": "cpsc2018", "Overall": "overall"}


def rivals() -> list[str]:
    return [variant for variant in paper.methods_of(1) if variant != PMQ]


@pytest.mark.parametrize(("number", "numbers", "bold"), [(1, 240, 30), (2, 60, 12)])
def test_tables_are_complete(number: int, numbers: int, bold: int) -> None:
    cells = paper.load_table(number)
    assert len(cells) == numbers
    assert sum(cell.bold for cell in cells.values()) == bold
    assert {place.variant for place in cells} <= set(paper.ROW_TITLES)
    assert all((cell.std is None) == (place.dataset == "overall") for place, cell in cells.items())
    assert all(0 < cell.mean < 100 for cell in cells.values())


@pytest.mark.parametrize("table", [1, 2])
def test_the_tables_are_the_reference(shared_reference: Path, table: int) -> None:
    expected = {}
    with (shared_reference / f"paper_table{table}.csv").open() as file:
        for line in csv.DictReader(file):
            row = line["method"].lower() if table == 1 else f"pmq:{line['ablation']}".replace("pmq:All", PMQ)
            metric = line["metric"].lower() if table == 1 else "f1"
            place = row, int(line["ratio"]) / 100, NAMES[line["dataset"]], metric
            expected[place] = float(line["mean"]), float(line["std"]) if line["std"] else None
    assert {tuple(place): cell[:2] for place, cell in paper.load_table(table).items()} == expected


def test_the_cells_are_those_of_both_tables_once() -> None:
    cells = paper.printed_cells()
    assert len(cells) == 8 * 27 + 4 * 9
    assert str(cells[Place(PMQ, 0.3, "ptb-xl", "f1")]) == "56.1±0.1"
    assert str(cells[Place("pmq:w/o queue", 0.01, "chapman", "f1")]) == "79.7±0.3"


@pytest.mark.parametrize(("table", "number", "largest"), [(1, 24, 0.044), (2, 15, 0.033)])
def test_every_overall_follows_from_its_cells(table: int, number: int, largest: float) -> None:
    found = paper.overalls(table)
    assert len(found) == number
    assert max(derived.gap for derived in found) == pytest.approx(largest, abs=5e-4)


def test_a_wrong_overall_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("moco", 0.1, "overall", "overall")
    wrong = paper.load_table(1) | {place: Measured(74.3, None, 5)}
    monkeypatch.setattr(paper, "load_table", lambda number: wrong)
    assert [derived.place for derived in paper.overalls(1) if derived.gap > paper.HALF_STEP] == [place]


def test_two_bold_marks_are_not_on_the_highest() -> None:
    wrong = paper.wrong_marks()
    assert [(column.table, column.place, column.bold) for column in wrong] == [
        (1, Place("comet", 0.3, "chapman", "f1"), (PMQ,)),
        (2, Place("pmq:w/o mask_f", 0.3, "chapman", "f1"), (PMQ,)),
    ]
    assert sum(len(paper.columns(table)) for table in (1, 2)) == 30 + 12


def test_pmq_is_best_in_20_of_27_though_21_are_bold() -> None:
    cells = paper.printed_cells()
    own = [place for place in cells if place.variant == PMQ]
    assert paper.ranks(cells, own, rivals()) == Counter({1: 20, 2: 6, 3: 1})
    by_ratio = [paper.ranks(cells, [p for p in own if p.ratio == ratio], rivals())[1] for ratio in paper.RATIOS]
    assert by_ratio == [7, 7, 6]
    assert sum(cells[place].bold for place in own) == 21


def test_a_tie_shares_the_better_rank() -> None:
    places = [Place(variant, 0.1, "chapman", "f1") for variant in ("a", "b", "c")]
    cells = {place: Measured(mean, 1.0, 5) for place, mean in zip(places, (80.0, 80.0, 81.0), strict=True)}
    assert paper.ranks(cells, places[:1], ["b", "c"]) == Counter({2: 1})


def test_without_neighbour_repeats_random_in_8_of_9_and_all_is_ours() -> None:
    found = paper.links(2, WITHOUT_NEIGHBOUR, 1, RANDOM)
    assert len(found) == 9
    (apart,) = [link for link in found if not link.same]
    assert apart.place == Place(WITHOUT_NEIGHBOUR, 0.01, "ptb-xl", "f1")
    assert (str(apart.first), str(apart.second)) == ("43.7±1.6", "43.8±1.3")
    assert sum(link.same for link in paper.links(2, PMQ, 1, PMQ)) == 9
    assert sum(link.same for link in paper.links(2, "pmq:w/o queue", 1, RANDOM)) == 0


def test_six_pretrained_rows_are_not_above_random() -> None:
    assert [(derived.place.variant, derived.place.ratio) for derived in paper.not_above_random()] == [
        ("clocs", 0.3), ("etp", 0.3), ("clocs", 0.1), ("comet", 0.1), ("pclr", 0.01), ("comet", 0.01),
    ]  # fmt: skip
