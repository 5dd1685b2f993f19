"""How far a grid is, read from its store: results, failures, claims of running processes, records of submitted jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from benchmark.results.plan import PlannedCell
from benchmark.results.store import Store
from benchmark.run.engines.engine import Submitted
from benchmark.run.engines.registry import ENGINES
from benchmark.verbs.explain.find import describe
from benchmark.verbs.status.held import Held, Sights

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
    """What is being done, pretrainings too -> 'host:pid'."""
    silent: Mapping[str, Held]
    """What is claimed -> a claim that is no longer renewed: its process has most likely ended."""
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


def look(store: Store, sights: Sights | None = None) -> State:
    """The state of a store's latest plan; `sights`: kept from look to look. Raises NoResults if there is none."""
    plan = store.load_plan()
    cells = {cell.key: cell for cell in plan.cells}
    held, submitted = (sights or Sights()).held(store), in_queues(store)
    running = {key: claim for key, claim in held.items() if claim.lives}
    jobs = tuple(Job(job.id, job.state, len(cells.keys() & set(job.keys))) for job in submitted)
    queued = {key: job.since for job in submitted for key in job.keys}
    begun = {key: max(queued.get(key, 0), running[key].renewed if key in running else 0) for key in cells}
    done = set(store.row_keys())
    failures = store.failures(key for key in cells if key not in done)
    rows: dict[str, Counter[str]] = {}
    for key, cell in cells.items():
        state = next(
            state
            for state, so in (
                (DONE, key in done),
                (FAILED, key in failures and failed_at(key, store) > begun[key]),
                (RUNNING, key in running),
                (QUEUED, key in queued),
                (MISSING, True),
            )
            if so
        )
        rows.setdefault(plan.variants[cell.variant], Counter())[state] += 1
    errors = {name_of(key, cells): failure.line for key, failure in failures.items()}
    holders = {name_of(key, cells): claim.holder for key, claim in running.items()}
    silent = {name_of(key, cells): claim for key, claim in held.items() if not claim.lives}
    return State(plan.key, rows, holders, silent, jobs, errors)


def name_of(key: str, cells: Mapping[str, PlannedCell]) -> str:
    """'pmq linear chapman 0.1 seed 41'; of what is no cell of the plan: 'pretraining KEY'."""
    if (cell := cells.get(key)) is None:
        return f"pretraining {key}"
    return describe(cell)


def failed_at(key: str, store: Store) -> int:
    """When a cell's failure was stored, ns, by the store's clock; 0 if it is gone."""
    try:
        return store.failure_file(key).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def in_queues(store: Store) -> list[Submitted]:
    """The jobs of a store in the queues of clusters."""
    return [job for kind in ENGINES.values() for job in kind.queue(store.root)]
