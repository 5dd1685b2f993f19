"""Budgets and sweeps of config keys: their rows and keys, and that they act."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.config.config import Config
from benchmark.config.load import load_config
from benchmark.data.prepare import Prepared
from benchmark.machine.device import Machine
from benchmark.results.names import SWEEP
from benchmark.results.store import Store
from benchmark.run.grid import Grid, Pretraining, expand
from methods.byol import BYOL
from tests.basic import BASIC
from tests.benchmark.run.bench import Bench

MACHINE = Machine(torch.device("cpu"), "float32", 1)
MODE = {"device": "cpu", "precision": "float32"}
PLAIN: dict[str, Any] = {"methods": ["random", "moco", "pmq"], "gates": [], "ratios": [0.3, 0.1], "seeds": [41]}
SmallConfig = Callable[..., Config]
Cohorts = dict[str, Prepared]


def grid_of(overrides: dict[str, Any]) -> Grid:
    config = load_config(BASIC, {**PLAIN, **overrides})
    return expand(config, corpus="corpus", fingerprints={"chapman": "data"}, mode=MODE)


def by_name(grid: Grid) -> dict[str, Pretraining]:
    """Row -> pretraining of its cells."""
    return {cell.variant.name: cell.pretraining for cell in grid.cells if cell.pretraining}


def worked_off(config: Config, cohorts: Cohorts, root: Path) -> tuple[Grid, Store]:
    """The grid and its store after the work."""
    bench = Bench(config, cohorts, Store(root))
    assert bench.work_off() == 0
    return bench.grid, bench.store


def test_a_budget_of_passes_rests_on_what_a_method_is_said_to_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def byol(budget: str) -> str:
        return by_name(grid_of({"methods": ["byol"], "pretrain.budget": budget}))["byol"].key

    before = {budget: byol(budget) for budget in ("epochs", "windows", "passes")}
    assert len(set(before.values())) == 3
    monkeypatch.setattr(BYOL, "encoder_passes", 9.0)
    assert [budget for budget in before if byol(budget) != before[budget]] == ["passes"]


def test_equal_passes_give_each_method_its_number_of_updates(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    config = small_config({"methods": ["pmq", "byol", "pclr"], "pretrain.budget": "passes", "pretrain.epochs": 8})
    grid, store = worked_off(config, cohorts, tmp_path / "runs")
    cards = {name: store.card(pretraining.key) or {} for name, pretraining in by_name(grid).items()}
    seen = {name: card["updates"] * card["batch_size"] for name, card in cards.items()}
    assert seen["byol"] / seen["pmq"] == pytest.approx(0.5, rel=0.05)
    assert cards["pclr"]["windows_per_epoch"] < cards["pmq"]["windows_per_epoch"] + cards["pmq"]["batch_size"]
    measured = [card["encoder_passes"] for card in cards.values()]
    assert measured == pytest.approx([cards["pmq"]["encoder_passes"]] * 3, rel=0.05)


def test_a_sweep_of_a_config_key_changes_that_key_for_its_row_alone() -> None:
    swept = {
        "pretrain.epochs": [3, 4],
        "encoder.hidden": [8],
        "encoder.name": ["resnet1d"],
        "finetune.lr": [0.5],
        "linear.strengths": [[1.0]],
    }
    grid = grid_of({"sweeps": {"pmq": swept, "random": {"encoder.hidden": [8]}}, "evaluate": ["finetune", "linear"]})
    assert [v.name for v in grid.variants if v.role == SWEEP] == [
        "pmq:pretrain.epochs=3", "pmq:pretrain.epochs=4", "pmq:encoder.hidden=8", "pmq:encoder.name=resnet1d",
        "pmq:finetune.lr=0.5", "pmq:linear.strengths=[1.0]", "random:encoder.hidden=8",
    ]  # fmt: skip
    made = by_name(grid)
    assert made["pmq:pretrain.epochs=3"].key == made["pmq:finetune.lr=0.5"].key == made["pmq"].key
    assert made["pmq:pretrain.epochs=4"].content["epochs"] == 4
    assert made["pmq:encoder.hidden=8"].content["encoder"]["hidden"] == 8
    other = by_name(grid_of({"encoder.name": "resnet1d"}))["pmq"]
    assert made["pmq:encoder.name=resnet1d"].key == other.key
    assert made["random:encoder.hidden=8"].key != made["random"].key
    cells = {(cell.variant.name, cell.evaluation): cell for cell in grid.cells if cell.ratio == 0.1}
    assert cells["pmq:finetune.lr=0.5", "finetune"].content["settings"]["lr"] == 0.5
    assert cells["pmq:finetune.lr=0.5", "linear"].key == cells["pmq", "linear"].key
    assert cells["pmq:linear.strengths=[1.0]", "linear"].content["settings"] == {"strengths": [1.0]}


def test_a_swept_config_key_acts(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    """A row of the sweep has the encoder and the scores of a run whose config has that value."""
    base = {"methods": ["pmq"], "evaluate": ["linear"]}
    grid, store = worked_off(
        small_config({**base, "sweeps": {"pmq": {"encoder.hidden": [6]}}}), cohorts, tmp_path / "swept"
    )
    plain, other = worked_off(small_config({**base, "encoder.hidden": 6}), cohorts, tmp_path / "plain")
    (row,) = (store.load_row(cell.key) for cell in grid.cells if cell.variant.role == SWEEP)
    (expected,) = (other.load_row(cell.key) for cell in plain.cells)
    assert row is not None
    assert expected is not None
    assert (row.key, row.scores) == (expected.key, expected.scores)
    assert row.provenance["config"]["encoder"]["hidden"] == 6
