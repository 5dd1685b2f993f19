"""Scores of single classes and their macro means against scikit-learn's, for one label a line and for several."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss, f1_score, roc_auc_score, roc_curve

from benchmark.results.metrics import CLASS_SCORES, FURTHER, METRICS, Lines, class_scores, stored


def lines_of(*, multi: bool, decimals: int, seed: int = 0) -> Lines:
    """180 lines of four classes, the last without a positive line."""
    generator = np.random.default_rng(seed)
    logit = generator.normal(size=(180, 4))
    if multi:
        truth = (generator.random((180, 4)) < [0.5, 0.3, 0.05, 0]).astype(np.int64)
        raw = 1 / (1 + np.exp(-logit - 2 * truth))
    else:
        truth = np.eye(4, dtype=np.int64)[generator.choice(3, size=180, p=[0.6, 0.3, 0.1])]
        odds = np.exp(logit + 2 * truth)
        raw = odds / odds.sum(axis=1, keepdims=True)
    return Lines(truth, raw.round(decimals).astype(np.float32), multi)


def ece_by_curve(truth: np.ndarray, probability: np.ndarray) -> float:
    """The calibration error from scikit-learn's curve, over 15 bins of equal width."""
    share, mean = calibration_curve(truth, probability, n_bins=15, strategy="uniform")
    edges = np.linspace(0, 1, 16)
    lines = np.bincount(np.searchsorted(edges[1:-1], probability), minlength=15)  # (15,)
    return float((lines[lines > 0] * np.abs(share - mean)).sum() / len(truth))


def of_class(truth: np.ndarray, probability: np.ndarray, decided: np.ndarray) -> dict[str, float]:
    wrong, right, _ = roc_curve(truth, probability, drop_intermediate=False)
    return {
        "auroc": roc_auc_score(truth, probability),
        "auprc": average_precision_score(truth, probability),
        "f1": f1_score(truth, decided),
        "sens90": right[wrong <= 0.1 + 1e-12].max(),
        "brier": brier_score_loss(truth, probability),
        "ece": ece_by_curve(truth, probability.astype(np.float64)),
    }


@pytest.mark.parametrize("multi", [False, True], ids=["single-label", "multi-label"])
@pytest.mark.parametrize("decimals", [8, 1], ids=["without ties", "with ties"])
def test_scores_of_a_class_equal_scikit_learns(multi: bool, decimals: int) -> None:
    lines = lines_of(multi=multi, decimals=decimals)
    found = class_scores(lines)
    assert tuple(found) == CLASS_SCORES
    for c in range(3):
        expected = of_class(lines.truth[:, c], lines.probability[:, c], lines.decisions[:, c])
        assert {name: values[c] for name, values in found.items()} == pytest.approx(expected, abs=1e-7)
    assert all(np.isnan(found[name][3]) for name in CLASS_SCORES if name != "f1")


@pytest.mark.parametrize("multi", [False, True], ids=["single-label", "multi-label"])
def test_further_metrics_are_the_macro_means_but_for_the_calibration_of_single_labels(multi: bool) -> None:
    lines = lines_of(multi=multi, decimals=2)
    by_class = class_scores(lines)
    for name in CLASS_SCORES:
        if name != "ece" or multi:
            assert METRICS[name].of(lines) == pytest.approx(np.nanmean(by_class[name]), abs=1e-12)
    if not multi:
        top = lines.probability.max(axis=1).astype(np.float64)
        right = lines.truth[np.arange(180), lines.probability.argmax(axis=1)]
        assert METRICS["ece"].of(lines) == pytest.approx(ece_by_curve(right, top), abs=1e-12)


def test_the_brier_score_of_single_labels_is_that_of_all_classes_by_their_number() -> None:
    lines = lines_of(multi=False, decimals=8)
    odds = lines.probability[:, :3].astype(np.float64)
    probability = odds / odds.sum(axis=1, keepdims=True)
    found = METRICS["brier"].of(Lines(lines.truth[:, :3], probability.astype(np.float32), False))
    of_all = brier_score_loss(lines.truth.argmax(axis=1), probability, scale_by_half=False)
    assert found == pytest.approx(of_all / 3, abs=1e-7)


def test_further_metrics_are_in_no_row() -> None:
    assert FURTHER == ("auprc", "sens90", "brier", "ece")
    assert {metric.name for metric in stored(multi=True)}.isdisjoint(FURTHER)


def test_a_test_set_where_every_line_has_every_class_has_no_score_but_the_calibration() -> None:
    lines = Lines(np.ones((3, 1), np.int64), np.full((3, 1), 0.75, np.float32), multi=False)
    found = {name: METRICS[name].of(lines) for name in FURTHER}
    assert [name for name, value in found.items() if np.isnan(value)] == ["auprc", "sens90", "brier"]
    assert found["ece"] == pytest.approx(0.25)
