"""The commands `list` and `check`: what the suite has, and a method or an encoder against its contract.

The checks are those of `methods.contract`; for an encoder with weights from elsewhere also what every run tries before
it reads data.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import ChainMap
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from inspect import getdoc
from typing import Any, cast

import torch
from pydantic import ValidationError

from benchmark.cli.main import FAILED, OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import CONFIGS, load_config
from benchmark.config.schema import PAPER_ABLATIONS
from benchmark.data.datasets import DATASETS
from benchmark.data.heartbeats import WINDOW
from benchmark.external import try_external
from benchmark.machine import pick_device
from benchmark.results.names import ABOUT_BASELINES, DEFAULT_TASK, EVALUATION_FACTS, reason_of
from benchmark.results.references import short_text
from benchmark.run.costs import counted_passes, multiplications
from benchmark.run.datasets import refuse_unusable
from benchmark.screen import Console, note
from benchmark.training.whole_task import do_whole_task
from methods import BEYOND, METHODS, find_class, row_of, sources_of
from methods.base import MethodConfig, PretrainMethod
from methods.contract import ENCODER_CHECKS, METHOD_CHECKS, loads_its_weights, new_method, refusal_of
from methods.encoders import DEFAULT, ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder

PAGE = "the page 'Methods and encoders'"


def list_all(arguments: Namespace, console: Console) -> int:
    """Print all there is: a heading with the flag that takes the names, then a line for each name."""
    for heading, lines in listing().items():
        note(console, heading)
        for name, text in lines.items():
            note(console, f"  {name:<15} {text}")
    return OK


def listing() -> dict[str, dict[str, str]]:
    """Return heading -> name -> line for everything that a config can name, from methods to ablations."""
    compared: dict[str, str] = {}
    beyond: dict[str, str] = {}
    for name, method_class in METHODS.items():
        group = beyond if name in BEYOND else compared
        about = first_line_of(method_class, METHODS)
        group[name] = about if "et al. 20" in about else about + short_text(name)
    compared["./mine.py"] = f"a file of your own: {PAGE} shows how to write one, `check` tests it"
    encoders = {}
    for name, encoder_class in ENCODERS.items():
        encoders[name] = f"{first_line_of(encoder_class, ENCODERS)} {costs_of(encoder_class())}"
    datasets = {}
    for name, dataset in DATASETS.items():
        classes = ", ".join(dataset.classes) or "no labels; for pretraining"
        datasets[name] = f"{dataset.title}: {classes}"
    datasets["./ours.yaml"] = "a card of your own data (page 'Your own ECGs'); `data new-card` writes a first one"
    tasks = {DEFAULT_TASK: "the classes above, as --labels says; of every dataset"}
    for name, dataset in DATASETS.items():
        for task, named in dataset.tasks.items():
            line = f"{name}: {named.about}, {len(named.classes)} classes, several a recording"
            tasks[task] = f"{tasks[task]}; {line}" if task in tasks else line
    ablations = {}
    for method, ablations_of_method in PAPER_ABLATIONS.items():
        for name, changes in ablations_of_method.items():
            values = [f"{hyperparameter} = {value}" for hyperparameter, value in changes.items()]
            ablations[name] = f"{method} with {', '.join(values)}"
    evaluations = {name: f"{facts.title}: {facts.about}" for name, facts in EVALUATION_FACTS.items()}
    return {
        "methods (--methods)": compared,
        "beyond the paper's comparison (--methods; in no config but literature)": beyond,
        "encoders (--encoder); multiplications for a heartbeat": encoders,
        "datasets (--datasets, --pretrain-dataset)": datasets,
        "tasks (--tasks; a column is a dataset under one of its tasks)": tasks,
        "configs (--config)": {name: load_config(name).caption for name in CONFIGS},
        "evaluations (--evaluate)": evaluations,
        "baselines (--baselines); rows that are not ranked": dict[str, str](ABOUT_BASELINES.items()),
        "ablations (--ablate; all for every one)": ablations,
    }


def first_line_of(model_class: type, table: Mapping[str, type]) -> str:
    """Return the first line of a class's module, or of the class itself where the module holds several."""
    beside = [other for other in table.values() if other.__module__ == model_class.__module__]
    described = sys.modules[model_class.__module__] if len(beside) == 1 else model_class
    text = getdoc(described) or ""
    return text.partition("\n")[0]


def costs_of(encoder: Encoder) -> str:
    """Return '637,952 parameters, 71 M multiplications': size and cost of an encoder for one heartbeat."""
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    return f"{parameters:,} parameters, {multiplications(encoder, WINDOW) / 1e6:,.0f} M multiplications"


