"""Intervals, tests and marks: their formulas, what stays out of them, and what they are held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmark.results.names import OVERALL
from reports import load
from reports.columns import ScoreColumn
from reports.inference import (
    LEVEL,
    PAIRS,
    SPREAD_PATIENTS,
    SPREAD_SEEDS,
    TableStatistics,
    baseline_claims,
    differences,
    expected_difference,
    holm,
    intervals,
    pairwise,
    statistics_of,
    total_of,
    variances,
)
from reports.jackknife import with_contributions
from reports.layouts import layouts
from reports.moderation import common_variance, estimate_over_seeds
from tests.reports.conftest import Scatter, simulated_predictions

Floats = np.ndarray
MARGIN = 0.02
WritePredictions = Callable[..., Path]


def block_of(random: np.random.Generator, seeds: int, patients: int, *, patient: float, run: float) -> Floats:
    """(S, 1 + P) of a score that is the mean over patients of values with effects of patient and run."""
    values = 0.5 + patient * random.normal(size=patients) + run * random.normal(size=(seeds, patients))
    total = values.sum(axis=1, keepdims=True)
    return np.stack(
        [with_contributions(one) for one in np.hstack([total / patients, (total - values) / (patients - 1)])]
    )


def column_of(rows: dict[str, list[Floats]], metric: str = "f1") -> ScoreColumn:
    return ScoreColumn("recording", 0.1, "" if metric == OVERALL else "a", metric, rows, {}, MARGIN)


def columns_of(seeds: int = 5, rows: int = 4, draw: int = 7) -> ScoreColumn:
    random = np.random.default_rng(draw)
    return column_of({f"m{n}": [block_of(random, seeds, 60, patient=0.2, run=0.1)] for n in range(rows)})


def over_seeds(blocks: list[Floats]) -> float:
    """The variance over seeds of the mean of a score."""
    return estimate_over_seeds(total_of(blocks)).variance


def test_the_variance_of_a_mean_over_patients_is_that_of_the_textbook() -> None:
    """One run: the jackknife of a mean is its standard error. Several: the patients' effects are told from the rest."""
    random = np.random.default_rng(1)
    one = block_of(random, 1, 50, patient=0.2, run=0.1)
    assert variances([one]) == pytest.approx((one[0, 0], (one[0, 1:] ** 2).sum(), 1))
    assert over_seeds([one]) == 0
    blocks = [block_of(random, 6, 80, patient=0.2, run=0.3) for _ in range(400)]
    of_seeds = np.mean([over_seeds([block]) for block in blocks])
    of_patients = np.mean([variances([block]).patients_variance for block in blocks])
    assert of_patients == pytest.approx(0.2**2 / 80, rel=0.1)
    assert of_seeds == pytest.approx(0.3**2 / 80 / 6, rel=0.1)


def test_of_two_seeds_nothing_is_subtracted_from_the_jackknife_of_their_mean() -> None:
    block = block_of(np.random.default_rng(1), 2, 80, patient=0.1, run=0.3)
    jackknife = (block[:, 1:].mean(axis=0) ** 2).sum()
    assert variances([block]).patients_variance == pytest.approx(jackknife)


def test_the_variance_of_a_cross_fitting_counts_patients_half_as_much_again() -> None:
    random = np.random.default_rng(1)
    for seeds, factor in ((5, 1.0), (6, 1.5)):
        block = block_of(random, seeds, 80, patient=0.1, run=0.3)
        jackknife = (block[:, 1:].mean(axis=0) ** 2).sum()
        assert variances([block], is_crossfitted=True).patients_variance == pytest.approx(factor * jackknife)
        assert variances([block], is_crossfitted=True).mean == variances([block]).mean
        assert variances([block]).patients_variance < jackknife
    rows = {f"m{n}": [block_of(random, 4, 80, patient=0.2, run=0.1)] for n in range(2)}
    (pair,) = pairwise([replace(column_of(rows), is_crossfitted=True)]).to_dict("records")
    at_least = pair["patients_se"] * np.sqrt(1.5) * (stats.norm.isf(0.025) + stats.norm.isf(0.2))
    assert at_least < pair["detectable_4x"] < pair["detectable"] * np.sqrt(1.5)


def test_the_expected_difference_is_that_of_a_run_with_such_scatter() -> None:
    random = np.random.default_rng(3)

    def median_of(patients: int) -> float:
        run = SPREAD_SEEDS * np.sqrt(patients)
        blocks = [block_of(random, 5, patients, patient=SPREAD_PATIENTS, run=run) for _ in range(60)]
        nothing = np.zeros_like(blocks[0])
        return float(np.median([pairwise([column_of({"a": [one], "b": [nothing]})])["detectable"] for one in blocks]))

    assert expected_difference([20], 5) == pytest.approx(median_of(20), rel=0.15)
    assert expected_difference([200], 5) == pytest.approx(median_of(200), rel=0.15)
    assert expected_difference([100, 100], 5) == pytest.approx(expected_difference([100], 5) / np.sqrt(2), rel=0.02)
    assert expected_difference([20], 10) < expected_difference([20], 5)


