"""Event files, read back with TensorBoard's own reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.trackers import TensorBoard, open_trackers

pytest.importorskip("tensorboard", reason="the extra [tensorboard] is not installed")
KEY = "0123456789abcdef"


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Tag -> (step, value), as TensorBoard shows them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder)).Reload()
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_points_come_back_with_their_steps(tmp_path: Path) -> None:
    tracker = TensorBoard(tmp_path)
    assert tracker.last(KEY) == -1
    log = tracker.start("pmq:w/o mask_t pretrain seed 42", KEY, {"recipe": {"lr": 0.5}})
    log.log(0, {"health/effective_rank": 9.0})
    log.log(10, {"pretraining/loss": 2.5, "pretraining/learning_rate": 0.125})
    (folder,) = tmp_path.iterdir()
    assert folder.name == f"pmq-w-o-mask_t-pretrain-seed-42.{KEY}"
    assert TensorBoard(tmp_path).last(KEY) == 10  # before it is finished: a live curve can be read
    log.finish()
    assert scalars(folder) == {
        "health/effective_rank": [(0, 9.0)],
        "pretraining/loss": [(10, 2.5)],
        "pretraining/learning_rate": [(10, 0.125)],
    }
    assert json.loads((folder / "config.json").read_text()) == {"recipe": {"lr": 0.5}}


def test_a_curve_goes_on_in_its_folder_after_a_cut(tmp_path: Path) -> None:
    first = TensorBoard(tmp_path).start("pmq", KEY, {})
    for step in (10, 20):
        first.log(step, {"loss": float(step)})
    first.finish()
    (file,) = tmp_path.rglob("*tfevents*")
    file.write_bytes(file.read_bytes()[:-5])  # as a killed process leaves it
    tracker = TensorBoard(tmp_path)
    assert tracker.last(KEY) == 10
    again = tracker.start("another name", KEY, {})
    for step in (20, 30):
        again.log(step, {"loss": float(step)})
    again.finish()
    (folder,) = tmp_path.iterdir()
    assert scalars(folder) == {"loss": [(10, 10.0), (20, 20.0), (30, 30.0)]}


def test_it_is_opened_by_name_in_a_folder_of_its_own(tmp_path: Path) -> None:
    (tracker,) = open_trackers(["tensorboard", "tensorboard"], tmp_path)
    tracker.start("pmq", KEY, {}).finish()
    assert [path.name for path in tmp_path.iterdir()] == ["tensorboard"]
