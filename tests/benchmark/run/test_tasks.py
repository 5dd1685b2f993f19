"""Missing parts of a grid, and cells that go together; the loop on an engine that computes nothing: tasks that are
handed over, again, or not at all; tasks that refuse, and what they leave behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from benchmark.config.errors import ConfigError
from benchmark.process import EngineLost, stop
from benchmark.results.files import seal, write_atomic
from benchmark.results.names import EVALUATION_FACTS, RETRIEVAL
from benchmark.results.store import Failure, Store
from benchmark.run import tasks as tasks_module
from benchmark.run.cell import Shared, run_cell
from benchmark.run.grid import Cell, Context
from benchmark.run.tasks import Ending, Job, given_up, next_jobs, run
from benchmark.training.checkpoint import CHECKPOINT, WEIGHTS
from tests.benchmark.run.bench import BASE, Bench, Cohorts, SmallConfig, cell_of, stamps

PMQ, RANDOM = "pmq pretrain seed 42", "random pretrain seed 41"
CELLS = [f"{row} {how} chapman 0.5 seed 41" for row in ("random", "pmq") for how in ("finetune", "linear")]


class Killed(Exception):
    """A worker was killed."""


@dataclass
class Scripted:
    """Two workers whose tasks end, one each time that the loop looks, as the script says: one end a try, then well."""

    script: dict[str, list[Exception | Failure | str]] = field(default_factory=dict)
    lost: tuple[type[Exception], ...] = (Killed,)
    attempts: int = 2
    remark: str = ""
    is_pool: bool = False
    """True where a killed worker ends the others too."""
    begun: list[str] = field(default_factory=list)
    running: dict[str, tuple[Future[Any], Job]] = field(default_factory=dict)
    asked_to_stop: bool = False

    def width(self) -> int:
        assert len(self.running) <= 2
        for name in list(self.running)[:1]:
            self.end(*self.running.pop(name))
        return 2

    def end(self, future: Future[Any], task: Job) -> None:
        planned = self.script.get(task.parts[0].name) or ["done"]
        end = planned.pop(0)
        if isinstance(end, Exception):
            future.set_exception(end)
            for beside, _ in self.running.values() if self.is_pool else ():
                beside.set_exception(Killed())
            self.running = {} if self.is_pool else self.running
            return
        failure = end if isinstance(end, Failure) else None
        future.set_result([Ending(part.name, failure, stopped=end == "stopped") for part in task.parts])

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        task: Job = arguments[0]
        self.begun.append(task.parts[0].name)
        self.running[task.parts[0].name] = future, task
        return future

    def ask_to_stop(self) -> None:
        self.asked_to_stop = True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(tasks_module, "GRACE_SECONDS", 0.0)


def test_a_cell_waits_for_its_own_pretraining_alone(bench: Bench) -> None:
    engine = Scripted()
    assert bench.work_off(engine) == 0
    assert engine.begun[:2] == [RANDOM, PMQ]
    assert {*engine.begun[2:4]} == {name for name in CELLS if name.startswith("random")}  # while PMQ is pretrained
    assert sorted(engine.begun[2:]) == sorted(CELLS)
    assert sorted(bench.heard.done) == sorted(engine.begun)


def test_a_job_of_each_evaluation_that_waits_for_no_training_comes_before_what_trains(bench: Bench) -> None:
    names = [job.parts[0].name for job in bench.missing().jobs]
    assert names[0] == RANDOM
    assert {*names[1:3]} == {name for name in CELLS if name.startswith("random")}
    assert names[3] == PMQ


def test_the_longest_pretrainings_come_first(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    swept = {"sweeps": {"pmq": {"pretrain.epochs": [40]}}}
    config = small_config(BASE | swept | {"methods": ["pmq", "byol", "comet"], "ratios": [0.1, 0.5], "seeds": [41]})
    names = [job.parts[0].name for job in Bench(config, cohorts, Store(tmp_path / "runs")).missing().jobs]
    assert [name.split()[0] for name in names[:4]] == ["pmq:pretrain.epochs=40", "comet", "byol", "pmq"]


def test_the_largest_label_shares_of_a_dataset_come_first(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    config = small_config(BASE | {"methods": ["pmq"], "evaluate": ["finetune"], "ratios": [0.1, 0.5], "seeds": [41]})
    *_, larger, smaller = Bench(config, cohorts, Store(tmp_path / "runs")).missing().jobs
    assert [part.ratio for job in (larger, smaller) for part in job.parts if isinstance(part, Cell)] == [0.5, 0.1]


def test_no_job_is_looked_at_for_which_there_is_no_room() -> None:
    jobs = [
        Job((cast(Cell, SimpleNamespace(key=name)),), frozenset(after))
        for name, after in (("a", ["pmq"]), ("b", []), ("c", []), ("d", []))
    ]

    def waiting() -> Iterator[Job]:
        yield from jobs
        pytest.fail("the workers are busy")

    assert [job.key for job in next_jobs(waiting(), 2, {"pmq"}, [], {})] == ["b", "c"]


def test_a_task_is_given_up_when_its_worker_is_killed_twice(bench: Bench) -> None:
    once = Scripted({PMQ: [Killed()]})
    assert bench.work_off(once) == 0
    assert once.begun.count(PMQ) == 2
    twice = Scripted({PMQ: [Killed(), Killed()]})
    assert bench.work_off(twice) == 3
    assert twice.begun.count(PMQ) == 2
    assert "its worker was killed each time (Killed)" in bench.heard.failed[PMQ]
    assert sorted(bench.heard.done) == [*sorted(CELLS[:2]), RANDOM]


def test_a_task_that_kills_its_pool_costs_no_other(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config({"methods": ["random", "moco", "pmq"], "evaluate": ["finetune"], "seeds": [41, 42]})
    bench = Bench(config, cohorts, Store(tmp_path / "runs"))
    moco = "moco pretrain seed 42"
    engine = Scripted({moco: [Killed(), Killed()], "random finetune chapman 0.5 seed 41": [Killed()]}, is_pool=True)
    assert bench.work_off(engine) == 3
    assert bench.heard.failed.keys() == {moco, *(f"moco finetune chapman 0.5 seed {seed}" for seed in (41, 42))}
    assert len(bench.heard.done) == 3 + 4


def test_a_task_that_was_asked_to_save_goes_on_elsewhere(bench: Bench) -> None:
    engine = Scripted({PMQ: ["stopped"] * 3})
    assert bench.work_off(engine) == 0
    assert engine.begun.count(PMQ) == 4


def test_the_cells_of_a_failed_pretraining_fail_with_its_reason(bench: Bench) -> None:
    assert bench.work_off(Scripted({PMQ: [Failure("ValueError: no keys today", "trace")]})) == 3
    assert bench.heard.failed == {PMQ: "ValueError: no keys today"} | dict.fromkeys(
        CELLS[2:], "its pretraining failed: ValueError: no keys today"
    )
    key = cell_of(bench, "pmq").key
    expected = Failure("its pretraining failed: ValueError: no keys today", "trace")
    assert bench.store.failures([key])[key] == expected


def test_an_error_of_no_task_lets_running_tasks_save(bench: Bench) -> None:
    engine = Scripted({RANDOM: [ConfigError("other code")]})
    with pytest.raises(ConfigError, match="other code"):
        bench.work_off(engine)
    assert engine.asked_to_stop
    assert bench.store.failures(cell.key for cell in bench.grid.cells) == {}


def test_a_lost_scheduler_ends_the_run(bench: Bench) -> None:
    engine = Scripted({RANDOM: [CancelledError()]})
    with pytest.raises(EngineLost):
        bench.work_off(engine)
    assert not engine.asked_to_stop
    assert bench.store.failures(cell.key for cell in bench.grid.cells) == {}


def test_probes_of_all_kinds_share_the_features_of_an_encoder(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    every = {
        "evaluate": [name for name in EVALUATION_FACTS if name != RETRIEVAL],
        "baselines": ["features", "supervised"],
        "ratios": [0.5],
    }
    work = Bench(small_config(every), cohorts, Store(tmp_path / "runs")).missing()
    jobs = [job.parts for job in work.jobs if not job.is_pretraining]
    together = sorted(sorted({part.evaluation for part in parts if isinstance(part, Cell)}) for parts in jobs)
    probes = sorted(name for name in EVALUATION_FACTS if name not in ("finetune", RETRIEVAL))
    assert together == [probes, probes, ["features"], ["finetune"], ["finetune"], ["supervised"]]


def test_rows_without_an_encoder_share_the_windows_of_a_seed(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    both = {"methods": ["random"], "evaluate": ["linear"], "baselines": ["features", "heart-rate"], "seeds": [41, 42]}
    work = Bench(small_config(both), cohorts, Store(tmp_path / "runs")).missing()
    classical = [job.parts for job in work.jobs if not job.is_pretraining and not job.after]
    rows = [{(part.evaluation, part.seed) for part in parts if isinstance(part, Cell)} for parts in classical]
    assert rows == [{("features", seed), ("heart-rate", seed)} for seed in (41, 42)]


def test_a_damaged_row_is_done_again_alone(finished: Bench) -> None:
    rows, before, key = finished.rows(), stamps(finished.store), cell_of(finished, "pmq").key
    os.truncate(finished.store.cells / f"{key}.npz", 20)
    work = finished.missing()
    assert ([cell.key for cell in work.cells], work.pretrainings) == ([key], ())
    assert finished.work_off() == 0
    assert {path.stem for path, stamp in stamps(finished.store).items() if before.get(path) != stamp} == {key}
    assert finished.rows() == rows


@pytest.mark.parametrize("is_needed", [True, False])
def test_a_damaged_encoder_of_done_cells_is_made_again(finished: Bench, is_needed: bool) -> None:
    cell = cell_of(finished, "pmq")
    file = finished.store.pretrained / cell.pretraining.key / WEIGHTS
    weights, rows = file.read_bytes(), finished.rows()
    if is_needed:
        (finished.store.cells / f"{cell.key}.json").unlink()
    for content in (weights[:-20], None):
        file.unlink() if content is None else file.write_bytes(content)
        work = finished.missing()
        assert work.pretrainings == (cell.pretraining,)
        assert [line.split(": ")[1] for line in work.damage] == ([] if content is None else [str(file)])
        assert finished.work_off() == 0
        assert finished.heard.done == [PMQ, *([cell.name] if work.cells else [])]
        assert (file.read_bytes(), finished.rows()) == (weights, rows)


def test_a_checkpoint_that_cannot_be_used_is_named(bench: Bench) -> None:
    folder = bench.store.pretrained / cell_of(bench, "pmq").pretraining.key
    for content in (b"", b"damaged", seal("another", b"state")):
        write_atomic(folder / CHECKPOINT, content)
        (line,) = bench.missing().damage
        assert line.startswith(f"damaged: {folder / CHECKPOINT}: its content does not match its digest")
        assert line.endswith("the pretraining starts over")
    write_atomic(folder / CHECKPOINT, seal(folder.name, b"state"))
    assert bench.missing().damage == ()


def task_with(bench: Bench, *cells: Cell) -> Job:
    return Job(cells or (cell_of(bench, "pmq").pretraining,))


def test_what_a_killed_worker_had_stored_stands(finished: Bench) -> None:
    first, second, *_ = finished.grid.cells
    (finished.store.cells / f"{second.key}.json").unlink()
    done, failed = given_up(Job((first, second)), Failure("killed"), finished.store)
    assert (done.failure, failed.name) == (None, second.name)
    assert finished.store.failures([first.key, second.key]) == {second.key: failed.failure}


def test_a_stopped_task_is_finished_by_the_next_run(finished: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = finished.grid.cells
    for cell in cells:
        (finished.store.cells / f"{cell.key}.json").unlink()
    begun: list[str] = []

    def then_stop(cell: Cell, context: Context, known: Shared) -> None:
        begun.append(cell.key)
        run_cell(cell, context, known)
        if len(begun) == 2:
            stop.set()

    monkeypatch.setattr(tasks_module, "run_cell", then_stop)
    task = Job(cells)
    assert [outcome.stopped for outcome in run(task, finished.context())] == [False, False, True, True]
    assert not any(outcome.stopped for outcome in run(task, finished.context()))
    assert begun == [cell.key for cell in cells]


def test_a_worker_that_differs_from_the_run_is_refused(bench: Bench, tmp_path: Path) -> None:
    bench.store.root.mkdir()
    context, task = bench.context(), task_with(bench)
    with pytest.raises(ConfigError, match="has other code than this run was started with: restart the workers"):
        run(task, replace(context, code="of before"))
    with pytest.raises(ConfigError, match=r"has other packages .* \(torch .*, not 1\.0\): restart the"):
        run(task, replace(context, releases=context.releases | {"torch": "1.0"}))
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
