"""Run what the store lacks of a grid: each task once the encoder that it uses is there."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any

from benchmark.config.errors import ConfigError
from benchmark.machine.process import GRACE_SECONDS
from benchmark.results.store import Failure
from benchmark.run.grid import Context
from benchmark.run.progress import GridProgress
from benchmark.run.tasks import RESTART, Job, Work, failed, lost, run, tasks_of

if TYPE_CHECKING:
    from benchmark.run.dask_engine import Dask
    from benchmark.run.engine import Inline, Pool

LOOK_SECONDS = 0.5


def execute(work: Work, context: Context, engine: Inline | Pool | Dask, watch: GridProgress) -> int:
    """Run the work; returns how many pretrainings and cells failed. Failures are stored and stop nothing else.

    Ctrl-C lets running tasks save, and is raised again. Raises ConfigError for workers that cannot run the tasks.
    """
    waiting = tasks_of(work)
    missing_encoders = {job.key for job in waiting if job.is_pretraining}
    running: dict[Future[Any], Job] = {}
    killed: Counter[str] = Counter()
    failures = 0
    try:
        while waiting or running:
            width = engine.width()
            for job in [job for job in waiting if job.after not in missing_encoders]:
                # Suspects one at a time: a pool cannot tell which of its tasks was guilty of a lost worker.
                is_beside_a_suspect = job.key in killed and any(other.key in killed for other in running.values())
                if len(running) < width and not is_beside_a_suspect:
                    waiting.remove(job)
                    watch.begin(job)
                    running[engine.submit(run, job, context)] = job
            if not running:
                time.sleep(LOOK_SECONDS)  # no worker is there at the moment
            for future in wait(running, LOOK_SECONDS, FIRST_COMPLETED).done:
                job = running.pop(future)
                try:
                    endings = future.result()
                except engine.lost as error:
                    killed[job.key] += 1
                    if killed[job.key] < engine.attempts:
                        waiting.insert(0, job)  # another worker goes on from its checkpoint
                        continue
                    endings = lost(job, error, context.store)
                except (ConfigError, OSError):
                    raise
                except Exception as error:  # tasks raise none: the worker cannot load this code
                    raise ConfigError(f"a worker cannot run this code ({error!r}): {RESTART}") from None
                if any(ending.stopped for ending in endings):
                    waiting.insert(0, job)  # its worker closes, and another one goes on
                    continue
                watch.end(job, endings)
                failures += sum(ending.failure is not None for ending in endings)
                missing_encoders.discard(job.key)
                if job.is_pretraining and (failure := endings[0].failure):
                    failures += give_up_cells(job.key, failure, waiting, context, watch)
            watch.refresh(list(running.values()))
    except BaseException:
        if running:
            engine.ask_to_stop()
            wait(running, GRACE_SECONDS)
        raise
    return failures


def give_up_cells(key: str, failure: Failure, waiting: list[Job], context: Context, watch: GridProgress) -> int:
    """Record the cells of the failed pretraining of a key as failed; returns how many."""
    reason = Failure(f"its pretraining failed: {failure.error}", failure.traceback)
    given_up = [job for job in waiting if job.after == key]
    for job in given_up:
        waiting.remove(job)
        watch.end(job, [failed(part, reason, context.store) for part in job.parts])
    return sum(len(job.parts) for job in given_up)
