"""Tables that are no text: the first sheet of a workbook (.xlsx) and Parquet files, every cell as text."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd

from benchmark.results.files.read import MEBIBYTE, require_regular, unfit_members

MOST_MEMBERS, LARGEST_WORKBOOK = 1000, 256 * MEBIBYTE
"""Files in a workbook, and their bytes unpacked."""
LARGEST_PARQUET = 1024 * MEBIBYTE
"""Bytes."""


def read_workbook(path: Path) -> list[list[str]]:
    """The rows of the first sheet that are not blank, the header first. Raises ValueError where it is no workbook."""
    import openpyxl  # here, because it loads slowly

    try:
        with ZipFile(path) as archive:
            if problem := unfit_members(archive.infolist(), most=MOST_MEMBERS, limit=LARGEST_WORKBOOK):
                raise ValueError(problem)
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            cells = [[_text(cell) for cell in row] for row in book.worksheets[0].values]
    except Exception as error:  # openpyxl raises any kind of error on a damaged archive
        raise ValueError(str(error)) from error
    width = max(map(len, cells), default=0)  # rows end where their last cell does
    return [[*row, *[""] * (width - len(row))] for row in cells if any(row)]


def read_parquet(path: Path) -> list[list[str]]:
    """The rows of a Parquet file, the names of its columns first. Raises ValueError where it cannot be read."""
    try:
        require_regular(path, path.stat(), LARGEST_PARQUET)
        table = pd.read_parquet(path)
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install '.[formats]'") from None
    except Exception as error:  # pyarrow raises any kind of error on a damaged file
        raise ValueError(" ".join(str(error).split())[:200]) from error
    if table.index.name is not None:  # a data frame's index is a column of its table
        table = table.reset_index()
    columns = [[_text(cell) for cell in table[name].tolist()] for name in table.columns]
    return [[str(name) for name in table.columns], *map(list, zip(*columns, strict=True))]


def _text(cell: Any) -> str:
    """A cell as text: '' for none or NaN, a whole number without point."""
    if cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
