"""What a grid will cost, from sizes alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation, plain_seconds
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.task import make_task
from benchmark.run.estimate import (
    TREE_SECONDS,
    TREE_WINDOW_SECONDS,
    Size,
    cell_seconds,
    disk_bytes,
    estimated_size,
    exact_size,
    passes,
    seconds_per_pass,
)
from benchmark.run.grid.cells import Grid
from benchmark.run.grid.expand import expand
from methods.encoders.dilated import Dilated, DilatedConfig

SmallConfig = Callable[..., Config]
SIZES = {"mimic-iv-ecg": Size(100, 1000, True), "chapman": Size(50, 500, True)}
MODE = {"device": "cpu", "precision": "float32"}


def grid_of(config: Config) -> Grid:
    return expand(config, corpus="corpus", fingerprints={"chapman": "chapman"}, mode=MODE)


def cost(config: Config, evaluation: str = "finetune", ratio: float = 0.5) -> float:
    cell = next(c for c in grid_of(config).cells if (c.evaluation, c.ratio) == (evaluation, ratio))
    return passes(cell, config, SIZES)


def test_a_prepared_dataset_is_counted_and_another_estimated(cohorts: dict[str, Prepared]) -> None:
    chapman = cohorts["chapman"]
    assert exact_size(chapman) == Size(len(chapman.entries), len(chapman.windows), exact=True)
    estimated = estimated_size(len(chapman.entries), HEARTBEATS)
    assert not estimated.exact
    assert estimated.windows == pytest.approx(len(chapman.windows), rel=0.5)
    assert estimated_size(10, plain_seconds(2.5)).windows == 40
    assert estimated_size(10, Segmentation("recordings", 250, 100, 125)).windows == 70
    assert estimated_size(10, Segmentation("recordings", 5000, 500, 2500)).windows == 10


def test_of_whole_recordings_an_epoch_has_one_crop_each(small_config: SmallConfig) -> None:
    config = small_config({"methods": ["moco"], "data.segmentation": "recordings", "data.window_seconds": 2.5})
    assert cost(config) == pytest.approx(2 * (3 * 0.8 * 50 * 0.5 + 50) + 50)
    (pretraining,) = grid_of(config).pretrainings
    per_pair = pretraining.variant.method.encoder_passes
    assert passes(pretraining, config, SIZES) == per_pair * 2 * 100 * 2  # 2 epochs of 2 pairs of each recording
    kept = 150 * 10 * 250 * 24  # bytes: 150 recordings of 10 s
    assert disk_bytes(config, SIZES, 0, 0, 0) == kept


def test_pretraining_costs_by_epoch_and_window_and_drawing_next_to_nothing(small_config: SmallConfig) -> None:
    config = small_config()
    random, pmq = grid_of(config).pretrainings
    assert passes(random, config, SIZES) == 1.0
    per_pair = pmq.variant.method.encoder_passes
    assert passes(pmq, config, SIZES) == per_pair * 2 * 500  # 2 epochs of 500 pairs
    longer = small_config({"pretrain.epochs": 20})
    assert passes(pmq, longer, SIZES) == 10 * passes(pmq, config, SIZES)


def test_a_cell_costs_its_labelled_windows_three_times_and_the_held_out_ones_once(small_config: SmallConfig) -> None:
    labelled, validation, test = 0.8 * 500 * 0.5, 50, 50
    assert cost(small_config()) == pytest.approx(2 * (3 * labelled + validation) + test)
    both = small_config({"evaluate": ["finetune", "linear"], "ratios": [0.5, 0.1], "finetune.epochs": 50})
    assert cost(both, "linear") < cost(both)
    assert cost(both, ratio=0.1) < cost(both)
    assert cost(both, "linear", ratio=0.1) < cost(both, "linear")


def test_estimates_are_near_the_windows_of_the_task(cohorts: dict[str, Prepared], small_config: SmallConfig) -> None:
    config, device = small_config({"methods": ["pmq"]}), torch.device("cpu")
    sizes = {name: exact_size(cohorts[name]) for name in ("mimic-iv-ecg", "chapman")}
    task = make_task(cohorts["chapman"], TaskSpec(6, "single", "paper"), ratio=0.5, seed=1, device=device)
    grid = grid_of(config)
    cell = 2 * (3 * len(task.train) + len(task.validation)) + len(task.test)
    assert 0.5 < passes(grid.cells[0], config, sizes) / cell < 2
    trials = len(cohorts["mimic-iv-ecg"].windows) // 10
    per_pair = grid.pretrainings[0].variant.method.encoder_passes
    assert 0.5 < passes(grid.pretrainings[0], config, sizes) / (per_pair * 2 * 5 * trials) < 2


def test_a_larger_encoder_is_measured_to_be_slower() -> None:
    device = torch.device("cpu")
    small, large = (
        seconds_per_pass(Dilated(DilatedConfig(hidden=n, depth=2, output=n)), 300, device, "float32", threads=1)
        for n in (4, 64)
    )
    assert 0 < small < large < 1


def test_disk_grows_with_beats_encoders_and_cells(small_config: SmallConfig) -> None:
    config = small_config()
    base = disk_bytes(config, SIZES, 1, 10, 1000)
    assert base > 2 * 1500 * 300 * 12 * 2  # heartbeats and pseudo-trials in float16
    assert disk_bytes(config, SIZES | {"chapman": Size(50, 5000, True)}, 1, 10, 1000) > base
    assert disk_bytes(config, SIZES, 2, 10, 1000) == base + 4000
    assert disk_bytes(config, SIZES, 1, 20, 1000) > base


def test_boosting_costs_by_trees_and_windows_whatever_the_encoder(small_config: SmallConfig) -> None:
    config = small_config({"gates": ["features", "full-labels"], "ratios": [0.5]})
    small, whole = {cell.ratio: cell for cell in grid_of(config).cells if cell.evaluation == "features"}.values()
    a_tree = [TREE_SECONDS + TREE_WINDOW_SECONDS * labelled for labelled in (200, 400)]
    for patience, iterations in ((20, 50), (40, 100), (61, 150), (150, 150)):
        boosting = config.boosting.model_copy(update={"patience": patience})
        patient = config.model_copy(update={"boosting": boosting})
        trees = iterations * len(boosting.leaf_windows) * 4
        per_tree = [cell_seconds(cell, patient, SIZES, a_pass=1e9) / trees for cell in (small, whole)]
        assert per_tree == pytest.approx(a_tree)
    assert cell_seconds(grid_of(config).cells[0], config, SIZES, a_pass=2.0) == 2 * cost(config)


def test_the_later_evaluations_cost_what_they_read_and_train(small_config: SmallConfig) -> None:
    every = {"evaluate": ["linear-fix", "knn", "few-shot"], "gates": ["supervised"], "few_shot.shots": [2, 1000]}
    config = small_config({**every, "supervised.epochs": 3})
    assert cost(config, "linear-fix") == pytest.approx(200 * 13 + 100)
    assert cost(config, "knn") == pytest.approx(1.1 * (200 + 100))
    assert cost(config, "supervised", 1.0) == pytest.approx(3 * 3 * 400 + 50)
    classes = len(config.data.source("chapman").classes)
    assert cost(config, "few-shot", 2.0) == pytest.approx(2 * classes * 10 * 2.5 + 100)  # 10 windows a patient
    assert cost(config, "few-shot", 1000.0) == pytest.approx(400 * 2.5 + 100)  # all there are
