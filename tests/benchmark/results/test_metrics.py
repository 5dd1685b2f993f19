"""Scores against scikit-learn's and values worked out by hand, and what cannot be scored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    roc_auc_score,
)

from benchmark.data.segments import Segmentation
from benchmark.results.metrics import (
    COLUMNS,
    METRICS,
    area_under_curve,
    average_precision,
    best_threshold,
    class_f1,
    decide,
    decided_by,
    f1,
    per_recording,
    pooled_by,
    score,
    score_both_units,
    score_retrieval,
    untested_note,
)

Arrays = dict[str, np.ndarray]
TRUTH = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])


def one_hot(labels: list[int], classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.int64)[labels]


def certain(labels: list[int], classes: int) -> np.ndarray:
    return one_hot(labels, classes).astype(np.float32)


def random_test(*, multi: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Truth and probability, with ties, of 60 samples and four classes, the last without a positive sample."""
    random = np.random.default_rng(seed)
    if multi:
        truth = (random.random((60, 4)) < [0.5, 0.3, 0.1, 0]).astype(np.int64)
        return truth, random.random((60, 4)).round(1).astype(np.float32)
    return one_hot(list(random.integers(0, 3, 60)), 4), random.dirichlet(np.ones(4), 60).round(1).astype(np.float32)


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_scikit_learns(multi: bool, seed: int) -> None:
    truth, probability = random_test(multi=multi, seed=seed)
    decided = decide(probability, multi=multi)
    counted = (truth + decided).any(axis=0)  # (C,)
    values = score(probability, truth, multi=multi).values
    assert values["f1"] == pytest.approx(f1_score(truth[:, counted], decided[:, counted], average="macro"))
    assert values["auroc"] == roc_auc_score(truth[:, :3], probability[:, :3], average="macro")
    assert values["acc"] == accuracy_score(truth, decided)
    assert METRICS["brier"].score(truth, probability, multi) == pytest.approx(
        np.mean([brier_score_loss(truth[:, c], probability[:, c]) for c in range(3)])
    )


