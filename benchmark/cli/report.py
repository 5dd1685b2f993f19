"""The verb `report`: write tables from the results store, or compare two runs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark import screen as terminal
from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.screen import Console, note, print_paragraphs, print_sheet, print_table
from reports.archive import pack
from reports.build import Report, build_report
from reports.compare import Comparison, beside, compare, printed_lines, write_comparison
from reports.load import load
from reports.results import Results
from reports.tables.render import Sheet, score_sheet, text_sheet

HealthTold = dict[str, Any]
"""Columns and rows of the table of health, its legend and warnings."""


def report(arguments: Namespace, console: Console) -> int:
    """Write and print the tables of the latest run or of several merged, or what a flag asks for instead.

    Raises ConfigError if `--compare` has a flag of reports beside it.
    """
    if arguments.compare:
        if arguments.results or arguments.archive or arguments.beside or arguments.scores or arguments.unit == "both":
            raise ConfigError("--compare takes none of --results, --archive, --beside, --scores and --unit both")
        first, second = map(load, arguments.compare)
        for line in dict.fromkeys([*first.messages, *second.messages]):
            note(console, line)
        show_comparison(compare(first, second, arguments.unit), arguments.out, console)
        return OK
    results = load(arguments.results or ["runs"])
    for line in results.messages:
        note(console, line)
    if arguments.beside:
        unit = None if arguments.unit == "both" else arguments.unit
        show_comparison(beside(results, arguments.beside, unit), arguments.out, console)
        return OK
    show_report(
        results, arguments.out, arguments.unit, console, landscape=arguments.latex_landscape, further=arguments.scores
    )
    if arguments.archive:
        pack(results, arguments.archive)
        note(console, f"wrote {arguments.archive}: plan, rows, predictions and pretraining records, no signals")
    return OK


def show_comparison(comparison: Comparison, out: Path, console: Console) -> None:
    """Print a comparison and write its files under `out`."""
    for line in printed_lines(comparison):
        note(console, line)
    for file in write_comparison(comparison, out):
        note(console, f"wrote {file}")


def show_report(
    run: Results,
    out: Path,
    unit: str | None,
    console: Console,
    *,
    kept: bool = True,
    landscape: bool = False,
    further: Sequence[str] = (),
) -> Report:
    """Write and print the tables, failures and paths of written files; returns the report.

    kept: the store persists, so its traceback files can be named; else the HTML report is. landscape: LaTeX tables lie
    across the page. further: metrics of the main tables beside F1, AUROC and ACC.
    """

    built = build_report(run, out, unit=unit, landscape=landscape, further=list(dict.fromkeys(further)))
    print_sheets(sheets_of(built), console)
    for line, file in built.failures:
        there = f"; traceback in {file if kept else out / 'report.html'}" if file else ""
        note(console, f"failed: {line}{there}")
    for problem in built.problems:
        terminal.error(f"left out: {problem}")
    note(console, "")
    figures = [file for file in built.files if file.parent != out]
    for file in built.files:
        if file not in figures:
            note(console, f"wrote {file}")
    if figures:
        note(console, f"wrote {len(figures)} files of figures in {figures[0].parent}")
    return built


def sheets_of(built: Report) -> dict[str, list[Sheet]]:
    """The tables of a report for a terminal: 'plain' for one with colours, 'starred' for one without."""

    texts = [text_sheet(table) for table in built.beside]
    return {
        form: [*(score_sheet(table, starred=form == "starred") for table in built.tables), *texts]
        for form in ("plain", "starred")
    }


def print_sheets(sheets: Mapping[str, Iterable[Sheet]], console: Console) -> None:
    """Print the tables of `sheets_of` in the form that fits the console."""

    for sheet in sheets["starred" if console.color_system is None else "plain"]:
        print_sheet(console, *sheet)


def show_health(health: Mapping[str, Any], console: Console) -> None:
    """Print the health of the pretrainings (`HealthTold`): a table fitted to the width, its legend, and warnings."""

    print_table(console, health["columns"], [health["rows"]])
    print_paragraphs(console, [(line, "") for line in health["legend"]])
    for line in health["warnings"]:
        note(console, line)
