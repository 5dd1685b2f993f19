"""Implementation of the verb `run`: prepare the data, run the missing part of the grid, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.config.command_line.values import Place
from benchmark.config.command_line.verb import FAILED, OK
from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import skip_summary, write_skipped
from benchmark.data.readers.base import Dataset
from benchmark.results.files.write import is_read_only
from benchmark.results.plan import Plan
from benchmark.results.store import Store
from benchmark.results.tuned import Tuning
from benchmark.run.curves.tracking import tracking
from benchmark.run.data.cohorts import names_of
from benchmark.run.data.datasets import gate, open_data, prepare_data, with_columns
from benchmark.run.data.own import prepare_own
from benchmark.run.data.people import keep_people
from benchmark.run.engines.engine import Engine
from benchmark.run.estimate import exact_size
from benchmark.run.grid.earlier_keys import earlier_lines, other_ranks_lines
from benchmark.run.grid.make import make_grid
from benchmark.run.grid.unmatched import unmatched_lines
from benchmark.run.machine import Machine
from benchmark.run.plan import make_plan
from benchmark.run.runner import do
from benchmark.run.sweep import sweep, sweep_claims
from benchmark.run.tuning.chosen import changed_data
from benchmark.run.work.missing import Work, missing
from benchmark.run.work.setup import Setup
from benchmark.run.work.watch import Watch
from benchmark.screen import console as terminal
from benchmark.screen.console import Console, note
from benchmark.screen.progress import GridProgress
from benchmark.trackers.tracker import Tracker
from benchmark.verbs.report import HealthTold, sheets_of, show_health, show_report
from benchmark.verbs.run.costs import abreast_of, costs_of, earlier_rates, seconds_of
from benchmark.verbs.run.finished import Command, Ended, Trees, remember, trees
from benchmark.verbs.run.health import health_told
from benchmark.verbs.speed.record import SPEED_FILE
from reports.runs.run import Run, run_of


@dataclass(frozen=True)
class GridRequest:
    """Arguments of `run_grid`."""

    config: Config
    place: Place
    machine: Machine
    results: Path
    out: Path
    allow_leak: bool = False
    """Run although the audit found leaks."""
    unit: str | None = None
    """Unit of scoring; None: that of the protocol."""
    further: tuple[str, ...] = ()
    """Metrics of the main tables beside F1, AUROC and ACC."""
    landscape: bool = False
    """LaTeX tables across the page."""
    tunings: tuple[Tuning, ...] = ()
    """Those that the config's knobs are from, where a preset is `tuned`."""
    trackers: tuple[Tracker, ...] = ()
    """Where training curves go, besides the store."""
    command: Command | None = None
    """The command line, under which a finished run is remembered; None: it is not."""
    engine: Engine | None = None
    """Where tasks run; None: on this machine, `machine.jobs` at a time."""


def run_grid(asked: GridRequest, console: Console) -> int:
    """Prepare the data, run the missing part of the grid, report; returns the exit status. Raises DatasetError."""
    config, machine = asked.config, asked.machine
    sweep_all(asked, console)
    datasets = open_all(asked, console)
    data = trees(dataset.root for dataset in datasets)
    of_datasets = prepare_all(asked, datasets, console)
    prepared = with_columns(config, of_datasets)
    found = gate(config, prepared)
    if found.leaks and not asked.allow_leak:
        terminal.error(f"{'; '.join(found.leaks)}; `data check` tells more, --allow-leak runs all the same")
        return FAILED
    changed = changed_data(asked.tunings, {name: data.fingerprint for name, data in prepared.items()})
    doubts = [*found.unscored, *found.doubts, *changed]
    for line in doubts:
        note(console, f"warning: {line}")
    keep_groups(asked, datasets, prepared)
    store = Store(asked.results)
    forms = prepare_own(config, datasets, asked.place, console)
    grid = make_grid(config, prepared, machine, store, forms=forms)
    plan = make_plan(config, prepared, grid, [*found.leaks, *doubts], asked.tunings)
    work = missing(grid, store)
    save_plan(plan, store, work, console)
    for line in work.damaged:
        note(console, f"damaged, will be done again: {line}")
    cells = len({cell.key for cell in grid.cells})  # a cell may be in several tables
    counts = f"{cells} cells on {len(grid.pretrainings)} encoders"
    note(console, f"{counts}: {cells - len(work.cells)} done, {len(work.cells)} to do")
    told = *earlier_lines(grid), *unmatched_lines(work.cells, grid, store), *other_ranks_lines(work.pretrainings, store)
    for line in told:
        note(console, line)
    failures = work_off(work, prepared, store, asked, console)
    if work.cells and asked.engine and asked.engine.detached:
        return OK
    if not work.cells:
        note(console, "nothing to do: every cell is in the store")
    run = run_of(store, plan, asked.results)
    report = show_report(run, asked.out, asked.unit, console, landscape=asked.landscape, further=asked.further)
    health = health_told(grid, store)
    show_health(health, console)
    if run.rows.keys() == {cell.key for cell in grid.cells} and not report.problems:
        said = [*map(prepared_line, of_datasets.values()), *(f"warning: {line}" for line in doubts)]
        roots = [dataset.root for dataset in datasets]
        lines = [*said, f"{counts}: {cells} done, 0 to do"]
        remember_run(asked, run, lines, sheets_of(report), health, roots, data)
    if failures:
        terminal.error(f"{failures} tasks failed; the same command tries them again")
    return FAILED if failures else OK


