"""What a grid will cost, from sizes alone."""

from __future__ import annotations

import torch

from benchmark.run.estimate import (
    Size,
    disk_bytes,
    updates_of,
)
from tests.benchmark.run.bench import SmallConfig, grid_of

SIZES = {"mimic-iv-ecg": Size(100, 1000), "chapman": Size(50, 500)}
CPU = torch.device("cpu")


def test_updates_are_those_of_the_budget(small_config: SmallConfig) -> None:
    config = small_config({"methods": ["pmq"], "sweeps": {"pmq": {"pretrain.epochs": [20]}}})
    short, long = grid_of(config).pretrainings
    assert updates_of(short, config, SIZES) == 2 * 500 / 8
    assert updates_of(long, config, SIZES) == 20 * 500 / 8
    crops = small_config({"methods": ["moco"], "data.segmentation": {"kind": "recordings", "seconds": 2.5}})
    assert updates_of(grid_of(crops).pretrainings[0], crops, SIZES) == 2 * 100 * 2 / 8


def test_disk_grows_with_beats_encoders_and_cells(small_config: SmallConfig) -> None:
    config = small_config()
    base = disk_bytes(config, SIZES, 1, 10, 1000)
    assert base > 2 * 1500 * 300 * 12 * 2  # heartbeats and pseudo-trials in float16
    assert disk_bytes(config, SIZES | {"chapman": Size(50, 5000)}, 1, 10, 1000) > base
    assert disk_bytes(config, SIZES, 2, 10, 1000) == base + 4000
    assert disk_bytes(config, SIZES, 1, 20, 1000) > base
    crops = small_config({"methods": ["moco"], "data.segmentation": {"kind": "recordings", "seconds": 2.5}})
    assert disk_bytes(crops, SIZES, 0, 0, 0) == 150 * 10 * 250 * 24  # 150 recordings of 10 s
