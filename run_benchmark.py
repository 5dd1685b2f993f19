"""Compare contrastive pretraining methods for ECG. The one place that knows every part: parse, run, report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmark.config.command_line import Command, Place, parse
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.skipped import skip_summary, write_skipped
from benchmark.data.readers.base import DatasetError
from benchmark.machine.device import pick_device, pick_precision
from benchmark.machine.memory import keep_freed_memory
from benchmark.results.store import NoResults, Store
from benchmark.run.cohorts import names_of
from benchmark.run.estimate import exact_size, passes
from benchmark.run.grid import Cell, Grid, Pretraining
from benchmark.run.pretraining import health_of
from benchmark.run.runner import Machine, Watch, Work, do, make_grid, make_plan, missing, task_name
from benchmark.screen import console as terminal
from benchmark.screen.console import Console, note, open_console
from benchmark.screen.progress import GridProgress, step
from benchmark.screen.tables import print_sheet
from benchmark.training.compiled import require_compiler
from benchmark.training.health import health_lines, health_warnings
from benchmark.verbs.data import gate, look_up, open_data, prepare_data, print_check, print_summary
from benchmark.verbs.dry_run import print_dry_run, sizes_of, unkeyed_grid
from benchmark.verbs.list import listing
from reports.build import build_report
from reports.compare.write import compare_results, comparison_sheet
from reports.runs.capsule import pack
from reports.runs.open import open_results
from reports.tables.terminal import score_sheet

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status."""
    keep_freed_memory()
    console = open_console()
    try:
        command = parse(sys.argv[1:] if argv is None else argv)
        if command.verb == "list":
            return list_all(console)
        if command.verb == "report":
            return report(command, console)
        if command.verb == "data":
            return look_at_data(command, console)
        if command.verb == "verify-paper":
            return verify(command, console)
        if command.verb == "check-method":
            return check(command, console)
        if command.verb == "speed":
            return speed(command, console)
        return run(command, console)
    except (ConfigError, DatasetError) as problem:
        terminal.error(str(problem))
        return USAGE
    except OSError as problem:
        terminal.error(f"{problem.filename or 'a file'}: {problem.strerror or problem}; is the place writable?")
        return USAGE
    except NoResults as problem:
        terminal.error(str(problem))
        return FAILED
    except KeyboardInterrupt:
        terminal.error("stopped; what is finished is saved, and the same command goes on from there")
        return INTERRUPTED


def run(command: Command, console: Console) -> int:
    """Prepare the data, do what is missing of the grid, and report."""
    config, place = command.config, command.place
    machine = machine_of(config, place)
    if command.dry_run:
        print_dry_run(console, config, place, machine)
        return OK
    prepared = prepare_all(config, place, console)
    found = gate(config, prepared)
    if found.leaks and not command.allow_leak:
        terminal.error(f"{'; '.join(found.leaks)}; `data check` tells more, --allow-leak runs all the same")
        return FAILED
    for line in found.unscored:
        note(console, f"warning: {line}")
    grid = make_grid(config, prepared, machine)
    store = Store(place.results)
    plan = make_plan(config, prepared, grid, [*found.leaks, *found.unscored])
    store.save_plan(plan)
    work = missing(grid, store)
    for line in work.damaged:
        note(console, f"damaged, will be done again: {line}")
    cells = len({cell.key for cell in grid.cells})  # one may stand in several tables
    counts = f"{cells} cells on {len(grid.pretrainings)} encoders"
    note(console, f"{counts}: {cells - len(work.cells)} done, {len(work.cells)} to do")
    failures = work_off(work, config, prepared, store, machine, console) if work.cells else 0
    if not work.cells:
        note(console, "nothing to do: every cell is in the store")
    show_report(place, plan.key, command.unit, console)
    show_health(grid, store, console)
    if failures:
        terminal.error(f"{failures} tasks failed; the same command tries them again")
    return FAILED if failures else OK


def machine_of(config: Config, place: Place) -> Machine:
    """What a run computes with. Raises ConfigError where it shall compile and cannot."""
    device = pick_device(place.device)
    if config.compile:
        require_compiler(device)
    return Machine(device, pick_precision(config.precision, device), place.jobs, config.compile)


def prepare_all(config: Config, place: Place, console: Console) -> dict[str, Prepared]:
    """Every dataset of a run, simulated and prepared where that has not been done; says what was skipped."""
    datasets = [open_data(config, name, place, console) for name in names_of(config)]
    prepared = {}
    for dataset in datasets:
        prepared[dataset.name] = prepare_data(dataset, config, place, console)
        note(console, prepared_line(prepared[dataset.name]))
    write_skipped({name: data.skipped for name, data in prepared.items()}, place.out / "skipped.csv")
    return prepared


def prepared_line(prepared: Prepared) -> str:
    """What a dataset holds, and how many recordings were skipped and why."""
    patients = len({entry.patient for entry in prepared.entries})
    word = prepared.segmentation.word
    line = (
        f"{prepared.title}: {len(prepared.entries)} recordings of {patients} patients, {len(prepared.windows)} {word}s"
    )
    if not prepared.skipped:
        return line
    reasons = "; ".join(f"{count} {reason}" for reason, count in skip_summary(prepared.skipped).items())
    return f"{line}; skipped {len(prepared.skipped)} ({reasons})"


