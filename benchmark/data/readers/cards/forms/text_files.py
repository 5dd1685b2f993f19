"""CSV and other text files: a line a sample, a column a lead; the first line may hold the names of the columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_file

LONGEST_LINE = 1_000_000
"""Characters of a first line."""
SEPARATORS = ("\t", ";", ",")
"""The first that the first line has counts: beside the others, a comma stands in decimal numbers."""


def read(path: Path, signals: Signals) -> Stored:
    """The columns of a file. Raises Unusable where one holds anything but numbers."""
    check_file(path, LARGEST_SIGNAL)
    try:
        names, separator = first_line(path)
        header = 0 if are_names(names, separator) else None
        try:
            table = _numbers(path, header, separator, ".")
        except ValueError:
            table = _numbers(path, header, separator, "," if separator != "," else ".")
    except (OSError, ValueError) as error:  # pandas' own errors of parsing are ValueErrors
        raise Unusable(f"unreadable or not numbers: {type(error).__name__}") from error
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes the cells in front for names of the lines
        raise Unusable("lines have more cells than the first: correct the files")
    if len(names) > 1 and not names[-1] and table.iloc[:, -1].isna().all():  # every line ends in a separator
        names, table = names[:-1], table.iloc[:, :-1]
    return Stored(table.to_numpy(), None if header is None else names, None, None)


def first_line(path: Path) -> tuple[list[str], str]:
    """The cells of a file's first line, and what separates them. Raises OSError, ValueError."""
    with open(path, encoding="utf-8-sig") as file:
        first = file.readline(LONGEST_LINE).rstrip("\r\n")
    separator = next((own for own in SEPARATORS if own in first), ",")
    return [cell.strip().strip('"') for cell in first.split(separator)], separator


def are_names(cells: list[str], separator: str) -> bool:
    """Whether the cells of a first line are names of columns: one is neither a number nor blank."""
    numbers = [cell.replace(",", ".") if separator != "," else cell for cell in cells]
    return not all(_is_number(cell) or not cell for cell in numbers)


def _numbers(path: Path, header: int | None, separator: str, point: str) -> pd.DataFrame:
    return pd.read_csv(path, header=header, sep=separator, decimal=point, dtype=np.float64, encoding="utf-8-sig")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
