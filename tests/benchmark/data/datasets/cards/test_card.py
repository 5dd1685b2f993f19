"""Cards: what they may say, which files and rows are which recordings, and what of them is counted and not lost."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from benchmark.data.datasets.base import LEADS, DatasetError, Unusable
from benchmark.data.datasets.card import (
    FOLDS,
    NO_FILE,
    NO_ROW,
    Card,
    CardDataset,
    CardFile,
    CardSplit,
    files_by_name,
    find_files,
    match_file,
)
from benchmark.data.datasets.card_labels import CardLabels, labels_of
from benchmark.data.datasets.folder_walk import walk_folder
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.splits import TEST_FOLD, VALIDATION_FOLD

Opened = Callable[..., CardDataset]
IGNORE = {"others": "ignore"}
STACKED: dict[str, Any] = {"files": "all.npy", "stacked": True, "rate": 500, "unit": "mV", "leads": list(LEADS)}


def rewrite(folder: Path, **columns: list[str]) -> None:
    """Other columns in the folder's table."""
    pd.read_csv(folder / "labels.csv", dtype=str).assign(**columns).to_csv(folder / "labels.csv", index=False)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"signals": {"files": "{recording}.xyz"}}, "says no format"),
        ({"signals": {"unit": "mV", "gain": 1000}}, "give unit or gain, not both"),
        ({"table": {"recording": None}}, "it needs `recording`, the column with what {recording} is, or `path`"),
        ({"labels": {"values": {"AF": ["SR"]}}}, "'SR' stands for two classes"),
        ({"labels": {"values": {"AFF": ["x"]}}}, "unknown class in values 'AFF' (did you mean 'AF'?)"),
        ({"labels": {"comment": "Dx"}}, "give column or comment, not both"),
        (
            {"labels": {"column": None, "comment": "Dx"}, "signals": STACKED},
            "labels: they stand in a table, and WFDB headers have comments",
        ),
    ],
)
def test_what_a_card_may_not_say(made: Callable[..., Card], sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made(**sections)
    assert message in str(caught.value)


def test_a_row_is_a_recording_read_as_a_built_in_reader_reads_it(opened: Opened, folder: Path) -> None:
    table = {"split": "set", "report": "text"}
    dataset = pickle.loads(pickle.dumps(opened(table=table, labels={"separator": ";", **IGNORE})))
    listing = dataset.listing()
    ignored = "1 labels are no class and are ignored (labels.others): STD 1"
    assert (len(listing.entries), listing.skipped, listing.warnings) == (12, (), (ignored,))
    entry = listing.entries[3]
    assert (entry.recording, entry.patient, entry.path) == ("r03", "p3", "waves/r03.hea")
    assert (entry.labels, entry.fold, entry.report) == ((1,), 10, "report 3")
    assert [item.fold for item in listing.entries[:4]] == [1, 1, 9, 10]
    assert dataset.files(entry) == (folder / "waves/r03.hea", folder / "waves/r03.dat")
    np.testing.assert_array_equal(dataset.read(entry).signal, read_recording(folder / "waves/r03").signal)


def test_without_a_table_every_file_is_a_recording_of_a_person_or_of_its_folder_s(opened: Opened, folder: Path) -> None:
    entries = opened(table=None, labels=None).listing().entries
    assert [(entry.recording, entry.patient, entry.labels) for entry in entries] == [
        (f"r{number:02}", f"r{number:02}", ()) for number in range(12)
    ]
    (folder / "p2").mkdir()
    for suffix in (".hea", ".dat"):
        (folder / f"p2/r01{suffix}").write_bytes((folder / f"waves/r01{suffix}").read_bytes())
    entries = opened(table=None, labels=None, signals={"files": "{patient}/{recording}.hea"}).listing().entries
    assert [(entry.recording, entry.patient) for entry in entries[:2]] == [("p2/r01", "p2"), ("waves/r00", "waves")]
    assert len(entries) == 13


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("waves/{}", "**/*.hea"),
        (r"waves\{}.hea", "**/*.hea"),
        ("./waves/{}", "**/*.hea"),
        ("{}.hea", "waves/*.hea"),  # counted from the pattern's folder
    ],
)
def test_a_column_of_paths_finds_the_files(opened: Opened, folder: Path, path: str, pattern: str) -> None:
    rows = [f"{path.format(f'r{number:02}')},p{number},SR" for number in range(12)]
    (folder / "labels.csv").write_text("\n".join(["file,person,rhythm", *rows]))
    listing = opened(table={"recording": None, "path": "file"}, signals={"files": pattern}).listing()
    assert [entry.path for entry in listing.entries] == [f"waves/r{number:02}.hea" for number in range(12)]
    assert (listing.entries[0].recording, listing.skipped) == (path.format("r00"), ())


