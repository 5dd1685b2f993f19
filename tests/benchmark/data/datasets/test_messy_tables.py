"""Damaged and odd tables, PTB-XL's among them: right values, counted skips, or one DatasetError line."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.data.datasets.base import DatasetError, Entry, Listing
from benchmark.data.datasets.ptb_xl import COLUMNS, PTBXL
from benchmark.data.datasets.tables import whole_number
from benchmark.data.prepare import prepare, skip_summary

STATEMENTS = ",diagnostic,diagnostic_class\nNORM,1.0,NORM\nIMI,1.0,MI\nSR,,\n"
PTB_ROW = {
    "ecg_id": "7",
    "patient_id": "15709.0",
    "scp_codes": "{'IMI': 15.0, 'SR': 0.0}",
    "report": "ekg",
    "strat_fold": "3",
    "filename_lr": "records100/7",
    "filename_hr": "records500/7",
}


def csv_text(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def ptb_xl(root: Path, *changes: dict[str, str]) -> Path:
    """A folder with one good row, '1', and one row per set of changes; every header of 500 Hz is there."""
    rows = [PTB_ROW | named("1"), *(PTB_ROW | named(change.get("ecg_id", "7")) | change for change in changes)]
    (root / "ptbxl_database.csv").write_text(csv_text(rows))
    (root / "scp_statements.csv").write_text(STATEMENTS)
    (root / "records500").mkdir()
    for row in rows:
        if row["filename_hr"] == named(row["ecg_id"])["filename_hr"]:
            (root / f"{row['filename_hr']}.hea").touch()
    return root / "ptbxl_database.csv"


def named(ecg_id: str) -> dict[str, str]:
    """The cells of a row that hold its number."""
    number = whole_number(ecg_id.strip()) or "7"
    return {"ecg_id": ecg_id, "filename_lr": f"records100/{number}", "filename_hr": f"records500/{number}"}


def others(listing: Listing) -> list[Entry]:
    return [entry for entry in listing.entries if entry.recording != "1"]


ROWS_REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "id negative": ({"ecg_id": "-7"}, "no identifier: '-7'"),
    "id empty": ({"ecg_id": ""}, "no identifier: ''"),
    "patient lost its digits": ({"patient_id": "1.57E+04"}, "no patient: '1.57E+04'"),
    "patient negative": ({"patient_id": "-5"}, "no patient: '-5'"),
    "codes empty": ({"scp_codes": ""}, "scp_codes is no dictionary: ''"),
    "codes cut": ({"scp_codes": "{'IMI': 15.0, 'S"}, "scp_codes is no dictionary: \"{'IMI': 15.0, 'S\""),
    "codes a list": ({"scp_codes": "['IMI']"}, "scp_codes is no dictionary: \"['IMI']\""),
    "code unknown": ({"scp_codes": "{'IMI': 1, 'XYZ': 0}"}, "unknown SCP code: XYZ"),
    "code in lower case": ({"scp_codes": "{'imi': 1}"}, "unknown SCP code: imi"),
    "likelihood a truth": ({"scp_codes": "{'IMI': False}"}, "likelihood is no number from 0 to 100: IMI False"),
    "likelihood negative": ({"scp_codes": "{'SR': 1, 'IMI': -1}"}, "likelihood is no number from 0 to 100: IMI -1"),
    "likelihood above 100": ({"scp_codes": "{'IMI': 101}"}, "likelihood is no number from 0 to 100: IMI 101"),
    "fold missing": ({"strat_fold": ""}, "no official fold: ''"),
    "fold eleven": ({"strat_fold": "11"}, "no official fold: '11'"),
    "fold a fraction": ({"strat_fold": "9.5"}, "no official fold: '9.5'"),
    "path upwards": ({"filename_hr": "records500/../../7"}, "path refused: 'records500/../../7'"),
}


@pytest.mark.parametrize("kind", ROWS_REFUSED)
def test_a_bad_row_is_a_counted_skip(kind: str, tmp_path: Path) -> None:
    change, reason = ROWS_REFUSED[kind]
    ptb_xl(tmp_path, change)
    listing = PTBXL(tmp_path).listing()
    assert [entry.recording for entry in listing.entries] == ["1"]
    ((recording, found),) = listing.skipped
    assert recording == change.get("ecg_id", "7")[:60]
    assert found.startswith(reason)


ROWS_READ: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "id a float": ({"ecg_id": "7.0"}, {"recording": "7"}),
    "id with blanks": ({"ecg_id": " 7 "}, {"recording": "7"}),
    "id with zeros": ({"ecg_id": "00007"}, {"recording": "7"}),
    "id above 2^24": ({"ecg_id": "16777217"}, {"recording": "16777217"}),
    "patient above 2^24": ({"patient_id": "16777217.0"}, {"patient": "16777217"}),
    "patient empty": ({"patient_id": ""}, {"patient": "unknown-7"}),
    "patient nan": ({"patient_id": "NaN"}, {"patient": "unknown-7"}),
    "patient -1": ({"patient_id": "-1"}, {"patient": "unknown-7"}),
    "fold a float": ({"strat_fold": "10.0"}, {"fold": 10}),
    "likelihoods 0 and 100": ({"scp_codes": "{'IMI': 0, 'NORM': 100.0}"}, {"labels": (1, 0)}),
    "no codes": ({"scp_codes": "{}"}, {"labels": ()}),
    "codes of one class": ({"scp_codes": "{'SR': 0, 'IMI': 0, 'NORM': 1}"}, {"labels": (1, 0)}),
    "quoted commas": ({"report": 'a, "b", c'}, {"report": 'a, "b", c'}),
    "quoted line end": ({"report": "a\nb"}, {"report": "a\nb"}),
    "path without a number": ({"filename_hr": "records500/ecg"}, {"path": "records500/ecg"}),
}


@pytest.mark.parametrize("kind", ROWS_READ)
def test_an_odd_row_is_read_right(kind: str, tmp_path: Path) -> None:
    change, expected = ROWS_READ[kind]
    ptb_xl(tmp_path, change)
    listing = PTBXL(tmp_path).listing()
    (entry,) = others(listing)
    good = {"recording": "7", "patient": "15709", "labels": (1,), "fold": 3, "report": "ekg", "sex": "", "age": None}
    path = f"records500/{expected.get('recording', '7')}"
    assert {name: value for name, value in vars(entry).items() if name != "statements"} == good | {
        "path": path
    } | expected
    assert listing.skipped == ()


WHOLE_TABLE: dict[str, tuple[Callable[[str], bytes | None], str]] = {
    "empty": (lambda text: b"", "has no column ecg_id"),
    "only a header": (lambda text: text.partition("\n")[0].encode(), "has no rows"),
    "no column": (lambda text: text.replace("strat_fold", "fold").encode(), "has no column strat_fold"),
    "column twice": (lambda text: ("ecg_id," + text.replace("\n", "\n1,", 1)).encode(), "has two columns ecg_id"),
    "UTF-16": (lambda text: text.encode("utf-16"), "has no column ecg_id"),
    "a web page": (lambda text: b"<html>\n404\n</html>", "has no column ecg_id"),
    "quote never closed": (lambda text: (text + '"8').encode(), "unexpected end of data"),
    "a folder": (lambda text: None, "no ptbxl_database.csv in"),
}


@pytest.mark.parametrize("kind", WHOLE_TABLE)
def test_a_table_that_is_none_is_one_error_line(kind: str, tmp_path: Path) -> None:
    change, message = WHOLE_TABLE[kind]
    path = ptb_xl(tmp_path)
    content = change(path.read_text())
    path.unlink()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        PTBXL(tmp_path).listing()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "ptbxl_database.csv" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: (text + "\n\n").encode(),
        lambda text: text.replace("ekg", "Größe").encode("latin-1"),
        lambda text: text.replace("ecg_id", " ecg_id ").encode(),
    ],
    ids=["BOM", "CRLF", "blank lines", "Latin-1", "padded names"],
)
def test_an_odd_table_is_read_right(change: Callable[[str], bytes], tmp_path: Path) -> None:
    path = ptb_xl(tmp_path, {})
    path.write_bytes(change(path.read_text()))
    listing = PTBXL(tmp_path).listing()
    assert [entry.recording for entry in listing.entries] == ["1", "7"]
    assert listing.entries[1].report in ("ekg", "Größe")
    assert listing.skipped == ()


def test_ragged_and_repeated_rows(tmp_path: Path) -> None:
    changes = [{"ecg_id": "8"}, {"ecg_id": "8.0"}, {"ecg_id": "9"}, {"ecg_id": "9", "scp_codes": "{'NORM': 1}"}]
    path = ptb_xl(tmp_path, *changes)
    path.write_text(path.read_text() + "10,11\n")
    listing = PTBXL(tmp_path).listing()
    assert [entry.recording for entry in listing.entries] == ["1", "8"]  # equal rows count once
    assert listing.skipped == (
        ("ptbxl_database.csv line 7", "ragged row: 2 cells, the header has 7"),
        ("9", "listed twice: 2 rows differ"),
    )


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (STATEMENTS.replace(",MI", ",XYZ"), "IMI: unknown diagnostic_class 'XYZ'"),
        (STATEMENTS.replace(",MI", ","), "IMI: unknown diagnostic_class ''"),
        ("," + STATEMENTS.split(",", 1)[1].replace("1.0,NORM", ",").replace("1.0,MI", ","), "has no diagnostic code"),
        (STATEMENTS.replace("1.0,MI", ",MI"), "line 3, IMI: diagnostic is blank, but diagnostic_class is 'MI'"),
        (STATEMENTS.replace("1.0,MI", "0.0,MI"), "line 3, IMI: diagnostic is 0.0, but diagnostic_class is 'MI'"),
        (STATEMENTS.replace("1.0,MI", "maybe,MI"), "line 3, IMI: diagnostic is 'maybe', not 1.0 or blank"),
        (STATEMENTS.replace("1.0,MI", "2,MI"), "line 3, IMI: diagnostic is '2', not 1.0 or blank"),
        (STATEMENTS.replace(",", "code,", 1), "has no column without a name"),
    ],
)
def test_statements_that_do_not_say_the_superclass_are_an_error(tmp_path: Path, statements: str, message: str) -> None:
    ptb_xl(tmp_path)
    (tmp_path / "scp_statements.csv").write_text(statements)
    with pytest.raises(DatasetError, match=message):
        PTBXL(tmp_path).listing()


@pytest.mark.parametrize(("yes", "no"), [("1", ""), (" 1.0 ", "0"), ("TRUE", "False"), ("yes", "no")])
def test_a_truth_value_is_read_however_it_is_spelt(tmp_path: Path, yes: str, no: str) -> None:
    ptb_xl(tmp_path, {"scp_codes": "{'SR': 0.0, 'IMI': 100.0, 'NORM': 0.0}"})
    (tmp_path / "scp_statements.csv").write_text(STATEMENTS.replace("SR,", f"SR,{no}").replace("1.0", yes))
    assert others(PTBXL(tmp_path).listing())[0].labels == (1, 0)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("filename_hr", "recording 2 has the filename_hr of another recording, 'records500/3' (4 of 5 rows)"),
        ("ecg_id", "recording 3 has the filename_hr of another recording, 'records500/2' (3 of 3 rows)"),
    ],
)
def test_a_column_shifted_by_a_row_is_refused_with_its_line(tmp_path: Path, column: str, told: str) -> None:
    ptb_xl(tmp_path, *({"ecg_id": f"{number}", "report": "a\nb"} for number in range(2, 6)))
    path = tmp_path / "ptbxl_database.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    shifted = [row | {column: rows[(place + 1) % 5][column]} for place, row in enumerate(rows)]
    path.write_text(csv_text([rows[0], *shifted[1:]]))
    with pytest.raises(DatasetError) as caught:
        PTBXL(tmp_path).listing()
    line = str(caught.value)
    assert f"{path} line 4: {told}" in line  # of two: the report of each has a line end
    assert "is a column shifted by a row?" in line
    assert "\n" not in line


def test_a_file_name_of_the_form_that_is_not_read_does_not_matter(tmp_path: Path) -> None:
    ptb_xl(tmp_path, {"filename_lr": "records100/8"})
    assert [entry.recording for entry in PTBXL(tmp_path).listing().entries] == ["1", "7"]


def test_a_patient_spelt_in_several_ways_is_one_and_is_told(tmp_path: Path) -> None:
    changes = [
        {"ecg_id": f"{n}", "patient_id": text} for n, text in enumerate(("15", "15.000", "15.0", "15.", "16"), 2)
    ]
    ptb_xl(tmp_path, *changes)
    listing = PTBXL(tmp_path).listing()
    assert [entry.patient for entry in listing.entries] == ["15709", "15", "15", "15", "15", "16"]
    assert listing.warnings == (
        "1 of 3 patients are spelt in several ways, each read as one patient: '15' and '15.000' and '15.0' and '15.'",
    )


def test_nothing_but_skips_leaves_nothing_but_their_reasons(tmp_path: Path) -> None:
    path = ptb_xl(tmp_path, {})
    path.write_text(path.read_text().replace(",3,", ",,"))
    prepared = prepare(PTBXL(tmp_path), tmp_path / "cache", workers=1)
    assert not prepared.entries
    assert skip_summary(prepared.skipped) == {"no official fold": 2}


def test_every_column_is_needed() -> None:
    assert set(PTB_ROW) == set(COLUMNS)
