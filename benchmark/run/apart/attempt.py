"""What a job does that no runner watches over: claim what is free of it, run it, leave how it ended in the store."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

from benchmark.machine.ranks import lead
from benchmark.results.failures import End, Failure
from benchmark.results.store import Store
from benchmark.run.apart.code import refuse_other_code
from benchmark.run.engines.engine import Not, Tell
from benchmark.run.grid.cells import Cell, Pretraining
from benchmark.run.pretraining import PretrainingJob, in_step
from benchmark.run.work.claims import CLAIMS, Claims, Watched
from benchmark.run.work.jobs import Job, run_job, tasks_of
from benchmark.run.work.left import take
from benchmark.run.work.stored import Failed, failed, failure_file, is_finished, is_made, save_failure

LATE_SECONDS = 60.0
"""Most that a shared folder takes to show a file that another host has written."""
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Attempt:
    """The function of engines whose tasks run apart; picklable."""

    results: Path
    failed_before: Mapping[str, Failed]
    """Earlier failures, which are tried again."""
    code: Mapping[str, str]
    """The code that the job was submitted with (`digests_of_code`)."""
    cell_threads: int | None = 1
    """Threads of a cell; None, as for a pretraining: those that its process was started with."""
    late_seconds: float = LATE_SECONDS
    seen: dict[str, Watched] = field(default_factory=dict, compare=False)
    """Claims of others over the calls of one process: one of a dead host is taken over after watching it."""

    def __call__(self, job: Job, tell: Tell) -> list[End] | Not:
        """Do what is free of a job; Not.YET if another runner holds a part, or its encoder is not there."""
        store = Store(self.results)
        with Claims(store.root / CLAIMS, seen=self.seen) as claims:
            mine = [task for task in tasks_of(job) if self._is_open(task, store) and take(task, claims)]
            mine = [task for task in mine if self._is_open(task, store)]  # ended while it was being claimed
            try:
                if mine:
                    refuse_other_code(self.code)
                    refuse_unseen(job)
                ready = self._with_encoder(mine, store)
            except Exception as error:
                for task in mine:
                    save_failure(task, Failure(f"{type(error).__name__}: {error}"), store)
                return []
            for end in self._run(narrowed(job, ready), tell) if ready else ():
                if end.failure:
                    save_failure(next(task for task in ready if task.key == end.key), end.failure, store)
            left = [task for task in tasks_of(job) if self._is_open(task, store)]
        return Not.YET if left else []  # the ends are in the store

    def _run(self, job: Job, tell: Tell) -> list[End]:
        if isinstance(job, PretrainingJob) and job.ranks > 1:
            lead(in_step, job)
        if isinstance(job, PretrainingJob) or self.cell_threads is None:
            return run_job(job, tell)
        before = torch.get_num_threads()
        torch.set_num_threads(self.cell_threads)
        try:
            with threadpool_limits(self.cell_threads):
                return run_job(job, tell)
        finally:
            torch.set_num_threads(before)

    def _is_open(self, task: Pretraining | Cell, store: Store) -> bool:
        """Whether a task is neither finished nor failed since the job was submitted."""
        now = failed(failure_file(task, store))
        return not is_finished(task, store) and now in (None, self.failed_before.get(task.key))

    def _with_encoder(self, tasks: list[Pretraining | Cell], store: Store) -> list[Pretraining | Cell]:
        """The tasks whose encoder is there, which may take a while; those of a failed pretraining fail with it."""
        ready = []
        until = time.monotonic() + self.late_seconds
        for task in tasks:
            needed = task.pretraining if isinstance(task, Cell) else None
            while needed and not is_made(needed, store) and time.monotonic() < until:
                if self._has_failed(needed, store):
                    break
                time.sleep(LOOK_SECONDS)
            if needed is None or is_made(needed, store):
                ready.append(task)
            elif self._has_failed(needed, store):
                failure = store.failures([needed.key])[needed.key]
                save_failure(task, Failure(f"its pretraining failed: {failure.error}", failure.traceback), store)
        return ready

    def _has_failed(self, pretraining: Pretraining, store: Store) -> bool:
        return failed(failure_file(pretraining, store)) not in (None, self.failed_before.get(pretraining.key))


def narrowed(job: Job, tasks: list[Pretraining | Cell]) -> Job:
    """The job with some of its tasks alone."""
    keys = {task.key for task in tasks}
    return job if isinstance(job, PretrainingJob) else tuple(own for own in job if own.cell.key in keys)


def refuse_unseen(job: Job) -> None:
    """Raise FileNotFoundError in one line if this host does not see the prepared data of a job."""
    folders = job.prepared.values() if isinstance(job, PretrainingJob) else [own.prepared for own in job]
    for folder in folders:
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{socket.gethostname()} does not see the prepared data {folder}: put --cache on a folder that all "
                "nodes share, and run the same command again"
            )
