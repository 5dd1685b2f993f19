"""The six tasks of PTB-XL: labels, classes and folds are the official ones."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.data.readers.ptb_xl import PTBXL
from benchmark.data.tasks.columns import TASKS
from benchmark.data.tasks.ptb_xl_tasks import PTB_XL_TASKS, class_of_code, statements

CLASSES = {"all": 71, "diagnostic": 44, "subdiagnostic": 23, "superdiagnostic": 5, "form": 19, "rhythm": 12}
SCP = pd.DataFrame(
    {
        "diagnostic": [1.0, 1.0, None, None],
        "form": [None, 1.0, 1.0, None],
        "rhythm": [None, None, None, 1.0],
        "diagnostic_class": ["MI", "STTC", None, None],
        "diagnostic_subclass": ["IMI", "NST_", None, None],
    },
    index=["IMI", "NST_", "PVC", "SR"],
)
TABLE = pd.DataFrame(
    {
        "ecg_id": [7, 8, 9, 10],
        "scp_codes": ["{'SR': 0.0, 'IMI': 0.0}", "{'PVC': 0.0}", "{'NST_': 35.0, 'IMI': 100.0}", "{}"],
    }
)


@pytest.mark.parametrize("task", PTB_XL_TASKS)
def test_labels_and_classes_are_the_official_ones(task: str, shared_ecgs: Path, shared_reference: Path) -> None:
    folder = shared_ecgs / "ptb-xl"
    table = pd.read_csv(folder / "ptbxl_database.csv").iloc[::2]
    ids, classes, labels = statements(table, pd.read_csv(folder / "scp_statements.csv", index_col=0), task)
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        official = {name: stored[f"ptbxl_{task}_min0/{name}"] for name in ("ecg_id", "classes", "strat_fold", "y")}
        counts = stored[f"ptbxl_{task}_min0/n_train_val_test"]
    np.testing.assert_array_equal(ids, official["ecg_id"])
    assert list(classes) == official["classes"].tolist()
    np.testing.assert_array_equal(labels, np.unpackbits(official["y"], axis=1)[:, : len(classes)])
    folds = table.set_index("ecg_id").strat_fold[ids].to_numpy()
    np.testing.assert_array_equal(folds, official["strat_fold"])
    assert [(folds <= 8).sum(), (folds == 9).sum(), (folds == 10).sum()] == counts.tolist()


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
    ("task", "ids", "classes", "labels"),
    [
        ("all", [7, 8, 9], ("IMI", "NST_", "PVC", "SR"), [[1, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 0]]),
        ("diagnostic", [7, 9], ("IMI", "NST_"), [[1, 0], [1, 1]]),
        ("subdiagnostic", [7, 9], ("IMI", "NST_"), [[1, 0], [1, 1]]),
        ("superdiagnostic", [7, 9], ("MI", "STTC"), [[1, 0], [1, 1]]),
        ("form", [8, 9], ("NST_", "PVC"), [[0, 1], [1, 0]]),
        ("rhythm", [7], ("SR",), [[1]]),
    ],
)
def test_every_likelihood_counts_and_a_recording_without_a_label_is_dropped(
    task: str, ids: list[int], classes: tuple[str, ...], labels: list[list[int]]
) -> None:
    read = TABLE.assign(scp_codes=TABLE["scp_codes"].map(ast.literal_eval))
    for table in (TABLE, TABLE.set_index("ecg_id"), read):
        for scp in (SCP, SCP.reset_index()):
            found = statements(table, scp, task)
            assert (found[0].tolist(), found[1], found[2].tolist()) == (ids, classes, labels)


def test_a_code_that_the_statements_do_not_list_is_a_class_of_its_own_among_all() -> None:
    listed = SCP.drop(index="PVC")
    assert statements(TABLE, listed, "all")[1] == ("IMI", "NST_", "PVC", "SR")
    assert statements(TABLE, listed, "form")[0].tolist() == [9]


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown task 'superclass' of PTB-XL: there are all, diagnostic"):
        statements(TABLE, SCP, "superclass")
