"""The engine `slurm` on a real SLURM, with tasks that cost nothing: limits, lost jobs, killed runners, late files."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from benchmark.config.sections import EngineSection
from benchmark.extras import slurm as engine_module
from benchmark.extras.slurm import Slurm, records
from benchmark.run.local import Order, Task
from tests.benchmark.extras.slurm.cluster import MOST_IN_AN_ARRAY, Cluster, wait_until
from tests.benchmark.extras.slurm.tasks import Chore, begun, order, task

pytestmark = pytest.mark.slow


def engine(folder: Path, *, late: float = 30.0, **settings: int) -> Slurm:
    asked = EngineSection(name="slurm", memory_gb=0.1, minutes=5, **settings)
    return Slurm(asked, folder / "jobs", MOST_IN_AN_ARRAY, poll_seconds=0.2, late_seconds=late)


def test_more_cells_than_the_cluster_takes_jobs_and_more_jobs_than_an_array_holds(
    slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "AGAIN_SECONDS", 1.0)
    told: list[str] = []
    asked = order(tmp_path, [task(tmp_path, f"cell {number}") for number in range(100)], told)
    with slurm.most_jobs(3):
        ended = list(engine(tmp_path, tasks_per_job=25).run(asked))
    assert sorted(end.task.key for end in ended) == sorted(f"cell {number}" for number in range(100))
    assert [end.error for end in ended if end.error] == []
    assert begun(tmp_path) == sorted(f"cell {number}" for number in range(100))
    refused = "the cluster takes no more jobs now (sbatch: AssocMaxSubmitJobLimit; Batch job submission failed: "
    assert any(line.startswith(refused) and line.endswith("; the rest follows as jobs end") for line in told), told
    submitted = [line.partition(": ")[2] for line in told if line.startswith("submitted")]
    assert submitted == ["75 tasks", "cell 3"], "four jobs are more than an array holds, and more than the queue takes"


def test_a_cancelled_and_a_killed_job_fail_their_own_tasks_and_no_other(slurm: Cluster, tmp_path: Path) -> None:
    told: list[str] = []
    tasks = [
        task(tmp_path, "cancelled", "waits", is_pretraining=True),
        task(tmp_path, "killed", "waits", is_pretraining=True),
        task(tmp_path, "of killed", after="killed"),
        task(tmp_path, "fails", "fails", is_pretraining=True),
        task(tmp_path, "held", "held", is_pretraining=True),
        task(tmp_path, "quick", is_pretraining=True),
    ]
    own = engine(tmp_path, late=10.0)
    ended: dict[str, str] = {}
    work = threading.Thread(target=note_ends, args=(own, order(tmp_path, tasks, told), ended), daemon=True)
    work.start()
    wait_until(lambda: {"cancelled", "killed"} <= set(begun(tmp_path)))
    jobs = {keys[0]: job for job, keys in records(own.folder).items()}
    slurm.say("scancel", jobs["cancelled"])
    (file,) = tmp_path.glob("killed.begun.*")
    os.kill(int(file.suffix[1:]), signal.SIGKILL)
    wait_until(lambda: len(ended) == 5)
    assert "held" not in ended, "its job waits for the other runner"
    assert ended["quick"] == ended["of killed"] == ""
    assert ended["cancelled"] == f"its job {jobs['cancelled']} ended without a result (CANCELLED); log: " + str(
        own.folder / f"{jobs['cancelled']}_0_log.out"
    )
    assert f"its job {jobs['killed']} ended without a result (FAILED)" in ended["killed"]
    assert "failed: ValueError: out of luck; log: " in ended["fails"]


def test_a_job_that_may_not_go_back_to_the_queue_again_fails_with_what_to_change(
    slurm: Cluster, tmp_path: Path
) -> None:
    own = engine(tmp_path, requeues=1)
    ended: dict[str, str] = {}
    asked = order(tmp_path, [task(tmp_path, "long", "waits")], [])
    work = threading.Thread(target=note_ends, args=(own, asked, ended), daemon=True)
    work.start()
    for count in (1, 2):
        wait_until(lambda count=count: len(begun(tmp_path)) == count)  # type: ignore[misc]
        ((job, _),) = records(own.folder).items()
        slurm.say("scancel", "--signal=USR2", job)
    work.join(60)
    assert ended == {
        "long": f"its job {job} reached its time limit more than engine.requeues=1 times; what it saved stays, and the "
        "same command goes on from there: give it more than engine.minutes=5, or more requeues; log: "
        + str(own.folder / f"{job}_0_log.out")
    }


def note_ends(own: Slurm, asked: Order[Chore, str], ended: dict[str, str]) -> None:
    for end in own.run(asked):
        ended[end.task.key] = str(end.error or "")


def test_a_runner_that_is_killed_while_its_jobs_wait_and_two_beside_it_submit_nothing_twice(
    slurm: Cluster, tmp_path: Path
) -> None:
    tasks = [
        task(tmp_path, "first", is_pretraining=True),
        *(task(tmp_path, f"{n} of first", after="first") for n in range(4)),
    ]
    tasks += [task(tmp_path, "second", is_pretraining=True), task(tmp_path, "of second", after="second")]
    own = engine(tmp_path, tasks_per_job=2)
    fork = get_context("fork")
    with slurm.closed():
        killed = fork.Process(target=drive, args=(own, tmp_path, tasks, "killed"))
        killed.start()
        wait_until(lambda: len(records(own.folder)) == 5)
        os.kill(killed.pid or 0, signal.SIGKILL)
        killed.join()
        before = records(own.folder)
        beside = [fork.Process(target=drive, args=(own, tmp_path, tasks, name)) for name in ("one", "other")]
        for process in beside:
            process.start()
        time.sleep(1.0)
        assert begun(tmp_path) == []
    for process in beside:
        process.join(60)
        assert process.exitcode == 0
    names = sorted(own.key for own in tasks)
    assert begun(tmp_path) == names, "each began once"
    for runner in ("one", "other"):
        assert sorted((tmp_path / runner).read_text().splitlines()) == names, "each runner hears of every end"
    wait_until(lambda: not slurm.queue())
    assert before.keys() == {file.name.partition("_0_log.out")[0] for file in own.folder.glob("*_0_log.out")}


def drive(own: Slurm, folder: Path, tasks: list[Task[Chore]], name: str) -> None:
    """Run an order to its end in a process of its own, which notes what it hears."""
    ended = [end.task.key for end in own.run(order(folder, tasks, [])) if end.error is None]
    (folder / name).write_text("\n".join(ended))
    os._exit(0)


def test_results_that_are_seen_late_are_waited_for_and_not_for_ever(slurm: Cluster, tmp_path: Path) -> None:
    there, seen = tmp_path / "there", tmp_path / "seen"
    there.mkdir()
    seen.mkdir()
    asked = order(seen, [task(there, "late", is_pretraining=True), task(there, "later", after="late")], [])
    delay = threading.Thread(target=show_late, args=(there, seen, 3.0, 2), daemon=True)
    delay.start()
    assert [(end.task.key, end.result) for end in engine(tmp_path).run(asked)] == [("late", "late"), ("later", "later")]
    delay.join()
    never = order(seen, [task(there, "never seen")], [])
    (end,) = engine(tmp_path, late=2.0).run(never)
    assert "ended, and its result is not seen after 2 s; log: " in str(end.error)


def show_late(there: Path, seen: Path, seconds: float, count: int) -> None:
    """Show each file of a folder in another one some seconds after it was written, as a shared folder may."""
    shown: set[str] = set()
    while len(shown) < count:
        for file in there.glob("*.done"):
            if file.name not in shown and time.time() - file.stat().st_mtime > seconds:
                shutil.copy(file, seen / file.name)
                shown.add(file.name)
        time.sleep(0.1)
