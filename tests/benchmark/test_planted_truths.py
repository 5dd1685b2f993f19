"""What is true of the data by construction comes out of a run: labels of chance, a leak, an oracle, a namesake."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import run_benchmark
from benchmark.data.simulate import SimulatedDataset
from benchmark.results.names import RECORDING
from reports.inference import ScoreColumn, intervals, pairwise, score_columns
from reports.load import load
from tests.on_disk import write_dataset

pytestmark = pytest.mark.slow
PATIENTS = 300
TABLE = "ptbxl_database.csv"
TEST_FOLD, TRAINING_FOLD, MORE_TESTED = "10", "1", ("5", "6", "7")
"""Folds; those of `MORE_TESTED` are tested as well, so that a difference shows."""
CONFIG: dict[str, Any] = {
    "data": {"datasets": ["ptb-xl"], "pretrain": "ptb-xl", "labels": "multi", "simulation": None},
    "encoder": {"hidden": 8, "depth": 4, "output": 32, "pool": 3},
    "pretrain": {"epochs": 6, "budget": "epochs", "recipe": {"batch_size": 16, "lr": 3e-3}},
    "linear": {"strengths": [1.0]},
    "boosting": {"iterations": 5},
    "evaluate": ["linear"],
    "ratios": [0.2],
    "subsets": 1,
    "seeds": [41, 42],
    "protocol": "strict",
    "precision": "float32",
    "gates": [],
}
METHODS = {
    "oracle": """
from torch import nn
from methods.base import PretrainMethod
from methods.parts.losses import unit_length

class Oracle(PretrainMethod):
    name, title, needs_text, encoder_passes = "oracle", "Oracle", True, 3.0

    def __init__(self, encoder, config):
        super().__init__(encoder, config)
        self.head = nn.Linear(encoder.config.output, 768)

    def forward(self, batch):
        said = unit_length(self.head(self.encoder.pooled(batch.x1)))
        return 1 - (said * unit_length(batch.text)).sum(1).mean()
""",
    "again": """
import torch
from methods.pclr import PCLR

class Again(PCLR):
    name, title = "again", "PCLR again"

    def __init__(self, encoder, config):
        torch.manual_seed((torch.initial_seed() + 2**31) % 2**63)
        super().__init__(type(encoder)(encoder.config), config)
""",
}
"""`oracle` learns the reports, which name the diagnoses; `again` is PCLR from other initial weights."""
Row = dict[str, str]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort") / "ptb-xl"
    write_dataset(SimulatedDataset("ptb-xl", PATIENTS), folder)
    return folder


@pytest.fixture
def run(cohort: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Results methods on the cohort with an altered table of recordings; returns the exit status."""
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)

    def run(methods: list[str], gates: list[str], alter: Callable[[list[Row]], list[Row]]) -> int:
        planted = tmp_path / "ptb-xl"
        planted.mkdir()
        for path in cohort.iterdir():
            if path.name != TABLE:
                (planted / path.name).symlink_to(path, target_is_directory=path.is_dir())
        with open(cohort / TABLE, encoding="utf-8", newline="") as file:
            rows = [
                row | {"strat_fold": TEST_FOLD if row["strat_fold"] in MORE_TESTED else row["strat_fold"]}
                for row in csv.DictReader(file)
            ]
        rows = alter(rows)
        with open(planted / TABLE, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        for name, text in METHODS.items():
            Path(f"{name}.py").write_text(text)
        Path("planted.yaml").write_text(json.dumps(CONFIG | {"methods": methods, "gates": gates}))
        command = ["--config", "planted.yaml", "--data", f"ptb-xl={planted}", "--device", "cpu", "--workers", "1"]
        return run_benchmark.main([*command, "--jobs", "1"])

    return run


def column() -> ScoreColumn:
    """Macro AUROC per recording of all rows."""
    run = load(Path("runs"))
    return next(score_columns(run, run.plan.cells, ["auroc"], RECORDING))


def test_shuffled_labels_are_predicted_by_chance(run: Callable[..., int]) -> None:
    def shuffle(rows: list[Row]) -> list[Row]:
        order = np.random.default_rng(7).permutation(len(rows))
        return [row | {"scp_codes": rows[other]["scp_codes"]} for row, other in zip(rows, order, strict=True)]

    assert run(["random"], ["features"], shuffle) == 0
    scores = intervals([column()]).set_index("variant")
    assert set(scores.index) == {"random", "features"}
    assert ((scores["low"] < 0.5) & (scores["high"] > 0.5)).all()


def test_a_test_recording_among_those_of_training_is_refused(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    def leak(rows: list[Row]) -> list[Row]:
        tested = Counter(row["patient_id"] for row in rows if row["strat_fold"] == TEST_FOLD)
        ((patient, _),) = tested.most_common(1)
        moved = next(row for row in rows if row["patient_id"] == patient)
        return [row | {"strat_fold": TRAINING_FOLD} if row is moved else row for row in rows]

    assert run(["random"], [], leak) == run_benchmark.USAGE
    assert "1 patient on two sides of the split of PTB-XL" in capsys.readouterr().err
    assert not list(Path("runs").glob("cells/*"))


def test_an_encoder_that_learned_the_labels_is_first_and_a_second_name_is_no_difference(
    run: Callable[..., int],
) -> None:
    assert run(["random", "pclr", "again.py", "oracle.py"], [], lambda rows: rows) == 0
    scores = column()
    means = intervals([scores]).set_index("variant")["mean"]
    assert list(means.index[means > means["oracle"] - 0.02]) == ["oracle"]
    pair = pairwise([scores]).query("first == 'pclr' and second == 'again'").iloc[0]
    assert pair["difference"] != 0
    assert pair["low"] < 0 < pair["high"]
