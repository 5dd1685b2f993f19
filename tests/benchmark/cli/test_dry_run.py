"""`--dry-run`: cells, sizes and hours before a run, exact once data are prepared, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.cli import dry_run
from benchmark.cli.dry_run import print_dry_run
from benchmark.config.config import Config
from benchmark.config.load import Folders
from benchmark.data.datasets.base import DatasetError
from benchmark.data.prepare import Prepared, prepare
from benchmark.machine.device import Machine
from benchmark.results.store import Predictions, Row, Store
from benchmark.run.cell import identity_of
from benchmark.run.datasets import locate, names_of
from benchmark.run.grid import Cell, make_grid
from benchmark.screen import open_console

SmallConfig = Callable[..., Config]
MACHINE = Machine(torch.device("cpu"), "float32", 1)
FEW = {"data.simulation.patients": {"mimic-iv-ecg": 2, "chapman": 4}, "evaluate": ["finetune"], "ratios": [0.5, 0.1]}


@pytest.fixture(autouse=True)
def _one_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass takes a millisecond here and an update ten seconds, without measuring."""
    monkeypatch.setattr(dry_run, "seconds_per_pass", lambda *size, **how: 1e-3)
    monkeypatch.setattr(dry_run, "seconds_per_update", lambda *size: 10.0)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(None, {}, cache=tmp_path / "cache")


@pytest.fixture
def store(folders: Folders) -> Store:
    return Store(folders.cache.parent / "runs")


def lines_of(config: Config, folders: Folders, results: str = "runs") -> list[str]:
    out, folder = StringIO(), folders.cache.parent
    print_dry_run(open_console(out), config, folders, MACHINE, folder / results)
    return out.getvalue().splitlines()


def prepare_all(config: Config, folders: Folders) -> dict[str, Prepared]:
    return {name: prepare(locate(config, name, folders), folders.cache, workers=1) for name in names_of(config)}


def finish(cell: Cell, store: Store) -> None:
    """Put a row in the place of a cell."""
    text = {"protocol": "paper", "labels": "single"}
    facts: dict[str, dict[str, object]] = {
        name: {} for name in ("scores", "undefined", "counts", "coverage", "provenance", "training")
    }
    nothing = np.empty(0)
    row = Row(**identity_of(cell), notes=[], **text, **facts)  # type: ignore[arg-type]
    store.save_row(row, Predictions(nothing.astype(np.float32), nothing.astype(np.int64), nothing, nothing))  # type: ignore[arg-type]


def done_of(row: str, dataset: str, lines: list[str]) -> str:
    """'0/6': cells done of those planned, of a row and evaluation on a dataset."""
    (heading,) = (line.split() for line in lines if line.startswith("row "))
    (cells,) = (line.split() for line in lines if line.split()[:2] == row.split())
    return cells[heading.index(dataset)]


def test_nothing_is_written(small_config: SmallConfig, folders: Folders, tmp_path: Path) -> None:
    assert lines_of(small_config(FEW), folders, results="new/deeper/runs")
    assert list(tmp_path.iterdir()) == []


def test_sizes_are_estimates_before_and_counts_after_preparation(small_config: SmallConfig, folders: Folders) -> None:
    config = small_config(FEW)
    assert "  mimic-iv-ecg: 5 recordings, 55 heartbeats (estimated; not prepared yet)" in lines_of(config, folders)
    prepared = prepare_all(config, folders)
    lines = lines_of(config, folders)
    for name, data in prepared.items():
        assert f"  {name}: {len(data.entries)} recordings, {len(data.windows)} heartbeats (counted)" in lines


def test_cells_are_listed_with_how_many_are_done(small_config: SmallConfig, folders: Folders, store: Store) -> None:
    config = small_config({**FEW, "seeds": [1, 2, 3]})
    before = lines_of(config, folders)
    assert before[0] == "config basic: 12 cells on 1 pretrainings"
    assert "to do: 12 of 12 cells, 1 of 1 pretrainings" in before
    assert any("at 0.5, 0.1 of the labels x seeds 1, 2, 3" in line for line in before)
    assert done_of("pmq finetune", "chapman", before) == "0/6"
    grid = make_grid(config, prepare_all(config, folders), MACHINE)
    for cell in grid.cells[:2]:
        finish(cell, store)
    after = lines_of(config, folders)
    assert done_of("random finetune", "chapman", after) == "2/6"
    assert "to do: 10 of 12 cells, 1 of 1 pretrainings" in after
    assert done_of("pmq finetune", "chapman", after) == "0/6"


def test_a_cell_of_two_tables_is_to_do_once(small_config: SmallConfig, folders: Folders) -> None:
    config = small_config(FEW | {"gates": ["features"], "evaluate": ["finetune", "linear"]})
    assert "to do: 10 of 10 cells, 1 of 1 pretrainings" in lines_of(config, folders)


def test_hours_are_of_what_is_missing_and_come_from_a_timed_update_and_pass(
    small_config: SmallConfig, folders: Folders, store: Store
) -> None:
    config = small_config({**FEW, "gates": ["features"]})
    grid = make_grid(config, prepare_all(config, folders), MACHINE)
    before = "\n".join(lines_of(config, folders))
    assert "together 0 s" not in before
    assert "without 2 cells of baselines that have no encoder" in before
    for cell in grid.cells:
        finish(cell, store)
    after = "\n".join(lines_of(config, folders))
    assert "1 tasks at a time: pretraining 0 s, cells 0 s, together 0 s" in after
    assert "without" not in after.partition("estimate")[2].partition("disk")[0]


def test_the_papers_grid_is_counted_without_data(small_config: SmallConfig, folders: Folders) -> None:
    patients = {"mimic-iv-ecg": 2, "ptb-xl": 2, "chapman": 2, "cpsc2018": 2}
    config = small_config(
        {
            "data.simulation.patients": patients,
            "data.datasets": ["ptb-xl", "chapman", "cpsc2018"],
            "methods": ["random", "moco", "pmq"],
            "evaluate": ["finetune"],
            "ratios": [0.3, 0.1, 0.01],
            "seeds": [41, 42, 43, 44, 45],
        }
    )
    assert lines_of(config, folders)[0] == "config basic: 135 cells on 2 pretrainings"


def test_missing_real_data_are_named(small_config: SmallConfig, folders: Folders, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="MIMIC-IV-ECG: none of"):
        lines_of(small_config({"data.simulation": None}), replace(folders, data_root=tmp_path))
