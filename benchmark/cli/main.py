"""The command line: commands and flags are parsed, a config is made of the flags, and wrong flags are refused in a
line.

A flag that sets a config key takes type, choices and help from the field of the key in `benchmark.config.schema`. The
function of a command is imported where it runs, so that help and mistyped flags do not wait for torch.
"""

from __future__ import annotations

import argparse
import re
import shlex
from argparse import Namespace
from collections.abc import Sequence
from importlib import metadata
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, get_args, get_origin

from benchmark.cli.commands import COMMANDS, COMMON, KEYS, NO_BASELINE
from benchmark.config.config import ALL_ABLATIONS, Config
from benchmark.config.errors import ConfigError, sections_in
from benchmark.config.load import (
    Folders,
    card_folders,
    config_values,
    is_card,
    load_config,
    parse_yaml,
    validate,
    with_cards,
    with_overrides,
)
from benchmark.config.schema import Settings
from benchmark.data.datasets.base import NO_FOLD, DatasetError
from benchmark.results.names import AT, INSTALLED, command, unknown
from benchmark.run.engine import HERE
from benchmark.screen import Console, note, open_console

if TYPE_CHECKING:
    from benchmark.machine import Machine

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses. FAILED: part of the work failed; USAGE: refused before any work; after SIGTERM: 143."""
ABOUT = "Compare contrastive pretraining methods for ECG: pretrain, fine-tune, tabulate."
DEFAULT_COMMAND = "run"
FEW_EXAMPLES = 3
"""Number of examples in the overview."""
SIMULATED, REAL = "demo", "own"
"""Config where `--config` names none: of simulated cohorts, of real data."""
SIZES_BY_RECORDINGS: tuple[tuple[float, dict[str, int], int], ...] = (
    (2_000, {"hidden": 16, "depth": 6, "output": 64}, 40),
    (20_000, {"hidden": 32, "depth": 8, "output": 128}, 20),
    (float("inf"), {"hidden": 64, "depth": 10, "output": 320}, 10),
)
"""Recordings of the corpus at most -> sizes of the dilated encoder, and epochs of pretraining, of the config `own`."""


FEW_PATIENTS, FOLDS = 500, 5
"""Patients below whose number the config `own` tests everybody where the data state no split, and the number of
parts."""


class Request(NamedTuple):
    """A run as a command line describes it."""

    config: Config
    folders: Folders
    machine: Machine
    arguments: Namespace


class Parser(argparse.ArgumentParser):
    """argparse that reports an error in one line, with the nearest choice."""

    def error(self, message: str) -> NoReturn:
        """Raise ConfigError with argparse's message."""
        if wrong := re.search(r"(.*): invalid choice: '([^']*)' \(choose from (.*)\)", message):
            message = f"{wrong[1]}: " + unknown("choice", wrong[2], wrong[3].replace("'", "").split(", "))
        if re.search(r"invalid (int|float) value: '[^',]+,[^']+'", message):
            message += ": separate several by spaces"
        raise ConfigError(message)


def parts_of(annotation: Any) -> list[Any]:
    """List an annotation and all that it is made of: members of a union, elements of a list, names of a Literal."""
    return [annotation, *(part for inner in get_args(annotation) for part in parts_of(inner))]