@pytest.mark.parametrize("samples", [2, 3, 20, 500])
@pytest.mark.parametrize("digits", [0, 1, 6])
def test_rankings_are_scikit_learns_to_the_bit(samples: int, digits: int) -> None:
    random = np.random.default_rng(samples)
    for positives in range(1, samples, 1 + samples // 20):
        sign = random.permutation(np.arange(samples) < positives).astype(np.int64)  # (n,)
        probability = random.random(samples).round(digits).astype(np.float32)  # (n,) with ties
        assert area_under_curve(sign, probability) == roc_auc_score(sign, probability)
        assert average_precision(sign, probability) == average_precision_score(sign, probability)


def test_a_probability_that_is_not_a_number_is_no_score() -> None:
    with pytest.raises(ValueError, match="the model has diverged; lower its learning rate"):
        score(np.full((4, 2), np.nan, np.float32), TRUTH, multi=False)


def ece_by_curve(truth: np.ndarray, probability: np.ndarray) -> float:
    """The calibration error from scikit-learn's curve, over 15 bins of equal width."""
    share, mean = calibration_curve(truth, probability.astype(np.float64), n_bins=15, strategy="uniform")
    bins = np.searchsorted(np.linspace(0, 1, 16)[1:-1], probability.astype(np.float64))
    counts = np.bincount(bins, minlength=15)
    return float((counts[counts > 0] * np.abs(share - mean)).sum() / len(truth))


def test_the_calibration_error_is_of_the_most_probable_class_or_macro() -> None:
    truth, probability = random_test(multi=False, seed=1)
    right = truth[np.arange(60), probability.argmax(axis=1)]
    assert METRICS["ece"].score(truth, probability, False) == pytest.approx(
        ece_by_curve(right, probability.max(axis=1))
    )
    truth, probability = random_test(multi=True, seed=1)
    by_class = [ece_by_curve(truth[:, c], probability[:, c]) for c in range(3)]
    assert METRICS["ece"].score(truth, probability, True) == pytest.approx(np.mean(by_class))
    edges, right = np.arange(15)[:, None] / 15 + [0.001, 0.065], np.arange(15).repeat(2) % 2  # (15, 2), (30,)
    error = METRICS["ece"].score(right[:, None], edges.reshape(-1, 1).astype(np.float32), True)
    assert error == pytest.approx(np.abs(edges.sum(1) - 2 * right[::2]).sum() / 30)


@pytest.mark.parametrize(
    ("negatives", "expected"),
    [([0.6] + [0.1] * 9, 1.0), ([0.6, 0.6] + [0.1] * 8, 0.0), ([0.5] + [0.1] * 9, 1.0)],
    ids=["one of ten above", "two of ten above", "a tie"],
)
def test_sensitivity_is_at_one_false_alarm_in_ten(negatives: list[float], expected: float) -> None:
    truth, probability = np.array([[1]] + [[0]] * 10), np.array([[0.5], *([p] for p in negatives)], np.float32)
    assert METRICS["sens90"].score(truth, probability, True) == expected
    ties = np.tile(np.linspace(0, 1, 20), 2)[:, None].astype(np.float32)
    assert METRICS["sens90"].score(np.repeat([[1], [0]], 20, axis=0), ties, True) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("truth", "decided", "expected"),
    [
        ([0, 0, 1, 1], [0, 1, 1, 1], (2 / 3 + 4 / 5) / 2),  # class 2 is neither true nor predicted: left out
        ([0, 0, 1, 1], [0, 2, 1, 1], (2 / 3 + 1 + 0) / 3),  # class 2 is predicted and never true: 0
        ([0, 0, 2, 2], [0, 0, 0, 0], (2 / 3 + 0) / 2),  # class 2 is never predicted: 0
    ],
)
def test_macro_f1_by_hand(truth: list[int], decided: list[int], expected: float) -> None:
    assert f1(one_hot(truth, 3), certain(decided, 3), False) == pytest.approx(expected)
    assert np.nanmean(class_f1(one_hot(truth, 3), certain(decided, 3), False)) == pytest.approx(expected)


def test_several_labels_count_above_one_half() -> None:
    probability = np.array([[0.9, 0.6], [0.9, 0.6], [0.2, 0.1]], dtype=np.float32)
    values = score(probability, np.array([[1, 1], [1, 0], [0, 0]]), multi=True).values
    assert (values["acc"], values["acc_per_label"]) == (pytest.approx(2 / 3), pytest.approx(5 / 6))
    assert decide(np.array([[0.5, 0.51]], dtype=np.float32), multi=True).tolist() == [[0, 1]]
    assert decide(np.array([[0.4, 0.4, 0.2]], dtype=np.float32), multi=False).tolist() == [[1, 0, 0]]


def test_rows_hold_the_stored_metrics() -> None:
    assert tuple(score(TRUTH.astype(np.float32), TRUTH, multi=False).values) == COLUMNS
    assert tuple(score(TRUTH.astype(np.float32), TRUTH, multi=True).values) == (*COLUMNS, "acc_per_label")


def test_what_cannot_be_computed_is_none_with_its_reason() -> None:
    one_class = score(certain([0, 0], 3), one_hot([0, 0], 3), multi=False)
    assert (one_class.values["f1"], one_class.values["auroc"]) == (1.0, None)
    assert one_class.undefined == {"auroc": "no class has both signs in the test set"}
    empty = score_both_units(np.empty((0, 3), np.float32), np.empty((0, 3), np.int64), np.array([], str), multi=True)
    for scores in empty.values():
        assert set(scores.values.values()) == {None}
        assert scores.undefined == dict.fromkeys(scores.values, "no test window")


def test_a_patient_with_many_recordings_counts_once_in_retrieval() -> None:
    hits = np.array([[1, 1, 0, 0.25, 0], [0, 1, 0, 0.75, 0], [0, 1, 1, 0.5, 1]], np.float32)
    scores = score_retrieval(hits, np.array(["p", "p", "q"])).values
    assert [*scores.values()] == pytest.approx([1 / 4, 1, 1 / 2, 1 / 2, 1 / 2])