def check(arguments: Namespace, console: Console) -> int:
    """Print a line per check; returns FAILED if one fails. Raises ConfigError for an unknown name or a broken file."""
    classes = cast(Mapping[str, type], ChainMap(METHODS, ENCODERS))
    try:
        model_class: type = find_class("method or encoder", arguments.word, classes, PretrainMethod, Encoder)
    except ValueError as error:
        raise ConfigError(f"{error}; {PAGE} shows how to write one") from None
    refuse_missing_defaults(model_class, arguments.word)
    checks = checks_of(model_class, arguments.word)
    note(console, f"{arguments.word}: {len(checks)} checks, at most a minute")
    torch.set_num_threads(1)  # more threads are slower on tensors this small
    failed = 0
    for name, run in checks.items():
        line = line_of(name, run)
        note(console, line)
        failed += line.startswith("FAILED")
    if issubclass(model_class, PretrainMethod) and model_class.trains:
        with suppress(Exception):  # of anyone's code, which the checks above name
            note(console, passes_of(model_class))
    if failed:
        note(console, f"{failed} of {len(checks)} checks failed; {PAGE} has the contract")
    return FAILED if failed else OK


def refuse_missing_defaults(model_class: Any, word: str) -> None:
    """Raise ConfigError for a config of which a field has no default: checks, and runs without --set, build it bare."""
    try:
        model_class.Config()
    except ValidationError as error:
        fields = [str(one["loc"][0]) for one in error.errors() if one["type"] == "missing"]
        if fields:
            raise ConfigError(
                f"{word}: give a default to {', '.join(fields)} of {model_class.__name__}.Config"
            ) from None
    except Exception:  # the checks say what is wrong
        return


def checks_of(model_class: Any, word: str) -> dict[str, Callable[[], object]]:
    """Return the checks of a class, which the command line names by `word`, by what each says.

    A method is checked with the first encoder that it can train, an encoder with the first method that trains it.
    """
    method, encoder = model_class, model_class
    contract: list[partial[Any]]
    overrides: dict[str, Any]
    if issubclass(model_class, PretrainedEncoder):
        contract = [partial(promise, model_class) for promise in (try_external, loads_its_weights)]
        method = row_of(model_class)
        overrides = {"methods": [word]}
    elif issubclass(model_class, PretrainMethod):
        encoder = encoder_for(model_class)
        of_method = METHOD_CHECKS if model_class.trains else METHOD_CHECKS[:1]
        contract = [partial(promise, model_class, encoder) for promise in of_method]
        beside = "moco" if word != "moco" else "pmq"  # for a budget that makes methods equal
        overrides = {"methods": [word, beside], "encoder": {"name": encoder.name}}
    else:
        contract = [partial(promise, model_class) for promise in ENCODER_CHECKS]
        trainable = [method for method in METHODS.values() if method.trains and not refusal_of(method, model_class)]
        method = trainable[0] if trainable else METHODS["moco"]
        overrides = {"methods": [method.name], "encoder": {"name": word}}
    checks: dict[str, Callable[[], object]] = {}
    for promise in contract:
        checks[promise.func.__name__.replace("_", " ")] = promise
    checks["a run takes it"] = partial(try_config, overrides)
    build = partial(new_row, method, encoder)
    for precision in ("float32", "bf16"):
        checks[f"does a whole task in {precision}"] = partial(do_whole_task, build, pick_device("auto"), precision)
    return checks


def passes_of(method_class: type[PretrainMethod]) -> str:
    """Say how many encoder passes an update costs per pair of windows, and how many the class states."""
    counted = counted_passes(method_class(encoder_for(method_class)(), method_class.Config()), WINDOW)
    stated = f"states encoder_passes = {method_class.encoder_passes:g}"
    if sources_of(method_class) and "encoder_passes" not in vars(method_class):
        stated = f"does not state it: add `encoder_passes = {counted:.1f}`"
    return f"a pair of windows costs {counted:.1f} encoder passes, and {method_class.__name__} {stated}"


def encoder_for(method_class: type[PretrainMethod]) -> type[Encoder]:
    """Return the first encoder that a method can train, or the default one."""
    trainable = [encoder for encoder in ENCODERS.values() if not refusal_of(method_class, encoder)]
    return trainable[0] if trainable else ENCODERS[DEFAULT]


def new_row(method: type[PretrainMethod], encoder: type[Encoder]) -> PretrainMethod:
    """Build a method around a small encoder, or around the one with weights that its row brings."""
    if issubclass(encoder, PretrainedEncoder):
        return method(encoder.loaded(), MethodConfig())
    return new_method(method, encoder)


def try_config(overrides: Mapping[str, Any]) -> None:
    """Raise ConfigError where a run refuses the config `demo` with these keys before any work."""
    refuse_unusable(load_config("demo", overrides))


def line_of(name: str, run: Callable[[], object]) -> str:
    """Run a check and write its line: ok, FAILED with what it raised, or why it has nothing to try."""
    try:
        result = run()
    except Exception as error:  # of anyone's code
        words = reason_of(error)[:400]
        if isinstance(error, (AssertionError, ValueError)):
            return f"FAILED {name}: {words}"
        return f"FAILED {name}: {type(error).__name__}: {words}"
    if isinstance(result, str):
        return f"-      {name}: nothing to try, {result}"
    return f"ok     {name}"
