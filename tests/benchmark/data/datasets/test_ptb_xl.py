"""The PTB-XL reader: labels, patients, folds, one sampling rate, and the labels and classes of its six tasks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.datasets.ptb_xl import PTBXL, SCP_STATEMENTS

ROW = {
    "ecg_id": "7",
    "patient_id": "15709.0",
    "report": "ekg",
    "scp_codes": "{'IMI': 15.0, 'SR': 0.0}",
    "strat_fold": "3",
    "filename_lr": "records100/00000/00007_lr",
    "filename_hr": "records500/00000/00007_hr",
}


def ptb_xl(root: Path, *changes: dict[str, str], low: int = 0, high: int = 1) -> PTBXL:
    """A folder with a row for each set of changes, and so many headers of 100 and of 500 Hz."""
    pd.DataFrame([ROW | change for change in changes]).to_csv(root / "ptbxl_database.csv", index=False)
    for form, suffix, count in (("records100", "lr", low), ("records500", "hr", high)):
        (root / form / "00000").mkdir(parents=True)
        for number in range(count):
            (root / form / "00000" / f"{number:05}_{suffix}.hea").touch()
    return PTBXL(root)


def test_a_row_becomes_an_entry(tmp_path: Path):
    dataset = ptb_xl(
        tmp_path, {"scp_codes": "{'LVH': 0.0, 'IMI': 15.0, 'AMI': 50.0, 'SR': 0.0}", "report": 'a, "b"\nc'}
    )
    (entry,) = dataset.listing().entries
    assert (entry.recording, entry.patient, entry.fold) == ("7", "15709", 3)
    assert (entry.report, entry.path) == ('a, "b"\nc', "records500/00000/00007_hr")
    assert entry.labels == (4, 1)  # likelihood 0 counts, MI once
    assert entry.statements.splitlines() == ["LVH", "IMI", "AMI", "SR"]
    assert [path.name for path in dataset.files(entry)] == ["00007_hr.hea", "00007_hr.dat"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"patient_id": "16777217.0"}, {"patient": "16777217"}),  # above 2^24
        ({"patient_id": ""}, {"patient": "unknown-7"}),
        ({"patient_id": "-1"}, {"patient": "unknown-7"}),
        ({"scp_codes": "{}"}, {"labels": ()}),
        ({"patient_id": "1.57E+04"}, "patient's number shortened by a spreadsheet"),
        ({"scp_codes": "{'IMI': 1, 'XYZ': 0}"}, "scp_codes are no known codes: "),
        ({"strat_fold": ""}, {"fold": -1}),
    ],
)
def test_an_odd_row_is_read_right_or_a_counted_skip(
    change: dict[str, str], expected: dict[str, Any] | str, tmp_path: Path
) -> None:
    listing = ptb_xl(tmp_path, {"ecg_id": "8"}, change).listing()
    if isinstance(expected, str):
        assert ([entry.recording for entry in listing.entries], listing.skipped[0][0]) == (["8"], "7")
        assert listing.skipped[0][1].startswith(expected)
    else:
        assert {name: getattr(listing.entries[1], name) for name in expected} == expected
        assert listing.skipped == ()


@pytest.mark.parametrize(
    ("low", "high", "form"),
    [
        (4, 4, "records500"),
        (4, 3, "records100"),
        (1, 1, "records500"),
    ],
)
def test_one_rate_is_read_alone_that_with_the_more_recordings(tmp_path: Path, low: int, high: int, form: str):
    listing = ptb_xl(tmp_path, *({"ecg_id": f"{number}"} for number in range(4)), low=low, high=high).listing()
    assert listing.form == form
    assert len(listing.entries) == 4
    assert all(entry.path.startswith(form) for entry in listing.entries)


def test_the_real_sample(real_ptb_xl: Path):
    listing = PTBXL(real_ptb_xl).listing()
    assert (listing.form, listing.skipped) == ("records100", ())
    assert len(listing.entries) == 2273
    assert len({entry.patient for entry in listing.entries}) == 2218
    counts = Counter(PTBXL.classes[label] for entry in listing.entries for label in entry.labels)
    assert counts == {"NORM": 1240, "STTC": 610, "CD": 530, "MI": 328, "HYP": 227}
    assert {entry.fold for entry in listing.entries} == set(range(1, 11))


def test_statements_are_those_of_the_release(shared_ecgs: Path) -> None:
    table = pd.read_csv(shared_ecgs / "ptb-xl" / "scp_statements.csv", index_col=0, keep_default_na=False)
    kinds = [" ".join(kind for kind in ("diagnostic", "form", "rhythm") if row[kind]) for _, row in table.iterrows()]
    rows = zip(table.index, kinds, table.diagnostic_class, table.diagnostic_subclass, strict=True)
    assert [tuple(statement) for statement in SCP_STATEMENTS] == list(rows)


@pytest.mark.parametrize("task", PTBXL.tasks)
def test_a_run_reads_the_official_tables(task: str, shared_ecgs: Path, shared_reference: Path) -> None:
    """On the path of a run: reader, statements of an entry, labels of a task, fold."""
    folder = shared_ecgs / "ptb-xl"
    half = pd.read_csv(folder / "ptbxl_database.csv").ecg_id.iloc[::2]
    entries = {int(entry.recording): entry for entry in PTBXL(folder).listing().entries}
    named = PTBXL.tasks[task]
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        official = {name: stored[f"ptbxl_{task}_min0/{name}"] for name in ("ecg_id", "classes", "strat_fold", "y")}
    classes = official["classes"].tolist()
    present = [number for number in half if number in entries]
    assert len(present) > 0.9 * len(half)
    labels = {
        number: [named.classes[index] for index in named.labels((), entries[number].statements)] for number in present
    }
    listed = {*official["ecg_id"].tolist()} & {*present}
    assert {number for number, item in labels.items() if item} == listed
    hot = np.unpackbits(official["y"], axis=1)[:, : len(classes)]
    for number, row, fold in zip(official["ecg_id"].tolist(), hot, official["strat_fold"], strict=True):
        if number in listed:
            assert labels[number] == [classes[index] for index in np.flatnonzero(row)]
            assert entries[number].fold == fold
