"""Altered copies of simulated PTB-XL cohorts: only sinus rhythm, shuffled labels, recordings on both sides.

Signals are linked, not copied; tables are written anew. A copy keeps the simulator's mark.
"""

from __future__ import annotations

import ast
import csv
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmark.data.simulate.layouts.layout import write_csv

TABLE = "ptbxl_database.csv"
NOT_ONLY_SINUS = frozenset({"AFIB", "AFLT", "SVTAC", "PVC", "PAC", "2AVB", "3AVB"})
"""SCP codes of findings that show in the times of beats."""
TEST_FOLD, TRAINING_FOLD = "10", "1"
SHUFFLE_SEED = 7
Row = dict[str, str]


def only_sinus(cohort: Path, folder: Path) -> None:
    """PTB-XL without the recordings of another rhythm, premature beats or dropped beats."""
    _write(
        cohort, folder, [row for row in _rows(cohort) if not NOT_ONLY_SINUS & set(ast.literal_eval(row["scp_codes"]))]
    )


def shuffled_labels(cohort: Path, folder: Path) -> None:
    """PTB-XL whose codes are dealt out among all recordings at random; reports, folds and signals stay."""
    _write(cohort, folder, _shuffled(_rows(cohort)))


def training_holds_the_test_part(cohort: Path, folder: Path) -> None:
    """PTB-XL with a copy of every test recording in a training fold, under a new number and the same patient."""
    rows = _rows(cohort)
    copies = _copies(cohort, folder, _of_fold(rows, TEST_FOLD), TRAINING_FOLD, after=len(rows))
    _write(cohort, folder, [*rows, *copies])


def noise_all_leaked(cohort: Path, folder: Path) -> None:
    """Shuffled labels, and a training fold that consists of copies of the test recordings."""
    _with_copies(cohort, folder, TEST_FOLD, TRAINING_FOLD, every=1)


def noise_half_leaked(cohort: Path, folder: Path) -> None:
    """Shuffled labels, and a training fold of which every second recording is replaced by a copy of a test one."""
    _with_copies(cohort, folder, TEST_FOLD, TRAINING_FOLD, every=2)


def noise_tested_on_training(cohort: Path, folder: Path) -> None:
    """Shuffled labels, and a test part that consists of copies of a training fold."""
    _with_copies(cohort, folder, TRAINING_FOLD, TEST_FOLD, every=1)


def _with_copies(cohort: Path, folder: Path, source: str, target: str, *, every: int) -> None:
    """Shuffle the labels and replace every such recording of a fold by copies of those of another, as far as it has."""
    rows = _shuffled(_rows(cohort))
    replaced = [row["ecg_id"] for row in _of_fold(rows, target)[::every]]
    copies = _copies(cohort, folder, _of_fold(rows, source)[::every], target, after=len(rows))
    _write(cohort, folder, [*(row for row in rows if row["ecg_id"] not in replaced), *copies])


def _shuffled(rows: Sequence[Row]) -> list[Row]:
    order = np.random.default_rng(SHUFFLE_SEED).permutation(len(rows))
    return [{**row, "scp_codes": rows[other]["scp_codes"]} for row, other in zip(rows, order, strict=True)]


def _of_fold(rows: Sequence[Row], fold: str) -> list[Row]:
    return [row for row in rows if row["strat_fold"] == fold]


def _copies(cohort: Path, folder: Path, rows: Sequence[Row], fold: str, *, after: int) -> list[Row]:
    """Copies of recordings in a fold, under the same patients and numbers from `after` + 1."""
    copies = []
    for number, row in enumerate(rows, start=after + 1):
        stem = f"records500/{number // 1000 * 1000:05d}/{number:05d}_hr"
        _copy_record(cohort / row["filename_hr"], folder / stem)
        copies.append({**row, "ecg_id": str(number), "filename_hr": stem, "strat_fold": fold})
    return copies


def _rows(cohort: Path) -> list[Row]:
    with open(cohort / TABLE, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def _write(cohort: Path, folder: Path, rows: Sequence[Row]) -> None:
    """Link all files of a cohort and write its table with other rows."""
    shutil.copytree(cohort, folder, copy_function=os.link, dirs_exist_ok=True)
    (folder / TABLE).unlink()  # a link: writing into it would alter the cohort
    write_csv(folder / TABLE, list(rows[0]), rows)


def _copy_record(record: Path, copy: Path) -> None:
    """Copy a record's two files under another name, which its header repeats."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    os.link(record.with_suffix(".dat"), copy.with_suffix(".dat"))
    header = record.with_suffix(".hea").read_text(encoding="ascii").replace(record.name, copy.name)
    copy.with_suffix(".hea").write_text(header, encoding="ascii")
