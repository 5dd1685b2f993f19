"""What is built of the parsed flags that several commands share: config, folders, device, tasks at a time."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmark.cli.commands import KEYS, NO_GATE, folder
from benchmark.config.config import ALL_ABLATIONS, Config
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.load import (
    Folders,
    card_folders,
    config_values,
    is_card,
    load_config,
    parse_value,
    validate,
    with_cards,
    with_overrides,
)
from benchmark.data.datasets.base import DatasetError
from benchmark.machine.device import cores, pick_device, visible_devices
from benchmark.run.datasets import locate
from benchmark.screen import note, open_console

DEFAULT, OWN = "demo", "own"
"""Config where `--config` names none: of simulated cohorts, of real data."""
OWN_SIZES: tuple[tuple[float, dict[str, int], int], ...] = (
    (2_000, {"hidden": 16, "depth": 6, "output": 64}, 40),
    (20_000, {"hidden": 32, "depth": 8, "output": 128}, 20),
    (float("inf"), {"hidden": 64, "depth": 10, "output": 320}, 10),
)
"""Recordings of the corpus at most -> sizes of the dilated encoder, and epochs of pretraining, of the config `own`."""


def folders_of(arguments: Namespace) -> Folders:
    """Data locations from the flags, a card's folder among them. Raises ConfigError for a bad flag or card."""
    given = vars(arguments)
    return Folders(
        data_root=arguments.data_root,
        paths=card_folders(datasets_of(arguments), arguments.data_root) | parse_data(arguments.data),
        cache=given.get("cache", Folders.cache),
        workers=given.get("workers") or cores(),
    )


def config_of(arguments: Namespace) -> Config:
    """The config with the overrides of the flags, `--set` last. Raises ConfigError."""
    config = validate(values_of(arguments))
    for name in parse_data(arguments.data):
        if name not in config.data.known():
            raise ConfigError(f"--data: {unknown('dataset', name, config.data.known())}")
    return config


def values_of(arguments: Namespace) -> dict[str, Any]:
    """What `config_of` makes a config of, which a YAML file can hold. Raises ConfigError."""
    overrides = overrides_of(arguments)
    if arguments.config is None and overrides.get("data.simulation", ...) is None:
        return own_values(arguments, overrides)
    return with_overrides(config_values(arguments.config or DEFAULT), overrides)


def own_values(arguments: Namespace, overrides: dict[str, Any]) -> dict[str, Any]:
    """The config `own`, with an encoder and a number of epochs by the size of the corpus.

    Where no corpus is named, it is the training part of the datasets. A verb that trains says so in a line.
    """
    if "data.datasets" in overrides:
        overrides.setdefault("data.pretrain", overrides["data.datasets"])
    config, values = load_config(OWN, overrides), config_values(OWN)
    try:
        folders = folders_of(arguments)
        recordings = sum(len(locate(config, name, folders).listing().entries) for name in config.data.corpora)
    except DatasetError:
        return with_overrides(values, overrides)  # whoever reads the data says what is wrong with them
    sizes, epochs = next((sizes, epochs) for most, sizes, epochs in OWN_SIZES if recordings <= most)
    values["encoder"] = sizes
    values["pretrain"] |= {"epochs": epochs}
    chosen = with_overrides(values, overrides)
    if not hasattr(arguments, "methods"):
        return chosen
    encoder = chosen["encoder"].get("name") or "dilated with " + ", ".join(f"{k} {v}" for k, v in sizes.items())
    note(
        open_console(),
        f"config {OWN}, as no --config is named: encoder {encoder}, {chosen['pretrain']['epochs']:g} epochs for "
        f"{recordings} recordings of {config.data.pretrain}, {len(chosen['seeds'])} seeds",
    )
    return chosen


def datasets_of(arguments: Namespace) -> list[str]:
    """What the flags name as datasets, the pretraining corpus first: names, and files of cards."""
    given = vars(arguments)
    return [word for key in ("data.pretrain", "data.datasets") for word in given.get(key) or []]


def overrides_of(arguments: Namespace) -> dict[str, Any]:
    """Dotted config key -> value of the given flags, `--set` last. Raises ConfigError."""
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
        overrides[key] = parse_value(value)
    overrides = with_cards(overrides)
    if arguments.data or arguments.data_root or any(map(is_card, datasets_of(arguments))):
        overrides.setdefault("data.simulation", None)
    return overrides


def parse_data(items: Sequence[str]) -> dict[str, Path]:
    """Dataset name -> folder from `--data NAME=DIR`. Raises ConfigError."""
    paths = {}
    for item in items:
        name, _, path = item.partition("=")
        if not name or not path:
            raise ConfigError(f"--data {item!r} is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl")
        try:
            paths[name] = folder(path)
        except ArgumentTypeError as error:
            raise ConfigError(f"--data {name}: {error}") from None
    return paths


def device_of(arguments: Namespace) -> torch.device:
    """The device of `--device`. Raises ConfigError if it is not available."""
    try:
        return pick_device(arguments.device)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def jobs_of(arguments: Namespace, device: torch.device, devices: Sequence[str]) -> int:
    """Concurrent tasks: `--jobs`, else one per CPU core, one on each GPU."""
    return arguments.jobs or (cores() if device.type == "cpu" else max(1, len(devices)))


def devices_of(arguments: Namespace) -> tuple[str, ...]:
    """CUDA_VISIBLE_DEVICES of the processes of each device of `--devices`, () without. Raises ConfigError."""
    words = arguments.devices
    if words is None:
        return ()
    if arguments.device != "auto":
        raise ConfigError(f"--devices {' '.join(words)} and --device {arguments.device}: name the devices once")
    visible = visible_devices()
    for word in words:
        if not word.isdecimal() or int(word) >= len(visible):
            seen = f"torch sees {len(visible)} CUDA devices" if visible else "torch sees no CUDA device: leave it out"
            raise ConfigError(f"--devices {word!r} is not there: {seen}")
    if len(set(words)) < len(words):
        raise ConfigError(f"--devices {' '.join(words)} names a device twice; several tasks on one: --jobs")
    return tuple(visible[int(word)] for word in words)
