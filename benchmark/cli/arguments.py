"""What commands make of the parsed flags that they share: the config, the folders of the data, the machine."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmark.cli.commands import KEYS, NO_GATE
from benchmark.config.config import ALL_ABLATIONS, Config
from benchmark.config.errors import ConfigError, unknown
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
from benchmark.data.datasets.base import DatasetError
from benchmark.machine import Machine, cores, pick_device, pick_precision, visible_devices
from benchmark.run.datasets import locate
from benchmark.run.engine import HERE
from benchmark.screen import note, open_console

DEFAULT, OWN = "demo", "own"
"""Config where `--config` names none: of simulated cohorts, of real data."""
OWN_SIZES: tuple[tuple[float, dict[str, int], int], ...] = (
    (2_000, {"hidden": 16, "depth": 6, "output": 64}, 40),
    (20_000, {"hidden": 32, "depth": 8, "output": 128}, 20),
    (float("inf"), {"hidden": 64, "depth": 10, "output": 320}, 10),
)
"""Recordings of the corpus at most -> sizes of the dilated encoder, and epochs of pretraining, of the config `own`."""


def config_of(arguments: Namespace, values: dict[str, Any] | None = None) -> Config:
    """Make the config of `values`, by default of those of the flags. Raises ConfigError."""
    config = validate(values or values_of(arguments))
    for name in parse_data(arguments.data):
        if name not in config.data.known():
            raise ConfigError(f"--data: {unknown('dataset', name, config.data.known())}")
    return config


def values_of(arguments: Namespace) -> dict[str, Any]:
    """Return the values of the config, as a YAML file can hold them, `--set` last. Raises ConfigError."""
    overrides = overrides_of(arguments)
    if arguments.config is None and overrides.get("data.simulation", ...) is None:
        return own_values(arguments, overrides)
    return with_overrides(config_values(arguments.config or DEFAULT), overrides)


def own_values(arguments: Namespace, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the config `own`, with an encoder and a number of epochs by the size of the corpus.

    Where no corpus is named, it is the training part of the datasets. A command that trains prints a line on them.
    """
    if "data.datasets" in overrides:
        overrides.setdefault("data.pretrain", overrides["data.datasets"])
    config, values = load_config(OWN, overrides), config_values(OWN)
    try:
        folders = folders_of(arguments)
        recordings = sum(len(locate(config, name, folders).listing().entries) for name in config.data.corpora)
    except DatasetError:
        return with_overrides(values, overrides)  # whoever reads the data reports what is wrong with them
    sizes, epochs = next((sizes, epochs) for most, sizes, epochs in OWN_SIZES if recordings <= most)
    values["encoder"] = sizes
    values["pretrain"] |= {"epochs": epochs}
    values = with_overrides(values, overrides)
    if hasattr(arguments, "methods"):
        encoder = values["encoder"].get("name") or "dilated with " + ", ".join(f"{k} {v}" for k, v in sizes.items())
        note(
            open_console(),
            f"config {OWN}, as no --config is named: encoder {encoder}, {values['pretrain']['epochs']:g} epochs for "
            f"{recordings} recordings of {config.data.pretrain}, {len(values['seeds'])} seeds",
        )
    return values


def overrides_of(arguments: Namespace) -> dict[str, Any]:
    """Return dotted config key -> value of the given flags, `--set` last. Raises ConfigError."""
    given = vars(arguments)
    overrides = {key: given[key] for key in KEYS.values() if given.get(key) is not None}
    if encoders := given.get("encoder"):
        overrides["encoder.name"], *further = encoders
        overrides |= {"encoders": [{"name": name} for name in further]} if further else {}
    if overrides.get("gates") == [NO_GATE]:
        overrides["gates"] = []
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
    cards = card_folders(datasets_of(arguments), arguments.data_root)
    return Folders(
        data_root=arguments.data_root,
        paths=cards | parse_data(arguments.data),
        cache=vars(arguments).get("cache", Folders.cache),
        workers=vars(arguments).get("workers") or cores(),
    )


def datasets_of(arguments: Namespace) -> list[str]:
    """List what the flags name as datasets, the pretraining corpus first: names, and files of cards."""
    given = vars(arguments)
    return [word for key in ("data.pretrain", "data.datasets") for word in given.get(key) or []]


def parse_data(items: Sequence[str]) -> dict[str, Path]:
    """Parse the items NAME=DIR of `--data` to name -> folder. Raises ConfigError."""
    paths = {}
    for item in items:
        name, _, path = item.partition("=")
        if not name or not path:
            raise ConfigError(f"--data {item!r} is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl")
        paths[name] = Path(path).expanduser()
    return paths


def machine_of(arguments: Namespace, config: Config) -> Machine:
    """Return the machine of a run. Raises ConfigError for a device that is not there, or not stated for an engine."""
    if arguments.engine == HERE:
        devices, device = devices_of(arguments), device_of(arguments)
        jobs = arguments.jobs or (cores() if device.type == "cpu" else max(1, len(devices)))
        return Machine(device, pick_precision(config.precision, device), jobs, HERE, devices)
    if arguments.devices:
        raise ConfigError("--devices is of --engine local: start a worker for each GPU, with its CUDA_VISIBLE_DEVICES")
    if arguments.device == "auto" or config.precision == "auto":
        raise ConfigError(
            f"--engine {arguments.engine}: name what the workers compute on and in: --device cpu or cuda, and "
            "--precision float32 or bf16"
        )
    return Machine(torch.device(arguments.device), config.precision, arguments.jobs, arguments.engine)


def device_of(arguments: Namespace) -> torch.device:
    """Return the device of `--device`. Raises ConfigError if it is not available."""
    try:
        return pick_device(arguments.device)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def devices_of(arguments: Namespace) -> tuple[str, ...]:
    """Return CUDA_VISIBLE_DEVICES for a process on each device of `--devices`; () without. Raises ConfigError."""
    numbers = arguments.devices or []
    if numbers and arguments.device != "auto":
        raise ConfigError(f"--devices {' '.join(numbers)} and --device {arguments.device}: name the devices once")
    visible = {str(number): name for number, name in enumerate(visible_devices() if numbers else [])}
    if not visible.keys() >= set(numbers) or len(set(numbers)) < len(numbers):
        seen = ", ".join(visible) or "none"
        raise ConfigError(f"--devices {' '.join(numbers)}: name devices once each; torch sees {seen}")
    return tuple(visible[number] for number in numbers)