def test_an_identifier_that_stands_twice_in_a_pattern_is_the_same_text(opened: Opened, folder: Path) -> None:
    (folder / "r01").mkdir()
    for name in ("r01", "r02"):
        (folder / "r01" / f"{name}.hea").write_bytes((folder / f"waves/{name}.hea").read_bytes())
    dataset = opened(table=None, labels=None, signals={"files": "{recording}/{recording}.hea"})
    assert [entry.path for entry in dataset.listing().entries] == ["r01/r01.hea"]


@pytest.mark.parametrize("file", ["", "waves", "/dev/zero"])
def test_a_table_that_is_no_file_is_one_line(opened: Opened, file: str) -> None:
    with pytest.raises(DatasetError, match=r"^ours: no \w* in \S+: copy it there, or correct its name\.$"):
        opened(table={"file": file}).listing()


def test_what_is_not_used_is_counted_with_its_reason(opened: Opened, folder: Path) -> None:
    (folder / "waves/r00.hea").rename(folder / "waves/x00.hea")
    table = folder / "labels.csv"
    table.write_text(table.read_text() + "r01,p1,SR,train,report 1,M,41\nr02,p9,AFIB,train,,F,40\n")
    listing = opened().listing()
    skipped = dict(listing.skipped)
    assert (len(listing.entries), [*skipped]) == (9, ["r02", "r00", "r03", "x00"])
    assert (skipped["r02"], skipped["r00"]) == ("listed twice; keep one row: 2 rows differ", NO_FILE)
    assert skipped["r03"].startswith("label is no class; ")
    assert skipped["x00"] == f"{NO_ROW}: waves/x00.hea"
    assert listing.entries[0].labels == (1, 0)  # of r01, taken together
    (warning,) = listing.warnings
    assert warning.startswith("1 recordings")
    listing = opened(labels={"others": "ignore", "separator": ";"}).listing()
    assert {entry.recording: entry.labels for entry in listing.entries}["r03"] == (1,)


@pytest.mark.parametrize(
    ("file", "cell"), [("a/0007.npy", "7"), ("7.npy", "007"), ("w/r1.hea", "r1.dat"), ("w/r1.hea", "w/r1.MAT")]
)
def test_a_cell_may_shorten_a_number_or_name_a_signal_file(file: str, cell: str) -> None:
    files = [CardFile(file, Path(file).stem, "")]
    assert match_file(cell, files_by_name(files)) == (files if cell != "007" else [])


def test_recordings_without_a_patient_are_a_person_each(opened: Opened, folder: Path) -> None:
    rewrite(folder, person=["nan", "unknown", "-1", "", "4,01234E+11", *["007", "7", "7.0", "p", "p", "p", "p"]])
    listing = opened(labels=IGNORE).listing()
    assert [entry.patient for entry in listing.entries[4:8]] == ["7", "7", "7", "p"]
    assert len({entry.patient for entry in listing.entries[:4]}) == 4
    spellings, labels, unnamed = listing.warnings
    assert (spellings[:10], labels[:8], unnamed[:18]) == ("1 patients", "1 labels", "4 of 11 recordings")
    assert spellings.endswith("'007' and '7'")
    assert listing.skipped[0][1].startswith("patient's number shortened by a spreadsheet")


FILES = ("[b] c/r5.hea", "a/p1/r1_hr.hea", "a/p1/r2_hr.hea", "a/p2/r3_hr.hea", "a/p2/r3_lr.hea", "r4_hr.hea")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{recording}_hr.hea", [("r4_hr.hea", "r4", "")]),
        ("a/{patient}/{recording}_lr.hea", [("a/p2/r3_lr.hea", "r3", "p2")]),
        ("**/{recording}_hr.hea", [(path, path[-9:-7], "") for path in FILES if path.endswith("_hr.hea")]),
        ("a/*1/{recording}.hea", [("a/p1/r1_hr.hea", "r1_hr", ""), ("a/p1/r2_hr.hea", "r2_hr", "")]),
        ("[b] c/*.hea", [("[b] c/r5.hea", "r5", "")]),
    ],
)
def test_a_pattern_finds_the_identifiers_of_files(
    made: Callable[..., Card], tmp_path: Path, pattern: str, expected: list[tuple[str, str, str]]
) -> None:
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    files = find_files(made(signals={"files": pattern}), walk_folder(tmp_path))
    assert [tuple(file[:3]) for file in files] == expected
    with pytest.raises(DatasetError, match="6 files"):
        find_files(made(signals={"files": "signals/{recording}.hea"}), walk_folder(tmp_path))


