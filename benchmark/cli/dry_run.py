"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from timeit import timeit
from typing import Any

import torch

from benchmark.cli.expected import expectation
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
from benchmark.results.names import CANDIDATE, RETRIEVAL, is_frozen
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
from benchmark.run.grid import Cell, Pretraining, Variant, make_grid, select
from benchmark.run.pretraining import new_method
from benchmark.run.tasks import Work, jobs_of, limited_threads, missing
from benchmark.screen import Console, duration, note
from benchmark.training.evaluations import evaluate, evaluate_classical
from benchmark.training.probes import EvaluationCache
from benchmark.training.whole_task import noise_task
from methods.encoders.pretrained import PretrainedEncoder
from reports.words import seeds_named

GIB = 2**30
TIMED_WINDOWS = 1024, 128
"""Windows of a cell that is timed, and of one that is trained in epochs."""
TESTED = 0.1
"""Share of a dataset's windows that a cell tests."""
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
    if expected := expectation(config, {name: columns.get(name, view) for name, view in views.items()}):
        note(console, f"  {expected}")
    note(console, f"to do: {len(work.cells)} of {cells} cells, {to_do} of {pretrainings} pretrainings")
    name_damage(console, work)
    for line in cost_lines(config, results, machine, sizes, work):
        note(console, line)
    return columns


def cost_lines(config: Config, results: Path, machine: Machine, sizes: Mapping[str, Size], work: Work) -> Iterator[str]:
    """Yield lines on hours, from updates and cells that are timed now on noise, and on disk space."""
    jobs, where = machine.jobs or 1, f"{machine.device.type} in {machine.precision}"
    if machine.device.type == "cuda" and not torch.cuda.is_available():  # that of workers elsewhere
        machine = replace(machine, device=torch.device("cpu"))
    where += f", {jobs} task{'s' * (jobs > 1)} at a time"
    with torch.random.fork_rng(devices=[]):
        updates = timed_updates(config, machine, work.pretrainings)
        cells = cell_seconds(config, machine, sizes, work)
    trained = [one for one in work.pretrainings if one.method.trains]
    pretraining = sum(estimated_updates(one, config, sizes) * updates[one.trained_name] for one in trained)
    yield f"estimate for {where}: pretraining {duration(pretraining / jobs)}, cells {duration(cells / jobs)}"
    if updates:
        yield f"  ms of an update: {', '.join(f'{name} {1000 * seconds:.0f}' for name, seconds in updates.items())}"
    parameters = sum(parameter.numel() for parameter in config.new_encoder().parameters())
    disk = disk_bytes(config, sizes, len(work.pretrainings), len(work.cells), parameters)
    free = shutil.disk_usage(next(folder for folder in results.resolve().parents if folder.is_dir())).free
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def timed_updates(config: Config, machine: Machine, pretrainings: Sequence[Pretraining]) -> dict[str, float]:
    """Time an update of each method that trains, on each encoder: seconds by `Pretraining.trained_name`."""
    timed: dict[str, float] = {}
    for one in [one for one in pretrainings if one.method.trains]:
        if one.trained_name not in timed:
            with limited_threads(machine.threads() or 1):
                method = new_method(one, with_settings(config, one.variant.settings), machine.device)
                samples, settings = config.data.cut().samples, one.variant.config
                timed[one.trained_name] = seconds_per_update(method, settings, samples, machine.precision)
    return timed


def cell_seconds(config: Config, machine: Machine, sizes: Mapping[str, Size], work: Work) -> float:
    """Estimate the seconds of all cells by their windows; of cells that share features the first one computes them."""
    seconds, timed = 0.0, dict[tuple[str, str], tuple[float, float]]()
    for job in jobs_of(work):
        tasks = set[tuple[Any, ...]]()
        for cell in [part for part in job.parts if isinstance(part, Cell)]:
            kind = cell.evaluation, cell.variant.method_name if cell.variant.elsewhere else cell.variant.encoder
            task = cell.ratio, cell.subset, cell.seed if config.protocol == "strict" else 0
            if kind not in timed:
                timed[kind] = seconds_per_window(cell, config, machine)
            if task not in tasks:  # seeds share a task under `paper`
                windows = sizes[config.data.column(cell.dataset).dataset].windows
                seconds += windows_read(cell, windows) * timed[kind][len(tasks) > 0]
                tasks.add(task)
    return seconds


def windows_read(cell: Cell, windows: int) -> float:
    """Count the windows that a cell learns on, as often as it does, and tests, of a dataset of so many windows."""
    settings, parts = cell.content["settings"], cell.content["task"].get("folds", 1)
    learned = cell.ratio * windows
    if "epochs" in settings:
        learned = settings["epochs"] * max(learned, settings.get("least_updates", 1) * settings["batch_size"])
    return parts * learned + (windows if parts > 1 else TESTED * windows)


def seconds_per_window(cell: Cell, config: Config, machine: Machine) -> tuple[float, float]:
    """Time an evaluation on noise: seconds a window, and those of a second cell that takes features from the first."""
    once = [name for name in ("epochs", "least_updates") if name in cell.content["settings"]]
    row = with_settings(config, cell.variant.settings | {f"{cell.evaluation}.{name}": 1 for name in once})
    samples, known, count = row.data.cut().samples, EvaluationCache(machine.precision), TIMED_WINDOWS[bool(once)]
    if cell.pretraining is None:
        task = noise_task(samples, machine.device, count)
        judge = partial(evaluate_classical, cell.evaluation, task, row, cell.draw_seed)
    else:
        encoder = new_method(cell.pretraining, row, machine.device).exported().eval()
        samples = encoder.signals.samples if isinstance(encoder, PretrainedEncoder) else samples
        task = noise_task(samples, machine.device, count)
        method = cell.pretraining.method
        judge = partial(evaluate, cell.evaluation, encoder, task, row, method=method, seed=0, cache=known)
    times = []
    with limited_threads(1):
        for _ in range(2):
            known.outcomes.clear()
            times.append(timeit(judge, number=1) / count)
    return times[0] if is_frozen(cell.evaluation) else min(times), times[1]


def datasets_of(config: Config, folders: Folders) -> tuple[dict[str, Prepared], dict[str, Prepared]]:
    """Return every dataset as its tables list it, and the datasets, with joins, that are in the cache.

    One that is not there has no recordings.
    """
    listed, prepared = dict[str, Prepared](), dict[str, Prepared]()
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
