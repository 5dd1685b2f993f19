"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch

from benchmark.cli.expected import expectation
from benchmark.cli.hours import cell_seconds, timed_updates
from benchmark.cli.main import OK, USAGE, Request
from benchmark.cli.refusals import are_refused, select_keys
from benchmark.config.config import Config
from benchmark.config.load import Folders
from benchmark.data.datasets.base import NO_FOLD, Dataset, DatasetError
from benchmark.data.joined import JOIN, datasets_in
from benchmark.data.prepare import Prepared, cached, key_listing, unprepared
from benchmark.data.segments import Segmentation
from benchmark.data.tasks import of_task
from benchmark.machine import Machine
from benchmark.results.names import CANDIDATE, RETRIEVAL, counted
from benchmark.results.references import short_text
from benchmark.results.store import Store
from benchmark.run.costs import estimated_updates
from benchmark.run.datasets import (
    Size,
    audit_run,
    disk_bytes,
    estimated_size,
    external_forms,
    joins_of,
    locate,
    names_of,
    with_columns,
)
from benchmark.run.grid import Grid, make_grid
from benchmark.run.rows import Variant
from benchmark.run.tasks import Work, missing
from benchmark.screen import Console, duration, note
from reports.words import seeds_named

GIB = 2**30
Variants = tuple[Variant, ...] | None


def dry_run(request: Request, console: Console, variants: Variants = None) -> int:
    """Print what a run refuses and its plan; returns the exit status. Raises ConfigError, DatasetError like a run."""
    refused = are_refused(request)
    columns = print_dry_run(request, console, variants)
    if columns:
        audit_run(request.config, columns, allow_leak=vars(request.arguments).get("allow_leak", False))
    else:
        note(console, "leaks and the keys of --only are judged when the data are prepared, e.g. by `data check`")
    return USAGE if refused else OK


def print_dry_run(request: Request, console: Console, variants: Variants = None) -> dict[str, Prepared]:
    """Print the plan of a run; returns its corpus and columns, nothing where a dataset is not prepared.

    variants: rows in place of those of the config. Raises ConfigError where no key begins as `--only` says; that is
    known where the data are prepared.
    """
    config, folders, machine, arguments = request
    results: Path = arguments.results
    listed, prepared = datasets_of(config, folders)
    sizes = sizes_of(config, listed, prepared)
    columns: dict[str, Prepared] = {}
    with suppress(KeyError):
        columns = with_columns(config, prepared)
    views = {}
    for task in config.data.columns():
        if task.dataset in listed:
            views[task.name] = of_task(listed[task.dataset], task)
    grid = keyed_grid(config, folders, machine, columns, variants)
    if grid is None:
        grid = make_grid(config, views, machine, variants)
        work = Work(grid, grid.pretrainings, grid.distinct_cells())
    else:
        if only := vars(arguments).get("only"):
            grid = select_keys(grid, only, Store(results))
        work = missing(grid, Store(results))
    for name in views:
        views[name] = columns.get(name, views[name])
    for line in plan_lines(config, work, sizes, views, prepared):
        note(console, line)
    for line in work.damage:
        note(console, line)
    for line in cost_lines(config, results, machine, sizes, work):
        note(console, line)
    return columns


def plan_lines(
    config: Config,
    work: Work,
    sizes: Mapping[str, Size],
    views: Mapping[str, Prepared],
    prepared: Container[str],
) -> Iterator[str]:
    """Yield lines on the grid, its rows, the datasets, the difference that they detect, and what is to do.

    prepared: datasets whose sizes are counted; those of the others are estimated.
    """
    grid = work.grid
    cells = len(grid.distinct_cells())
    trained = sum(one.method.trains for one in grid.pretrainings)
    to_do = sum(one.method.trains for one in work.pretrainings)
    ratios = ", ".join(f"{ratio:g}" for ratio in config.ratios)
    shares = f"{ratios} of the labels x seeds {seeds_named(config.seeds)}"
    yield f"config {config.name}: {counted(cells, 'cell')} on {counted(trained, 'pretraining')}, at {shares}"
    if further := ", ".join(rows_of_all_labels(grid, config)):
        yield f"  beside these shares at all labels: {further}"
    yield f"  rows: {', '.join(rows_named(grid))}"
    unit = config.data.cut().unit_name
    for name, size in sizes.items():
        known = "estimated; not prepared yet" if size.recordings else "not there"
        if name in prepared:
            known = "counted"
        yield f"  {name}: {size.recordings} recordings, {size.windows} {unit}s ({known})"
    if expected := expectation(config, views):
        yield f"  {expected}"
    yield f"to do: {len(work.cells)} of {cells} cells, {to_do} of {trained} pretrainings"


