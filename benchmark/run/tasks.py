"""The tasks of a grid: what the store lacks, what a worker does at once, and the loop that hands them to an engine.

Engines call `run`. Results, failures and checkpoints are files of the store. A task that fails returns how it ended;
only a worker that must not run any task of the grid raises (`refuse_unfit`).
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from threadpoolctl import threadpool_limits

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.prepare import Prepared
from benchmark.machine import Machine, releases
from benchmark.process import GRACE_SECONDS, EngineLost, Stopped, keep_freed_memory, stop
from benchmark.results.files import Damaged
from benchmark.results.names import is_frozen
from benchmark.results.store import Failure, Store
from benchmark.run.cell import Shared, run_cell, source_facts
from benchmark.run.grid import Cell, Context, Grid, Pretraining
from benchmark.run.pretraining import run_pretraining
from benchmark.run.progress import GridProgress, TimeClass
from benchmark.training.checkpoint import CHECKPOINT, read_checkpoint, read_record

if TYPE_CHECKING:
    from benchmark.run.dask_engine import Dask
    from benchmark.run.engine import Inline, Pool

LOOK_SECONDS = 0.5
MOST_NAMED = 10
"""Damaged files that are named; the others are counted."""
Part = Pretraining | Cell  # what has a result in the store


@dataclass(frozen=True)
class Job:
    """A task of a worker: one pretraining, or cells that share what they compute."""

    parts: tuple[Part, ...]
    after: frozenset[str] = frozenset()  # keys of the pretrainings whose encoders it uses

    @property
    def is_pretraining(self) -> bool:
        """True for a pretraining, False for cells."""
        return isinstance(self.parts[0], Pretraining)

    @property
    def key(self) -> str:
        """Key of its first part."""
        return self.parts[0].key

    @property
    def time_classes(self) -> list[TimeClass]:
        """Time class of each of its cells; none for a pretraining."""
        return [(part.evaluation, number == 0) for number, part in enumerate(self.parts) if isinstance(part, Cell)]


@dataclass(frozen=True)
class Work:
    """The part of a grid that is missing from the store."""

    grid: Grid
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]
    damage: tuple[str, ...] = ()
    """Lines on damaged files whose content is made again: one for each of the first, and the number of the others."""

    @cached_property
    def jobs(self) -> list[Job]:
        """Its jobs, pretrainings first; cells that share what they compute on one dataset are one job.

        These are probes of the same encoders, and rows without an encoder of one seed. Cells of a dataset follow each
        other: a process keeps the beat features of one dataset. Before what trains stands a job of each evaluation that
        waits for no training, so that the time of the cells is soon known. Of pretrainings, and of the cells of a
        dataset, the longest come first, by encoder passes and labelled shares: begun last, they would run alone.
        """
        groups: dict[tuple[Any, ...], list[Cell]] = {}
        for cell in sorted(self.cells, key=lambda cell: (cell.dataset, -cell.ratio)):
            encoders = frozenset(pretraining.key for pretraining in cell.pretrainings)
            together: tuple[Any, ...] = (cell.key,)
            if is_frozen(cell.evaluation):
                together = cell.dataset, encoders
            elif not encoders:
                together = cell.dataset, cell.seed
            groups.setdefault(together, []).append(cell)
        trained = {pretraining.key for pretraining in self.pretrainings if pretraining.method.trains}
        first: dict[str, Job] = {}
        others: list[Job] = []
        for cells in groups.values():
            job = Job(tuple(cells), frozenset(pretraining.key for pretraining in cells[0].pretrainings))
            if job.after & trained or cells[0].evaluation in first:
                others.append(job)
            else:
                first[cells[0].evaluation] = job
        pretrainings = sorted(self.pretrainings, key=lambda one: (one.key in trained, -one.passes))
        jobs = [Job((pretraining,)) for pretraining in pretrainings]
        untrained = len(jobs) - len(trained)
        return [*jobs[:untrained], *first.values(), *jobs[untrained:], *others]


@dataclass(frozen=True)
class Ending:
    """Ending of a pretraining or a cell."""

    name: str
    failure: Failure | None = None
    file: Path | None = None  # where the failure is stored
    stopped: bool = False  # whether its worker was asked to stop: what was done is saved, and it is not finished
    seconds: float = 0.0  # of a part that is finished


def context_of(
    config: Config, prepared: Mapping[str, Prepared], store: Store, machine: Machine, events: Path | None = None
) -> Context:
    """Collect what the tasks of a run share; paths are absolute, since workers may run elsewhere."""
    return Context(
        config,
        folders={name: data.folder.resolve() for name, data in prepared.items()},
        corpus=source_facts(prepared[config.data.pretrain]),
        store=Store(store.root.resolve()),
        device=machine.device,
        precision=machine.precision,
        threads=machine.threads(),
        code=code_digest(),
        releases=releases(),
        events=events and events.resolve(),
    )


def missing(grid: Grid, store: Store) -> Work:
    """Collect the cells without an intact row, and the pretrainings without an intact encoder, also those of done
    cells."""
    cells = grid.distinct_cells()
    pretrainings = {one.key: one for cell in cells for one in cell.pretrainings}
    parts: list[Part] = [*pretrainings.values(), *cells]
    lacking = list[Part]()
    damage = list[str]()
    for part in parts:
        try:
            if is_whole(part, store):
                continue
            if isinstance(part, Pretraining):
                read_checkpoint(store.pretrained / part.key / CHECKPOINT)
        except Damaged as problem:
            damage.append(f"damaged: {problem}")
        lacking.append(part)
    if len(damage) > MOST_NAMED:
        damage[MOST_NAMED:] = [f"damaged: {len(damage) - MOST_NAMED} more files"]
    return Work(
        grid,
        tuple(part for part in lacking if isinstance(part, Pretraining)),
        tuple(part for part in lacking if isinstance(part, Cell)),
        tuple(damage),
    )


def is_stored(part: Part, store: Store) -> bool:
    """Tell whether the result of a pretraining or a cell is stored and intact; a damaged one is made anew."""
    try:
        return is_whole(part, store)
    except Damaged:
        return False


def is_whole(part: Part, store: Store) -> bool:
    """Tell whether the result of a pretraining or a cell is there. Raises Damaged."""
    if isinstance(part, Cell):
        return store.load_row(part.key) is not None
    return read_record(store.pretrained / part.key) is not None


def run(job: Job, context: Context) -> tuple[Ending, ...]:
    """Run what is missing of a job in this process, and store it. Raises ConfigError as `refuse_unfit`."""
    refuse_unfit(context)
    stop.clear()
    keep_freed_memory()
    shared = Shared()
    one_thread = not job.is_pretraining and context.device.type == "cpu"
    with limited_threads(1 if one_thread else context.threads):
        return tuple(run_part(part, context, shared) for part in job.parts)


def run_part(part: Part, context: Context, shared: Shared) -> Ending:
    """Run a pretraining or a cell, unless it is finished; an error is its outcome. `shared`: what cells share."""
    began = time.monotonic()
    try:
        if stop.is_set():
            raise Stopped
        if not is_stored(part, context.store):
            if isinstance(part, Pretraining):
                run_pretraining(part, context)
            else:
                run_cell(part, context, shared)
    except Stopped:
        return Ending(part.name, stopped=True)
    except Exception as error:
        return failed(part, Failure.from_error(error), context.store)
    return Ending(part.name, seconds=time.monotonic() - began)


def failed(part: Part, failure: Failure, store: Store) -> Ending:
    """Store a failure; returns it as the outcome."""
    file = store.save_failure(part.key, part.name, failure, pretraining=isinstance(part, Pretraining))
    return Ending(part.name, failure, file)


def given_up(job: Job, reason: Failure, store: Store) -> list[Ending]:
    """Store what is not finished of a job as failed; returns the outcomes of all its parts."""
    return [Ending(part.name) if is_stored(part, store) else failed(part, reason, store) for part in job.parts]


@contextmanager
def limited_threads(count: int | None) -> Iterator[None]:
    """Limit the CPU threads of this process; None leaves them."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)


