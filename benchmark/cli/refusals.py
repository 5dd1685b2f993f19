"""Reasons to refuse a run: before any work, all of them at once, and before it trains.

A dry run prints the same reasons, and goes on to its estimate.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import NamedTuple

from benchmark import screen as terminal
from benchmark.cli.main import Request
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.card import Card
from benchmark.data.datasets.card_formats import PACKAGES
from benchmark.data.prepare import key_listing
from benchmark.process import EngineLost
from benchmark.results.files import Damaged, holder_of
from benchmark.results.names import TFIDF, install
from benchmark.results.store import NoResults, Plan, Store
from benchmark.run.datasets import locate, names_of
from benchmark.run.engine import HERE, open_engine
from benchmark.run.grid import Grid, select


class Need(NamedTuple):
    """A part of a run that needs packages that are not always installed."""

    part: str
    packages: tuple[str, ...]
    """Packages that serve, one of which is needed."""
    otherwise: str
    """Flags or settings that do without them."""


def are_refused(request: Request) -> bool:
    """Print an error for each thing that a run refuses before any work; tell whether there is one."""
    lines = list(refusals(request))
    for line in lines:
        terminal.error(line)
    return bool(lines)


def refusals(request: Request) -> Iterator[str]:
    """Yield a line for each missing extra or dataset, folder, engine or workers that cannot be used, a store in use."""
    config, folders, machine, arguments = request
    for need in needs_of(config, arguments):
        if not any(map(find_spec, need.packages)):
            yield f"{need.part} needs packages: {install(*need.packages)}, or {need.otherwise}"
    for name in names_of(config):
        try:
            key_listing(locate(config, name, folders), config.data.prefix_of(name))
        except DatasetError as missing:
            yield str(missing)
    for path in (arguments.results, folders.cache, arguments.out):
        nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            yield f"{path}: {nearest} is no folder that you may write to; name another folder"
    store = Store(arguments.results)
    if store.root.is_dir() and (holder := holder_of(store.lock)):
        yield in_use(store, holder)
    if machine.engine != HERE and find_spec("distributed"):
        try:
            with open_engine(machine.engine, machine.jobs):
                pass
        except (ConfigError, EngineLost) as problem:
            yield str(problem)


def select_keys(grid: Grid, starts: Sequence[str], store: Store) -> Grid:
    """Select the cells whose keys begin as `--only` says.

    Raises ConfigError for keys of no cell, with the command line of the run of this store that has one.
    """
    selected = select(grid, starts)
    if selected.cells:
        return selected
    keys = " ".join(starts)
    problem = f"--only {keys}: no cell or pretraining of this grid has a key that begins so"
    plans: list[Plan] = []
    with suppress(NoResults, Damaged):
        plans, _ = store.load_plans()
    for plan in plans:
        if plan.has_key(starts):
            raise ConfigError(f"{problem}; the run that has it: {plan.command_line} --only {keys}")
    raise ConfigError(
        f"{problem}, and none of a run in {store.root}; `runs --results FOLDER` lists the runs of a store"
    )


def in_use(store: Store, holder: str) -> str:
    """Say which process works on a store."""
    return f"{holder} works on {store.root} (see `status`): wait for its end, or name another folder with --results"


def needs_of(config: Config, arguments: Namespace) -> Iterator[Need]:
    """Yield the parts of a run that need an extra."""
    if vars(arguments).get("tensorboard"):
        yield Need("--tensorboard", ("tensorboard",), "leave it out")
    if "minirocket" in config.baselines:
        others = [name for name in config.baselines if name != "minirocket"]
        yield Need("the baseline minirocket", ("aeon",), f"--baselines {' '.join(others) or 'none'}")
    if arguments.engine != HERE:
        yield Need(f"--engine {arguments.engine}", ("distributed",), f"--engine {HERE}")
    embedder = config.pretrain.text_embedder
    if embedder != TFIDF and any(config.method_class(name).needs_text for name in config.methods):
        key = "pretrain.text_embedder"
        yield Need(f"{key}={embedder}", ("transformers",), f"--set {key}={TFIDF}")
    for name in names_of(config):
        source = config.data.source(name)
        if isinstance(source, Card) and (packages := PACKAGES[source.signals.kind]):
            yield Need(f"{source.title}, {source.signals.kind} files,", packages, "leave the dataset out")
