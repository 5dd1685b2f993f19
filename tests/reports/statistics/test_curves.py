"""Bands over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd
import pytest

from benchmark.results.names import OVERALL
from reports.results import SCORES
from reports.statistics.curves import BAND, bands


def tidy_frame(scores: Iterable[tuple[str, str, float, int, float | None]]) -> pd.DataFrame:
    """(variant, dataset, ratio, seed, F1), each as a heartbeat's score of a fine-tuned encoder."""
    lines = [
        (variant, "finetune", dataset, ratio, seed, 0, "heartbeat", "f1", value, "", "key")
        for variant, dataset, ratio, seed, value in scores
    ]
    return pd.DataFrame(lines, columns=list(SCORES)).astype({"value": float})


def line(found: pd.DataFrame, variant: str, dataset: str, ratio: float = 0.01) -> tuple[float, float, int]:
    own = found[(found["variant"] == variant) & (found["dataset"] == dataset) & (found["ratio"] == ratio)]
    assert len(own) == 1
    return float(own["mean"].iloc[0]), float(own["std"].iloc[0]), int(own["seeds"].iloc[0])


def test_a_band_is_the_mean_and_deviation_over_seeds_in_percent() -> None:
    frame = tidy_frame([("pmq", "ptb-xl", 0.01, 41, 0.5), ("pmq", "ptb-xl", 0.01, 42, 0.6)])
    found = bands(frame, "finetune", "heartbeat")
    assert list(found.columns) == list(BAND)
    assert line(found, "pmq", "ptb-xl") == pytest.approx((55, 10 / math.sqrt(2), 2))
    assert OVERALL not in set(found["dataset"])


def test_overall_is_the_mean_over_datasets_of_each_whole_seed() -> None:
    frame = tidy_frame(
        [
            *[("pmq", "ptb-xl", 0.01, seed, value) for seed, value in ((41, 0.5), (42, 0.6), (43, 0.9))],
            *[("pmq", "chapman", 0.01, seed, value) for seed, value in ((41, 0.7), (42, 0.9), (43, None))],
        ]
    )
    found = bands(frame, "finetune", "heartbeat")
    assert line(found, "pmq", OVERALL) == pytest.approx((67.5, 15 / math.sqrt(2), 2))
    mean, _, seeds = line(found, "pmq", "chapman")
    assert (mean, seeds) == (pytest.approx(80), 2)


def test_order_units_and_a_single_seed_of_bands() -> None:
    places = [(variant, ratio) for variant in ("pmq", "byol") for ratio in (0.3, 0.01)]
    frame = tidy_frame([(variant, data, ratio, 41, 0.5) for variant, ratio in places for data in ("ptb-xl", "chapman")])
    found = bands(pd.concat([frame, frame.assign(unit="recording", value=0.9)]), "finetune", "heartbeat")
    assert found.index.tolist() == list(range(12))
    for dataset in ("ptb-xl", OVERALL):
        own = found[found["dataset"] == dataset]
        assert list(zip(own["variant"], own["ratio"], strict=True)) == places
    mean, std, seeds = line(found, "pmq", "ptb-xl")
    assert (mean, seeds, math.isnan(std)) == (50, 1, True)
    assert not len(bands(frame, "linear", "heartbeat"))
