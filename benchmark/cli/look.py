"""The verbs `list` and `status`: what the suite has, and how far a grid is.

How far a grid is, read from its store: results, failures, claims of running processes, records of submitted jobs.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from typing import TYPE_CHECKING, NamedTuple

from benchmark.cli.explain import describe
from benchmark.config.command_line import OK, function_named
from benchmark.config.engines import ENGINES
from benchmark.machine.processes import runs
from benchmark.results.names import ABOUT_GATES, DEFAULT_TASK, EVALUATION_FACTS, command
from benchmark.results.store import PlannedCell, Store
from benchmark.run.claims import CLAIMS, STALE_SECONDS, Sight, owner_in
from benchmark.run.claims import look as look_at_claim
from benchmark.run.jobs import seconds_since_heartbeat, store_time
from benchmark.run.local import Submitted
from benchmark.screen import Console, note, print_table

if TYPE_CHECKING:
    from methods.encoders.base import Encoder

TIMED_WINDOWS, TIMED_STEPS = 2, 2
"""Windows of a timed training step of an encoder, and how many steps are timed."""


def list_all(arguments: Namespace, console: Console) -> int:
    """Print the listing."""
    from benchmark.screen import print_prose  # here, because --help has no use for it

    print_prose(console, listing())
    return OK


def listing() -> Iterator[str]:
    """Methods, encoders, datasets, tasks, configs, evaluations, gates and ablations, a line each."""
    from benchmark.config.config import load_config  # here, because the methods load slowly
    from benchmark.config.errors import config_names
    from benchmark.data.datasets import DATASETS
    from benchmark.data.splits import TASKS
    from methods import BEYOND, METHODS
    from methods.encoders import ENCODERS

    yield "methods (--methods)"
    yield from (f"  {name:<15} {what_is(name, METHODS)}" for name in METHODS if name not in BEYOND)
    yield "  ./mine.py       a file of your own: docs/METHODS.md shows how to write one, `check-method` tests it"
    yield "beyond the paper's comparison (--methods; in no config but literature)"
    yield from (f"  {name:<15} {what_is(name, METHODS)}" for name in BEYOND)
    yield "encoders (--encoder); multiplications and training step of a heartbeat, timed just now on one CPU thread"
    for name, encoder in ENCODERS.items():
        yield f"  {name:<15} {what_is(name, ENCODERS)} {costs_of(encoder())}"
    yield "datasets (--datasets, --pretrain-dataset)"
    for name, dataset in DATASETS.items():
        classes = ", ".join(dataset.classes) or "no labels; for pretraining"
        yield f"  {name:<15} {dataset.title}: {classes}"
    yield "  ./ours.yaml     a card of data of your own (docs/OWN_DATA.md); `data new-card` writes a first one"
    yield "tasks (--tasks; a column is a dataset under one of its tasks)"
    yield f"  {DEFAULT_TASK:<15} the classes above, as --labels says; of every dataset"
    for name, tasks in TASKS.items():
        for task, about in tasks.items():
            yield f"  {task:<15} {name}: {about.what}, {len(about.classes)} classes, several a recording"
    yield "configs (--config)"
    for name in config_names():
        yield f"  {name:<15} {load_config(name).caption}"
    yield "evaluations (--evaluate)"
    for name, facts in EVALUATION_FACTS.items():
        yield f"  {name:<15} {facts.title}: {facts.about}"
    yield "gates (--gates); rows that are not ranked"
    for gate, line in ABOUT_GATES.items():
        yield f"  {gate:<15} {line}"
    yield "ablations (--ablations, --ablate)"
    for owner, named in load_config("demo").ablations.items():
        for name, knobs in named.items():
            changes = ", ".join(f"{knob} = {value}" for knob, value in knobs.items())
            yield f"  {name:<15} {owner} with {changes}"


def what_is(name: str, kinds: Mapping[str, type]) -> str:
    """What a method or encoder is: the first line of its module, or of its class where the module holds several."""
    kind = kinds[name]
    alone = sum(other.__module__ == kind.__module__ for other in kinds.values()) == 1
    return (getdoc(sys.modules[kind.__module__] if alone else kind) or "").partition("\n")[0]


def costs_of(encoder: Encoder) -> str:
    """'637,952 parameters, 71 M multiplications, 4.1 ms': size and cost of an encoder for one heartbeat."""
    import torch  # here, because torch loads slowly

    from benchmark.data.heartbeats import WINDOW
    from benchmark.run.estimate import PASSES_PER_STEP, multiplications, seconds_per_pass

    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    millions = multiplications(encoder, WINDOW) / 1e6
    sizes = {"threads": 1, "batch": TIMED_WINDOWS, "steps": TIMED_STEPS}
    seconds = PASSES_PER_STEP * seconds_per_pass(encoder.train(), WINDOW, torch.device("cpu"), "float32", **sizes)
    return f"{parameters:,} parameters, {millions:,.0f} M multiplications, {1000 * seconds:,.1f} ms"


class Held(NamedTuple):
    """A claim."""

    holder: str
    """'host:pid'."""
    renewed: int
    """Modification time of its file, ns."""
    silent: float
    """Seconds for which it is known not to have been renewed; 0 if its process runs on this host."""

    @property
    def lives(self) -> bool:
        """Whether it is still renewed."""
        return self.silent < STALE_SECONDS


@dataclass
class Sights:
    """The claims of a store as they were seen over several looks."""

    clock: Callable[[], float] = time.monotonic
    seen: dict[str, tuple[Sight, float]] = field(default_factory=dict)
    """Key -> its claim, and when it was first seen like this."""

    def held(self, store: Store) -> dict[str, Held]:
        """Key of each task that is claimed -> its claim; not of processes of this host that have ended."""
        found = {}
        now = store_time(store.root)
        for file in sorted((store.root / CLAIMS).glob("*.json")):
            sight = look_at_claim(file)
            owner = owner_in(sight.content) if sight else None
            running = runs(owner) if owner else False
            if sight and owner and running is not False:
                silent = 0.0 if running else self.silent(file.stem, sight, now)
                found[file.stem] = Held(f"{owner.host}:{owner.pid}", sight.renewed, silent)
        return found

    def silent(self, key: str, sight: Sight, now: int | None) -> float:
        """Seconds since a claim was renewed, by the store's clock, or since it was first seen as it is."""
        before = self.seen.get(key)
        if before is None or before[0] != sight:
            before = self.seen[key] = sight, self.clock()
        return max(seconds_since_heartbeat(sight, now), self.clock() - before[1])


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
        if key in done:
            state = DONE
        elif key in failures and failed_at(key, store) > begun[key]:
            state = FAILED
        else:
            state = RUNNING if key in running else QUEUED if key in queued else MISSING
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
    queues = [function_named(kind.queue) for kind in ENGINES.values() if kind.queue]
    return [job for queue in queues for job in queue(store.root)]


