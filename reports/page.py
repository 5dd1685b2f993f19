"""The page of a report, report.html: it needs no network, and answers first which rows beat an untrained encoder.

All but the headline, the differences and one table is folded; the template escapes what comes from a store.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reports.footers import warnings
from reports.results import Run
from reports.score_tables import DASH, Style, Table, wide

if TYPE_CHECKING:
    from reports.figures import Figure

PAGE = "report.html"
TEMPLATES = Path(__file__).parent / "templates"
HTML = Style(
    text=escape, bold="<strong>{}</strong>", italic="<em>{}</em>", spread="<small>±{}</small>", tie=" ≈",
    mark="<sup>{}</sup>", interval=" <small>({} to {})</small>",
)  # fmt: skip


class Answer(NamedTuple):
    """Sentences of a verdict, and the figure that shows them."""

    sentences: Sequence[str]
    figure: Figure | None


class Chapter(NamedTuple):
    """A folded part of the page."""

    title: str
    text: str
    tables: Mapping[str, pd.DataFrame]
    """Heading -> table of texts."""

    @property
    def is_empty(self) -> bool:
        """True where no table has a line."""
        return all(table.empty for table in self.tables.values())


def render_page(
    results: Run,
    tables: Sequence[Table],
    figures: Sequence[Figure],
    chapters: Sequence[Chapter],
    problems: Sequence[str],
) -> str:
    """Render the page of a run; chapters without a line are not shown. problems: one line each."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("report.html").render(
        style=(TEMPLATES / "report.css").read_text(),
        name=results.plan.config["name"],
        warnings=warnings(results, results.plan.cells),
        tables=tables,
        answers={table.name: answers(table, figures) for table in tables},
        figures=[figure for figure in figures if not figure.table],
        chapters=[chapter for chapter in chapters if not chapter.is_empty],
        blocks=blocks,
        source=source,
        html=html,
        problems=problems,
    )


def answers(table: Table, figures: Sequence[Figure]) -> list[Answer]:
    """Return the sentences of a table's verdict, with their figure where there is one."""
    drawn = {figure.question: figure for figure in figures if figure.table == table.name}
    parts = [Answer(table.verdict.against, drawn.get("against"))]
    parts.append(Answer([table.verdict.among], drawn.get("among")))
    return [part for part in parts if any(part.sentences)]


def blocks(table: Table) -> dict[str, str]:
    """Return title -> scores of each label share."""
    texts = {}
    for ratio, share in table.shares.items():
        block = wide(table, ratio, HTML)
        texts[share] = block.to_html(escape=False, border=0, index_names=False)
    return texts


def source(png: Path) -> str:
    """Return an image as a data URI."""
    image = b64encode(png.read_bytes()).decode()
    return f"data:image/png;base64,{image}"


def html(frame: pd.DataFrame) -> str:
    """Return a frame of texts as a table."""
    return str(frame.to_html(index=False, border=0, na_rep=DASH, float_format="{:,.6g}".format))
