"""CSV tables are read as text, their rows known by a unique identifier, their paths kept inside the folder.

Workbooks and Parquet files as text: the stored values of the first sheet, within bounds, or one ValueError.
"""

from __future__ import annotations

import sys
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.chapman import Chapman
from benchmark.data.datasets.tables import (
    Table,
    header_of,
    keyed,
    path_within,
    read_parquet,
    read_table,
    read_workbook,
    spelt_apart,
    truth,
    whole_number,
    years_of,
)


def test_cells_stay_text_in_the_order_asked_for(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffa,b,c\n1.0,NA,\n007,x,y\n", encoding="utf-8")
    table = read_table(Chapman(tmp_path), path, ("b", "a"))
    assert table.rows == [("NA", "1.0"), ("x", "007")]
    assert table.skipped == []


def test_a_column_that_lacks_is_named_even_without_a_name(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("a,c\n1,2\n")
    with pytest.raises(DatasetError, match=r"t\.csv has no column without a name, b; there are a, c"):
        read_table(Chapman(tmp_path), path, ("", "b", "a"))


@pytest.mark.parametrize("content", ["\ufeffà,b\r\n1,2\r\n".encode(), "à,b\n1,é\n".encode("latin-1"), "à,b".encode()])
def test_the_first_line_is_read_in_each_encoding(tmp_path: Path, content: bytes):
    (tmp_path / "t.csv").write_bytes(content)
    assert header_of(Chapman(tmp_path), tmp_path / "t.csv") == ["à", "b"]


def test_equal_rows_count_once_and_differing_ones_of_one_identifier_not_at_all():
    rows = [("7.0", "x"), ("7", "x"), ("8", "x"), ("8", "y"), ("9", "z"), ("", "w")]
    table = keyed(Table(rows, [("t.csv line 2", "ragged row")]), whole_number)
    assert table.rows == [("7", "x"), ("9", "z")]
    assert table.skipped == [
        ("t.csv line 2", "ragged row"),
        ("", "no identifier: ''"),
        ("8", "listed twice: 2 rows differ"),
    ]


def test_two_spellings_of_one_number_are_told():
    assert spelt_apart("patient", ["1", "1.0", "2", "2", "x", "X"]) == [
        "1 of 2 patients are spelt in several ways, each read as one patient: '1' and '1.0'"
    ]
    assert spelt_apart("patient", ["1", "2", "2"]) == []


def test_words_and_numbers_that_say_yes_or_no() -> None:
    assert {truth(text) for text in ("1", "1.00", "TRUE", "t", "yes", "y")} == {True}
    assert {truth(text) for text in ("0", "0.0", "False", "f", "no", "N")} == {False}
    assert [truth(text) for text in ("", "2", "10", "-1", "0.5", "1e0", "nan", "x")] == [None] * 8


@pytest.mark.parametrize(
    ("text", "years"),
    [
        *(("63", 63), ("63.5", 63.5), ("0", 0), ("0.5", 0.5), ("120", 120), ("300", 300)),
        *(("056Y", 56), ("56 years", 56), ("018M", 1.5), ("7.5y", 7.5), ("730D", 730 / 365.25), ("052w", 364 / 365.25)),
        *((text, None) for text in ("", "Y", "056X", "56Y7", "130Y", "old", "NaN", "-3", "120.5", "299", "301", "999")),
    ],
)
def test_ages_that_no_person_has_are_not_known(text: str, years: float | None) -> None:
    assert years_of(text) == (years if years is None else pytest.approx(years))


@pytest.mark.parametrize(
    "path", ["/a", "/", "../a", "..", "a/..", "a/../../b", "", "a\0b", "a\n", "a" * 300, "a/" * 3000 + "a"]
)
def test_a_path_stays_inside_its_folder(path: str):
    with pytest.raises(Unusable, match="path refused: "):
        path_within(path)
    assert path_within("a/p1 0/c..d/b.hea") == "a/p1 0/c..d/b.hea"


def test_the_longest_path_and_name_are_kept():
    for longest in ("a/" * 999 + "aa", "b" * 250, "b/" + "é" * 125):
        assert path_within(longest) == longest
        with pytest.raises(Unusable, match="path refused"):
            path_within(f"{longest}c")


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
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install '\.\[formats\]'"):
        read_parquet(path)
