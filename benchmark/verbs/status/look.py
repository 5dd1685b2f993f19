"""How far a grid is, read from its store: results, failures, claims of running processes, records of submitted jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmark.machine.process import runs
from benchmark.results.store import Store
from benchmark.run.engines.slurm import cluster
from benchmark.run.engines.slurm.ledger import JOBS, records
from benchmark.run.work.claims import CLAIMS, owner_in
from benchmark.run.work.claims import look as look_at_claim

DONE, RUNNING, QUEUED, FAILED, MISSING = "done", "running", "queued", "failed", "to do"
STATES = (DONE, RUNNING, QUEUED, FAILED, MISSING)


@dataclass(frozen=True)
class Job:
    """A job of a cluster."""

    id: str
    state: str
    """In words; '' where the cluster cannot be asked from here."""
    cells: int
    """Of this grid; 0 for a pretraining."""


@dataclass(frozen=True)
class State:
    """How far a grid is."""

    plan: str
    rows: Mapping[str, Counter[str]]
    """Title of each row -> number of its cells per state; a cell that is in several tables counts once."""
    running: Mapping[str, str]
    """Key of what is being done, pretrainings too -> 'host:pid'."""
    jobs: tuple[Job, ...]
    failures: Mapping[str, str]
    """Cell or pretraining -> its error in one line."""

    @property
    def total(self) -> Counter[str]:
        """Number of cells per state."""
        return sum(self.rows.values(), Counter[str]())

    @property
    def left(self) -> int:
        """Cells that are neither done nor failed."""
        return sum(count for state, count in self.total.items() if state not in (DONE, FAILED))


def look(store: Store) -> State:
    """The state of a store's latest plan. Raises NoResults if there is none."""
    plan = store.load_plan()
    cells = {cell.key: cell for cell in plan.cells}
    running, known = held(store), submitted(store)
    jobs = told_by_cluster(known, cells)
    queued = {key for job in jobs for key in known[job.id]}
    done = set(store.row_keys())
    failures = store.failures(key for key in cells if key not in done)
    rows: dict[str, Counter[str]] = {}
    for key, cell in cells.items():
        state = next(
            state
            for state, so in (
                (DONE, key in done),
                (RUNNING, key in running),
                (QUEUED, key in queued),
                (FAILED, key in failures),
                (MISSING, True),
            )
            if so
        )
        rows.setdefault(plan.variants[cell.variant], Counter())[state] += 1
    names = {
        key: f"{cells[key].variant} {cells[key].evaluation} {cells[key].dataset} {cells[key].ratio:g} "
        f"seed {cells[key].seed}"
        for key in failures
    }
    errors = {names[key]: failure.line for key, failure in failures.items()}
    return State(plan.key, rows, running, jobs, errors)


def held(store: Store) -> dict[str, str]:
    """Key of each task that a process claims -> 'host:pid'; not of processes of this host that have ended."""
    found = {}
    for file in sorted((store.root / CLAIMS).glob("*.json")):
        sight = look_at_claim(file)
        owner = owner_in(sight.content) if sight else None
        if owner and runs(owner) is not False:
            found[file.stem] = f"{owner.host}:{owner.pid}"
    return found


def submitted(store: Store) -> dict[str, list[str]]:
    """Job of a cluster -> keys of its tasks, of all that have a record."""
    folders = sorted(path for path in (store.root / JOBS).glob("*") if path.is_dir())
    return {job: keys for folder in folders for job, keys in records(folder).items()}


def told_by_cluster(jobs: Mapping[str, list[str]], cells: Iterable[str]) -> tuple[Job, ...]:
    """The jobs that are in the queue; all that have a record where the cluster cannot be asked."""
    known = set(cells)
    try:
        states = cluster.queued(jobs)
    except cluster.ClusterError:
        return tuple(Job(job, "", len(known & set(keys))) for job, keys in jobs.items())
    return tuple(Job(job, in_words(states[job]), len(known & set(keys))) for job, keys in jobs.items() if job in states)


def in_words(job: cluster.Queued) -> str:
    """State of a job, with its node or the reason why it waits."""
    why = job.node or (job.reason if job.reason != "None" else "")
    return f"{job.state.lower()} ({why})" if why else job.state.lower()
