"""Every known answer has a config that is valid and a prediction; the fast ones come out."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmark.extras.answers import ANSWERS
from benchmark.extras.known_answers import config_of, key_of, outcome_of, run_arm

FAST = ("one-recording",)
"""Half a minute of one core. `known-answers` runs all of them."""


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_whole(name: str) -> None:
    answer = ANSWERS[name]
    assert answer.name == name
    assert answer.planted.endswith(".")
    assert answer.expected.endswith(".")
    assert len({key_of(arm) for arm in answer.arms.values()}) == len(answer.arms)
    for arm in answer.arms.values():
        simulation = config_of(arm).data.simulation
        assert simulation is not None
        assert set(arm.plants) <= set(simulation.patients)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_a_fast_answer_comes_out(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    for arm in ANSWERS[name].arms.values():
        run_arm(arm, tmp_path)
    outcome = outcome_of(ANSWERS[name], tmp_path)
    assert [finding for finding in outcome.findings if not finding.passed] == []
