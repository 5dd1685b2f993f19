"""Altered copies of simulated PTB-XL cohorts: only sinus rhythm, shuffled labels, test recordings in the training part.

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
    rows = _rows(cohort)
    order = np.random.default_rng(SHUFFLE_SEED).permutation(len(rows))
    _write(
        cohort, folder, [{**row, "scp_codes": rows[other]["scp_codes"]} for row, other in zip(rows, order, strict=True)]
    )


def training_holds_the_test_part(cohort: Path, folder: Path) -> None:
    """PTB-XL with a copy of every test recording in a training fold, under a new number and the same patient."""
    rows = _rows(cohort)
    copies = []
    for number, row in enumerate((row for row in rows if row["strat_fold"] == TEST_FOLD), start=len(rows) + 1):
        stem = f"records500/{number // 1000 * 1000:05d}/{number:05d}_hr"
        _copy_record(cohort / row["filename_hr"], folder / stem)
        copies.append({**row, "ecg_id": str(number), "filename_hr": stem, "strat_fold": TRAINING_FOLD})
    _write(cohort, folder, [*rows, *copies])


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
