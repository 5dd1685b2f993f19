"""From predictions in a store to the runs of each column: paired draws, missing runs, Overall."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.metrics import score_both_units
from benchmark.results.names import OVERALL
from benchmark.results.rows import Predictions
from benchmark.results.store import Store
from reports.runs.run import open_run
from reports.statistics import columns as columns_module
from reports.statistics.columns import ScoreColumn, UnequalTestSets, columns_at, score_columns

Place = tuple[str, str, float, int]


@pytest.fixture
def predictions(
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
    run = open_run(root)
    return score_columns(run, run.plan.cells, unit, resamples=resamples)


def test_one_line_of_columns_per_ratio_and_overall_last(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    columns = columns_of(write_predictions(predictions))
    places = [(column.ratio, column.dataset, column.metric) for column in columns]
    metrics = [(dataset, metric) for dataset in "ab" for metric in ("f1", "auroc", "acc")]
    assert places == [(ratio, *at) for ratio in (0.3, 0.01) for at in [*metrics, ("", OVERALL)]]
    assert {column.scores.shape for column in columns} == {(2, 2, 21)}
    assert all(column.variants == ("m0", "m1") and column.seeds == (41, 42) for column in columns)


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
def test_the_first_scores_are_those_of_the_cells(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path], unit: str
) -> None:
    for column in columns_of(write_predictions(predictions), unit, resamples=2):
        if column.metric == OVERALL:
            continue
        for v, s in np.ndindex(2, 2):
            found = predictions[column.variants[v], column.dataset, column.ratio, column.seeds[s]]
            stored = score_both_units(found.probability, found.truth, found.recording, multi=False)[unit].values
            assert column.scores[v, s, 0] == pytest.approx(stored[column.metric], rel=1e-12)


def test_overall_is_the_mean_of_its_columns_on_every_resample(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    columns = [column for column in columns_of(write_predictions(predictions)) if column.ratio == 0.3]
    mean = np.mean([column.scores for column in columns[:-1]], axis=0)
    np.testing.assert_allclose(columns[-1].scores, mean)


def test_the_order_of_the_cells_changes_nothing(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    root = write_predictions(predictions)
    run = open_run(root)
    shuffled = list(run.plan.cells)
    random.Random(0).shuffle(shuffled)
    again = {
        (column.ratio, column.dataset, column.metric): column
        for column in score_columns(run, shuffled, "recording", resamples=20)
    }
    for column in columns_of(root):
        other = again[column.ratio, column.dataset, column.metric]
        np.testing.assert_array_equal(column.scores, other.scores, strict=True)
        assert column.seeds == other.seeds


def test_a_run_that_is_missing_is_nan(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    columns = columns_of(write_predictions(predictions, not_run=[("m1", "a", 0.3, 42)]))
    for column in columns:
        missing = np.isnan(column.scores[..., 0])
        gone = column.ratio == 0.3 and column.dataset in ("a", "")
        assert missing.tolist() == [[False, False], [False, gone]], column
    assert columns[0].encoders[1].tolist() == [columns[0].encoders[1][0], ""]


def test_a_variant_that_is_not_planned_at_a_ratio_is_no_row_there(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    run = open_run(write_predictions(predictions))
    cells = [cell for cell in run.plan.cells if (cell.variant, cell.ratio) != ("m1", 0.01)]
    columns = score_columns(run, cells, "recording", resamples=2)
    assert {(column.ratio, column.variants) for column in columns} == {(0.3, ("m0", "m1")), (0.01, ("m0",))}


def test_other_test_windows_in_one_cell_are_named(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    place = ("m1", "b", 0.01, 42)
    other = replace(predictions[place], patient=predictions[place].patient[::-1])
    with pytest.raises(UnequalTestSets, match=r"tested on different windows of b \(patient differs\)") as caught:
        columns_of(write_predictions(predictions | {place: other}))
    assert "\n" not in str(caught.value)


def test_a_dataset_without_test_windows_has_no_part_in_overall(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    empty = {
        place: Predictions(*(getattr(found, name)[:0] for name in ("probability", "truth", "recording", "patient")))
        for place, found in predictions.items()
        if place[1] == "b"
    }
    columns = [column for column in columns_of(write_predictions(predictions | empty)) if column.ratio == 0.3]
    assert all(np.isnan(column.scores).all() for column in columns if column.dataset == "b")
    own = np.mean([column.scores for column in columns if column.dataset == "a"], axis=0)
    np.testing.assert_allclose(columns[-1].scores, own)


def test_the_seed_draws_the_resamples_and_is_zero_where_none_is_stated(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    run = open_run(write_predictions(predictions))
    unit, options = "recording", {"resamples": 5}
    whole, stated, other = (
        score_columns(run, run.plan.cells, unit, **options, **more) for more in ({}, {"seed": 0}, {"seed": 1})
    )
    first = columns_at(run, run.plan.cells, 0.3, unit, **options)
    for one, again, drawn, alone in zip(whole[: len(first)], stated, other, first, strict=False):
        assert np.array_equal(one.scores, again.scores)
        assert np.array_equal(one.scores, alone.scores)
        assert not np.array_equal(one.scores, drawn.scores)


def test_scores_of_several_labels_are_of_the_threshold(
    predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]
) -> None:
    root = write_predictions(predictions)
    store = Store(root)
    for key in store.row_keys():
        row = store.load_row(key)
        assert row is not None
        store.save_row(replace(row, labels="multi"), store.predictions(key))
    one = next(column for column in columns_of(root) if column.metric == "acc")
    found = predictions["m0", one.dataset, one.ratio, 41]
    stored = score_both_units(found.probability, found.truth, found.recording, multi=True)["recording"].values
    assert one.scores[0, 0, 0] == pytest.approx(stored["acc"])


def test_no_row_no_runs(predictions: dict[Place, Predictions], write_predictions: Callable[..., Path]) -> None:
    assert columns_of(write_predictions(predictions, not_run=list(predictions))) == []


def test_a_score_that_a_resample_lacks_still_counts_in_overall() -> None:
    scores = np.array([[[0.5, 0.6]], [[0.75, 0.8]]], np.float32)  # (V, S, 1+R)
    one = ScoreColumn("recording", 0.3, "a", "acc", ("m0", "m1"), (41,), 30, np.full((2, 1), ""), scores)
    other = replace(one, dataset="b", patients=20, scores=np.array([[[0.7, np.nan]], [[0.25, np.nan]]], np.float32))
    (overall,) = columns_module._overall([one, other])
    np.testing.assert_array_equal(overall.scores, np.float32([[[0.6, np.nan]], [[0.5, np.nan]]]))
    assert (overall.patients, overall.metric) == (20, OVERALL)