CHECKOUT = Path(__file__).resolve().parents[2]
RESTART = "restart the workers with this checkout and its environment, then the same command"


@lru_cache
def code_digest() -> str:
    """Return the digest of the code that tasks run, as it was when this process first asked."""
    content = hashlib.sha256()
    for file in sorted(file for package in ("benchmark", "methods") for file in (CHECKOUT / package).rglob("*.py")):
        content.update(f"{file.relative_to(CHECKOUT)}\0".encode() + file.read_bytes())
    return content.hexdigest()


def worker_name() -> str:
    """Name this process as a worker in messages: host and process id."""
    return f"the worker {socket.gethostname()}:{os.getpid()}"


def refuse_other(code: str, expected: Mapping[str, str]) -> None:
    """Raise ConfigError in one line if this process has other code, or other releases of packages, than the run."""
    if code_digest() != code:
        raise ConfigError(f"{worker_name()} has other code than this run was started with: {RESTART}")
    here = releases()
    differing = [f"{name} {here[name]}, not {expected[name]}" for name in expected if here[name] != expected[name]]
    if differing:
        raise ConfigError(
            f"{worker_name()} has other packages than this run was started with ({', '.join(differing)}): {RESTART}"
        )


def refuse_unfit(context: Context) -> None:
    """Raise ConfigError in one line if this process cannot run tasks of the context."""
    refuse_other(context.code, context.releases)
    for folder in (*context.folders.values(), context.store.root):
        if not folder.is_dir():
            raise ConfigError(
                f"{worker_name()} does not see {folder}: put --cache and --results on folders that all workers share"
            )


