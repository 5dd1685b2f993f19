"""Cells are estimated by their windows, of which those of one encoder share features; each evaluation can be timed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from benchmark.cli import hours
from benchmark.cli.hours import Seconds, cell_seconds, seconds_per_window
from benchmark.config.config import Config
from benchmark.machine import Machine
from benchmark.run.datasets import Size
from benchmark.run.grid import make_grid
from benchmark.run.tasks import Work

MACHINE = Machine(torch.device("cpu"), "float32", 1)


def test_cells_that_share_features_are_estimated_by_their_windows(
    small_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hours, "seconds_per_window", lambda *cell: Seconds(1.0, 0.5))
    config = small_config({"ratios": [0.5, 0.1], "baselines": ["features"], "evaluate": ["finetune", "linear"]})
    grid = make_grid(config, {}, MACHINE)
    work = Work(grid, grid.pretrainings, grid.distinct_cells())
    tuned = [2 * 500 + 100, 2 * 100 + 100]  # two epochs
    probed = [500 + 100, 0.5 * (100 + 100)]  # the second takes features from the first
    boosted = [500 + 100, 0.5 * (100 + 100)]
    expected = sum([*tuned, *probed] * 2 + boosted)  # of two rows, and once
    assert cell_seconds(config, MACHINE, {"chapman": Size(10, 1000)}, work) == pytest.approx(expected)


@pytest.mark.parametrize(
    "evaluation", ["finetune", "attention", "linear", "knn", "retrieval", "supervised", "features"]
)
def test_an_evaluation_is_timed_on_noise(evaluation: str, small_config: Callable[..., Config]) -> None:
    baselines = [evaluation] if evaluation in ("supervised", "features") else []
    evaluate = list(dict.fromkeys(["linear", *([] if baselines else [evaluation])]))
    config = small_config({"baselines": baselines, "evaluate": evaluate, "boosting.iterations": 2})
    cell = next(cell for cell in make_grid(config, {}, MACHINE).cells if cell.evaluation == evaluation)
    assert min(seconds_per_window(cell, config, MACHINE)) > 0
