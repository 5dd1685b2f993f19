"""The parts of the variance, the tail, and every case in which an error cannot be told.

The words below a table follow from its runs.

Seeds and patients needed: at the bound the detectable difference is reached, and what more cannot help is None.

The chance of a repeat: by hand where the variance is known, and against simulated pairs of runs.

Bands by hand: mean, deviation and Overall over seeds.

A budget curve: snapshots in order of their epochs, their scores, and the costs on their cards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t
from scipy.stats import t as student

from benchmark.results.names import OVERALL
from benchmark.results.store import Predictions
from reports.runs import TIDY, Run, open_run
from reports.statistics.bootstrap import Floats, ScoreColumn, score_columns
from reports.statistics.estimates import (
    BAND,
    COSTS,
    EXPECTED,
    LEVEL,
    BudgetCurve,
    Tail,
    bands,
    budget_curves,
    chance_of_repeat,
    costs_of,
    detectable,
    estimate,
    method,
    patient_variances,
    patients_needed,
    reach,
    seeds_needed,
)
from reports.statistics.table import pairwise


def two_way(common: float, run: float, alone: float, *, seeds: int = 5, resamples: int = 2000) -> Floats:
    """(S, 1+R) scores around 0.7 with known deviations; each is exact on the sample that is drawn."""
    generator = np.random.default_rng(0)
    shared = generator.normal(size=resamples)
    own = generator.normal(size=(seeds, resamples))
    own -= own.mean(axis=1, keepdims=True)
    offset = np.linspace(-1, 1, seeds) / np.std(np.linspace(-1, 1, seeds), ddof=1) if seeds > 1 else np.zeros(1)
    point = 0.7 + run * offset  # (S,)
    return np.column_stack([point, point[:, None] + common * shared + alone * own])


def test_what_patients_do_to_all_runs_alike_is_told_from_what_they_do_to_one() -> None:
    common, alone = patient_variances(two_way(0.02, 0.0, 0.05)[:, 1:], patients=10**6)
    assert common**0.5 == pytest.approx(0.02, rel=0.05)
    assert alone**0.5 == pytest.approx(0.05, rel=0.05)


def uncorrelated(rows: int, draws: int) -> Floats:
    """(rows, draws) with mean 0, variance 1 (ddof 1) and covariance 0, exactly."""
    noise = np.random.default_rng(1).normal(size=(draws, rows))
    columns, _ = np.linalg.qr(noise - noise.mean(axis=0))
    return np.asarray(columns.T * np.sqrt(draws - 1))


def test_the_patients_parts_are_a_covariance_and_the_rest_of_the_variance() -> None:
    resampled = np.random.default_rng(0).normal(size=(3, 7)) + np.linspace(0, 4, 7)
    covariance = np.cov(resampled) * 12 / 11
    common = covariance[np.triu_indices(3, 1)].mean()
    expected = (common, covariance.diagonal().mean() - common)
    assert patient_variances(resampled, patients=12) == pytest.approx(expected)
    assert patient_variances(resampled[:1], patients=12) == pytest.approx((covariance[0, 0], 0.0))


def test_no_part_is_negative() -> None:
    up = np.array([0.0, 1.0, 2.0])
    assert patient_variances(np.array([up, -up]), patients=10**9) == pytest.approx((0.0, 1.0))
    assert patient_variances(np.array([up, up]), patients=10**9) == pytest.approx((1.0, 0.0))


@pytest.mark.parametrize(("seeds", "bound"), [(3, 0.18257), (5, 0.1)])
def test_a_patients_part_counts_from_two_of_its_own_errors_on(seeds: int, bound: float) -> None:
    """50 patients, 200 draws: 2 sqrt((1/50 + 1/200) / pairs) of a run's variance is the least that counts."""
    common, *own = uncorrelated(seeds + 1, 200)
    for share, counts in ((0.99 * bound, False), (1.01 * bound, True)):
        resampled = np.sqrt(share) * common + np.sqrt(1 - share) * np.array(own)
        found = estimate(np.column_stack([np.linspace(0, 1, seeds), resampled]), patients=50)
        assert found.patients_se == pytest.approx(np.sqrt(share * 50 / 49) if counts else 0.0)


def test_few_patients_make_up_for_their_number() -> None:
    scores = two_way(0.02, 0.0, 0.05)[:, 1:]
    few, many = patient_variances(scores, patients=5), patient_variances(scores, patients=10**6)
    assert np.array(few) / np.array(many) == pytest.approx([5 / 4, 5 / 4], rel=1e-4)


def test_seeds_alone_give_the_t_interval() -> None:
    found = estimate(two_way(0.0, 0.01, 0.03), patients=1000)
    half = student.ppf(0.975, 4) * 0.01 / np.sqrt(5)
    assert (found.patients_se, found.seeds_se) == (0.0, pytest.approx(0.01 / np.sqrt(5)))
    assert (found.mean, found.low, found.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half))
    assert found.detectable == pytest.approx(half + student.ppf(0.8, 4) * 0.01 / np.sqrt(5))


