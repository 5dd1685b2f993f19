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


def test_a_folder_without_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"Ningbo: no recording from JS10647 on in .*: looked for WFDBRecords"):
        Ningbo(tmp_path).listing()
