"""The PTB-XL reader: labels, patients, folds, and the choice of one sampling rate.

The statements of PTB-XL are those of the release's own table.

The six tasks of PTB-XL: labels, classes and folds are the official ones.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.ptb_xl import PTB_XL_TASKS, PTBXL, SCP_STATEMENTS, class_of_code, labels_of
from benchmark.data.splits import TASKS

MakeECG = Callable[..., Any]
WriteRecord = Callable[..., Path]
STATEMENTS = """,description,diagnostic,form,rhythm,diagnostic_class
NORM,normal ECG,1.0,,,NORM
IMI,inferior MI,1.0,,,MI
AMI,anterior MI,1.0,,,MI
LVH,hypertrophy,1.0,,,HYP
SR,sinus rhythm,,,1.0,
"""
ROWS = [
    (1, "15709.0", "{'NORM': 100.0, 'SR': 0.0}", 3),
    (2, "13243.0", "{'LVH': 0.0, 'IMI': 15.0, 'AMI': 50.0}", 9),
    (3, "15709.0", "{'SR': 0.0}", 10),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "scp_statements.csv").write_text(STATEMENTS)
    lines = ["patient_id,report,scp_codes,strat_fold,filename_lr,filename_hr,ecg_id"]
    for ecg_id, patient, codes, fold in ROWS:
        files = f"records100/00000/0000{ecg_id}_lr,records500/00000/0000{ecg_id}_hr"
        lines.append(f'{patient},"ekg, {ecg_id}","{codes}",{fold},{files},{ecg_id}')
    (tmp_path / "ptbxl_database.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def add_headers(root: Path, form: str, ids: list[int]) -> None:
    (root / form / "00000").mkdir(parents=True)
    for ecg_id in ids:
        (root / form / "00000" / f"0000{ecg_id}_{'lr' if form == 'records100' else 'hr'}.hea").touch()


def test_a_row_becomes_an_entry(root: Path):
    add_headers(root, "records500", [1, 2, 3])
    first, second, third = PTBXL(root).listing().entries
    assert (first.recording, first.patient, first.fold) == ("1", "15709", 3)
    assert (first.report, first.path) == ("ekg, 1", "records500/00000/00001_hr")
    assert [entry.labels for entry in (first, second, third)] == [(0,), (4, 1), ()]  # likelihood 0 counts, MI once
    assert third.patient == first.patient
    assert second.statements == ("LVH", "IMI", "AMI")
    assert [path.name for path in PTBXL(root).files(first)] == ["00001_hr.hea", "00001_hr.dat"]


def test_all_labels_of_the_real_table_are_those_of_merl_s_splits(shared_ecgs: Path, real_ptb_xl: Path):
    with open(shared_ecgs / "ptb-xl" / "task_labels.csv", encoding="utf-8") as file:
        stated = {row["ecg_id"]: row for row in csv.DictReader(file)}
    entries = PTBXL(real_ptb_xl).listing().entries
    assert len(entries) == len(stated) == 2273
    columns = {"superclass": "superdiagnostic", "subclass": "subdiagnostic", "form": "form", "rhythm": "rhythm"}
    for column, task in columns.items():
        of_code = class_of_code(task)
        for own in entries:
            found = {name.strip("_") for name in labels_of(own.statements, of_code)}
            assert found == {name for name in stated[own.recording][column].split(";") if name}, own.recording


@pytest.mark.parametrize(
    ("low", "high", "form"),
    [
        ([1, 2, 3], [1, 2, 3], "records500"),
        ([1, 2, 3], [1, 2], "records500"),
        ([1, 2, 3], [1], "records100"),
        ([1, 2, 3], [], "records100"),
        ([1], [1], "records500"),
        ([1], [1, 2], "records500"),
    ],
)
def test_one_rate_is_read_alone_500_hz_unless_most_of_it_is_missing(
    root: Path, low: list[int], high: list[int], form: str
):
    add_headers(root, "records100", low)
    add_headers(root, "records500", high)
    listing = PTBXL(root).listing()
    assert listing.form == form
    assert len(listing.entries) == 3
    assert all(entry.path.startswith(form) for entry in listing.entries)
    assert listing.others == tuple(
        other for other, there in (("records500", high), ("records100", low)) if there and other != form
    )
    told = "records500 has 1 of the 3 listed recordings, records100 has 3: records100 is read, 100 Hz"
    assert listing.warnings == ((told,) if form == "records100" and high else ())


@pytest.mark.parametrize(("form", "rate"), [("records500", 500), ("records100", 100)])
def test_a_file_of_another_rate_than_its_folder_s_is_refused(
    root: Path, make_ecg: MakeECG, write_record: WriteRecord, form: str, rate: int
):
    for ecg_id in (1, 2, 3):
        fs = 250 if ecg_id == 2 else rate
        write_record(root / form / f"00000/0000{ecg_id}_{'hr' if rate == 500 else 'lr'}", make_ecg(fs=fs), fs=fs)
    dataset = PTBXL(root)
    first, second, third = dataset.listing().entries
    assert [dataset.read(entry).fs for entry in (first, third)] == [rate, rate]
    with pytest.raises(Unusable, match=f"^sampling rate is not its folder's: 250 Hz in {form}$"):
        dataset.read(second)


def test_a_path_that_is_refused_counts_as_missing(root: Path):
    add_headers(root, "records100", [1, 2, 3])
    table = root / "ptbxl_database.csv"
    table.write_text(table.read_text().replace("records500/", "../records500/"))
    assert PTBXL(root).listing().form == "records100"


def test_what_is_missing_is_named(root: Path):
    with pytest.raises(DatasetError, match=r"records500/ and records100/.*https://physionet\.org"):
        PTBXL(root).listing()
    (root / "scp_statements.csv").unlink()
    with pytest.raises(DatasetError, match=r"PTB-XL: no scp_statements\.csv in"):
        PTBXL(root).listing()
    (root / "ptbxl_database.csv").write_text("ecg_id,patient_id\n1,2\n")
    with pytest.raises(DatasetError, match=r"has no column scp_codes, report, strat_fold, filename_lr, filename_hr"):
        PTBXL(root).listing()


def test_half_of_the_500_hz_files_are_enough(root: Path):
    """Two of four; records100 is read where fewer are there."""
    table = root / "ptbxl_database.csv"
    files = "records100/00000/00004_lr,records500/00000/00004_hr"
    table.write_text(f"""{table.read_text()}4,"","{{'SR': 0.0}}",10,{files},4\n""")
    add_headers(root, "records100", [1, 2, 3, 4])
    add_headers(root, "records500", [1, 2])
    assert PTBXL(root).listing().form == "records500"
    (root / "records500/00000/00002_hr.hea").unlink()
    assert PTBXL(root).listing().form == "records100"


def test_the_real_sample(real_ptb_xl: Path):
    listing = PTBXL(real_ptb_xl).listing()
    assert (listing.form, listing.others, listing.skipped) == ("records100", ("records500",), ())
    assert len(listing.entries) == 2273
    assert len({entry.patient for entry in listing.entries}) == 2218
    counts = Counter(PTBXL.classes[label] for entry in listing.entries for label in entry.labels)
    assert counts == {"NORM": 1240, "STTC": 610, "CD": 530, "MI": 328, "HYP": 227}
    assert {entry.fold for entry in listing.entries} == set(range(1, 11))


AS_COMPARED = "83c8ce757e779cbc2a3728a11f106031c969a5f99c694847d27eee36b915cde8"
"""SHA-256 of the statements as they were compared with the table of PTB-XL 1.0.3."""


def test_they_stay_as_they_were_compared() -> None:
    assert hashlib.sha256("\n".join("\t".join(own) for own in SCP_STATEMENTS).encode()).hexdigest() == AS_COMPARED


def test_there_are_seventy_one_of_three_kinds() -> None:
    counts = Counter(kind for own in SCP_STATEMENTS for kind in own.kinds.split())
    assert (len(SCP_STATEMENTS), counts) == (71, {"diagnostic": 44, "form": 19, "rhythm": 12})
    assert all(bool(own.superclass) is ("diagnostic" in own.kinds) for own in SCP_STATEMENTS)


CLASSES = {"all": 71, "diagnostic": 44, "subdiagnostic": 23, "superdiagnostic": 5, "form": 19, "rhythm": 12}


@pytest.mark.parametrize("task", PTB_XL_TASKS)
def test_a_run_reads_the_official_labels_and_folds(task: str, shared_ecgs: Path, shared_reference: Path) -> None:
    """On the path of a run: reader, statements of an entry, labels of a task, fold."""
    folder = shared_ecgs / "ptb-xl"
    half = pd.read_csv(folder / "ptbxl_database.csv").ecg_id.iloc[::2]
    entries = {int(entry.recording): entry for entry in PTBXL(folder).listing().entries}
    named = TASKS["ptb-xl"][task]
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        official = {name: stored[f"ptbxl_{task}_min0/{name}"] for name in ("ecg_id", "classes", "strat_fold", "y")}
    classes = official["classes"].tolist()
    there = [number for number in half if number in entries]
    assert len(there) > 0.9 * len(half)
    labels = {number: [named.classes[index] for index in named.labels(entries[number])] for number in there}
    listed = {*official["ecg_id"].tolist()} & {*there}
    assert {number for number, own in labels.items() if own} == listed
    hot = np.unpackbits(official["y"], axis=1)[:, : len(classes)]
    for number, row, fold in zip(official["ecg_id"].tolist(), hot, official["strat_fold"], strict=True):
        if number in listed:
            assert labels[number] == [classes[index] for index in np.flatnonzero(row)]
            assert entries[number].fold == fold


@pytest.mark.parametrize(("task", "classes"), CLASSES.items())
def test_a_task_has_the_classes_of_the_benchmark(task: str, classes: int) -> None:
    assert len(set(class_of_code(task).values())) == classes


@pytest.mark.parametrize(
    ("task", "labels"),
    [
        ("all", ("IMI", "NST_", "PVC", "SR")),
        ("diagnostic", ("IMI", "NST_")),
        ("subdiagnostic", ("IMI", "NST_")),
        ("superdiagnostic", ("MI", "STTC")),
        ("form", ("NST_", "PVC")),
        ("rhythm", ("SR",)),
    ],
)
def test_a_code_counts_for_the_tasks_of_its_kinds(task: str, labels: tuple[str, ...]) -> None:
    assert labels_of(("SR", "PVC", "NST_", "IMI", "IMI"), class_of_code(task)) == labels


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown task 'superclass' of PTB-XL: there are all, diagnostic"):
        class_of_code("superclass")
