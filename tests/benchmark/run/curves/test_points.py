"""The points of a curve: after each epoch, at the updates done, with the rate that was used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.results.store import Store
from benchmark.run.curves.points import LOSS, RATE, VALIDATION_F1, curve_of, pretraining_points
from methods.base import Recipe
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of

HISTORY: dict[str, Any] = {
    "loss": [3.0, 2.0, 1.5], "updates": 25, "batch_size": 8, "windows_per_epoch": 80,
    "health": [
        {"epoch": 0, "effective_rank": 9.0, "retrieval": None},
        *({"epoch": epoch, "effective_rank": 9.0 - epoch, "retrieval": None} for epoch in (1, 2, 3)),
    ],
}  # fmt: skip


def test_a_point_stands_at_the_updates_done_and_the_last_epoch_may_be_short() -> None:
    points = pretraining_points(HISTORY, Recipe(lr=0.1, schedule="constant"))
    assert [step for step, _ in points] == [0, 10, 20, 25]
    assert points[0][1] == {"health/effective_rank": 9.0}
    assert points[-1][1] == {LOSS: 1.5, RATE: 0.1, "health/effective_rank": 6.0}


def test_the_rate_is_that_of_the_epochs_last_update() -> None:
    rates = [values[RATE] for _, values in pretraining_points(HISTORY, Recipe(lr=0.1))[1:]]
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 0.002 < rates[0] < 0.1


@pytest.mark.parametrize("lacks", ["loss", "updates"])
def test_what_has_not_trained_or_has_no_sizes_has_no_curve(lacks: str) -> None:
    assert pretraining_points({name: value for name, value in HISTORY.items() if name != lacks}, Recipe()) == []
    assert pretraining_points(HISTORY | {"batch_size": 0}, Recipe()) == []


def test_the_curves_of_a_store_are_those_of_its_cards_and_rows(finished: Bench) -> None:
    pretraining = cell_of(finished, "pmq").pretraining
    assert pretraining is not None
    curve = curve_of(pretraining, finished.store)
    assert curve is not None
    card = finished.store.card(pretraining.key)
    assert card is not None
    assert [values[LOSS] for _, values in curve.points[1:]] == card["loss"]
    assert curve.points[-1][0] == card["updates"]
    assert curve.config == card["key_content"]
    cell = cell_of(finished, "pmq")
    tuned = curve_of(cell, finished.store)
    row = finished.store.load_row(cell.key)
    assert tuned is not None
    assert row is not None
    assert [(step, values[VALIDATION_F1]) for step, values in tuned.points] == list(
        enumerate(row.training["validation_f1"], start=1)
    )
    assert curve_of(cell_of(finished, "pmq", "linear"), finished.store) is None
    untrained = cell_of(finished, "random").pretraining
    assert untrained is not None
    assert curve_of(untrained, finished.store) is None


@pytest.mark.parametrize("variant", ["pmq", "random"])
def test_what_is_not_stored_has_no_curve(bench: Bench, variant: str) -> None:
    assert curve_of(cell_of(bench, variant), bench.store) is None


def test_training_from_scratch_has_its_loss_after_each_epoch(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    scratch = {"methods": ["random"], "gates": ["supervised"], "evaluate": ["linear"], "supervised.epochs": 2}
    bench = Bench(small_config(scratch), cohorts, Store(tmp_path / "runs"))
    assert bench.work_off() == 0
    cell = cell_of(bench, "supervised", "supervised")
    curve, row = curve_of(cell, bench.store), bench.store.load_row(cell.key)
    assert curve is not None
    assert row is not None
    losses = enumerate(row.training["loss"], start=1)
    assert curve.points == tuple((epoch, {"supervised/loss": loss}) for epoch, loss in losses)
    assert len(curve.points) == 2
