"""Small grids on data that need not be there."""

from __future__ import annotations

from typing import Any

from benchmark.config.config import Config
from benchmark.run.grid import Grid, expand

SIMULATED = {name: f"data of {name}" for name in ("ptb-xl", "chapman", "cpsc2018")}
MODE = {"device": "cpu", "precision": "float32"}
BASE = {"methods": ["random", "pmq"], "evaluate": ["finetune", "linear"], "seeds": [41, 42], "gates": []}


def grid_of(config: Config, *, corpus: str = "corpus", data: dict[str, str] | None = None, mode: Any = None) -> Grid:
    return expand(config, corpus=corpus, fingerprints=data or SIMULATED, mode=mode or MODE)
