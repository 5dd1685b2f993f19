"""The verbs `list` and `status`: what the suite has, and how far a grid is by its store."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
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
    for line in listing():
        note(console, line)
    return OK


def listing() -> Iterator[str]:
    """Methods, encoders, datasets, tasks, configs, evaluations, gates and ablations, a line each."""
    from benchmark.config.load import config_names, load_config  # here, because the methods load slowly
    from benchmark.data.datasets import DATASETS
    from benchmark.data.tasks import TASKS
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


STATES = DONE, FAILED, MISSING = "done", "failed", "to do"
MOST_FAILURES = 10
"""Failures that are listed; the report lists all."""


def status(arguments: Namespace, console: Console) -> int:
    """Print what of the latest plan is done, failed, to do, and what runs. Raises NoResults without a plan."""
    store = Store(arguments.results)
    plan = store.load_plan()
    cells = {cell.key: cell for cell in plan.cells}  # a cell may be in several tables
    done = set(store.row_keys())
    failures = store.failures(key for key in cells if key not in done)
    rows: dict[str, Counter[str]] = {}
    for key, cell in cells.items():
        state = DONE if key in done else FAILED if key in failures else MISSING
        rows.setdefault(plan.variants[cell.variant], Counter())[state] += 1
    total = sum(rows.values(), Counter[str]())
    others = [f"{total[name]} {name}" for name in (FAILED, MISSING) if total[name]]
    note(console, ", ".join([f"{total[DONE]} of {len(cells)} cells done", *others]))
    table = [[title, *(str(row[name] or "") for name in STATES)] for title, row in rows.items()]
    print_table(console, ["", *STATES], table)
    for file in sorted(store.pretrained.glob(f"*/{PROGRESS}")):
        if line := running_line(file):
            note(console, line)
    for key, failure in list(failures.items())[:MOST_FAILURES]:
        note(console, f"failed: {describe(cells[key])}: {failure.line}")
    if driver := holder_of(store.lock):
        note(console, f"{driver} works on it")
    elif total[DONE] < len(cells):
        note(console, f"nothing works on the rest; the command that began this grid ({command()} ...) goes on")
    return OK


def running_line(file: Path) -> str:
    """'pmq pretrain seed 42: 120 of 600 updates, epoch 2/10 loss 1.2345, 2 s ago'; '' for one that has just ended."""
    progress = read_progress(file.parent)
    if progress is None or not file.exists():
        return ""
    ago = duration(max(0.0, time.time() - file.stat().st_mtime))
    return f"{progress.name}: {progress.done} of {progress.total} updates, {progress.text}, {ago} ago"
