"""Text on its way into files: without harmful characters, and without cells that a spreadsheet would run.

The one owner for reports and for the tables of benchmark; the screen has the same `harmless`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO

from benchmark.screen.harmless import harmless as harmless  # reports import benchmark.results alone

FORMULA = re.compile(r"[=+\-@\t\r]")
"""First characters of a cell that spreadsheets read as a formula."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def csv_cell(value: object) -> object:
    """A cell of a CSV file: harmful characters replaced, a text that reads as a formula after an apostrophe.

    Numbers, also as text, are unchanged.
    """
    if not isinstance(value, str):
        return value
    text = harmless(value)
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV file of rows of cells."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(csv_cell, header))
    writer.writerows(map(csv_cell, row) for row in rows)
    return out.getvalue()
