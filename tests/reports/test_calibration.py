"""Calibration of the statistics: equal methods are told apart in about 5 %, a planted difference as often as stated.

What scatters is either the patients that err in one run alone, or these, the patients that a method errs on in all its
runs, and the seeds. Seeds of the simulation are fixed, so these tests give the same result every time.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from benchmark.results.store import Predictions
from reports.columns import ScoreColumn
from reports.inference import LEVEL, POWER, pairwise
from reports.jackknife import leave_one_out, with_contributions
from reports.results import in_unit
from tests.conftest import SHARED
from tests.reports.conftest import Scatter, simulated_columns

MARGIN = 0.02
SCATTERS = {"run": {"run": 0.7}, "mixed": {"run": 0.4, "patient": 0.4, "seed": 0.1}}
CODE_TEST = SHARED / "reference" / "code_test"


def experiments(number: int, **design: object) -> pd.DataFrame:
    """The pairs of F1, AUROC and ACC of many simulated experiments."""
    frames = [
        pairwise(simulated_columns(np.random.default_rng([7, index]), **design)).assign(experiment=index)
        for index in range(number)
    ]
    return pd.concat(frames, ignore_index=True)


def rates(pairs: pd.DataFrame) -> tuple[float, float]:
    """Share of pairs with p below the level, share of experiments with any p_holm below it."""
    return (pairs["p"] < LEVEL).mean(), (pairs["p_holm"] < LEVEL).groupby(pairs["experiment"]).any().mean()


def test_equal_methods_are_rarely_told_apart() -> None:
    """The quick form: 60 experiments of three methods."""
    design = {"methods": 3, "seeds": 5, "patients": 120, "windows": 1, "scatter": Scatter(**SCATTERS["run"])}
    for metric, pairs in experiments(60, **design).groupby("metric"):
        single, family = rates(pairs)
        assert 0.02 <= single <= 0.08, metric
        assert family <= 0.08, metric


def test_two_seeds_of_two_equal_methods_are_rarely_told_apart() -> None:
    """Where two seeds agree by chance, their variance says nothing, and the patients' own has to be enough."""
    pairs = experiments(200, methods=2, seeds=2, patients=120, windows=1, scatter=Scatter(**SCATTERS["mixed"]))
    assert (pairs["p"] < LEVEL).groupby(pairs["metric"]).mean().max() <= 0.08


def nested(random: np.random.Generator, seeds: int, subsets: int, methods: int = 4) -> ScoreColumn:
    """Equal methods with effects of patients, pretraining, labelled subset (one for all methods), and of each run."""
    patients, shape = 200, (methods, seeds, subsets)
    runs = 0.01 * random.normal(size=(methods, seeds, 1)) + 0.03 * random.normal(size=(1, seeds, subsets))
    runs = 0.5 + (runs + 0.02 * random.normal(size=shape))[..., None]
    values = runs + 0.1 * random.normal(size=(methods, 1, 1, patients)) + 0.2 * random.normal(size=(*shape, patients))
    total = values.sum(axis=3, keepdims=True)
    left_out = np.concatenate([total / patients, (total - values) / (patients - 1)], axis=3).mean(axis=2)
    blocks = np.apply_along_axis(with_contributions, 2, left_out)
    return ScoreColumn("recording", 0.1, "a", "f1", {f"m{n}": [block] for n, block in enumerate(blocks)}, {}, MARGIN)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_several_labelled_subsets_per_encoder_leave_the_error_as_stated(seeds: int) -> None:
    columns = [nested(np.random.default_rng([7, index]), seeds, 5) for index in range(400)]
    single, family = rates(pd.concat([pairwise([one]).assign(experiment=n) for n, one in enumerate(columns)]))
    assert 0.02 <= single <= 0.08
    assert 0.005 <= family <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 10])
def test_rows_that_differ_by_the_margin_are_rarely_called_equivalent(seeds: int) -> None:
    called = []
    for index in range(400):
        column = nested(np.random.default_rng([7, index]), seeds, 5, methods=2)
        column.rows["m0"][0][:, 0] += MARGIN
        called.append(pairwise([column])["p_equivalent"][0] < LEVEL)
    assert np.mean(called) <= 0.08


@pytest.mark.slow
def test_a_planted_difference_is_found_with_the_stated_power() -> None:
    """The size that is said to be found four times in five, added to one of two equal methods, is found as often."""
    design = {"methods": 2, "seeds": 5, "patients": 300, "scatter": Scatter(**SCATTERS["mixed"])}
    columns = [one for index in range(200) for one in simulated_columns(np.random.default_rng([7, index]), **design)]
    stated = pairwise(columns).groupby("metric")["detectable"].mean()
    for column in columns:
        column.rows["m0"][0][:, 0] += stated[column.metric]
    pairs = pairwise(columns)
    power = (pairs["p"] < LEVEL).groupby(pairs["metric"]).mean()
    assert power.between(POWER - 0.1, POWER + 0.1).all(), power.to_dict()


@cache
def trainings(metric: str) -> np.ndarray:
    """(10, 1 + P): trainings of one network on CODE-test, 827 ECGs of as many patients (Ribeiro et al. 2020, MIT)."""
    truth = pd.read_csv(CODE_TEST / "gold_standard.csv").to_numpy(np.int64)  # (n, C)
    names = np.array([f"patient {number}" for number in range(len(truth))])
    probability = [np.load(CODE_TEST / f"seed_{number}.npy").astype(np.float32) for number in range(1, 11)]
    predictions = [Predictions(one, truth, names, names) for one in probability]
    left_out = [leave_one_out(in_unit(one, "recording"), [metric], multi=True)[metric] for one in predictions]
    return np.stack([with_contributions(scores) for scores in left_out])


@pytest.mark.usefixtures("shared_reference")
@pytest.mark.parametrize("metric", ["auroc", "auprc", "f1"])
@pytest.mark.parametrize("seeds", [3, 5])
def test_trainings_of_one_network_are_seldom_told_apart_as_methods(metric: str, seeds: int) -> None:
    """Halves of ten trainings stand for two methods; draws overlap, so that the share is not known well."""
    scores, random, significant = trainings(metric), np.random.default_rng(seeds), []
    for _ in range(300):
        drawn = random.permutation(10)
        rows = {"a": [scores[drawn[:seeds]]], "b": [scores[drawn[seeds : 2 * seeds]]]}
        significant.append(pairwise([ScoreColumn("recording", 1.0, "", metric, rows)])["p"][0] < LEVEL)
    assert np.mean(significant) <= 0.1
