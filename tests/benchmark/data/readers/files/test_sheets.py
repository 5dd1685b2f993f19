"""Workbooks and Parquet files: every cell as text, rows that are blank left out, damage one reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.data.readers.files import sheets
from benchmark.data.readers.files.sheets import read_parquet, read_workbook

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def workbook(tmp_path: Path) -> Callable[[Sequence[Sequence[Any]]], Path]:
    def make(rows: Sequence[Sequence[Any]]) -> Path:
        book, path = openpyxl.Workbook(), tmp_path / "table.xlsx"
        for row in rows:
            book.active.append(row)
        book.create_sheet("second").append(["not", "read"])
        book.save(path)
        return path

    return make


def test_cells_are_text_and_rows_are_filled_to_the_widest(workbook: Callable[..., Path]) -> None:
    rows = [["id", " age "], [1, 61.0], [None, None], ["x", 61.5, True], [None, "", "z"]]
    assert read_workbook(workbook(rows)) == [
        ["id", "age", ""],
        ["1", "61", ""],
        ["x", "61.5", "True"],
        ["", "", "z"],
    ]


def test_an_empty_workbook_has_no_rows(workbook: Callable[..., Path]) -> None:
    assert read_workbook(workbook([])) == []


def test_what_is_no_workbook_or_too_large_has_a_reason(
    workbook: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook([["a"]])
    for name in ("MOST_MEMBERS", "LARGEST_WORKBOOK"):
        with monkeypatch.context() as patch:
            patch.setattr(sheets, name, 3)
            with pytest.raises(ValueError, match=r"3"):
                read_workbook(path)
    path.write_bytes(b"no zip")
    with pytest.raises(ValueError, match="not a zip file"):
        read_workbook(path)


def test_a_parquet_file_s_index_is_a_column(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"age": [61.0, None, 61.5], "on": [date(2020, 1, 2), None, None], "n": [1, 2, 3]})
    table.to_parquet(tmp_path / "plain.parquet")
    rows = [["61", "2020-01-02", "1"], ["", "", "2"], ["61.5", "", "3"]]
    assert read_parquet(tmp_path / "plain.parquet") == [["age", "on", "n"], *rows]
    table.set_index("n").to_parquet(tmp_path / "named.parquet")
    assert read_parquet(tmp_path / "named.parquet") == [["n", "age", "on"], *([row[2], *row[:2]] for row in rows)]


def test_damaged_and_large_parquet_files_have_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match=r"^[^\n]{10,200}$"):
        read_parquet(path)
    pd.DataFrame({"a": [1]}).to_parquet(path)
    monkeypatch.setattr(sheets, "LARGEST_PARQUET", path.stat().st_size)
    assert read_parquet(path) == [["a"], ["1"]]
    monkeypatch.setattr(sheets, "LARGEST_PARQUET", path.stat().st_size - 1)
    with pytest.raises(ValueError, match=r"a\.parquet"):
        read_parquet(path)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, ""),
        (math.nan, ""),
        (pd.NaT, ""),
        (pd.NA, ""),
        (2.0, "2"),
        (2.5, "2.5"),
        (-0.0, "0"),
        (" a ", "a"),
        (0, "0"),
    ],
)
def test_a_cell_is_text(cell: Any, text: str) -> None:
    assert sheets._text(cell) == text
