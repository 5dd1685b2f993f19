"""Scores under resamples: the stored definitions at weight one, and those of repeated lines on every resample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.results.metrics import COLUMNS, FURTHER, METRICS, class_scores, score, score_both_units
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import Lines, macro
from reports.statistics import bootstrap
from reports.statistics.bootstrap import CELLS, FEWEST_BINS, ResampledLines, resampled_scores
from reports.statistics.test_set import ResampledTestSet, pooled, resampled_test_set

Simulate = Callable[..., dict[tuple[int, int], Predictions]]


@pytest.fixture
def predictions(simulate_predictions: Simulate, scatter: Callable[..., object]) -> Predictions:
    generator = np.random.default_rng(3)
    return simulate_predictions(generator, methods=1, seeds=1, patients=120, scatter=scatter(), windows=3)[0, 0]


def as_multi_label(found: Predictions) -> Predictions:
    truth = found.truth.copy()
    truth[:, 0] |= np.char.endswith(found.patient, "3")
    return Predictions(np.sqrt(found.probability), truth, found.recording, found.patient)


def repeated(
    test: ResampledTestSet, probability: NDArray[np.float32], resample: int, *, multi: bool
) -> dict[str, float | None]:
    """Scores of a resample by repeating each line as often as its patient was drawn."""
    times = (test.excess[resample] + 1).astype(int)[test.patient]
    return score(pooled(test, probability).repeat(times, axis=0), test.truth.repeat(times, axis=0), multi=multi).values


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
@pytest.mark.parametrize("multi", [False, True])
def test_the_test_set_itself_scores_as_stored(predictions: Predictions, unit: str, multi: bool) -> None:
    found = as_multi_label(predictions) if multi else predictions
    stored = score_both_units(found.probability, found.truth, found.recording, multi=multi)[unit].values
    scores = resampled_scores(resampled_test_set(found, unit, resamples=3), found.probability, multi=multi)
    for metric in COLUMNS:
        assert scores[metric][0] == pytest.approx(stored[metric], rel=1e-12), metric
    assert (scores["f1"][0], scores["acc"][0]) == (stored["f1"], stored["acc"])  # to the bit: one formula


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
@pytest.mark.parametrize("multi", [False, True])
def test_a_resample_scores_as_its_repeated_lines(predictions: Predictions, unit: str, multi: bool) -> None:
    """F1 and ACC to rounding, AUROC to a small part of its spread over resamples."""
    found = as_multi_label(predictions) if multi else predictions
    test = resampled_test_set(found, unit, resamples=40)
    scores = resampled_scores(test, found.probability, multi=multi)
    expected = [repeated(test, found.probability, resample, multi=multi) for resample in range(1, 41)]
    for metric in COLUMNS:
        error = scores[metric][1:] - np.array([float(values[metric] or np.nan) for values in expected])
        allowed = 0.05 * float(scores["auroc"].std()) if metric == "auroc" else 1e-9
        assert np.abs(error).max() < allowed, metric


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("decimals", [8, 1], ids=["without ties", "with ties"])
def test_class_scores_of_a_resample_are_those_of_its_repeated_lines(
    predictions: Predictions, unit: str, multi: bool, decimals: int
) -> None:
    """To rounding; those that go by rank to a small part of their spread over resamples, where levels are many."""
    found = as_multi_label(predictions) if multi else predictions
    test = resampled_test_set(found, unit, resamples=40)
    lines = ResampledLines(test.truth, pooled(test, found.probability).round(decimals), multi, test)
    by_class = class_scores(lines)
    expected = [class_scores(repeated_lines(lines, excess)) for excess in test.excess]
    for name, values in by_class.items():
        error = values - np.array([own[name] for own in expected])  # (1+R, C)
        assert np.nanmax(np.abs(error[0])) < 1e-7, name
        loose = name in ("auroc", "auprc", "sens90") and decimals == 8
        allowed = 0.25 * np.nanstd(values, axis=0) if loose else np.full(error.shape[1], 2e-6)  # (C,)
        assert (np.nanstd(error, axis=0) < np.maximum(allowed, 2e-6)).all(), name
        assert (np.isnan(values) == np.isnan([own[name] for own in expected])).all(), name
    for name in FURTHER:
        own = METRICS[name].of(lines)
        assert own[0] == pytest.approx(METRICS[name].of(repeated_lines(lines, test.excess[0])), abs=1e-7)
        if name != "ece" or multi:
            np.testing.assert_allclose(own, macro(by_class[name]), atol=1e-12)


def repeated_lines(lines: ResampledLines, excess: NDArray[np.float32]) -> Lines:
    times = (excess + 1).astype(int)[lines.test.patient]
    return Lines(lines.truth.repeat(times, axis=0), lines.probability.repeat(times, axis=0), lines.multi)


def test_of_few_patients_pairs_are_counted_as_of_many(predictions: Predictions) -> None:
    """The pairs of patients, and the product of bins, give the same bits; 120 patients are few for 333 bins."""
    test = resampled_test_set(predictions, "heartbeat", resamples=30)
    bins, truth = CELLS // 120, predictions.truth == 1
    placed = [bootstrap._placed(test, predictions.probability[:, c], truth[:, c]) for c in range(truth.shape[1])]
    assert test.patients <= 2 * bins == 2 * placed[0].above.shape[1]
    by_bins = [((test.excess @ own.above) * (test.excess @ own.beaten)).sum(axis=1) for own in placed]
    np.testing.assert_array_equal(bootstrap._curvature(test, placed), np.stack(by_bins, axis=1))


def test_auroc_of_few_tied_scores_is_exact(predictions: Predictions) -> None:
    """Nine levels stand in nine bins, so no pair is approximate."""
    coarse = np.round(predictions.probability * 8) / 8
    test = resampled_test_set(predictions, "heartbeat", resamples=30)
    scores = resampled_scores(test, coarse, multi=False)["auroc"]
    exact = [repeated(test, coarse, resample, multi=False)["auroc"] for resample in range(31)]
    np.testing.assert_allclose(scores, np.array(exact, dtype=float), rtol=1e-6)


def test_auroc_of_many_patients_is_near_exact(simulate_predictions: Simulate, scatter: Callable[..., object]) -> None:
    """With the fewest bins, the error is a few hundredths of the spread over resamples."""
    generator = np.random.default_rng(4)
    found = simulate_predictions(generator, methods=1, seeds=1, patients=2600, scatter=scatter(), windows=1)[0, 0]
    test = resampled_test_set(found, "recording", resamples=20)
    assert FEWEST_BINS * test.patients > CELLS
    scores = resampled_scores(test, found.probability, multi=False)["auroc"]
    exact = [repeated(test, found.probability, resample, multi=False)["auroc"] for resample in range(21)]
    assert np.abs(scores - np.array(exact, dtype=float)).max() < 0.05 * scores.std()


def test_the_area_to_first_order_is_that_of_the_test_set_and_near_that_of_resamples(predictions: Predictions) -> None:
    test = resampled_test_set(predictions, "heartbeat", resamples=40)
    lines = ResampledLines(test.truth, predictions.probability, False, test)
    exact, near = lines.areas(), lines.areas_to_first_order()  # (1+R, C)
    np.testing.assert_allclose(near[0], exact[0], rtol=1e-6)
    error = np.sqrt(np.square(near - exact).mean(axis=0))  # (C,)
    assert (error < 0.6 * exact.std(axis=0)).all()


def test_a_class_that_a_resample_lacks_does_not_count_as_zero() -> None:
    """One of six patients has the third class: many resamples lack it, and a perfect method still scores 1 there."""
    truth = np.eye(3, dtype=np.int64)[[0, 0, 0, 1, 1, 2]]
    names = np.array([f"p{number}" for number in range(6)])
    perfect = Predictions(truth.astype(np.float32), truth, names, names)
    test = resampled_test_set(perfect, "heartbeat", resamples=200)
    assert (test.excess[:, 5] == -1).any()
    scores = resampled_scores(test, perfect.probability, multi=False)
    assert (scores["f1"] == 1).all()
    assert scores["auroc"][np.isfinite(scores["auroc"])] == pytest.approx(1)


def test_auroc_is_undefined_where_no_class_has_both_signs() -> None:
    names = np.array(["p0", "p1"])
    found = Predictions(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.int64), names, names)
    test = resampled_test_set(found, "heartbeat", resamples=50)
    alone = (test.excess != 0).any(axis=1)
    auroc = resampled_scores(test, found.probability, multi=False)["auroc"]
    assert (np.isnan(auroc) == alone).all()
    assert alone.any()


def test_the_bins_reach_from_the_lowest_score_to_the_highest() -> None:
    names = np.array([f"p{number}" for number in range(400)])
    truth = (np.arange(400) % 2)[:, None]
    scores = np.linspace(0, 1, 400, dtype=np.float32)[:, None]
    test = resampled_test_set(Predictions(scores, truth, names, names), "heartbeat", resamples=1)
    above = bootstrap._placed(test, scores[:, 0], truth[:, 0] == 1).above
    assert np.flatnonzero(above.any(axis=0))[[0, -1]].tolist() == [0, CELLS // 400 - 1]


@pytest.mark.parametrize("positives", [1, 3])
def test_one_line_of_a_sign_is_enough_for_an_area(positives: int) -> None:
    truth, names = (np.arange(4) < positives).astype(np.int64)[:, None], np.array(["p0", "p1", "p2", "p3"])
    found = Predictions(np.array([[0.9], [0.2], [0.4], [0.3]], np.float32), truth, names, names)
    test = resampled_test_set(found, "heartbeat", resamples=2)
    lines = ResampledLines(test.truth, pooled(test, found.probability), True, test)
    expected = {1: 1.0, 3: 2 / 3}[positives]
    assert lines.areas()[0] == lines.areas_to_first_order()[0] == pytest.approx(expected)


def test_an_empty_test_set_scores_nothing() -> None:
    names = np.array([], dtype=np.str_)
    empty = Predictions(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.int64), names, names)
    for unit in ("heartbeat", "recording"):
        scores = resampled_scores(resampled_test_set(empty, unit, resamples=2), empty.probability, multi=False)
        assert all(np.isnan(values).all() for values in scores.values())
