"""The CPSC2018 reader: which label is the first, texts and codes, and forms never pooled."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.cpsc2018 import CPSC2018, FIRST_LABELS

REFERENCE = "Recording,First_label,Second_label,Third_label\nA0001,5,2,\nA0002,9,,\n"


def add(root: Path, folder: str, name: str, codes: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: {codes}\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    add(tmp_path, "Training_WFDB", "A0001", "AF,RBBB")
    add(tmp_path, "Training_WFDB", "A0002", "STE")
    return tmp_path


@pytest.mark.parametrize("folder", [".", "Training_WFDB"])
def test_reference_decides_which_label_is_the_first(root: Path, folder: str):
    (root / folder / "REFERENCE.csv").write_text(REFERENCE)
    listing = CPSC2018(root).listing()
    assert listing.form == "Training_WFDB, labels of REFERENCE.csv"
    assert [entry.labels for entry in listing.entries] == [(4, 1), (8,)]
    assert [entry.patient for entry in listing.entries] == ["A0001", "A0002"]
    assert [path.name for path in CPSC2018(root).files(listing.entries[0])] == ["A0001.hea", "A0001.mat"]


def test_without_reference_the_headers_labels_stand(root: Path):
    listing = CPSC2018(root).listing()
    assert listing.form == "Training_WFDB, labels of the headers"
    assert [entry.labels for entry in listing.entries] == [(1, 4), (8,)]


def test_without_reference_the_published_first_label_is_the_first(root: Path):
    add(root, "Training_WFDB", "A0043", "AF,RBBB")
    assert CPSC2018(root).listing().entries[2].labels == (4, 1)


def test_the_shipped_first_labels_are_those_of_the_published_table(shared_ecgs: Path):
    reference = (shared_ecgs / "cpsc2018" / "REFERENCE.csv").read_text().split()[1:]
    rows = [line.split(",") for line in reference]
    several = [(name, CPSC2018.classes[int(labels[0]) - 1]) for name, *labels in rows if any(labels[1:])]
    assert several == [tuple(line.split(",")) for line in FIRST_LABELS.read_text().split()]
    assert len(several) == 477


def test_codes_and_texts_are_both_read(root: Path):
    codes = [
        "426783006",
        "164889003",
        "270492004",
        "164909002",
        "59118001",
        "284470004",
        "164884008",
        "429622005",
        "164931005",
    ]
    for number, code in enumerate(codes):
        add(root, "Training_WFDB", f"A001{number}", f"251146004,{code}")
    add(root, "Training_WFDB", "A0020", "270492004,59118001,251146004")
    assert [entry.labels for entry in CPSC2018(root).listing().entries[2:]] == [*((c,) for c in range(9)), (2, 4)]


def test_a_row_without_its_recording_is_counted_where_it_is_read(root: Path):
    (root / "REFERENCE.csv").write_text(REFERENCE + "A0003,1,,\n")
    missing = CPSC2018(root).listing().entries[2]
    assert (missing.recording, missing.path, missing.labels) == ("A0003", "Training_WFDB/A0003", (0,))
    with pytest.raises(Unusable, match="file missing: header"):
        CPSC2018(root).read(missing)


def test_forms_are_recognised_and_not_pooled(root: Path):
    add(root, "WFDB_CPSC2018", "A0009", "426783006")
    listing = CPSC2018(root).listing()
    assert len(listing.entries) == 2
    assert listing.others == ("WFDB_CPSC2018",)
    (entry,) = CPSC2018(root / "WFDB_CPSC2018").listing().entries
    assert (entry.path, entry.labels) == ("A0009", (0,))
    assert CPSC2018(root / "WFDB_CPSC2018").files(entry)[0].is_file()


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("Training_WFDB", "Training_WFDB"),
        ("WFDB_CPSC2018", "WFDB_CPSC2018"),
        (".", "WFDB"),
        ("g1", "WFDB"),
    ],
)
def test_every_form_with_headers_is_recognised(tmp_path: Path, folder: str, form: str):
    add(tmp_path, folder, "A0001", "AF")
    listing = CPSC2018(tmp_path).listing()
    assert listing.form == f"{form}, labels of the headers"
    assert [entry.path for entry in listing.entries] == [str(Path(folder, "A0001"))]
    assert listing.others == ()


def test_recordings_of_several_folders_have_the_table_of_the_first(tmp_path: Path):
    add(tmp_path, "g1", "A0001", "AF")
    add(tmp_path, "g2", "A0002", "STE")
    (tmp_path / "g1" / "REFERENCE.csv").write_text(REFERENCE + "A0003,1,,\n")
    assert [entry.path for entry in CPSC2018(tmp_path).listing().entries] == ["g1/A0001", "g2/A0002", "g1/A0003"]


@pytest.mark.parametrize("reference", [True, False])
def test_copies_that_differ_are_skipped_and_equal_ones_are_one(tmp_path: Path, reference: bool):
    for folder, codes in (("g1", "AF"), ("g2", "AF,RBBB")):
        add(tmp_path, folder, "A0001", "AF")
        add(tmp_path, folder, "A0002", codes)
    if reference:
        (tmp_path / "REFERENCE.csv").write_text(REFERENCE)
    listing = CPSC2018(tmp_path).listing()
    assert [entry.path for entry in listing.entries] == ["g1/A0001"]
    assert listing.skipped == (("A0002", "in several folders: 2 files that differ"),)


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path):
    with pytest.raises(DatasetError, match=r"CPSC2018: no recording in .*Training_WFDB/A\*\.hea.*https://"):
        CPSC2018(tmp_path).listing()


def test_the_real_sample(shared_ecgs: Path):
    dataset = CPSC2018(shared_ecgs / "cpsc2018")
    entries = {entry.recording: entry for entry in dataset.listing().entries}
    assert len(entries) == 6877
    assert sum(dataset.files(entry)[0].is_file() for entry in entries.values()) == 76
    assert entries["A0043"].labels == (4, 1)  # the header says AF,RBBB
    assert entries["A5432"].labels == (5,)  # the header holds a code among texts
    assert dataset.read(entries["A0001"]).signal.shape == (7500, 12)
    assert dataset.listing().others == ("WFDB_CPSC2018",)
    challenge = CPSC2018(shared_ecgs / "cpsc2018" / "WFDB_CPSC2018").listing()
    assert [entry.labels for entry in challenge.entries if entry.recording == "A0001"] == [(4,)]
