"""Real exports read through cards: the windows, labels and patients that the built-in readers of these data give.

Four on-disk forms: Challenge records with REFERENCE.csv, PTB-XL's records500 with its table, Chapman's CSV files with
Diagnostics.xlsx, and PhysioNet's folders of Chapman without a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS, Dataset, Entry
from benchmark.data.datasets.card import Card, CardDataset
from benchmark.data.datasets.chapman import FIGSHARE_RHYTHMS, Chapman
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.ptb_xl import PTBXL
from benchmark.data.prepare import outcomes
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.splits import TEST_FOLD, VALIDATION_FOLD

CHALLENGE: dict[str, Any] = {
    "name": "challenge",
    "signals": {"files": "Training_WFDB/{recording}.hea"},
    "table": {"file": "REFERENCE.csv", "recording": "Recording"},
    "labels": {
        "column": ["First_label", "Second_label", "Third_label"],
        "classes": list(CPSC2018.classes),
        "values": {name: [number] for number, name in enumerate(CPSC2018.classes, start=1)},
        "first_counts": True,
    },
}
PTB_XL: dict[str, Any] = {
    "name": "records500",
    "signals": {"files": "records500/*/*.hea", "rate": 500},
    "table": {
        "file": "ptbxl_database.csv",
        "path": "filename_hr",
        "recording": "ecg_id",
        "patient": "patient_id",
        "report": "report",
        "split": {"column": "strat_fold", "train": list(range(1, 9)), "validation": [9], "test": [10]},
        "age": "age",
    },
}
FIGSHARE: dict[str, Any] = {
    "name": "denoised",
    "signals": {"files": "ECGDataDenoised/{recording}.csv", "rate": 500, "unit": "uV", "leads": list(LEADS)},
    "table": {"file": "Diagnostics.xlsx", "recording": "FileName", "sex": "Gender", "age": "PatientAge"},
    "labels": {
        "column": "Rhythm",
        "classes": list(Chapman.classes),
        "values": {group: [own for own, to in FIGSHARE_RHYTHMS.items() if to == group] for group in Chapman.classes},
    },
}
PHYSIONET: dict[str, Any] = {
    "name": "folders",
    "signals": {"files": "ecg-arrhythmia-1.0.0/WFDBRecords/*/*/{recording}.hea", "unit": "mV"},
}


def files_there(dataset: Dataset) -> dict[str, Entry]:
    """Files of a dataset without suffix -> entry, for the entries that are on disk."""
    return {
        Path(entry.path).with_suffix("").as_posix(): entry
        for entry in dataset.listing().entries
        if all(path.is_file() for path in dataset.files(entry))
    }


def same_windows(one: Dataset, entries: Mapping[str, Entry], two: Dataset, others: Mapping[str, Entry]) -> int:
    """How many entries of the same names give windows, each equal to the bit in both datasets."""
    names = sorted(entries)
    assert names == sorted(others)
    count = 0
    for segmentation in (HEARTBEATS, Segmentation("recordings", 625, stride=625)):
        first = outcomes(one, [entries[name] for name in names], segmentation, 1)
        second = outcomes(two, [others[name] for name in names], segmentation, 1)
        for own, other in zip(first, second, strict=True):
            if isinstance(own, str) or isinstance(other, str):
                assert own == other
                continue
            count += segmentation == HEARTBEATS
            assert own[1] == other[1]
            np.testing.assert_array_equal(own[0].view(np.uint16), other[0].view(np.uint16))
    return count


@pytest.mark.slow
def test_challenge_records_with_their_reference_table(shared_ecgs: Path) -> None:
    card = CardDataset(Card.model_validate(CHALLENGE), shared_ecgs / "cpsc2018")
    reader = CPSC2018(shared_ecgs / "cpsc2018")
    own, other = files_there(card), files_there(reader)
    assert same_windows(card, own, reader, other) > 60
    assert {name: entry.labels for name, entry in own.items()} == {name: entry.labels for name, entry in other.items()}
    assert {entry.recording for entry in own.values()} == {entry.recording for entry in other.values()}


@pytest.mark.slow
def test_ptb_xl_by_its_column_of_paths(real_ptb_xl: Path) -> None:
    card, reader = CardDataset(Card.model_validate(PTB_XL), real_ptb_xl), PTBXL(real_ptb_xl)
    own = files_there(card)
    table = {
        row.path.replace("records100", "records500").replace("_lr", "_hr"): row for row in reader.listing().entries
    }
    other = {name: replace(table[name], path=name) for name in own}
    assert same_windows(card, own, reader, other) > 40
    for name, entry in own.items():
        expected = other[name]
        assert (entry.recording, entry.patient, entry.report) == (expected.recording, expected.patient, expected.report)
        sides = VALIDATION_FOLD, TEST_FOLD
        assert (entry.fold if entry.fold in sides else 0) == (expected.fold if expected.fold in sides else 0)


@pytest.mark.slow
def test_denoised_csv_files_with_a_workbook(shared_ecgs: Path) -> None:
    folder = shared_ecgs / "chapman" / "figshare"
    card, reader = CardDataset(Card.model_validate(FIGSHARE), folder), Chapman(folder)
    own, other = files_there(card), files_there(reader)
    assert same_windows(card, own, reader, other) == 1
    assert [entry.labels for entry in own.values()] == [entry.labels for entry in other.values()]
    listing = card.listing()
    assert sum(reason.startswith("file missing for a row") for _, reason in listing.skipped) > 10_000


def test_folders_of_records_without_a_table(shared_ecgs: Path) -> None:
    card = CardDataset(Card.model_validate(PHYSIONET), shared_ecgs / "chapman")
    reader = Chapman(shared_ecgs / "chapman")
    assert same_windows(card, files_there(card), reader, files_there(reader)) > 0
