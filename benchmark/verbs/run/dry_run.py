"""`--dry-run`: print the cells, hours and disk of a run without running it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmark.config.change import by_encoder
from benchmark.config.command_line.values import Place
from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.prepare import cached, list_part
from benchmark.results.names import ABLATION, GATE, METHOD, PRESET, SNAPSHOT, SWEEP, TRIAL, takes_shots
from benchmark.results.store import Store
from benchmark.run.data.cohorts import cohort_folder, locate, names_of
from benchmark.run.data.datasets import reading_note, refuse_shots, with_columns
from benchmark.run.data.own import Own, brought, cached_own
from benchmark.run.estimate import Size, disk_bytes, estimated_size, exact_size
from benchmark.run.grid.cells import Cell, Grid, Pretraining
from benchmark.run.grid.earlier_keys import earlier_lines
from benchmark.run.grid.expand import expand
from benchmark.run.grid.make import make_grid
from benchmark.run.grid.unmatched import unmatched_lines
from benchmark.run.grid.variants import Variant
from benchmark.run.machine import Machine
from benchmark.run.work.missing import Work, in_turn, missing
from benchmark.screen.console import Console, note
from benchmark.screen.tables import print_table
from benchmark.screen.tally import duration
from benchmark.verbs.run.costs import Seconds, abreast_of, equal_probes_once, seconds_of, summed
from benchmark.verbs.run.makespan import makespan_lines
from methods.base import PretrainMethod

GIB = 2**30
COUNTED = {
    METHOD: "cells",
    GATE: "of gates",
    ABLATION: "of ablations",
    SWEEP: "of sweeps",
    SNAPSHOT: "of snapshots",
    PRESET: "of presets",
    TRIAL: "cells of trials",
}


def print_dry_run(
    console: Console,
    config: Config,
    place: Place,
    machine: Machine,
    results: Path,
    speed_file: Path,
    variants: tuple[Variant, ...] | None = None,
) -> None:
    """Print the plan of a run. Raises DatasetError if real data are missing.

    results: the store to continue; speed_file: output of `speed`, may be missing. variants: rows in place of those of
    the config.
    """
    sizes, prepared = sizes_of(config, place, console)
    keyed = work_of(config, place, results, machine, prepared, variants)
    grid = keyed.grid if keyed else unkeyed_grid(config, machine, variants)
    work = keyed or Work(grid, grid.pretrainings, tuple(in_turn(grid.cells)), ())
    note(console, f"config {config.name}: {counts_line(grid)} on {trained(grid.pretrainings)} pretrainings")
    for name, size in sizes.items():
        known = "counted" if size.exact else "estimated; not prepared yet"
        note(console, f"  {name}: {size.recordings} recordings, {size.windows} {config.data.cut().word}s ({known})")
    if words := config.data.words():
        note(console, f"signals: {words}")
    for line in recipe_lines(config, grid):
        note(console, line)
    print_cells(console, grid, work)
    note(console, to_do_line(grid, work))
    unmatched = unmatched_lines(work.cells, grid, Store(results)) if keyed else []
    for line in (*earlier_lines(grid), *unmatched):
        note(console, line)
    for line in cost_lines(config, results, speed_file, machine, sizes, work):
        note(console, line)


def counts_line(grid: Grid) -> str:
    """'360 cells, 135 of gates': distinct cells by the role of their row."""
    role_of = {cell.key: cell.variant.role for cell in reversed(grid.cells)}
    counts: Counter[str] = Counter(role_of.values())
    return ", ".join(f"{counts[role]} {word}" for role, word in COUNTED.items() if role in counts)


def to_do_line(grid: Grid, work: Work) -> str:
    """'to do: 12 of 16 cells, 3 of 4 pretrainings'."""
    cells, pretrainings = {cell.key for cell in grid.cells}, trained(grid.pretrainings)
    return (
        f"to do: {len(work.cells)} of {len(cells)} cells, {trained(work.pretrainings)} of {pretrainings} pretrainings"
    )


def trained(pretrainings: Sequence[Pretraining]) -> int:
    """How many of some pretrainings train."""
    return sum(own.method.trains for own in pretrainings)


def sizes_of(config: Config, place: Place, console: Console) -> tuple[dict[str, Size], dict[str, Prepared]]:
    """Size of every dataset, and the datasets found in the cache."""
    sizes, prepared = {}, {}
    simulation = config.data.simulation
    for name in names_of(config):
        if simulation is not None and not cohort_folder(name, simulation, place.simulated).is_dir():
            per_patient = simulation.recordings_per_patient if name == config.data.pretrain else 1
            sizes[name] = estimated_size(round(simulation.sizes()[name] * per_patient), config.data.cut())
            continue
        dataset = locate(config, name, simulated=place.simulated, data_root=place.data_root, paths=place.paths)
        listing = list_part(dataset, config.data.prefix_of(name))
        note_reading = reading_note(console, dataset.title)
        found = cached(dataset, place.cache, listing, config.data.cut(), on_reading=note_reading)
        if found is None:
            sizes[name] = estimated_size(len(listing.entries), config.data.cut())
        else:
            sizes[name], prepared[name] = exact_size(found), found
    return sizes, prepared


def work_of(
    config: Config,
    place: Place,
    results: Path,
    machine: Machine,
    prepared: Mapping[str, Prepared],
    variants: tuple[Variant, ...] | None,
) -> Work | None:
    """The missing part of the grid; None if a dataset is not prepared, so that result keys are unknown.

    Raises DatasetError for too many shots.
    """
    if len(prepared) < len(names_of(config)):
        return None
    forms = forms_of(config, place)
    if forms is None:
        return None
    columns = with_columns(config, prepared)
    refuse_shots(config, columns)
    store = Store(results)
    return missing(make_grid(config, columns, machine, store, variants, forms), store)


def forms_of(config: Config, place: Place) -> Own | None:
    """The columns' recordings cut for each encoder from elsewhere; None if one is not in the cache."""
    if not any(brought(config)):
        return {}
    datasets = [
        locate(config, name, simulated=place.simulated, data_root=place.data_root, paths=place.paths)
        for name in config.data.datasets
    ]
    return cached_own(config, datasets, place.cache)


