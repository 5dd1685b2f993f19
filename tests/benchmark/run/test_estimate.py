"""What a grid will cost, from sizes alone.

The file of a measurement: what is read is what was saved, or nothing; and whether it fits a machine and config.

What `speed` prints, and the hours of a grid that follow from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import torch

from benchmark.cli.dry_run import unkeyed_grid
from benchmark.config.config import Config, load_config
from benchmark.data.prepare import Prepared
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.splits import TaskSpec
from benchmark.data.task import make_task
from benchmark.extras.speed import gemm_flops, hours_line, in_turns, peak_growth, print_speed, ratio
from benchmark.machine.device import Machine, versions
from benchmark.run.estimate import (
    Ratio,
    Size,
    Speed,
    cell_seconds,
    disk_bytes,
    estimated_size,
    exact_size,
    grid_seconds,
    load_speed,
    passes,
    save_speed,
    seconds_per_pass,
)
from benchmark.run.grid import Grid, expand
from benchmark.screen import open_console
from benchmark.training.evaluations import TREE_SECONDS, TREE_WINDOW_SECONDS
from methods.encoders import identity
from methods.encoders.dilated import Dilated, DilatedConfig
from tests.basic import BASIC

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
    assert exact_size(chapman) == Size(len(chapman.entries), len(chapman.windows), exact=True, has_folds=False)
    estimated = estimated_size(len(chapman.entries), HEARTBEATS)
    assert not estimated.exact
    assert estimated.windows == pytest.approx(len(chapman.windows), rel=0.5)
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


def test_probes_of_one_encoder_share_its_pass_over_the_held_out_windows(small_config: SmallConfig) -> None:
    """Under `paper` all seeds have one encoder; under `strict` each has its own, which all its subsets share."""
    fitting = 0.8 * 500 * 0.5 * 2.5
    paper = small_config({"evaluate": ["linear", "finetune"], "ratios": [0.5, 0.1], "seeds": [1, 2, 3]})
    assert cost(paper, "linear") == pytest.approx(fitting + 100 / (3 * 2))
    strict = {"protocol": "strict", "validation_labels": "whole", "subsets": 4, "ratios": [0.5], "seeds": [1, 2, 3]}
    assert cost(small_config({"evaluate": ["linear"]} | strict), "linear") == pytest.approx(fitting + 100 / 4)
    assert cost(paper) == cost(small_config())  # an encoder that is trained on reads them itself


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


def test_each_part_of_a_cross_validation_costs_a_cell(cohorts: dict[str, Prepared], small_config: SmallConfig) -> None:
    assert exact_size(cohorts["ptb-xl"]).has_folds
    size = exact_size(cohorts["chapman"])
    assert not size.has_folds
    sizes = {"mimic-iv-ecg": Size(100, 1000, True), "chapman": size}
    once = small_config({"methods": ["pmq"], "protocol": "strict"})
    folded = small_config({"methods": ["pmq"], "protocol": "strict", "data.folds": 5})
    one, five = (passes(grid_of(config).cells[0], config, sizes) for config in (once, folded))
    assert five == pytest.approx(5 * one)


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


def test_minirocket_costs_by_windows_samples_and_penalties(small_config: SmallConfig) -> None:
    def seconds(**changes: object) -> float:
        config = small_config({"gates": ["minirocket"], "ratios": [0.5], **changes})
        own = next(cell for cell in grid_of(config).cells if cell.evaluation == "minirocket")
        return cell_seconds(own, config, SIZES, a_pass=1e9)

    assert 0.5 < seconds() < 30
    assert seconds(ratios=[1.0]) > seconds() > seconds(**{"minirocket.features": 84})
    assert seconds(**{"minirocket.penalties": [1.0]}) < seconds()
    assert seconds(**{"data.rate": 100}) < seconds() / 2


def test_the_later_evaluations_cost_what_they_read_and_train(small_config: SmallConfig) -> None:
    config = small_config({"evaluate": ["knn"], "gates": ["supervised"], "supervised.epochs": 3})
    assert cost(config, "knn") == pytest.approx(1.1 * (200 + 100))
    assert cost(config, "supervised", 1.0) == pytest.approx(3 * 3 * 400 + 100)


DEVICE = {"type": "cpu", "name": "x", "threads": 1}


def test_what_is_read_is_what_was_saved(known_speed: Callable[..., Speed], tmp_path: Path) -> None:
    speed = known_speed(pmq=2.0, comet=8.0)
    save_speed(speed, tmp_path / "speed.json")
    assert load_speed(tmp_path / "speed.json") == speed
    read = json.loads((tmp_path / "speed.json").read_text())
    assert read["steps"][0]["name"] == "pmq"
    assert read["versions"] == versions()


@pytest.mark.parametrize("content", ["", "{}", '{"effort": "full"', "[1, 2]"])
def test_a_damaged_file_is_no_measurement(content: str, tmp_path: Path) -> None:
    (tmp_path / "speed.json").write_text(content)
    assert load_speed(tmp_path / "speed.json") is None
    assert load_speed(tmp_path / "absent.json") is None


def test_what_does_not_fit_is_named(known_speed: Callable[..., Speed]) -> None:
    speed, encoder = known_speed(), identity(Dilated, DilatedConfig())
    assert speed.misfit(encoder, 300, DEVICE, "float32") == ""
    assert speed.misfit(encoder, 250, DEVICE | {"threads": 2}, "float32") == "device and windows"
    assert speed.misfit(identity(Dilated, DilatedConfig(hidden=8)), 300, DEVICE, "bf16") == "precision and encoder"


MACHINE = Machine(torch.device("cpu"), "float32", jobs=2)
SMALL = {"encoder.hidden": 4, "encoder.depth": 2, "encoder.output": 6}


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(BASIC, SMALL | {"methods": ["random", "pmq"], "seeds": [1, 2]})


def shown(speed: Speed) -> str:
    out = StringIO()
    print_speed(open_console(out, width=140), speed)
    return out.getvalue()


def test_the_table_says_what_was_measured_and_how_noisily(known_speed: Callable[..., Speed]) -> None:
    text = shown(known_speed(pmq=2.0))
    assert "speed (tiny) on cpu x, 1 threads" in text
    line = next(line for line in text.splitlines() if line.startswith("pmq "))
    assert line.split() == ["pmq", "4", "2", "2000.0", "4000.0", "2.00", "[1.50-3.00]", "-", "-", "0", "0.50", "-"]
    assert "50 recordings per core-second, plain 12, ratio 4.00 [3.00-5.00]" in text


def test_hours_follow_from_windows_epochs_and_the_time_of_an_update(
    config: Config, known_speed: Callable[..., Speed]
) -> None:
    sizes = {name: Size(10, 80, exact=False) for name in (config.data.pretrain, *config.data.datasets)}
    grid = unkeyed_grid(config, MACHINE)
    pretraining, cells = grid_seconds(config, grid.cells, sizes, known_speed(pmq=2.0), jobs=2)
    assert pretraining == 0
    assert cells == pytest.approx(sum(cell_seconds(cell, config, sizes, a_pass=1.0) for cell in grid.cells) / 2)
    (pmq,) = (task for task in grid.pretrainings if task.method.name == "pmq")
    pretraining, _ = grid_seconds(config, [pmq], sizes, known_speed(pmq=2.0), jobs=2)
    assert pretraining == pytest.approx(config.pretrain.epochs * 40 * 2.0 / 4)
    pretraining, _ = grid_seconds(config, [pmq], sizes, known_speed(), jobs=2)  # not measured: from its encoder passes
    assert pretraining == pytest.approx(passes(pmq, config, sizes))
    assert hours_line(config, [pmq], sizes, known_speed(pmq=2.0), 2).startswith(
        "the grid of basic at this speed: pretraining"
    )


def test_rows_on_a_further_encoder_take_as_much_longer_as_its_fine_tuning(
    config: Config, known_speed: Callable[..., Speed]
) -> None:
    speed = known_speed(pmq=2.0)
    backbones = tuple(
        replace(speed.finetuning, name=name, batch=batch, seconds={f"ours {speed.precision}": seconds})
        for name, batch, seconds in (("dilated", 4, 2.0), ("resnet1d", 2, 3.0))
    )
    both = config.model_copy(update={"encoders": [{"name": "resnet1d", "output": 8}]})
    sizes = {name: Size(10, 80, exact=False) for name in (config.data.pretrain, *config.data.datasets)}
    tasks = {task.variant.name: task for task in unkeyed_grid(both, MACHINE).pretrainings}
    known = replace(speed, backbones=backbones)
    first, further = (grid_seconds(both, [tasks[name]], sizes, known, 1)[0] for name in ("pmq", "pmq+resnet1d"))
    assert further == pytest.approx(3 * first)
    assert grid_seconds(both, [tasks["pmq+resnet1d"]], sizes, speed, 1)[0] == first


CPU = torch.device("cpu")
MIB = 2**20


def test_jobs_take_turns_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []
    ticks = iter(range(100))
    seconds = in_turns({name: lambda name=name: order.append(name) for name in "ab"}, 2, CPU, lambda: next(ticks))
    assert "".join(order) == "ababab"
    assert {name: len(times) for name, times in seconds.items()} == {"a": 2, "b": 2}


def test_the_clock_is_read_around_each_job() -> None:
    now = [0.0]

    def slow() -> None:
        now[0] += 3.0

    assert in_turns({"slow": slow}, 2, CPU, lambda: now[0]) == {"slow": [3.0, 3.0]}


def test_a_ratio_is_taken_round_by_round() -> None:
    # A round in which the whole machine was ten times slower does not show.
    assert ratio([2.0, 30.0, 4.0], [1.0, 10.0, 1.0]) == Ratio(median=3.0, lowest=2.0, highest=4.0)
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0], [1.0])


def test_a_matrix_product_is_counted_as_multiplications_and_additions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.extras.speed.GEMM_SIZE", {"cpu": 10})
    monkeypatch.setattr("benchmark.extras.speed.in_turns", lambda jobs, rounds, device: {"gemm": [0.5, 2.0, 1.0]})
    assert gemm_flops(CPU, "float32") == 2000.0


def holding(mebibytes: int) -> Callable[[], object]:
    ready = torch.ones(20 * MIB)  # 80 MiB before the job begins, which are not counted
    return lambda: (torch.ones(mebibytes * MIB, dtype=torch.uint8), ready)


@pytest.mark.slow
def test_the_growth_of_the_peak_is_what_the_job_held() -> None:
    torch.ones(400 * MIB, dtype=torch.uint8)  # of this process, and not of the one that is measured
    assert 195 <= 1024 * peak_growth(holding, (200,), CPU) <= 240


def test_further_test_patients_are_tested_alone_and_a_share_of_the_validation_part_is_read(
    small_config: SmallConfig,
) -> None:
    every = {"evaluate": ["linear"], "protocol": "strict"}
    patients = small_config().data.simulation.sizes()["chapman"]  # type: ignore[union-attr]
    config = small_config(every | {"data.simulation.test_patients": {"chapman": patients}})  # half of the windows
    assert cost(config, "linear") == pytest.approx(0.8 * 250 * 0.5 * 2.5 + (0.1 * 250 * 0.5 + 0.1 * 250 + 250) / 5)
    whole = small_config(every | {"validation_labels": "whole"})
    assert cost(whole, "linear") == pytest.approx(0.8 * 500 * 0.5 * 2.5 + (50 + 50) / 5)
