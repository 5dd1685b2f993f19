"""The flags that several verbs share, and what is built of their values: config, data, device, jobs.

A verb selects its flags by `shared`; a flag of one verb alone is defined in that verb's file.

Slow imports are inside functions, so that `--help` is quick.
"""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.config.command_line import Flag, Known, file_to_read, folder, switch
from benchmark.config.errors import (
    OTHER,
    ConfigError,
    config_names,
    count,
    has_cards,
    is_file,
    unknown,
)
from benchmark.data.datasets import DATASETS
from benchmark.results.names import (
    AT,
    BOTH,
    EVALUATIONS,
    FURTHER_SCORES,
    GATES,
    POOLS,
    PRESETS,
    TASKS,
    UNIT_OF_PROTOCOL,
    UNITS,
)
from methods import METHODS
from methods.encoders import ENCODERS

if TYPE_CHECKING:
    import torch

    from benchmark.config.config import Config

WHICH, WHAT, HOW = "which config", "what is compared", "how it runs"
WHERE, REPORTED = "where the data and results are", "how it is reported"
NAMES = {"nargs": "+", "metavar": "NAME"}
"""One name or several."""
NO_GATE = "none"
"""`--gates none` is an empty list of gates."""


def is_scheduler(word: str) -> bool:
    """Whether a word is the address of a Dask scheduler, or its scheduler file."""
    return "://" in word or word.endswith(".json")


CONFIGS = Known("config", tuple(config_names()), "a .yaml file that exists", is_file)
METHOD = Known("method", tuple(METHODS))
ENCODER = Known("encoder", tuple(ENCODERS))
DATASET = Known(
    "dataset",
    tuple(DATASETS),
    OTHER,
    lambda word: is_file(word) or AT in word or has_cards(word),
    declared=True,
)
EVALUATION = Known("evaluation", EVALUATIONS, other="")
TASK = Known("task", TASKS, other="")
SCORE = Known("score", FURTHER_SCORES, other="")
PROTOCOL = Known("protocol", tuple(UNIT_OF_PROTOCOL), other="")
PRESET = Known("preset", PRESETS, other="")
GATE = Known("gate", (*GATES, NO_GATE), other="")
LABELS = Known("kind of labels", ("single", "multi"), other="")
SEGMENTATION = Known("segmentation", ("heartbeats", "recordings"), other="")
STANDARDISE = Known("standardisation", ("recording", "dataset", "none"), other="")
POOL = Known("pooling", POOLS, other="")
PRECISION = Known("precision", ("auto", "float32", "bf16"), other="")
DEVICE = Known("device", ("auto", "cpu", "cuda"), "cuda:N", lambda word: word.startswith("cuda:"))
RESULTS, CACHE = "runs", Path("cache")

