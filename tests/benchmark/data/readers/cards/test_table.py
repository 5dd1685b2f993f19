"""The table of a card in each kind of file: the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from benchmark.data.readers.base import DatasetError, Entry
from benchmark.data.readers.cards.dataset import CardDataset


def entries_of(opened: Callable[..., CardDataset], file: str) -> tuple[Entry, ...]:
    return opened(table={"file": file, "age": "years"}, labels={"others": "ignore"}).listing().entries


@pytest.mark.parametrize("kind", ["tsv", "semicolons", "xlsx", "parquet", "latin"])
def test_every_kind_of_table_gives_the_same_recordings(
    opened: Callable[..., CardDataset], folder: Path, kind: str
) -> None:
    expected = entries_of(opened, "labels.csv")
    assert len(expected) == 12
    table = pd.read_csv(folder / "labels.csv")
    table["years"] = table["years"].astype(float)
    if kind == "tsv":
        table.to_csv(folder / "t.tsv", sep="\t", index=False)
    elif kind == "semicolons":
        table.to_csv(folder / "t.csv", sep=";", index=False)
    elif kind == "latin":
        table.assign(text="größer").to_csv(folder / "t.csv", index=False, encoding="latin-1")
    elif kind == "xlsx":
        table.to_excel(folder / "t.xlsx", index=False)
    else:
        pytest.importorskip("pyarrow")
        table.set_index("id").to_parquet(folder / "t.parquet")
    file = {"tsv": "t.tsv", "xlsx": "t.xlsx", "parquet": "t.parquet"}.get(kind, "t.csv")
    assert entries_of(opened, file) == expected


@pytest.mark.parametrize("file", ["t.xlsx", "t.csv"])
def test_a_column_that_is_not_there_is_told_with_the_nearest(
    opened: Callable[..., CardDataset], folder: Path, file: str
) -> None:
    table = pd.read_csv(folder / "labels.csv").rename(columns={"years": "year"})
    table.to_excel(folder / file, index=False) if file.endswith("xlsx") else table.to_csv(folder / file, index=False)
    with pytest.raises(DatasetError, match=rf"{file} has no column 'years' \(did you mean 'year'\?\); there are "):
        entries_of(opened, file)


@pytest.mark.parametrize("file", ["t.xlsx", "t.parquet"])
def test_a_damaged_table_is_one_line(opened: Callable[..., CardDataset], folder: Path, file: str) -> None:
    if file == "t.parquet":
        pytest.importorskip("pyarrow")
    (folder / file).write_bytes(b"PK\x03\x04 no table")
    with pytest.raises(DatasetError, match=rf"ours: .*{file} cannot be read: ") as caught:
        entries_of(opened, file)
    assert "\n" not in str(caught.value)
