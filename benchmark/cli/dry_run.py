"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmark.cli.main import OK, USAGE
from benchmark.cli.refusals import are_refused, refuse_audited
from benchmark.config.config import Config, with_settings
from benchmark.config.load import Folders
from benchmark.data.datasets.base import Dataset, DatasetError
from benchmark.data.joined import JOIN, datasets_in
from benchmark.data.prepare import Prepared, cached, key_listing, unprepared
from benchmark.data.segments import Segmentation
from benchmark.data.splits import of_task
from benchmark.machine import Machine
from benchmark.results.names import CANDIDATE, RETRIEVAL
from benchmark.results.store import Store
from benchmark.run.costs import estimated_updates, seconds_per_update
from benchmark.run.datasets import (
    Size,
    disk_bytes,
    estimated_size,
    external_forms,
    joins_of,
    locate,
    names_of,
    with_columns,
)
from benchmark.run.grid import Pretraining, Variant, make_grid, select
from benchmark.run.pretraining import new_method
from benchmark.run.tasks import Work, limited_threads, missing
from benchmark.screen import Console, duration, note
from reports.words import seeds_named

GIB = 2**30
MOST_NAMED = 10
"""Damaged files that are named; the others are counted."""
Variants = tuple[Variant, ...] | None


def name_damage(console: Console, work: Work) -> None:
    """Say which files are damaged, so that what they held is computed again."""
    for line in work.damage[:MOST_NAMED]:
        note(console, f"damaged: {line}")
    if len(work.damage) > MOST_NAMED:
        note(console, f"damaged: {len(work.damage) - MOST_NAMED} more files")


def dry_run(
    console: Console,
    config: Config,
    folders: Folders,
    machine: Machine,
    arguments: Namespace,
    variants: Variants = None,
) -> int:
    """Print what a run refuses and its plan; returns the exit status. Raises ConfigError, DatasetError like a run."""
    refused = are_refused(config, folders, arguments)
    only = vars(arguments).get("only") or ()
    columns = print_dry_run(console, config, folders, machine, arguments.results, variants, only)
    if columns:
        refuse_audited(config, columns, arguments)
    else:
        note(console, "leaks and the keys of --only are judged when the data are prepared, e.g. by `data check`")
    return USAGE if refused else OK


def print_dry_run(
    console: Console,
    config: Config,
    folders: Folders,
    machine: Machine,
    results: Path,
    variants: Variants = None,
    only: Sequence[str] = (),
) -> dict[str, Prepared]:
    """Print the plan of a run; returns its corpus and columns, nothing where a dataset is not prepared.

    results: the store to continue, may be missing. variants: rows in place of those of the config. only: starts of the
    keys that are run alone, where the data are prepared. Raises ConfigError where no key begins so.
    """
    listed, prepared = datasets_of(config, folders)
    sizes, columns = sizes_of(config, listed, prepared), dict[str, Prepared]()
    with suppress(KeyError):
        columns = with_columns(config, prepared)
    views = {one.name: of_task(listed[one.dataset], one) for one in config.data.columns() if one.dataset in listed}
    work = work_of(config, folders, results, machine, columns, variants, only)
    work = work or whole_work(config, views, machine, variants)
    grid, unit = work.grid, config.data.cut().unit_name
    cells = len(grid.distinct_cells())
    pretrainings, to_do = (sum(one.method.trains for one in part.pretrainings) for part in (grid, work))
    shares = f"{', '.join(f'{ratio:g}' for ratio in config.ratios)} of the labels x seeds {seeds_named(config.seeds)}"
    note(console, f"config {config.name}: {cells} cells on {pretrainings} pretrainings, at {shares}")
    whole = [one for one in grid.cells if one.ratio not in config.ratios]
    if further := dict.fromkeys(RETRIEVAL if one.table == RETRIEVAL else one.variant.name for one in whole):
        note(console, f"  beside these shares at all labels: {', '.join(further)}")
    rows = Counter(one.of if one.role == CANDIDATE else one.name for one in grid.variants)
    note(console, f"  rows: {', '.join(f'{name} ({n} candidates)' if n > 1 else name for name, n in rows.items())}")
    for name, size in sizes.items():
        known = "counted" if name in prepared else "estimated; not prepared yet" if size.recordings else "not there"
        note(console, f"  {name}: {size.recordings} recordings, {size.windows} {unit}s ({known})")
    note(console, f"to do: {len(work.cells)} of {cells} cells, {to_do} of {pretrainings} pretrainings")
    name_damage(console, work)
    for line in cost_lines(config, results, machine, sizes, work):
        note(console, line)
    return columns


