"""Read the CSV tables of a dataset as text, or say which table or column is missing and how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmark.data.base import Dataset, DatasetError


def read_table(dataset: Dataset, path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """The named columns of a CSV file, every cell a string ('' where empty).

    Raises DatasetError where the file or one of the columns is not there.
    """
    if not path.is_file():
        raise DatasetError(f"{dataset.title}: no {path.name} in {path.parent}. {dataset.how_to_get}")
    present = set(pd.read_csv(path, nrows=0, encoding="utf-8-sig").columns)
    lacking = [column for column in columns if column not in present]
    if lacking:
        raise DatasetError(f"{dataset.title}: {path} has no column {', '.join(lacking)}. {dataset.how_to_get}")
    table = pd.read_csv(path, usecols=list(columns), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    return table[list(columns)]
