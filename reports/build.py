"""One call from a results folder to files: tables (results.md, .tex, .csv), cells, statistics, figures, and one page.

The files depend on the rows alone: the same rows give the same bytes, in one run or in many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files import write_atomic
from benchmark.results.names import UNIT_OF_PROTOCOL
from benchmark.results.store import Store
from reports.html import pictures_of, read_skipped, report_html
from reports.runs.cards import cards_of
from reports.runs.failures import unfinished
from reports.runs.load import Results, load_results, tidy, wide
from reports.runs.planned_tables import layouts
from reports.statistics.columns import UnequalTestSets
from reports.statistics.of_table import Judged, joined, judge
from reports.tables.captions import cell_names
from reports.tables.costs import cost_files, cost_lines
from reports.tables.table import Table, make_table, table_name
from reports.tables.text import latex, long_csv, markdown

UNITS = ("heartbeat", "recording")


@dataclass(frozen=True)
class Report:
    """What was made of a results folder."""

    tables: tuple[Table, ...]
    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """One line per row that was left out because it is damaged, and per table whose rows cannot be compared."""
    failures: tuple[tuple[str, Path], ...]
    """Per error: the cells that failed with it and the error, in one line; the file with the traceback of the first."""


def build_report(store_root: Path, out: Path, *, plan_key: str | None = None, unit: str | None = None) -> Report:
    """Write the tables of a plan (the latest unless its key is given), one per evaluation and score unit.

    unit: 'heartbeat', 'recording' or 'both'; by default the protocol's own (paper: heartbeat, strict: recording).
    Raises NoResults where there is no plan, ValueError for an unknown unit.
    """
    if unit not in (None, "both", *UNITS):
        raise ValueError(f"score unit {unit!r} is not known: choose {', '.join(UNITS)} or both")
    from reports.figures.choose import write_figures  # here, because matplotlib loads slowly

    results = load_results(store_root, plan_key)
    frame = tidy(results)
    own = unit or UNIT_OF_PROTOCOL[results.plan.config["protocol"]]
    tables: list[Table] = []
    judged: dict[str, Judged] = {}
    problems: list[str] = []
    for evaluation in dict.fromkeys(cell.evaluation for cell in results.plan.cells):
        for layout in layouts(results.plan, evaluation):
            for chosen in UNITS if own == "both" else (own,):
                name = table_name(layout, evaluation, chosen)
                try:
                    judged[name] = judge(results, store_root, layout, evaluation, chosen)
                except UnequalTestSets as problem:
                    problems.append(f"statistics of {name}: {problem}")
                tables.append(make_table(results, frame, layout, evaluation, chosen, judged.get(name)))
    store = Store(store_root)
    drawn = write_figures(results, store, out, UNITS if own == "both" else (own,))
    problems += drawn.problems
    cards = cards_of(results, store, list(results.plan.variants))
    costs = cost_lines(cards, results.plan.variants)
    contents = {
        "results.md": "# Results\n\n" + "\n".join(map(markdown, tables)),
        "results.tex": latex(tables),
        "results.csv": long_csv(tables),
        "cells.csv": wide(results).to_csv(index=False, lineterminator="\n"),
        **{f"{what}.csv": joined(judged, what) for what in ("intervals", "pairwise", "components")},
        **(cost_files(costs) if costs else {}),
        "report.html": report_html(
            results,
            tables,
            judged,
            cards=cards,
            skipped=read_skipped(out / "skipped.csv"),
            pictures=pictures_of(drawn.files),
            problems=problems,
        ),
    }
    for name, text in contents.items():
        write_atomic(out / name, text.encode())
    files = (*(out / name for name in contents), *drawn.files)
    return Report(tuple(tables), files, (*results.damaged.values(), *problems), tuple(_failures(results, store)))


def _failures(results: Results, store: Store) -> Iterator[tuple[str, Path]]:
    for found in unfinished(results, results.plan.cells):
        if found.state == "failed":
            names = "; ".join(cell_names(results.plan, found.cells))
            yield f"{names}: {found.error}", store.failure_file(found.cells[0].key)
