"""The loop on an engine that computes nothing: what is handed over when, again, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.errors import ConfigError
from benchmark.results.store import Failure, Store
from benchmark.run import execute as execute_module
from benchmark.run.tasks import Ending, Job
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, cell_of

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
    is_pool: bool = False
    """Whether a killed worker ends the others too."""
    begun: list[str] = field(default_factory=list)
    running: dict[str, tuple[Future[Any], Job]] = field(default_factory=dict)
    asked_to_stop: bool = False

    def width(self) -> int:
        assert len(self.running) <= 2
        for name in list(self.running)[:1]:
            self.end(*self.running.pop(name))
        return 2

    def end(self, future: Future[Any], task: Job) -> None:
        planned = self.script.get(task.name) or ["done"]
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
        self.begun.append(task.name)
        self.running[task.name] = future, task
        return future

    def ask_to_stop(self) -> None:
        self.asked_to_stop = True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute_module, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(execute_module, "GRACE_SECONDS", 0.0)


def test_pretrainings_come_first_and_a_cell_waits_for_its_own_alone(bench: Bench) -> None:
    engine = Scripted()
    assert bench.work_off(engine) == 0
    assert engine.begun[:2] == [RANDOM, PMQ]
    assert engine.begun[2].startswith("random")  # while PMQ is pretrained
    assert sorted(engine.begun[2:]) == sorted(CELLS)
    assert sorted(bench.heard.done) == sorted(engine.begun)


def test_a_task_whose_worker_is_killed_is_handed_over_again_and_given_up_the_second_time(bench: Bench) -> None:
    once = Scripted({PMQ: [Killed()]})
    assert bench.work_off(once) == 0
    assert once.begun.count(PMQ) == 2
    twice = Scripted({PMQ: [Killed(), Killed()]})
    assert bench.work_off(twice) == 3
    assert twice.begun.count(PMQ) == 2
    assert "its worker was killed each time (Killed)" in bench.heard.failed[PMQ]
    assert sorted(bench.heard.done) == [*sorted(CELLS[:2]), RANDOM]


def test_a_task_that_kills_its_pool_is_found_out_and_costs_no_other(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
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
    assert bench.heard.begun == engine.begun


def test_the_cells_of_a_failed_pretraining_fail_with_its_reason_and_the_others_are_done(bench: Bench) -> None:
    assert bench.work_off(Scripted({PMQ: [Failure("ValueError: no keys today", "trace")]})) == 3
    assert bench.heard.failed == {PMQ: "ValueError: no keys today"} | dict.fromkeys(
        CELLS[2:], "its pretraining failed: ValueError: no keys today"
    )
    key = cell_of(bench, "pmq").key
    expected = Failure("its pretraining failed: ValueError: no keys today", "trace")
    assert bench.store.failures([key])[key] == expected


@pytest.mark.parametrize(
    ("error", "message"),
    [(ConfigError("other code"), "other code"), (AttributeError("no function run"), "cannot run this code")],
)
def test_what_no_task_is_guilty_of_ends_the_run_in_a_line_and_lets_running_tasks_save(
    bench: Bench, error: Exception, message: str
) -> None:
    engine = Scripted({RANDOM: [error]})
    with pytest.raises(ConfigError, match=message):
        bench.work_off(engine)
    assert engine.asked_to_stop
    assert bench.store.failures(cell.key for cell in bench.grid.cells) == {}
