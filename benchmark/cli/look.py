"""The verbs `list` and `status`: what the suite has, and how far a grid is by its store."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.cli.explain import describe
from benchmark.cli.main import OK
from benchmark.results.files import holder_of
from benchmark.results.names import ABOUT_GATES, DEFAULT_TASK, EVALUATION_FACTS, command
from benchmark.results.store import Store
from benchmark.run.progress import PROGRESS, read_progress
from benchmark.screen import Console, duration, note, print_table

if TYPE_CHECKING:
    from methods.encoders.base import Encoder


def list_all(arguments: Namespace, console: Console) -> int:
    """Print the listing."""
    from benchmark.screen import print_prose  # here, because --help has no use for it

    print_prose(console, listing())
    return OK


def listing() -> Iterator[str]:
    """Methods, encoders, datasets, tasks, configs, evaluations, gates and ablations, a line each."""
    from benchmark.config.load import (
        config_names,
        load_config,  # here, because the methods load slowly
    )
    from benchmark.data.datasets import DATASETS
    from benchmark.data.splits import TASKS
    from methods import BEYOND, METHODS
    from methods.encoders import ENCODERS

    yield "methods (--methods)"
    yield from (f"  {name:<15} {what_is(name, METHODS)}" for name in METHODS if name not in BEYOND)
    yield "  ./mine.py       a file of your own: docs/METHODS.md shows how to write one, `check` tests it"
    yield "beyond the paper's comparison (--methods; in no config but literature)"
    yield from (f"  {name:<15} {what_is(name, METHODS)}" for name in BEYOND)
    yield "encoders (--encoder); multiplications for a heartbeat"
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
    yield "ablations (--ablate; all for every one)"
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
    """'637,952 parameters, 71 M multiplications': size and cost of an encoder for one heartbeat."""
    from benchmark.data.heartbeats import WINDOW  # here, because torch loads slowly
    from benchmark.run.estimate import multiplications

    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    return f"{parameters:,} parameters, {multiplications(encoder, WINDOW) / 1e6:,.0f} M multiplications"


DONE, FAILED, MISSING = "done", "failed", "to do"
STATES = (DONE, FAILED, MISSING)


@dataclass(frozen=True)
class State:
    """How far a grid is."""

    rows: Mapping[str, Counter[str]]
    """Title of each row -> number of its cells per state; a cell that is in several tables counts once."""
    driver: str
    """'host:pid' of the command that works on the store; '' for none."""
    running: tuple[str, ...]
    """A line per pretraining that has said how far it is."""
    failures: Mapping[str, str]
    """Cell -> its error in one line."""

    @property
    def total(self) -> Counter[str]:
        """Number of cells per state."""
        return sum(self.rows.values(), Counter[str]())


def look(store: Store) -> State:
    """The state of a store's latest plan. Raises NoResults if there is none."""
    plan = store.load_plan()
    cells = {cell.key: cell for cell in plan.cells}
    done = set(store.row_keys())
    failures = store.failures(key for key in cells if key not in done)
    rows: dict[str, Counter[str]] = {}
    for key, cell in cells.items():
        state = DONE if key in done else FAILED if key in failures else MISSING
        rows.setdefault(plan.variants[cell.variant], Counter())[state] += 1
    running = tuple(running_line(file) for file in sorted(store.pretrained.glob(f"*/{PROGRESS}")))
    errors = {describe(cells[key]): failure.line for key, failure in failures.items()}
    return State(rows, holder_of(store.lock), tuple(filter(None, running)), errors)


def running_line(file: Path) -> str:
    """'pmq pretrain seed 42: 120 of 600 updates, epoch 2/10 loss 1.2345, 2 s ago'; '' for one that has just ended."""
    progress = read_progress(file.parent)
    try:
        ago = duration(max(0.0, time.time() - file.stat().st_mtime))
    except FileNotFoundError:
        return ""
    if progress is None:
        return ""
    return f"{progress.name}: {progress.done} of {progress.total} updates, {progress.text}, {ago} ago"


MOST_SHOWN = 10
"""Failures and running pretrainings that are listed."""


def show(console: Console, state: State) -> None:
    """Print all of it."""
    note(console, as_line(state))
    columns = [("", "", "label"), *(("", name, "right") for name in STATES)]
    rows = [[title, *(str(counts[name] or "") for name in STATES)] for title, counts in state.rows.items()]
    print_table(console, columns, [rows])
    listed(console, state.running)
    listed(console, [f"failed: {name}: {error}" for name, error in state.failures.items()])
    if state.driver:
        note(console, f"{state.driver} works on it")
    elif state.total[DONE] < state.total.total():
        note(console, f"nothing works on the rest; the command that began this grid ({command()} ...) goes on")


def as_line(state: State) -> str:
    """'12 of 36 cells done, 2 failed, 22 to do'."""
    total = state.total
    others = [f"{total[name]} {name}" for name in STATES[1:] if total[name]]
    return ", ".join([f"{total[DONE]} of {total.total()} cells done", *others])


def listed(console: Console, lines: Sequence[str]) -> None:
    """Print some lines, and how many more there are."""
    for line in lines[:MOST_SHOWN]:
        note(console, line)
    if len(lines) > MOST_SHOWN:
        note(console, f"... and {len(lines) - MOST_SHOWN} more")


LOOK_SECONDS = 5.0
"""Between two looks with --watch."""


def status(arguments: Namespace, console: Console) -> int:
    """Print the state of the latest plan, with --watch until nothing is left. Raises NoResults without a plan."""
    store, printed = Store(arguments.results), ""
    while True:
        state = look(store)
        if arguments.watch and console.is_terminal:
            console.clear()
        if not arguments.watch or console.is_terminal:
            show(console, state)
        elif (line := as_line(state)) != printed:
            printed = line
            console.print(line, soft_wrap=True)
        if not arguments.watch or not state.total[MISSING]:
            return OK
        time.sleep(LOOK_SECONDS)
