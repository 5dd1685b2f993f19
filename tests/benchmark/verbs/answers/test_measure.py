"""Scores and verdicts, on columns made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmark.verbs.answers.measure import ahead, apart, at_chance, difference, mean_of, paired, shown
from reports.statistics.columns import ScoreColumn
from reports.statistics.interval import Estimate, estimate

SPREAD = 0.02


def column(*means: float, seed: int = 0, patients: int = 60) -> ScoreColumn:
    """Rows 'a', 'b', ... with these means, three seeds and 400 resamples, alike in what the patients do to them."""
    common = SPREAD * np.random.default_rng(0).standard_normal((1, 1, 401))
    common[..., 0] = 0
    runs = 0.004 * np.random.default_rng([1, seed]).standard_normal((len(means), 3, 1))
    scores = np.array(means)[:, None, None] + common + runs - runs.mean(1, keepdims=True)  # (V, 3, 401)
    names = tuple("abcdef"[: len(means)])
    return ScoreColumn("recording", 0.3, "ptb-xl", "auroc", names, (1, 2, 3), patients, np.empty((0,)), scores)


def test_chance_is_told_from_a_score_row_by_row() -> None:
    findings = at_chance({"linear": column(0.51, 0.70), "finetune": column(0.49)})
    assert [(finding.what, finding.passed) for finding in findings] == [
        ("a, linear", True),
        ("b, linear", False),
        ("a, finetune", True),
    ]
    assert "Holm, 3 rows" in findings[0].wanted


def test_features_count_once() -> None:
    both = replace(column(0.5, 0.9), variants=("a", "features"))
    found = at_chance({"one": both, "two": both})
    assert [finding.what for finding in found] == ["a, one", "features, one", "a, two"]


def test_features_of_another_run_count_too() -> None:
    one, other = (replace(column(0.5, 0.5, seed=seed), variants=("a", "features")) for seed in (0, 1))
    found = at_chance({"one": one, "two": other})
    assert [finding.what for finding in found] == ["a, one", "features, one", "a, two", "features, two"]


def test_a_mean_of_estimates_has_their_errors_by_the_root_of_their_number() -> None:
    one = Estimate(0.10, 0.0, 0.0, 0.0, 0.03, 0.0, 3, 0.0)
    other = Estimate(0.04, 0.0, 0.0, 0.0, 0.0, 0.04, 3, 0.0)
    found = mean_of([one, other])
    assert (found.mean, found.patients_se) == (pytest.approx(0.07), pytest.approx(0.025))
    assert found.high == pytest.approx(0.07 + 1.96 * 0.025)


def test_a_difference_is_ahead_only_if_its_interval_is() -> None:
    assert ahead("x", difference(column(0.70, 0.60), "a", "b")).passed
    assert not ahead("x", difference(column(0.60, 0.70), "a", "b")).passed
    assert not ahead("x", difference(column(0.601, 0.600), "a", "b")).passed


def test_rows_of_two_arms_are_paired_by_patient() -> None:
    one, other = column(0.70), column(0.66, seed=1)
    alone = estimate(one.scores[0], one.patients)
    found = paired((one, "a"), (other, "a"))
    assert found.mean == pytest.approx(0.04)
    assert found.high - found.low < (alone.high - alone.low) / 2
    with pytest.raises(AssertionError, match="cannot be paired"):
        paired((one, "a"), (column(0.6, patients=50), "a"))


def test_estimates_of_other_patients_add_their_variances() -> None:
    one = Estimate(0.10, 0.0, 0.0, 0.0, 0.03, 0.0, 3, 0.0)
    other = Estimate(0.04, 0.0, 0.0, 0.0, 0.0, 0.04, 3, 0.0)
    found = apart(one, other)
    assert (found.mean, found.patients_se) == (pytest.approx(0.06), pytest.approx(0.05))
    assert found.low == pytest.approx(0.06 - 1.96 * 0.05)
    assert shown(found, signed=True) == "+0.060 (-0.038 to +0.158)"
