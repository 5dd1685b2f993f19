"""Bands over seeds and budget curves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.results.names import OVERALL
from reports.runs import TIDY, Run, open_run
from reports.statistics.curves import (
    BAND,
    COSTS,
    BudgetCurve,
    bands,
    budget_curves,
    costs_of,
)


def tidy_frame(scores: Iterable[tuple[str, str, float, int, float | None]]) -> pd.DataFrame:
    """(variant, dataset, ratio, seed, F1), each as a heartbeat's score of a fine-tuned encoder."""
    lines = [
        ("key", variant, "finetune", dataset, ratio, seed, 0, "heartbeat", "f1", value, "")
        for variant, dataset, ratio, seed, value in scores
    ]
    return pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float})


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


def curves(run: Run, evaluation: str = "finetune") -> list[BudgetCurve]:
    return list(budget_curves(run, bands(run.tidy, evaluation, "heartbeat")))


def test_a_curve_has_a_point_per_snapshot_and_dataset_with_what_its_pretraining_cost(budget_store: Path) -> None:
    (curve,) = curves(open_run(budget_store))
    points = curve.points[curve.points["dataset"] == "chapman"]
    assert points["variant"].tolist() == ["pmq@0.5", "pmq@2"]
    assert points["epochs"].tolist() == [0.5, 2.0]
    assert points[list(COSTS)].to_numpy().tolist() == [[1000, 4000, 10], [4000, 16000, 40]]
    assert points["mean"].tolist() == pytest.approx([45.0, 55.04])
    assert curve.points.columns.tolist() == [*BAND, "of", "epochs", *COSTS]
    assert set(curve.points["dataset"]) == {"ptb-xl", "chapman", "overall"}
    assert COSTS == ("windows", "passes", "seconds")
    assert (curve.ratio, curve.machine) == (0.01, "x86_64, 2 threads, float32")


def test_a_curve_needs_a_method_with_two_snapshots(budget_store: Path) -> None:
    run = open_run(budget_store)
    plan, roles = run.plan, run.plan.roles
    assert curves(run, "linear") == []
    for changed in (
        replace(plan, variants={name: title for name, title in plan.variants.items() if name != "pmq@2"}),
        replace(plan, roles={}),
        replace(plan, roles={name: facts | {"value": "much"} for name, facts in roles.items()}),
    ):
        assert curves(replace(run, plan=changed)) == []
    more = roles | {"random": roles["pmq@2"] | {"of": "random", "value": 1}}
    (curve,) = curves(replace(run, plan=replace(plan, roles=more)))
    assert list(dict.fromkeys(curve.points["variant"])) == ["random", "pmq@0.5", "pmq@2"]


def test_costs_that_no_card_says_are_not_known() -> None:
    assert costs_of([]) == {"windows": None, "passes": None}
    assert costs_of([{"updates": 2, "batch_size": 8}]) == {"windows": 16, "passes": None}