def arguments_of(key: str) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a flag that sets a dotted config key."""
    sections = [Settings]
    fields = list[Any]()
    for name in key.split("."):  # several members of a union may have the key
        fields = [section.model_fields[name] for section in sections if name in section.model_fields]
        sections = [section for field in fields for section in sections_in(field.annotation)]
    parts = [part for field in fields for part in parts_of(field.annotation)]
    choices = [part for part in parts if isinstance(part, str)]
    numbers = [part for part in parts if part in (int, float)]
    is_list = any(get_origin(part) is list for part in parts)
    meaning = " ".join(fields[0].description.split()).replace("%", "%%")
    names = "|".join(choices) if choices and not is_list else "NAME"
    return {
        "dest": key,
        "help": meaning,
        "metavar": "N" if numbers else names,
        "choices": [*choices, NO_BASELINE] if key == "baselines" else choices or None,
        "type": numbers[0] if numbers else None,
        "nargs": "+" if is_list or key == "data.pretrain" else None,
    }


def parser_of(name: str) -> Parser:
    """Make the parser of a command."""
    one = COMMANDS[name]
    parser = Parser(
        prog=f"{command()} {name}",
        description=one.help,
        epilog="\n".join(["examples:", *(f"  {command()} {line}" for line in one.examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for flag, arguments in one.further.items():
        parser.add_argument(flag, **arguments)
    keys = parser.add_argument_group("config keys")
    for flag in one.flags:
        if flag in KEYS:
            keys.add_argument(flag, **arguments_of(KEYS[flag]))
        else:
            parser.add_argument(flag, **COMMON[flag])
    return parser


def overview() -> str:
    """Return the commands, a line each, and a few examples."""
    lines = {name: one.help + " (the default)" * (name == DEFAULT_COMMAND) for name, one in COMMANDS.items()}
    width = max(map(len, lines))
    examples = COMMANDS[DEFAULT_COMMAND].examples[:FEW_EXAMPLES]
    return "\n".join(
        [
            f"usage: {command()} [COMMAND] [FLAG ...]\n\n{ABOUT}\n",
            "commands; `COMMAND --help` shows the flags of each:",
            *(f"  {name:<{width}}  {text}" for name, text in lines.items()),
            "\nexamples:",
            *(f"  {command()} {line}" for line in examples),
        ]
    )


def version() -> str:
    """Return the version of the installed program."""
    try:
        return metadata.version(INSTALLED)
    except metadata.PackageNotFoundError:
        return "of a checkout that is not installed"


def parse(argv: Sequence[str]) -> tuple[str, Namespace]:
    """Return the name of a command and its arguments. Raises ConfigError; `--help` and `--version` print and exit."""
    if argv[:1] in (["--help"], ["-h"], ["--version"]) or [*argv] == ["data", "--help"]:
        print(f"{INSTALLED} {version()}" if argv[0] == "--version" else overview())
        raise SystemExit(OK)
    name = DEFAULT_COMMAND
    rest = list(argv)
    if rest and not rest[0].startswith("-"):
        count = 2 if rest[0] == "data" else 1
        name = " ".join(rest[:count])
        rest = rest[count:]
    if name not in COMMANDS:
        raise ConfigError(unknown("command", name, COMMANDS))
    arguments, extra = parser_of(name).parse_known_args(rest)
    arguments.line = shlex.join([*name.split(), *rest])
    if not extra:
        return name, arguments
    if not extra[0].startswith("-"):
        raise ConfigError(f"`{name}` takes no {extra[0]!r}; write it behind its flag, and a command before all flags")
    flags = [flag for flag in (*COMMANDS[name].flags, *COMMANDS[name].further) if flag != "word"]
    raise ConfigError(unknown(f"flag of `{name}`", extra[0].partition("=")[0], flags))


def run(argv: Sequence[str], console: Console) -> int:
    """Run a command line; returns the exit status. Raises ConfigError for a wrong command or flag."""
    name, arguments = parse(argv)
    status: int = resolve_name(COMMANDS[name].function)(arguments, console)
    return status


def config_of(arguments: Namespace, values: dict[str, Any] | None = None) -> Config:
    """Make the config of `values`, by default of those of the flags. Raises ConfigError."""
    config = validate(values or values_of(arguments))
    for name, _ in arguments.data:
        if name not in config.data.known():
            raise ConfigError(f"--data: {unknown('dataset', name, config.data.known())}")
    return config


def values_of(arguments: Namespace) -> dict[str, Any]:
    """Return the values of the config, as a YAML file can hold them, `--set` last. Raises ConfigError."""
    overrides = overrides_of(arguments)
    if arguments.config is None and overrides.get("data.simulation", ...) is None:
        return values_by_recordings(arguments, overrides)
    return with_overrides(config_values(arguments.config or SIMULATED), overrides)


def values_by_recordings(arguments: Namespace, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the config `own`, with an encoder and a number of epochs by the size of the corpus.

    Where no corpus is named, it is the training part of the datasets. Few patients without a split of their own are
    tested in parts, except by `tune`, which would choose on them. A command that trains prints a line on all that.
    """
    from benchmark.run.datasets import locate  # here, because torch and pandas load slowly

    if "data.datasets" in overrides:
        overrides.setdefault("data.pretrain", overrides["data.datasets"])
    config = load_config(REAL, overrides)
    values = config_values(REAL)
    try:
        folders = folders_of(arguments)
        names = [*config.data.corpora, *(name for name in config.data.datasets if AT not in name)]
        listed = {name: locate(config, name, folders).listing().entries for name in dict.fromkeys(names)}
    except DatasetError:
        return with_overrides(values, overrides)  # whoever reads the data reports what is wrong with them
    recordings = sum(len(listed[name]) for name in config.data.corpora)
    sizes, epochs = next((sizes, epochs) for most, sizes, epochs in SIZES_BY_RECORDINGS if recordings <= most)
    values["encoder"] = sizes
    values["pretrain"] |= {"epochs": epochs}
    tested = [entry for name in config.data.datasets for entry in listed.get(name, ())]
    is_split = any(entry.fold != NO_FOLD for entry in tested) or any(AT in name for name in config.data.datasets)
    is_open = config.protocol == "strict" and not is_split and not hasattr(arguments, "candidates")
    if is_open and len({entry.patient for entry in tested}) < FEW_PATIENTS:
        values["data"] = {"folds": FOLDS}
    values = with_overrides(values, overrides)
    folds = values.get("data", {}).get("folds")
    if hasattr(arguments, "methods"):
        given = values["encoder"]
        chosen = ", ".join(f"{name} {given[name]}" for name in sizes if name in given)
        encoder = given.get("name") or f"dilated with {chosen}"
        of_pmq = " of PMQ, or as many encoder passes of another method," * (config.pretrain.budget == "passes")
        note(
            open_console(),
            f"config {REAL}, as no --config is named: encoder {encoder}, {values['pretrain']['epochs']:g} epochs"
            f"{of_pmq} for {recordings} recordings of {config.data.pretrain}, {len(values['seeds'])} seeds"
            + (f", {folds} parts that are each tested by what is learned on the others (data.folds)" if folds else ""),
        )
    return values


