"""What a known answer is, scores of a finished arm with their intervals, and cohorts with something planted.

The score is the macro AUROC per recording on one dataset, at one label ratio, over the arm's seeds.

Altered copies of simulated PTB-XL cohorts link the signals and have new tables; they keep the simulator's mark.
"""

from __future__ import annotations

import ast
import csv
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.simulate.layouts import write_csv
from benchmark.results.names import FEATURES, RECORDING
from reports.runs import Run
from reports.statistics.bootstrap import Floats, ScoreColumn, score_columns
from reports.statistics.estimates import LEVEL, Estimate, estimate, holm

Plant = Callable[[Path, Path], None]
"""(folder of a simulated cohort, folder to write) -> an altered copy. The function's name enters the arm's key."""

BASE: dict[str, Any] = {
    "methods": ["random"],
    "gates": [],
    "data.datasets": ["ptb-xl"],
    "data.labels": "multi",
    "encoder": {"hidden": 16, "depth": 6, "output": 64, "pool": 1},
    "pretrain": {"epochs": 2, "budget": "epochs", "recipe": {"batch_size": 64, "lr": 1e-3}},
    "finetune": {"epochs": 2, "lr": 1e-3, "batch_size": 32},
    "linear": {"strengths": [0.01, 0.1, 1.0, 10.0]},
    "boosting": {"iterations": 40},
    "evaluate": ["linear"],
    "ratios": [0.3],
    "seeds": [41, 42, 43],
    "protocol": "strict",
    "data.beats": "authors",
    "subsets": 1,
    "validation_labels": "whole",
    "precision": "float32",
}
"""Dotted config keys of every arm, laid over the config demo: all that the page says of the runs stands here."""

TRAINED_OUT: dict[str, Any] = {
    "encoder.pool": 3,
    "pretrain.epochs": 12,
    "pretrain.recipe.lr": 3e-3,
    "seeds": [41, 42, 43, 44, 45],
}
"""Config keys of arms whose answer is a difference between encoders: five of each, trained out at 83 Hz."""


def cohorts(seed: int = 1, *, mimic: int = 100, ptb_xl: int = 600, **dials: float) -> dict[str, Any]:
    """The override that sets the simulation: its seed, patients per cohort, and dials that are not at 1."""
    return {"data.simulation": {"seed": seed, "patients": {"mimic-iv-ecg": mimic, "ptb-xl": ptb_xl}, **dials}}


@dataclass(frozen=True)
class Arm:
    """One run of a known answer: a config, and what is planted in its cohorts."""

    overrides: Mapping[str, Any]
    """Dotted config keys, laid over `BASE`."""
    plants: Mapping[str, Plant] = field(default_factory=dict)
    """Dataset -> alteration of its simulated cohort."""
    allow_leak: bool = True
    """Run although the audit found leaks, as `--allow-leak` does; the leaks are kept in `Ran`."""


@dataclass(frozen=True)
class Ran:
    """A finished arm."""

    run: Run
    leaks: tuple[str, ...]
    """Reasons for which a run without `--allow-leak` is refused."""
    seconds: float
    """CPU time of this process and its children, data included."""


@dataclass(frozen=True)
class Finding:
    """One number or fact of a known answer beside what was wanted."""

    what: str
    found: str
    """The value, with its interval where it has one."""
    wanted: str
    passed: bool


@dataclass(frozen=True)
class Answer:
    """One known answer."""

    name: str
    """As `--only` takes it."""
    planted: str
    """What is true of the data, and why."""
    expected: str
    """What must come out. It is written before the run, and stays as it was if the run disagrees."""
    arms: Mapping[str, Arm]
    check: Callable[[Mapping[str, Ran]], Sequence[Finding]]
    """Finished arms by name -> findings."""
    by_default: bool = True
    """Runs where `--only` names no answer; the others run where it names them."""
    changed: str = ""
    """What was changed after an earlier run, and why."""
    conclusion: str = ""
    """What a reader may and may not conclude; written after the run."""


METRIC = "auroc"
CHANCE = 0.5
RESAMPLES = 1000