def cost_lines(config: Config, results: Path, machine: Machine, sizes: Mapping[str, Size], work: Work) -> Iterator[str]:
    """Yield lines on the hours of pretraining, from updates that are timed now, and on disk space."""
    jobs, where = machine.jobs or 1, f"{machine.device.type} in {machine.precision}"
    if machine.device.type == "cuda" and not torch.cuda.is_available():  # that of workers elsewhere
        machine = replace(machine, device=torch.device("cpu"))
    pretraining = pretraining_seconds(config, machine, sizes, work.pretrainings) / jobs
    where += f", {jobs} task{'s' * (jobs > 1)} at a time"
    yield f"estimate for {where}: pretraining {duration(pretraining)}, without the cells"
    trainings = sum(np.size(cell.content["settings"].get("lr", ())) for cell in work.cells)
    yield f"  trainings on labels, one per cell and learning rate: {trainings}"
    parameters = sum(parameter.numel() for parameter in config.new_encoder().parameters())
    disk = disk_bytes(config, sizes, len(work.pretrainings), len(work.cells), parameters)
    free = shutil.disk_usage(next(folder for folder in results.resolve().parents if folder.is_dir())).free
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def pretraining_seconds(
    config: Config, machine: Machine, sizes: Mapping[str, Size], pretrainings: Sequence[Pretraining]
) -> float:
    """Estimate seconds of all pretrainings: their updates, and an update of each method as it is timed now."""
    seconds, timed = 0.0, dict[tuple[str, str], float]()
    for pretraining in [one for one in pretrainings if one.method.trains]:
        kind, samples = (pretraining.method.name, pretraining.variant.encoder), config.data.cut().samples
        if kind not in timed:
            with torch.random.fork_rng(devices=[]), limited_threads(machine.threads() or 1):
                method = new_method(pretraining, with_settings(config, pretraining.variant.settings), machine.device)
                timed[kind] = seconds_per_update(method, pretraining.variant.config, samples, machine.precision)
        seconds += estimated_updates(pretraining, config, sizes) * timed[kind]
    return seconds


def datasets_of(config: Config, folders: Folders) -> tuple[dict[str, Prepared], dict[str, Prepared]]:
    """Return every dataset as its tables list it, and the datasets, with joins, that are in the cache.

    One that is not there has no recordings.
    """
    listed, prepared = dict[str, Prepared](), dict[str, Prepared]()
    for name in names_of(config):
        listed[name] = unprepared(config.data.source(name), ())
        try:
            dataset = locate(config, name, folders)
        except DatasetError:
            continue  # the run refuses it
        listing = key_listing(dataset, config.data.prefix_of(name))
        listed[name] = unprepared(dataset, (listing or dataset.listing()).entries)
        if data := cached(dataset, folders.cache, listing, config.data.cut()):
            prepared[name] = data
    if prepared.keys() == listed.keys():
        prepared |= {data.name: data for data in joins_of(config, prepared, folders.cache)}
    return listed, prepared


def sizes_of(config: Config, listed: Mapping[str, Prepared], prepared: Mapping[str, Prepared]) -> dict[str, Size]:
    """Return the size of every dataset and join, counted where it is prepared, else estimated."""
    counts = {name: len(data.entries) for name, data in listed.items()}
    for name in (config.data.pretrain, *config.data.datasets):  # some are of several datasets
        parts = [part for joined in name.split(JOIN) for part in datasets_in(joined)]
        counts[name] = sum(counts[part] for part in parts)
    sizes = {name: estimated_size(count, config.data.cut()) for name, count in counts.items()}
    return sizes | {name: Size(len(data.entries), data.window_count) for name, data in prepared.items()}


def work_of(
    config: Config,
    folders: Folders,
    results: Path,
    machine: Machine,
    columns: dict[str, Prepared],
    variants: Variants,
    only: Sequence[str],
) -> Work | None:
    """Return the missing part of the grid; None where a dataset is not prepared for every row: no key is known."""

    def cut_before(dataset: Dataset, cut: Segmentation) -> Prepared:
        if form := cached(dataset, folders.cache, key_listing(dataset), cut):
            return form
        raise LookupError(dataset.name)

    if columns:
        with suppress(LookupError):
            forms = external_forms(config, [locate(config, name, folders) for name in names_of(config)], cut_before)
            grid = make_grid(config, columns, machine, variants, forms)
            return missing(select(grid, only) if only else grid, Store(results))
    return None


def whole_work(config: Config, views: Mapping[str, Prepared], machine: Machine, variants: Variants) -> Work:
    """Return the whole grid of columns that are not prepared for every row."""
    grid = make_grid(config, views, machine, variants)
    return Work(grid, grid.pretrainings, grid.distinct_cells())
