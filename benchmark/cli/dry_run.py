"""`--dry-run`: print the cells, hours and disk of a run without running it.

Expected seconds of the tasks of a run, for `--dry-run` and the time left: from `speed`, else from a timed pass.
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path

import torch

from benchmark.config.config import Config
from benchmark.config.flags import Folders
from benchmark.config.refuse import by_encoder
from benchmark.data.datasets.base import Dataset
from benchmark.data.prepare import Prepared, cached, list_part
from benchmark.data.transport import datasets_in, is_transport
from benchmark.machine.device import Machine, device_facts
from benchmark.results.names import (
    ABLATION,
    EVALUATION_FACTS,
    GATE,
    METHOD,
    SWEEP,
    TRIAL,
)
from benchmark.results.store import BadCard, CorruptRow, Store
from benchmark.run.datasets import (
    ExternalData,
    cached_external,
    cohort_folder,
    external_rows,
    locate,
    made_of_several,
    names_of,
    reading_note,
    with_columns,
)
from benchmark.run.estimate import (
    SPEED_FILE,
    Size,
    Speed,
    cell_seconds,
    disk_bytes,
    estimated_size,
    exact_size,
    grid_seconds,
    load_speed,
    passes,
    seconds_per_pass,
)
from benchmark.run.grid import Cell, Grid, Pretraining, expand, make_grid, task_name
from benchmark.run.jobs import Work, in_turn, missing
from benchmark.run.plan import cache_miss_lines
from benchmark.run.rows import Variant
from benchmark.screen import Console, Cost, duration, note, print_table
from methods.base import PretrainMethod
from methods.encoders import identity
from methods.encoders.base import Encoder

PRETRAINING = "pretraining"
"""Kind of the pretrainings; that of a cell is its evaluation."""
PROBED_ONCE = {name for name, facts in EVALUATION_FACTS.items() if facts.frozen}
"""Evaluations whose outcome cells of equal encoder and labels share."""
MOST_READ = 20
"""Stored results of a kind that its earlier speed is taken from."""

Task = Pretraining | Cell
Seconds = Callable[[Task], float]


def seconds_of(
    config: Config, speed_file: Path, machine: Machine, sizes: Mapping[str, Size], concurrent: int
) -> tuple[str, Seconds]:
    """Source of the estimate, and the expected seconds of a task; of a pretraining beside `concurrent` - 1 others."""
    encoders = {
        label: seconds_on(own, speed_file, machine, sizes, concurrent) for label, own in by_encoder(config).items()
    }
    source = " and ".join(dict.fromkeys(source for source, _ in encoders.values()))
    _, on_first = next(iter(encoders.values()))  # of rows without an encoder too

    def seconds(task: Task) -> float:
        _, on_encoder = encoders.get(task.variant.encoder, ("", on_first))
        return on_encoder(task)

    return source, seconds


def seconds_on(
    config: Config, speed_file: Path, machine: Machine, sizes: Mapping[str, Size], concurrent: int
) -> tuple[str, Seconds]:
    """`seconds_of` on the config's first encoder."""
    if machine.device.type == "cuda" and not torch.cuda.is_available():  # it is that of a cluster's jobs
        here = replace(machine, device=torch.device("cpu"))
        source, seconds = seconds_on(config, speed_file, here, sizes, concurrent)
        return f"{source}; as long as it would take on this host's CPU", seconds
    with torch.random.fork_rng(devices=[]):
        encoder = config.encoder_class()(config.encoder_config())
    closer = "; `speed` looks closer"
    if speed := load_speed(speed_file):
        which = identity(type(encoder), encoder.config)
        misfit = speed.misfit(which, config.data.cut().samples, device_facts(machine.device), machine.precision)
        if not misfit:
            return f"from {speed_file}, which `speed` wrote", partial(seconds_at, speed, config, sizes, concurrent)
        closer = f", since {speed_file} is of another {misfit}"
    together, alone = timed_passes(encoder, config, machine, concurrent)

    def from_a_pass(task: Task) -> float:
        if isinstance(task, Cell):
            return cell_seconds(task, config, sizes, alone)
        return passes(task, config, sizes) * together

    return f"from an encoder pass timed just now{closer}", from_a_pass


def seconds_at(speed: Speed, config: Config, sizes: Mapping[str, Size], concurrent: int, task: Task) -> float:
    """Expected seconds of a task at a measured speed; pretrainings side by side share the device."""
    pretraining, cell = grid_seconds(config, [task], sizes, speed, jobs=1)
    return pretraining * concurrent + cell


def timed_passes(encoder: Encoder, config: Config, machine: Machine, concurrent: int) -> tuple[float, float]:
    """Seconds of an encoder pass on the threads of a pretraining, and on those of a cell."""
    samples = config.data.cut().samples
    with torch.random.fork_rng(devices=[]):
        together, alone = (
            seconds_per_pass(encoder, samples, machine.device, machine.precision, threads=threads)
            for threads in (machine.pretraining_threads(concurrent), machine.cell_threads())
        )
    return together, alone


