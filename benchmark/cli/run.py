"""The command `run`: prepare the data, run the missing part of the grid, report; or print its cost (--dry-run)."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmark import screen as terminal
from benchmark.cli.dry_run import dry_run
from benchmark.cli.main import FAILED, OK, USAGE, Request, config_of, folders_of, machine_of
from benchmark.cli.refusals import are_refused, in_use, select_keys
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import Dataset
from benchmark.data.prepare import Prepared, skip_summary, write_index, write_skipped
from benchmark.machine import Machine
from benchmark.results.files import (
    Locked,
    digest,
    digested_json,
    file_digest,
    file_lock,
    read_digested_json,
    remove_stale,
    write_atomic,
)
from benchmark.results.names import RECORD_FILE, command, counted
from benchmark.results.store import Failure, Plan, Store
from benchmark.run.datasets import (
    audit_run,
    external_forms,
    joins_of,
    locate,
    make_plan,
    names_of,
    patients_of,
    prepare_data,
    prepare_trials,
    refuse_unusable,
    with_columns,
)
from benchmark.run.engine import open_engine
from benchmark.run.grid import Context, make_grid
from benchmark.run.pretraining import measure_again, probe_windows_of
from benchmark.run.progress import GridProgress
from benchmark.run.rows import missing_twins, refuse_lone_windows, variants_of
from benchmark.run.tasks import Work, context_of, execute, missing
from benchmark.run.unsound import remove_unsound
from benchmark.screen import Console, note

PRINTED = ".report.json"
"""File beside the tables: a digest of their inputs, and the text that was printed."""
REPORTS = Path(__file__).resolve().parents[2] / "reports"


def run(arguments: Namespace, console: Console) -> int:
    """Run a grid or print its cost; returns the exit status. Raises ConfigError before any work, DatasetError."""
    request = request_of(arguments, console)
    if arguments.dry_run:
        return dry_run(request, console)
    if are_refused(request):
        return USAGE
    store = Store(arguments.results)
    with sole_command(store):
        plan, failures = run_missing(request, console)
        reported = is_reported(plan, store, arguments, console)
    if failures:
        terminal.error(f"{counted(failures, 'task')} failed; the same command tries again")
    return FAILED if failures or not reported else OK


def request_of(arguments: Namespace, console: Console) -> Request:
    """Make the request of a run; print what counts as a patient, and which rows have no twin. Raises ConfigError."""
    config = config_of(arguments)
    refuse_lone_windows(config, variants_of(config))  # before the data are prepared
    refuse_unusable(config)
    for name in names_of(config):
        for text in patients_of(config, name):
            note(console, f"{config.data.source(name).title}: patients are {text}")
    for text in missing_twins(config):
        note(console, text)
    return Request(config, folders_of(arguments), machine_of(arguments, config), arguments)


def run_missing(request: Request, console: Console) -> tuple[Plan, int]:
    """Prepare the data and run the missing part of the grid; returns its plan and the number of failed tasks.

    Raises DatasetError for data that cannot be used.
    """
    config, folders, machine, arguments = request
    store = Store(arguments.results)
    datasets = [locate(config, name, folders) for name in names_of(config)]
    prepared, warnings = prepare_all(request, datasets, console)
    forms = external_forms(config, datasets, lambda data, cut: prepare_data(data, config, folders, console, cut))
    grid = make_grid(config, prepared, machine, forms=forms)
    if arguments.only:
        grid = select_keys(grid, arguments.only, store)
    probe = probe_windows_of(config, prepared, torch.device("cpu"))
    used = [*prepared.values(), *forms.values()]
    used += [member for data in used for member, _ in data.members]
    folders_used = [*(one.key for one in grid.pretrainings), *sorted({data.folder.name for data in used})]
    plan = make_plan(config, prepared, grid, warnings, probe.source)
    plan = replace(plan, command=arguments.line, folders=folders_used)
    for line in remove_unsound(grid, prepared[config.data.pretrain], prepared, forms, store):
        note(console, line)
    work = missing(grid, store)
    store.save_plan(plan)
    cells = len(grid.distinct_cells())
    counts = f"{counted(cells, 'cell')} on {counted(len(grid.pretrainings), 'encoder')}"
    note(console, f"{counts}: {cells - len(work.cells)} done, {len(work.cells)} to do")
    needed = {pretraining.key for cell in work.cells for pretraining in cell.pretrainings}
    if again := [one.key for one in work.pretrainings if one.key not in needed]:
        note(
            console, f"{counted(len(again), 'encoder')} of done cells, as {again[0]}: not there or damaged, made again"
        )
    events = arguments.out / "tensorboard" if arguments.tensorboard else None
    context = context_of(config, prepared, store, machine, events)
    failures = work_off(work, context, prepared, machine, console)
    measure_again(probe, config, grid, store)
    return plan, failures


@contextmanager
def sole_command(store: Store) -> Iterator[None]:
    """Hold the lock of a store: one command at a time works on it.

    Raises ConfigError while another command works on it, OSError where it cannot be written.
    """
    try:
        with file_lock(store.lock):
            yield
    except Locked as holder:
        raise ConfigError(in_use(store, str(holder))) from None


def prepare_all(
    request: Request, datasets: Sequence[Dataset], console: Console
) -> tuple[dict[str, Prepared], list[str]]:
    """Return what is prepared of the datasets of a run, of joins and of columns, and the warnings.

    Prints a line for each. Raises DatasetError for data that cannot be used, and for a leak that is not allowed.
    """
    config, folders, _, arguments = request
    remove_stale({arguments.results: 2, folders.cache: 1, arguments.out: 1})
    prepared = {}
    for dataset in datasets:
        prepared[dataset.name] = prepare_data(dataset, config, folders, console)
        note(console, prepared_line(prepared[dataset.name]))
    for joined in joins_of(config, prepared, folders.cache):
        write_index(joined)
        prepared[joined.name] = joined
        note(console, prepared_line(joined))
    write_skipped({name: data.skipped for name, data in prepared.items()}, arguments.out / "skipped.csv")
    prepared = with_columns(config, prepared)
    warnings = audit_run(config, prepared, allow_leak=vars(arguments).get("allow_leak", False))
    for line in warnings:
        note(console, f"warning: {line}")
    return prepared, warnings


def prepared_line(prepared: Prepared) -> str:
    """Write the size of a dataset, and the number of its skipped recordings by reason."""
    patients = len({*prepared.recordings.patient})
    line = (
        f"{prepared.title}: {counted(prepared.usable, 'recording')} of {counted(patients, 'patient')}, "
        f"{counted(prepared.window_count, prepared.segmentation.unit_name)}"
    )
    reasons = "; ".join(f"{count} {reason}" for reason, count in skip_summary(prepared.skipped).items())
    return f"{line}; skipped {len(prepared.skipped)} ({reasons})" if reasons else line


def work_off(work: Work, context: Context, prepared: Mapping[str, Prepared], machine: Machine, console: Console) -> int:
    """Run the work, if any, under a progress display; returns the number of failed pretrainings and cells.

    Raises ConfigError for an engine without workers that can be used, EngineLost where its scheduler ends.
    """
    for line in work.damage:
        note(console, line)
    if not work.cells and not work.pretrainings:
        return 0
    prepare_trials(context.config, prepared)
    with (
        open_engine(machine.engine, machine.jobs, machine.devices) as engine,
        GridProgress(console, work, context.store) as progress,
    ):
        execute(work, context, engine, progress)
        return progress.failed.total()


def is_reported(plan: Plan, store: Store, arguments: Namespace, console: Console) -> bool:
    """Write and print the report; where that fails, say which command does it, and return False."""
    try:
        report_on(plan, store, arguments, console)
        return True
    except Exception as error:
        unit = ["--unit", arguments.unit] if arguments.unit else []
        scores = ["--scores", *arguments.scores] if arguments.scores else []
        flags = ["--results", str(store.root), "--out", str(arguments.out), *unit, *scores]
        terminal.error(
            f"the report failed, {Failure.from_error(error).line}; all results are kept in {store.root}, and "
            f"`{command()} report {shlex.join(flags)}` writes the report again"
        )
        return False


def report_on(plan: Plan, store: Store, arguments: Namespace, console: Console) -> None:
    """Write and print the report; where none of its inputs has changed, print the earlier text again."""
    printed = arguments.out / PRINTED
    before: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        before = read_digested_json(printed)
    if before.get("made_of") == made_of(plan, store, arguments):
        note(console, before["text"].removesuffix("\n"))
        return
    note(console, "writing tables and figures")
    from benchmark.cli.report import show_report  # here, because a finished run needs no report
    from reports.results import run_of

    console.record = True
    show_report(run_of(store, plan, store.root), arguments.out, arguments.unit, console, arguments.scores)
    content = {"text": console.export_text(), "made_of": made_of(plan, store, arguments)}
    console.record = False
    write_atomic(printed, digested_json(content))


def made_of(plan: Plan, store: Store, arguments: Namespace) -> str:
    """Digest the inputs of a report, plan, flags, stored files and code, and the files that it wrote."""
    read = sorted([*REPORTS.rglob("*.py"), *store.cells.glob("*"), *store.pretrained.glob(f"*/{RECORD_FILE}")])
    stamps = [[str(file), file.stat().st_mtime_ns] for file in read]
    written = sorted([*arguments.out.glob("[!.]*.*"), *arguments.out.glob("figures/[!.]*.*")])
    contents = [[str(file), file_digest(file)] for file in written]
    return digest([plan.key, plan.warnings, plan.health_windows, arguments.unit, arguments.scores, stamps, contents])