def work_off(
    work: Work, config: Config, prepared: dict[str, Prepared], store: Store, machine: Machine, console: Console
) -> int:
    """Do the work under a progress display; returns how many tasks failed."""
    sizes = {name: exact_size(data) for name, data in prepared.items()}
    tasks: list[Pretraining | Cell] = [*work.pretrainings, *work.cells]
    costs = {task_name(task): passes(task, config, sizes) for task in tasks}
    with GridProgress(console, costs) as progress:
        watch = Watch(progress.started, progress.inner, progress.finished, progress.failed)
        return do(work, config, prepared, store, machine, watch)


def report(command: Command, console: Console) -> int:
    """Tables of stored results, from the stores alone, or two runs held against each other."""
    if command.compare:
        return compare(command, console)
    with open_results(command.sources) as opened:
        run = opened.run
        for line in opened.said:
            note(console, line)
        place = replace(command.place, results=run.store.root)
        kept = place.results in {
            Path(name) for source in command.sources for name in (source, source.rpartition("@")[0])
        }
        show_report(place, run.results.plan.key, command.unit, console, kept=kept)
        if command.capsule:
            contents = pack(run, command.capsule)
            note(console, f"wrote {command.capsule} (no signals; contents {contents})")
    return OK


def compare(command: Command, console: Console) -> int:
    """The flag --compare of `report`."""
    first, second = command.compare
    found = compare_results(first, second, command.place.out, unit=command.unit)
    for line in found.said:
        note(console, line)
    print_sheet(console, *comparison_sheet(found.comparison))
    note(console, "")
    for file in found.files:
        note(console, f"wrote {file}")
    return OK


def show_report(place: Place, plan_key: str | None, unit: str | None, console: Console, *, kept: bool = True) -> None:
    """Write the tables, print them, say what failed and where the files are; kept: the results stay where they are."""
    built = build_report(place.results, place.out, plan_key=plan_key, unit=unit)
    for table in built.tables:
        print_sheet(console, *score_sheet(table, starred=console.color_system is None))
    for line, file in built.failures:
        note(console, f"failed: {line}; traceback in {file if kept else place.out / 'report.html'}")
    for problem in built.problems:
        terminal.error(f"left out: {problem}")
    note(console, "")
    figures = [file for file in built.files if file.parent != place.out]
    for file in built.files:
        if file not in figures:
            note(console, f"wrote {file}")
    if figures:
        note(console, f"wrote {len(figures)} files of figures in {figures[0].parent}")


def show_health(grid: Grid, store: Store, console: Console) -> None:
    """Say what the pretrainings learned, and which of them went wrong."""
    health = health_of(grid, store)
    note(console, "")
    for line in health_lines(health):
        note(console, line)
    for name, epochs in health.items():
        for line in health_warnings(name, epochs):
            note(console, f"warning: {line}")


def look_at_data(command: Command, console: Console) -> int:
    """The verb `data`."""
    if command.action == "show":
        return show_recording(command, console)
    fine = print_summary(command, console) if command.action == "summary" else print_check(command, console)
    return OK if fine else FAILED


def show_recording(command: Command, console: Console) -> int:
    """Draw one recording as a 12-lead sheet."""
    from reports.figures.draw import (
        twelve_lead_sheet,  # here, because matplotlib loads slowly and nothing else needs it
    )

    found = look_up(command, console)
    path = command.place.out / found.file_name
    twelve_lead_sheet(found.signal, found.fs, found.title, found.r_peaks, path)
    note(console, f"wrote {path}")
    return OK


def verify(command: Command, console: Console) -> int:
    """The verb `verify-paper`: the paper's numbers and claims, and the results store beside them."""
    from reports.paper.write import audit_sheet, verify_paper  # here, because scipy.stats loads slowly

    found = verify_paper(command.place.out, command.place.results)
    print_sheet(console, *audit_sheet(found.audit))
    note(console, "")
    for file in found.files:
        note(console, f"wrote {file}")
    return OK


def check(command: Command, console: Console) -> int:
    """The verb `check-method`: one line per promise."""
    from benchmark.verbs.contract.check import check_method  # here, because no other verb needs it

    kind = command.config.method_class(command.subject)
    kept = True
    for verdict in check_method(kind):
        note(console, str(verdict))
        kept &= verdict.kept
    return OK if kept else FAILED


def speed(command: Command, console: Console) -> int:
    """The verb `speed`."""
    from benchmark.verbs.speed.measure import FULL, QUICK, measure_speed  # here, because no other verb needs them
    from benchmark.verbs.speed.record import save_speed
    from benchmark.verbs.speed.report import hours_line, print_speed

    config, place = command.config, command.place
    machine = machine_of(config, place)
    sizes, _ = sizes_of(config, place)
    with step(console, "measuring") as progress:
        found = measure_speed(config, machine, QUICK if command.quick else FULL, progress)
    print_speed(console, found)
    save_speed(found, place.out / "speed.json")
    grid = unkeyed_grid(config, machine)
    note(console, hours_line(config, [*grid.pretrainings, *grid.cells], sizes, found, machine.jobs))
    note(console, f"wrote {place.out / 'speed.json'}")
    return OK


def list_all(console: Console) -> int:
    """The verb `list`."""
    for line in listing():
        note(console, line)
    return OK


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parent
    foreign = Path(sys.modules["methods"].__file__ or "").resolve().parent.parent
    if foreign != checkout:
        sys.exit(f"another package named `methods` ({foreign}) hides this checkout's: remove it from PYTHONPATH")
    sys.exit(main())