def overrides_of(arguments: Namespace) -> dict[str, Any]:
    """Return dotted config key -> value of the given flags, `--set` last. Raises ConfigError."""
    given = vars(arguments)
    overrides = {key: given[key] for key in KEYS.values() if given.get(key) is not None}
    if encoders := given.get("encoder"):
        overrides["encoder.name"], *further = encoders
        overrides |= {"encoders": [{"name": name} for name in further]} if further else {}
    if overrides.get("baselines") == [NO_BASELINE]:
        overrides["baselines"] = []
    if given.get("ablations"):
        overrides["ablate"] = [ALL_ABLATIONS, *overrides.get("ablate", [])]
    if sizes := given.get("queue_sizes"):
        overrides["sweeps.pmq.queue_size"] = sizes
    for item in arguments.set:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise ConfigError(f"--set {item!r} is not KEY=VALUE, e.g. --set methods.pmq.momentum=0.99")
        overrides[key] = parse_yaml(value, f"--set {item!r}")
    if arguments.data or arguments.data_root or any(map(is_card, datasets_of(arguments))):
        overrides.setdefault("data.simulation", None)
    return with_cards(overrides)


def folders_of(arguments: Namespace) -> Folders:
    """Return the data's folders from the flags, a card's among them. Raises ConfigError for a bad flag or card."""
    from benchmark.machine import cores

    cards = card_folders(datasets_of(arguments), arguments.data_root)
    return Folders(
        data_root=arguments.data_root,
        paths=cards | dict(arguments.data),
        cache=vars(arguments).get("cache", Folders.cache),
        workers=vars(arguments).get("workers") or cores(),
    )


def datasets_of(arguments: Namespace) -> list[str]:
    """List the datasets that flags name, the pretraining corpus first: names, and files of cards."""
    given = vars(arguments)
    return [word for key in ("data.pretrain", "data.datasets") for word in given.get(key) or []]


def machine_of(arguments: Namespace, config: Config) -> Machine:
    """Return the machine of a run. Raises ConfigError for a device that is not there, or not stated for an engine."""
    import torch

    from benchmark.machine import Machine, cores, pick_device, pick_precision  # here, because torch loads slowly

    if arguments.engine == HERE:
        devices = devices_of(arguments.devices) if arguments.devices else ()
        try:
            device = pick_device(arguments.device)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        jobs = arguments.jobs or (cores() if device.type == "cpu" else max(1, len(devices)))
        return Machine(device, pick_precision(config.precision, device), jobs, HERE, devices)
    if arguments.devices:
        raise ConfigError(
            "--devices needs --engine local; elsewhere start a worker for each GPU, with its CUDA_VISIBLE_DEVICES"
        )
    if arguments.device == "auto" or config.precision == "auto":
        raise ConfigError(
            f"--engine {arguments.engine}: name what the workers compute on and in: --device cpu or cuda, and "
            "--precision float32 or bf16"
        )
    return Machine(torch.device(arguments.device), config.precision, arguments.jobs, arguments.engine)


def devices_of(numbers: Sequence[str]) -> tuple[str, ...]:
    """Return CUDA_VISIBLE_DEVICES for a process on each device of `--devices`. Raises ConfigError."""
    from benchmark.machine import visible_devices

    visible = {str(number): name for number, name in enumerate(visible_devices())}
    if not visible.keys() >= set(numbers) or len(set(numbers)) < len(numbers):
        raise ConfigError(
            f"--devices {' '.join(numbers)}: name devices once each; torch sees {', '.join(visible) or 'none'}"
        )
    return tuple(visible[number] for number in numbers)