def test_datasets_share_their_seeds() -> None:
    random = np.random.default_rng(2)
    one, other = (0.5 * block_of(random, 4, patients, patient=0.2, run=0.1) for patients in (40, 90))
    mean, of_patients, seeds = variances([one, other])
    total = one[:, 0] + other[:, 0]
    assert (mean, over_seeds([one, other]), seeds) == pytest.approx((total.mean(), total.var(ddof=1) / 4, 4))
    assert of_patients == pytest.approx(variances([one]).patients_variance + variances([other]).patients_variance)


def test_two_rows_are_tested_with_hillis_degrees_of_freedom() -> None:
    column = columns_of(rows=2)
    pair = pairwise([column]).iloc[0]
    one, other = (column.rows[name][0] for name in ("m0", "m1"))
    mean, of_patients, _ = variances([one - other])
    of_seeds = over_seeds([one - other])
    total = of_seeds + of_patients
    df = min(4 * (total / of_seeds) ** 2, 59)
    expected = stats.t(df, mean, np.sqrt(total))
    assert pair["df"] == pytest.approx(df)
    assert (pair["low"], pair["high"]) == pytest.approx(expected.interval(0.95))
    assert pair["p"] == pytest.approx(2 * min(expected.cdf(0), expected.sf(0)))
    assert pair["p_equivalent"] == pytest.approx(stats.t.sf((MARGIN - abs(mean)) / np.sqrt(total), df))
    assert pair["detectable_4x"] < pair["detectable_2x"] < pair["detectable"]


def test_a_pair_is_moderated_by_the_others() -> None:
    """The prior has as many degrees of freedom as the rows outside a pair, at most."""
    column = columns_of(seeds=3, rows=3, draw=9)  # no row stands apart
    pairs, alone = pairwise([column]), pairwise([column_of({name: column.rows[name] for name in ("m0", "m1")})])
    blocks = [one[0] - other[0] for one, other in combinations(column.rows.values(), 2)]
    of_seeds = np.array([over_seeds([block]) for block in blocks])
    of_patients = np.array([variances([block]).patients_variance for block in blocks])
    prior, freedom = common_variance(of_seeds, 2)
    assert freedom > 2  # the limit
    moderated = (2 * prior + 2 * of_seeds) / 4
    assert pairs["seeds_se"].to_numpy() == pytest.approx(np.sqrt(moderated))
    assert pairs["df"].to_numpy() == pytest.approx(np.minimum(4 * (1 + of_patients / moderated) ** 2, 59))
    assert alone["seeds_se"][0] ** 2 == pytest.approx(of_seeds[0])


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    assert holm(np.array([0.01, np.nan, 0.04, 0.03])) == pytest.approx([0.03, np.nan, 0.06, 0.06], nan_ok=True)


def test_an_adjusted_interval_excludes_zero_just_where_the_test_is_significant() -> None:
    random = np.random.default_rng(4)
    rows = {f"m{n}": [block_of(random, 5, 60, patient=0.05, run=0.05)] for n in range(6)}
    for number, (block,) in enumerate(rows.values()):
        block[:, 0] += 0.015 * number
    pairs = pairwise([column_of(rows)])
    assert 0 < (pairs["p_holm"] < LEVEL).sum() < len(pairs)
    outside = (pairs["low_holm"] > 0) | (pairs["high_holm"] < 0)
    assert outside.equals(pairs["p_holm"] < LEVEL)
    assert (pairs["high_holm"] - pairs["low_holm"] >= pairs["high"] - pairs["low"]).all()


def test_one_run_under_two_names_is_no_difference() -> None:
    block = columns_of().rows["m0"]
    pair = pairwise([column_of({"a": block, "b": block})]).iloc[0]
    assert (pair["difference"], pair["low"], pair["high"], pair["p"], pair["p_equivalent"]) == (0, 0, 0, 1, 1)


def test_a_single_seed_has_an_interval_over_patients_alone() -> None:
    column = columns_of(seeds=1)
    scores, pairs = intervals([column]), pairwise([column])
    assert scores["seeds_se"].isna().all()
    assert scores["low"].notna().all()
    assert pairs["detectable_2x"].isna().all()


def test_seeds_without_a_score_are_left_out_of_a_pair() -> None:
    column = columns_of(rows=2)
    column.rows["m1"][0][3:] = np.nan
    pair = pairwise([column]).iloc[0]
    one, other = (column.rows[name][0][:3, 0] for name in ("m0", "m1"))
    assert (pair["seeds"], pair["difference"]) == (3, pytest.approx(one.mean() - other.mean()))
    column.rows["m1"][0][:] = np.nan
    assert pairwise([column])["p"].isna().all()


