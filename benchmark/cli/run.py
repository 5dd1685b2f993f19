"""The verb `run`, the default: prepare the data, run the missing part of the grid, report."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch

from benchmark import screen as terminal
from benchmark.cli.arguments import config_of, device_of, devices_of, folders_of, jobs_of
from benchmark.cli.dry_run import print_dry_run
from benchmark.cli.main import FAILED, OK
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import Folders
from benchmark.data.datasets.base import Dataset
from benchmark.data.joined import write_joined
from benchmark.data.prepare import Prepared, skip_summary, write_skipped
from benchmark.machine.device import Machine, pick_precision
from benchmark.results.files import Locked, file_lock, is_read_only, sweep, write_atomic
from benchmark.results.names import CARD, WINDOWS_SHA256, measured_elsewhere
from benchmark.results.schema import digest
from benchmark.results.store import Plan, Store
from benchmark.run.datasets import (
    audit_run,
    external_forms,
    joined_corpora,
    locate,
    names_of,
    patients_of,
    prepare_data,
    prepare_trials,
    refuse_unusable,
    transports_of,
    with_columns,
)
from benchmark.run.engine import HERE, open_engine
from benchmark.run.execute import execute
from benchmark.run.grid import Grid, Pretraining, make_grid, refuse_lone_windows, select, variants_of
from benchmark.run.plan import cache_miss_lines, make_plan
from benchmark.run.pretraining import measure_again, probe_windows_of
from benchmark.run.progress import GridProgress
from benchmark.run.tasks import Work, code_digest, context_of, missing, tasks_of
from benchmark.screen import Console, note
from benchmark.training.checkpoint import read_card
from benchmark.training.health import (
    EpochHealth,
    health_warnings,
    read_health,
    sample_facts,
)
from benchmark.training.pretrain import lower_rate


def health_of(grid: Grid, store: Store, windows: str) -> dict[str, list[EpochHealth]]:
    """Name of each finished pretraining -> its health per epoch on the windows with the digest `windows`."""
    read = {name: read_card(store.pretrained / p.key) for name, p in named(grid).items()}
    cards = {name: card for name, card in read.items() if card}
    elsewhere = measured_elsewhere(cards, windows)
    health = {name: read_health(card) for name, card in cards.items() if name not in elsewhere}
    return {name: epochs for name, epochs in health.items() if epochs}


def warnings_of(grid: Grid, health: Mapping[str, Sequence[EpochHealth]]) -> list[str]:
    """Health warnings of the pretrainings, one line each, with the setting to change."""
    lines, pretrainings = [], named(grid)
    for name, epochs in health.items():
        task = pretrainings[name]
        lines += health_warnings(name, epochs, lower_rate(task.method.name, task.variant.config.recipe))
    return lines


def named(grid: Grid) -> dict[str, Pretraining]:
    """Display name ('pmq seed 42') -> pretraining of a grid."""
    return {f"{p.variant.name} seed {p.seed}": p for p in grid.pretrainings}


@dataclass(frozen=True)
class GridRequest:
    """Arguments of `run_grid`."""

    config: Config
    folders: Folders
    machine: Machine
    results: Path
    out: Path
    only: tuple[str, ...] = ()
    """Starts of the keys of the cells or pretrainings that are run alone; () for all."""
    allow_leak: bool = False
    """Run although the audit found leaks."""
    unit: str | None = None
    """Unit of scoring; None: that of the protocol."""
    further: tuple[str, ...] = ()
    """Metrics of the main tables beside F1, AUROC and ACC."""
    tensorboard: bool = False
    """Write loss and health per epoch as event files under `out`."""


def run_grid(request: GridRequest, console: Console) -> int:
    """Prepare the data, run the missing part of the grid, report; returns the exit status. Raises DatasetError."""
    config, machine = request.config, request.machine
    sweep_all(request, console)
    datasets = open_all(request, console)
    of_datasets = prepare_all(request, datasets, console)
    prepared = with_columns(config, of_datasets)
    audited = audit_run(config, prepared)
    if audited.leaks and not request.allow_leak:
        terminal.error(f"{'; '.join(audited.leaks)}; `data check` tells more, --allow-leak runs all the same")
        return FAILED
    for line in audited.warnings:
        note(console, f"warning: {line}")
    store = Store(request.results)
    forms = external_forms(
        config, datasets, prepared, lambda data, cut: prepare_data(data, config, request.folders, console, cut)
    )
    assert forms is not None
    for form in forms.values():
        if form.members:
            write_joined(form)
    grid = make_grid(config, prepared, machine, forms=forms)
    if request.only:
        grid = select(grid, request.only)
    probe = probe_windows_of(config, prepared, torch.device("cpu"))
    windows = sample_facts(probe)[WINDOWS_SHA256]
    plan = make_plan(config, prepared, grid, [*audited.leaks, *audited.warnings], str(windows))
    work = missing(grid, store)
    misses = cache_miss_lines(work.cells, grid, store)  # of the plan before this one
    save_plan(plan, store, work, console)
    for line in work.damaged:
        note(console, f"damaged, will be done again: {line}")
    cells = len({cell.key for cell in grid.cells})  # a cell may be in several tables
    counts = f"{cells} cells on {len(grid.pretrainings)} encoders"
    note(console, f"{counts}: {cells - len(work.cells)} done, {len(work.cells)} to do")
    for line in misses:
        note(console, line)
    failures = work_off(work, prepared, store, request, console)
    if not work.cells:
        note(console, "nothing to do: every cell is in the store")
    measure_again(probe, config, grid, store)
    if work.cells or not print_again(request, plan, store, console):
        report_on(request, plan, grid, store, console)
    if failures:
        terminal.error(f"{failures} tasks failed; the same command tries them again")
    return FAILED if failures else OK


PRINTED = ".report.json"
"""Beside the tables: what they were made of, and what was printed of them."""


def print_again(request: GridRequest, plan: Plan, store: Store, console: Console) -> bool:
    """Print what was printed of the report, if neither its results nor its files have changed since."""
    try:
        printed = json.loads((request.out / PRINTED).read_bytes())
    except (OSError, ValueError):
        return False
    if printed["made_of"] != report_digest(request, plan, store):
        return False
    console.print(printed["text"], end="", soft_wrap=True)
    return True


def report_on(request: GridRequest, plan: Plan, grid: Grid, store: Store, console: Console) -> None:
    """Write and print the report, and keep what is printed for `print_again`."""
    from benchmark.cli.report import show_report  # here, because a finished run needs no report
    from reports.results import run_of

    console.record = True
    run = run_of(store, plan, request.results)
    for line in warnings_of(grid, health_of(grid, store, plan.health_windows)):
        note(console, f"warning: {line}")
    built = show_report(run, request.out, request.unit, console, further=request.further)
    text = console.export_text()
    console.record = False
    if not built.problems:
        printed = {"made_of": report_digest(request, plan, store), "text": text}
        write_atomic(request.out / PRINTED, json.dumps(printed).encode())


def report_digest(request: GridRequest, plan: Plan, store: Store) -> str:
    """Digest of what a report is made of: plan, rows, cards, code and flags, and of the files that it wrote."""
    files = [path for path in (*store.cells.glob("*.*"), *store.pretrained.glob(f"*/{CARD}"))]
    stored = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in sorted(files)]
    written = sorted(path for path in request.out.rglob("*") if path.is_file() and path.name != PRINTED)
    return digest(
        [
            [plan.key, plan.variants, plan.datasets, plan.pretraining, plan.warnings, plan.health_windows],
            stored,
            [[str(path), path.stat().st_size] for path in written],
            [request.unit, request.further],
            code_digest(("benchmark", "reports")),
        ]
    )


def save_plan(plan: Plan, store: Store, work: Work, console: Console) -> None:
    """Store the plan; where nothing can be written and nothing is to do, go on with a note. Raises OSError else."""
    try:
        store.save_plan(plan)
    except OSError as error:
        if work.cells or not is_read_only(error):
            raise
        note(console, f"{store.root} cannot be written to ({error.strerror}); its results are only shown")


def sweep_all(request: GridRequest, console: Console) -> None:
    """Remove what killed runs left in the store, the cache and the tables."""
    folders = request.folders
    swept = sweep({request.results: 2, folders.cache: 1, request.out: 1})
    if swept:
        note(console, f"removed {swept} unfinished files and folders of processes that ended")


def open_all(request: GridRequest, console: Console) -> list[Dataset]:
    """The datasets of a run."""
    return [locate(request.config, name, request.folders) for name in names_of(request.config)]


def prepare_all(request: GridRequest, datasets: Sequence[Dataset], console: Console) -> dict[str, Prepared]:
    """Each dataset by name, prepared if necessary; prints a line for each."""
    config, folders = request.config, request.folders
    prepared = {}
    for dataset in datasets:
        prepared[dataset.name] = prepare_data(dataset, config, folders, console)
        note(console, prepared_line(prepared[dataset.name]))
    for joined in [*joined_corpora(config, prepared, folders.cache), *transports_of(config, prepared, folders.cache)]:
        write_joined(joined)
        prepared[joined.name] = joined
        note(console, prepared_line(joined))
    try:
        write_skipped({name: data.skipped for name, data in prepared.items()}, request.out / "skipped.csv")
    except OSError as error:
        if not is_read_only(error):
            raise
        note(console, f"{error.filename} is not written ({error.strerror})")
    return prepared


def prepared_line(prepared: Prepared) -> str:
    """Size of a dataset, and the number of skipped recordings by reason."""
    patients = len({entry.patient for entry in prepared.entries})
    word = prepared.segmentation.unit_name
    line = (
        f"{prepared.title}: {len(prepared.entries)} recordings of {patients} patients, {prepared.window_count} {word}s"
    )
    if not prepared.skipped:
        return line
    reasons = "; ".join(f"{count} {reason}" for reason, count in skip_summary(prepared.skipped).items())
    return f"{line}; skipped {len(prepared.skipped)} ({reasons})"


def work_off(work: Work, prepared: Mapping[str, Prepared], store: Store, request: GridRequest, console: Console) -> int:
    """Run the work, if any, under a progress display; returns the number of failed pretrainings and cells.

    Raises ConfigError where another command works on the store, or for an engine without workers that can be used.
    """
    if not work.cells:
        return 0
    config, machine = request.config, request.machine
    prepare_trials(config, (*work.pretrainings, *work.cells), prepared)
    events = request.out / "tensorboard" if request.tensorboard else None
    context = context_of(config, prepared, store, machine, events)
    jobs = min(machine.jobs, len(tasks_of(work))) if machine.jobs and machine.engine == HERE else machine.jobs
    try:
        with (
            file_lock(store.lock),
            open_engine(machine.engine, jobs, machine.devices) as engine,
            GridProgress(console, work, store) as progress,
        ):
            return execute(work, context, engine, progress)
    except Locked as holder:
        raise ConfigError(
            f"{holder} works on {store.root} (see `status`): wait for its end, or name another folder with --results"
        ) from None


def machine_of(arguments: Namespace, config: Config) -> Machine:
    """The machine of a run. Raises ConfigError if a device is missing, or is not known of workers elsewhere."""
    engine = vars(arguments).get("engine") or HERE
    if engine != HERE:
        return machine_elsewhere(arguments, config)
    devices = devices_of(arguments)
    device = device_of(arguments)
    return Machine(device, pick_precision(config.precision, device), jobs_of(arguments, device, devices), HERE, devices)


def machine_elsewhere(arguments: Namespace, config: Config) -> Machine:
    """What the workers of a scheduler compute on, which this host need not have. Raises ConfigError if not told."""
    if arguments.devices:
        raise ConfigError("--devices is of --engine local: start a worker for each GPU, with its CUDA_VISIBLE_DEVICES")
    if arguments.device == "auto" or config.precision == "auto":
        raise ConfigError(
            f"--engine {arguments.engine}: say what the workers compute on and in: --device cpu or cuda, and "
            "--precision float32 or bf16"
        )
    device = torch.device(arguments.device)
    return Machine(device, config.precision, arguments.jobs, arguments.engine)


def run(arguments: Namespace, console: Console) -> int:
    """Results the missing part of the grid and report, or print its estimated cost (--dry-run)."""
    if arguments.only and arguments.dry_run:
        raise ConfigError("--only runs the cells of a key, and --dry-run counts those of a grid: leave one out")
    config = config_of(arguments)
    refuse_lone_windows(config, variants_of(config))  # before the data are prepared
    refuse_unusable(config)
    folders = folders_of(arguments)
    machine = machine_of(arguments, config)
    if arguments.tensorboard and find_spec("tensorboard") is None:
        raise ConfigError("--tensorboard needs an extra: pip install 'ecg-pretrain-bench[tensorboard]'")
    results, out = arguments.results, arguments.out
    for name in names_of(config):
        for text in patients_of(config, name):
            note(console, f"{config.data.source(name).title}: patients are {text}")
    if arguments.dry_run:
        print_dry_run(console, config, folders, machine, results)
        return OK
    request = GridRequest(
        config,
        folders,
        machine,
        results,
        out,
        only=tuple(arguments.only),
        allow_leak=arguments.allow_leak,
        unit=arguments.unit,
        further=tuple(arguments.scores),
        tensorboard=arguments.tensorboard,
    )
    return run_grid(request, console)