def rows_of_all_labels(grid: Grid, config: Config) -> list[str]:
    """List the rows, and retrieval, that have cells at all labels beside the config's shares."""
    cells = [cell for cell in grid.cells if cell.ratio not in config.ratios]
    names = [RETRIEVAL if cell.table == RETRIEVAL else cell.variant.name for cell in cells]
    return list(dict.fromkeys(names))


def rows_named(grid: Grid) -> list[str]:
    """List the rows of a grid with their papers; the candidates of a method are counted."""
    rows = Counter(one.base if one.role == CANDIDATE else one.name for one in grid.variants)
    return [f"{name} ({count} candidates)" if count > 1 else name + short_text(name) for name, count in rows.items()]


def cost_lines(config: Config, results: Path, machine: Machine, sizes: Mapping[str, Size], work: Work) -> Iterator[str]:
    """Yield lines on hours, from updates and cells that are timed now on noise, and on disk space."""
    jobs = machine.jobs or 1
    where = f"{machine.device.type} in {machine.precision}, {counted(jobs, 'task')} at a time"
    if machine.device.type == "cuda" and not torch.cuda.is_available():  # that of workers elsewhere
        machine = replace(machine, device=torch.device("cpu"))
    if absent := [name for name, size in sizes.items() if not size.recordings]:
        yield f"estimate: none without the recordings of {', '.join(absent)}"
        return
    with torch.random.fork_rng(devices=[]):
        updates = timed_updates(config, machine, work.pretrainings)
        cells = cell_seconds(config, machine, sizes, work)
    trained = [one for one in work.pretrainings if one.method.trains]
    seconds = sum(estimated_updates(one, config, sizes) * updates[one.trained_name] for one in trained)
    pretraining = duration(seconds / jobs)
    yield f"estimate for {where}: pretraining {pretraining}, cells {duration(cells / jobs)}"
    if updates:
        texts = [f"{name} {1000 * seconds:.0f}" for name, seconds in updates.items()]
        yield f"  ms of an update: {', '.join(texts)}"
    parameters = sum(parameter.numel() for parameter in config.new_encoder().parameters())
    disk = disk_bytes(config, sizes, len(work.pretrainings), work.cells, parameters)
    folder = next(folder for folder in results.resolve().parents if folder.is_dir())
    free = shutil.disk_usage(folder).free
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def datasets_of(config: Config, folders: Folders) -> tuple[dict[str, Prepared], dict[str, Prepared]]:
    """Return every dataset as its tables list it, and the datasets, with joins, that are in the cache.

    One that is not there has no recordings.
    """
    listed: dict[str, Prepared] = {}
    prepared: dict[str, Prepared] = {}
    for name in names_of(config):
        listed[name] = unprepared(config.data.source(name), ())
        try:
            dataset = locate(config, name, folders)
            listing = key_listing(dataset, config.data.prefix_of(name))
        except DatasetError:
            continue  # the run refuses it
        listed[name] = unprepared(dataset, (listing or dataset.listing()).entries)
        if data := cached(dataset, folders.cache, listing, config.data.cut()):
            prepared[name] = data
    if prepared.keys() == listed.keys():
        prepared |= {data.name: data for data in joins_of(config, prepared, folders.cache)}
    return listed, prepared


def sizes_of(config: Config, listed: Mapping[str, Prepared], prepared: Mapping[str, Prepared]) -> dict[str, Size]:
    """Return the size of every dataset and join, counted where it is prepared, else estimated."""
    counts = {name: data.usable for name, data in listed.items()}
    for name in (config.data.pretrain, *config.data.datasets):  # some are of several datasets
        parts = [part for joined in name.split(JOIN) for part in datasets_in(joined)]
        counts[name] = sum(counts[part] for part in parts)
    sizes = {name: estimated_size(count, config.data.cut()) for name, count in counts.items()}
    for name, data in prepared.items():
        sizes[name] = Size(data.usable, data.window_count)
    for name, data in listed.items():
        if (data.recordings.fold == NO_FOLD).all():
            sizes[name] = sizes[name]._replace(parts=config.data.folds or 1)
    return sizes


def keyed_grid(
    config: Config, folders: Folders, machine: Machine, columns: dict[str, Prepared], variants: Variants
) -> Grid | None:
    """Return the grid of prepared columns; None where a dataset is not prepared for every row: no key is known."""

    def cut_before(dataset: Dataset, cut: Segmentation) -> Prepared:
        if form := cached(dataset, folders.cache, key_listing(dataset), cut):
            return form
        raise LookupError(dataset.name)

    if columns:
        with suppress(LookupError):
            datasets = [locate(config, name, folders) for name in names_of(config)]
            forms = external_forms(config, datasets, cut_before)
            return make_grid(config, columns, machine, variants, forms)
    return None
