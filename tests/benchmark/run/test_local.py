"""Tasks in this process and in a pool: every one runs, an error stops none of the others, threads are as asked for."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.machine import processes
from benchmark.machine.processes import GRACE_SECONDS, Stopped, open_pool, postponed, stopped, stops_on_signals
from benchmark.results.store import Failure
from benchmark.run import local
from benchmark.run.local import Ended, Local, Order, Start, Task, Tell


def nothing(task: object) -> None:
    """Nobody is told that a task begins."""


@dataclass(frozen=True)
class Deaf:
    """A function that tells nothing."""

    function: Callable[[Any], Any]

    def __call__(self, task: Any, tell: Tell) -> Any:
        return self.function(task)


def run(
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    *,
    jobs: int,
    threads: int = 1,
    on_start: Callable[[Any], None] = nothing,
) -> Generator[Ended[Any, Any], None, None]:
    """Run tasks that wait for none."""
    given = [Task(str(place), str(task), task) for place, task in enumerate(tasks)]
    order: Order[Any, Any] = Order(
        given, Deaf(function), lambda task: threads, on_start=lambda task: on_start(task.work)
    )
    for ended in Local(jobs).run(order):
        yield Ended(ended.task.work, ended.result, ended.error)


def test_tasks_run_one_by_one_and_an_error_stops_none() -> None:
    events: list[str] = []

    def work(task: int) -> int:
        events.append(f"run {task}")
        if task == 2:
            raise ZeroDivisionError("no luck")
        return 10 * task

    def started(task: int) -> None:
        events.append(f"start {task}")

    ended = []
    for end in run(work, [1, 2, 3], jobs=1, threads=1, on_start=started):
        events.append(f"end {end.task}")
        ended.append(end)
    assert events == [f"{what} {task}" for task in (1, 2, 3) for what in ("start", "run", "end")]
    assert [(end.task, end.result, str(end.error)) for end in ended] == [
        (1, 10, "None"), (2, None, "no luck"), (3, 30, "None")
    ]  # fmt: skip
    assert list(run(work, [], jobs=3)) == []


def test_ctrl_c_ends_the_work_and_gives_the_threads_back() -> None:
    before = torch.get_num_threads()
    done: list[int] = []

    def work(task: int) -> None:
        assert torch.get_num_threads() == 3
        if task == 2:
            raise KeyboardInterrupt
        done.append(task)

    with pytest.raises(KeyboardInterrupt):
        list(run(work, [1, 2, 3], jobs=1, threads=3, on_start=nothing))
    assert done == [1]
    assert torch.get_num_threads() == before


@pytest.mark.slow
def test_a_pool_runs_every_task_and_keeps_errors_apart(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(5)]
    folders[3].mkdir()  # its task fails
    started: list[Path] = []
    ended = list(run(os.mkdir, folders, jobs=2, threads=1, on_start=started.append))
    assert started == folders
    assert all(folder.is_dir() for folder in folders)
    assert {end.task for end in ended} == set(folders)
    (error,) = [end.error for end in ended if end.error]
    assert isinstance(error, FileExistsError)
    assert "in _process_worker" in Failure.of(error).traceback  # where it was raised


@pytest.mark.slow
def test_a_pool_that_breaks_while_nobody_looks_costs_no_task_that_had_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is killed while the consumer is busy with a result, so that the next hand-over finds a broken pool."""
    pools: list[ProcessPoolExecutor] = []

    def opened(*arguments: Any) -> ProcessPoolExecutor:
        pools.append(open_pool(*arguments))
        return pools[-1]

    monkeypatch.setattr(local, "open_pool", opened)
    tasks = [(tmp_path, name) for name in ("quick", "endless", "third", "fourth")]
    begun: list[str] = []
    outcomes: dict[str, str] = {}
    for end in run(begin, tasks, jobs=2, threads=1, on_start=lambda task: begun.append(task[1])):
        outcomes[end.task[1]] = "killed" if end.error else "done"
        if end.task[1] == "quick":
            assert end.result is not None
            wait_until(lambda: (tmp_path / "endless").exists())
            os.kill(end.result, signal.SIGKILL)
            wait_until(lambda: bool(pools[0]._broken))  # type: ignore[attr-defined]
    assert outcomes == {"quick": "done", "endless": "killed", "third": "done", "fourth": "done"}
    assert begun == ["quick", "endless", "third", "fourth"]
    assert sorted(file.read_text() for file in tmp_path.iterdir()) == sorted(f"{name}\n" for name in begun)
    assert len(pools) == 2