def test_two_seeds_are_enough_for_a_variance() -> None:
    found = estimate(two_way(0.0, 0.01, 0.0, seeds=2), patients=1000)
    assert (found.patients_se, found.seeds_se) == (0.0, pytest.approx(0.01 / np.sqrt(2)))
    assert found.high - found.mean == pytest.approx(student.ppf(0.975, 1) * 0.01 / np.sqrt(2))


def test_patients_alone_give_their_bootstrap_deviation() -> None:
    """Five runs that are the same, as those of a linear probe on one encoder."""
    found = estimate(two_way(0.02, 0.0, 0.0), patients=1000)
    deviation = two_way(0.02, 0.0, 0.0)[0, 1:].std(ddof=1) * np.sqrt(1000 / 999)
    assert found.seeds_se == 0
    assert found.high - found.mean == pytest.approx(student.ppf(0.975, 999) * deviation)


def test_interval_and_p_agree() -> None:
    scores = two_way(0.02, 0.03, 0.01)
    found = estimate(scores, patients=400)
    assert estimate(scores - found.low, patients=400).p == pytest.approx(0.05, abs=1e-6)
    assert estimate(scores - found.mean, patients=400).p == pytest.approx(1.0)
    assert found.detectable > found.high - found.mean


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_tail_lies_between_its_two(share: float) -> None:
    tail = Tail(share, seeds=3, patients=50)
    expected = share * student.sf(2.5, 2) + (1 - share) * student.sf(2.5, 49)
    assert tail.beyond(2.5) == pytest.approx(expected)
    assert tail.beyond(tail.quantile(0.025)) == pytest.approx(0.025)


def test_one_seed_covers_the_patients_and_says_so() -> None:
    found = estimate(two_way(0.02, 0.0, 0.0, seeds=1), patients=500)
    assert np.isnan(found.seeds_se)
    deviation = two_way(0.02, 0.0, 0.0, seeds=1)[0, 1:].std(ddof=1) * np.sqrt(500 / 499)
    assert found.patients_se == pytest.approx(deviation)
    assert found.high - found.mean == found.mean - found.low == pytest.approx(student.ppf(0.975, 499) * deviation)
    assert found.remark == "one seed: the interval covers the patients alone"


def test_a_run_compared_with_itself_is_no_difference() -> None:
    found = estimate(np.zeros((3, 101)), patients=50)
    assert (found.mean, found.low, found.high, found.p, found.detectable) == (0, 0, 0, 1, 0)
    assert (found.patients_se, found.seeds_se, found.seeds) == (0, 0, 3)


@pytest.mark.parametrize(
    ("scores", "patients", "remark"),
    [
        (np.full((5, 11), np.nan), 50, "no seed has a score"),
        (two_way(0.02, 0.1, 0.1), 1, "one test patient"),
        (np.column_stack([two_way(0.1, 0.1, 0.1)[:, :6], np.full((5, 5), np.nan)]), 50, "undefined in half"),
        (np.full((5, 11), 0.7), 50, "does not vary over resamples and seeds"),
    ],
)
def test_an_error_that_cannot_be_told_is_nan_with_its_reason(scores: Floats, patients: int, remark: str) -> None:
    found = estimate(scores, patients)
    assert np.isnan([found.low, found.high, found.p, found.patients_se, found.seeds_se, found.detectable]).all()
    assert remark in found.remark
    assert found.seeds == np.isfinite(scores[:, 0]).sum()
    assert found.mean == pytest.approx(0.7 if found.seeds else np.nan, nan_ok=True)


def test_more_than_half_of_the_resamples_are_enough_and_so_are_two_patients() -> None:
    scores = np.column_stack([two_way(0.1, 0.1, 0.1)[:, :7], np.full((5, 4), np.nan)])
    assert np.isfinite(estimate(scores, patients=50).low)
    assert np.isfinite(estimate(two_way(0.01, 0.01, 0.01), patients=2).low)


def test_an_interval_as_wide_as_the_scale_of_the_score_is_not_estimable() -> None:
    wide = estimate(np.array([[0.6, 0.6, 0.6], [0.4, 0.4, 0.4]]), patients=300)
    assert np.isnan([wide.low, wide.high, wide.detectable]).all()
    assert (wide.mean, wide.seeds) == (0.5, 2)
    assert wide.remark.startswith("not estimable: the interval would be wider")
    narrow = estimate(np.array([[0.51, 0.51, 0.51], [0.49, 0.49, 0.49]]), patients=300)
    assert narrow.high - narrow.low < 1


