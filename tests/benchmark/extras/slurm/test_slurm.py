"""Which tasks share a job, and which jobs an array.

What the engine `slurm` says and does where a cluster misbehaves, told by a cluster that is made up.

What a job does with its tasks, and what it is told by its environment.

Records of submitted jobs: written, read, forgotten; what cannot be read is left out.

A cluster that is not there, or that cannot see a folder, is refused in one line before any work.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.errors import ConfigError
from benchmark.config.sections import EngineSection
from benchmark.extras import slurm
from benchmark.extras import slurm as engine_module
from benchmark.extras import slurm as job_module
from benchmark.extras import slurm as open_module
from benchmark.extras.slurm import (
    ClusterError,
    Full,
    Queued,
    Slurm,
    arrays_of,
    batches_of,
    doubt_of,
    forget,
    open_slurm,
    record,
    records,
    run_in_turn,
)
from benchmark.run.local import EngineRequest, Order, Start, Task, Tell


def cells(count: int, after: str = "", seconds: float = 0.0) -> list[Task[int]]:
    return [Task(f"{after} {number}", "", number, after, seconds) for number in range(count)]


def sizes(tasks: list[Task[int]], *, most: int = 100, minutes: float = 60) -> list[int]:
    return [len(batch) for batch in batches_of(tasks, most=most, minutes=minutes)]


def test_a_pretraining_is_alone_and_cells_of_two_encoders_share_no_job() -> None:
    tasks = [
        Task("p", "", 0, is_pretraining=True),
        *cells(3, "p"),
        Task("q", "", 0, is_pretraining=True),
        *cells(2, "q"),
        *cells(2),
    ]
    found = batches_of(tasks, most=100, minutes=60)
    assert [(batch[0].is_pretraining, batch[0].after, len(batch)) for batch in found] == [
        (True, "", 1),
        (True, "", 1),
        (False, "p", 3),
        (False, "q", 2),
        (False, "", 2),
    ]


def test_a_job_has_no_more_tasks_than_asked_for_and_is_expected_within_half_its_limit() -> None:
    assert sizes(cells(10), most=4) == [4, 3, 3]
    assert sizes(cells(10, seconds=60), minutes=10) == [5, 5]
    assert sizes(cells(3, seconds=6000), minutes=10) == [1, 1, 1]


def test_jobs_are_expected_to_take_about_equally_long_and_keep_the_order_of_their_tasks() -> None:
    tasks = [Task(str(number), "", number, seconds=seconds) for number, seconds in enumerate((100, 10, 90, 20, 80, 0))]
    found = batches_of(tasks, most=4, minutes=10)
    assert [[task.work for task in batch] for batch in found] == [[0, 1, 3, 5], [2, 4]]
    assert [sum(task.seconds for task in batch) for batch in found] == [130, 170]


def test_an_array_holds_jobs_that_wait_for_one_task_and_no_more_than_the_cluster_takes() -> None:
    batches = batches_of([Task("p", "", 0, is_pretraining=True), *cells(5, "p"), *cells(2)], most=1, minutes=60)
    assert [[batch[0].after for batch in array] for array in arrays_of(batches, 3)] == [
        [""],
        ["p"] * 3,
        ["p"] * 2,
        ["", ""],
    ]


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

    def submit(self, jobs: Sequence[Any], folder: Path, settings: object, name: str, after: str) -> list[str]:
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
    monkeypatch.setattr(slurm, "queued", own.queued)
    monkeypatch.setattr(slurm, "last_state", lambda job: own.last)
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
    whole = [Task(name, name, 1, is_pretraining=True) for name in "pqrst"]
    cells = [Task(f"{name} {number}", "", 1, name, 1e5) for name in "ps" for number in range(2)]
    free = Task("free", "", 1, parts=("free", "probe beside it"))
    asked = order([], *whole, *cells, free)
    engine_module._Watch(engine(tmp_path), asked, list(asked.tasks)).submit_free()
    assert made_up.arrays == [3, 2, 2, 2, 1]
    assert made_up.after == ["", "", "1_0", "2_0", ""]
    assert records(tmp_path)["5_0"] == ["free", "probe beside it"]


def test_what_another_runner_holds_waits_with_those_that_wait_for_it(made_up: MadeUp, tmp_path: Path) -> None:
    asked = order(
        told := [],
        Task("held", "held", 1, is_pretraining=True),
        Task("of held", "", 1, "held"),
        Task("done", "", 1, is_pretraining=True),
        Task("of done", "of done", 1, "done"),
        begin=lambda task: {"held": Start.LATER, "done": Start.NEVER}.get(task.key, task),
    )
    engine_module._Watch(engine(tmp_path), asked, list(asked.tasks)).submit_free()
    assert told == ["submitted 1_0: of done"]


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
    asked = order(told := [], Task("a", "a", 1))
    engine_module._Watch(engine(tmp_path), asked, list(asked.tasks)).submit_free()
    assert told == [f"the cluster takes no more jobs now ({words}); the rest follows as jobs end"]


@pytest.mark.parametrize("refusal", [Full("sbatch: too many"), ClusterError("sbatch: invalid account")])
def test_a_cluster_that_refuses_every_job_ends_the_run(made_up: MadeUp, tmp_path: Path, refusal: Exception) -> None:
    made_up.refusal = refusal
    with pytest.raises(ClusterError, match=str(refusal)):
        list(engine(tmp_path).run(order([], Task("a", "a", 1), Task("b", "b", 1))))


def test_what_another_runner_holds_is_tried_again_and_left_to_it_in_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now, tried = [0.0], list[str]()
    monkeypatch.setattr(job_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(job_module.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))

    def run(work: str, tell: Tell) -> Any:
        tried.append(work)
        return Start.LATER if work == "held" or (work == "later" and tried.count("later") < 3) else None

    tasks = [Task(name, f"the task {name}", name) for name in ("held", "free", "later")]
    assert run_in_turn(run, tasks) == ["held"]
    assert (tried.count("free"), tried.count("later")) == (1, 3)
    assert job_module.PATIENCE_SECONDS < now[0] < job_module.PATIENCE_SECONDS + 30
    assert "the task free ended after 0 s" in capsys.readouterr().out


def test_a_job_is_the_same_when_it_comes_back(tmp_path: Path) -> None:
    own = job_module.SlurmJob.of(abs, [Task("a", "a", -1)], 10.0)
    pytest.importorskip("submitit")
    assert own.checkpoint().function == own


def test_records_are_written_read_and_forgotten(tmp_path: Path) -> None:
    record(tmp_path, "3", ["a", "b"], "two cells")
    record(tmp_path, "4", ["c"], "a pretraining")
    assert records(tmp_path) == {"3": ["a", "b"], "4": ["c"]}
    forget(tmp_path, ["3", "5"])
    assert records(tmp_path) == {"4": ["c"]}


def test_a_record_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    record(tmp_path, "3", ["a"], "a cell")
    os.mkfifo(tmp_path / "4.json")
    (tmp_path / "5.json").write_text("[" * 100_000)
    (tmp_path / "6.json").write_text('{"keys": 3}')
    (tmp_path / "7.json").write_text("[]")
    assert records(tmp_path) == {"3": ["a"]}


SLURM = EngineSection(name="slurm")


def test_without_slurm_or_submitit_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(open_module, "require_submitit", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"^--engine slurm: there is no `scontrol` here: run this on a login node"):
        open_slurm(EngineRequest(SLURM, 1, (), tmp_path, []))
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "submitit", None)
    with pytest.raises(
        ConfigError, match=r"^--engine slurm needs submitit: pip install 'ecg-pretrain-bench\[slurm\]'$"
    ):
        open_slurm(EngineRequest(SLURM, 1, (), tmp_path, []))


def test_a_controller_that_does_not_answer_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **how: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "a line\nUnable to contact slurm controller\n")

    monkeypatch.setattr(slurm.subprocess, "run", run)
    with pytest.raises(ClusterError, match=r"^`sinfo`: Unable to contact slurm controller$"):
        slurm.partitions()


def test_jobs_of_arrays_are_told_apart_and_forgotten_ones_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "12_0|RUNNING|None|node1\n12_1|PENDING|Resources|\n14|PENDING|Dependency|\n"
    monkeypatch.setattr(slurm, "ask", lambda *command: said)
    assert slurm.queued(["12_0", "12_1", "13"]) == {
        "12_0": Queued("RUNNING", "None", "node1"),
        "12_1": Queued("PENDING", "Resources", ""),
    }

    def gone(*command: str) -> str:
        raise ClusterError("`squeue`: slurm_load_jobs error: Invalid job id specified")

    monkeypatch.setattr(slurm, "ask", gone)
    assert slurm.queued(["9"]) == {}
    assert slurm.queued([]) == {}


def test_a_folder_of_this_host_alone_is_refused_or_doubted(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"overlay / overlay rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\ntmpfs {tmp_path}/shm tmpfs rw 0 0\n"
        f"/dev/sdb1 {tmp_path}/scratch xfs rw 0 0\n"
    )
    host = socket.gethostname()
    assert doubt_of(tmp_path / "runs", mounts) == ""
    assert doubt_of(tmp_path / "runs", tmp_path / "no mounts") == ""
    scratch = tmp_path / "scratch"
    assert doubt_of(scratch / "runs", mounts) == (
        f"{scratch}/runs is on a disk of {host} (xfs on {scratch}); if the cluster's nodes do not see it there, "
        "name a folder that they share"
    )
    with pytest.raises(
        ConfigError, match=rf"shm/runs is in the memory of {host} \(tmpfs on .*; name a folder that all"
    ):
        doubt_of(tmp_path / "shm" / "runs", mounts)


def test_folders_are_looked_at_where_the_cluster_has_other_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs, cache = tmp_path / "runs", tmp_path / "cache"
    monkeypatch.setattr(open_module, "require_submitit", lambda: None)
    monkeypatch.setattr(open_module, "doubt_of", {runs: "", cache: "on a disk"}.__getitem__)
    monkeypatch.setattr(slurm, "limits", lambda: ("bench", 1001))
    monkeypatch.setattr(slurm, "partitions", lambda: ["cpu", "gpu"])
    monkeypatch.setattr(slurm, "cluster_nodes", lambda: ["node1", "node2"])
    assert open_slurm(EngineRequest(SLURM, 1, (), runs, [cache])).doubts == ("on a disk",)
    monkeypatch.setattr(slurm, "cluster_nodes", lambda: [socket.gethostname()])
    assert open_slurm(EngineRequest(SLURM, 1, (), runs, [cache])).doubts == ()
    with pytest.raises(ConfigError, match=r"^engine\.partition: the cluster has no partition 'x'; it has cpu, gpu$"):
        open_slurm(EngineRequest(EngineSection(name="slurm", partition="x"), 1, (), tmp_path, []))
