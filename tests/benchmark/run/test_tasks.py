"""What is missing of a grid, which cells go together, and what a task refuses and leaves behind."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.config.errors import ConfigError
from benchmark.machine.process import stop
from benchmark.results.names import EVALUATIONS
from benchmark.results.store import Store
from benchmark.run import tasks as tasks_module
from benchmark.run.cell import run_cell
from benchmark.run.grid import Cell, Context
from benchmark.run.tasks import Job, lost, run, tasks_of
from benchmark.training.checkpoint import WEIGHTS
from benchmark.training.probes import EvaluationCache
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of, stamps


def test_probes_of_all_kinds_share_the_features_of_an_encoder(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    every = {"evaluate": [*EVALUATIONS], "gates": ["features", "supervised"], "ratios": [0.5]}
    work = Bench(small_config(every), cohorts, Store(tmp_path / "runs")).missing()
    tasks = [task.parts for task in tasks_of(work) if not task.is_pretraining]
    together = sorted(sorted({part.evaluation for part in parts if isinstance(part, Cell)}) for parts in tasks)
    probes = sorted(name for name in EVALUATIONS if name != "finetune")
    assert together == [probes, probes, ["features"], ["finetune"], ["finetune"], ["supervised"]]


def test_a_damaged_row_is_done_again_alone(finished: Bench) -> None:
    rows, before, key = finished.rows(), stamps(finished.store), cell_of(finished, "pmq").key
    os.truncate(finished.store.cells / f"{key}.npz", 20)
    work = finished.missing()
    assert ([cell.key for cell in work.cells], work.pretrainings) == ([key], ())
    assert key in work.damaged[0]
    assert finished.work_off() == 0
    assert {path.stem for path, stamp in stamps(finished.store).items() if before.get(path) != stamp} == {key}
    assert finished.rows() == rows


def test_a_damaged_encoder_is_made_again_where_a_cell_needs_it(finished: Bench) -> None:
    cell = cell_of(finished, "pmq")
    file = finished.store.pretrained / cell.pretraining.key / WEIGHTS
    weights, rows = file.read_bytes(), finished.rows()
    file.write_bytes(weights[:-20])
    assert finished.missing().pretrainings == ()  # no cell is missing
    (finished.store.cells / f"{cell.key}.json").unlink()
    assert finished.missing().pretrainings == (cell.pretraining,)
    assert finished.work_off() == 0
    assert finished.heard.done == ["pmq pretrain seed 42", cell.name]
    assert (file.read_bytes(), finished.rows()) == (weights, rows)


def task_with(bench: Bench, *cells: Cell) -> Job:
    return Job(cells or (cell_of(bench, "pmq").pretraining,))


def test_what_a_killed_worker_had_stored_stands(finished: Bench) -> None:
    first, second, *_ = finished.grid.cells
    (finished.store.cells / f"{second.key}.json").unlink()
    done, failed = lost(Job((first, second)), RuntimeError(), finished.store)
    assert (done.failure, failed.name) == (None, second.name)
    assert finished.store.failures([first.key, second.key]) == {second.key: failed.failure}


def test_a_task_that_is_asked_to_stop_leaves_the_rest_and_what_is_done_is_not_done_again(
    finished: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = finished.grid.cells
    for cell in cells:
        (finished.store.cells / f"{cell.key}.json").unlink()
    begun: list[str] = []

    def then_stop(cell: Cell, context: Context, known: EvaluationCache) -> None:
        begun.append(cell.key)
        run_cell(cell, context, known)
        if len(begun) == 2:
            stop.set()

    monkeypatch.setattr(tasks_module, "run_cell", then_stop)
    task = Job(cells)
    assert [outcome.stopped for outcome in run(task, finished.context())] == [False, False, True, True]
    assert not any(outcome.stopped for outcome in run(task, finished.context()))
    assert begun == [cell.key for cell in cells]


def test_other_code_and_unseen_folders_are_refused_before_any_work(bench: Bench, tmp_path: Path) -> None:
    bench.store.root.mkdir()
    context, task = bench.context(), task_with(bench)
    with pytest.raises(ConfigError, match="has other code than this run was started with: restart the workers"):
        run(task, replace(context, code="of before"))
    with pytest.raises(ConfigError, match=r"does not see .*nowhere: put --cache and --results on folders that all"):
        run(task, replace(context, folders={"chapman": tmp_path / "nowhere"}))
    assert stamps(bench.store) == {}


def test_a_cell_has_one_thread_however_many_its_process_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.store.root.mkdir()
    seen: list[int] = []
    for name in ("run_cell", "run_pretraining"):
        monkeypatch.setattr(tasks_module, name, lambda *given: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for threads in (2, None):
            context = replace(bench.context(), threads=threads)
            run(task_with(bench), context)
            run(task_with(bench, cell_of(bench, "pmq")), context)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == [2, 1, 3, 1]
