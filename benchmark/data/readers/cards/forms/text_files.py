"""CSV and other text files: a line a sample, a column a lead; the first line may hold the names of the columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_file

SEPARATORS = (",", ";", "\t")


def read(path: Path, signals: Signals) -> Stored:
    """The columns of a file. Raises Unusable where one holds anything but numbers."""
    check_file(path, LARGEST_SIGNAL)
    try:
        with open(path, encoding="utf-8-sig") as file:
            first = file.readline().rstrip("\r\n")
        separator = max(SEPARATORS, key=first.count)
        names = [cell.strip().strip('"') for cell in first.split(separator)]
        header = None if all(map(_is_number, names)) else 0
        table = pd.read_csv(path, header=header, sep=separator, dtype=np.float64, encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # pandas' own errors of parsing are ValueErrors
        raise Unusable(f"unreadable or not numbers: {type(error).__name__}") from error
    return Stored(table.to_numpy(), None if header is None else names, None, None)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
