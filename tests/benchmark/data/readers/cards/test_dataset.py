"""The recordings of a card's folder: matched with the rows of the table, read as the built-in readers read them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.readers.base import LEADS, DatasetError, Entry, Unusable
from benchmark.data.readers.cards import find
from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.dataset import NO_FILE, NO_ROW, CardDataset
from benchmark.data.readers.cards.forms import wfdb
from benchmark.data.readers.files.wfdb_record import read_recording

Opened = Callable[..., CardDataset]


def test_a_row_is_a_recording(opened: Opened, folder: Path) -> None:
    table = {"split": "set", "report": "text", "sex": "sex", "age": "years"}
    dataset = opened(table=table, labels={"separator": ";", "others": "ignore"})
    listing = dataset.listing()
    assert len(listing.entries) == 12
    assert (listing.skipped, listing.warnings, listing.others) == ((), (), ())
    entry = listing.entries[3]
    assert (entry.recording, entry.patient, entry.path) == ("r03", "p3", "waves/r03.hea")
    assert (entry.labels, entry.fold, entry.report) == ((1,), 10, "report 3")
    assert (entry.sex, entry.age) == ("M", 43)
    assert [own.fold for own in listing.entries[:4]] == [1, 1, 9, 10]
    assert dataset.files(entry) == (folder / "waves/r03.hea", folder / "waves/r03.dat")


COMMENTS = {"r00": "SR", "r01": "AFIB, SR", "r02": "VT", "r03": ""}
"""Recording -> what its header says under Dx; the other recordings have no such comment."""


@pytest.fixture
def commented(folder: Path) -> Path:
    """The folder with comments in some headers."""
    for name, said in COMMENTS.items():
        with (folder / f"waves/{name}.hea").open("a") as file:
            file.write(f"#Age: 61\n# DX: {said}\n")
    return folder


def test_labels_may_stand_in_the_comments_of_headers(opened: Opened, commented: Path) -> None:
    labels = {"column": None, "comment": "Dx", "separator": ","}
    listing = opened(labels=labels, table={"split": "set"}).listing()
    found = {entry.recording: entry for entry in listing.entries}
    assert {name: found[name].labels for name in ("r00", "r01", "r03", "r04")} == {
        "r00": (0,),
        "r01": (1, 0),
        "r03": (),
        "r04": (),
    }
    assert (found["r01"].patient, found["r01"].fold) == ("p1", 1)
    assert [name for name, _ in listing.skipped] == ["r02"]
    assert "label is no class; add it to labels.values" in listing.skipped[0][1]
    without = opened(labels=labels | {"others": "ignore"}, table=None).listing()
    assert [entry.labels for entry in without.entries[:3]] == [(0,), (1, 0), ()]


def test_a_recording_is_read_as_a_built_in_reader_reads_it(opened: Opened, folder: Path) -> None:
    dataset = pickle.loads(pickle.dumps(opened()))
    read, expected = dataset.read(dataset.listing().entries[0]), read_recording(folder / "waves/r00")
    assert read.fs == expected.fs
    np.testing.assert_array_equal(read.signal, expected.signal)


@pytest.mark.parametrize("suffix", [".hea", ".npy", ".csv", ".h5", ".edf"])
def test_a_dataset_of_any_format_travels_to_other_processes(made: Callable[..., Card], suffix: str) -> None:
    signals = {"files": f"{{recording}}{suffix}"}
    if suffix not in (".hea", ".edf"):
        signals |= {"rate": 500, "unit": "mV", "leads": list(LEADS)}
    dataset = CardDataset(made(signals=signals), Path("/data"))
    again = pickle.loads(pickle.dumps(dataset))
    assert again.files(Entry("r", "p", f"r{suffix}")) == dataset.files(Entry("r", "p", f"r{suffix}"))


def test_a_package_that_is_missing_is_one_line(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("benchmark.data.readers.cards.forms.formats.version", lacking)
    with pytest.raises(DatasetError, match=r"ours: these files need h5py: pip install '\.\[formats\]'"):
        opened(signals={"files": "{recording}.h5", "rate": 500, "unit": "mV", "leads": list(LEADS)}).listing()


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


def test_a_split_has_three_sides(opened: Opened) -> None:
    split = {"column": "set", "train": ["train", "val"], "validation": ["dev"], "test": ["test"]}
    with pytest.raises(DatasetError, match=r"no row is of the side validation of table\.split: name its values there"):
        opened(table={"split": split}).listing()


def test_a_folder_may_name_the_patient(opened: Opened, folder: Path) -> None:
    entries = opened(table={"patient": None}, signals={"files": "{patient}/{recording}.hea"}).listing().entries
    assert {entry.patient for entry in entries} == {"waves"}


@pytest.mark.parametrize("path", ["waves/{}", "waves/{}.hea", "./waves/{}"])
def test_a_column_of_paths_finds_the_files(opened: Opened, folder: Path, path: str) -> None:
    rows = [f"{path.format(f'r{number:02}')},p{number},SR" for number in range(12)]
    (folder / "labels.csv").write_text("\n".join(["file,person,rhythm", *rows]))
    listing = opened(table={"recording": None, "path": "file"}, signals={"files": "**/*.hea"}).listing()
    if path.startswith("./"):
        assert {reason.partition(":")[0] for _, reason in listing.skipped} == set()
    assert [entry.path for entry in listing.entries] == [f"waves/r{number:02}.hea" for number in range(12)]
    assert listing.entries[0].recording == path.format("r00")


def test_paths_may_be_from_the_table_s_folder(opened: Opened, folder: Path) -> None:
    (folder / "labels.csv").rename(folder / "waves" / "labels.csv")
    table = {"file": "waves/labels.csv", "recording": None, "path": "id"}
    dataset = opened(table=table, signals={"files": "**/*.hea"}, labels={"others": "ignore"})
    assert len(dataset.listing().entries) == 12


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


def test_a_recording_in_two_folders_is_none(opened: Opened, folder: Path) -> None:
    (folder / "more").mkdir()
    for suffix in (".hea", ".dat"):
        (folder / f"more/r01{suffix}").write_bytes((folder / f"waves/r01{suffix}").read_bytes())
    listing = opened(signals={"files": "*/{recording}.hea"}).listing()
    assert "several files of one recording; narrow signals.files: more/r01.hea and waves/r01.hea" in [
        reason for name, reason in listing.skipped if name == "r01"
    ]


def test_a_pattern_that_matches_nothing_says_what_is_there(opened: Opened, folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"no file in .* matches .*there are 12 \.dat \(e\.g\. waves/r00\.dat\)"):
        opened(signals={"files": "signals/{recording}.hea"}).listing()


def test_what_is_there_is_looked_at_up_to_so_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MOST_LOOKED_AT", 2)
    for number, names in enumerate((("a.x", "b.x"), ("c.y",), ("d.z",))):
        folder = tmp_path.joinpath(*["in"] * number)
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).touch()
    assert find._there(tmp_path) == (
        ": there are 2 .x (e.g. a.x), 1 .y (e.g. in/c.y); correct the pattern or give the folder by --data"
    )


def test_without_a_header_the_signal_file_beside_it_belongs_to_a_record(tmp_path: Path) -> None:
    header, dat, mat = (tmp_path / f"a.{suffix}" for suffix in ("hea", "dat", "mat"))
    assert wfdb.files(header) == (header, dat)
    mat.touch()
    assert wfdb.files(header) == (header, mat)
    dat.touch()
    assert wfdb.files(header) == (header, dat)


def test_a_missing_table_or_column_is_one_line(opened: Opened) -> None:
    with pytest.raises(DatasetError, match=r"no labels\.tsv in .*; correct table\.file"):
        opened(table={"file": "labels.tsv"}).listing()
    with pytest.raises(DatasetError, match=r"no column 'rythm' \(did you mean 'rhythm'\?\); there are id, person"):
        opened(labels={"column": "rythm"}).listing()


def test_rows_that_contradict_each_other_are_skipped(opened: Opened, folder: Path) -> None:
    table = folder / "labels.csv"
    table.write_text(table.read_text() + "r00,p0,AFIB,train,,F,40\n")
    assert ("r00", "listed twice: 2 rows differ") in opened().listing().skipped
    assert not [reason for name, reason in opened().listing().skipped if NO_ROW in reason]


def test_an_identifier_that_no_result_can_hold_is_refused(opened: Opened, folder: Path) -> None:
    table = folder / "labels.csv"
    table.write_text(table.read_text().replace(",p0,", f",{'x' * 251},").replace(",p1,", ",p\x07,"))
    skipped = dict(opened(labels={"others": "ignore"}).listing().skipped)
    assert list(skipped) == ["r00", "r01", "r08", "r09"]
    assert all(reason.startswith("identifier not printable or longer than 250") for reason in skipped.values())


def test_a_patient_spelt_in_two_ways_is_told(opened: Opened, folder: Path) -> None:
    table = folder / "labels.csv"
    table.write_text(table.read_text().replace(",p0,", ",7,").replace(",p1,", ",7.0,"))
    listing = opened().listing()
    assert "each read as one patient" in listing.warnings[0]
    assert [entry.patient for entry in listing.entries[:2]] == ["7", "7"]


def test_a_rate_that_contradicts_the_file_rules_the_recording_out(opened: Opened) -> None:
    dataset = opened(signals={"rate": 250})
    with pytest.raises(
        Unusable, match=r"sampling rate contradicts the card; correct signals\.rate: 500 Hz in the file"
    ):
        dataset.read(dataset.listing().entries[0])


def test_what_the_card_says_of_the_reading_is_part_of_the_listing(opened: Opened, made: Callable[..., Card]) -> None:
    one, two = opened().listing(), opened(signals={"rate": 500}).listing()
    assert one.reading != two.reading
    assert opened().listing().reading == one.reading
    assert one.entries == two.entries
