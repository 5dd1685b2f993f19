"""The parts of a difference, and what another grid tells apart, against simulated experiments of the nested model."""

from __future__ import annotations

import numpy as np
import pytest

from reports.statistics.bootstrap import Floats
from reports.statistics.design import PairParts, median_reach, parts_of, reach_of
from reports.statistics.estimates import Tail, estimate
from reports.statistics.table import pairwise
from tests.reports.nested import ENCODERS, PATIENTS, SUBSETS, TESTED, TUNINGS, experiment


def half_widths(count: int, *, seeds: int, subsets: int, patients: int) -> Floats:
    found = []
    for number in range(count):
        _, column = experiment(number, seeds=seeds, subsets=subsets, patients=patients)
        one = estimate(column.scores[0] - column.scores[1], patients)
        found.append((one.high - one.low) / 2)
    return np.array(found)


@pytest.mark.parametrize(("seeds", "subsets", "patients"), [(10, 5, 200), (5, 1, 800), (20, 10, 400)])
def test_a_pilot_predicts_the_intervals_of_another_grid(seeds: int, subsets: int, patients: int) -> None:
    pilots = [experiment(1000 + number, seeds=8, subsets=5, patients=TESTED) for number in range(60)]
    predicted = [
        reach_of(
            PairParts(**line[list(PairParts.__annotations__)]), seeds=seeds, subsets=subsets, patients=patients, pairs=1
        )
        for pilot in pilots
        for _, line in parts_of(pilot).iterrows()
    ]
    came = half_widths(200, seeds=seeds, subsets=subsets, patients=patients)
    assert len(predicted) == len(pilots)
    assert np.mean([one.half_width for one in predicted]) == pytest.approx(came.mean(), rel=0.12)


def test_the_parts_are_those_that_the_experiment_has() -> None:
    found = parts_of(experiment(3, seeds=200, subsets=5, patients=TESTED, rows=3))
    assert found[["first", "second"]].to_numpy().tolist() == [
        ["row 0", "row 1"], ["row 0", "row 2"], ["row 1", "row 2"]
    ]  # fmt: skip
    assert found["encoders_sd"].mean() == pytest.approx(ENCODERS * np.sqrt(2), rel=0.15)
    assert found["subsets_sd"].mean() == pytest.approx(SUBSETS * np.sqrt(2), rel=0.05)
    assert found["patients_se"].mean() == pytest.approx(PATIENTS * np.sqrt(2), rel=0.15)


def test_fine_tunings_are_told_from_subsets_and_more_of_them_help_as_much_as_they_are_worth() -> None:
    found = parts_of(experiment(4, seeds=200, subsets=3, patients=TESTED, rows=3, repeats=2))
    assert found["subsets_sd"].mean() == pytest.approx(SUBSETS * np.sqrt(2), rel=0.1)
    assert found["tunings_sd"].mean() == pytest.approx(TUNINGS * np.sqrt(2), rel=0.05)
    assert found["encoders_sd"].mean() == pytest.approx(ENCODERS * np.sqrt(2), rel=0.2)
    parts = PairParts(**found.iloc[0][list(PairParts.__annotations__)])
    once, often = (
        reach_of(parts, seeds=200, subsets=3, patients=10**9, pairs=1, repeats=repeats).half_width
        for repeats in (1, 100)
    )
    ratio = np.sqrt((ENCODERS**2 + SUBSETS**2 / 3) / (ENCODERS**2 + (SUBSETS**2 + TUNINGS**2) / 3))
    assert often / once == pytest.approx(ratio, rel=0.05)


def test_the_same_grid_has_the_interval_that_the_report_gave_and_holm_asks_more_of_more_pairs() -> None:
    columns = experiment(5, seeds=6, subsets=3, patients=TESTED)
    (line,) = parts_of(columns)[list(PairParts.__annotations__)].to_dict("records")
    parts = PairParts(**line)  # type: ignore[misc]
    same = {"seeds": 6, "subsets": 3, "patients": TESTED}
    one, many = reach_of(parts, **same, pairs=1), reach_of(parts, **same, pairs=28)
    (pair,) = pairwise(columns[1:]).to_dict("records")
    assert one.half_width == pytest.approx((pair["high"] - pair["low"]) / 2)
    assert one.detectable == pytest.approx(pair["detectable"])
    share = one.encoders_share + one.subsets_share
    error = pair["seeds_se"] / np.sqrt(share)
    tail = Tail(share, 5, TESTED)
    assert many.detectable == pytest.approx((tail.quantile(0.025 / 28) + tail.quantile(0.2)) * error)
    assert median_reach([parts] * 2, **same, pairs=28) == many


def test_of_its_own_grid_a_pilot_predicts_the_median_interval_of_its_report() -> None:
    columns = experiment(5, seeds=6, subsets=3, patients=TESTED, rows=5)
    pilot = [PairParts(**line) for line in parts_of(columns)[list(PairParts.__annotations__)].to_dict("records")]  # type: ignore[misc]
    came = pairwise(columns[1:])
    assert min(own.encoders_sd for own in pilot) == 0
    predicted = median_reach(pilot, seeds=6, subsets=3, patients=TESTED, pairs=len(came))
    assert predicted.half_width == pytest.approx(float(((came["high"] - came["low"]) / 2).median()))


def test_a_pair_without_an_interval_and_few_seeds_give_no_parts() -> None:
    assert parts_of(experiment(1, seeds=2, subsets=3, patients=TESTED)).empty
    column, overall = experiment(1, seeds=4, subsets=3, patients=TESTED)
    assert len(parts_of([column, overall])) == 1
    column.runs[0, 1, 2, 0] = np.nan  # type: ignore[index]
    assert parts_of([column, overall]).empty
