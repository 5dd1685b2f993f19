"""A job that no runner watches over does what is free, and leaves in the store how it ended."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.machine.process import this_process
from benchmark.results.failures import End, Failure
from benchmark.run.apart.attempt import Attempt
from benchmark.run.apart.code import digests_of_code
from benchmark.run.cell import CellJob
from benchmark.run.engines.engine import Not
from benchmark.run.pretraining import PretrainingJob
from benchmark.run.work import claims as claims_module
from benchmark.run.work import jobs as jobs_module
from benchmark.run.work.claims import CLAIMS, Claims
from benchmark.run.work.jobs import Job, cell_jobs, configs_of, pretraining_job
from tests.benchmark.run.bench import Bench


def jobs_of(bench: Bench) -> tuple[dict[str, PretrainingJob], list[tuple[CellJob, ...]]]:
    """The jobs of a bench's pretrainings by their method, and of its cells."""
    grid, setup = bench.grid, bench.setup(bench.heard.watch())
    configs = configs_of(bench.config, grid.cells)
    pretrainings = {task.method.name: pretraining_job(task, configs, setup) for task in grid.pretrainings}
    return pretrainings, cell_jobs(grid.cells, configs, setup)


def attempt(bench: Bench, job: Job, **further: float) -> list[End] | Not:
    own = Attempt(bench.store.root, {}, digests_of_code(), late_seconds=further.get("late", 0.0))
    return pickle.loads(pickle.dumps(own))(pickle.loads(pickle.dumps(job)), lambda news: None)


def test_jobs_one_by_one_leave_what_a_runner_leaves(finished: Bench, bench: Bench, tmp_path: Path) -> None:
    expected = finished.rows()
    (tmp_path / "runs").rename(tmp_path / "whole")
    pretrainings, groups = jobs_of(bench)
    assert [attempt(bench, job) for job in (*pretrainings.values(), *groups)] == [[]] * (2 + len(groups))
    assert bench.rows() == expected
    assert list((bench.store.root / CLAIMS).iterdir()) == []


def test_what_is_done_is_not_done_again_and_what_another_holds_is_left_to_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretrainings, _ = jobs_of(bench)
    job = pretrainings["random"]
    other = Claims(bench.store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))
    assert other.take(job.task.key)
    assert attempt(bench, job) is Not.YET
    other.release(job.task.key)
    assert attempt(bench, job) == []
    monkeypatch.setattr(jobs_module, "run_to_end", lambda *arguments: pytest.fail("it is done already"))
    assert attempt(bench, job) == []


def test_what_a_dead_host_holds_is_taken_over_after_watching_it_over_several_calls(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims_module, "STALE_SECONDS", 0.3)
    pretrainings, _ = jobs_of(bench)
    job = pretrainings["random"]
    other = Claims(bench.store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))
    assert other.take(job.task.key)
    own = pickle.loads(pickle.dumps(Attempt(bench.store.root, {}, digests_of_code())))
    assert own(job, lambda news: None) is Not.YET
    time.sleep(0.2)
    assert own(job, lambda news: None) is Not.YET
    time.sleep(0.2)
    assert own(job, lambda news: None) == []
    assert bench.store.card(job.task.key) is not None


def test_a_cell_waits_for_its_encoder_and_fails_with_it(bench: Bench) -> None:
    _, groups = jobs_of(bench)
    job = next(group for group in groups if group[0].cell.variant.name == "pmq")
    cell = job[0].cell
    assert attempt(bench, job) is Not.YET
    assert bench.store.failures([cell.key]) == {}
    bench.store.save_pretraining_failure(cell.pretrain_key, "it", "ValueError: no keys today")
    assert attempt(bench, job) == []
    assert bench.store.failures([cell.key])[cell.key] == Failure("its pretraining failed: ValueError: no keys today")


def test_other_code_and_unseen_data_are_refused_before_any_work(bench: Bench, tmp_path: Path) -> None:
    job = jobs_of(bench)[0]["random"]
    key = job.task.key
    Attempt(bench.store.root, {}, {"methods/pmq.py": "of before"})(job, lambda news: None)
    error = bench.store.failures([key])[key].error
    assert error.startswith("ValueError: ")
    assert error.endswith("has been edited since this job was submitted; the same command submits it as it is now")
    (bench.store.pretrained / key / "error.json").unlink()
    assert attempt(bench, replace(job, prepared={"chapman": tmp_path / "nowhere"})) == []
    error = bench.store.failures([key])[key].error
    assert (
        f"does not see the prepared data {tmp_path / 'nowhere'}: put --cache on a folder that all nodes share" in error
    )


def test_a_cell_has_its_threads_however_many_its_process_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        "benchmark.run.apart.attempt.run_job", lambda job, tell: seen.append(torch.get_num_threads()) or []
    )
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        pretrainings, groups = jobs_of(bench)
        own = Attempt(bench.store.root, {}, digests_of_code(), cell_threads=1)
        own._run(pretrainings["pmq"], lambda news: None)
        own._run(groups[0], lambda news: None)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == [3, 1]
