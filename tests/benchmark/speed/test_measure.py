"""What `speed` measures and says; no time is asserted, since a test must not depend on the machine's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.config import Config, load_config
from benchmark.dry_run import unkeyed_grid
from benchmark.estimate import Size, passes
from benchmark.runner import Machine
from benchmark.speed import measure as module
from benchmark.speed.measure import Effort, PreparationSpeed, Speed, StepSpeed, executed, measure_speed, save_speed
from benchmark.speed.report import grid_seconds, hours_line, speed_lines
from benchmark.speed.steps import Setting, training_job
from benchmark.speed.timing import Ratio
from methods.parts.encoder import EncoderConfig
from methods.pmq import PMQConfig

MACHINE = Machine(torch.device("cpu"), "float32", jobs=2)
TINY = Effort("tiny", 1, 4, 8, 4, 2, (8, 16), (2, 4), False)
SMALL = {"encoder.hidden": 4, "encoder.depth": 2, "encoder.output": 6}


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config("demo", SMALL | {"compare": ["random", "pmq", "clocs", "comet"], "seeds": [1, 2]})


@pytest.fixture(scope="module")
def measured(config: Config) -> Speed:
    return measure_speed(config, MACHINE, TINY)


def known(**per_update: float) -> Speed:
    """Speeds that are easy to reckon with: 2 windows in a fine-tuning update of 6 s, so that a pass takes a second."""
    ratio, gib = Ratio(2.0, 1.5, 3.0), {"ours": 0.5, "plain": None}
    steps = [
        StepSpeed(name, 4, {"ours float32": s, "plain float32": 2 * s}, {"float32": ratio}, {"ours": 1e9}, gib)
        for name, s in per_update.items()
    ]
    finetuning = StepSpeed("fine-tuning", 2, {"ours float32": 6.0}, {}, {"ours": 1e9}, {})
    preparation = PreparationSpeed(0.08, 0.02, 0.01, Ratio(4.0, 3.0, 5.0))
    device = {"type": "cpu", "name": "x", "threads": 1}
    return Speed("tiny", 1, "float32", device, {"float32": 2e9}, tuple(steps), finetuning, (), (), preparation)


def test_every_method_that_trains_is_measured_with_its_plain_form(measured: Speed) -> None:
    assert [step.name for step in measured.steps] == ["pmq", "clocs", "comet"]
    for step in (*measured.steps, measured.finetuning):
        assert set(step.seconds) == {"ours float32", "plain float32"}
        assert all(seconds > 0 for seconds in step.seconds.values())
        assert set(step.ratios) == {"float32", "best"}
        assert step.flop["plain"] > 0


def test_sizes_grow_as_they_were_asked_to(measured: Speed) -> None:
    assert [(g.batch, g.queue) for g in measured.queue_growth] == [(2, 8), (2, 16)]
    assert [(g.batch, g.queue) for g in measured.batch_growth] == [(2, 8), (4, 8)]


def test_the_same_values_come_as_json(measured: Speed, tmp_path: Path) -> None:
    save_speed(measured, tmp_path / "speed.json")
    read = json.loads((tmp_path / "speed.json").read_text())
    assert read["steps"][0]["name"] == "pmq"
    assert read["versions"]["torch"] == torch.__version__
    assert read["effort"] == "tiny"


def test_a_method_without_a_plain_form_is_measured_alone(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAIN", {})
    base = module.base_setting(config, MACHINE.device, TINY)
    (setting, *_) = module.method_settings(config, base, TINY)
    found = module.step_speed(setting, ["float32"], TINY)
    assert set(found.seconds) == {"ours float32"}
    assert found.ratios == {}


def test_a_queue_holds_whole_batches(config: Config) -> None:
    odd = load_config("demo", SMALL | {"compare": ["pmq"], "methods.pmq.queue_size": 7})
    base = module.base_setting(odd, MACHINE.device, TINY)
    (setting,) = module.method_settings(odd, base, TINY)
    assert isinstance(setting.config, PMQConfig)
    assert setting.config.queue_size == 4


def test_shortcuts_leave_fewer_operations_to_execute(config: Config) -> None:
    base = module.base_setting(config, MACHINE.device, TINY)
    deep = replace(base, encoder=EncoderConfig(hidden=4, depth=7, output=6), samples=40)
    (pmq, *_) = module.method_settings(config, deep, TINY)
    ours, plain = (executed(training_job(replace(pmq, plain=side))) for side in (False, True))
    assert ours < plain


def test_operations_are_counted_by_hand(config: Config) -> None:
    matrix = torch.randn(3, 5)
    assert executed(lambda: matrix @ matrix.T) == 2 * 3 * 5 * 3


def test_the_table_says_what_was_measured_and_how_noisily() -> None:
    text = "\n".join(speed_lines(known(pmq=2.0)))
    assert "speed (tiny) on cpu x, 1 threads" in text
    line = next(line for line in text.splitlines() if line.startswith("  pmq "))
    assert line.split() == ["pmq", "4", "2", "2000.0", "4000.0", "2.00", "[1.50-3.00]", "-", "-", "0", "0.50", "-"]
    assert "50 recordings per core-second, plain 12, ratio 4.00 [3.00-5.00]; with the peak finder alone" in text


def test_hours_follow_from_windows_epochs_and_the_time_of_an_update(config: Config) -> None:
    sizes = {name: Size(10, 80, exact=False) for name in (config.data.pretrain, *config.data.datasets)}
    grid = unkeyed_grid(config, MACHINE)
    pretraining, cells = grid_seconds(config, grid.cells, sizes, known(pmq=2.0), jobs=2)
    assert pretraining == 0
    assert cells == pytest.approx(sum(passes(cell, config, sizes) for cell in grid.cells) / 2)
    (pmq,) = (task for task in grid.pretrainings if task.method.name == "pmq")
    pretraining, _ = grid_seconds(config, [pmq], sizes, known(pmq=2.0), jobs=2)
    assert pretraining == pytest.approx(config.pretrain.epochs * 40 * 2.0 / 4)
    pretraining, _ = grid_seconds(config, [pmq], sizes, known(), jobs=2)  # not measured: from its encoder passes
    assert pretraining == pytest.approx(passes(pmq, config, sizes))
    assert hours_line(config, [pmq], sizes, known(pmq=2.0), 2).startswith("the grid of demo at this speed: pretraining")


def test_a_setting_is_plain_data_that_a_process_can_be_given(config: Config) -> None:
    import pickle

    setting: Setting = module.base_setting(config, MACHINE.device, TINY)
    assert pickle.loads(pickle.dumps(setting)) == setting
