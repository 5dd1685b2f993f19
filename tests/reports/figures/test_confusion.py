"""Confusion matrices by hand, per heartbeat and per recording, summed over seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.rows import Predictions
from reports.figures.confusion import Confusion, confusion, confusions
from reports.runs.run import open_run

WHERE = {"evaluation": "finetune", "dataset": "ptb-xl", "ratio": 0.1}


def predictions(decided: list[int], truth: list[int], recordings: list[str]) -> Predictions:
    sure = 0.5 * np.eye(3)[decided] + 0.1  # (n, 3)
    names = np.array(recordings)
    return Predictions(sure.astype(np.float32), np.eye(3, dtype=np.int64)[truth], names, names)


def test_heartbeats_are_counted_by_true_class_and_decision() -> None:
    found = confusion(predictions([0, 1, 1, 0], [0, 0, 1, 1], ["a", "a", "b", "b"]), "heartbeat")
    assert found.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


def test_a_recording_is_decided_by_its_mean_probability() -> None:
    own = predictions([0, 1, 1, 2, 2], [0, 0, 0, 2, 2], ["a", "a", "a", "b", "b"])
    assert confusion(own, "recording").tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_shares_are_of_the_true_class_and_undefined_without_one() -> None:
    shares = Confusion("pmq", 1, np.array([[3, 1], [0, 0]])).shares
    assert shares[0].tolist() == [75, 25]
    assert np.isnan(shares[1]).all()


def test_seeds_are_summed_and_rows_that_are_not_there_left_out(write_predictions: Callable[..., Path]) -> None:
    own = predictions([0, 1, 1, 0], [0, 0, 1, 1], ["a", "a", "b", "b"])
    root = write_predictions({("pmq", "ptb-xl", 0.1, seed): own for seed in (41, 42)})
    run = open_run(root)
    (found,) = confusions(run, ["moco", "pmq"], unit="heartbeat", **WHERE)
    assert (found.variant, found.seeds, found.counts[0].tolist()) == ("pmq", 2, [2, 2, 0])
    assert not confusions(run, ["pmq"], unit="heartbeat", **(WHERE | {"ratio": 0.3}))


def test_several_labels_have_no_confusion_matrix(write_predictions: Callable[..., Path]) -> None:
    own = predictions([0], [0], ["a"])
    root = write_predictions({("pmq", "ptb-xl", 0.1, 41): own})
    run = open_run(root)
    for row in run.rows.values():
        object.__setattr__(row, "labels", "multi")
    assert not confusions(run, ["pmq"], unit="heartbeat", **WHERE)


@pytest.mark.parametrize("unit", ["heartbeat", "recording"])
def test_an_empty_test_set_counts_nothing(unit: str) -> None:
    assert not confusion(predictions([], [], []), unit).any()
