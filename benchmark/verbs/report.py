"""The verb `report`: write tables from the results store, or compare two runs."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.config.command_line.flags import DATA, REPORTED, RESULTS, WHERE, shared
from benchmark.config.command_line.paths import file_to_write, results_named
from benchmark.config.command_line.values import parse_data
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.config.errors import ConfigError, unknown
from benchmark.screen import console as terminal
from benchmark.screen.console import Console, note

if TYPE_CHECKING:
    from reports.build import Report
    from reports.runs.run import Run
    from reports.tables.terminal import Sheet

HealthTold = dict[str, Any]
"""columns and rows of the table of health, legend, warnings: plain values, which are kept with a finished run."""
MOST_ROWS = 20
"""Rows of a block of a leaderboard that are printed; the files have all."""


def report(arguments: Namespace, console: Console) -> int:
    """Write and print the tables of the latest run or of several merged; or compare two, or all on a leaderboard."""
    if arguments.leaderboard:
        return leaderboard(arguments, console)
    if arguments.compare:
        return compare(arguments, console)
    paths = parse_data(arguments.data)
    from reports.runs.capsule import pack  # here, because pandas loads slowly
    from reports.runs.open import open_results

    sources = arguments.results or [RESULTS]
    with open_results(sources) as opened:
        run = opened.run
        for line in opened.said:
            note(console, line)
        if arguments.data_root or paths:
            see_people(run, arguments.data_root, paths, console)
        kept = run.store.root in {Path(name) for source in sources for name in (source, source.rpartition("@")[0])}
        show_report(
            run,
            arguments.out,
            arguments.unit,
            console,
            kept=kept,
            landscape=arguments.latex_landscape,
            further=arguments.scores,
        )
        if arguments.capsule:
            contents = pack(run, arguments.capsule)
            note(console, f"wrote {arguments.capsule} (no signals; contents {contents})")
    return OK


def see_people(run: Run, data_root: Path | None, paths: Mapping[str, Path], console: Console) -> None:
    """Add the sex and age band of the recordings in the given folders to the store, for scores of subgroups.

    Raises ConfigError for a folder of other data or of a dataset that the run has not, DatasetError for a missing one.
    """
    from benchmark.config.sections.data import Data  # here, because the readers load slowly
    from benchmark.data.readers.registry import find_root
    from benchmark.run.data.people import add_people
    from reports.runs.run import tested_recordings

    try:
        data = Data.model_validate_json(json.dumps(run.plan.config["data"]))
    except ValueError as error:
        raise ConfigError(f"{run.name}: the plan's section data is none of this version ({error})") from None
    tested = [data.column(name).dataset for name in run.plan.datasets]
    for name in paths:
        if name not in tested:
            raise ConfigError(f"--data: {unknown('dataset', name, tested)}, in {run.name}")
    for name in run.plan.datasets:
        dataset_name = data.column(name).dataset
        if data_root or dataset_name in paths:
            source = data.source(dataset_name)
            dataset = source(find_root(source, data_root, paths))
            count = add_people(dataset, tested_recordings(run, name), run.store.root)
            note(console, f"{dataset.title}: sex and age band of {count} recordings are in {run.store.root}")


def compare(arguments: Namespace, console: Console) -> int:
    """Run `--compare`. Raises ConfigError if a flag of reports alone is also given."""
    from benchmark.screen.tables import print_sheet  # here, because --help has no use for it and pandas loads slowly
    from reports.compare.write import compare_results, comparison_sheet

    given = arguments.results or arguments.capsule or arguments.scores or arguments.latex_landscape
    if given or arguments.unit == "both":
        raise ConfigError("--compare takes neither --results, --capsule, --scores, --latex-landscape nor --unit both")
    first, second = arguments.compare
    found = compare_results(first, second, arguments.out, unit=arguments.unit)
    for line in found.said:
        note(console, line)
    print_sheet(console, *comparison_sheet(found.comparison))
    note(console, "")
    for file in found.files:
        note(console, f"wrote {file}")
    return OK


def leaderboard(arguments: Namespace, console: Console) -> int:
    """Run `--leaderboard`. Raises ConfigError if a flag of other reports is also given."""
    from benchmark.screen.tables import print_table  # here, because --help has no use for it and pandas loads slowly
    from reports.leaderboard.text import counts, sentence_of, top_lines
    from reports.leaderboard.write import write_leaderboard

    if arguments.compare or arguments.capsule or arguments.scores or arguments.latex_landscape:
        raise ConfigError("--leaderboard takes neither --compare, --capsule, --scores nor --latex-landscape")
    written = write_leaderboard(arguments.results or [RESULTS], arguments.out, unit=arguments.unit)
    board = written.board
    for line in (counts(board), *board.warnings):
        note(console, line)
    columns = [("", "method", "label"), ("", "submission", "label"), ("", "rank", "right"), ("", "overall", "right")]
    for block in board.blocks:
        note(console, "")
        note(console, f"{block.title}: {sentence_of(block)}")
        print_table(console, columns, [top_lines(block, MOST_ROWS)])
    for own in board.listed:
        note(console, f"not compared: {own.submission}: {own.what}: {own.reason}")
    for file in written.files:
        note(console, f"wrote {file}")
    return OK


def show_report(
    run: Run,
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
    from reports.build import build_report  # here, because --help has no use for it and pandas loads slowly

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
    from reports.tables.terminal import score_sheet, text_sheet

    texts = [text_sheet(table) for table in built.beside]
    return {
        form: [*(score_sheet(table, starred=form == "starred") for table in built.tables), *texts]
        for form in ("plain", "starred")
    }


def print_sheets(sheets: Mapping[str, Iterable[Sheet]], console: Console) -> None:
    """Print the tables of `sheets_of` in the form that fits the console."""
    from benchmark.screen.tables import print_sheet

    for sheet in sheets["starred" if console.color_system is None else "plain"]:
        print_sheet(console, *sheet)


def show_health(health: Mapping[str, Any], console: Console) -> None:
    """Print the health of the pretrainings (`HealthTold`): a table fitted to the width, its legend, and warnings."""
    from benchmark.screen.tables import print_paragraphs, print_table

    print_table(console, health["columns"], [health["rows"]])
    print_paragraphs(console, [(line, "") for line in health["legend"]])
    for line in health["warnings"]:
        note(console, line)


def show_again(
    lines: Iterable[str], sheets: Mapping[str, Iterable[Sheet]], health: Mapping[str, Any], out: Path, console: Console
) -> None:
    """Print lines, the tables of a report that stands as it was written, and the health of its pretrainings."""
    for line in lines:
        note(console, line)
    print_sheets(sheets, console)
    note(console, "nothing to do: every cell is in the store")
    note(console, f"what the tables rest on is as it was, and so is every file in {out}: nothing is written again")
    show_health(health, console)


REPORT = Verb(
    "write the tables of the latest run again, from the results store alone",
    report,
    {
        "--results": Flag(
            WHERE,
            f"results store ({RESULTS}), capsule, or DIR@KEY for one run; several are put together",
            how={"nargs": "+", "type": results_named, "metavar": "DIR|FILE"},
        ),
        **shared(*DATA, "--out", "--unit", "--scores", "--latex-landscape"),
        "--capsule": Flag(
            REPORTED, "pack the results reported, without signals", how={"type": file_to_write, "metavar": "FILE"}
        ),
        "--compare": Flag(
            REPORTED,
            "hold two results stores, capsules or runs together",
            how={"nargs": 2, "type": results_named, "metavar": "RUN"},
        ),
        "--leaderboard": Flag(
            REPORTED,
            "one page of the rows of all --results, which need not be of one config",
            how={"action": "store_true"},
        ),
    },
    examples={
        "report --unit recording": "the tables again, per recording",
        "report --scores auprc ece": "further columns of the main table, from the stored predictions",
        "report --data-root /data": "scores by sex and age of rows computed before these were kept",
        "report --capsule mine.zip": "results to send around, without signals",
        "report --compare runs theirs.zip": "two of them side by side",
        "report --results capsules/*.zip --leaderboard": "the rows of many submissions on one page",
    },
)