def unkeyed_grid(config: Config, machine: Machine, variants: tuple[Variant, ...] | None = None) -> Grid:
    """The grid with dataset names in place of fingerprints, which only preparation yields."""
    names = {column.name: column.name for column in config.data.columns()}
    return expand(config, corpus=config.data.pretrain, fingerprints=names, mode=machine.mode(), variants=variants)


def recipe_lines(config: Config, grid: Grid) -> Iterator[str]:
    """The recipes in use, each with its rows; values not from the preset are followed by their source.

    None for trials, whose recipes are drawn.
    """
    rows: dict[str, list[str]] = {}
    for variant in grid.variants:
        if variant.method is not None and variant.method.trains and variant.role != TRIAL:
            rows.setdefault(recipe_line(config, variant.method, variant), []).append(variant.name)
    if rows:
        yield f"recipes (methods.NAME.recipe comes before preset: {config.pretrain.preset}, that before the default)"
    for line, names in rows.items():
        yield f"  {', '.join(names)}: {line}"


def recipe_line(config: Config, method: type[PretrainMethod], variant: Variant) -> str:
    """'adamw, lr 0.0001 (methods.pmq.recipe.lr), ...': the recipe of a row."""
    preset, own = asdict(config.preset_recipe(method)), asdict(config.method_config(method.name).recipe)
    shown = []
    for field, value in asdict(variant.config.recipe).items():
        text = value if isinstance(value, str) else f"{field} {value:g}"
        if value != own[field]:
            text += f" ({variant.name})"
        elif value != preset[field]:
            text += f" (methods.{method.name}.recipe.{field})"
        shown.append(text)
    return ", ".join(shown)


