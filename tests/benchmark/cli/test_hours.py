"""Cells are estimated by their windows, of which those of one encoder share features; each evaluation can be timed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from benchmark.cli import hours
from benchmark.cli.hours import Line, Seconds, cell_seconds, line_through, seconds_of_cells, windows_read
from benchmark.config.config import Config
from benchmark.machine import Machine
from benchmark.run.datasets import Size
from benchmark.run.grid import make_grid
from benchmark.run.tasks import Work

MACHINE = Machine(torch.device("cpu"), "float32", 1)


def test_cells_that_share_features_are_estimated_by_their_windows(
    small_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hours, "seconds_of_cells", lambda *cell: Seconds(Line(10.0, 1.0), Line(10.0, 0.5)))
    config = small_config({"ratios": [0.5, 0.1], "baselines": ["features"], "evaluate": ["finetune", "linear"]})
    grid = make_grid(config, {}, MACHINE)
    work = Work(grid, grid.pretrainings, grid.distinct_cells())
    tuned = [2 * 500 + 100, 2 * 100 + 100]  # two epochs
    probed = [500 + 100, 0.5 * (100 + 100)]  # the second takes features from the first
    boosted = [500 + 100, 0.5 * (100 + 100)]
    starts = 10 * 10
    expected = starts + sum([*tuned, *probed] * 2 + boosted)  # of two rows, and once
    assert cell_seconds(config, MACHINE, {"chapman": Size(10, 1000)}, work) == pytest.approx(expected)


@pytest.mark.parametrize(
    "evaluation", ["finetune", "attention", "linear", "knn", "retrieval", "supervised", "features"]
)
def test_an_evaluation_is_timed_on_noise(evaluation: str, small_config: Callable[..., Config]) -> None:
    baselines = [evaluation] if evaluation in ("supervised", "features") else []
    evaluate = list(dict.fromkeys(["linear", *([] if baselines else [evaluation])]))
    config = small_config({"baselines": baselines, "evaluate": evaluate, "boosting.iterations": 2})
    cell = next(cell for cell in make_grid(config, {}, MACHINE).cells if cell.evaluation == evaluation)
    assert min(line.window for line in seconds_of_cells(cell, config, MACHINE)) > 0


def test_a_line_goes_through_two_times_or_from_zero_where_more_windows_took_no_longer() -> None:
    assert line_through((100, 300), (3.0, 5.0)) == pytest.approx((2.0, 0.01))
    assert line_through((100, 300), (0.5, 3.0)) == pytest.approx((0.0, 0.0125))
    assert line_through((100, 300), (3.0, 3.0)) == pytest.approx((0.0, 0.01))


def test_an_epoch_takes_one_crop_of_each_recording_that_is_kept_whole(small_config: Callable[..., Config]) -> None:
    whole = {"data.segmentation": {"kind": "recordings", "seconds": 2.5, "stride": 2.5}, "evaluate": ["finetune"]}
    config = small_config({**whole, "ratios": [0.5], "baselines": []})
    cell = make_grid(config, {}, MACHINE).cells[0]
    assert windows_read(cell, config, Size(1000, 4000)) == 2 * 500 + 400  # two epochs
    assert windows_read(cell, config, Size(1000, 4000, parts=5)) == 5 * 2 * 500 + 4000
