"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

import torch

from benchmark.config.config import Config
from benchmark.config.flags import Folders
from benchmark.config.refuse import by_encoder, with_settings
from benchmark.data.prepare import Prepared, cached, key_listing
from benchmark.data.transport import datasets_in, is_transport
from benchmark.machine.device import Machine
from benchmark.results.names import ABLATION, GATE, METHOD, SWEEP, TRIAL
from benchmark.results.store import CorruptRow, Store
from benchmark.run.datasets import (
    ExternalData,
    cached_external,
    external_rows,
    joined_corpora,
    locate,
    names_of,
    transports_of,
    with_columns,
)
from benchmark.run.estimate import (
    Size,
    disk_bytes,
    estimated_size,
    exact_size,
    passes_of,
    seconds_per_pass,
    seconds_per_update,
    torch_threads,
    updates_of,
)
from benchmark.run.grid import Grid, Pretraining, expand, make_grid
from benchmark.run.plan import cache_miss_lines
from benchmark.run.pretraining import new_method
from benchmark.run.rows import Variant
from benchmark.run.tasks import Work, in_turn, missing
from benchmark.screen import Console, duration, note, print_table

GIB = 2**30
COUNTED = {
    METHOD: "cells",
    GATE: "of gates",
    ABLATION: "of ablations",
    SWEEP: "of sweeps",
    TRIAL: "cells of trials",
}
MOST_READ = 20
"""Stored cells of an evaluation whose seconds are read."""


def print_dry_run(
    console: Console,
    config: Config,
    place: Folders,
    machine: Machine,
    results: Path,
    variants: tuple[Variant, ...] | None = None,
) -> None:
    """Print the plan of a run. Raises DatasetError if real data are missing.

    results: the store to continue, may be missing. variants: rows in place of those of the config.
    """
    sizes, prepared = sizes_of(config, place, console)
    work = work_of(config, place, results, machine, prepared, variants)
    if work is None:  # keys are known once all data are prepared
        grid = unkeyed_grid(config, machine, variants)
        work = Work(grid, grid.pretrainings, tuple(in_turn(grid.cells)))
    grid = work.grid
    role_of = {cell.key: cell.variant.role for cell in reversed(grid.cells)}
    counts = Counter(role_of.values())
    counted = ", ".join(f"{counts[role]} {word}" for role, word in COUNTED.items() if role in counts)
    note(console, f"config {config.name}: {counted} on {trained(grid.pretrainings)} pretrainings")
    for name, size in sizes.items():
        known = "counted" if size.exact else "estimated; not prepared yet"
        note(console, f"  {name}: {size.recordings} recordings, {size.windows} {config.data.cut().word}s ({known})")
    if words := config.data.words():
        note(console, f"signals: {words}")
    print_cells(console, grid, work)
    done = f"{len(work.cells)} of {len(role_of)} cells, {trained(work.pretrainings)} of {trained(grid.pretrainings)}"
    note(console, f"to do: {done} pretrainings")
    for line in cache_miss_lines(work.cells, grid, Store(results)):
        note(console, line)
    for line in cost_lines(config, results, machine, sizes, work):
        note(console, line)


def trained(pretrainings: Sequence[Pretraining]) -> int:
    """How many of some pretrainings train."""
    return sum(own.method.trains for own in pretrainings)


def print_cells(console: Console, grid: Grid, work: Work) -> None:
    """Print done and total cells per variant (the trials of a method together), evaluation and dataset."""
    todo = {cell.key for cell in work.cells}
    amounts = ", ".join(dict.fromkeys(f"{cell.ratio:g}" for cell in grid.cells))
    seeds = ", ".join(dict.fromkeys(str(cell.seed) for cell in grid.cells))
    note(console, f"cells done of those planned, at {amounts} of the labels x seeds {seeds}:")
    datasets = list(dict.fromkeys(cell.dataset for cell in grid.cells))
    done: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for cell in grid.cells:
        name = cell.variant.of if cell.variant.role == TRIAL else cell.variant.name
        row = done.setdefault((name, cell.evaluation), {dataset: [] for dataset in datasets})
        row[cell.dataset].append(cell.key not in todo)
    columns = [("", "row", "label"), ("", "evaluation", "label"), *(("", name, "right") for name in datasets)]
    rows = [[*place, *(f"{sum(own)}/{len(own)}" for own in counts.values())] for place, counts in done.items()]
    print_table(console, columns, [rows])


