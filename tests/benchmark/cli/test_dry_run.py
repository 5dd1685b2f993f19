"""`--dry-run`: cells, sizes and hours before a run, exact once data are prepared, and nothing written."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.cli import hours
from benchmark.cli.dry_run import print_dry_run
from benchmark.cli.main import Request
from benchmark.config.config import Config
from benchmark.config.load import Folders
from benchmark.data.prepare import prepare
from benchmark.machine import Machine
from benchmark.results.store import Predictions, Row, Store
from benchmark.run.cell import identity_of
from benchmark.run.datasets import locate, names_of
from benchmark.run.grid import Cell, make_grid
from benchmark.screen import open_console
from benchmark.training.checkpoint import save_encoder
from tests.make import encoder

MACHINE = Machine(torch.device("cpu"), "float32", 1)


def finish(cell: Cell, store: Store) -> None:
    """Put a row in the place of a cell."""
    names = ("scores", "undefined", "counts", "coverage", "provenance", "training")
    facts: dict[str, Any] = {name: {} for name in names} | {"protocol": "paper", "labels": "single", "notes": []}
    nothing = np.empty(0)
    row = Row(**identity_of(cell), **facts)
    store.save_row(row, Predictions(nothing.astype(np.float32), nothing.astype(np.int64), nothing, nothing))  # type: ignore[arg-type]


def test_a_dry_run_counts_what_is_missing(
    small_config: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hours, "seconds_per_update", lambda *size: 10.0)
    per_window = hours.Seconds(hours.Line(0.0, 1.0), hours.Line(0.0, 0.5))
    monkeypatch.setattr(hours, "seconds_of_cells", lambda *cell: per_window)
    folders = Folders(None, {}, cache=tmp_path / "cache")
    grid: dict[str, Any] = {"ratios": [0.5, 0.1], "baselines": ["features"], "evaluate": ["finetune", "linear"]}
    config = small_config({"data.simulation.patients": {"mimic-iv-ecg": 2, "chapman": 4}, **grid})

    def lines(results: str = "runs") -> list[str]:
        out = StringIO()
        request = Request(config, folders, MACHINE, Namespace(results=tmp_path / results))
        print_dry_run(request, open_console(out))
        return out.getvalue().splitlines()

    before = lines("new/deeper/runs")
    assert list(tmp_path.iterdir()) == []
    assert before[0] == "config basic: 10 cells on 1 pretraining, at 0.5, 0.1 of the labels x seeds 41"
    assert before[1] == "  rows: random, pmq (Sun et al. 2025), features"
    assert "  mimic-iv-ecg: 5 recordings, 55 heartbeats (estimated; not prepared yet)" in before
    assert "to do: 10 of 10 cells, 1 of 1 pretrainings" in before, "a cell of two tables is to do once"
    assert "pretraining 0 s" not in "\n".join(before)
    assert "  ms of an update: pmq 10000" in before
    prepared = {name: prepare(locate(config, name, folders), folders.cache, workers=1) for name in names_of(config)}
    grid, store = make_grid(config, prepared, MACHINE), Store(tmp_path / "runs")
    finish(grid.cells[0], store)
    assert "to do: 9 of 10 cells, 1 of 1 pretrainings" in lines()
    for name, data in prepared.items():
        assert f"  {name}: {data.usable} recordings, {len(data.windows)} heartbeats (counted)" in lines()
    for cell in grid.cells:
        finish(cell, store)
    assert "to do: 0 of 10 cells, 1 of 1 pretrainings" in lines(), "an encoder that is gone is made again"
    for pretraining in grid.pretrainings:
        save_encoder(store.pretrained / pretraining.key, encoder(), {})
    assert any("1 task at a time: pretraining 0 s, cells 0 s" in line for line in lines())