def test_files_that_are_neither_signals_nor_the_table_are_noted(opened: Opened, folder: Path) -> None:
    for name in ("waves/r00_2.dat", "card.yaml", "echo.pdf", "waves/ward.edf"):
        (folder / name).touch()
    listing = opened(labels=IGNORE).listing()
    assert listing.notes == ("2 files beside the signals and tables (echo.pdf, waves/ward.edf)",)


def test_hidden_files_are_no_data(opened: Opened, folder: Path) -> None:
    for hidden in ("waves/._r00.hea", "waves/.ipynb_checkpoints/r00.hea", "waves/~$r00.hea"):
        (folder / hidden).parent.mkdir(exist_ok=True)
        (folder / hidden).write_bytes(b"\0")
    (folder / "waves").rename(folder.parent / "elsewhere")
    (folder / "waves").symlink_to(folder.parent / "elsewhere")
    for pattern in ("waves/{recording}.hea", "**/{recording}.hea"):
        listing = opened(labels=IGNORE, signals={"files": pattern}).listing()
        assert (len(listing.entries), listing.skipped) == (12, ())


def test_cells_of_a_class_that_state_nothing_count_as_no(opened: Opened, folder: Path) -> None:
    rewrite(folder, AF=["1", "0", "", "NA"] * 3, LVH=["1", "0", "0", "1"] * 3)
    columns: dict[str, Any] = {"column": None, "classes": ["AF", "LVH"], "values": {}, "separator": None}
    listing = opened(labels=columns).listing()
    assert len(listing.entries) == 12
    (warning,) = listing.warnings
    assert "6 of 12 cells of the class AF" in warning
    assert [entry.is_negative for entry in listing.entries] == [False, True, True, False] * 3
    listing = opened(labels=columns | {"blank": "skip"}).listing()
    assert len(listing.entries) == 6
    assert {reason.partition(":")[0] for _, reason in listing.skipped} == {
        "cell of a class is blank and labels.blank is skip"
    }
    assert listing.warnings == ()


def test_labels_that_are_ignored_are_counted_by_name(opened: Opened, folder: Path) -> None:
    rewrite(folder, rhythm=["SR", "SR;PAC", "AF;LBBB", "PAC"] * 3)
    labels: dict[str, Any] = {"classes": ["SR", "AF"], "values": {}, "separator": ";"}
    listing = opened(labels=labels | IGNORE).listing()
    (warning,) = listing.warnings
    assert warning.startswith("9 labels")
    assert warning.endswith("PAC 6, LBBB 3")
    listing = opened(labels=labels).listing()
    assert (len(listing.skipped), listing.warnings) == (9, ())
    assert not any(entry.is_negative for entry in listing.entries)


def test_a_table_that_is_not_utf8_says_so(opened: Opened, folder: Path) -> None:
    table = folder / "labels.csv"
    table.write_bytes(table.read_text().replace("rhythm", "诊断").encode("gb18030"))
    with pytest.raises(DatasetError, match="not UTF-8"):
        opened(labels={"column": "诊断"}).listing()
    table.write_bytes(table.read_bytes().replace("诊断".encode("gb18030"), b"rhythm").replace(b"report 1", b"\xe9"))
    assert ["labels.csv is not UTF-8" in warning for warning in opened().listing().warnings].count(True) == 1


@pytest.mark.parametrize(
    ("given", "cells", "expected"),
    [
        ({"column": "a"}, {"a": "AF"}, (1,)),
        ({"column": "a"}, {"a": ""}, ()),
        ({"column": "a"}, {"a": "1.0"}, (2,)),
        ({"column": "a", "separator": "|"}, {"a": "AF| SR|AF|"}, (1, 0)),
        ({"column": ["a", "b"]}, {"a": "AF", "b": "SR"}, (1, 0)),
        ({"column": "a", "values": {"AF": ["AFIB", "AFLT"]}}, {"a": "AFLT"}, (1,)),
        ({"column": "a", "others": "ignore"}, {"a": "VT"}, ()),
        ({}, {"SR": "1", "AF": "no", "1": ""}, (0,)),
        ({"values": {"AF": ["fib", "flut"]}}, {"SR": "0", "fib": "0.0", "flut": "True", "1": "1.0"}, (1, 2)),
    ],
)
def test_labels_are_the_classes_of_the_cells(
    given: dict[str, Any], cells: dict[str, str], expected: tuple[int, ...]
) -> None:
    labels = CardLabels.model_validate({"classes": ["SR", "AF", "1"], **given})
    assert labels.indices(labels.texts([cells])) == expected


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("['NORM', 'SR']", ["NORM", "SR"]),
        ("['NORM' 'SR']", ["NORM", "SR"]),
        ('["NORM", "SR"]', ["NORM", "SR"]),
        ("{'NORM': 100.0, 'SR': 0.0}", ["NORM", "SR"]),
        ('{"NORM": true}', ["NORM"]),
        ("('NORM',)", ["NORM"]),
        ("[NORM, SR]", ["NORM", "SR"]),
        ("[426783006 5]", ["426783006", "5"]),
        (r'["\u7aa6\u6027"]', ["窦性"]),
        ("[sinus rhythm; AF]", ["sinus rhythm", "AF"]),
        ("[426783006, 5]", ["426783006", "5"]),
        ("[]", []),
        ("NORM", ["NORM"]),
        ("[NORM] or [SR]?", ["[NORM] or [SR]?"]),
        ("[['RBBB'],'x']", ["[['RBBB'],'x']"]),
        ("{[1]: 2}", ["{[1]: 2}"]),
        ("(a: b)", ["(a: b)"]),
        ("[&a [*a]]", ["[&a [*a]]"]),
        ("[" * 2000 + "]" * 2000, ["[" * 2000 + "]" * 2000]),
    ],
)
def test_a_list_in_a_cell_is_its_members(cell: str, labels: list[str]) -> None:
    assert labels_of(cell, None) == labels