def equal_probes_once(seconds: Seconds, cells: Iterable[Cell], protocol: str) -> Seconds:
    """The expected seconds with a probe counted in the first of the cells that share its outcome.

    Under `paper` all seeds have the same labelled windows, and a probe of one encoder has no other chance.
    """
    if protocol != "paper":
        return seconds
    probes = [cell for cell in cells if cell.evaluation in PROBED_ONCE]
    first: dict[tuple[str, str, str, float], str] = {}
    for cell in probes:
        first.setdefault((cell.pretrain_key, cell.evaluation, cell.dataset, cell.ratio), cell.key)
    shared = {cell.key for cell in probes} - set(first.values())
    return lambda task: 0.0 if task.key in shared else seconds(task)


def concurrent_of(work: Work, machine: Machine) -> int:
    """Concurrent pretrainings of the missing work."""
    return machine.concurrent(sum(task.method.trains for task in work.pretrainings))


def summed(work: Work, seconds: Seconds, machine: Machine) -> tuple[float, float]:
    """Seconds of the missing pretrainings and of the missing cells, with as many at once as the machine runs."""
    pretraining, cells = sum(map(seconds, work.pretrainings)), sum(map(seconds, work.cells))
    return pretraining / concurrent_of(work, machine), cells / machine.jobs


def hours_text(pretraining: float, cells: float) -> str:
    """'pretraining 3 h 20 min, cells 2 h 1 min, together 5 h 21 min', from seconds."""
    return f"pretraining {duration(pretraining)}, cells {duration(cells)}, together {duration(pretraining + cells)}"


def costs_of(work: Work, seconds: Seconds, machine: Machine) -> dict[str, Cost]:
    """Name of each missing task -> what it is expected to take."""
    concurrent, jobs = concurrent_of(work, machine), machine.jobs
    pretrainings = {task_name(task): Cost(seconds(task), PRETRAINING, concurrent) for task in work.pretrainings}
    return pretrainings | {task_name(cell): Cost(seconds(cell), cell.evaluation, jobs) for cell in work.cells}


def earlier_rates(work: Work, seconds: Seconds, store: Store) -> dict[str, float]:
    """Kind -> seconds per expected second of the stored results of this grid, of the kinds that have some."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    missing = {task.key for task in work.pretrainings} | {cell.key for cell in work.cells}
    tasks: tuple[Task, ...] = (*work.grid.pretrainings, *work.grid.cells)
    for task in tasks:
        kind = task.evaluation if isinstance(task, Cell) else PRETRAINING
        if task.key not in missing and len(found[kind]) < MOST_READ and (took := stored_seconds(task, store)):
            found[kind].append((took, seconds(task)))
    return {kind: sum(took for took, _ in own) / sum(cost for _, cost in own) for kind, own in found.items() if own}


def stored_seconds(task: Task, store: Store) -> float | None:
    """Seconds that a stored result took; None if it says nothing of it or is damaged."""
    try:
        if isinstance(task, Pretraining):
            return (store.card(task.key) or {}).get("seconds")
        row = store.load_row(task.key)
        return row.training.get("seconds") if row else None
    except (BadCard, CorruptRow):
        return None


GIB = 2**30
COUNTED = {
    METHOD: "cells",
    GATE: "of gates",
    ABLATION: "of ablations",
    SWEEP: "of sweeps",
    TRIAL: "cells of trials",
}


def print_dry_run(
    console: Console,
    config: Config,
    place: Folders,
    machine: Machine,
    results: Path,
    out: Path,
    variants: tuple[Variant, ...] | None = None,
) -> None:
    """Print the plan of a run. Raises DatasetError if real data are missing.

    results: the store to continue; out: folder of what `speed` wrote, may be missing.
    variants: rows in place of those of the config.
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
    unmatched = cache_miss_lines(work.cells, grid, Store(results)) if keyed else []
    source, seconds = seconds_of(config, out / SPEED_FILE, machine, sizes, concurrent_of(work, machine))
    for line in (*unmatched, *cost_lines(config, results, source, seconds, machine, sizes, work)):
        note(console, line)


def counts_line(grid: Grid) -> str:
    """'360 cells, 135 of gates': distinct cells by the role of their row."""
    role_of = {cell.key: cell.variant.role for cell in reversed(grid.cells)}
    counts = Counter(role_of.values())
    return ", ".join(f"{counts[role]} {word}" for role, word in COUNTED.items() if role in counts)


def to_do_line(grid: Grid, work: Work) -> str:
    """'to do: 12 of 16 cells, 3 of 4 pretrainings'."""
    cells = f"{len(work.cells)} of {len({cell.key for cell in grid.cells})} cells"
    return f"to do: {cells}, {trained(work.pretrainings)} of {trained(grid.pretrainings)} pretrainings"