FLAGS: dict[str, Flag] = {
    "--config": Flag(
        WHICH,
        "demo (default), small, laptop, paper or a file",
        how={"default": "demo", "metavar": "NAME|FILE"},
        known=CONFIGS,
    ),
    "--set": Flag(
        WHICH,
        "any config key, e.g. finetune.lr=1e-3; methods.NAME.KNOB is the knob of a method",
        how={"nargs": "+", "action": "extend", "default": [], "metavar": "KEY=VALUE"},
    ),
    "--methods": Flag(WHAT, "rows of the table; see `list`", "methods", NAMES, METHOD),
    "--encoder": Flag(
        WHAT,
        "what all methods pretrain; see `list`. Several: all rows with each",
        "encoder.name",
        {"nargs": "+", "metavar": "NAME|FILE"},
        ENCODER,
    ),
    "--datasets": Flag(
        WHAT,
        "columns of the table; a .yaml card: your own; A@B: learned on A, tested on B",
        "data.datasets",
        NAMES,
        DATASET,
    ),
    "--tasks": Flag(
        WHAT,
        "a column is a dataset under one of these that it has: default (its own classes), all, and of ptb-xl "
        "diagnostic, subdiagnostic, superdiagnostic, form, rhythm",
        "data.task",
        NAMES,
        TASK,
    ),
    "--pretrain-dataset": Flag(
        WHAT,
        "corpus to pretrain on, or several as one",
        "data.pretrain",
        {"nargs": "+", "metavar": "NAME|FILE"},
        DATASET,
    ),
    "--ratios": Flag(WHAT, "shares of the labels in (0, 1]", "ratios", {"nargs": "+", "type": float, "metavar": "R"}),
    "--seeds": Flag(WHAT, "fine-tuning seeds", "seeds", {"nargs": "+", "type": int, "metavar": "N"}),
    "--subsets": Flag(
        WHAT,
        "labelled subsets per seed on which a frozen encoder is judged (--protocol strict)",
        "subsets",
        {"type": int, "metavar": "N"},
    ),
    "--protocol": Flag(
        WHAT,
        "paper or strict: how subsets are drawn and scores counted",
        "protocol",
        {"metavar": "NAME"},
        PROTOCOL,
    ),
    "--labels": Flag(WHAT, "single or multi", "data.labels", {"metavar": "KIND"}, LABELS),
    "--segmentation": Flag(
        WHAT,
        "heartbeats (default) or recordings, kept whole and cropped: how recordings are cut",
        "data.segmentation",
        {"metavar": "KIND"},
        SEGMENTATION,
    ),
    "--window-seconds": Flag(
        WHAT, "length of a crop (10, a whole recording)", "data.window_seconds", {"type": float, "metavar": "S"}
    ),
    "--window-stride": Flag(
        WHAT, "from crop to crop of recordings (half a crop)", "data.window_stride", {"type": float, "metavar": "S"}
    ),
    "--window-rate": Flag(WHAT, "of the windows: 100, 250 or 500 Hz", "data.rate", {"type": int, "metavar": "HZ"}),
    "--standardise": Flag(
        WHAT, "per recording, per dataset, or none", "data.standardise", {"metavar": "HOW"}, STANDARDISE
    ),
    "--leads": Flag(
        WHAT,
        "leads that there are downstream: 12, 8, 6, 3, 2, 1 or names; `embed`: names of a .npy's last axis, in order",
        "data.leads",
        {"nargs": "+", "metavar": "LEAD"},
    ),
    "--pool": Flag(WHAT, "mean or max of a recording's windows: its prediction", "data.pool", {"metavar": "HOW"}, POOL),
    "--evaluate": Flag(WHAT, f"a table each: {', '.join(EVALUATIONS)}", "evaluate", NAMES, EVALUATION),
    "--preset": Flag(
        WHAT,
        "unified (one recipe for all: pretrain.recipe) or paper (each method's own); methods.NAME.recipe comes first",
        "pretrain.preset",
        {"metavar": "NAME"},
        PRESET,
    ),
    "--gates": Flag(
        WHAT,
        "reference rows: random, frozen, features, full-labels (the default), supervised, minirocket; none for no gate",
        "gates",
        NAMES,
        GATE,
    ),
    "--ablations": switch(WHAT, "every ablation of the compared methods; see `list`"),
    "--ablate": Flag(WHAT, "these ablations, e.g. 'w/o queue'", how=NAMES),
    "--queue-sizes": Flag(
        WHAT,
        "PMQ with these, at the smallest ratio",
        "sweeps.pmq.queue_size",
        {"nargs": "+", "type": int, "metavar": "M"},
    ),
    "--data-root": Flag(WHERE, "folder that holds the datasets", how={"type": folder, "metavar": "DIR"}),
    "--data": Flag(
        WHERE,
        "a dataset's folder",
        how={"nargs": "+", "action": "extend", "default": [], "metavar": "NAME=DIR"},
    ),
    "--results": Flag(WHERE, f"results store ({RESULTS})", how={"type": folder, "default": RESULTS, "metavar": "DIR"}),
    "--out": Flag(
        WHERE, "tables and figures that are written (out)", how={"type": folder, "default": "out", "metavar": "DIR"}
    ),
    "--cache": Flag(
        WHERE, "prepared recordings (cache)", how={"type": folder, "default": str(CACHE), "metavar": "DIR"}
    ),
    "--device": Flag(HOW, "auto, cpu, cuda or cuda:N", how={"default": "auto", "metavar": "NAME"}, known=DEVICE),
    "--precision": Flag(HOW, "auto, float32 or bf16", "precision", {"metavar": "NAME"}, PRECISION),
    "--workers": Flag(HOW, "processes that prepare data (one a core)", how={"type": count, "metavar": "N"}),
    "--jobs": Flag(HOW, "tasks at a time (CPU: one a core; GPU: one each)", how={"type": count, "metavar": "N"}),
    "--engine": Flag(
        HOW,
        "local (default), or the workers of a Dask scheduler: tcp://HOST:PORT or its scheduler file",
        how={"default": "local", "metavar": "NAME"},
        known=Known("engine", ("local",), "tcp://HOST:PORT or scheduler.json", is_scheduler),
    ),
    "--devices": Flag(HOW, "GPUs that share the work, e.g. 0 1", how={"nargs": "+", "metavar": "N"}),
    "--code": Flag(HOW, "the file of an encoder of your own", how={"type": file_to_read, "metavar": "FILE"}),
    "--dry-run": switch(HOW, "list what there is to do, hours and disk, and do nothing"),
    "--unit": Flag(REPORTED, "what is scored (default: as the protocol)", how={"choices": [*UNITS, BOTH]}),
    "--scores": Flag(
        REPORTED,
        f"further columns of the main table: {', '.join(FURTHER_SCORES)}; those of classes are in every report",
        how=NAMES | {"default": []},
        known=SCORE,
    ),
    "--latex-landscape": switch(
        REPORTED, "results.tex: tables across the page, for wide ones; needs the package rotating"
    ),
}
CONFIG = ("--config", "--set")
SIGNALS = ("--segmentation", "--window-seconds", "--window-stride", "--window-rate", "--standardise")
"""Flags that say how recordings become windows."""
GRID = (
    "--methods", "--encoder", "--datasets", "--tasks", "--pretrain-dataset", "--ratios",
    "--seeds", "--subsets", "--protocol", "--labels", "--evaluate", "--preset", "--gates", "--ablations",
    "--ablate", "--queue-sizes", *SIGNALS, "--leads", "--pool",
)  # fmt: skip
"""Flags that set the rows, columns and cells of the grid."""
DATA = ("--data-root", "--data")
COMPUTE = ("--device", "--precision")
ENGINE = ("--jobs", "--engine", "--devices")


