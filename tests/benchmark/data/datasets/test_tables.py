"""Tables are read as text from CSV, workbooks and Parquet; patients, yes and no are judged by one rule."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.chapman import Chapman
from benchmark.data.datasets.tables import group_rows, patient_of, read_table
from benchmark.results.canonical import truth, whole_number


def test_cells_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufeffa,b,c\n1.0,NA,\n\n,,\n3, y ,\n", encoding="utf-8")
    table = read_table(Chapman(tmp_path), path, ("b", "a"))
    assert table.to_numpy().tolist() == [["NA", "1.0"], ["y", "3"]]
    path.write_text("a,,b,b\n1,2,3,4\n")
    assert list(read_table(Chapman(tmp_path), path)) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b,a\n1,2\n007,x,y\n", "cannot be read: .*Expected 2 fields in line 3, saw 3"),
        ("bb,a\n1,2\n", r"unknown column 'b' \(did you mean 'bb'\?\)"),
        ("a,b,b\n1,2,3\n", "there is more than one column b; there are a, b, b"),
        ("a,b\n", "has no rows"),
        ("", "cannot be read: empty file; copy it again"),
        ("<html><p>Sign in\n</html>", "cannot be read: web page, .*; download it again"),
        ('a,b\n"1,2\n', "cannot be read"),
    ],
)
def test_a_faulty_table_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DatasetError, match=message):
        read_table(Chapman(tmp_path), tmp_path / "t.csv", ("b", "a"))


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffà,b\r\n1,2\r\n".encode(),
        "à,b\n1,é\n".encode("latin-1"),
        "à;b\n1;2".encode(),
        "à\tb\n1\t2\n".encode(),
        "à\tb\n1\t2\n".encode("utf-16"),
        "à\tb\n1\t2\n".encode("utf-16-le"),
        "à\tb\n1\t2\n".encode("utf-16-be"),
        "sep=;\r\nà;b\r\n1,5;2\r\n".encode(),
        "sep=,\nà,b\n1;5,2\n".encode(),
        "# exported\n# two columns of labels, no dates, no names\nà,b\n1,2\n".encode(),
        "à\u200b,b\n1,2\n".encode(),
        "à\0\0,b\n1,2\n".encode(),
    ],
)
def test_a_table_is_read_in_any_encoding(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert list(read_table(Chapman(tmp_path), tmp_path / "t.csv")) == ["à", "b"]


def test_a_header_may_begin_with_the_sign_of_comments(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("# of the registry\n#id,label\nr1,SR\n")
    assert list(read_table(Chapman(tmp_path), tmp_path / "t.csv")) == ["#id", "label"]


@pytest.mark.filterwarnings("error")
def test_what_a_workbook_has_beside_its_cells_is_no_warning(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(("id", "label"))
    book.worksheets[0].append(("r1", "SR"))
    book.save(tmp_path / "plain.xlsx")
    rules = b'<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"/></extLst></worksheet>'
    with zipfile.ZipFile(tmp_path / "plain.xlsx") as plain, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as ruled:
        for name in plain.namelist():
            ruled.writestr(name, plain.read(name).replace(b"</worksheet>", rules))
    assert read_table(Chapman(tmp_path), tmp_path / "t.xlsx").to_numpy().tolist() == [["r1", "SR"]]


def test_binary_tables_are_tables_of_text(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (("id", "value", "note"), ("a", 61.0), (None, None, None), ("b", 61.5, " NA "), (7,)):
        book.worksheets[0].append(row)
    book.create_sheet("second").append(("another", "sheet"))
    book.save(tmp_path / "t.xlsx")
    dataset = Chapman(tmp_path)
    table = read_table(dataset, tmp_path / "t.xlsx", ("id", "value", "note"))
    assert table.to_numpy().tolist() == [["a", "61", ""], ["b", "61.5", "NA"], ["7", "", ""]]
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"id": ["a", "b"], "n": [9007199254740993, 2], "x": [0.5, None], "when": [pd.NaT, pd.NaT]})
    frame.set_index("id").to_parquet(tmp_path / "t.parquet")
    assert read_table(dataset, tmp_path / "t.parquet").to_numpy().tolist() == [
        ["a", "9007199254740993", "0.5", ""],
        ["b", "2", "", ""],
    ]
    for name in ("t.xlsx", "t.parquet"):
        (tmp_path / name).write_bytes(b"PK damaged")
        with pytest.raises(DatasetError, match="cannot be read"):
            read_table(dataset, tmp_path / name, ("id",))


def test_equal_rows_count_once() -> None:
    rows = [("7.0", "x"), ("7", "x"), ("8", "x"), ("8", "y"), ("9", "z"), ("", "w")]
    table = pd.DataFrame(rows, columns=["id", "label"])
    groups, skipped = group_rows(table, "id", whole_number)
    assert groups == {"7": [{"id": "7", "label": "x"}], "9": [{"id": "9", "label": "z"}]}
    assert skipped == [("", "no identifier: ''"), ("8", "listed twice; keep one row: 2 rows differ")]
    assert [row["label"] for row in group_rows(table, "id", whole_number, {"label"})[0]["8"]] == ["x", "y"]


@pytest.mark.parametrize(
    ("cell", "patient"),
    [("007", "7"), ("7.0", "7"), ("0", "0"), ("P007", "P007"), ("a1", "a1"), ("4E12", "4E12")]
    + [(cell, "") for cell in ("", "nan", "NaN", "unknown", "n.a.", "-1", "-9.0", "#N/A", "None", "?")],
)
def test_a_patient_is_judged_by_one_rule(cell: str, patient: str) -> None:
    assert patient_of(cell) == patient


def test_words_and_numbers_that_say_yes_or_no() -> None:
    assert {truth(text) for text in ("1", "1.00", "TRUE", "t", "yes", "y")} == {True}
    assert {truth(text) for text in ("0", "0.0", "False", "f", "no", "N")} == {False}
    assert [truth(text) for text in ("", "2", "10", "-1", "0.5", "1e0", "nan", "x")] == [None] * 8
