"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from benchmark.config.config import Config, by_encoder, with_settings
from benchmark.config.load import Folders
from benchmark.data.prepare import Prepared, cached, key_listing
from benchmark.data.transport import datasets_in, is_transport
from benchmark.machine.device import Machine
from benchmark.results.names import TRIAL
from benchmark.results.store import Store
from benchmark.run.datasets import external_forms, joins_of, locate, names_of, with_columns
from benchmark.run.estimate import (
    Size,
    disk_bytes,
    estimated_size,
    exact_size,
    passes_of,
    seconds_per_pass,
    seconds_per_update,
    updates_of,
)
from benchmark.run.grid import Pretraining, Variant, expand, make_grid
from benchmark.run.pretraining import new_method
from benchmark.run.tasks import Work, in_turn, limited_threads, missing
from benchmark.screen import Console, duration, note, print_table

GIB = 2**30
Variants = tuple[Variant, ...] | None


def print_dry_run(
    console: Console, config: Config, folders: Folders, machine: Machine, results: Path, variants: Variants = None
) -> None:
    """Print the plan of a run. Raises DatasetError if real data are missing.

    results: the store to continue, may be missing. variants: rows in place of those of the config.
    """
    sizes, prepared = sizes_of(config, folders)
    work = work_of(config, folders, results, machine, prepared, variants)
    grid, cells = work.grid, len({cell.key for cell in work.grid.cells})
    note(console, f"config {config.name}: {cells} cells on {trained(grid.pretrainings)} pretrainings")
    for name, size in sizes.items():
        known = "counted" if name in prepared else "estimated; not prepared yet"
        note(
            console, f"  {name}: {size.recordings} recordings, {size.windows} {config.data.cut().unit_name}s ({known})"
        )
    print_cells(console, work)
    to_do = f"{len(work.cells)} of {cells} cells, {trained(work.pretrainings)} of {trained(grid.pretrainings)}"
    note(console, f"to do: {to_do} pretrainings")
    for line in cost_lines(config, results, machine, sizes, work):
        note(console, line)


def trained(pretrainings: Sequence[Pretraining]) -> int:
    """How many of some pretrainings train."""
    return sum(task.method.trains for task in pretrainings)


def print_cells(console: Console, work: Work) -> None:
    """Print done and total cells per variant (the trials of a method together), evaluation and dataset."""
    to_do, cells = {cell.key for cell in work.cells}, work.grid.cells
    ratios = ", ".join(dict.fromkeys(f"{cell.ratio:g}" for cell in cells))
    seeds = ", ".join(dict.fromkeys(str(cell.seed) for cell in cells))
    note(console, f"cells done of those planned, at {ratios} of the labels x seeds {seeds}:")
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    done: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for cell in cells:
        name = cell.variant.of if cell.variant.role == TRIAL else cell.variant.name
        row = done.setdefault((name, cell.evaluation), {dataset: [] for dataset in datasets})
        row[cell.dataset].append(cell.key not in to_do)
    rows = [[*names, *(f"{sum(each)}/{len(each)}" for each in counts.values())] for names, counts in done.items()]
    print_table(console, ["row", "evaluation", *datasets], rows, labels=2)