def test_a_recording_is_the_mean_or_the_maximum_of_its_windows() -> None:
    probability = np.array([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]], np.float32)
    truth, recording = one_hot([0, 1, 0, 1], 2), np.array(["b", "a", "b", "a"])
    for pool, expected in (("mean", [[0.4, 0.6], [0.2, 0.8]]), ("max", [[0.6, 0.8], [0.3, 0.9]])):
        pooled, pooled_truth, recordings = per_recording(probability, truth, recording, pool)
        assert recordings.tolist() == ["a", "b"]
        np.testing.assert_allclose(pooled, np.array(expected, np.float32), rtol=1e-6)
        np.testing.assert_array_equal(pooled_truth, one_hot([1, 0], 2))
        scores = score_both_units(probability, truth, recording, multi=False, pool=pool)
        assert (scores["heartbeat"].values["acc"], scores["recording"].values["acc"]) == (1 / 4, 1 / 2)
    np.testing.assert_allclose(per_recording(probability, truth, recording)[0], [[0.4, 0.6], [0.2, 0.8]], rtol=1e-6)


def test_the_classes_that_are_not_tested_are_named() -> None:
    assert untested_note(one_hot([0, 0, 1], 4), ("NORM", "MI", "CD", "HYP")) == ["no test window of class CD, HYP"]
    assert untested_note(one_hot([0, 1], 2), ("NORM", "MI")) == []


@pytest.fixture(scope="session")
def official(shared_reference: Path) -> Arrays:
    """Compute what the code of the PTB-XL benchmark gives."""
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        return {name: stored[name] for name in stored.files if name.startswith(("crops", "metrics"))}


@pytest.mark.parametrize("samples", [250, 600])
def test_crops_vote_as_in_the_ptb_xl_benchmark(official: Arrays, samples: int) -> None:
    of_length = f"crops_L1000_c{samples}"
    first = official[f"{of_length}/idmap"] == 0
    cut = Segmentation("recordings", samples, rate=100, stride=samples // 2)
    starts = cut.step(1) * np.arange(int(cut.trials_in(np.array(1000), 1)))
    np.testing.assert_array_equal(starts, official[f"{of_length}/starts"][first])
    for pool in ("max", "mean"):
        pooled = pooled_by(official[f"{of_length}/idmap"], official[f"{of_length}/preds"], pool)  # type: ignore[arg-type]
        np.testing.assert_allclose(pooled, official[f"{of_length}/agg_{pool}"], rtol=1e-6)


def test_areas_are_those_of_the_ptb_xl_benchmark(official: Arrays) -> None:
    truth, probability = official["metrics/y"], official["metrics/p"]
    assert METRICS["auroc"].score(truth, probability, True) == pytest.approx(float(official["metrics/macro_auc"]))


def test_a_threshold_is_the_highest_score_at_which_a_metric_is_best_on_validation() -> None:
    sign, score = np.array([1, 1, 0, 1, 0, 0, 0]), np.array([0.9, 0.8, 0.7, 0.7, 0.3, 0.2, 0.1], np.float32)
    for name, measure in (("f1_chosen", f1_score), ("balanced_accuracy", balanced_accuracy_score)):
        quality = [measure(sign, score >= threshold) for threshold in score]
        chosen = best_threshold(name, sign, score)
        assert chosen == pytest.approx(score[int(np.argmax(quality))])
        assert best_threshold(name, np.ones(7, np.int64), score) == 0.5
    truth = np.stack([sign, 1 - sign], axis=1)
    probability = np.stack([score, 1 - score], axis=1)
    decided = decided_by("balanced_accuracy", (truth, probability), probability)
    by_class = [balanced_accuracy_score(truth[:, number], decided[:, number]) for number in range(2)]
    assert METRICS["balanced_accuracy"].score(truth, decided, True) == pytest.approx(np.mean(by_class))
