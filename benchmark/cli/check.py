"""The commands `list` and `check`: what the suite has, and a method or an encoder against its contract.

The checks are those of `methods.contract`; for an encoder with weights from elsewhere also what every run tries before
it reads data.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from inspect import getdoc
from typing import Any, cast

import torch

from benchmark.cli.main import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names, load_config
from benchmark.config.schema import PAPER_ABLATIONS
from benchmark.data.datasets import DATASETS
from benchmark.data.heartbeats import WINDOW
from benchmark.data.splits import TASKS
from benchmark.external import try_external
from benchmark.results.names import ABOUT_GATES, DEFAULT_TASK, EVALUATION_FACTS
from benchmark.run.pretraining import multiplications
from benchmark.screen import Console, note
from methods import BEYOND, METHODS, find_class
from methods.base import PretrainMethod
from methods.contract import ENCODER_CHECKS, METHOD_CHECKS, fits, loads_its_weights
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder

PAGE = "docs/METHODS.md"


def list_all(arguments: Namespace, console: Console) -> int:
    """Print all there is: a heading with the flag that takes the names, then a line for each name."""
    for heading, lines in listing().items():
        note(console, heading)
        for name, text in lines.items():
            note(console, f"  {name:<15} {text}")
    return OK


def listing() -> dict[str, dict[str, str]]:
    """Return heading -> name -> line: methods, encoders, datasets, tasks, configs, evaluations, gates, ablations."""
    methods = {name: what_is(kind, METHODS) for name, kind in METHODS.items()}
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
        name: f"{method} with {', '.join(f'{knob} = {value}' for knob, value in knobs.items())}"
        for method, of_method in PAPER_ABLATIONS.items()
        for name, knobs in of_method.items()
    }
    return {
        "methods (--methods)": {name: text for name, text in methods.items() if name not in BEYOND}
        | {"./mine.py": f"a file of your own: {PAGE} shows how to write one, `check` tests it"},
        "beyond the paper's comparison (--methods; in no config but literature)": {n: methods[n] for n in BEYOND},
        "encoders (--encoder); multiplications for a heartbeat": {
            name: f"{what_is(kind, ENCODERS)} {costs_of(kind())}" for name, kind in ENCODERS.items()
        },
        "datasets (--datasets, --pretrain-dataset)": datasets
        | {"./ours.yaml": "a card of your own data (docs/OWN_DATA.md); `data new-card` writes a first one"},
        "tasks (--tasks; a column is a dataset under one of its tasks)": tasks,
        "configs (--config)": {name: load_config(name).caption for name in config_names()},
        "evaluations (--evaluate)": {n: f"{facts.title}: {facts.about}" for n, facts in EVALUATION_FACTS.items()},
        "gates (--gates); rows that are not ranked": dict[str, str](ABOUT_GATES.items()),
        "ablations (--ablate; all for every one)": ablations,
    }


def what_is(kind: type, kinds: Mapping[str, type]) -> str:
    """Return the first line of a class's module, or of the class itself where the module holds several."""
    alone = sum(other.__module__ == kind.__module__ for other in kinds.values()) == 1
    return (getdoc(sys.modules[kind.__module__] if alone else kind) or "").partition("\n")[0]


def costs_of(encoder: Encoder) -> str:
    """Return '637,952 parameters, 71 M multiplications': size and cost of an encoder for one heartbeat."""
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    return f"{parameters:,} parameters, {multiplications(encoder, WINDOW) / 1e6:,.0f} M multiplications"


def check(arguments: Namespace, console: Console) -> int:
    """Print a line per check; returns FAILED if one fails. Raises ConfigError for an unknown name or a broken file."""
    classes = cast(Mapping[str, type], ChainMap(METHODS, ENCODERS))
    try:
        kind: type = find_class("method or encoder", arguments.word, classes, PretrainMethod, Encoder)
    except ValueError as error:
        raise ConfigError(f"{error}; {PAGE} shows how to write one") from None
    checks, failed = checks_of(kind), 0
    note(console, f"{arguments.word}: {len(checks)} checks, at most half a minute")
    torch.set_num_threads(1)  # more threads are slower on tensors this small
    for one in checks:
        problem = failure(one)
        name = one.func.__name__.replace("_", " ")
        note(console, f"FAILED {name}: {problem}" if problem else f"ok     {name}")
        failed += bool(problem)
    if failed:
        note(console, f"{failed} of {len(checks)} checks failed; {PAGE} has the contract")
    return FAILED if failed else OK


def checks_of(kind: Any) -> list[partial[Any]]:
    """List the checks of a class. A method is checked with the first encoder that it can train."""
    if issubclass(kind, PretrainedEncoder):
        return [partial(one, kind) for one in (try_external, loads_its_weights)]
    if issubclass(kind, PretrainMethod):
        encoder = next((one for one in ENCODERS.values() if fits(kind, one)), ENCODERS["dilated"])
        return [partial(one, kind, encoder) for one in (METHOD_CHECKS if kind.trains else METHOD_CHECKS[:1])]
    return [partial(one, kind) for one in ENCODER_CHECKS]


def failure(run: Callable[[], object]) -> str:
    """Return what a check raised, in one line; '' for nothing."""
    try:
        run()
    except Exception as error:  # of anyone's code
        line = " ".join(str(error).split())[:300]
        return line if isinstance(error, (AssertionError, ValueError)) and line else f"{type(error).__name__}: {line}"
    return ""
