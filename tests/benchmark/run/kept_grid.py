"""Stores with the rows, cards and plan of a grid that nobody ran."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmark.config.load import load_config
from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Plan, PlannedCell, Predictions, Row, Store, card_bytes
from benchmark.run.cell import identity_of, results_versions
from benchmark.run.grid import Grid, expand
from tests.basic import BASIC

BASE: dict[str, Any] = {
    "methods": ["random", "pmq"],
    "seeds": [41, 42],
    "ratios": [0.3, 0.1],
    "gates": ["features"],
    "evaluate": ["finetune"],
}
MODE = {"device": "cpu", "precision": "float32"}
NOTHING = Predictions(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.str_), np.empty(0, np.str_))


def grid_of(overrides: dict[str, Any] | None = None, data: str = "data", mode: dict[str, str] | None = None) -> Grid:
    config = load_config(BASIC, BASE | (overrides or {}))
    return expand(config, corpus="corpus", fingerprints={"chapman": data}, mode=mode or MODE)


SIZES = {"title": "Chapman", "recordings": 4, "patients": 4}


def keep(grid: Grid, store: Store, overrides: dict[str, Any] | None = None, *, contents: bool = True) -> None:
    """Store the rows, cards and plan of a grid; `contents`: with what their keys are made of."""
    config = load_config(BASIC, BASE | (overrides or {})).model_dump(mode="json")
    for cell in grid.cells:
        told = {
            "config": config,
            "data": {"fingerprint": cell.content["data"]},
            "device": {"type": "cpu"},
            "precision": "float32",
            "results_versions": results_versions(cell),
        } | ({"key_content": cell.content} if contents else {})
        texts = {"protocol": "paper", "labels": "single", "notes": []}
        facts: dict[str, Any] = {name: {} for name in ("scores", "undefined", "counts", "coverage", "training")}
        store.save_row(Row(**identity_of(cell), **texts, **facts, provenance=told), NOTHING)
    for pretraining in grid.pretrainings:
        card = {"key_content": pretraining.content} if contents else {}
        (store.pretrained / pretraining.key).mkdir(parents=True, exist_ok=True)
        (store.pretrained / pretraining.key / CARD).write_bytes(card_bytes({"key": pretraining.key} | card))
    cells = [PlannedCell(c.key, c.variant.name, c.table, c.dataset, c.ratio, c.seed) for c in grid.cells]
    names = {cell.variant: cell.variant for cell in cells}
    key = digest([cell.key for cell in cells])
    store.save_plan(
        Plan(
            key,
            config,
            names,
            {"chapman": SIZES},
            {"name": "mimic-iv-ecg", "fingerprint": "corpus"} | SIZES,
            cells=cells,
        )
    )
