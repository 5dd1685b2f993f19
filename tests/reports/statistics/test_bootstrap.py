"""Resamples of test patients, scores under them against repeated lines, and the columns of a table."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.results.metrics import (
    COLUMNS,
    FURTHER,
    METRICS,
    Lines,
    class_scores,
    macro,
    score,
    score_both_units,
)
from benchmark.results.names import OVERALL
from benchmark.results.store import Predictions, Store
from reports.load import load
from reports.statistics import bootstrap
from reports.statistics import bootstrap as columns_module
from reports.statistics.bootstrap import (
    CELLS,
    FEWEST_BINS,
    ResampledLines,
    ResampledTestSet,
    ScoreColumn,
    UnequalTestSets,
    bootstrap_counts,
    pooled,
    resampled_scores,
    resampled_test_set,
    score_columns,
)


def some_predictions(patients: int = 7, windows: int = 3) -> Predictions:
    generator = np.random.default_rng(0)
    patient = np.repeat([f"p{number}" for number in range(patients)], windows)
    recording = np.array([f"{name}/{k % 2}" for k, name in enumerate(patient)])
    truth = np.eye(2, dtype=np.int64)[(np.arange(patients) % 2).repeat(windows)]
    return Predictions(generator.random(truth.shape, dtype=np.float32), truth, recording, patient)


def test_every_resample_draws_as_many_patients_as_there_are() -> None:
    names = np.array([f"p{number}" for number in range(50)])
    counts_minus_one = bootstrap_counts(names, resamples=400, seed=0)
    assert counts_minus_one.shape == (401, 50)
    assert not counts_minus_one[0].any()
    times = counts_minus_one + 1
    assert (times.sum(axis=1) == 50).all()
    assert times.min() == 0
    assert abs(float((times[1:] == 0).mean()) - (1 - 1 / 50) ** 50) < 0.01
    assert abs(float(times[1:].var()) - (1 - 1 / 50)) < 0.03


def test_the_draws_depend_on_the_patients_and_the_seed_alone() -> None:
    shuffled, first = np.random.default_rng(1).permutation(21), some_predictions()
    again = Predictions(*(getattr(first, name)[shuffled] for name in ("probability", "truth", "recording", "patient")))
    one, other = (resampled_test_set(found, "recording", resamples=5) for found in (first, again))
    assert (one.counts_minus_one == other.counts_minus_one).all()
    assert (one.counts_minus_one != resampled_test_set(first, "recording", resamples=5, seed=1).counts_minus_one).any()
    assert (one.counts_minus_one == resampled_test_set(first, "heartbeat", resamples=5).counts_minus_one).all()
    stored = bootstrap_counts(np.array(["a", "b", "c", "d"]), resamples=3, seed=0)
    assert stored.tolist() == [[0, 0, 0, 0], [1, -1, 0, 0], [1, 0, -1, 0], [0, 0, 0, 0]], "in every version"


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
    times = (test.counts_minus_one[resample] + 1).astype(int)[test.patient]
    return score(pooled(test, probability).repeat(times, axis=0), test.truth.repeat(times, axis=0), multi=multi).values


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
@pytest.mark.parametrize("multi", [False, True])
def test_the_test_set_scores_as_stored_and_a_resample_as_its_repeated_lines(
    predictions: Predictions, unit: str, multi: bool
) -> None:
    """F1 and ACC of the test set to the bit and of resamples to rounding, AUROC to a small part of its spread."""
    found = as_multi_label(predictions) if multi else predictions
    test = resampled_test_set(found, unit, resamples=40)
    scores = resampled_scores(test, found.probability, multi=multi)
    stored = score_both_units(found.probability, found.truth, found.recording, multi=multi)[unit].values
    expected = [repeated(test, found.probability, resample, multi=multi) for resample in range(1, 41)]
    for metric in COLUMNS:
        assert scores[metric][0] == pytest.approx(stored[metric], rel=1e-12 if metric == "auroc" else 0, abs=0), metric
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
    expected = [class_scores(repeated_lines(lines, counts_minus_one)) for counts_minus_one in test.counts_minus_one]
    for name, values in by_class.items():
        error = values - np.array([own[name] for own in expected])  # (1+R, C)
        assert np.nanmax(np.abs(error[0])) < 1e-7, name
        loose = name in ("auroc", "auprc", "sens90") and decimals == 8
        allowed = 0.25 * np.nanstd(values, axis=0) if loose else np.full(error.shape[1], 2e-6)  # (C,)
        assert (np.nanstd(error, axis=0) < np.maximum(allowed, 2e-6)).all(), name
        assert (np.isnan(values) == np.isnan([own[name] for own in expected])).all(), name
    for name in FURTHER:
        own = METRICS[name].of(lines)
        assert own[0] == pytest.approx(METRICS[name].of(repeated_lines(lines, test.counts_minus_one[0])), abs=1e-7)
        if name != "ece" or multi:
            np.testing.assert_allclose(own, macro(by_class[name]), atol=1e-12)


def repeated_lines(lines: ResampledLines, counts_minus_one: NDArray[np.float32]) -> Lines:
    times = (counts_minus_one + 1).astype(int)[lines.test.patient]
    return Lines(lines.truth.repeat(times, axis=0), lines.probability.repeat(times, axis=0), lines.multi)


def test_of_few_patients_pairs_are_counted_as_of_many(predictions: Predictions) -> None:
    """The pairs of patients, and the product of bins, give the same bits; 120 patients are few for 133 bins."""
    test = resampled_test_set(predictions, "heartbeat", resamples=30)
    bins, truth = CELLS // 120, predictions.truth == 1
    placed = [bootstrap._placed(test, predictions.probability[:, c], truth[:, c]) for c in range(truth.shape[1])]
    assert test.patients <= 2 * bins == 2 * placed[0].above.shape[1]
    by_bins = [
        ((test.counts_minus_one @ own.above) * (test.counts_minus_one @ own.beaten)).sum(axis=1) for own in placed
    ]
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


def test_a_class_that_a_resample_lacks_does_not_count_as_zero() -> None:
    """One of six patients has the third class: many resamples lack it, and a perfect method still scores 1 there."""
    truth = np.eye(3, dtype=np.int64)[[0, 0, 0, 1, 1, 2]]
    names = np.array([f"p{number}" for number in range(6)])
    perfect = Predictions(truth.astype(np.float32), truth, names, names)
    test = resampled_test_set(perfect, "heartbeat", resamples=200)
    assert (test.counts_minus_one[:, 5] == -1).any()
    scores = resampled_scores(test, perfect.probability, multi=False)
    assert (scores["f1"] == 1).all()
    assert scores["auroc"][np.isfinite(scores["auroc"])] == pytest.approx(1)


def test_what_has_no_positive_pair_is_undefined() -> None:
    names = np.array(["p0", "p1"])
    found = Predictions(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.int64), names, names)
    test = resampled_test_set(found, "heartbeat", resamples=50)
    alone = (test.counts_minus_one != 0).any(axis=1)
    auroc = resampled_scores(test, found.probability, multi=False)["auroc"]
    assert (np.isnan(auroc) == alone).all()
    assert alone.any()
    empty = Predictions(*(getattr(found, name)[:0] for name in ("probability", "truth", "recording", "patient")))
    for unit in ("heartbeat", "recording"):
        scores = resampled_scores(resampled_test_set(empty, unit, resamples=2), empty.probability, multi=False)
        assert all(np.isnan(values).all() for values in scores.values())


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
    assert lines.areas()[0] == pytest.approx(expected)


Place = tuple[str, str, float, int]


@pytest.fixture
def columns_predictions(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]], scatter: Callable[..., object]
) -> dict[Place, Predictions]:
    """Two variants on two datasets at two ratios with two seeds."""
    found = {}
    for number, (dataset, ratio) in enumerate([("a", 0.3), ("b", 0.3), ("a", 0.01), ("b", 0.01)]):
        generator = np.random.default_rng([9, number % 2])  # the test set of a dataset is the same at both ratios
        runs = simulate_predictions(generator, methods=2, seeds=2, patients=30, scatter=scatter(run=1 - ratio))
        found |= {(f"m{method}", dataset, ratio, 41 + seed): run for (method, seed), run in runs.items()}
    return found


def columns_of(root: Path, unit: str = "recording", resamples: int = 20) -> list[ScoreColumn]:
    run = load(root)
    return score_columns(run, run.plan.cells, unit, resamples=resamples)


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
def test_columns_hold_the_scores_of_the_cells_in_any_order_and_overall_last(
    columns_predictions: dict[Place, Predictions], write_predictions: Callable[..., Path], unit: str
) -> None:
    run = load(write_predictions(columns_predictions))
    cells = list(run.plan.cells)
    random.Random(0).shuffle(cells)
    columns, stated, again, other = (
        score_columns(run, own, unit, resamples=5, **seed)
        for own, seed in ((run.plan.cells, {}), (run.plan.cells, {"seed": 0}), (cells, {}), (cells, {"seed": 1}))
    )
    metrics = [(dataset, metric) for dataset in "ab" for metric in COLUMNS]
    places = [(ratio, *at) for ratio in (0.3, 0.01) for at in [*metrics, ("", OVERALL)]]
    assert [(column.ratio, column.dataset, column.metric) for column in columns] == places
    shuffled = {(column.ratio, column.dataset, column.metric): column for column in again}
    for number, (place, column) in enumerate(zip(places, columns, strict=True)):
        assert (column.variants, column.seeds, column.scores.shape) == (("m0", "m1"), (41, 42), (2, 2, 6))
        np.testing.assert_array_equal(column.scores, stated[number].scores)
        np.testing.assert_array_equal(column.scores, shuffled[place].scores)
        if column.metric == OVERALL:
            mean = np.mean([before.scores for before in columns[number - len(metrics) : number]], axis=0)
            np.testing.assert_allclose(column.scores, mean)
            continue
        for v, s in np.ndindex(2, 2):
            found = columns_predictions[column.variants[v], column.dataset, column.ratio, column.seeds[s]]
            stored = score_both_units(found.probability, found.truth, found.recording, multi=False)[unit].values
            assert column.scores[v, s, 0] == pytest.approx(stored[column.metric], rel=1e-12)
    assert not any(np.array_equal(one.scores, drawn.scores) for one, drawn in zip(stated, other, strict=True))


def test_what_is_missing_is_nan_and_what_is_not_planned_no_row(
    columns_predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    run = load(write_predictions(columns_predictions, not_run=[("m1", "a", 0.3, 42)]))
    columns = score_columns(run, run.plan.cells, "recording", resamples=2)
    for column in columns:
        gone = column.ratio == 0.3 and column.dataset in ("a", "")
        assert np.isnan(column.scores[..., 0]).tolist() == [[False, False], [False, gone]], column
    assert columns[0].encoders[1].tolist() == [columns[0].encoders[1][0], ""]
    cells = [cell for cell in run.plan.cells if (cell.variant, cell.ratio) != ("m1", 0.01)]
    columns = score_columns(run, cells, "recording", resamples=2)
    assert {(column.ratio, column.variants) for column in columns} == {(0.3, ("m0", "m1")), (0.01, ("m0",))}
    nothing = load(write_predictions(columns_predictions, name="nothing", not_run=list(columns_predictions)))
    assert score_columns(nothing, nothing.plan.cells, "recording", resamples=2) == []


def test_the_score_of_a_seed_is_the_mean_over_its_labelled_subsets_as_far_as_they_are_finished(
    columns_predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    run = load(write_predictions(columns_predictions))
    alone = score_columns(run, run.plan.cells, "recording", resamples=3)
    cells = [replace(cell, seed=41, subset=cell.seed - 41) for cell in run.plan.cells]
    for own, column in zip(score_columns(run, cells, "recording", resamples=3), alone, strict=True):
        assert (own.seeds, own.scores.shape) == ((41,), (2, 1, 4))
        np.testing.assert_allclose(own.scores[:, 0], column.scores.mean(axis=1), rtol=1e-12)
        if own.dataset:
            np.testing.assert_array_equal(own.every_run()[0], column.scores)
            assert own.every_run()[1].shape == (2, 2)
    lacking = [cell for cell in cells if (cell.variant, cell.subset) != ("m1", 1)]
    for own, column in zip(score_columns(run, lacking, "recording", resamples=3), alone, strict=True):
        np.testing.assert_array_equal(own.scores[1, 0], column.scores[1, 0])


def test_other_test_windows_in_one_cell_are_named(
    columns_predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    place = ("m1", "b", 0.01, 42)
    other = replace(columns_predictions[place], patient=columns_predictions[place].patient[::-1])
    with pytest.raises(UnequalTestSets, match=r"tested on different windows of b \(patient differs\)") as caught:
        columns_of(write_predictions(columns_predictions | {place: other}))
    assert "\n" not in str(caught.value)


def test_a_dataset_without_test_windows_has_no_part_in_overall(
    columns_predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    empty = {
        place: Predictions(*(getattr(found, name)[:0] for name in ("probability", "truth", "recording", "patient")))
        for place, found in columns_predictions.items()
        if place[1] == "b"
    }
    columns = [column for column in columns_of(write_predictions(columns_predictions | empty)) if column.ratio == 0.3]
    assert all(np.isnan(column.scores).all() for column in columns if column.dataset == "b")
    own = np.mean([column.scores for column in columns if column.dataset == "a"], axis=0)
    np.testing.assert_allclose(columns[-1].scores, own)


def test_a_score_that_a_resample_lacks_still_counts_in_overall() -> None:
    scores = np.array([[[0.5, 0.6]], [[0.75, 0.8]]], np.float32)  # (V, S, 1+R)
    one = ScoreColumn("recording", 0.3, "a", "acc", ("m0", "m1"), (41,), 30, np.full((2, 1), ""), scores)
    other = replace(one, dataset="b", patients=20, scores=np.array([[[0.7, np.nan]], [[0.25, np.nan]]], np.float32))
    (overall,) = columns_module._overall([one, other])
    np.testing.assert_array_equal(overall.scores, np.float32([[[0.6, np.nan]], [[0.5, np.nan]]]))
    assert (overall.patients, overall.metric) == (20, OVERALL)


def test_scores_of_several_labels_are_of_the_threshold(
    columns_predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    root = write_predictions(columns_predictions)
    store = Store(root)
    for key in store.row_keys():
        row = store.load_row(key)
        assert row is not None
        store.save_row(replace(row, labels="multi"), store.predictions(key))
    one = next(column for column in columns_of(root) if column.metric == "acc")
    found = columns_predictions["m0", one.dataset, one.ratio, 41]
    stored = score_both_units(found.probability, found.truth, found.recording, multi=True)["recording"].values
    assert one.scores[0, 0, 0] == pytest.approx(stored["acc"])
