"""Progress files of pretrainings, and what is drawn of them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmark.results.store import Failure, Store
from benchmark.run import progress as progress_module
from benchmark.run.grid import Cell
from benchmark.run.progress import GridProgress, Progress, progress_file, read_progress
from benchmark.run.tasks import Ending, Job
from benchmark.screen import open_console
from tests.benchmark.run.bench import BASE, Bench, Cohorts, SmallConfig


def test_the_file_of_progress_goes_with_its_pretraining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with progress_file(tmp_path, "pmq") as write:
        write(1, 10, "epoch 1/5")
        write(2, 10, "just after")
        assert read_progress(tmp_path) == Progress("pmq", 1, 10, "epoch 1/5")
        monkeypatch.setattr(progress_module, "WRITE_SECONDS", 0.0)
        write(3, 10, "later")
        assert read_progress(tmp_path) == Progress("pmq", 3, 10, "later")
    assert read_progress(tmp_path) is None


def ended(task: Job, failure: Failure | None = None) -> list[Ending]:
    return [Ending(f"part of {task.parts[0].name}", failure, Path("error.json")) for part in task.parts]


def test_progress_is_lines_on_a_pipe(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    work, pipe, screen = bench.missing(), io.StringIO(), io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100, markup=False, highlight=False)
    random, first, second, pmq, *_ = work.jobs
    for console in (open_console(pipe), terminal):
        with (
            GridProgress(console, work, bench.store) as progress,
            progress_file(bench.store.pretrained / pmq.key, "pmq") as write,
        ):
            progress.end(random, ended(random))
            write(5, 10, "epoch 2/3 loss 1.5")
            progress.refresh([pmq])
            progress.bars.refresh()
            progress.end(pmq, ended(pmq, Failure("ValueError: no\nmore", "trace")))
            progress.end(first, ended(first))
            progress.end(second, ended(second, Failure("ValueError: no")))
            progress.refresh([], "no worker is there")
    begun, failed, also_failed, later, finished = pipe.getvalue().splitlines()
    assert begun == "pretrainings 1 of 2; pmq epoch 2/3 loss 1.5; cells 0 of 4; 0 failed"
    assert failed == "FAILED  part of pmq pretrain seed 42: ValueError: no; traceback in error.json"
    assert also_failed.endswith(": ValueError: no")
    assert later == "pretrainings 1 of 2; cells 1 of 4; no worker is there; 2 failed"
    assert finished.startswith("finished: 2 of 6 done, 2 failed, in ")
    shown = screen.getvalue()
    for part in ("pretrainings", "1 of 2", "cells", "0 of 4", "pmq epoch 2/3 loss 1.5"):
        assert part in shown
    assert "\x1b[?25h" in shown.rpartition("epoch 2/3")[2]  # the cursor


def test_the_time_of_pretrainings_goes_by_their_encoder_passes(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"methods": ["pmq"], "baselines": [], "sweeps": {"pmq": {"pretrain.epochs": [1, 3]}}, "seeds": [41]}
    bench = Bench(small_config(BASE | settings), cohorts, Store(tmp_path / "runs"))
    longest, *others = [job for job in bench.missing().jobs if job.is_pretraining]
    progress = GridProgress(open_console(io.StringIO()), bench.missing(), bench.store)
    of_longest = progress.passes[longest.key]
    of_others = sum(progress.passes[job.key] for job in others)
    clock = iter([100.0, 103.0, 106.0])
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    assert progress.pretrainings_left(of_longest / 3) is None  # a checkpoint had as many
    assert progress.pretrainings_left(of_longest * 2 / 3) == pytest.approx(3 + 9 * of_others / of_longest)
    progress.end(longest, ended(longest))
    assert progress.pretrainings_left(0) == pytest.approx(9 * of_others / of_longest)


def test_the_time_of_cells_counts_shared_features_once(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    config = small_config(BASE | {"evaluate": ["linear"], "ratios": [0.5, 0.3, 0.1], "seeds": [41]})
    bench = Bench(config, cohorts, Store(tmp_path / "runs"))
    progress = GridProgress(open_console(io.StringIO()), bench.missing(), bench.store)
    _, probed, _, waiting = bench.missing().jobs
    assert progress.cells_left(running=2) is None
    first, second, third = (Ending("cell", seconds=seconds) for seconds in (30.0, 1.0, 2.0))
    progress.end(probed, [first, second, third])
    assert [part.ratio for part in waiting.parts if isinstance(part, Cell)] == [0.5, 0.3, 0.1]
    assert progress.cells_left(running=2) == (30.0 + 2 * 1.5) / 2
    progress.end(waiting, [first, second, third])
    assert progress.cells_left(running=0) == 0
