"""The recordings of a card's folder: matched with the rows of the table, read as the built-in readers read them.

Path patterns: what they find, and which identifiers stand in the paths.

The table of a card in each kind of file: the same rows.

Cells of a table: identifiers, labels and sides, and the reasons where one cannot be read.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.card import NO_FILE, NO_ROW, Card, CardDataset, CardFile, find_files
from benchmark.data.datasets.card_sections import FOLDS, CardLabels, CardSplit
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.splits import TEST_FOLD, VALIDATION_FOLD

Opened = Callable[..., CardDataset]


def test_a_row_is_a_recording(opened: Opened, folder: Path) -> None:
    table = {"split": "set", "report": "text"}
    dataset = opened(table=table, labels={"separator": ";", "others": "ignore"})
    listing = dataset.listing()
    assert len(listing.entries) == 12
    assert (listing.skipped, listing.warnings) == ((), ())
    entry = listing.entries[3]
    assert (entry.recording, entry.patient, entry.path) == ("r03", "p3", "waves/r03.hea")
    assert (entry.labels, entry.fold, entry.report) == ((1,), 10, "report 3")
    assert [item.fold for item in listing.entries[:4]] == [1, 1, 9, 10]
    assert dataset.files(entry) == (folder / "waves/r03.hea", folder / "waves/r03.dat")


COMMENTS = {"r00": "SR", "r01": "AFIB, SR", "r02": "VT", "r03": ""}
"""Recording -> what its header says under Dx; the other recordings have no such comment."""


@pytest.fixture
def commented(folder: Path) -> Path:
    """The folder with comments in some headers."""
    for name, text in COMMENTS.items():
        with (folder / f"waves/{name}.hea").open("a") as file:
            file.write(f"#Age: 61\n# DX: {text}\n")
    return folder


def test_labels_may_stand_in_the_comments_of_headers(opened: Opened, commented: Path) -> None:
    labels = {"column": None, "comment": "Dx", "separator": ","}
    listing = opened(labels=labels, table={"split": "set"}).listing()
    result = {entry.recording: entry for entry in listing.entries}
    assert {name: result[name].labels for name in ("r00", "r01", "r03", "r04")} == {
        "r00": (0,),
        "r01": (1, 0),
        "r03": (),
        "r04": (),
    }
    assert (result["r01"].patient, result["r01"].fold) == ("p1", 1)
    assert [name for name, _ in listing.skipped] == ["r02"]
    assert "label is no class; add it to labels.values" in listing.skipped[0][1]
    without = opened(labels=labels | {"others": "ignore"}, table=None).listing()
    assert [entry.labels for entry in without.entries[:3]] == [(0,), (1, 0), ()]


def test_a_recording_is_read_as_a_built_in_reader_reads_it(opened: Opened, folder: Path) -> None:
    dataset = pickle.loads(pickle.dumps(opened()))
    read, expected = dataset.read(dataset.listing().entries[0]), read_recording(folder / "waves/r00")
    assert read.fs == expected.fs
    np.testing.assert_array_equal(read.signal, expected.signal)


def test_without_a_table_every_file_is_a_recording(opened: Opened) -> None:
    entries = opened(table=None, labels=None).listing().entries
    assert [entry.recording for entry in entries] == [f"r{number:02}" for number in range(12)]
    assert {entry.labels for entry in entries} == {()}
    assert [entry.patient for entry in entries] == [entry.recording for entry in entries]


def test_patients_folders_may_have_files_of_the_same_name(opened: Opened, folder: Path) -> None:
    (folder / "p2").mkdir()
    for suffix in (".hea", ".dat"):
        (folder / f"p2/r01{suffix}").write_bytes((folder / f"waves/r01{suffix}").read_bytes())
    card = opened(table=None, labels=None, signals={"files": "{patient}/{recording}.hea"})
    entries = card.listing().entries
    assert [(entry.recording, entry.patient) for entry in entries[:2]] == [("p2/r01", "p2"), ("waves/r00", "waves")]
    assert len(entries) == 13


@pytest.mark.parametrize("path", ["waves/{}", "waves/{}.hea", "./waves/{}"])
def test_a_column_of_paths_finds_the_files(opened: Opened, folder: Path, path: str) -> None:
    rows = [f"{path.format(f'r{number:02}')},p{number},SR" for number in range(12)]
    (folder / "labels.csv").write_text("\n".join(["file,person,rhythm", *rows]))
    listing = opened(table={"recording": None, "path": "file"}, signals={"files": "**/*.hea"}).listing()
    if path.startswith("./"):
        assert {reason.partition(":")[0] for _, reason in listing.skipped} == set()
    assert [entry.path for entry in listing.entries] == [f"waves/r{number:02}.hea" for number in range(12)]
    assert listing.entries[0].recording == path.format("r00")


def test_rows_without_a_file_and_files_of_no_row_are_counted(opened: Opened, folder: Path) -> None:
    (folder / "waves/r00.hea").rename(folder / "waves/x00.hea")
    listing = opened().listing()
    assert len(listing.entries) == 10
    assert listing.skipped[0] == ("r00", NO_FILE)
    assert listing.skipped[1][0] == "r03"  # a label that is no class
    assert listing.skipped[2:] == (("x00", f"{NO_ROW}: waves/x00.hea"),)


def test_a_label_that_is_no_class_is_skipped_or_ignored_as_the_card_says(opened: Opened) -> None:
    assert [name for name, _ in opened().listing().skipped] == ["r03"]
    assert opened(labels={"others": "ignore"}).listing().entries[3].labels == ()
    assert opened(labels={"others": "ignore", "separator": ";"}).listing().entries[3].labels == (1,)


def test_a_pattern_that_matches_nothing_says_what_is_there(opened: Opened, folder: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"no file in .* matches .*there are 12 \.dat, 12 \.hea, 1 \.csv, e\.g\. .labels\.csv"
    ):
        opened(signals={"files": "signals/{recording}.hea"}).listing()


def test_rows_of_one_recording_are_taken_together_or_skipped_where_more_than_labels_differ(
    opened: Opened, folder: Path
) -> None:
    table = folder / "labels.csv"
    table.write_text(table.read_text() + "r00,p0,AFIB,train,,F,40\nr01,p9,AFIB,train,,F,40\n")
    listing = opened().listing()
    assert listing.entries[0].labels == (0, 1)
    assert listing.warnings == ("1 recordings have several rows, whose labels are taken together",)
    assert ("r01", "listed twice; keep one row: 2 rows differ") in listing.skipped
    assert not [reason for _, reason in listing.skipped if NO_ROW in reason]


FILES = ("[b] c/r5.hea", "a/p1/r1_hr.hea", "a/p1/r2_hr.hea", "a/p2/r3_hr.hea", "a/p2/r3_lr.hea", "r4_hr.hea")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{recording}_hr.hea", [("r4_hr.hea", "r4", "")]),
        ("a/{patient}/{recording}_lr.hea", [("a/p2/r3_lr.hea", "r3", "p2")]),
        ("**/{recording}_hr.hea", [(path, path[-9:-7], "") for path in FILES if path.endswith("_hr.hea")]),
        ("a/*1/{recording}.hea", [("a/p1/r1_hr.hea", "r1_hr", ""), ("a/p1/r2_hr.hea", "r2_hr", "")]),
        ("[b] c/{recording}.hea", [("[b] c/r5.hea", "r5", "")]),
        ("{patient}_hr.hea", [("r4_hr.hea", "r4_hr", "r4")]),
    ],
)
def test_a_pattern_finds_files_and_their_identifiers(
    made: Callable[..., Card], tmp_path: Path, pattern: str, expected: list[tuple[str, str, str]]
) -> None:
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    named = "{recording}" in pattern
    table = {"patient": None, "recording": "id" if named else None, "path": None if named else "id"}
    assert find_files(made(signals={"files": pattern}, table=table), tmp_path) == [CardFile(*item) for item in expected]


def classes_of(cells: dict[str, str], labels: CardLabels) -> tuple[int, ...]:
    return labels.of_texts([cells[name] for name in labels.columns]) if labels.column else labels.of_columns(cells)


def labels(**given: Any) -> CardLabels:
    return CardLabels.model_validate({"classes": ["SR", "AF", "1"], **given})


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
    assert classes_of(cells, labels(**given)) == expected


def test_a_side_is_a_fold_of_that_side() -> None:
    usual, folds = (
        CardSplit(column="set"),
        CardSplit.model_validate({"column": "set", "train": [1, 2], "validation": [9], "test": [10]}),
    )
    assert [usual.fold_of(cell) for cell in ("Train", "training")] == [1, 1]
    assert [usual.fold_of(cell) for cell in ("val", "valid", "Validation", "dev", "TESTING", "test")] == [9] * 4 + [
        10
    ] * 2
    assert [folds.fold_of(cell) for cell in ("2", "9.0", "10")] == [1, 9, 10]
    assert (FOLDS["validation"], FOLDS["test"]) == (VALIDATION_FOLD, TEST_FOLD)
    assert FOLDS["train"] not in (VALIDATION_FOLD, TEST_FOLD)
    with pytest.raises(Unusable, match=r"no part of the split; name it in table\.split: '3'"):
        folds.fold_of("3")
