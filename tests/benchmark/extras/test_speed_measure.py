"""What `speed` measures and says; no time is asserted, since a test must not depend on the machine's."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import torch

from benchmark.config.config import Config
from benchmark.config.load import load_config
from benchmark.extras import speed as module
from benchmark.extras.speed import (
    INSTALL_NEUROKIT2,
    Effort,
    Setting,
    Speed,
    executed,
    measure_speed,
    preparation_line,
    print_speed,
    training_job,
)
from benchmark.machine.device import Machine
from benchmark.screen import open_console
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.resnet1d import ResNet1d
from methods.pmq import PMQConfig
from tests.basic import BASIC

MACHINE = Machine(torch.device("cpu"), "float32", jobs=2)
TINY = Effort("tiny", 1, 4, 8, 4, 2, (8, 16), (2, 4), False)
SMALL = {"encoder.hidden": 4, "encoder.depth": 2, "encoder.output": 6}


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(BASIC, SMALL | {"methods": ["random", "pmq", "clocs", "comet"], "seeds": [1, 2]})


@pytest.fixture(scope="module", autouse=True)
def two_encoders() -> Iterator[None]:
    """The suite's other encoders at full size take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ENCODERS", {"dilated": Dilated, "resnet1d": ResNet1d})
        yield


@pytest.fixture(scope="module")
def measured(config: Config) -> Speed:
    return measure_speed(config, MACHINE, TINY)


def test_every_method_that_trains_is_measured_with_its_plain_form(measured: Speed) -> None:
    assert [step.name for step in measured.steps] == ["pmq", "clocs", "comet"]
    for step in (*measured.steps, measured.finetuning):
        assert set(step.seconds) == {"ours float32", "plain float32"}
        assert all(seconds > 0 for seconds in step.seconds.values())
        assert set(step.ratios) == {"float32", "best"}
        assert step.flop["plain"] > 0


def test_without_neurokit2_all_else_is_measured_and_one_line_says_what_to_install(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "neurokit2", None)  # an import of it now fails
    found = measure_speed(config, MACHINE, TINY)
    assert [step.name for step in found.steps] == ["pmq", "clocs", "comet"]
    assert found.preparation.ours > 0
    assert (found.preparation.plain, found.preparation.ratio) == (None, None)
    line = preparation_line(found.preparation)
    assert line.endswith("its plain form needs neurokit2: pip install neurokit2==0.2.13")


def test_what_to_install_is_what_the_test_extra_pins() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert INSTALL_NEUROKIT2.removeprefix("pip install ") in project["optional-dependencies"]["test"]
    assert not [name for name in project["dependencies"] if name.startswith("neurokit2")]


def test_every_encoder_is_timed_and_those_of_the_config_at_its_sizes(measured: Speed, config: Config) -> None:
    assert [step.name for step in measured.backbones] == ["dilated", "resnet1d"]
    assert all(step.seconds.keys() == {"ours float32"} and step.flop["ours"] > 0 for step in measured.backbones)
    assert measured.backbones[0].flop["ours"] < measured.backbones[1].flop["ours"] / 100
    both = load_config(BASIC, SMALL | {"encoders": [{"name": "vit1d"}, {"name": "s4", "length": 150}]})
    base = module.base_setting(both, MACHINE.device, TINY)
    found = {label: (own.encoder, own.batch) for label, own in module.backbones_of(both, base).items()}
    assert found == {name: (name, 4) for name in ("dilated", "vit1d", "s4", "resnet1d")}
    short = module.backbones_of(config, replace(base, samples=20))
    assert list(short) == ["dilated", "resnet1d"]
    shown = StringIO()
    print_speed(open_console(shown), measured)
    assert "fine-tuning by encoder, windows of 300 samples; ms: an update" in shown.getvalue()


def test_sizes_grow_as_they_were_asked_to(measured: Speed) -> None:
    assert [(g.batch, g.queue) for g in measured.queue_growth] == [(2, 8), (2, 16)]
    assert [(g.batch, g.queue) for g in measured.batch_growth] == [(2, 8), (4, 8)]


def test_a_method_without_a_plain_form_is_measured_alone(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAIN", {})
    base = module.base_setting(config, MACHINE.device, TINY)
    (setting, *_) = module.method_settings(config, base, TINY)
    found = module.step_speed(setting, ["float32"], TINY)
    assert set(found.seconds) == {"ours float32"}
    assert found.ratios == {}


def test_an_encoder_without_a_plain_form_is_measured_alone_and_that_is_said() -> None:
    config = load_config(BASIC, {"methods": ["pmq"], "encoder.name": "resnet1d", "encoder.output": 4})
    found = measure_speed(config, MACHINE, TINY)
    assert found.encoder == {"name": "resnet1d", "leads": 12, "output": 4, "dropout": 0.0}
    for step in (*found.steps, found.finetuning):
        assert (set(step.seconds), step.ratios, set(step.flop)) == ({"ours float32"}, {}, {"ours"})
    shown = StringIO()
    print_speed(open_console(shown), found)
    assert "  the encoder resnet1d has no plain form to be measured against" in shown.getvalue().splitlines()


def test_a_queue_holds_whole_batches(config: Config) -> None:
    odd = load_config(BASIC, SMALL | {"methods": ["pmq"], "methods.pmq.queue_size": 7})
    base = module.base_setting(odd, MACHINE.device, TINY)
    (setting,) = module.method_settings(odd, base, TINY)
    assert isinstance(setting.config, PMQConfig)
    assert setting.config.queue_size == 4


def test_shortcuts_leave_fewer_operations_to_execute(config: Config) -> None:
    base = module.base_setting(config, MACHINE.device, TINY)
    deep = replace(base, size=DilatedConfig(hidden=4, depth=7, output=6), samples=40)
    (pmq, *_) = module.method_settings(config, deep, TINY)
    ours, plain = (executed(training_job(replace(pmq, plain=side))) for side in (False, True))
    assert ours < plain


def test_operations_are_counted_by_hand(config: Config) -> None:
    matrix = torch.randn(3, 5)
    assert executed(lambda: matrix @ matrix.T) == 2 * 3 * 5 * 3


def test_a_setting_is_plain_data_that_a_process_can_be_given(config: Config) -> None:
    import pickle

    setting: Setting = module.base_setting(config, MACHINE.device, TINY)
    assert pickle.loads(pickle.dumps(setting)) == setting