def shared(*names: str) -> dict[str, Flag]:
    """The named shared flags. Raises KeyError for an unknown name."""
    return {name: FLAGS[name] for name in names}


@dataclass(frozen=True)
class Folders:
    """Folders of raw and prepared datasets, and the number of preparing processes. No effect on results."""

    data_root: Path | None
    paths: dict[str, Path]
    """Folders of single datasets."""
    cache: Path = CACHE
    workers: int = 1


def place_of(arguments: Namespace) -> Folders:
    """Data locations from the flags, a card's folder among them. Raises ConfigError for a bad flag or card."""
    from benchmark.config.words import folders_of
    from benchmark.machine.device import cores  # here, because torch loads slowly

    given = vars(arguments)
    workers = given.get("workers")
    return Folders(
        data_root=arguments.data_root,
        paths=folders_of(words_of(arguments), arguments.data_root) | parse_data(arguments.data),
        cache=given.get("cache", CACHE),
        workers=cores() if workers is None else workers,
    )


def config_of(arguments: Namespace) -> Config:
    """The config with the overrides of the flags, `--set` last. Raises ConfigError."""
    from benchmark.config.config import load_config  # here, because the methods load slowly

    config = load_config(arguments.config, overrides_of(arguments))
    for name in parse_data(arguments.data):
        if name not in config.data.known():
            raise ConfigError(f"--data: {unknown('dataset', name, config.data.known())}")
    return config


def words_of(arguments: Namespace) -> list[str]:
    """What the flags name as datasets, the pretraining corpus first: names, and words that declare one."""
    given = vars(arguments)
    return [word for flag in ("pretrain_dataset", "datasets") for word in given.get(flag) or []]


def overrides_of(arguments: Namespace) -> dict[str, Any]:
    """Dotted config key -> value of the given flags, `--set` last. Raises ConfigError."""
    from benchmark.config.config import (
        ALL_ABLATIONS,  # here, because the methods load slowly
        parse_value,
    )
    from benchmark.config.words import with_cards

    given = vars(arguments)
    values = {flag.key: given.get(name[2:].replace("-", "_")) for name, flag in FLAGS.items() if flag.key}
    overrides = {key: value for key, value in values.items() if value is not None}
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
    overrides = with_cards(overrides)
    if arguments.data or arguments.data_root or any(is_file(word) for word in words_of(arguments)):
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


def jobs_of(arguments: Namespace, device: torch.device, devices: Sequence[str]) -> int:
    """Concurrent tasks: `--jobs`, else one per CPU core, one on each GPU."""
    from benchmark.machine.device import cores  # here, because torch loads slowly

    if vars(arguments).get("jobs") is None:
        return cores() if device.type == "cpu" else max(1, len(devices))
    return int(arguments.jobs)


def devices_of(arguments: Namespace) -> tuple[str, ...]:
    """CUDA_VISIBLE_DEVICES of the processes of each device of `--devices`, () without. Raises ConfigError."""
    from benchmark.machine.device import visible_devices  # here, because torch loads slowly

    given = vars(arguments).get("devices")
    words = [part for word in given or () for part in word.split(",") if part]
    if given is None:
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
        raise ConfigError(f"--devices {' '.join(words)} names a device twice; several tasks on one: --jobs")
    return tuple(there[int(word)] for word in words)
