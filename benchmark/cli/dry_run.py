"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmark.config.config import Config, with_settings
from benchmark.config.load import Folders
from benchmark.data.datasets.base import Dataset
from benchmark.data.joined import JOIN, datasets_in
from benchmark.data.prepare import Prepared, cached, key_listing
from benchmark.data.segments import Segmentation
from benchmark.machine import Machine
from benchmark.results.names import CANDIDATE
from benchmark.results.store import Store
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
from benchmark.run.grid import Pretraining, Variant, make_grid
from benchmark.run.pretraining import estimated_updates, new_method, seconds_per_update
from benchmark.run.tasks import Work, limited_threads, missing
from benchmark.screen import Console, duration, note

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


def print_dry_run(
    console: Console, config: Config, folders: Folders, machine: Machine, results: Path, variants: Variants = None
) -> None:
    """Print the plan of a run. Raises DatasetError if real data are missing.

    results: the store to continue, may be missing. variants: rows in place of those of the config.
    """
    sizes, prepared = sizes_of(config, folders)
    work = work_of(config, folders, results, machine, prepared, variants)
    grid, unit = work.grid, config.data.cut().unit_name
    cells = len(grid.distinct_cells())
    pretrainings, to_do = (sum(one.method.trains for one in part.pretrainings) for part in (grid, work))
    ratios, seeds = (dict.fromkeys(f"{getattr(one, part):g}" for one in grid.cells) for part in ("ratio", "seed"))
    shares = f"{', '.join(ratios)} of the labels x seeds {', '.join(seeds)}"
    note(console, f"config {config.name}: {cells} cells on {pretrainings} pretrainings, at {shares}")
    rows = Counter(one.of if one.role == CANDIDATE else one.name for one in grid.variants)
    note(console, f"  rows: {', '.join(f'{name} ({n} candidates)' if n > 1 else name for name, n in rows.items())}")
    for name, size in sizes.items():
        known = "counted" if name in prepared else "estimated; not prepared yet"
        note(console, f"  {name}: {size.recordings} recordings, {size.windows} {unit}s ({known})")
    note(console, f"to do: {len(work.cells)} of {cells} cells, {to_do} of {pretrainings} pretrainings")
    name_damage(console, work)
    for line in cost_lines(config, results, machine, sizes, work):
        note(console, line)


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


def sizes_of(config: Config, folders: Folders) -> tuple[dict[str, Size], dict[str, Prepared]]:
    """Return the size of every dataset, counted or estimated, and the datasets that are in the cache."""
    cut, listed, prepared = config.data.cut(), dict[str, int](), dict[str, Prepared]()
    for name in names_of(config):
        dataset = locate(config, name, folders)
        listing = key_listing(dataset, config.data.prefix_of(name))
        if data := cached(dataset, folders.cache, listing, cut):
            prepared[name] = data
        listed[name] = len((listing or dataset.listing()).entries)
    if prepared.keys() == listed.keys():
        prepared |= {data.name: data for data in joins_of(config, prepared, folders.cache)}
    for name in (config.data.pretrain, *config.data.datasets):  # some are of several datasets
        parts = [part for joined in name.split(JOIN) for part in datasets_in(joined)]
        listed[name] = sum(listed[part] for part in parts)
    sizes = {name: estimated_size(count, cut) for name, count in listed.items()}
    return sizes | {name: Size(len(data.entries), data.window_count) for name, data in prepared.items()}, prepared


def work_of(
    config: Config, folders: Folders, results: Path, machine: Machine, prepared: dict[str, Prepared], variants: Variants
) -> Work:
    """Return the missing part of the grid; all of it where a dataset is not prepared for every row: no key is known."""

    def cut_before(dataset: Dataset, cut: Segmentation) -> Prepared:
        if form := cached(dataset, folders.cache, key_listing(dataset), cut):
            return form
        raise LookupError(dataset.name)

    with suppress(LookupError):
        columns = with_columns(config, prepared)
        forms = external_forms(config, [locate(config, name, folders) for name in names_of(config)], cut_before)
        return missing(make_grid(config, columns, machine, variants, forms), Store(results))
    grid = make_grid(config, {}, machine, variants)
    return Work(grid, grid.pretrainings, grid.distinct_cells())
