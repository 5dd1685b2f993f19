"""The verb `list`: print the methods, encoders, datasets, configs, evaluations and ablations."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmark.config.command_line.verb import OK, Verb
from benchmark.results.names import BEYOND, DEFAULT_TASK, EVALUATION_FACTS
from benchmark.screen.console import Console

if TYPE_CHECKING:
    from methods.encoders.base import Encoder

TIMED_WINDOWS, TIMED_STEPS = 2, 2
"""Windows of a timed training step of an encoder, and how many steps are timed."""


def list_all(arguments: Namespace, console: Console) -> int:
    """Print the listing."""
    from benchmark.screen.tables import print_prose  # here, because --help has no use for it

    print_prose(console, listing())
    return OK


def listing() -> Iterator[str]:
    """Methods, encoders, datasets, tasks, configs, evaluations and ablations, a line each."""
    from benchmark.config.load import load_config  # here, because the methods load slowly
    from benchmark.config.packaged import config_names
    from benchmark.data.readers.cards.ecgbench.choices import CHOICES
    from benchmark.data.readers.registry import DATASETS
    from benchmark.data.tasks.columns import TASKS
    from methods import METHODS
    from methods.encoders import ENCODERS

    yield "methods (--methods)"
    yield from (line_of(name, METHODS[name]) for name in METHODS if name not in BEYOND)
    yield "  ./mine.py       a file of your own: docs/METHOD.md shows how to write one, `check-method` tests it"
    yield "  ./theirs.yaml   weights from elsewhere: a card of an ONNX or TorchScript file (docs/ELSEWHERE.md)"
    yield "beyond the paper's comparison (--methods; in no config but literature)"
    yield from (line_of(name, METHODS[name]) for name in BEYOND)
    yield "encoders (--encoder); multiplications and training step of a heartbeat, timed just now on one CPU thread"
    for name, encoder in ENCODERS.items():
        yield f"  {name:<15} {first_line(sys.modules[encoder.__module__].__doc__)} {costs_of(encoder())}"
    yield "datasets (--datasets, --pretrain-dataset)"
    for name, dataset in DATASETS.items():
        classes = ", ".join(dataset.classes) or "no labels; for pretraining"
        yield f"  {name:<15} {dataset.title}: {classes}"
    yield "  ./ours.yaml     a card of data of your own (docs/OWN_DATA.md); `data new-card` writes a first one"
    yield f"  ecgbench:NAME   public data by the package ecgbench (docs/DATASETS.md): {', '.join(CHOICES)}"
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
    yield "ablations (--ablations, --ablate)"
    for owner, named in load_config("demo").ablations.items():
        for name, knobs in named.items():
            changes = ", ".join(f"{knob} = {value}" for knob, value in knobs.items())
            yield f"  {name:<15} {owner} with {changes}"


def line_of(name: str, kind: type) -> str:
    """A name and the first line of the module that defines it."""
    return f"  {name:<15} {first_line(sys.modules[kind.__module__].__doc__)}"


def costs_of(encoder: Encoder) -> str:
    """'637,952 parameters, 71 M multiplications, 4.1 ms': size and cost of an encoder for one heartbeat."""
    import torch  # here, because torch loads slowly

    from benchmark.data.prepared.beats import WINDOW
    from benchmark.run.estimate import PASSES_PER_STEP, multiplications, seconds_per_pass

    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    millions = multiplications(encoder, WINDOW) / 1e6
    sizes = {"threads": 1, "batch": TIMED_WINDOWS, "steps": TIMED_STEPS}
    seconds = PASSES_PER_STEP * seconds_per_pass(encoder.train(), WINDOW, torch.device("cpu"), "float32", **sizes)
    return f"{parameters:,} parameters, {millions:,.0f} M multiplications, {1000 * seconds:,.1f} ms"


def first_line(text: str | None) -> str:
    """First line of a docstring."""
    return (text or "").strip().splitlines()[0]


LIST = Verb(
    "the methods, datasets, tasks, configs, evaluations and ablations there are",
    list_all,
    examples={"list": "what there is"},
)
