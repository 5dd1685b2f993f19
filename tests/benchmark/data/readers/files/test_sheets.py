"""Workbooks and Parquet files as text: the stored values of the first sheet, within bounds, or one ValueError."""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pandas as pd
import pytest

from benchmark.data.readers.files.sheets import read_parquet, read_workbook


def workbook(path: Path, *rows: tuple[object, ...]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.create_sheet("second").append(("another", "sheet"))
    book.save(path)
    return path


def test_the_first_sheet_is_read_without_its_blank_rows_and_its_rows_are_alike_long(tmp_path: Path) -> None:
    rows = [("id", "age", "note"), ("a", 61.0), (None, None, None), ("b", 61.5, " x "), (7,)]
    assert read_workbook(workbook(tmp_path / "t.xlsx", *rows)) == [
        ["id", "age", "note"],
        ["a", "61", ""],
        ["b", "61.5", "x"],
        ["7", "", ""],
    ]
    assert read_workbook(workbook(tmp_path / "empty.xlsx")) == []


def test_of_a_formula_the_stored_value_is_read(tmp_path: Path) -> None:
    """This one has none: no program has computed it."""
    assert read_workbook(workbook(tmp_path / "t.xlsx", ("id", "=1+1"))) == [["id", ""]]


def test_a_workbook_of_too_many_files_is_not_unpacked(tmp_path: Path) -> None:
    with ZipFile(workbook(tmp_path / "t.xlsx", ("id",)), "a") as archive:
        for number in range(1000):
            archive.writestr(f"xl/{number}", "")
    with pytest.raises(ValueError, match="members, more than 1000"):
        read_workbook(tmp_path / "t.xlsx")


def test_what_is_no_workbook_is_a_value_error(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"PK not really")
    with pytest.raises(ValueError, match="not a zip file"):
        read_workbook(tmp_path / "t.xlsx")


def test_the_index_of_a_parquet_file_is_a_column_and_missing_cells_are_empty(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"age": [61.0, None], "when": [pd.NaT, pd.Timestamp("2020-01-02")], "n": [1, 2]})
    table["n"] = table["n"].astype("Int64").where(table["n"] > 1)
    table.index = pd.Index(["a", "b"], name="id")
    table.to_parquet(tmp_path / "named.parquet")
    read = read_parquet(tmp_path / "named.parquet")
    assert read == [["id", "age", "when", "n"], ["a", "61", "", ""], ["b", "", "2020-01-02 00:00:00", "2"]]
    table.reset_index(drop=True).to_parquet(tmp_path / "numbered.parquet")
    assert read_parquet(tmp_path / "numbered.parquet")[0] == ["age", "when", "n"]


def test_parquet_files_that_cannot_be_read_are_a_value_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    path.touch()
    os.truncate(path, 2 * 10**9)  # a hole, which takes no room
    with pytest.raises(ValueError, match="larger than 1024 MiB"):
        read_parquet(path)
    os.truncate(path, 0)

    def lacking(path: Path) -> None:
        raise ImportError

    monkeypatch.setattr(pd, "read_parquet", lacking)
    with pytest.raises(ValueError, match=r"pip install '\.\[formats\]'"):
        read_parquet(path)