@pytest.mark.slow
def test_a_stop_waits_for_what_running_tasks_save_and_says_it(tmp_path: Path) -> None:
    asked = run(save_on_stop, [(tmp_path, "one"), (tmp_path, "two")], jobs=2)
    threading.Thread(target=stop_when, args=(tmp_path, 2), daemon=True).start()
    with pytest.raises(Stopped) as stop, stops_on_signals(lambda: None):
        next(asked)
    assert sorted(stop.value.saved.split("; ")) == ["one is saved", "two is saved"]
    assert stop.value.status == 128 + signal.SIGTERM
    wait_until(lambda: not active_children())


@pytest.mark.slow
def test_tasks_that_never_end_are_killed_when_the_time_to_save_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[tuple[float, float]] = []

    def terminate(pools: Iterable[ProcessPoolExecutor], patience: float) -> None:
        began = time.monotonic()
        processes.terminate(pools, patience)
        waits.append((patience, time.monotonic() - began))

    monkeypatch.setattr(local, "SAVING_SECONDS", 0.2)
    monkeypatch.setattr(local, "terminate", terminate)
    asked = run(never_end, [(tmp_path, "one"), (tmp_path, "two")], jobs=2)
    threading.Thread(target=stop_when, args=(tmp_path, 2), daemon=True).start()
    with pytest.raises(Stopped) as stop, stops_on_signals(lambda: None):
        next(asked)
    assert (stop.value.status, stop.value.saved) == (128 + signal.SIGTERM, "")
    ((patience, took),) = waits
    assert patience == 0.2 <= took
    wait_until(lambda: not active_children())


def test_a_stop_takes_no_longer_than_is_promised() -> None:
    assert GRACE_SECONDS < local.SAVING_SECONDS < 5  # a task has its grace, and a moment to say what it saved


@pytest.mark.slow
def test_a_consumer_that_leaves_lets_running_tasks_save(tmp_path: Path) -> None:
    ended = run(save_on_stop, [(tmp_path, "quick"), (tmp_path, "one")], jobs=2)
    assert next(ended).task == (tmp_path, "quick")
    wait_until(lambda: (tmp_path / "one").exists())
    ended.close()
    assert (tmp_path / "one").read_text() == "saved"
    wait_until(lambda: not active_children())


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_running_tasks_tell_is_heard_before_their_end(jobs: int) -> None:
    heard: list[object] = []
    order: Order[int, None] = Order([Task("2", "two", 2), Task("3", "three", 3)], count, on_told=heard.append)
    assert len(list(Local(jobs).run(order))) == 2
    assert sorted(map(str, heard)) == ["0 of 2", "0 of 3", "1 of 2", "1 of 3", "2 of 3"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_task_begins_after_the_end_of_its_own_was_consumed_and_of_no_other(jobs: int) -> None:
    begun: list[str] = []
    tasks = [
        Task("one", "one", -1, is_pretraining=True),
        Task("two", "two", -2, is_pretraining=True),
        Task("of two", "of two", -3, after="two"),
        Task("of one", "of one", -4, after="one"),
        Task("of none", "of none", -5),
    ]
    order: Order[int, int] = Order(tasks, Deaf(abs), on_start=lambda task: begun.append(task.key))
    ended = []
    for end in Local(jobs).run(order):
        ended.append(end.task.key)
        assert not {"one", "two"}.isdisjoint(begun)
        if end.task.after:
            assert ended.index(end.task.after) < ended.index(end.task.key)
    assert sorted(ended) == sorted(task.key for task in tasks)
    if jobs == 1:
        assert begun == ["one", "two", "of two", "of one", "of none"]
    else:
        assert begun[:2] == ["one", "of none"], "a device has one whole task at a time, and others beside it"
        assert begun.index("of one") > ended.index("one")


def test_what_may_not_begin_yet_is_asked_for_again_and_what_never_does_holds_up_nothing() -> None:
    answers: dict[str, list[Task[int] | Start]] = {
        "held": [Start.LATER, Start.LATER, Task("held", "held", -7)],
        "elsewhere": [Start.NEVER],
    }

    def begin(task: Task[int]) -> Task[int] | Start:
        return answers[task.key].pop(0) if task.key in answers else task

    tasks = [Task("held", "held", -1), Task("elsewhere", "e", -2), Task("after", "a", -3, after="elsewhere")]
    order: Order[int, int] = Order([*tasks, Task("own", "own", -4)], Deaf(abs), begin=begin)
    assert [(end.task.key, end.result) for end in Local(1).run(order)] == [("after", 3), ("own", 4), ("held", 7)]
    order = Order([Task("x", "x", -1), Task("of x", "of x", -2, after="x")], Deaf(abs), begin=lambda task: Start.LATER)
    assert list(Local(1).run(order)) == []


@pytest.mark.slow
def test_each_device_has_its_processes_and_one_whole_task_at_a_time(tmp_path: Path) -> None:
    tasks = [
        Task(name, name, (tmp_path, name), is_pretraining=name.startswith("whole")) for name in ("whole 1", "whole 2")
    ]
    tasks += [Task(name, name, (tmp_path, name)) for name in ("cell 1", "cell 2")]
    order: Order[tuple[Path, str], str] = Order(tasks, Deaf(seen_device), concurrent=1)
    ended = {end.task.key: end.result for end in Local(4, devices=("3", "5")).run(order)}
    assert {ended["whole 1"], ended["whole 2"]} == {"3", "5"}
    assert {ended["cell 1"], ended["cell 2"]} == {"3", "5"}


def test_a_pool_that_never_lives_fails_its_tasks_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> ProcessPoolExecutor:
        raise BrokenProcessPool

    monkeypatch.setattr(local, "open_pool", broken)
    started: list[int] = []
    ended = list(run(abs, [1, 2, 3], jobs=2, threads=1, on_start=started.append))
    assert [end.task for end in ended] == [1, 2, 3]
    assert {str(end.error) for end in ended} == {
        "the processes were killed before it began: if memory ran out, use fewer jobs (--jobs-per-device)"
    }
    assert started == []


def wait_until(so: Callable[[], bool]) -> None:
    patience = time.monotonic() + 60
    while not so():
        assert time.monotonic() < patience
        time.sleep(0.01)


def begin(task: tuple[Path, str]) -> int:
    """Note that a task has begun, and the process it is in; the endless one stays."""
    folder, name = task
    with open(folder / name, "a") as file:
        file.write(f"{name}\n")
    time.sleep(600 if name == "endless" else 0)
    return os.getpid()


def seen_device(task: tuple[Path, str]) -> str:
    """The devices that a task sees; it ends when all four have begun."""
    folder, name = task
    (folder / name).touch()
    wait_until(lambda: len(list(folder.iterdir())) == 4)
    return os.environ["CUDA_VISIBLE_DEVICES"]


def never_end(task: tuple[Path, str]) -> None:
    """Begin, and hear no stop."""
    folder, name = task
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / name).touch()
    time.sleep(600)


