"""What is built of the values of shared flags: config, data locations, device, number of jobs, trackers.

Slow imports are inside functions, so that `--help` is quick.
"""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.config.command_line.flags import CACHE, FLAGS, NO_GATE
from benchmark.config.command_line.paths import folder
from benchmark.config.declared import is_declared
from benchmark.config.errors import ConfigError, unknown
from benchmark.results.names import FEW_SHOT
from benchmark.trackers import open_trackers
from benchmark.trackers.tracker import Tracker

if TYPE_CHECKING:
    import torch

    from benchmark.config.config import Config


@dataclass(frozen=True)
class Place:
    """Folders of raw, prepared and simulated datasets, and the number of preparing processes. No effect on results."""

    data_root: Path | None
    paths: dict[str, Path]
    """Folders of single datasets."""
    cache: Path = CACHE
    workers: int = 1
    simulated: Path = Path("data") / "simulated"


def place_of(arguments: Namespace) -> Place:
    """Data locations from the flags, a card's folder among them. Raises ConfigError for a bad flag or card."""
    from benchmark.config.cards import folders_of
    from benchmark.machine.device import cores  # here, because torch loads slowly

    given = vars(arguments)
    workers = given.get("workers")
    return Place(
        data_root=arguments.data_root,
        paths=folders_of(words_of(arguments)) | parse_data(arguments.data),
        cache=given.get("cache", CACHE),
        workers=cores() if workers is None else workers,
    )


def config_of(arguments: Namespace) -> Config:
    """The config with the overrides of the flags, `--set` last. Raises ConfigError."""
    from benchmark.config.load import load_config  # here, because the methods load slowly

    config = load_config(arguments.config, overrides_of(arguments))
    for name in parse_data(arguments.data):
        if name not in config.data.known():
            raise ConfigError(f"--data: {unknown('dataset', name, config.data.known())}")
    if vars(arguments).get("shots") and FEW_SHOT not in config.evaluate:
        raise ConfigError(f"--shots is of `--evaluate {FEW_SHOT}`; evaluated are: {', '.join(config.evaluate)}")
    return config


def words_of(arguments: Namespace) -> list[str]:
    """What the flags name as datasets, the pretraining corpus first: names, and words that declare one."""
    given = vars(arguments)
    return [*filter(None, [given.get("pretrain_dataset")]), *(given.get("datasets") or [])]


def overrides_of(arguments: Namespace) -> dict[str, Any]:
    """Dotted config key -> value of the given flags, `--set` last. Raises ConfigError."""
    from benchmark.config.cards import folders_of, with_cards
    from benchmark.config.config import ALL_ABLATIONS  # here, because the methods load slowly
    from benchmark.config.load import parse_value

    given = vars(arguments)
    values = {flag.key: given.get(name[2:].replace("-", "_")) for name, flag in FLAGS.items() if flag.key}
    overrides = {key: value for key, value in values.items() if value is not None}
    if "pretrain.preset" in overrides:
        overrides["pretrain.preset"], *beside = overrides["pretrain.preset"]
        overrides |= {"pretrain.presets": beside} if beside else {}
    if "encoder.name" in overrides:
        overrides["encoder.name"], *further = overrides["encoder.name"]
        overrides |= {"encoders": [{"name": name} for name in further]} if further else {}
    if overrides.get("gates") == [NO_GATE]:
        overrides["gates"] = []
    ablations = [*([ALL_ABLATIONS] if given.get("ablations") else []), *(given.get("ablate") or [])]
    if ablations:
        overrides["ablate"] = ablations
    for item in arguments.set:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise ConfigError(f"--set {item!r} is not KEY=VALUE, e.g. --set methods.pmq.momentum=0.99")
        overrides[key] = parse_value(value)
    folders = folders_of(words_of(arguments)) | parse_data(arguments.data)
    overrides = with_cards(overrides, folders, arguments.data_root)
    if arguments.data or arguments.data_root or any(is_declared(word) for word in words_of(arguments)):
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
    from benchmark.machine.device import pick_device  # here, because torch loads slowly

    try:
        return pick_device(arguments.device)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def jobs_of(arguments: Namespace, device: torch.device) -> int:
    """Concurrent tasks: `--jobs-per-device`, else one per CPU core, one on a GPU."""
    from benchmark.machine.device import cores  # here, because torch loads slowly

    if arguments.jobs_per_device is None:
        return cores() if device.type == "cpu" else 1
    return int(arguments.jobs_per_device)


def devices_of(arguments: Namespace) -> tuple[str, ...]:
    """CUDA_VISIBLE_DEVICES of the processes of each device of `--devices`, () without. Raises ConfigError."""
    from benchmark.machine.device import visible_devices  # here, because torch loads slowly

    words = [part for word in arguments.devices or () for part in word.split(",") if part]
    if arguments.devices is None:
        return ()
    if not words:
        raise ConfigError("--devices names none: use numbers of GPUs, e.g. --devices 0 1, or leave it out")
    if arguments.device != "auto":
        raise ConfigError(f"--devices {' '.join(words)} and --device {arguments.device}: name the devices once")
    there = visible_devices()
    for word in words:
        if not word.isdecimal() or int(word) >= len(there):
            seen = f"torch sees {len(there)} CUDA devices" if there else "torch sees no CUDA device: leave it out"
            raise ConfigError(f"--devices {word!r} is not there: {seen}")
    if len(set(words)) < len(words):
        raise ConfigError(f"--devices {' '.join(words)} names a device twice; several tasks on one: --jobs-per-device")
    return tuple(there[int(word)] for word in words)


def trackers_of(names: Sequence[str] | None, out: Path) -> tuple[Tracker, ...]:
    """The trackers of `--track`, with local files under `out`. Raises ConfigError where a library is missing."""
    try:
        return tuple(open_trackers(list(names or ()), out))
    except ModuleNotFoundError as error:
        raise ConfigError(str(error)) from None
