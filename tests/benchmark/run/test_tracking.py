"""The points of a curve: after each epoch, at the updates done, with the rate that was used.

Curves are whole, without double points, and move nothing: in one process, in several, after a kill, or later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.machine.device import Machine
from benchmark.results.store import Store
from benchmark.run.claims import CLAIMS, Claims
from benchmark.run.runner import do
from benchmark.run.tracking import LOSS, RATE, VALIDATION_F1, curve_of, pretraining_points, tracking
from benchmark.trackers import Tracker
from methods.base import Recipe
from tests.benchmark.run.bench import Bench, Cohorts, Heard, SmallConfig, cell_of
from tests.benchmark.run.recorder import Recorder

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


def work_off(bench: Bench, trackers: Sequence[Tracker], out: Path, heard: Heard | None = None) -> int:
    """As `Bench.work_off`, with curves."""
    heard = heard or Heard()
    bench.heard = heard
    with tracking(trackers, bench.grid, bench.store, out, heard.notes.append) as tracked:
        watch = replace(heard.watch(), learned=tracked.learned, stored=tracked.stored)
        return do(bench.missing(), bench.setup(watch))


def whole(bench: Bench) -> dict[str, list[tuple[int, dict[str, float]]]]:
    """Key -> points of all curves of the store."""
    curves = [curve_of(task, bench.store) for task in (*bench.grid.pretrainings, *bench.grid.cells)]
    return {curve.key: list(curve.points) for curve in curves if curve}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_curve_is_written_once_and_no_number_moves(bench: Bench, tmp_path: Path, jobs: int) -> None:
    plain = Bench(bench.config, bench.prepared, Store(tmp_path / "plain"))
    assert plain.work_off() == 0
    bench.machine = Machine(bench.machine.device, "float32", jobs)
    recorder = Recorder()
    assert work_off(bench, [recorder], tmp_path / "out") == 0
    assert recorder.points == whole(bench)
    assert len(recorder.points) == 3  # PMQ's pretraining and the two fine-tuned cells
    assert sorted(recorder.finished) == sorted(recorder.points)
    assert bench.rows() == plain.rows()
    assert [p.key for p in bench.grid.pretrainings] == [p.key for p in plain.grid.pretrainings]
    key = cell_of(bench, "pmq").pretrain_key
    assert ("pmq pretrain seed 42", key) in recorder.started
    assert recorder.configs[key]["method"] == "pmq"


def test_points_of_a_running_pretraining_are_there_before_its_end_and_a_resumed_one_goes_on(
    bench: Bench, tmp_path: Path
) -> None:
    recorder, heard = Recorder(), Heard()
    seen: list[int] = []

    def interrupted(task: str, done: int, total: int, text: str) -> None:
        seen.append(sum(map(len, recorder.points.values())))
        if done == total:
            raise KeyboardInterrupt

    heard.watch = lambda: replace(Heard.watch(heard), inner=interrupted)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        work_off(bench, [recorder], tmp_path / "out", heard)
    assert (min(seen), max(seen)) == (0, 2)  # the untrained encoder and the first epoch
    assert len(recorder.finished) == 1
    assert work_off(bench, [recorder], tmp_path / "out") == 0
    assert recorder.points == whole(bench)


def test_what_was_stored_without_a_tracker_is_written_later_and_only_once(finished: Bench, tmp_path: Path) -> None:
    recorder = Recorder()
    for _ in range(2):
        with tracking([recorder], finished.grid, finished.store, tmp_path / "out", print):
            pass
    assert recorder.points == whole(finished)
    assert len(recorder.started) == len(recorder.points)


def test_what_another_runner_still_holds_is_left_to_it(finished: Bench, tmp_path: Path) -> None:
    key, recorder = cell_of(finished, "pmq").pretrain_key, Recorder()
    claims = Claims(finished.store.root / CLAIMS)
    assert claims.take(key)
    for missing in ({key}, set[str]()):
        with tracking([recorder], finished.grid, finished.store, tmp_path / "out", print):
            pass
        assert whole(finished).keys() - recorder.points.keys() == missing
        claims.release(key)


def test_a_tracker_that_fails_stops_neither_the_work_nor_the_others(bench: Bench, tmp_path: Path) -> None:
    broken, good = Recorder("broken", fails_at=1), Recorder("good")
    assert work_off(bench, [broken, good], tmp_path / "out") == 0
    assert good.points == whole(bench)
    assert sum(map(len, broken.points.values())) == 1
    (line,) = bench.heard.notes
    assert line == (
        "warning: broken failed and gets no more curves (ConnectionError: no network); the same command with "
        "--track broken writes what is missing"
    )
    broken.fails_at = None
    assert work_off(bench, [broken], tmp_path / "out") == 0
    assert broken.points == whole(bench)


def test_without_trackers_nothing_is_made(finished: Bench, tmp_path: Path) -> None:
    assert work_off(finished, [], tmp_path / "out") == 0
    assert not (tmp_path / "out").exists()
