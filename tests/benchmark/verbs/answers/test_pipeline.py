"""An arm runs once through the suite, is found again, and a leak is refused unless it is allowed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.data.readers.base import DatasetError
from benchmark.verbs.answers import pipeline
from benchmark.verbs.answers.answer import Arm, cohorts
from benchmark.verbs.answers.pipeline import config_of, finished, key_of, run_arm
from benchmark.verbs.answers.plants import only_sinus, training_holds_the_test_part

TINY = Arm(
    {
        **cohorts(mimic=4, ptb_xl=40),
        "encoder": {"hidden": 4, "depth": 2, "output": 8},
        "pretrain.epochs": 1,
        "linear.strengths": [1.0],
        "seeds": [41],
    },
    allow_leak=False,
)


def test_a_key_holds_the_config_the_plants_and_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        key_of(TINY),
        key_of(replace(TINY, plants={"ptb-xl": only_sinus})),
        key_of(replace(TINY, plants={"ptb-xl": training_holds_the_test_part})),
        key_of(replace(TINY, allow_leak=True)),
        key_of(replace(TINY, overrides={**TINY.overrides, "seeds": [42]})),
    }
    assert len(keys) == 5
    monkeypatch.setattr(pipeline, "VERSIONS", (0,))
    assert key_of(TINY) not in keys


@pytest.mark.slow
def test_an_arm_runs_once_and_keeps_no_data(tmp_path: Path) -> None:
    assert finished(TINY, tmp_path) is None
    ran = run_arm(TINY, tmp_path)
    again = finished(TINY, tmp_path)
    assert again is not None
    assert (again.run.plan.key, again.leaks, again.seconds) == (ran.run.plan.key, (), ran.seconds)
    assert len(again.run.rows) == 1
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.slow
def test_a_leak_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    leaky = replace(TINY, plants={"ptb-xl": training_holds_the_test_part})
    with pytest.raises(DatasetError, match="patients are on two sides of the split of PTB-XL"):
        run_arm(leaky, tmp_path)
    ran = run_arm(replace(leaky, allow_leak=True), tmp_path)
    assert any("on two sides" in leak for leak in ran.leaks)
    assert ran.run.plan.warnings[0] == ran.leaks[0]


def test_the_encoder_and_its_training_are_those_that_the_page_names_whatever_the_demo_has() -> None:
    config = config_of(Arm(cohorts()))
    assert config.encoder == {"hidden": 16, "depth": 6, "output": 64}
    assert (config.pretrain.budget, config.method_config("pmq").recipe.lr, config.precision) == (
        "epochs",
        1e-3,
        "float32",
    )
