"""Curves are whole, without double points, and move nothing: in one process, in several, after a kill, or later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.store import Store
from benchmark.run.curves.points import curve_of
from benchmark.run.curves.tracking import tracking
from benchmark.run.machine import Machine
from benchmark.run.runner import do
from benchmark.run.work.claims import CLAIMS, Claims
from benchmark.trackers.tracker import Tracker
from tests.benchmark.run.bench import Bench, Heard, cell_of
from tests.benchmark.run.curves.recorder import Recorder


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
