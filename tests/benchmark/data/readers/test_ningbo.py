"""Ningbo: the recordings from JS10647 on, in the folders that hold Chapman's too."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.ningbo import Ningbo
from benchmark.data.simulate import CohortSettings, write_cohort


def test_real_recordings(shared_ecgs: Path) -> None:
    dataset = Ningbo(shared_ecgs / "chapman")
    listing = dataset.listing()
    assert (listing.form, len(listing.entries)) == ("WFDB_Ningbo", 33)
    codes = {entry.recording: entry.statements for entry in listing.entries}
    assert not codes.keys() & {entry.recording for entry in Chapman(shared_ecgs / "chapman").listing().entries}
    assert all(codes.values())
    assert dataset.read(listing.entries[0]).signal.shape[1] == 12


def test_a_simulated_cohort_has_ningbo_s_numbers(tmp_path: Path) -> None:
    write_cohort("ningbo", tmp_path / "ningbo", CohortSettings(8), seed=1)
    entries = Ningbo(tmp_path / "ningbo").listing().entries
    assert [entry.recording for entry in entries] == [f"JS{10647 + number}" for number in range(8)]
    assert sum(bool(entry.labels) for entry in entries) == 8
    with pytest.raises(DatasetError, match="Chapman: only recordings of Ningbo"):
        Chapman(tmp_path / "ningbo").listing()


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("WFDBRecords/02/020", "WFDBRecords"),
        ("ecg-arrhythmia-1.0.0/WFDBRecords/02/020", "WFDBRecords"),
        ("WFDB_Ningbo", "WFDB_Ningbo"),
        (".", "WFDB_Ningbo"),
        ("g1", "WFDB_Ningbo"),
    ],
)
def test_its_first_and_last_recording_are_known_in_every_form(tmp_path: Path, folder: str, form: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for number in (10646, 10647, 45551, 99999):
        (tmp_path / folder / f"JS{number}.hea").write_text(f"JS{number} 12 500 5000\n")
    listing = Ningbo(tmp_path).listing()
    assert (listing.form, listing.others) == (form, ())
    assert [entry.recording for entry in listing.entries] == ["JS10647", "JS45551", "JS99999"]


def test_a_folder_without_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"Ningbo: no recording from JS10647 on in .*: looked for WFDBRecords"):
        Ningbo(tmp_path).listing()