def save_plan(plan: Plan, store: Store, work: Work, console: Console) -> None:
    """Store the plan; where nothing can be written and nothing is to do, go on with a note. Raises OSError else."""
    try:
        store.save_plan(plan)
    except OSError as error:
        if work.cells or not is_read_only(error):
            raise
        note(console, f"{store.root} cannot be written to ({error.strerror}); its results are only shown")


def sweep_all(asked: GridRequest, console: Console) -> None:
    """Remove what killed runs left in the store, the cache, the tables and the simulated data."""
    place = asked.place
    swept = sweep({asked.results: 2, place.cache: 1, place.simulated: 1, asked.out: 1})
    for folder in (asked.results, place.cache, place.simulated):
        sweep_claims(folder)
    if swept:
        note(console, f"removed {len(swept)} unfinished files and folders of processes that ended")


def open_all(asked: GridRequest, console: Console) -> list[Dataset]:
    """The datasets, simulated first if necessary."""
    return [open_data(asked.config, name, asked.place, console) for name in names_of(asked.config)]


def prepare_all(asked: GridRequest, datasets: Sequence[Dataset], console: Console) -> dict[str, Prepared]:
    """Each dataset by name, prepared if necessary; prints a line for each."""
    config, place = asked.config, asked.place
    prepared = {}
    for dataset in datasets:
        prepared[dataset.name] = prepare_data(dataset, config, place, console)
        note(console, prepared_line(prepared[dataset.name]))
    try:
        write_skipped({name: data.skipped for name, data in prepared.items()}, asked.out / "skipped.csv")
    except OSError as error:
        if not is_read_only(error):
            raise
        note(console, f"{error.filename} is not written ({error.strerror})")
    return prepared


def keep_groups(asked: GridRequest, datasets: Sequence[Dataset], columns: Mapping[str, Prepared]) -> None:
    """Keep sex and age band of each column's recordings in the store, for scores of subgroups."""
    by_name = {dataset.name: dataset for dataset in datasets}
    for column in asked.config.data.columns():
        own = columns[column.name]
        keep_people(by_name[column.dataset], own.entries, asked.results, own.fingerprint)


def prepared_line(prepared: Prepared) -> str:
    """Size of a dataset, and the number of skipped recordings by reason."""
    patients = len({entry.patient for entry in prepared.entries})
    word = prepared.segmentation.word
    line = (
        f"{prepared.title}: {len(prepared.entries)} recordings of {patients} patients, {prepared.window_count} {word}s"
    )
    if not prepared.skipped:
        return line
    reasons = "; ".join(f"{count} {reason}" for reason, count in skip_summary(prepared.skipped).items())
    return f"{line}; skipped {len(prepared.skipped)} ({reasons})"


def work_off(work: Work, prepared: dict[str, Prepared], store: Store, asked: GridRequest, console: Console) -> int:
    """Run the work, if any, under a progress display, with its curves; returns the number of failed tasks."""
    config, machine = asked.config, asked.machine
    with tracking(asked.trackers, work.grid, store, asked.out, lambda line: note(console, line)) as tracked:
        if not work.cells:
            return 0
        sizes = {data.dataset_name: exact_size(data) for data in prepared.values()}
        _, seconds = seconds_of(config, asked.out / SPEED_FILE, machine, sizes, abreast_of(work, machine))
        earlier = earlier_rates(work, seconds, store)
        with GridProgress(console, costs_of(work, seconds, machine), earlier=earlier) as progress:
            watch = Watch(
                progress.started,
                progress.inner,
                progress.finished,
                progress.failed,
                progress.elsewhere,
                progress.waiting,
                progress.note,
                tracked.learned,
                tracked.stored,
            )
            return do(work, Setup(config, prepared, store, machine, watch), asked.engine, seconds)


def remember_run(
    asked: GridRequest,
    run: Run,
    lines: Sequence[str],
    sheets: Mapping[str, Any],
    health: HealthTold,
    roots: Sequence[Path],
    data: Trees,
) -> None:
    """Keep a finished run, so that the same command can tell it again; not one with tuned knobs or trackers."""
    if asked.command is None or asked.tunings or asked.trackers:
        return
    encoders = sorted({row.pretrain_key for row in run.rows.values() if row.pretrain_key})
    config = asked.config.model_dump(mode="json")
    remember(asked.command, Ended(run.plan.key, config, sorted(run.rows), encoders, roots, lines, sheets, health), data)
