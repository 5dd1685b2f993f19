"""Scores by class: which classes of a test set have any."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from benchmark.results.rows import Predictions
from reports.runs.run import open_run
from reports.statistics.further.classes import _counts, class_tables
from reports.statistics.test_set import ResampledTestSet


@pytest.mark.parametrize(
    ("truth", "tested"),
    [([0, 1, 1], [True, True, False]), ([0, 1, 2], [True, True, True]), ([1, 1, 1], [False, False, False])],
)
def test_a_class_with_a_line_and_a_line_without_it_has_scores(
    truth: list[int], tested: list[bool], write_predictions: Callable[..., Path]
) -> None:
    probability = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.2, 0.8, 0.0]], np.float32)
    ids = np.array(["r1", "r2", "r3"])
    own = Predictions(probability, np.eye(3, dtype=np.int64)[truth], ids, ids)
    (table,) = class_tables(open_run(write_predictions({("m0", "ptb-xl", 0.1, 41): own})), ["heartbeat"])
    lines = np.eye(3, dtype=int)[truth].sum(axis=0).tolist()
    assert [(count.lines, count.patients, count.share) for count in table.counts] == [(n, n, n / 3) for n in lines]
    found = [table.scores["m0", count.name, "auroc"] for count in table.counts]
    assert [not math.isnan(own.mean) for own in found] == tested
    untested = "the class has not both signs in the test set"
    assert [own.remark == untested for own in found] == [not own for own in tested]


def test_a_test_set_without_lines_has_classes_of_none() -> None:
    empty = SimpleNamespace(truth=np.zeros((0, 2), np.int64), patient=np.zeros(0, np.int64))
    assert [tuple(vars(own).values()) for own in _counts(cast(ResampledTestSet, empty), ["NORM", "MI"])] == [
        ("NORM", 0, 0, 0.0),
        ("MI", 0, 0, 0.0),
    ]
