"""Scores and verdicts, on columns made by hand.

Altered cohorts hold what they say, and leave the cohort they are made of as it was.
"""

from __future__ import annotations

import ast
import csv
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.datasets.registry import source_of
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.extras.answers_planted import (
    NOT_ONLY_SINUS,
    TABLE,
    TEST_FOLD,
    TRAINING_FOLD,
    ahead,
    apart,
    at_chance,
    difference,
    mean_of,
    noise_all_leaked,
    noise_half_leaked,
    noise_tested_on_training,
    only_sinus,
    paired,
    shown,
    shuffled_labels,
    training_holds_the_test_part,
)
from reports.statistics.bootstrap import ScoreColumn
from reports.statistics.estimates import Estimate, estimate

SPREAD = 0.02


def column(*means: float, seed: int = 0, patients: int = 60) -> ScoreColumn:
    """Rows 'a', 'b', ... with these means, three seeds and 400 resamples, alike in what the patients do to them."""
    common = SPREAD * np.random.default_rng(0).standard_normal((1, 1, 401))
    common[..., 0] = 0
    runs = 0.004 * np.random.default_rng([1, seed]).standard_normal((len(means), 3, 1))
    scores = np.array(means)[:, None, None] + common + runs - runs.mean(1, keepdims=True)  # (V, 3, 401)
    names = tuple("abcdef"[: len(means)])
    return ScoreColumn("recording", 0.3, "ptb-xl", "auroc", names, (1, 2, 3), patients, np.empty((0,)), scores)


def test_chance_is_told_from_a_score_row_by_row() -> None:
    findings = at_chance({"linear": column(0.51, 0.70), "finetune": column(0.49)})
    assert [(finding.what, finding.passed) for finding in findings] == [
        ("a, linear", True),
        ("b, linear", False),
        ("a, finetune", True),
    ]
    assert "Holm, 3 rows" in findings[0].wanted


def test_features_count_once() -> None:
    both = replace(column(0.5, 0.9), variants=("a", "features"))
    found = at_chance({"one": both, "two": both})
    assert [finding.what for finding in found] == ["a, one", "features, one", "a, two"]


def test_features_of_another_run_count_too() -> None:
    one, other = (replace(column(0.5, 0.5, seed=seed), variants=("a", "features")) for seed in (0, 1))
    found = at_chance({"one": one, "two": other})
    assert [finding.what for finding in found] == ["a, one", "features, one", "a, two", "features, two"]


def test_a_mean_of_estimates_has_their_errors_by_the_root_of_their_number() -> None:
    one = Estimate(0.10, 0.0, 0.0, 0.0, 0.03, 0.0, 2.0, 3, 0.0)
    other = Estimate(0.04, 0.0, 0.0, 0.0, 0.0, 0.04, 2.0, 3, 0.0)
    found = mean_of([one, other])
    assert (found.mean, found.patients_se) == (pytest.approx(0.07), pytest.approx(0.025))
    assert found.high == pytest.approx(0.07 + 1.96 * 0.025)


def test_a_difference_is_ahead_only_if_its_interval_is() -> None:
    assert ahead("x", difference(column(0.70, 0.60), "a", "b")).passed
    assert not ahead("x", difference(column(0.60, 0.70), "a", "b")).passed
    assert not ahead("x", difference(column(0.601, 0.600), "a", "b")).passed


def test_rows_of_two_arms_are_paired_by_patient() -> None:
    one, other = column(0.70), column(0.66, seed=1)
    alone = estimate(one.scores[0], one.patients)
    found = paired((one, "a"), (other, "a"))
    assert found.mean == pytest.approx(0.04)
    assert found.high - found.low < (alone.high - alone.low) / 2
    with pytest.raises(AssertionError, match="cannot be paired"):
        paired((one, "a"), (column(0.6, patients=50), "a"))


def test_estimates_of_other_patients_add_their_variances() -> None:
    one = Estimate(0.10, 0.0, 0.0, 0.0, 0.03, 0.0, 2.0, 3, 0.0)
    other = Estimate(0.04, 0.0, 0.0, 0.0, 0.0, 0.04, 2.0, 3, 0.0)
    found = apart(one, other)
    assert (found.mean, found.patients_se) == (pytest.approx(0.06), pytest.approx(0.05))
    assert found.low == pytest.approx(0.06 - 1.96 * 0.05)
    assert shown(found, signed=True) == "+0.060 (-0.038 to +0.158)"


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