def cost_lines(config: Config, results: Path, machine: Machine, sizes: Mapping[str, Size], work: Work) -> Iterator[str]:
    """Hours by stage, from an update and an encoder pass that are timed now, and disk space."""
    jobs, where = machine.jobs or 1, f"{machine.device.type} in {machine.precision}"
    if machine.device.type == "cuda" and not torch.cuda.is_available():  # that of workers elsewhere
        machine = replace(machine, device=torch.device("cpu"))
    pretraining = pretraining_seconds(config, machine, sizes, work.pretrainings) / jobs
    passes = [passes_of(cell, config, sizes) for cell in work.cells]
    with torch.random.fork_rng(devices=[]), limited_threads(1):
        encoder = config.encoder_class()(config.encoder_config())
        a_pass = (
            seconds_per_pass(encoder, config.data.cut().samples, machine.device, machine.precision)
            if any(passes)
            else 0.0
        )
    cells = a_pass * sum(count or 0.0 for count in passes) / jobs
    yield (
        f"estimate for {where}, {jobs} tasks at a time: pretraining "
        f"{duration(pretraining)}, cells {duration(cells)}, together {duration(pretraining + cells)}"
    )
    if None in passes:
        yield f"  without {passes.count(None)} cells of baselines that have no encoder"
    encoders = [row.encoder_class()(row.encoder_config()) for row in by_encoder(config).values()]
    parameters = max(sum(p.numel() for p in encoder.parameters()) for encoder in encoders)
    disk = disk_bytes(config, sizes, len(work.pretrainings), len(work.cells), parameters)
    free = shutil.disk_usage(next(folder for folder in results.resolve().parents if folder.is_dir())).free
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def pretraining_seconds(
    config: Config, machine: Machine, sizes: Mapping[str, Size], pretrainings: Sequence[Pretraining]
) -> float:
    """Seconds of all pretrainings: their updates, and an update of each method as it is timed now."""
    seconds, timed = 0.0, dict[tuple[str, str], float]()
    for task in [task for task in pretrainings if task.method.trains]:
        kind = task.method.name, task.variant.encoder
        if kind not in timed:
            samples = config.data.cut().samples
            with torch.random.fork_rng(devices=[]), limited_threads(machine.threads() or 1):
                method = new_method(task, with_settings(config, task.variant.settings), machine.device)
                method_config = task.variant.config
                timed[kind] = seconds_per_update(method, method_config, samples, machine.device, machine.precision)
        seconds += updates_of(task, config, sizes) * timed[kind]
    return seconds


def sizes_of(config: Config, folders: Folders) -> tuple[dict[str, Size], dict[str, Prepared]]:
    """Size of every dataset, and the datasets that are in the cache."""
    cut, sizes, prepared = config.data.cut(), dict[str, Size](), dict[str, Prepared]()
    for name in names_of(config):
        dataset = locate(config, name, folders)
        listing = key_listing(dataset, config.data.prefix_of(name))
        if data := cached(dataset, folders.cache, listing, cut):
            prepared[name] = data
        sizes[name] = exact_size(data) if data else estimated_size(len((listing or dataset.listing()).entries), cut)
    if len(prepared) == len(sizes):
        for data in joins_of(config, prepared, folders.cache):
            prepared[data.name] = data
    joined = {config.data.pretrain: config.data.corpora} if len(config.data.corpora) > 1 else {}
    joined |= {name: datasets_in(name) for name in filter(is_transport, config.data.datasets)}
    for name, parts in joined.items():
        recordings = sum(sizes[part].recordings for part in parts)
        sizes[name] = exact_size(prepared[name]) if name in prepared else estimated_size(recordings, cut)
    return sizes, prepared


def work_of(
    config: Config, folders: Folders, results: Path, machine: Machine, prepared: dict[str, Prepared], variants: Variants
) -> Work:
    """The missing part of the grid; all of it if a dataset is not prepared for all rows, as keys are not known yet."""
    forms = None
    if prepared.keys() >= {config.data.pretrain, *config.data.datasets, *names_of(config)}:
        datasets = [locate(config, name, folders) for name in names_of(config)]
        forms = external_forms(
            config, datasets, prepared, lambda data, cut: cached(data, folders.cache, key_listing(data), cut)
        )
    if forms is not None:
        columns = with_columns(config, prepared)
        return missing(make_grid(config, columns, machine, variants, forms), Store(results))
    names = {column.name: column.name for column in config.data.columns()}  # in place of fingerprints
    grid = expand(config, corpus=config.data.pretrain, fingerprints=names, mode=machine.mode(), variants=variants)
    return Work(grid, grid.pretrainings, tuple(in_turn(grid.cells)))
