"""Writes all files of a report: tables (results.md, .tex, .csv), cells, statistics, figures and the HTML page.

The files depend on the rows alone: the same rows give the same bytes, whether computed in one run or in several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files import write_atomic
from benchmark.results.names import BOTH, UNIT_OF_PROTOCOL, UNITS
from reports.figures.kept import figures_in
from reports.html import pictures_of, read_skipped, report_html
from reports.runs.failures import unfinished
from reports.runs.kept import kept_in
from reports.runs.planned_tables import evaluations_of, layouts
from reports.runs.run import Run, wide
from reports.statistics.columns import UnequalTestSets
from reports.statistics.of_table import TableStatistics, joined, statistics_of
from reports.tables.captions import cell_names
from reports.tables.costs import cost_files, cost_lines
from reports.tables.table import Table, make_table, table_name
from reports.tables.text import latex, long_csv, markdown


@dataclass(frozen=True)
class Report:
    """The report of a run."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """One line per damaged row, per table without statistics and per figure that could not be drawn."""
    failures: tuple[tuple[str, Path | None], ...]
    """Per error: one line with its cells and the error; the file with the first cell's traceback, None without one."""


def build_report(run: Run, out: Path, *, unit: str | None = None) -> Report:
    """Write the tables of a run, one per layout and score unit, with statistics, figures and the page, under `out`.

    unit: 'heartbeat', 'recording' or 'both'; by default the protocol's own (paper: heartbeat, strict: recording).
    Raises ValueError for an unknown unit.
    """
    if unit not in (None, BOTH, *UNITS):
        raise ValueError(f"score unit {unit!r} is not known: choose {', '.join(UNITS)} or {BOTH}")
    units = UNITS if unit == BOTH else (unit or UNIT_OF_PROTOCOL[run.plan.config["protocol"]],)
    kept = kept_in(out, run)
    tables: list[Table] = []
    statistics: dict[str, TableStatistics] = {}
    problems: list[str] = []
    for layout in (layout for evaluation in evaluations_of(run.plan) for layout in layouts(run.plan, evaluation)):
        for chosen in units:
            name = table_name(layout, chosen)
            try:
                statistics[name] = statistics_of(run, layout, chosen, kept)
            except UnequalTestSets as problem:
                problems.append(f"statistics of {name}: {problem}")
            tables.append(make_table(run, layout, chosen, statistics.get(name)))
    drawn = figures_in(run, out, units, kept)
    problems += drawn.problems
    costs = cost_lines(run.cards, run.plan.variants)
    contents = {
        "results.md": "# Results\n\n" + "\n".join(map(markdown, tables)),
        "results.tex": latex(tables),
        "results.csv": long_csv(tables),
        "cells.csv": wide(run).to_csv(index=False, lineterminator="\n"),
        **{f"{what}.csv": joined(statistics, what) for what in ("intervals", "pairwise", "components")},
        **(cost_files(costs) if costs else {}),
        "report.html": report_html(
            run,
            tables,
            statistics,
            skipped=read_skipped(out / "skipped.csv"),
            pictures=pictures_of(drawn.files),
            problems=problems,
        ),
    }
    for name, text in contents.items():
        write_atomic(out / name, text.encode())
    files = (*(out / name for name in contents), *drawn.files)
    return Report(tuple(tables), files, (*run.damaged.values(), *problems), tuple(_failures(run)))


def _failures(run: Run) -> Iterator[tuple[str, Path | None]]:
    for found in unfinished(run, run.plan.cells):
        if found.state == "failed":
            names = "; ".join(cell_names(run.plan, found.cells))
            file = run.store.failure_file(found.cells[0].key) if found.traceback else None
            yield f"{names}: {found.error}", file
