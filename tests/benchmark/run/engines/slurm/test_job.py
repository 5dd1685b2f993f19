"""What a job does with its tasks, and what it is told by its environment."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.run.apart.attempt import Attempt
from benchmark.run.apart.code import digests_of_code
from benchmark.run.engines.engine import Not, Task, Tell
from benchmark.run.engines.slurm import job as job_module
from benchmark.run.engines.slurm.job import SlurmJob, rank_variables, run_in_turn
from benchmark.run.work.jobs import configs_of, pretraining_job
from tests.benchmark.run.bench import Bench

ENVIRONMENT = {
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "2",
    "SLURM_JOB_NUM_NODES": "1",
    "SLURM_JOB_ID": "45678",
    "SLURMD_NODENAME": "node7",
}


def test_a_process_of_several_is_told_its_rank_as_torchrun_does() -> None:
    assert rank_variables(ENVIRONMENT) == {
        "RANK": "2",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "2",
        "LOCAL_WORLD_SIZE": "4",
        "MASTER_ADDR": "node7",
        "MASTER_PORT": "29678",
    }
    assert rank_variables(ENVIRONMENT | {"SLURM_NTASKS": "1"}) == {}


def test_two_jobs_on_a_node_have_two_ports() -> None:
    ports = {rank_variables(ENVIRONMENT | {"SLURM_JOB_ID": str(job)})["MASTER_PORT"] for job in range(100, 200)}
    assert len(ports) == 100


def test_no_port_is_one_that_an_outgoing_connection_may_have() -> None:
    ports = [int(rank_variables(ENVIRONMENT | {"SLURM_JOB_ID": str(job)})["MASTER_PORT"]) for job in range(0, 70000, 7)]
    assert min(ports) > 1024
    assert max(ports) < 32_768


def test_what_another_runner_holds_is_tried_again_and_left_to_it_in_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now, tried = [0.0], list[str]()
    monkeypatch.setattr(job_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(job_module.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))

    def run(work: str, tell: Tell) -> Any:
        tried.append(work)
        return Not.YET if work == "held" or (work == "later" and tried.count("later") < 3) else None

    tasks = [Task(name, f"the task {name}", name) for name in ("held", "free", "later")]
    assert run_in_turn(run, tasks) == ["held"]
    assert (tried.count("free"), tried.count("later")) == (1, 3)
    assert job_module.PATIENCE_SECONDS < now[0] < job_module.PATIENCE_SECONDS + 30
    assert "the task free ended after 0 s" in capsys.readouterr().out


def test_a_job_is_the_same_when_it_comes_back(tmp_path: Path) -> None:
    own = job_module.SlurmJob.of(abs, [Task("a", "a", -1)], 10.0)
    pytest.importorskip("submitit")
    assert own.checkpoint().function == own


@pytest.mark.slow
def test_the_processes_of_a_job_pretrain_together(bench: Bench, tmp_path: Path) -> None:
    bench.machine = replace(bench.machine, ranks=2)
    (task,) = [own for own in bench.grid.pretrainings if own.method.trains]
    job = pretraining_job(task, configs_of(bench.config, [task]), bench.setup(bench.heard.watch()))
    own = SlurmJob.of(Attempt(bench.store.root, {}, digests_of_code()), [Task(task.key, "it", job)], 10.0)
    (tmp_path / "job").write_bytes(pickle.dumps(own))
    code = f"import os, pickle; print(pickle.load(open({str(tmp_path / 'job')!r}, 'rb'))(), flush=True); os._exit(0)"
    number = str(os.getpid())  # a port of its own
    given = ENVIRONMENT | {"SLURM_NTASKS": "2", "SLURMD_NODENAME": "127.0.0.1", "SLURM_JOB_ID": number}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **given, "SLURM_PROCID": rank, "SLURM_LOCALID": rank, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in "01"
    ]
    said = [process.communicate(timeout=240)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert "it ended after" in said[0]
    assert [text.splitlines()[-1] for text in said] == ["[]", "[]"]
    card = bench.store.card(task.key)
    assert card is not None
    assert card["key_content"]["mode"]["ranks"] == 2
