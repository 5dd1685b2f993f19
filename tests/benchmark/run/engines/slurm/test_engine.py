"""What the engine `slurm` says and does where a cluster misbehaves, told by a cluster that is made up."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.sections.engine import EngineSection
from benchmark.run.engines.engine import Not, Order, Task
from benchmark.run.engines.slurm import cluster
from benchmark.run.engines.slurm import engine as engine_module
from benchmark.run.engines.slurm.cluster import ClusterError, Queued
from benchmark.run.engines.slurm.engine import Slurm
from benchmark.run.engines.slurm.ledger import record, records
from benchmark.run.engines.slurm.submit import Full

WAITS = Queued("PENDING", "Resources", "")


@dataclass
class MadeUp:
    """A cluster that takes jobs, and whose queue is what the test says."""

    states: dict[str, Queued] = field(default_factory=dict)
    last: str = "FAILED"
    arrays: list[int] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    refusal: Exception | None = None
    answers: int = 10**6

    def submit(
        self, jobs: Sequence[Any], folder: Path, settings: object, name: str, after: str, ranks: int
    ) -> list[str]:
        if self.refusal:
            raise self.refusal
        self.arrays.append(len(jobs))
        self.after.append(after)
        return [f"{len(self.arrays)}_{number}" for number in range(len(jobs))]

    def queued(self, jobs: Any) -> dict[str, Queued]:
        self.answers -= 1
        if self.answers < 0:
            raise ClusterError("`squeue`: no answer")
        return {job: self.states[job] for job in jobs if job in self.states}


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    own = MadeUp()
    monkeypatch.setattr(engine_module, "submit", own.submit)
    monkeypatch.setattr(cluster, "queued", own.queued)
    monkeypatch.setattr(cluster, "last_state", lambda job: own.last)
    return own


def engine(folder: Path, **further: Any) -> Slurm:
    return Slurm(EngineSection(name="slurm"), folder, 3, poll_seconds=0.0, late_seconds=0.0, **further)


def order(told: list[str], *tasks: Task[int], **further: Any) -> Order[int, int]:
    return Order(list(tasks), print, on_told=told.append, **further)


def test_a_job_without_a_log_asks_whether_the_folder_is_shared(made_up: MadeUp, tmp_path: Path) -> None:
    (end,) = engine(tmp_path).run(order([], Task("a", "a", 1)))
    assert str(end.error) == (
        f"its job 1_0 ended (FAILED) and left no log in {tmp_path}: do all nodes see this folder? Put --results where "
        "they do"
    )


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (
            "submitit.core.utils.UncompletedJobError: Job not requeued because: timed-out too many times.",
            "reached its time limit more than engine.requeues=100 times; what it saved stays, and the same command goes"
            " on from there: give it more than engine.minutes=240, or more requeues",
        ),
        ("ValueError: out of luck", "failed: ValueError: out of luck"),
        ("", "failed: no error text"),
    ],
)
def test_how_a_job_failed_is_told_with_what_to_change(made_up: MadeUp, tmp_path: Path, last: str, words: str) -> None:
    (tmp_path / "1_0_0_result.pkl").write_bytes(pickle.dumps(("error", last and f"Traceback:\n  a line\n{last}\n")))
    (end,) = engine(tmp_path).run(order([], Task("a", "a", 1)))
    assert str(end.error) == f"its job 1_0 {words}; log: {tmp_path / '1_0_0_log.out'}"


def test_jobs_wait_for_their_own_pretraining_and_arrays_are_split(made_up: MadeUp, tmp_path: Path) -> None:
    whole = [Task(name, name, 1, whole=True) for name in "pqrst"]
    cells = [Task(f"{name} {number}", "", 1, name, 1e5) for name in "ps" for number in range(2)]
    list(engine(tmp_path, detached=True).run(order([], *whole, *cells, Task("free", "", 1))))
    assert made_up.arrays == [3, 2, 2, 2, 1]
    assert made_up.after == ["", "", "1_0", "2_0", ""]


def test_what_another_runner_holds_waits_with_those_that_wait_for_it(made_up: MadeUp, tmp_path: Path) -> None:
    asked = order(
        told := [],
        Task("held", "held", 1, whole=True),
        Task("of held", "", 1, "held"),
        Task("done", "", 1, whole=True),
        Task("of done", "of done", 1, "done"),
        begin=lambda task: {"held": Not.YET, "done": Not.EVER}.get(task.key, task),
    )
    list(engine(tmp_path, detached=True).run(asked))
    assert told == [
        "submitted 1_0: of done",
        "1 tasks are in 1 jobs; `status` shows them, the same command goes on from there",
        "2 tasks are not submitted (other runners hold them): run the same command again later",
    ]


def test_jobs_of_another_runner_are_watched_and_old_records_forgotten(made_up: MadeUp, tmp_path: Path) -> None:
    record(tmp_path, "7", ["a", "b"], "theirs")
    record(tmp_path, "6", ["old"], "long gone")
    made_up.states["7"] = WAITS
    ended = list(engine(tmp_path).run(order([], Task("a", "", 1, parts=("a", "b")), found=lambda task: 5)))
    assert [(end.task.key, end.result) for end in ended] == [("a", 5)]
    assert made_up.arrays == []
    assert records(tmp_path).keys() == {"7"}


def test_a_held_job_and_a_silent_cluster_are_told_once(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.states["1_0"] = Queued("PENDING", "launch failed requeued held", "")
    made_up.answers = 3
    looks: list[int] = []

    def found(task: Task[int]) -> int | None:
        looks.append(1)
        return None

    told: list[str] = []
    running = engine_module._Watch(engine(tmp_path), order(told, Task("a", "a", 1), found=found), [Task("a", "a", 1)])
    running.submit_free()
    for _ in range(4):
        assert list(running.ended()) == []
    assert told == [
        "submitted 1_0: a",
        "job 1_0 is held (launch failed requeued held); `scontrol release 1_0` lets it go on",
        "the cluster does not answer, asking again: `squeue`: no answer",
    ]
    assert len(looks) == 2
    assert running.flying.keys() == {"1_0"}


def test_a_full_cluster_is_told_in_its_own_words(
    made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "sbatch: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
    record(tmp_path, "7", ["theirs"], "of another runner")
    made_up.states["7"] = WAITS
    made_up.refusal = Full(words)
    list(engine(tmp_path, detached=True).run(order(told := [], Task("a", "a", 1))))
    assert told == [
        f"the cluster takes no more jobs now ({words}); the rest follows as jobs end",
        "0 tasks are in 0 jobs; `status` shows them, the same command goes on from there",
        f"1 tasks are not submitted (the cluster takes no more jobs now, {words}): run the same command again later",
    ]


@pytest.mark.parametrize("refusal", [Full("sbatch: too many"), ClusterError("sbatch: invalid account")])
def test_a_cluster_that_refuses_every_job_ends_the_run(made_up: MadeUp, tmp_path: Path, refusal: Exception) -> None:
    made_up.refusal = refusal
    with pytest.raises(ClusterError, match=str(refusal)):
        list(engine(tmp_path).run(order([], Task("a", "a", 1), Task("b", "b", 1))))