def column_of(ran: Ran, evaluation: str = "linear", *, resamples: int = RESAMPLES) -> ScoreColumn:
    """The AUROC of an arm's rows in one evaluation's table, on its first dataset and label ratio."""
    cells = [cell for cell in ran.run.plan.cells if cell.evaluation == evaluation]
    cells = [cell for cell in cells if (cell.dataset, cell.ratio) == (cells[0].dataset, cells[0].ratio)]
    return score_columns(ran.run, cells, RECORDING, metrics=[METRIC], resamples=resamples)[0]


def scores_of(column: ScoreColumn, variant: str) -> Floats:
    """Scores of a row, (S, 1+R)."""
    scores: Floats = column.scores[column.variants.index(variant)]  # (S, 1+R)
    return scores


def score(column: ScoreColumn, variant: str) -> Estimate:
    """A row's mean over seeds."""
    return estimate(scores_of(column, variant), column.patients)


def difference(column: ScoreColumn, first: str, second: str) -> Estimate:
    """First row minus second of one column, paired by test patient and seed."""
    return estimate(scores_of(column, first) - scores_of(column, second), column.patients)


def at_chance(columns: Mapping[str, ScoreColumn]) -> list[Finding]:
    """One finding per row of the columns, given by table: its AUROC may not differ from .5 (Holm over all rows).

    The boosted features are the same cells in every table of a run and count once.
    """
    rows: list[tuple[str, ScoreColumn, str]] = []
    for table, column in columns.items():
        told = [scores_of(earlier, FEATURES) for _, earlier, variant in rows if variant == FEATURES]
        for variant in column.variants:
            if variant != FEATURES or not any(np.array_equal(scores_of(column, variant), scores) for scores in told):
                rows.append((f"{variant}, {table}", column, variant))
    p = holm(np.array([estimate(scores_of(column, name) - CHANCE, column.patients).p for _, column, name in rows]))
    wanted = f"0.500: p of at least {LEVEL:g} (Holm, {len(rows)} rows)"
    return [
        Finding(what, f"{shown(score(column, name))}, p = {own:.2f}", wanted, bool(own >= LEVEL))
        for (what, column, name), own in zip(rows, p, strict=True)
    ]


def ahead(name: str, found: Estimate) -> Finding:
    """A difference whose interval must lie above zero."""
    return Finding(name, shown(found, signed=True), "interval above 0", bool(found.low > 0))


def shown(found: Estimate, *, signed: bool = False) -> str:
    """'0.512 (0.480 to 0.544)'."""
    sign = "+" if signed else ""
    return f"{found.mean:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def apart(one: Estimate, other: Estimate) -> Estimate:
    """One estimate minus another of other test patients: a normal interval from both standard errors."""
    return _normal(one.mean - other.mean, np.hypot(standard_error(one), standard_error(other)), one.seeds)


def mean_of(found: Sequence[Estimate]) -> Estimate:
    """Mean of estimates of different test patients: a normal interval from their standard errors."""
    mean = float(np.mean([one.mean for one in found]))
    error = np.sqrt(np.sum([standard_error(one) ** 2 for one in found])) / len(found)
    return _normal(mean, error, found[0].seeds)


def _normal(mean: float, error: float, seeds: int) -> Estimate:
    """An estimate with a standard error over patients and a normal interval."""
    error = float(error)
    interval = mean - 1.96 * error, mean + 1.96 * error
    return Estimate(mean, *interval, np.nan, error, np.nan, np.nan, seeds, np.nan)


def standard_error(found: Estimate) -> float:
    """Standard error of an estimate from its two parts."""
    return float(np.hypot(found.patients_se, np.nan_to_num(found.seeds_se)))


def paired(one: tuple[ScoreColumn, str], other: tuple[ScoreColumn, str]) -> Estimate:
    """A row of one arm minus a row of another with the same test patients, paired by patient and seed."""
    (column, row), (second, second_row) = one, other
    assert column.patients == second.patients, "arms with other test patients cannot be paired"
    return estimate(scores_of(column, row) - scores_of(second, second_row), column.patients)


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
