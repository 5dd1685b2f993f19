"""The CPSC2018 reader: which label is the first, texts and codes, and forms never pooled."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.datasets.cpsc2018 import CPSC2018, FIRST_LABELS, SNOMED


def add(root: Path, folder: str, name: str, codes: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: {codes}\n")


def labels(root: Path) -> dict[str, tuple[int, ...]]:
    return {entry.recording: entry.labels for entry in CPSC2018(root).listing().entries}


def test_labels_are_read_from_either_form(tmp_path: Path):
    for number, (code, text) in enumerate(SNOMED.items()):
        add(tmp_path, "Training_WFDB", f"A001{number}", f"251146004,{code}")
        add(tmp_path, "Training_WFDB", f"A002{number}", text)
    add(tmp_path, "Training_WFDB", "A0030", "270492004,59118001,I-AVB")
    expected = {f"A00{ten}{number}": (number,) for ten in (1, 2) for number in range(9)}
    assert labels(tmp_path) == expected | {"A0030": (2, 4)}


@pytest.fixture
def reference(shared_ecgs: Path) -> dict[str, tuple[int, ...]]:
    """Labels of the publisher's table, the first first."""
    rows = (line.split(",") for line in (shared_ecgs / "cpsc2018" / "REFERENCE.csv").read_text().split()[1:])
    return {name: tuple(int(label) - 1 for label in stated if label) for name, *stated in rows}


def test_the_shipped_first_labels_are_those_of_the_published_table(reference: dict[str, tuple[int, ...]]):
    several = [(name, CPSC2018.classes[stated[0]]) for name, stated in reference.items() if len(stated) > 1]
    assert several == [tuple(line.split(",")) for line in FIRST_LABELS.read_text().split()]
    assert len(several) == 477


def test_labels_of_the_real_sample_are_those_of_the_published_table(
    shared_ecgs: Path, reference: dict[str, tuple[int, ...]]
):
    for folder, recordings in (("Training_WFDB", 76), ("WFDB_CPSC2018", 5)):
        read = labels(shared_ecgs / "cpsc2018" / folder)
        assert len(read) == recordings
        assert read == {name: reference[name] for name in read}


@pytest.mark.parametrize(
    ("folder", "form"), [("Training_WFDB", "Training_WFDB"), ("WFDB_CPSC2018", "WFDB_CPSC2018"), ("g1", "WFDB")]
)
def test_every_form_on_disk_is_recognised(tmp_path: Path, folder: str, form: str):
    add(tmp_path, folder, "A0001", "AF")
    add(tmp_path, folder, "Q0001", "AF")  # of another collection of the Challenge
    listing = CPSC2018(tmp_path).listing()
    assert listing.form == form
    assert [(entry.path, entry.patient) for entry in listing.entries] == [(str(Path(folder, "A0001")), "A0001")]
    assert [path.name for path in CPSC2018(tmp_path).files(listing.entries[0])] == ["A0001.hea", "A0001.mat"]
    add(tmp_path, "Training_WFDB", "A0001", "AF")
    listing = CPSC2018(tmp_path).listing()
    assert (listing.form, len(listing.entries)) == ("Training_WFDB", 1)
