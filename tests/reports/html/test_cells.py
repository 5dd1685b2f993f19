"""Where a cell comes from, as text: origins, differences of configs, states."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.rows import Row
from reports.html.cells import CONFIG_LIMIT, Behind, cell_data, config_differences, dotted
from reports.runs.planned_tables import layouts
from reports.runs.run import open_run
from reports.tables.table import make_table

PLAN = {"seeds": [41, 42], "pretrain": {"epochs": 3, "recipe": {"lr": 1e-3}}, "name": "demo", "knobs": {}}


def test_a_config_is_told_by_dotted_keys() -> None:
    assert dict(dotted(PLAN)) == {
        "seeds": "[41, 42]",
        "pretrain.epochs": "3",
        "pretrain.recipe.lr": "0.001",
        "name": "demo",
        "knobs": "{}",
    }


def test_differences_of_a_config_name_both_values() -> None:
    own = {"seeds": [41, 42], "pretrain": {"epochs": 5, "recipe": {"lr": 1e-3}}, "name": "demo", "own": True}
    assert config_differences(own, PLAN) == [
        "pretrain.epochs: 5 (plan: 3)",
        "knobs: not there (plan: {})",
        "own: true (plan: not there)",
    ]
    assert config_differences(PLAN, PLAN) == ["as the plan's"]


def test_many_differences_are_counted() -> None:
    found = config_differences({str(number): number for number in range(CONFIG_LIMIT + 7)}, {})
    assert len(found) == CONFIG_LIMIT + 1
    assert found[-1] == "and 7 more"


def test_what_cells_have_in_common_is_told_once(write_store: Callable[..., Path]) -> None:
    def at_home(row: Row) -> Row:
        device = {"type": "cpu", "name": "x86_64", "threads": 1 + (row.dataset == "chapman")}
        provenance = {"device": device, "precision": "float32", "versions": {"numpy": "2.0"}, "git": {"dirty": True}}
        return replace(row, provenance=provenance)

    data = cell_data(open_run(write_store(alter=at_home)))
    assert data["origins"][0] == [
        ["Code", "not recorded, with uncommitted changes"],
        ["Machine", "x86_64, 1 thread, float32"],
        ["Versions", "numpy 2.0"],
        ["Data", "not recorded"],
        ["Config", "not recorded"],
    ]
    assert len(data["origins"]) == 2
    json.dumps(data, allow_nan=False)


def test_a_cell_tells_its_scores_and_what_was_chosen(store_root: Path) -> None:
    cell = cell_data(open_run(store_root))["cells"][0]
    assert cell["scores"]["heartbeat"] == {"f1": "49.00", "auroc": "69.00", "acc": "59.00"}
    assert (cell["dataset"], cell["labels"], cell["seed"]) == ("PTB-XL", "30 %", "41")
    assert (cell["chosen"], cell["seconds"], cell["encoder_seed"]) == ("epoch 3", "1.5", "42")


def test_an_undefined_score_says_why(store_root: Path) -> None:
    texts = [cell["scores"]["heartbeat"]["auroc"] for cell in cell_data(open_run(store_root))["cells"]
             if cell["state"] == "finished"]  # fmt: skip
    assert texts.count("– (no class has both signs)") == 2


def test_a_failed_cell_says_why(store_root: Path) -> None:
    (failed,) = [cell for cell in cell_data(open_run(store_root))["cells"] if cell["state"] == "failed"]
    assert failed["why"] == "RuntimeError: the loss is not finite"


@pytest.mark.parametrize(("column", "cells"), [(0, 2), (3, 2), (6, 4)])
def test_behind_a_number_stand_its_planned_cells(store_root: Path, column: int, cells: int) -> None:
    """Also those that failed; Overall has those of all datasets."""
    run = open_run(store_root)
    table = make_table(run, next(layouts(run.plan, "finetune")), "heartbeat")
    behind = Behind(run)
    block = table.blocks[1]
    (line,) = [line for line in block.lines if line.variant == "pmq"]
    keys = {behind.keys[int(number)] for number in behind(table, block, line, table.columns[column]).split()}
    assert len(keys) == cells
    assert keys >= set(line.scores[column].keys)
