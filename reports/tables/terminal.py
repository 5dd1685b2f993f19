"""A table as a sheet for a terminal: paragraphs and cells of text with roles; the console lays out and colours them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reports.tables.text import TextTable
from reports.tables.values import Line, Table

Span = tuple[str, str]
"""Text and its role: 'title', 'block', 'best', 'gate', 'faint', or '' for plain text."""
Cell = Sequence[Span]
NUMBER = 5
"""Characters of '100.0'."""
SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


class Sheet(NamedTuple):
    """The terminal form of one table."""

    above: tuple[Span, ...]
    """Paragraphs."""
    columns: tuple[tuple[str, str, str], ...] = ()
    """Group ('' for none), heading, and kind: 'label', 'left' or 'right', as benchmark.screen.tables draws them."""
    blocks: tuple[tuple[tuple[Cell, ...], ...], ...] = ()
    """Rows of cells, one per column; a row of one cell is a title."""
    below: tuple[Span, ...] = ()


def score_sheet(table: Table, *, starred: bool = False) -> Sheet:
    """Title, verdict and caption, the blocks, footnotes and footers.

    `starred` marks the best numbers with a star and gates with brackets, for output without bold and italics.
    """
    gates = any(line.gate for block in table.blocks for line in block.lines)
    legend = f"*: best of its block{'; (gate): a reference row, not ranked' if gates else ''}."
    return Sheet(
        above=(
            ("", ""),
            (table.title, "title"),
            *((f"- {sentence}", "") for sentence in table.verdict),
            (table.caption, "faint"),
            *([(legend, "faint")] if starred else []),
        ),
        columns=(
            ("", "Method", "label"),
            *((column.group, f"{column.title:>{NUMBER}}", "left") for column in table.columns),
        ),
        blocks=tuple(
            ((((block.title, "block"),),), *(tuple(_cells(line, starred=starred)) for line in block.lines))
            for block in table.blocks
        ),
        below=(
            *((f"{mark.translate(SUPERSCRIPTS)} {text}", "faint") for mark, text in table.footnotes),
            *((footer, "faint") for footer in table.footers),
        ),
    )


def text_sheet(table: TextTable) -> Sheet:
    """Title, caption and lines of a table of texts."""
    first, *rest = table.header
    return Sheet(
        above=(("", ""), (table.title, "title"), (table.caption, "faint")),
        columns=(("", first, "label"), *(("", heading, "right") for heading in rest)),
        blocks=(tuple(tuple([(text, "")] for text in line) for line in table.lines),),
    )


def _cells(line: Line, *, starred: bool) -> Iterator[Cell]:
    yield [(f"({line.title})" if starred and line.gate else line.title, "gate" if line.gate else "")]
    for score in line.scores:
        star = "*" if starred and score.best else ""
        tie = "≈" if score.tie else ""
        yield [
            (f"{score.printed:>{NUMBER}}", "best" if score.best else ""),
            (f"{score.spread}{star}{tie}{score.mark.translate(SUPERSCRIPTS)}", "faint"),
        ]
