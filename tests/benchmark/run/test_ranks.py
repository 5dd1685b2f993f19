"""Cells that the first of several ranks hands out, and what becomes of them; with processes: test_torchrun."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from benchmark.run import machine, ranks
from benchmark.run.pretraining import PretrainingJob, in_step
from benchmark.run.ranks import do_cells
from benchmark.run.runner import do
from benchmark.run.work.jobs import Job
from tests.benchmark.run.bench import Bench

Handed = list[tuple[Any, ...]]


@pytest.fixture
def led(monkeypatch: pytest.MonkeyPatch) -> Handed:
    """What the first rank of two hands out. Pretrainings are run here as those of one process."""
    handed: Handed = []
    run_job = ranks.run_job

    def alone(job: Job, tell: Any) -> Any:
        return run_job(replace(job, ranks=1) if isinstance(job, PretrainingJob) else job, tell)

    monkeypatch.setattr(machine, "is_alone", lambda: False)
    monkeypatch.setattr(ranks, "lead", lambda function, *arguments: handed.append((function, *arguments)))
    monkeypatch.setattr(ranks, "run_job", alone)
    return handed


def test_what_trains_is_pretrained_by_all_ranks_and_then_every_cell_is_handed_out_once(
    bench: Bench, led: Handed
) -> None:
    bench.machine = replace(bench.machine, ranks=2)
    assert bench.work_off() == 0
    assert len(bench.rows()) == 4
    (step, job), (cells, work, *_) = led
    assert (step, job.task.method.name, job.ranks) == (in_step, "pmq", 2)
    assert cells is do_cells
    assert {cell.key for cell in work.cells} == {cell.key for cell in bench.grid.cells}
    assert work.pretrainings == ()


def test_a_rank_stores_the_cells_that_it_is_handed_and_says_nothing(
    bench: Bench, led: Handed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.machine = replace(bench.machine, ranks=2)
    assert bench.work_off() == 0
    rows = bench.rows()
    for file in bench.store.cells.iterdir():
        file.unlink()
    monkeypatch.undo()
    monkeypatch.setattr(machine, "is_alone", lambda: False)
    function, *arguments = pickle.loads(pickle.dumps(led[-1]))
    capsys.readouterr()
    function(*arguments)
    assert capsys.readouterr() == ("", "")
    assert bench.rows() == rows


def test_one_process_hands_nothing_out(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "lead", None)
    work = bench.missing()
    assert do(work, bench.setup(bench.heard.watch())) == 0
