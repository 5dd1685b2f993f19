"""The engine `slurm`: submit what is free, then watch the queue and the store until all of it has ended.

A runner that is killed loses nothing: the next one finds its jobs by their records and goes on watching them.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from benchmark.config.sections.engine import EngineSection
from benchmark.run.engines.engine import Ended, Not, Order, Result, Task, Work
from benchmark.run.engines.slurm import cluster
from benchmark.run.engines.slurm.batches import Batch, arrays_of, batches_of
from benchmark.run.engines.slurm.cluster import LOST, ClusterError, Queued
from benchmark.run.engines.slurm.job import SlurmJob, log_of
from benchmark.run.engines.slurm.ledger import forget, record, records
from benchmark.run.engines.slurm.submit import Full, outcome_of, submit
from benchmark.run.work.claims import alone

SUBMITTING = "submitting"
"""What a runner claims while it submits: two runners on one store submit nothing twice."""
POLL_SECONDS = 10.0
LATE_SECONDS = 90.0
"""Most that a result takes to be seen after its job has left the queue: shared folders show files late."""
LOST_SHARE = 0.2
"""Of it, where the cluster says that the job was cancelled or failed."""
AGAIN_SECONDS = 60.0
"""After which jobs are offered again to a cluster that took no more."""
GRACE_SHARE = 0.8
"""Of the warning before the time limit that a job may take to save."""
HELD = ("held", "Held")
REQUEUED_ENOUGH = "timed-out too many times"
"""What submitit says of a job that may not go back to the queue again."""


@dataclass(frozen=True)
class Slurm:
    """The engine `slurm`."""

    settings: EngineSection
    folder: Path
    """On a file system that all nodes share: records, scripts and logs of the jobs."""
    most: int
    """Jobs that the cluster takes in an array."""
    detached: bool = False
    doubts: tuple[str, ...] = ()
    poll_seconds: float = POLL_SECONDS
    late_seconds: float = LATE_SECONDS
    apart: bool = True

    def run(self, order: Order[Work, Result]) -> Generator[Ended[Work, Result], None, None]:
        """Submit tasks and yield each as the store shows its end. Raises ClusterError if the cluster refuses them."""
        watch: _Watch[Work, Result] = _Watch(self, order, list(order.tasks))
        while True:
            watch.submit_free()
            if self.detached:
                watch.tell_detached()
                return
            yield from watch.ended()
            if not watch.flying and not (watch.refused and watch.waiting):
                return
            time.sleep(self.poll_seconds)


@dataclass
class _Watch(Generic[Work, Result]):
    """The tasks of an order: those that wait to be submitted, and those in the queue."""

    engine: Slurm
    order: Order[Work, Result]
    waiting: list[Task[Work]]
    flying: dict[str, list[Task[Work]]] = field(default_factory=dict)
    """Job -> those of its tasks whose end was not seen yet."""
    gone: dict[str, float] = field(default_factory=dict)
    """Job that has left the queue -> when this was seen."""
    begun: set[str] = field(default_factory=set)
    noted: set[str] = field(default_factory=set)
    refused: str = ""
    """Why the cluster took no more jobs when it was last asked; '' if it took them."""
    offer_again: float = 0.0

    # Submitting

    def submit_free(self) -> None:
        """Submit what can begin and is in no job yet."""
        if not self.waiting or (self.refused and time.monotonic() < self.offer_again):
            return
        with alone(self.engine.folder, SUBMITTING, lambda holder: self.note(f"{holder} is submitting; waiting for it")):
            known = records(self.engine.folder)
            live = self.asked(known)
            if live is None:
                return
            forget(self.engine.folder, set(known) - set(live) - set(self.flying))
            inside = {key: job for job in live for key in known[job]}
            self.adopt(inside)
            free = self.free_tasks(inside)
            settings = self.engine.settings
            batches = batches_of(free, most=settings.tasks_per_job, minutes=settings.minutes)
            self.refused = ""
            for array in arrays_of(batches, self.engine.most):
                self.submit_array(array, inside, alive=bool(live))
                if self.refused:
                    return

    def asked(self, jobs: Any) -> dict[str, Queued] | None:
        """Those of some jobs that are in the queue; None, with a note, if the cluster does not answer."""
        try:
            return cluster.queued(jobs)
        except ClusterError as error:
            self.note_once(f"the cluster does not answer, asking again: {error}")
            return None

    def adopt(self, inside: dict[str, str]) -> None:
        """Watch those waiting tasks that are in the queue already, whoever has submitted them."""
        for task in list(self.waiting):
            if job := next((inside[key] for key in task.keys if key in inside), None):
                self.flying.setdefault(job, []).append(task)
                self.waiting.remove(task)

    def free_tasks(self, inside: dict[str, str]) -> list[Task[Work]]:
        """The waiting tasks to submit now: what each waits for has ended, is in the queue, or is among them."""
        free: list[Task[Work]] = []
        held = {task.key for task in self.waiting}
        for task in list(self.waiting):
            if task.after in held and task.after not in inside:
                continue
            begun = self.order.begin(task)
            if begun is Not.EVER:
                self.waiting.remove(task)
            elif isinstance(begun, Task):
                free.append(begun)
            if begun is not Not.YET:
                held.discard(task.key)
        return free

    def submit_array(self, array: Sequence[Batch[Work]], inside: dict[str, str], *, alive: bool) -> None:
        """Submit an array, in smaller ones where the cluster's limits ask for it. Raises ClusterError."""
        left, size = list(array), len(array)
        while left:
            now = left[:size]
            try:
                ids = self.submitted(now, inside.get(now[0].after, ""))
            except Full as full:
                if size > 1:
                    size = (size + 1) // 2
                    continue
                if not alive and not self.flying:
                    raise ClusterError(
                        f"{full}; none of these jobs is in the queue, so it is not that it is full"
                    ) from None
                self.refused, self.offer_again = str(full), time.monotonic() + AGAIN_SECONDS
                self.note_once(f"the cluster takes no more jobs now ({full}); the rest follows as jobs end")
                return
            for job, batch in zip(ids, now, strict=True):
                record(self.engine.folder, job, batch.keys, batch.tasks[0].name)
                own = {task.key for task in batch.tasks}
                self.flying[job] = list(batch.tasks)
                self.waiting = [task for task in self.waiting if task.key not in own]
                inside |= dict.fromkeys(batch.keys, job)
            left = left[size:]
            what = now[0].tasks[0].name if len(now) == 1 else f"{sum(len(batch.tasks) for batch in now)} tasks"
            self.note(f"submitted {ids[0]}{f' to {ids[-1]}' if len(ids) > 1 else ''}: {what}")

    def submitted(self, batches: Sequence[Batch[Work]], after: str) -> list[str]:
        """Submit one array; returns the ids of its jobs. Raises ClusterError."""
        settings, first = self.engine.settings, batches[0].tasks[0]
        ranks = max(1, settings.gpus) if first.whole else 1
        grace = settings.warning_seconds * GRACE_SHARE
        jobs = [SlurmJob.of(self.order.function, batch.tasks, grace) for batch in batches]
        return submit(jobs, self.engine.folder, settings, f"ecg-{first.key[:8]}", after, ranks)

    def tell_detached(self) -> None:
        """Say what was handed over."""
        there = sum(map(len, self.flying.values()))
        self.note(
            f"{there} tasks are in {len(self.flying)} jobs; `status` shows them, the same command goes on from there"
        )
        if self.waiting:
            why = f"the cluster takes no more jobs now, {self.refused}" if self.refused else "other runners hold them"
            self.note(f"{len(self.waiting)} tasks are not submitted ({why}): run the same command again later")

    # Watching

    def ended(self) -> Iterator[Ended[Work, Result]]:
        """Those tasks in the queue that have ended since the last look."""
        states = self.asked(self.flying)
        if states is None:
            return
        for job in list(self.flying):
            yield from self.ended_of(job, states.get(job))

    def ended_of(self, job: str, state: Queued | None) -> Iterator[Ended[Work, Result]]:
        """Those tasks of a job that have ended since the last look; the job is dropped when nothing more can come."""
        if state is None:
            self.gone.setdefault(job, time.monotonic())
        else:
            self.gone.pop(job, None)
        for task in list(self.flying[job]):
            if (result := self.order.found(task)) is not None:
                self.flying[job].remove(task)
                yield Ended(task, result, None)
        left = self.flying[job]
        if state is not None and left:
            self.tell_state(job, left[0], state)
        elif left and (error := self.lost(job)) is not None:
            held, self.flying[job] = outcome_of(self.engine.folder, job), []
            others = set(held[1]) if held and held[0] == "success" else set()
            yield from (Ended(task, None, error) for task in left if task.key not in others)
        if not self.flying[job]:
            del self.flying[job]
            self.offer_again = 0.0

    def tell_state(self, job: str, task: Task[Work], state: Queued) -> None:
        """Say that a task runs, and once that its job is held."""
        if state.state == "RUNNING" and task.key not in self.begun:
            self.begun.add(task.key)
            self.order.on_start(task)
        if state.state == "PENDING" and any(word in state.reason for word in HELD):
            self.note_once(f"job {job} is held ({state.reason}); `scontrol release {job}` lets it go on")

    def lost(self, job: str) -> RuntimeError | None:
        """Why tasks of a job that has left the queue have no result; None as long as one may still be seen."""
        waited, late = time.monotonic() - self.gone[job], self.engine.late_seconds
        outcome = outcome_of(self.engine.folder, job)
        log = log_of(self.engine.folder, job)
        if outcome and outcome[0] == "success":
            held = {task.key for task in self.flying[job]} <= set(outcome[1])
            if held or waited >= late:
                return RuntimeError(f"its job {job} ended, and its result is not seen after {late:g} s; log: {log}")
            return None
        state = cluster.last_state(job)
        if waited < late * (LOST_SHARE if outcome or state in LOST else 1.0):
            return None
        if outcome:
            return RuntimeError(f"its job {job} {why(str(outcome[1]), self.engine.settings)}; log: {log}")
        if not log.is_file():
            return RuntimeError(
                f"its job {job} ended ({state or 'unknown'}) and left no log in {log.parent}: do all nodes see this "
                "folder? Put --results where they do"
            )
        return RuntimeError(f"its job {job} ended without a result ({state or 'killed'}); log: {log}")

    def note(self, line: str) -> None:
        self.order.on_told(line)

    def note_once(self, line: str) -> None:
        if line not in self.noted:
            self.noted.add(line)
            self.note(line)


def why(traceback: str, settings: EngineSection) -> str:
    """How a job has failed, in words that follow its name."""
    last = (traceback.strip().splitlines() or ["no error text"])[-1]
    if REQUEUED_ENOUGH in last:
        return (
            f"reached its time limit more than engine.requeues={settings.requeues} times; what it saved stays, and the "
            f"same command goes on from there: give it more than engine.minutes={settings.minutes}, or more requeues"
        )
    return f"failed: {last}"
