"""Run what the store lacks of a grid: each task once the encoder that it uses is there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from benchmark.config.errors import ConfigError
from benchmark.machine.process import GRACE_SECONDS
from benchmark.results.store import Failure
from benchmark.run.engine import Engine
from benchmark.run.grid import Context
from benchmark.run.progress import GridProgress
from benchmark.run.tasks import RESTART, Job, Work, failed, lost, run, tasks_of

LOOK_SECONDS = 0.5


def execute(work: Work, context: Context, engine: Engine, watch: GridProgress) -> int:
    """Run the work; returns how many pretrainings and cells failed. Failures are stored and stop nothing else.

    Ctrl-C lets running tasks save, and is raised again.
    """
    waiting = tasks_of(work)
    unmade = {job.key for job in waiting if job.is_pretraining}
    running: dict[Future[Any], Job] = {}
    killed: Counter[str] = Counter()
    failures = 0
    try:
        while waiting or running:
            suspected = any(job.key in killed for job in running.values())
            for job in startable(waiting, unmade, engine.width() - len(running), killed, suspected):
                waiting.remove(job)
                watch.begin(job)
                running[engine.submit(run, job, context)] = job
            for future in finished(running):
                job = running.pop(future)
                try:
                    outcomes = future.result()
                except engine.lost as error:
                    killed[job.key] += 1
                    if killed[job.key] < engine.attempts:
                        waiting.insert(0, job)  # another worker goes on from its checkpoint
                        continue
                    outcomes = lost(job, error, context.store)
                except (ConfigError, OSError):
                    raise
                except Exception as error:  # tasks raise none: the worker cannot load this code
                    raise ConfigError(f"a worker cannot run this code ({error!r}): {RESTART}") from None
                if any(outcome.stopped for outcome in outcomes):
                    waiting.insert(0, job)  # its worker closes, and another one goes on
                    continue
                watch.end(job, outcomes)
                failures += sum(outcome.failure is not None for outcome in outcomes)
                if job.is_pretraining:
                    unmade.remove(job.key)
                    if failure := outcomes[0].failure:
                        failures += give_up_cells(job.key, failure, waiting, context, watch)
            watch.refresh(list(running.values()))
    except BaseException:
        if running:
            engine.ask_to_stop()
            wait(running, GRACE_SECONDS)
        raise
    return failures


def startable(
    waiting: Sequence[Job], unmade: set[str], most: int, killed: Container[str], suspected: bool
) -> list[Job]:
    """The first so many waiting tasks whose encoder is there.

    Of those that lost a worker one at a time: a pool cannot tell which of its running tasks was guilty. suspected:
    whether one of them runs.
    """
    chosen: list[Job] = []
    for job in waiting:
        if len(chosen) >= most:
            break
        if job.after in unmade or (suspected and job.key in killed):
            continue
        suspected = suspected or job.key in killed
        chosen.append(job)
    return chosen


def finished(running: dict[Future[Any], Job]) -> list[Future[Any]]:
    """Wait a moment for running tasks; returns those that have ended."""
    if not running:
        time.sleep(LOOK_SECONDS)  # no worker is there at the moment
    return list(wait(running, LOOK_SECONDS, FIRST_COMPLETED).done)


def give_up_cells(key: str, failure: Failure, waiting: list[Job], context: Context, watch: GridProgress) -> int:
    """Record the cells of the failed pretraining of a key as failed; returns how many."""
    reason = Failure(f"its pretraining failed: {failure.error}", failure.traceback)
    given_up = [job for job in waiting if job.after == key]
    for job in given_up:
        waiting.remove(job)
        watch.end(job, [failed(part, reason, context.store) for part in job.parts])
    return sum(len(job.parts) for job in given_up)
