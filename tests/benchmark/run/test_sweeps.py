"""Budgets and sweeps of config keys: their rows and keys, and that they act."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.config.load import load_config
from benchmark.results.names import SWEEP
from benchmark.results.store import Store
from benchmark.run.grid import Grid, Pretraining
from methods.byol import BYOL
from tests.basic import BASIC
from tests.benchmark.run.bench import Bench, Cohorts, SmallConfig, grid_of

PLAIN: dict[str, Any] = {"methods": ["random", "moco", "pmq"], "gates": [], "ratios": [0.3, 0.1], "seeds": [41]}


def planned(overrides: dict[str, Any]) -> Grid:
    return grid_of(load_config(BASIC, {**PLAIN, **overrides}))


def by_name(grid: Grid) -> dict[str, Pretraining]:
    """Row -> pretraining of its cells."""
    return {cell.variant.name: cell.pretraining for cell in grid.cells if cell.pretraining}


def test_a_budget_of_passes_rests_on_what_a_method_is_said_to_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def byol(budget: str) -> str:
        return by_name(planned({"methods": ["byol"], "pretrain.budget": budget}))["byol"].key

    before = {budget: byol(budget) for budget in ("epochs", "windows", "passes")}
    assert len(set(before.values())) == 3
    monkeypatch.setattr(BYOL, "encoder_passes", 9.0)
    assert [budget for budget in before if byol(budget) != before[budget]] == ["passes"]


def test_equal_passes_give_each_method_its_number_of_updates(
    cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path
) -> None:
    config = small_config({"methods": ["pmq", "byol", "pclr"], "pretrain.budget": "passes", "pretrain.epochs": 8})
    bench = Bench(config, cohorts, Store(tmp_path / "runs"))
    assert bench.work_off() == 0
    cards = {name: bench.store.card(pretraining.key) or {} for name, pretraining in by_name(bench.grid).items()}
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
    grid = planned({"sweeps": {"pmq": swept, "random": {"encoder.hidden": [8]}}, "evaluate": ["finetune", "linear"]})
    assert [v.name for v in grid.variants if v.role == SWEEP] == [
        "pmq:pretrain.epochs=3", "pmq:pretrain.epochs=4", "pmq:encoder.hidden=8", "pmq:encoder.name=resnet1d",
        "pmq:finetune.lr=0.5", "pmq:linear.strengths=[1.0]", "random:encoder.hidden=8",
    ]  # fmt: skip
    made = by_name(grid)
    assert made["pmq:pretrain.epochs=3"].key == made["pmq:finetune.lr=0.5"].key == made["pmq"].key
    assert made["pmq:pretrain.epochs=4"].content["epochs"] == 4
    assert made["pmq:encoder.hidden=8"].content["encoder"]["hidden"] == 8
    other = by_name(planned({"encoder.name": "resnet1d"}))["pmq"]
    assert made["pmq:encoder.name=resnet1d"].key == other.key
    assert made["random:encoder.hidden=8"].key != made["random"].key
    cells = {(cell.variant.name, cell.evaluation): cell for cell in grid.cells if cell.ratio == 0.1}
    assert cells["pmq:finetune.lr=0.5", "finetune"].content["settings"]["lr"] == 0.5
    assert cells["pmq:finetune.lr=0.5", "linear"].key == cells["pmq", "linear"].key
    assert cells["pmq:linear.strengths=[1.0]", "linear"].content["settings"] == {"strengths": [1.0]}


def test_a_swept_config_key_acts(cohorts: Cohorts, small_config: SmallConfig, tmp_path: Path) -> None:
    """A row of the sweep has the encoder and the scores of a run whose config has that value."""
    base = {"methods": ["pmq"], "evaluate": ["linear"]}
    rows = []
    for name, overrides in {
        "plain": {"encoder.hidden": 6},
        "swept": {"sweeps": {"pmq": {"encoder.hidden": [6]}}},
    }.items():
        bench = Bench(small_config({**base, **overrides}), cohorts, Store(tmp_path / name))
        assert bench.work_off() == 0
        rows.append(bench.rows()[-1])
    assert (rows[1].key, rows[1].scores) == (rows[0].key, rows[0].scores)
    assert [row.provenance["config"]["encoder"]["hidden"] for row in rows] == [6, 6]
