"""A table as text: GitHub-flavoured Markdown and long CSV (LaTeX: reports.tables.latex). Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmark.results.plain_text import csv_text, harmless
from reports.tables.values import Block, Line, Score, Table

MD_SPECIAL = re.compile(r"[\\|*<`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
"""Characters that Markdown reads as markup; an underscore inside a word is not escaped."""
CSV_HEADER = (
    "evaluation", "unit", "ratio", "variant", "title", "dataset", "metric",
    "mean_percent", "std_percent", "n", "planned", "best", "tie", "remark", "keys",
)  # fmt: skip


@dataclass(frozen=True)
class TextTable:
    """A table of texts."""

    name: str
    """Unique within a report, fit for a LaTeX label."""
    title: str
    caption: str
    """'' for none."""
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    folded: bool = False
    """Shown on the page at a click alone."""


def markdown(table: Table) -> str:
    """Heading, verdict, caption, one pipe table per block, footnotes and footers. Best scores are **bold**."""
    parts = [f"## {literal(table.title)}"]
    if table.verdict:
        parts.append("\n".join(f"- {literal(sentence)}" for sentence in table.verdict))
    parts.append(literal(table.caption))
    header = ["Method", *(literal(f"{column.group} {column.title}".strip()) for column in table.columns)]
    for block in table.blocks:
        lines = [[_md_title(line), *map(_md_score, line.scores)] for line in block.lines]
        parts += [f"### {literal(block.title)}", pipe_table(header, lines)]
    if table.footnotes:
        parts.append("  \n".join(f"<sup>{mark}</sup> {literal(text)}" for mark, text in table.footnotes))
    parts.append("\n".join(f"- {literal(footer)}" for footer in table.footers))
    return "\n\n".join(parts) + "\n"


def literal(text: str) -> str:
    """Text escaped for Markdown, on one line."""
    return " ".join(MD_SPECIAL.sub(r"\\\g<0>", harmless(text)).split())


def _md_title(line: Line) -> str:
    return f"*{literal(line.title)}*" if line.gate else literal(line.title)


def _md_score(score: Score) -> str:
    mean = f"**{score.printed}**" if score.best else score.printed
    tie = " ≈" if score.tie else ""
    return f"{mean}{score.spread}{tie}" + (f"<sup>{score.mark}</sup>" if score.mark else "")


def text_markdown(table: TextTable) -> str:
    """The table under a heading."""
    header = [literal(text) for text in table.header]
    lines = [[literal(text) for text in line] for line in table.lines]
    above = filter(None, [f"## {literal(table.title)}", literal(table.caption)])
    return "\n\n".join([*above, pipe_table(header, lines)]) + "\n"


def pipe_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, its columns padded to one width; the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def joined(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return f"| {' | '.join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)])} |"

    return "\n".join(map(joined, [header, rule, *lines]))


def long_csv(tables: Sequence[Table]) -> str:
    """One line per number of the tables: unrounded percent, and the keys of its cells."""
    places = ((table, block, line) for table in tables for block in table.blocks for line in block.lines)
    return csv_text(CSV_HEADER, (row for place in places for row in _csv_lines(*place)))


def _csv_lines(table: Table, block: Block, line: Line) -> Iterator[tuple[object, ...]]:
    place = (table.evaluation, table.unit, block.ratio, line.variant, line.title)
    for column, score in zip(table.columns, line.scores, strict=True):
        found = (score.mean, score.std, score.n, score.planned, int(score.best), int(score.tie), score.remark)
        yield (*place, column.dataset, column.metric, *found, " ".join(score.keys))
