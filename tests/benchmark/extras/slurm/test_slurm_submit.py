"""What is asked of the cluster, and what a job leaves: read as texts alone, since a store may come from others."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from benchmark.config.sections import EngineSection
from benchmark.extras.slurm import CHECKOUT, LARGEST_OUTCOME, ClusterError, Full, SlurmJob, outcome_of, submit

submitit = pytest.importorskip("submitit")


class Executor:
    """What is asked of submitit."""

    asked: ClassVar[dict[str, Any]] = {}
    jobs: ClassVar[list[SlurmJob]] = []
    refusal: ClassVar[str] = ""

    def __init__(self, folder: Path, max_num_timeout: int) -> None:
        Executor.asked = {"folder": folder, "max_num_timeout": max_num_timeout}
        Executor.jobs = []

    def update_parameters(self, **asked: Any) -> None:
        Executor.asked |= asked

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield
        if self.refusal:
            raise submitit.core.utils.FailedJobError(self.refusal)

    def submit(self, job: SlurmJob) -> SimpleNamespace:
        self.jobs.append(job)
        return SimpleNamespace(job_id=f"9_{len(self.jobs) - 1}")


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> type[Executor]:
    monkeypatch.setattr(submitit, "SlurmExecutor", Executor)
    monkeypatch.setattr(Executor, "refusal", "")
    return Executor


JOBS = [SlurmJob(b"", 1.0), SlurmJob(b"", 2.0)]
FULL = {
    "partition": "gpu", "account": "lab", "minutes": 90, "memory_gb": 2.5, "gpus": 1, "cpus": 8, "at_once": 7,
    "requeues": 3, "warning_seconds": 60, "options": {"constraint": "a100", "qos": "long"},
}  # fmt: skip


def test_all_that_the_section_engine_says_is_asked_of_the_cluster(executor: type[Executor], tmp_path: Path) -> None:
    settings = EngineSection(name="slurm", **FULL)
    assert submit(JOBS, tmp_path, settings, "ecg-1", "12_0") == ["9_0", "9_1"]
    assert executor.jobs == JOBS
    setup = executor.asked.pop("setup")
    assert executor.asked == {
        "folder": tmp_path,
        "max_num_timeout": 3,
        "job_name": "ecg-1",
        "time": 90,
        "nodes": 1,
        "ntasks_per_node": 1,
        "cpus_per_task": 8,
        "mem": "2560MB",
        "gpus_per_node": 1,
        "partition": "gpu",
        "account": "lab",
        "array_parallelism": 7,
        "signal_delay_s": 60,
        "srun_args": ["--cpus-per-task=8"],
        "additional_parameters": {
            "requeue": True, "constraint": "a100", "qos": "long", "dependency": "afterany:12_0"
        },
    }  # fmt: skip
    assert setup == [f"export PYTHONPATH={CHECKOUT} OMP_NUM_THREADS=8"]


def test_a_job_of_cells_has_one_gpu_and_what_is_left_out_is_left_to_the_cluster(
    executor: type[Executor], tmp_path: Path
) -> None:
    submit(JOBS, tmp_path, EngineSection(name="slurm", gpus=1), "ecg-1", "")
    assert (executor.asked["ntasks_per_node"], executor.asked["gpus_per_node"]) == (1, 1)
    submit(JOBS, tmp_path, EngineSection(name="slurm"), "ecg-1", "")
    assert executor.asked.keys().isdisjoint({"partition", "account", "gpus_per_node"})
    assert executor.asked["additional_parameters"] == {"requeue": True}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: no", Full),
        ("sbatch: error: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", Full),
        ("sbatch: error: Invalid account", ClusterError),
    ],
)
def test_what_sbatch_says_is_told_in_one_line(
    executor: type[Executor], tmp_path: Path, said: str, kind: type[ClusterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "refusal", said)
    with pytest.raises(ClusterError) as error:
        submit(JOBS, tmp_path, EngineSection(name="slurm"), "ecg-1", "")
    assert type(error.value) is kind
    assert str(error.value) == "sbatch: " + said.replace("sbatch: error: ", "").replace("\n", "; ")


class Attack:
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.fspath(self.folder),)


@pytest.mark.parametrize("outcome", [("success", []), ("success", ["a", "b"]), ("error", "Traceback\n  KeyError: 1")])
def test_the_outcome_of_a_job_is_read(tmp_path: Path, outcome: tuple[str, object]) -> None:
    (tmp_path / "7_0_result.pkl").write_bytes(pickle.dumps(outcome))
    assert outcome_of(tmp_path, "7") == outcome


@pytest.mark.parametrize("within", ["alone", "keys", "error"])
def test_no_code_in_an_outcome_is_executed(tmp_path: Path, within: str) -> None:
    attack = Attack(tmp_path / "made")
    content = {"alone": attack, "keys": ("success", [attack]), "error": ("error", attack)}[within]
    (tmp_path / "7_0_result.pkl").write_bytes(pickle.dumps(content))
    assert outcome_of(tmp_path, "7") is None
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"no pickle", pickle.dumps(("success", [1])), pickle.dumps(("error", 3)), pickle.dumps(["success"])],
)
def test_what_is_no_outcome_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "7_0_result.pkl").write_bytes(content)
    assert outcome_of(tmp_path, "7") is None


def test_neither_a_pipe_nor_a_large_file_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "7_0_result.pkl")
    assert outcome_of(tmp_path, "7") is None
    with open(tmp_path / "8_0_result.pkl", "wb") as file:
        file.truncate(LARGEST_OUTCOME + 1)
    assert outcome_of(tmp_path, "8") is None
    assert outcome_of(tmp_path, "9") is None
