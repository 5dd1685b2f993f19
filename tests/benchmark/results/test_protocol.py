"""Crops of a recording and the scores of the PTB-XL benchmark, equal to what its code gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmark.data.segments import Segmentation
from benchmark.results.metrics import METRICS, Lines, class_scores, pooled_by
from benchmark.results.names import Pool

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="session")
def official(shared_reference: Path) -> Arrays:
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        return {name: stored[name] for name in stored.files if name.startswith(("crops", "metrics"))}


@pytest.mark.parametrize("samples", [250, 600])
def test_a_recording_has_the_official_crops(official: Arrays, samples: int) -> None:
    own = f"crops_L1000_c{samples}"
    cut = Segmentation("recordings", samples, rate=100, stride=samples // 2)
    first = official[f"{own}/idmap"] == 0
    starts = cut.step(1) * np.arange(int(cut.trials_in(np.array(1000), 1)))
    np.testing.assert_array_equal(starts, official[f"{own}/starts"][first])
    np.testing.assert_array_equal(starts + samples, official[f"{own}/ends"][first])


@pytest.mark.parametrize("pool", ["max", "mean"])
@pytest.mark.parametrize("samples", [250, 600])
def test_crops_vote_as_the_official_ones(official: Arrays, samples: int, pool: Pool) -> None:
    own = f"crops_L1000_c{samples}"
    found = pooled_by(official[f"{own}/idmap"], official[f"{own}/preds"], pool)
    np.testing.assert_allclose(found, official[f"{own}/agg_{pool}"], rtol=1e-6)


def test_areas_are_the_official_ones(official: Arrays) -> None:
    lines = Lines(official["metrics/y"], official["metrics/p"], True)
    np.testing.assert_allclose(class_scores(lines)["auroc"], official["metrics/auc_per_class"], rtol=1e-6)
    assert float(METRICS["auroc"].of(lines)) == pytest.approx(float(official["metrics/macro_auc"]), rel=1e-6)