def test_a_part_of_the_split_is_a_fold_of_that_part() -> None:
    usual, numbers = CardSplit(column="set"), {"train": [1, 2], "validation": [9], "test": [10]}
    assert [usual.fold_of(cell) for cell in ("Train", "val", "dev", "TESTING")] == [1, 9, 9, 10]
    folds = CardSplit.model_validate({"column": "set", **numbers})
    assert [folds.fold_of(cell) for cell in ("2", "9.0", "10")] == [1, 9, 10]
    assert (FOLDS["validation"], FOLDS["test"]) == (VALIDATION_FOLD, TEST_FOLD)
    with pytest.raises(Unusable, match=r"table\.split: '3'"):
        folds.fold_of("3")


@pytest.fixture
def stack(make_ecg: Callable[..., Any]) -> Any:
    """(12, n, 12) recordings that differ in scale."""
    return np.stack([make_ecg(seconds=2.0) * (1 + row) for row in range(12)]).astype(np.float32)


def hdf5(path: Path, **arrays: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


@pytest.mark.parametrize("first", [1, 2, 0])
def test_rows_of_an_array_are_matched_by_their_numbers_only_if_all_are_there(
    opened: Opened, folder: Path, stack: Any, first: int
) -> None:
    np.save(folder / "all.npy", stack)
    rewrite(folder, id=[str(number + first) for number in range(12)])
    dataset = opened(signals=STACKED, labels=IGNORE)
    if first:
        with pytest.raises(DatasetError, match=rf"12 .* labels\.csv .* 12 recordings, '{first}' first"):
            dataset.listing()
        dataset = opened(signals=STACKED, table=None, labels=None)
    (entry,) = [entry for entry in dataset.listing().entries if entry.recording == "3"]
    assert (entry.recording, entry.path, dataset.files(entry)) == ("3", "all.npy#3", (folder / "all.npy",))
    np.testing.assert_array_equal(dataset.read(entry).signal, stack[3])


def test_rows_are_matched_with_the_table_by_their_identifiers(opened: Opened, folder: Path, stack: Any) -> None:
    rewrite(folder, id=[str(5000 + number) for number in range(12)])
    hdf5(folder / "a.h5", ecg=stack[:3].transpose(0, 2, 1), id=np.array([5005.0, 5001.0, 99.0]))
    hdf5(folder / "b.h5", ecg=stack[3:6].transpose(0, 2, 1), id=np.array(["5002", "5004", "5006"], "S4"))
    dataset = opened(signals={**STACKED, "files": "*.h5", "ids_name": "id"}, labels=IGNORE)
    listing = dataset.listing()
    assert {entry.recording: entry.path for entry in listing.entries} == {
        "5005": "a.h5#0", "5001": "a.h5#1", "5002": "b.h5#0", "5004": "b.h5#1", "5006": "b.h5#2",
    }  # fmt: skip
    assert (dict(listing.skipped)["99"], dict(listing.skipped)["5000"]) == (f"{NO_ROW}: a.h5#2", NO_FILE)
    entry = next(item for item in listing.entries if item.recording == "5004")
    assert (entry.patient, entry.labels) == ("p4", (0,))
    np.testing.assert_array_equal(dataset.read(entry).signal, stack[4])


def test_a_rate_in_the_table_is_compared_with_that_of_the_file(opened: Opened, folder: Path) -> None:
    rewrite(folder, sampling_rate=["500"] * 11 + ["250"])
    dataset = opened(labels=IGNORE)
    first, *_, last = dataset.listing().entries
    assert dataset.read(first).fs == 500
    with pytest.raises(Unusable, match="500 Hz says the file, 250 Hz says the table"):
        dataset.read(last)