def execute(work: Work, context: Context, engine: Inline | Pool | Dask, watch: GridProgress) -> None:
    """Run the work and tell `watch` what ends and what runs. Failures are stored and stop nothing else.

    Ctrl-C lets running tasks save, and is raised again. Raises ConfigError for workers that cannot run them, EngineLost
    where their scheduler ends.
    """
    waiting = {job.key: job for job in work.jobs}
    missing_encoders = {job.key for job in waiting.values() if job.is_pretraining}
    running: dict[Future[Any], Job] = {}
    killed: Counter[str] = Counter()
    try:
        while waiting or running:
            room = engine.width() - len(running)
            for job in next_jobs(waiting.values(), room, missing_encoders, running.values(), killed):
                del waiting[job.key]
                running[engine.submit(run, job, context)] = job
            if not running:
                time.sleep(LOOK_SECONDS)
            for future in wait(running, LOOK_SECONDS, FIRST_COMPLETED).done:
                job = running.pop(future)
                endings = endings_of(future, job, engine, killed, context.store)
                if not endings:
                    waiting = {job.key: job} | waiting  # another worker goes on from its checkpoint
                    continue
                watch.end(job, endings)
                missing_encoders.discard(job.key)
                if job.is_pretraining and (failure := endings[0].failure):
                    reason = Failure(f"its pretraining failed: {failure.error}", failure.traceback)
                    for useless in [other for other in waiting.values() if job.key in other.after]:
                        del waiting[useless.key]
                        watch.end(useless, given_up(useless, reason, context.store))
            watch.refresh(list(running.values()), engine.remark)
    except EngineLost:
        raise  # nobody is there who could be asked to stop
    except BaseException:
        if running:
            engine.ask_to_stop()
            wait(running, GRACE_SECONDS)
        raise


def next_jobs(
    waiting: Iterable[Job],
    room: int,
    missing_encoders: AbstractSet[str],
    running: Iterable[Job],
    killed: Container[str],
) -> list[Job]:
    """Take the first jobs that can run now, for which there is room.

    killed: keys of jobs that lost a worker. They run one at a time: a broken pool does not say which of them broke it.
    """
    chosen: list[Job] = []
    has_suspect = any(job.key in killed for job in running)
    for job in waiting:
        if len(chosen) >= room:
            break
        is_suspect = job.key in killed
        if missing_encoders.isdisjoint(job.after) and not (is_suspect and has_suspect):
            chosen.append(job)
            has_suspect |= is_suspect
    return chosen


def endings_of(
    future: Future[Any], job: Job, engine: Inline | Pool | Dask, killed: Counter[str], store: Store
) -> Sequence[Ending]:
    """Return how the parts of a job ended; nothing where its worker was killed or closes, and it goes on elsewhere."""
    try:
        endings: Sequence[Ending] = future.result()
    except CancelledError as error:  # by a client that has lost its scheduler
        raise EngineLost from error
    except engine.lost as error:
        killed[job.key] += 1
        if killed[job.key] < engine.attempts:
            return ()
        reason = f"its worker was killed each time ({type(error).__name__}); if memory ran out, use fewer --jobs"
        return given_up(job, Failure(reason), store)
    return () if any(ending.stopped for ending in endings) else endings
