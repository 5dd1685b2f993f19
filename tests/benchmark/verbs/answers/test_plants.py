"""Altered cohorts hold what they say, and leave the cohort they are made of as it was."""

from __future__ import annotations

import ast
import csv
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.data.readers.registry import source_of
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.verbs.answers.plants import (
    NOT_ONLY_SINUS,
    TABLE,
    TEST_FOLD,
    TRAINING_FOLD,
    noise_all_leaked,
    noise_half_leaked,
    noise_tested_on_training,
    only_sinus,
    shuffled_labels,
    training_holds_the_test_part,
)

PATIENTS = 40


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort") / "ptb-xl"
    write_cohort("ptb-xl", folder, CohortSettings(PATIENTS), seed=2)
    return folder


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / TABLE, newline="") as handle:
        return list(csv.DictReader(handle))


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_only_sinus_leaves_the_others_out_and_the_cohort_alone(cohort: Path, tmp_path: Path) -> None:
    before = digests(cohort)
    only_sinus(cohort, tmp_path / "planted")
    kept = {row["ecg_id"]: set(ast.literal_eval(row["scp_codes"])) for row in rows(tmp_path / "planted")}
    every = {row["ecg_id"]: set(ast.literal_eval(row["scp_codes"])) for row in rows(cohort)}
    assert kept == {number: codes for number, codes in every.items() if not codes & NOT_ONLY_SINUS}
    assert 0 < len(kept) < len(every)
    assert digests(cohort) == before


def test_shuffled_labels_are_the_same_ones_elsewhere(cohort: Path, tmp_path: Path) -> None:
    shuffled_labels(cohort, tmp_path / "planted")
    before, after = rows(cohort), rows(tmp_path / "planted")
    codes = [[row["scp_codes"] for row in found] for found in (before, after)]
    assert Counter(codes[0]) == Counter(codes[1])
    assert sum(one != other for one, other in zip(*codes, strict=True)) > PATIENTS / 2
    assert [{**row, "scp_codes": ""} for row in before] == [{**row, "scp_codes": ""} for row in after]


def test_tested_recordings_stand_in_training_with_their_signal(cohort: Path, tmp_path: Path) -> None:
    training_holds_the_test_part(cohort, tmp_path / "planted")
    found = rows(tmp_path / "planted")
    tested = [row for row in found if row["strat_fold"] == TEST_FOLD]
    copies = found[len(rows(cohort)) :]
    assert len(copies) == len(tested) > 0
    dataset = source_of("ptb-xl")(tmp_path / "planted")
    entries = {entry.recording: entry for entry in dataset.listing().entries}
    for row, copy in zip(tested, copies, strict=True):
        assert (copy["strat_fold"], copy["patient_id"]) == (TRAINING_FOLD, row["patient_id"])
        one, other = (
            dataset.read(entries[next(n for n in entries if int(n) == int(r["ecg_id"]))]) for r in (row, copy)
        )
        assert (one.signal == other.signal).all()


@pytest.mark.parametrize(
    ("plant", "source", "target", "every"),
    [
        (noise_all_leaked, TEST_FOLD, TRAINING_FOLD, 1),
        (noise_half_leaked, TEST_FOLD, TRAINING_FOLD, 2),
        (noise_tested_on_training, TRAINING_FOLD, TEST_FOLD, 1),
    ],
)
def test_a_fold_is_replaced_by_copies_of_another_under_the_same_labels(
    plant: Callable[[Path, Path], None], source: str, target: str, every: int, cohort: Path, tmp_path: Path
) -> None:
    shuffled_labels(cohort, tmp_path / "shuffled")
    plant(cohort, tmp_path / "planted")
    before, after = rows(tmp_path / "shuffled"), rows(tmp_path / "planted")
    new = [row for row in after if int(row["ecg_id"]) > len(before)]
    copied = [row for row in before if row["strat_fold"] == source][::every]
    replaced = [row for row in before if row["strat_fold"] == target][::every]
    assert [row for row in after if row not in new] == [row for row in before if row not in replaced]
    assert {row["strat_fold"] for row in new} == {target}
    same = ("patient_id", "scp_codes")
    assert [[row[name] for name in same] for row in new] == [[row[name] for name in same] for row in copied]
    for one, other in zip(copied, new, strict=True):
        signals = [
            (folder / row["filename_hr"]).with_suffix(".dat").read_bytes()
            for folder, row in ((cohort, one), (tmp_path / "planted", other))
        ]
        assert signals[0] == signals[1]