def trained(pretrainings: Sequence[Pretraining]) -> int:
    """How many of some pretrainings train."""
    return sum(own.method.trains for own in pretrainings)


def sizes_of(config: Config, place: Folders, console: Console) -> tuple[dict[str, Size], dict[str, Prepared]]:
    """Size of every dataset, and the datasets found in the cache."""
    sizes: dict[str, Size] = {}
    prepared: dict[str, Prepared] = {}
    datasets: dict[str, Dataset] = {}
    simulation = config.data.simulation
    for name in names_of(config):
        if simulation is not None and not cohort_folder(name, simulation, place.simulated).is_dir():
            per_patient = simulation.recordings_per_patient if name in config.data.corpora else 1
            patients = simulation.sizes()[name] + simulation.test_patients.get(name, 0)
            sizes[name] = estimated_size(round(patients * per_patient), config.data.cut())
            continue
        dataset = datasets[name] = locate(config, name, place)
        listing = list_part(dataset, config.data.prefix_of(name))
        on_reading = reading_note(console, dataset.title)
        found = cached(dataset, place.cache, listing, config.data.cut(), on_reading=on_reading)
        if found is None:
            sizes[name] = estimated_size(len(listing.entries), config.data.cut())
        else:
            sizes[name], prepared[name] = exact_size(found), found
    members = {config.data.pretrain: config.data.corpora} if len(config.data.corpora) > 1 else {}
    members |= {name: datasets_in(name) for name in filter(is_transport, config.data.datasets)}
    there = prepared.keys() >= {*names_of(config)}
    made = {own.name: own for own in made_of_several(config, datasets.values(), prepared)} if there else {}
    for name, parts in members.items():
        found = cached(made[name], place.cache, made[name].listing(), config.data.cut()) if there else None
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
        datasets += made_of_several(config, datasets, prepared)
        forms = cached_external(config, datasets, place.cache)
    if forms is None:
        return None
    return missing(make_grid(config, with_columns(config, prepared), machine, variants, forms), Store(results))


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
    ratios = ", ".join(dict.fromkeys(f"{cell.ratio:g}" for cell in grid.cells))
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(cell.seed for cell in grid.cells))
    runs = dict.fromkeys(cell.table for cell in grid.cells)
    subsets = {table: 1 + max(cell.subset for cell in grid.cells if cell.table == table) for table in runs}
    several = [f"{count} runs each under {table}" for table, count in subsets.items() if count > 1]
    seeds += f" ({', '.join(several)})" if several else ""
    note(console, f"cells done of those planned, at ratios {ratios} x seeds {seeds}:")
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
    config: Config,
    results: Path,
    source: str,
    each: Seconds,
    machine: Machine,
    sizes: Mapping[str, Size],
    work: Work,
) -> Iterator[str]:
    """Hours by stage, from a measurement on this machine, those of each gate, and disk space."""
    seconds = equal_probes_once(each, work.cells, config.protocol)
    pretraining, cells = summed(work, seconds, machine)
    encoders = [own.encoder_class()(own.encoder_config()) for own in by_encoder(config).values()]
    parameters = max(sum(p.numel() for p in encoder.parameters()) for encoder in encoders)
    disk = disk_bytes(config, sizes, len(work.pretrainings), len(work.cells), parameters)
    there = next(folder for folder in results.resolve().parents if folder.is_dir())
    free = shutil.disk_usage(there).free
    at_once = f"{concurrent_of(work, machine)} pretrainings or {machine.jobs} cells at a time"
    yield f"estimate for {machine.device.type} in {machine.precision}, {at_once}, {source}:"
    yield f"  {hours_text(pretraining, cells)}"
    yield from gate_lines(config, work, seconds, machine.jobs)
    yield f"  disk {disk / GIB:.1f} GiB of {free / GIB:.0f} GiB free, without the recordings themselves"


def gate_lines(config: Config, work: Work, seconds: Seconds, jobs: int) -> Iterator[str]:
    """The number and hours of the gates' cells, all and by gate, and their share of all cells."""
    by_gate: dict[str, list[Cell]] = defaultdict(list)
    for cell in work.cells:
        if cell.gate:
            by_gate[cell.gate].append(cell)
    if not by_gate:
        return
    of_cells = partial(cost_text, seconds=seconds, jobs=jobs, whole=sum(map(seconds, work.cells)))
    every = of_cells(list(chain.from_iterable(by_gate.values())))
    yield f"  of the cells, {every} of gates; --gates chooses among these, and --gates none leaves them out:"
    yield from (f"    {gate}: {of_cells(by_gate[gate])}" for gate in config.gates if gate in by_gate)


def cost_text(cells: Sequence[Cell], seconds: Seconds, jobs: int, whole: float) -> str:
    """'24 in 5 min (31 %)': number, hours and share of some cells."""
    own = sum(map(seconds, cells))
    return f"{len(cells)} in {duration(own / jobs)} ({own / whole:.0%})".replace("%", " %")