def test_rows_are_held_against_the_untrained_encoder_of_their_kind() -> None:
    names = ["random", "pmq", "random+vit", "pmq+vit"]
    blocks = list(columns_of(rows=4).rows.values())
    column = column_of(dict(zip(names, blocks, strict=True)), metric=OVERALL)
    statistics = TableStatistics(intervals([column]), pairwise([column]))
    compared = differences(statistics)
    pairs = [["random", "pmq"], ["random+vit", "pmq+vit"]]
    assert compared[["reference", "variant"]].to_numpy().tolist() == pairs
    line = compared.iloc[0]
    assert line["difference"] == pytest.approx(blocks[1][0][:, 0].mean() - blocks[0][0][:, 0].mean())
    assert line["low_holm"] <= line["low"] <= line["difference"] <= line["high"] <= line["high_holm"]
    assert set(differences(statistics, unchanged="pmq")["reference"]) == {"pmq"}


def test_above_every_baseline_is_claimed_where_each_test_rejects() -> None:
    """Intersection-union: the largest p, Holm over methods; below one: Holm over methods times baselines."""
    frame = pd.DataFrame(columns=PAIRS)
    lines = [
        ("a", "features", 0.1, 0.02), ("a", "minirocket", 0.2, 0.001), ("b", "features", 0.3, 0.001),
        ("b", "minirocket", -0.1, 0.013), ("c", "features", -0.1, 0.03), ("c", "minirocket", 0.1, np.nan),
    ]  # fmt: skip
    for first, second, difference, p in lines:
        frame.loc[len(frame), ["ratio", "metric", "first", "second", "difference", "p"]] = [
            0.1, OVERALL, first, second, difference, p,
        ]  # fmt: skip
    frame["p"] = frame["p"].astype(float)
    claims = baseline_claims(TableStatistics(against_baselines=frame)).set_index("variant")
    assert claims["above"].to_dict() == {"a": False, "b": False, "c": False}  # 0.02 * 3
    assert claims["below"].to_dict() == {"a": (), "b": (), "c": ()}  # 0.013 * 6
    frame.loc[frame["second"] == "minirocket", "p"] /= 10
    frame.loc[frame["first"] == "a", "p"] /= 10
    claims = baseline_claims(TableStatistics(against_baselines=frame)).set_index("variant")
    assert claims["above"].to_dict() == {"a": True, "b": False, "c": False}
    assert claims["below"].to_dict() == {"a": (), "b": ("minirocket",), "c": ()}


def test_baselines_have_no_part_in_the_tests_of_pairs(write_predictions: WritePredictions) -> None:
    random = np.random.default_rng(5)
    simulated = simulated_predictions(random, methods=4, seeds=3, patients=40, scatter=Scatter(seed=0.2))
    names = ("random", "moco", "pmq", "features")
    results = load(write_predictions({(names[m], "ptb-xl", 0.1, 41 + seed): p for (m, seed), p in simulated.items()}))
    (layout,) = layouts(results.plan, "finetune")
    alone = statistics_of(results, layout, "recording")
    statistics = statistics_of(results, replace(layout, baselines=frozenset({"random", "features"})), "recording")
    pd.testing.assert_frame_equal(statistics.intervals, alone.intervals)
    of_features = statistics.pairs[["first", "second"]].isin(["features"]).any(axis=1)
    assert not of_features.any()
    tested = statistics.against_baselines.query("metric == @OVERALL")
    assert tested[["first", "second"]].to_numpy().tolist() == [["moco", "features"], ["pmq", "features"]]


def test_overall_is_the_mean_of_the_columns(write_predictions: WritePredictions) -> None:
    random = np.random.default_rng(5)
    predictions = {}
    for dataset in ("ptb-xl", "chapman"):
        for ratio in (0.3, 0.1):
            simulated = simulated_predictions(random, methods=3, seeds=3, patients=40, scatter=Scatter(seed=0.2))
            names = ("random", "moco", "pmq")
            predictions |= {(names[m], dataset, ratio, 41 + seed): p for (m, seed), p in simulated.items()}
    missing = [("pmq", "chapman", 0.1, seed) for seed in (41, 42, 43)]
    results = load(write_predictions(predictions, not_run=missing))
    (layout,) = layouts(results.plan, "finetune", ("auprc", "brier"))
    for unit in ("heartbeat", "recording"):
        statistics = statistics_of(results, layout, unit)
        lines = statistics.intervals
        assert lines["mean"].between(lines["low"], lines["high"]).all()
        assert statistics.pairs["difference"].between(statistics.pairs["low"], statistics.pairs["high"]).all()
        means = lines.set_index(["ratio", "variant", "dataset", "metric"])["mean"]
        places = product(("ptb-xl", "chapman"), ("f1", "auroc", "acc"))
        columns = [means[0.3, "moco", dataset, metric] for dataset, metric in places]
        assert means[0.3, "moco", "", OVERALL] == pytest.approx(np.mean(columns))
        assert (0.1, "pmq", "", OVERALL) not in means.index
