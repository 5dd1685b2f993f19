"""What tasks are expected to take, and how earlier results of the store correct it.

What `--dry-run` says of the time from start to end: for the tasks that the engine would be given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.cli import dry_run as costs_module
from benchmark.cli.dry_run import (
    PRETRAINING,
    costs_of,
    earlier_rates,
    equal_probes_once,
    seconds_of,
    summed,
)
from benchmark.config.config import Config
from benchmark.machine.device import Machine
from benchmark.results.files import write_atomic
from benchmark.results.names import CARD
from benchmark.results.store import Predictions, Row, Store, card_bytes
from benchmark.run.cell import place_of
from benchmark.run.estimate import Size, cell_seconds, passes
from benchmark.run.grid import Cell, expand, task_name
from benchmark.run.jobs import Work, missing
from benchmark.screen import Cost

MACHINE = Machine(torch.device("cpu"), "float32", 3)
SIZES = {"mimic-iv-ecg": Size(100, 1000, True), "chapman": Size(50, 500, True)}
ROW = {"protocol": "paper", "labels": "single", "notes": []}
NOTHING = Predictions(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.str_), np.empty(0, np.str_))


@pytest.fixture
def config(small_config: Callable[..., Config]) -> Config:
    return small_config({"gates": ["features"], "evaluate": ["finetune"], "ratios": [0.5, 0.1]})


@pytest.fixture
def work(config: Config) -> Work:
    """All of a grid."""
    mode = {"device": "cpu", "precision": "float32"}
    grid = expand(config, corpus="corpus", fingerprints={"chapman": "data"}, mode=mode)
    return Work(grid, grid.pretrainings, grid.cells, ())


@pytest.fixture
def seconds(config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> costs_module.Seconds:
    """A pass takes a millisecond on the threads of a cell, half of it on those of a pretraining."""
    monkeypatch.setattr(costs_module, "timed_passes", lambda *asked: (5e-4, 1e-3))
    source, seconds = seconds_of(config, tmp_path / "speed.json", MACHINE, SIZES, concurrent=2)
    assert source == "from an encoder pass timed just now; `speed` looks closer"
    return seconds


def finish(cell: Cell, store: Store, took: float) -> None:
    facts: dict[str, dict[str, object]] = {n: {} for n in ("scores", "undefined", "counts", "coverage", "provenance")}
    store.save_row(Row(**place_of(cell), **ROW, **facts, training={"seconds": took}), NOTHING)  # type: ignore[arg-type]


def test_each_task_has_its_kind_and_the_cells_run_abreast(
    config: Config, work: Work, seconds: costs_module.Seconds
) -> None:
    found = costs_of(work, seconds, MACHINE)
    _, pmq = work.pretrainings
    assert found[task_name(pmq)] == Cost(passes(pmq, config, SIZES) * 5e-4, PRETRAINING)
    for cell in work.cells:
        assert found[task_name(cell)] == Cost(cell_seconds(cell, config, SIZES, 1e-3), cell.evaluation, 3)
    cells = sum(found[task_name(cell)].seconds for cell in work.cells)
    assert summed(work, seconds, MACHINE)[1] == pytest.approx(cells / 3)


@pytest.mark.parametrize("probe", ["linear", "knn"])
@pytest.mark.parametrize(("protocol", "probes"), [("paper", {"random": 4.0, "pmq": 2.0}), ("strict", 4.0)])
def test_a_probe_whose_outcome_another_cell_has_is_counted_once(
    small_config: Callable[..., Config], protocol: str, probes: dict[str, float] | float, probe: str
) -> None:
    """Two ratios and two seeds: the untrained encoder is another for each seed, the pretrained one is the same."""
    evaluate = ["finetune", probe]
    config = small_config({"gates": [], "evaluate": evaluate, "ratios": [0.5, 0.1], "seeds": [41, 42]})
    mode = {"device": "cpu", "precision": "float32"}
    cells = expand(config, corpus="corpus", fingerprints={"chapman": "data"}, mode=mode).cells
    seconds = equal_probes_once(lambda task: 1.0, cells, protocol)
    for variant in ("random", "pmq"):
        own = [cell for cell in cells if cell.variant.name == variant]
        assert sum(seconds(cell) for cell in own if cell.evaluation == "finetune") == 4.0
        expected = probes if isinstance(probes, float) else probes[variant]
        assert sum(seconds(cell) for cell in own if cell.evaluation == probe) == expected


def test_stored_results_of_the_grid_tell_the_pace_of_their_kind(
    work: Work, seconds: costs_module.Seconds, tmp_path: Path
) -> None:
    store = Store(tmp_path / "runs")
    assert earlier_rates(work, seconds, store) == {}
    done = [cell for cell in work.cells if cell.evaluation == "finetune"][:2]
    for cell in done:
        finish(cell, store, 3 * seconds(cell))
    _, pmq = work.pretrainings
    card = {"key": pmq.key, "key_content": pmq.content, "method": "pmq", "seed": 42, "seconds": 2 * seconds(pmq)}
    write_atomic(store.pretrained / pmq.key / CARD, card_bytes(card))
    left = replace(missing(work.grid, store), pretrainings=work.pretrainings[:1])
    assert earlier_rates(left, seconds, store) == pytest.approx({"finetune": 3.0, PRETRAINING: 2.0})


def test_timing_a_pass_leaves_the_draws_of_a_run_as_they_are(config: Config, tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(4)
    torch.manual_seed(5)
    seconds_of(config, tmp_path / "speed.json", MACHINE, SIZES, concurrent=2)
    assert torch.equal(torch.rand(4), expected)