def test_seeds_without_a_score_and_undefined_resamples_are_left_out() -> None:
    scores = two_way(0.02, 0.01, 0.01)
    broken = np.vstack([scores, np.full((1, scores.shape[1]), np.nan)])
    broken[0, [1, 7]] = np.nan
    found = estimate(broken, patients=300)
    assert found.seeds == 5
    assert found == estimate(np.delete(scores, [1, 7], axis=1), patients=300)


@pytest.fixture
def words(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Callable[..., str]:
    """All sentences on a store of two methods with some seeds; `alter` changes their columns on the way."""

    def say(
        seeds: int,
        protocol: str = "paper",
        *,
        details: bool = False,
        alter: Callable[[list[ScoreColumn]], list[ScoreColumn]] = lambda columns: columns,
    ) -> str:
        design = {"methods": 2, "seeds": seeds, "patients": 40, "scatter": scatter()}
        found = simulate_predictions(np.random.default_rng(0), **design)
        places = {(f"m{method}", "ptb-xl", 0.1, 41 + seed): run for (method, seed), run in found.items()}
        root = write_predictions(places, protocol=protocol)
        run = open_run(root)
        columns = alter(score_columns(run, run.plan.cells, "recording", resamples=60))
        return " ".join(method(run, columns) if details else reach(run, columns, pairwise(columns)))

    return say


def test_five_seeds_under_the_paper_protocol(words: Callable[..., str]) -> None:
    said = words(5)
    assert "Test patients: PTB-XL 40." in said
    assert "over 1 pair of rows per column" in said
    assert "5 seeds of fine-tuning on one pretraining per method and one labelled subset" in said
    assert "the intervals do not cover the variation between pretrainings or subsets" in said
    assert "Detectable difference in points (power 80 %, without Holm's correction, median of the pairs): F1 " in said
    told = words(5, details=True)
    assert "60 resamples of the test patients" in told
    assert "need not hold for the methods" in told
    assert "5 seeds leave 4 degrees of freedom" in told
    assert "significant from 2.8 standard errors, instead of 2.0" in told


def test_two_seeds_are_said_to_be_few(words: Callable[..., str]) -> None:
    assert "use three or more" in words(2)
    assert "use three or more" not in words(3)
    told = words(2, details=True)
    assert "need not hold for the methods" in told
    assert "2 seeds leave 1 degree of freedom" in told
    assert "12.7 standard errors" in told
    assert "13 %" in told
    assert "13 %" not in words(3, details=True)


def test_one_seed_covers_the_patients_alone(words: Callable[..., str]) -> None:
    assert "One seed: the intervals cover the test patients alone" in words(1)
    told = words(1, details=True)
    assert "degree" not in told
    assert "need not hold for the methods" not in told


def test_strict_says_what_its_seeds_hold_together(words: Callable[..., str]) -> None:
    said = words(3, protocol="strict")
    assert "its own pretraining, labelled subset and fine-tuning" in said
    assert "seeds of fine-tuning" not in said
    assert "between these encoders" not in words(3, protocol="strict", details=True)


def test_the_pairs_are_counted_where_most_rows_compete(words: Callable[..., str]) -> None:
    def with_a_single_row(columns: list[ScoreColumn]) -> list[ScoreColumn]:
        first = columns[0]
        return [*columns, replace(first, variants=("m0",), scores=first.scores[:1], encoders=first.encoders[:1])]

    assert "over 1 pair of rows per column" in words(3, alter=with_a_single_row)


def test_a_row_with_a_pretraining_per_seed_is_named(words: Callable[..., str]) -> None:
    """The second row has one pretraining, and a seed that was not run."""

    def per_seed(columns: list[ScoreColumn]) -> list[ScoreColumn]:
        encoders = np.array([["a", "b", "c"], ["d", "d", ""]])
        return [replace(column, encoders=encoders) for column in columns]

    assert "one pretraining per method (M0: one per seed) and one labelled subset" in words(3, alter=per_seed)


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


@pytest.mark.parametrize("seeds", [2, 5])
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


def tidy_frame(scores: Iterable[tuple[str, str, float, int, float | None]]) -> pd.DataFrame:
    """(variant, dataset, ratio, seed, F1), each as a heartbeat's score of a fine-tuned encoder."""
    lines = [
        ("key", variant, "finetune", dataset, ratio, seed, "heartbeat", "f1", value, "")
        for variant, dataset, ratio, seed, value in scores
    ]
    return pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float})


def line(found: pd.DataFrame, variant: str, dataset: str, ratio: float = 0.01) -> tuple[float, float, int]:
    own = found[(found["variant"] == variant) & (found["dataset"] == dataset) & (found["ratio"] == ratio)]
    assert len(own) == 1
    return float(own["mean"].iloc[0]), float(own["std"].iloc[0]), int(own["seeds"].iloc[0])


