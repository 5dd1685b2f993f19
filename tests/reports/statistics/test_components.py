"""Sources of scatter: planted variances are found, and what the runs do not vary is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from benchmark.results.names import OVERALL
from reports.statistics.columns import ScoreColumn
from reports.statistics.components import (
    FINE_TUNING,
    PATIENTS,
    PATIENTS_OF_ONE_RUN,
    PRETRAINING,
    SUBSET,
    components,
    nested_variances,
    sources,
)
from reports.statistics.test_set import Floats

TOGETHER = f"{PRETRAINING} + {SUBSET} + {FINE_TUNING}"


def drawn(runs: int, sd: dict[str, float], encoders: int = 1) -> tuple[Floats, np.ndarray]:
    """(S, 1+R) scores of many runs with known deviations per source, and the (S,) encoders they started from."""
    generator = np.random.default_rng(1)
    group = np.arange(runs) * encoders // runs
    point = sd["pretraining"] * generator.normal(size=encoders)[group] + sd["run"] * generator.normal(size=runs)
    noise = sd["patients"] * generator.normal(size=2000) + sd["alone"] * generator.normal(size=(runs, 2000))
    point += sd["alone"] * generator.normal(size=runs)
    return np.column_stack([point, point[:, None] + noise]), group.astype(str)


def test_one_way_analysis_of_variance_by_hand() -> None:
    """Groups (1, 3) and (5, 9): mean square within (2 + 8) / 2 = 5, between 25; (25 - 5) / 2 = 10."""
    between, within = nested_variances(np.array([1.0, 3.0, 5.0, 9.0]), np.array(["a", "a", "b", "b"]))
    assert (between, within) == (pytest.approx(10), pytest.approx(5))
    assert nested_variances(np.array([1.0, 3.0, 3.0, 1.0]), np.array(["a", "a", "b", "b"]))[0] == 0


def test_groups_may_differ_in_size() -> None:
    """Groups (1, 3) and (5, 7, 9): within 10 / 3, between 30; a group counts for 5 - 13 / 5 = 2.4 runs."""
    between, within = nested_variances(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), np.array(["a", "a", "b", "b", "b"]))
    assert (between, within) == (pytest.approx((30 - 10 / 3) / 2.4), pytest.approx(10 / 3))


@pytest.mark.parametrize(
    ("patients", "resamples", "reason"),
    [(1, 10, "one test patient"), (2, 1, "undefined in the resamples"), (1, 1, "one test patient")],
)
def test_without_resamples_of_patients_nothing_is_estimated(patients: int, resamples: int, reason: str) -> None:
    scores = np.random.default_rng(0).normal(size=(3, 11))
    scores[:, 1 + resamples :] = np.nan
    (only,) = sources(scores, patients, np.array(["a"] * 3), strict=False)
    assert (only.source, only.remark) == (PATIENTS, f"cannot be estimated here: {reason}")
    assert np.isnan(only.sd)
    first, *_ = sources(np.random.default_rng(0).normal(size=(3, 3)), 2, np.array(["a"] * 3), strict=False)
    assert np.isfinite(first.sd)


def test_planted_deviations_are_found() -> None:
    planted = {"patients": 0.02, "alone": 0.01, "pretraining": 0.05, "run": 0.03}
    scores, encoders = drawn(900, planted, encoders=300)
    parts = sources(scores, 10**6, encoders, strict=False)
    found = {part.source: part.sd for part in parts if np.isfinite(part.sd)}
    assert found == {
        PATIENTS: pytest.approx(0.02, rel=0.1),
        PATIENTS_OF_ONE_RUN: pytest.approx(0.01, rel=0.1),
        PRETRAINING: pytest.approx(0.05, rel=0.1),
        FINE_TUNING: pytest.approx(0.03, rel=0.1),
    }


@pytest.mark.parametrize(
    ("encoders", "strict", "estimated", "reasons"),
    [
        (1, False, FINE_TUNING, {PRETRAINING: "one pretraining", SUBSET: "one labelled subset"}),
        (5, False, f"{PRETRAINING} + {FINE_TUNING}", {SUBSET: "one labelled subset"}),
        (5, True, TOGETHER, {}),
        (1, True, f"{SUBSET} + {FINE_TUNING}", {PRETRAINING: "one pretraining"}),
    ],
)
def test_what_seeds_do_not_vary_is_said(encoders: int, strict: bool, estimated: str, reasons: dict[str, str]) -> None:
    planted = {"patients": 0.02, "alone": 0.01, "pretraining": 0.0, "run": 0.03}
    scores, names = drawn(5, planted, encoders)
    parts = {part.source: part for part in sources(scores, 500, names, strict=strict)}
    assert set(parts) == {PATIENTS, PATIENTS_OF_ONE_RUN, estimated, *reasons}
    assert np.isfinite(parts[estimated].sd)
    for source, reason in reasons.items():
        assert np.isnan(parts[source].sd)
        assert parts[source].remark == f"cannot be estimated here: {reason}"
    assert ("cannot be told apart" in parts[estimated].remark) == ("+" in estimated)


def test_one_seed_says_so_and_a_row_without_encoder_has_no_pretraining() -> None:
    scores, _ = drawn(1, {"patients": 0.02, "alone": 0.0, "pretraining": 0.0, "run": 0.0})
    parts = {part.source: part for part in sources(scores, 500, np.array([""]), strict=False)}
    assert set(parts) == {PATIENTS, SUBSET, FINE_TUNING}
    assert parts[FINE_TUNING].remark == "cannot be estimated here: one seed"


def test_the_frame_has_no_overall_and_no_variant_without_scores(
    simulate_columns: Callable[..., list[ScoreColumn]], scatter: Callable[..., object]
) -> None:
    design = {"methods": 2, "seeds": 3, "patients": 60, "scatter": scatter()}
    f1 = simulate_columns(np.random.default_rng(2), resamples=50, **design)[0]
    scores = f1.scores.copy()
    scores[1] = np.nan
    scores[0, 0] = np.nan  # of one seed alone
    frame = components([replace(f1, scores=scores), replace(f1, dataset="", metric=OVERALL)], strict=False)
    assert set(frame["variant"]) == {"m0"}
    assert set(frame["metric"]) == {"f1"}
    assert frame["sd"].notna().tolist() == [True, True, True, False, False]
    assert frame["source"].tolist() == [PATIENTS, PATIENTS_OF_ONE_RUN, FINE_TUNING, PRETRAINING, SUBSET]
