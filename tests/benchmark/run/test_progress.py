"""Progress files of pretrainings, and what is drawn of them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmark.results.store import Failure
from benchmark.run import progress as progress_module
from benchmark.run.progress import GridProgress, Progress, ProgressFile, read_progress
from benchmark.run.tasks import Ending, Job, tasks_of
from benchmark.screen import open_console
from tests.benchmark.run.bench import Bench


def test_a_file_is_written_now_and_then_and_goes_with_its_pretraining(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProgressFile(tmp_path, "pmq") as file:
        file.write(1, 10, "epoch 1/5")
        file.write(2, 10, "just after")
        assert read_progress(tmp_path) == Progress("pmq", 1, 10, "epoch 1/5")
        monkeypatch.setattr(progress_module, "WRITE_SECONDS", 0.0)
        file.write(3, 10, "later")
        assert read_progress(tmp_path) == Progress("pmq", 3, 10, "later")
    assert list(tmp_path.iterdir()) == []
    assert read_progress(tmp_path) is None


def ended(task: Job, failure: Failure | None = None) -> list[Ending]:
    return [Ending(f"part of {task.name}", failure, Path("error.json")) for part in task.parts]


def test_on_a_pipe_a_line_says_what_is_done_and_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "LINE_SECONDS", 0.0)
    out, work = io.StringIO(), bench.missing()
    random, pmq, first, second, *_ = tasks_of(work)
    with GridProgress(open_console(out), work, bench.store) as progress:
        for task in (random, pmq):
            progress.begin(task)
        progress.end(random, ended(random))
        ProgressFile(bench.store.pretrained / pmq.key, "pmq").write(5, 10, "epoch 2/3 loss 1.5")
        progress.refresh([pmq])
        progress.end(pmq, ended(pmq, Failure("ValueError: no\nmore", "trace")))
        progress.end(first, ended(first))
        progress.end(second, ended(second, Failure("ValueError: no")))
        progress.refresh([])
    begun, failed, also_failed, later, finished = out.getvalue().splitlines()
    assert begun.startswith("1 of 2 pretrainings; 0 of 4 cells; pmq pretrain seed 42 epoch 2/3 loss 1.5")
    assert failed == "FAILED  part of pmq pretrain seed 42: ValueError: no; traceback in error.json"
    assert also_failed.endswith(": ValueError: no")
    assert later.startswith("1 of 2 pretrainings")
    assert "1 of 4 cells" in later
    assert later.endswith("2 failed")
    assert finished.startswith("finished: 2 of 6 done, 2 failed, in ")


def test_on_a_terminal_there_are_bars_with_the_time_left_and_the_screen_is_given_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out, work = io.StringIO(), bench.missing()
    console = Console(file=out, force_terminal=True, width=100, markup=False, highlight=False)
    random, pmq, *_ = tasks_of(work)
    with GridProgress(console, work, bench.store) as progress:
        progress.begin(pmq)
        ProgressFile(bench.store.pretrained / pmq.key, "pmq").write(5, 10, "epoch 2/3 loss 1.5")
        progress.end(random, ended(random))
        progress.refresh([pmq])
        progress.bars.refresh()
    text = out.getvalue()
    for part in ("pretrainings", "1 of 2", "cells", "0 of 4", "pmq pretrain seed 42", "epoch 2/3 loss 1.5", "-:--:--"):
        assert part in text
    assert "\x1b[?25h" in text.rpartition("epoch 2/3")[2]  # the cursor
    assert "finished: 1 of 6 done, in " in text
