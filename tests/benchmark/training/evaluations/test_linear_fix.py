"""FIX's probe as an evaluation: which windows it learns on, and that probabilities of single labels sum to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.subsets import drawn_by_recording
from benchmark.data.tasks.task import Task, drawn_by_protocol, sides_for_tasks
from benchmark.training.evaluations import linear_fix
from benchmark.training.evaluations.contract import Judged
from benchmark.training.evaluations.linear_fix import EVALUATION, OTHER_LABELS, summing_to_one
from benchmark.training.linear import Known, features
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.random_init import RandomInit


def test_rows_are_divided_by_their_sums_and_nothing_is_shared_out_evenly() -> None:
    found = summing_to_one(np.array([[0.2, 0.6], [0.0, 0.0], [1.0, 1.0]], np.float32))
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]])
    assert found.dtype == np.float32


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_windows_are_those_of_fix_under_paper_and_of_the_protocol_with_a_note_under_strict(
    protocol: Literal["paper", "strict"], cohorts: dict[str, Prepared]
) -> None:
    sides = sides_for_tasks(cohorts["chapman"], TaskSpec(6, "single", protocol), device=torch.device("cpu"))
    found = EVALUATION.draw(sides, 0.5, 41)
    own, notes = (drawn_by_recording, ()) if protocol == "paper" else (drawn_by_protocol, (OTHER_LABELS,))
    expected = own(sides, 0.5, 41)
    np.testing.assert_array_equal(found.windows, expected.windows)
    assert tuple(found.notes) == (*expected.notes, *notes)


@pytest.mark.parametrize("multi", [False, True])
def test_it_is_fixs_probe_on_the_frozen_features_and_tells_the_chosen_setting(
    multi: bool,
    make_task: Callable[..., Task],
    small_config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[np.ndarray] = []
    found = np.array([[0.2, 0.6, 0.0], [1.0, 0.5, 0.5], [0.0, 0.0, 0.0]], np.float32)

    def chosen(*own: np.ndarray) -> tuple[np.ndarray, tuple[bool, float, str]]:
        given.extend(own)
        return found, (False, 0.1, "balanced")

    monkeypatch.setattr(linear_fix, "probe", chosen)
    task = make_task([[0], [1], [2]] * 2, [[2], [1]], [[0], [1], [2]], multi=multi)
    torch.manual_seed(0)
    encoder = Dilated(DilatedConfig(hidden=8, depth=2, output=16))
    outcome = EVALUATION.run(Judged(encoder, task, small_config(), RandomInit, 41, "float32", Known()))
    train, validation, test = (features(encoder, side.signal, "float32") for side in task.sides().values())
    expected = train, task.train.target.numpy(), validation, task.validation.target.numpy(), test
    for own, wanted in zip(given, expected, strict=True):
        np.testing.assert_array_equal(own, wanted)
    np.testing.assert_array_equal(outcome.probability, found if multi else summing_to_one(found))
    told = {name: outcome.training[name] for name in ("C", "standardised", "class_weight")}
    assert told == {"C": 0.1, "standardised": False, "class_weight": "balanced"}


def test_the_grid_of_fix_is_what_a_key_holds(small_config: Callable[..., Config]) -> None:
    assert EVALUATION.settings(small_config({})) == {
        "standardised": [True, False],
        "strengths": [0.01, 0.1, 1.0, 10.0],
        "class_weights": [None, "balanced"],
        "iterations": 10_000,
    }
