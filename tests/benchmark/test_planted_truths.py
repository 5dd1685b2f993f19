"""Truths that stand in the data by construction come out of a run: labels of chance, a leak, an oracle, a namesake."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import run_benchmark
from benchmark.data.datasets.base import Entry, Listing
from benchmark.data.simulate import SimulatedDataset
from benchmark.results.names import RECORDING
from reports import load
from reports.inference import ScoreColumn, intervals, pairwise, score_columns

pytestmark = pytest.mark.slow
TEST_FOLD, TRAINING_FOLD, MORE_TESTED = 10, 1, (5, 6, 7)
"""Folds; those of `MORE_TESTED` are tested as well, so that a difference shows."""
CONFIG: dict[str, Any] = {
    "data": {
        "datasets": ["ptb-xl"],
        "pretrain": "ptb-xl",
        "labels": "multi",
        "simulation": {"patients": {"ptb-xl": 300}},
    },
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
    "baselines": [],
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
Alter = Callable[[list[Entry]], list[Entry]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str], list[str], Alter], int]:
    """Run methods on a simulated cohort whose list of recordings is altered; returns the exit status."""
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    unaltered = SimulatedDataset.listing

    def run(methods: list[str], baselines: list[str], alter: Alter) -> int:
        def listing(dataset: SimulatedDataset) -> Listing:
            entries = unaltered(dataset).entries
            more = [replace(entry, fold=TEST_FOLD if entry.fold in MORE_TESTED else entry.fold) for entry in entries]
            return Listing(tuple(alter(more)), form="simulated")

        monkeypatch.setattr(SimulatedDataset, "listing", listing)
        for name, text in METHODS.items():
            Path(f"{name}.py").write_text(text)
        Path("planted.yaml").write_text(json.dumps(CONFIG | {"methods": methods, "baselines": baselines}))
        return run_benchmark.main(["--config", "planted.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"])

    return run


def column() -> ScoreColumn:
    """Macro AUROC per recording of all rows."""
    run = load(Path("runs"))
    return next(score_columns(run, run.plan.cells, ["auroc"], RECORDING))


def test_shuffled_labels_are_predicted_by_chance(run: Callable[..., int]) -> None:
    def shuffle(entries: list[Entry]) -> list[Entry]:
        order = np.random.default_rng(7).permutation(len(entries))
        return [replace(entry, labels=entries[other].labels) for entry, other in zip(entries, order, strict=True)]

    assert run(["random"], ["features"], shuffle) == 0
    scores = intervals([column()]).set_index("variant")
    assert set(scores.index) == {"random", "features"}
    assert ((scores["low"] < 0.5) & (scores["high"] > 0.5)).all()


def test_a_test_recording_among_those_of_training_is_refused(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    def leak(entries: list[Entry]) -> list[Entry]:
        tested = Counter(entry.patient for entry in entries if entry.fold == TEST_FOLD)
        ((patient, _),) = tested.most_common(1)
        moved = next(entry for entry in entries if entry.patient == patient)
        return [replace(entry, fold=TRAINING_FOLD) if entry is moved else entry for entry in entries]

    assert run(["random"], [], leak) == run_benchmark.USAGE
    assert "1 patient on two sides of the split of PTB-XL" in capsys.readouterr().err
    assert not list(Path("runs").glob("cells/*"))


def test_planted_truths_are_found(run: Callable[..., int]) -> None:
    assert run(["random", "pclr", "again.py", "oracle.py"], [], lambda entries: entries) == 0
    scores = column()
    means = intervals([scores]).set_index("variant")["mean"]
    assert list(means.index[means > means["oracle"] - 0.02]) == ["oracle"]
    pair = pairwise([scores]).query("first == 'pclr' and second == 'again'").iloc[0]
    assert pair["difference"] != 0
    assert pair["low"] < 0 < pair["high"]