def cost_lines(config: Config, results: Path, machine: Machine, sizes: Mapping[str, Size], work: Work) -> Iterator[str]:
    """Hours by stage, from updates timed now and cells that are stored, and disk space."""
    jobs = machine.jobs or 1
    pretraining = sum(pretraining_seconds(config, machine, sizes, work.pretrainings)) / jobs
    cells, untimed = cell_seconds(config, results, machine, sizes, work)
    together = duration(pretraining + cells / jobs)
    yield (
        f"estimate for {machine.device.type} in {machine.precision}, {jobs} tasks at a time: pretraining "
        f"{duration(pretraining)}, cells {duration(cells / jobs)}, together {together}"
    )
    if untimed:
        names = ", ".join(f"{count} of {name}" for name, count in untimed.items())
        yield f"  without {names}, of which none is stored yet"
    encoders = [own.encoder_class()(own.encoder_config()) for own in by_encoder(config).values()]
    parameters = max(sum(p.numel() for p in encoder.parameters()) for encoder in encoders)
    disk = disk_bytes(config, sizes, len(work.pretrainings), len(work.cells), parameters)
    there = next(folder for folder in results.resolve().parents if folder.is_dir())
    free = shutil.disk_usage(there).free
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def pretraining_seconds(
    config: Config, machine: Machine, sizes: Mapping[str, Size], pretrainings: Sequence[Pretraining]
) -> Iterator[float]:
    """Seconds of each pretraining: its updates, and an update of its method as it is timed now."""
    device = here(machine)
    timed: dict[tuple[str, str], float] = {}
    for task in [task for task in pretrainings if task.method.trains]:
        place = task.method.name, task.variant.encoder
        if place not in timed:
            row = with_settings(config, task.variant.settings)
            with torch.random.fork_rng(devices=[]), torch_threads(machine.threads() or 1):
                method = new_method(task, row, device)
                samples = config.data.cut().samples
                timed[place] = seconds_per_update(method, task.variant.config, samples, device, machine.precision)
        yield updates_of(task, config, sizes) * timed[place]


def cell_seconds(
    config: Config, results: Path, machine: Machine, sizes: Mapping[str, Size], work: Work
) -> tuple[float, Counter[str]]:
    """Seconds of the missing cells, and how many of each evaluation are left out as nothing is known of them.

    From the stored cells of the evaluation, else from an encoder pass that is timed now.
    """
    stored, todo = stored_seconds(work, Store(results)), Counter(cell.evaluation for cell in work.cells)
    seconds = sum(count * mean(stored[name]) for name, count in todo.items() if name in stored)
    others = [cell for cell in work.cells if cell.evaluation not in stored]
    passes = [(cell, passes_of(cell, config, sizes)) for cell in others]
    if any(count for _, count in passes):
        with torch.random.fork_rng(devices=[]), torch_threads(1):
            encoder = config.encoder_class()(config.encoder_config())
            a_pass = seconds_per_pass(encoder, config.data.cut().samples, here(machine), machine.precision)
        seconds += sum(count * a_pass for _, count in passes if count)
    return seconds, Counter(cell.evaluation for cell, count in passes if count is None)


def here(machine: Machine) -> torch.device:
    """The device of a run, or the CPU where it is that of workers elsewhere."""
    return machine.device if machine.device.type == "cpu" or torch.cuda.is_available() else torch.device("cpu")


def stored_seconds(work: Work, store: Store) -> dict[str, list[float]]:
    """Evaluation -> seconds of some stored cells of the grid."""
    found: dict[str, list[float]] = defaultdict(list)
    todo = {cell.key for cell in work.cells}
    for cell in [cell for cell in work.grid.cells if cell.key not in todo]:
        if len(found[cell.evaluation]) < MOST_READ:
            try:
                row = store.load_row(cell.key)
            except CorruptRow:
                continue
            if row and row.training.get("seconds") is not None:
                found[cell.evaluation].append(row.training["seconds"])
    return {name: seconds for name, seconds in found.items() if seconds}


def sizes_of(config: Config, place: Folders, console: Console) -> tuple[dict[str, Size], dict[str, Prepared]]:
    """Size of every dataset, and the datasets found in the cache."""
    sizes: dict[str, Size] = {}
    prepared: dict[str, Prepared] = {}
    for name in names_of(config):
        dataset = locate(config, name, place)
        listing = key_listing(dataset, config.data.prefix_of(name))
        found = cached(dataset, place.cache, listing, config.data.cut())
        if found is None:
            sizes[name] = estimated_size(len((listing or dataset.listing()).entries), config.data.cut())
        else:
            sizes[name], prepared[name] = exact_size(found), found
    members = {config.data.pretrain: config.data.corpora} if len(config.data.corpora) > 1 else {}
    members |= {name: datasets_in(name) for name in filter(is_transport, config.data.datasets)}
    there = prepared.keys() >= {*names_of(config)}
    joined = (
        [*joined_corpora(config, prepared, place.cache), *transports_of(config, prepared, place.cache)] if there else []
    )
    known = {data.name: data for data in joined}
    for name, parts in members.items():
        found = known.get(name)
        rough = estimated_size(sum(sizes[part].recordings for part in parts), config.data.cut())
        sizes[name] = exact_size(found) if found else rough
        prepared |= {name: found} if found else {}
    return sizes, prepared


def work_of(
    config: Config,
    place: Folders,
    results: Path,
    machine: Machine,
    prepared: Mapping[str, Prepared],
    variants: tuple[Variant, ...] | None,
) -> Work | None:
    """The missing part of the grid; None if a dataset is not prepared for all rows, so that result keys are unknown."""
    if not prepared.keys() >= {config.data.pretrain, *config.data.datasets, *names_of(config)}:
        return None
    forms: ExternalData | None = {}
    if any(external_rows(config)):
        datasets = [locate(config, name, place) for name in names_of(config)]
        forms = cached_external(config, datasets, prepared, place.cache)
    if forms is None:
        return None
    columns = with_columns(config, prepared)
    return missing(make_grid(config, columns, machine, variants, forms), Store(results))


def unkeyed_grid(config: Config, machine: Machine, variants: tuple[Variant, ...] | None = None) -> Grid:
    """The grid with dataset names in place of fingerprints, which only preparation yields."""
    names = {column.name: column.name for column in config.data.columns()}
    return expand(config, corpus=config.data.pretrain, fingerprints=names, mode=machine.mode(), variants=variants)