def print_cells(console: Console, grid: Grid, work: Work) -> None:
    """Print done and total cells per variant (the trials of a method together), evaluation and dataset."""
    todo = {cell.key for cell in work.cells}
    shares = [f"{cell.ratio:g}" for cell in grid.cells if not takes_shots(cell.table)]
    shots = [f"{cell.ratio:g}" for cell in grid.cells if takes_shots(cell.table)]
    amounts = [f"ratios {', '.join(dict.fromkeys(shares))}"] if shares else []
    amounts += [f"shots {', '.join(dict.fromkeys(shots))}"] if shots else []
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(cell.seed for cell in grid.cells))
    note(console, f"cells done of those planned, at {' and '.join(amounts)} x seeds {seeds}:")
    datasets = list(dict.fromkeys(cell.dataset for cell in grid.cells))
    done: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for cell in grid.cells:
        name = cell.variant.of if cell.variant.role == TRIAL else cell.variant.name
        row = done.setdefault((name, cell.evaluation), {dataset: [] for dataset in datasets})
        row[cell.dataset].append(cell.key not in todo)
    columns = [("", "row", "label"), ("", "evaluation", "label"), *(("", name, "right") for name in datasets)]
    rows = [[*place, *(f"{sum(own)}/{len(own)}" for own in counts.values())] for place, counts in done.items()]
    print_table(console, columns, [rows])


def cost_lines(
    config: Config, results: Path, speed_file: Path, machine: Machine, sizes: Mapping[str, Size], work: Work
) -> Iterator[str]:
    """Hours by stage, from a measurement on this machine, those of each gate, and disk space."""
    source, each = seconds_of(config, speed_file, machine, sizes, abreast_of(work, machine))
    seconds = equal_probes_once(each, work.cells, config.protocol)
    pretraining, cells = summed(work, seconds, machine)
    encoders = [own.encoder_class()(own.encoder_config()) for own in by_encoder(config).values()]
    parameters = max(sum(p.numel() for p in encoder.parameters()) for encoder in encoders)
    disk = disk_bytes(config, sizes, len(work.pretrainings), len(work.cells), parameters)
    there = next(folder for folder in results.resolve().parents if folder.is_dir())
    free = shutil.disk_usage(there).free
    at_once = f"{abreast_of(work, machine)} pretrainings or {machine.jobs} cells at a time"
    yield f"estimate for {machine.device.type} in {machine.precision}, {at_once}, {source}:"
    yield f"  pretraining {duration(pretraining)}, cells {duration(cells)}, together {duration(pretraining + cells)}"
    yield from makespan_lines(config, work, seconds, machine)
    yield from gate_lines(config, work, seconds, machine.jobs)
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def gate_lines(config: Config, work: Work, seconds: Seconds, jobs: int) -> Iterator[str]:
    """The number and hours of the gates' cells, all and by gate, and their share of all cells."""
    whole = sum(map(seconds, work.cells))
    by_gate: dict[str, list[Cell]] = {}
    for cell in work.cells:
        if cell.gate:
            by_gate.setdefault(cell.gate, []).append(cell)
    if not by_gate:
        return
    named = {gate: cost_text(by_gate[gate], seconds, jobs, whole) for gate in config.gates if gate in by_gate}
    every = cost_text([cell for cells in by_gate.values() for cell in cells], seconds, jobs, whole)
    yield f"  of the cells, {every} of gates; --gates chooses among these, and --gates none leaves them out:"
    yield from (f"    {gate}: {text}" for gate, text in named.items())


def cost_text(cells: Sequence[Cell], seconds: Seconds, jobs: int, whole: float) -> str:
    """'24 in 5 min (31 %)': number, hours and share of some cells."""
    own = sum(map(seconds, cells))
    return f"{len(cells)} in {duration(own / jobs)} ({own / whole:.0%})".replace("%", " %")
