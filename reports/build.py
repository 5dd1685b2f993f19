"""Writes all files of a report: tables (results.md, .tex, .csv), cells, statistics, figures and the HTML page.

The files depend on the rows alone: the same rows give the same bytes, whether computed in one run or in several. Each
is written whole or not at all, the page last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files import is_read_only, naming, write_atomic
from benchmark.results.names import BOTH, UNIT_OF_PROTOCOL, UNITS
from benchmark.results.store import CorruptRow
from reports.page import pictures_of, report_html, titles_in_names
from reports.page_panels import read_skipped
from reports.results import FAILED, FINISHED, Results, cell_errors, evaluations_of, layouts
from reports.statistics.bootstrap import UnequalTestSets
from reports.statistics.classes import class_tables
from reports.statistics.table import TableStatistics, joined, statistics_of
from reports.tables.further import (
    Further,
    cost_files,
    cost_lines,
    further_files,
)
from reports.tables.render import LANDSCAPE, UPRIGHT, Page, Table, TextTable, latex, long_csv, markdown, text_markdown
from reports.tables.table import elsewhere_costs, elsewhere_files, make_table, table_name
from reports.tables.words import cell_names

PAGE = "report.html"


@dataclass(frozen=True)
class Report:
    """The report of a run."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """One line per damaged row, per table without statistics and per figure that could not be drawn."""
    failures: tuple[tuple[str, Path | None], ...]
    """Per error: one line with its cells and the error; the file with the first cell's traceback, None without one."""
    beside: tuple[TextTable, ...] = ()
    """What weights from elsewhere cost."""


@dataclass(frozen=True)
class Texts:
    """The tables of a report that are texts alone; each empty where the run has none."""

    further: Further
    """Scores by class."""
    elsewhere: list[TextTable]
    """Costs of weights from elsewhere."""


def build_report(
    run: Results, out: Path, *, unit: str | None = None, landscape: bool = False, further: Sequence[str] = ()
) -> Report:
    """Write the tables of a run, one per layout and score unit, with statistics, figures and the page, under `out`.

    unit: 'heartbeat', 'recording' or 'both'; by default the protocol's own (paper: heartbeat, strict: recording).
    landscape: the tables of LaTeX across the page. further: metrics of the main tables beside F1, AUROC and ACC
    (`FURTHER`). Raises ValueError for an unknown unit.
    """
    if unit not in (None, BOTH, *UNITS):
        raise ValueError(f"score unit {unit!r} is not known: choose {', '.join(UNITS)} or {BOTH}")
    units = UNITS if unit == BOTH else (unit or UNIT_OF_PROTOCOL[run.plan.config["protocol"]],)
    tables: list[Table] = []
    statistics: dict[str, TableStatistics] = {}
    problems: list[str] = []
    for layout in (
        layout for evaluation in evaluations_of(run.plan) for layout in layouts(run.plan, evaluation, further)
    ):
        for chosen in units:
            name = table_name(layout, chosen)
            try:
                statistics[name] = statistics_of(run, layout, chosen)
            except (UnequalTestSets, CorruptRow) as problem:
                problems.append(f"statistics of {name}: {problem}")
            tables.append(make_table(run, layout, chosen, statistics.get(name)))
    texts = texts_of(run, units, problems)
    problems += run.unreadable_records
    contents = _contents(run, tables, statistics, texts, LANDSCAPE if landscape else UPRIGHT)
    try:
        write_texts(out, contents)
    except OSError as error:
        if not is_read_only(error):
            raise
        return _report(
            run, tables, texts, (), [*problems, f"every file: {out} cannot be written to ({error.strerror})"]
        )
    from reports.figures.choose import write_figures  # here, because matplotlib loads slowly

    drawn = write_figures(run, out, units, statistics, texts.further.classes)
    problems += drawn.problems
    page = report_html(
        run,
        tables,
        statistics,
        skipped=read_skipped(out / "skipped.csv"),
        pictures=pictures_of(drawn.files, titles_in_names(run.plan)),
        texts=sections_of(texts),
        problems=problems,
    )
    write_texts(out, {PAGE: page})
    return _report(run, tables, texts, (*(out / name for name in (*contents, PAGE)), *drawn.files), problems)


def write_texts(out: Path, contents: Mapping[str, str]) -> None:
    """Write each text into the file of its name."""
    for name, text in contents.items():
        with naming(out):
            write_atomic(out / name, text.encode("utf-8", errors="replace"))


def texts_of(run: Results, units: Sequence[str], problems: list[str]) -> Texts:
    """The tables of texts of a run; adds a problem where predictions do not compare."""
    further = further_of(run, units, problems)
    return Texts(further, elsewhere_costs(run.plan, run.pretrainings))


def further_of(run: Results, units: Sequence[str], problems: list[str]) -> Further:
    """Scores by class; adds a problem where the predictions of rows do not compare."""
    try:
        return Further(run.plan, class_tables(run, units))
    except (UnequalTestSets, CorruptRow) as problem:
        problems.append(f"scores by class: {problem}")
        return Further(run.plan, [])


def sections_of(texts: Texts) -> dict[str, list[TextTable]]:
    """Title of a section of the page -> its tables of texts."""
    return {
        "Weights from elsewhere": texts.elsewhere,
        "Further scores": texts.further.scores,
        "Classes": texts.further.by_class,
    }


def _contents(
    run: Results,
    tables: list[Table],
    statistics: Mapping[str, TableStatistics],
    texts: Texts,
    page: Page,
) -> dict[str, str]:
    """Name -> text of the files other than figures and page."""
    costs = cost_lines(run.pretrainings, run.plan.variants)
    return {
        "results.md": "# Results\n\n" + "\n".join([*map(markdown, tables), *map(text_markdown, texts.elsewhere)]),
        "results.tex": latex(tables, page),
        "results.csv": long_csv(tables),
        "cells.csv": cells_csv(run),
        **{f"{what}.csv": joined(statistics, what) for what in ("intervals", "pairwise", "components")},
        **(cost_files(costs) if costs else {}),
        **elsewhere_files(texts.elsewhere),
        **further_files(texts.further),
    }


OF_ONE_COMPUTATION = ("state", "error", "seconds", "device", "commit")


def cells_csv(run: Results) -> str:
    """One line per finished cell with its scores in both units, without times and machines."""
    cells = run.cells[run.cells["state"] == FINISHED].drop(columns=[*OF_ONE_COMPUTATION], errors="ignore")
    columns = run.scores["unit"] + "_" + run.scores["metric"]
    scores = run.scores.assign(column=columns).pivot_table("value", ["variant", "key"], "column", sort=False)
    return cells.merge(scores, how="left", on=["variant", "key"]).to_csv(index=False, lineterminator="\n")


def _report(run: Results, tables: list[Table], texts: Texts, files: tuple[Path, ...], problems: list[str]) -> Report:
    damaged = run.damaged.values()
    return Report(tuple(tables), files, (*damaged, *problems), tuple(_failures(run)), tuple(texts.elsewhere))


def _failures(run: Results) -> Iterator[tuple[str, Path | None]]:
    for (state, error), cells in cell_errors(run, run.plan.cells).items():
        if state == FAILED:
            key = cells[0].key
            file = next((path for store in run.stores if (path := store.failure_file(key)).is_file()), None)
            yield f"{'; '.join(cell_names(run.plan, cells))}: {error}", file if run.failures[key].traceback else None
