"""The page of a run, from its template. Pure, except that it reads templates and figures.

The script inserts text of a store as text. The same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from reports.html.cells import Behind, cell_data, dotted
from reports.html.health import HEADINGS, HEIGHT, WIDTH, learned
from reports.html.intervals import interval_texts
from reports.html.losses import SkippedRecording, coverage, failures, sources
from reports.html.matrices import matrices
from reports.html.pictures import Embedded, Picture, embedded
from reports.html.summary import against_gates, compared, statements
from reports.html.template import rendered
from reports.runs.run import Run
from reports.statistics.differences import FIGURE
from reports.statistics.of_table import TableStatistics
from reports.tables.text import TextTable
from reports.tables.values import Table

MAX_BYTES = 8_000_000
FRAME = 1000
"""Bytes reserved per figure for markup, title or the sentence of one left out."""
LISTED = 100
"""Most skipped recordings of a dataset that are listed."""
FEW = 10
"""Most cells of one error that are shown without a click."""


def report_html(
    run: Run,
    tables: Sequence[Table],
    statistics: Mapping[str, TableStatistics],
    *,
    skipped: Sequence[SkippedRecording] = (),
    pictures: Sequence[Picture] = (),
    texts: Mapping[str, Sequence[TextTable]] | None = None,
    problems: Sequence[str] = (),
) -> str:
    """The report of a run as one page; figures that would exceed `MAX_BYTES` are left out.

    statistics: by table name. skipped: lines of skipped.csv (`read_skipped`), listed where they match the plan's
    counts. texts: section -> its tables of texts; none for an empty one. problems: further errors, one line each.
    """
    plan = run.plan
    content: dict[str, Any] = {
        "name": str(plan.config.get("name") or "without a name"),
        "key": plan.key,
        "first_figure": f"{tables[0].name}-{FIGURE}" if tables else "",
        "compared": list(compared(plan)),
        "config": list(dotted(plan.config)),
        "verdict": tables[0].verdict if tables else (),
        "statements": list(statements(run, tables)),
        "gates": list(against_gates(tables, statistics)),
        "tables": [_shown(table, statistics.get(table.name)) for table in tables],
        "behind": Behind(run),
        "texts": [(title.lower().replace(" ", "-"), title, own) for title, own in (texts or {}).items() if own],
        "learned": list(learned(run.cards, plan.variants)),
        "sources": list(sources(plan, skipped)),
        "coverage": list(coverage(run)),
        "failures": list(failures(run)),
        "problems": problems,
        "data": cell_data(run),
    }
    room = MAX_BYTES - len(_render(content, []).encode()) - FRAME * len(pictures)
    return _render(content, list(embedded(pictures, room)))


def _shown(table: Table, statistics: TableStatistics | None) -> dict[str, Any]:
    """A table with its column groups (title, span), intervals and matrices of paired differences."""
    groups = groupby(table.columns, key=lambda column: column.group)
    pairs = statistics.frames.get("pairwise") if statistics else None
    return {
        "table": table,
        "groups": [(group, len(list(columns))) for group, columns in groups],
        "intervals": interval_texts(statistics),
        "matrices": [] if pairs is None else list(matrices(table, pairs)),
    }


def _render(content: Mapping[str, Any], figures: Sequence[Embedded | str]) -> str:
    shown = {
        "figures": [figure for figure in figures if isinstance(figure, Embedded)],
        "left_out": [sentence for sentence in figures if isinstance(sentence, str)],
        "measures": HEADINGS,
        "size": {"width": WIDTH, "height": HEIGHT},
        "sections": list(_sections(content, figures)),
        "listed": LISTED,
        "few": FEW,
    }
    return rendered("report.html", {**content, **shown}, scripts=("sort.js", "report.js"))


def _sections(content: Mapping[str, Any], figures: Sequence[Embedded | str]) -> Iterator[tuple[str, str]]:
    """(anchor, title) of each section with content."""
    yield "verdict", "Verdict"
    yield "summary", "Summary"
    tables = enumerate(content["tables"], start=1)
    yield from ((f"table-{number}", shown["table"].title) for number, shown in tables)
    yield from ((anchor, title) for anchor, title, _ in content["texts"])
    if figures:
        yield "figures", "Figures"
    if content["learned"]:
        yield "health", "Pretrainings"
    if content["coverage"]:
        yield "coverage", "Coverage"
    yield "data", "Data"
    if content["failures"] or content["problems"]:
        yield "failures", "Failures"