def save_on_stop(task: tuple[Path, str]) -> None:
    """Wait for a stop and save; the quick one does not wait."""
    folder, name = task
    if name == "quick":
        return
    with postponed() as asked_to_stop:
        (folder / name).write_text("begun")
        while not asked_to_stop():
            time.sleep(0.01)
        (folder / name).write_text("saved")
        raise stopped(f"{name} is saved")


def stop_when(folder: Path, begun: int) -> None:
    """Ask this process to stop when so many tasks have begun."""
    wait_until(lambda: len(list(folder.iterdir())) == begun)
    os.kill(os.getpid(), signal.SIGTERM)


def count(task: int, tell: Tell) -> None:
    """Tell each step of a task."""
    for step in range(task):
        tell(f"{step} of {task}")


@pytest.mark.slow
def test_a_killed_worker_fails_its_task_and_the_others_go_on() -> None:
    tasks = [9, 0.3, 0.4, 0.5, 0.6]
    ended = list(run(leave_or_sleep, tasks, jobs=2, threads=1, on_start=nothing))
    assert {end.task for end in ended} == set(tasks)
    assert next(end.error for end in ended if end.task == 9) is not None
    assert sum(end.error is None for end in ended) >= 3  # the task beside it may have been lost


@pytest.mark.slow
def test_a_stop_does_not_wait_for_running_tasks_and_leaves_no_process(tmp_path: Path) -> None:
    tasks = [(tmp_path, name) for name in ("quick", "endless")]
    ended = run(begin, [*tasks, (tmp_path, "never")], jobs=2, threads=1, on_start=nothing)
    assert next(ended).task == tasks[0]
    with pytest.raises(KeyboardInterrupt):
        ended.throw(KeyboardInterrupt)
    wait_until(lambda: not active_children())


def leave_or_sleep(task: float) -> None:
    """End the process where the task is a whole number, as an out-of-memory kill does; else take that many seconds."""
    if isinstance(task, int):
        os._exit(task)
    time.sleep(task)
