"""Small grids on data that need not be there."""

from __future__ import annotations

from typing import Any

from benchmark.config.config import Config
from benchmark.run.grid import Grid, expand

MODE = {"device": "cpu", "precision": "float32"}
BASE = {"methods": ["random", "pmq"], "evaluate": ["finetune", "linear"], "seeds": [41, 42], "gates": []}


def grid_of(config: Config, *, corpus: str = "corpus", data: dict[str, str] | None = None, mode: Any = None) -> Grid:
    """The grid of a config whose columns have the data of these fingerprints."""
    simulated = {column.name: f"data of {column.name}" for column in config.data.columns()}
    return expand(config, corpus=corpus, fingerprints=data or simulated, mode=mode or MODE)
