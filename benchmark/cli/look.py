"""The commands `list` and `status`: what the suite has, and how far a grid is by its store."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from inspect import getdoc
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
    """Print all there is: a heading with the flag that takes the names, then a line for each name."""
    for heading, lines in listing().items():
        note(console, heading)
        for name, text in lines.items():
            note(console, f"  {name:<15} {text}")
    return OK


def listing() -> dict[str, dict[str, str]]:
    """Return heading -> name -> line: methods, encoders, datasets, tasks, configs, evaluations, gates, ablations."""
    from benchmark.config.load import config_names, load_config  # here, because the methods load slowly
    from benchmark.data.datasets import DATASETS
    from benchmark.data.tasks import TASKS
    from methods import BEYOND, METHODS
    from methods.encoders import ENCODERS

    methods = {name: what_is(name, METHODS) for name in METHODS}
    datasets = {
        name: f"{dataset.title}: {', '.join(dataset.classes) or 'no labels; for pretraining'}"
        for name, dataset in DATASETS.items()
    }
    tasks = {DEFAULT_TASK: "the classes above, as --labels says; of every dataset"}
    for name, of_dataset in TASKS.items():
        for task, about in of_dataset.items():
            line = f"{name}: {about.what}, {len(about.classes)} classes, several a recording"
            tasks[task] = f"{tasks[task]}; {line}" if task in tasks else line
    ablations = {
        name: f"{owner} with {', '.join(f'{knob} = {value}' for knob, value in knobs.items())}"
        for owner, of_method in load_config("demo").ablations.items()
        for name, knobs in of_method.items()
    }
    return {
        "methods (--methods)": {name: text for name, text in methods.items() if name not in BEYOND}
        | {"./mine.py": "a file of your own: docs/METHODS.md shows how to write one, `check` tests it"},
        "beyond the paper's comparison (--methods; in no config but literature)": {n: methods[n] for n in BEYOND},
        "encoders (--encoder); multiplications for a heartbeat": {
            name: f"{what_is(name, ENCODERS)} {costs_of(encoder())}" for name, encoder in ENCODERS.items()
        },
        "datasets (--datasets, --pretrain-dataset)": datasets
        | {"./ours.yaml": "a card of your own data (docs/OWN_DATA.md); `data new-card` writes a first one"},
        "tasks (--tasks; a column is a dataset under one of its tasks)": tasks,
        "configs (--config)": {name: load_config(name).caption for name in config_names()},
        "evaluations (--evaluate)": {n: f"{facts.title}: {facts.about}" for n, facts in EVALUATION_FACTS.items()},
        "gates (--gates); rows that are not ranked": dict[str, str](ABOUT_GATES.items()),
        "ablations (--ablate; all for every one)": ablations,
    }


def what_is(name: str, kinds: Mapping[str, type]) -> str:
    """Return the first line of a class's module, or of the class itself where the module holds several."""
    kind = kinds[name]
    alone = sum(other.__module__ == kind.__module__ for other in kinds.values()) == 1
    return (getdoc(sys.modules[kind.__module__] if alone else kind) or "").partition("\n")[0]


def costs_of(encoder: Encoder) -> str:
    """Return '637,952 parameters, 71 M multiplications': size and cost of an encoder for one heartbeat."""
    from benchmark.data.heartbeats import WINDOW  # here, because torch loads slowly
    from benchmark.run.pretraining import multiplications

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
    for folder in sorted(store.pretrained.glob("*")):
        if running := read_progress(folder):
            ago = duration(max(0.0, time.time() - (folder / PROGRESS).stat().st_mtime))
            note(console, f"{running.name}: {running.done} of {running.total} updates, {running.text}, {ago} ago")
    for key, failure in list(failures.items())[:MOST_FAILURES]:
        note(console, f"failed: {describe(cells[key])}: {failure.line}")
    if driver := holder_of(store.lock):
        note(console, f"{driver} works on it")
    elif total[DONE] < len(cells):
        note(console, f"nothing works on the rest; the command that began this grid ({command()} ...) goes on")
    return OK