MOST_SHOWN = 10
"""Failures, jobs and running processes that are listed."""


def show(console: Console, state: State) -> None:
    """Print all of it."""
    note(console, as_line(state))
    columns = [("", "", "label"), *(("", name, "right") for name in STATES)]
    rows = [[title, *(str(counts[name] or "") for name in STATES)] for title, counts in state.rows.items()]
    print_table(console, columns, [rows])
    listed(console, [f"job {job.id}: {job.state or 'submitted'}, {what(job.cells)}" for job in state.jobs])
    listed(console, [f"running: {key} ({holder})" for key, holder in state.running.items()])
    ended = "not renewed for {:.0f} s: it has most likely ended"
    listed(console, [f"held: {key} by {one.holder}, {ended.format(one.silent)}" for key, one in state.silent.items()])
    listed(console, [f"failed: {name}: {error}" for name, error in state.failures.items()])
    if state.total[FAILED]:
        note(console, "the command that began this grid tries again what has failed")
    elif state.total[MISSING] and not state.running and not state.jobs:
        note(console, f"nothing works on the rest; the command that began this grid ({command()} ...) goes on")


def as_line(state: State) -> str:
    """'12 of 36 cells done, 2 running, 4 queued, 18 to do'."""
    total = state.total
    others = [f"{total[name]} {name}" for name in STATES[1:] if total[name]]
    return ", ".join([f"{total[STATES[0]]} of {sum(total.values())} cells done", *others])


def what(cells: int) -> str:
    """What a job does."""
    return f"{cells} cells" if cells else "a pretraining"


def listed(console: Console, lines: list[str]) -> None:
    """Print some lines, and how many more there are."""
    for line in lines[:MOST_SHOWN]:
        note(console, line)
    if len(lines) > MOST_SHOWN:
        note(console, f"... and {len(lines) - MOST_SHOWN} more")


LOOK_SECONDS = 5.0
"""Between two looks with --watch."""


def status(arguments: Namespace, console: Console) -> int:
    """Print the state of the latest plan, with --watch until nothing is left. Raises NoResults without a plan."""
    store, sights, told = Store(arguments.results), Sights(), ""
    while True:
        state = look(store, sights)
        if arguments.watch and console.is_terminal:
            console.clear()
        if not arguments.watch or console.is_terminal:
            show(console, state)
        elif (line := as_line(state)) != told:
            told = line
            console.print(line, soft_wrap=True)
        if not arguments.watch or not state.left:
            return OK
        time.sleep(LOOK_SECONDS)