def test_a_band_is_the_mean_and_deviation_over_seeds_in_percent() -> None:
    frame = tidy_frame([("pmq", "ptb-xl", 0.01, 41, 0.5), ("pmq", "ptb-xl", 0.01, 42, 0.6)])
    found = bands(frame, "finetune", "heartbeat")
    assert list(found.columns) == list(BAND)
    assert line(found, "pmq", "ptb-xl") == pytest.approx((55, 10 / math.sqrt(2), 2))
    assert OVERALL not in set(found["dataset"])


def test_overall_is_the_mean_over_datasets_of_each_whole_seed() -> None:
    frame = tidy_frame(
        [
            *[("pmq", "ptb-xl", 0.01, seed, value) for seed, value in ((41, 0.5), (42, 0.6), (43, 0.9))],
            *[("pmq", "chapman", 0.01, seed, value) for seed, value in ((41, 0.7), (42, 0.9), (43, None))],
        ]
    )
    found = bands(frame, "finetune", "heartbeat")
    assert line(found, "pmq", OVERALL) == pytest.approx((67.5, 15 / math.sqrt(2), 2))
    mean, _, seeds = line(found, "pmq", "chapman")
    assert (mean, seeds) == (pytest.approx(80), 2)


def test_rows_and_ratios_stay_in_their_order() -> None:
    places = [(variant, ratio) for variant in ("pmq", "byol") for ratio in (0.3, 0.01)]
    frame = tidy_frame(
        [(variant, dataset, ratio, 41, 0.5) for variant, ratio in places for dataset in ("ptb-xl", "chapman")]
    )
    found = bands(frame, "finetune", "heartbeat")
    assert found.index.tolist() == list(range(12))
    for dataset in ("ptb-xl", OVERALL):
        own = found[found["dataset"] == dataset]
        assert list(zip(own["variant"], own["ratio"], strict=True)) == places


def test_a_single_seed_has_no_deviation_and_other_units_do_not_count() -> None:
    frame = tidy_frame([("pmq", "ptb-xl", 0.01, 41, 0.5)])
    other = frame.assign(unit="recording", value=0.9)
    mean, std, seeds = line(bands(pd.concat([frame, other]), "finetune", "heartbeat"), "pmq", "ptb-xl")
    assert (mean, seeds) == (50, 1)
    assert math.isnan(std)
    assert not len(bands(frame, "linear", "heartbeat"))


def curves(run: Run, evaluation: str = "finetune") -> list[BudgetCurve]:
    return list(budget_curves(run, bands(run.tidy, evaluation, "heartbeat")))


def test_a_curve_has_a_point_per_snapshot_and_dataset_with_what_its_pretraining_cost(budget_store: Path) -> None:
    (curve,) = curves(open_run(budget_store))
    points = curve.points[curve.points["dataset"] == "chapman"]
    assert points["variant"].tolist() == ["pmq@0.5", "pmq@2"]
    assert points["epochs"].tolist() == [0.5, 2.0]
    assert points[list(COSTS)].to_numpy().tolist() == [[1000, 4000, 10], [4000, 16000, 40]]
    assert points["mean"].tolist() == pytest.approx([45.0, 55.04])
    assert curve.points.columns.tolist() == [*BAND, "of", "epochs", *COSTS]
    assert set(curve.points["dataset"]) == {"ptb-xl", "chapman", "overall"}
    assert COSTS == ("windows", "passes", "seconds")
    assert (curve.ratio, curve.machine) == (0.01, "x86_64, 2 threads, float32")


def test_a_run_without_snapshots_or_with_one_has_no_curve(budget_store: Path) -> None:
    run = open_run(budget_store)
    assert curves(run, "linear") == []
    one = replace(run, plan=replace(run.plan, variants={k: v for k, v in run.plan.variants.items() if k != "pmq@2"}))
    assert curves(one) == []
    assert curves(replace(run, plan=replace(run.plan, roles={}))) == []


def test_a_method_with_one_snapshot_stands_beside_those_with_more(budget_store: Path) -> None:
    run = open_run(budget_store)
    roles = run.plan.roles | {"random": run.plan.roles["pmq@2"] | {"of": "random", "value": 1}}
    (curve,) = curves(replace(run, plan=replace(run.plan, roles=roles)))
    assert list(dict.fromkeys(curve.points["variant"])) == ["random", "pmq@0.5", "pmq@2"]


def test_a_value_that_is_no_number_is_left_out(budget_store: Path) -> None:
    run = open_run(budget_store)
    roles = {name: facts | {"value": "much"} for name, facts in run.plan.roles.items()}
    assert curves(replace(run, plan=replace(run.plan, roles=roles))) == []


def test_costs_that_no_card_says_are_not_known() -> None:
    assert costs_of([]) == {"windows": None, "passes": None}
    assert costs_of([{"updates": 2, "batch_size": 8}]) == {"windows": 16, "passes": None}
