"""Counts and the time that is left, against sums done by hand."""

from __future__ import annotations

import pytest

from benchmark.screen.tally import Tally, duration


def test_nothing_is_estimated_before_anything_is_measured() -> None:
    tally = Tally({"a": 1.0, "b": 1.0})
    tally.running["a"] = 0.0
    assert tally.seconds_left(30.0) is None


def test_remaining_cost_times_seconds_per_cost() -> None:
    tally = Tally({"pretrain": 4.0, "first": 1.0, "second": 1.0, "third": 2.0})
    tally.finished.append("pretrain")
    assert tally.seconds_left(20.0) == pytest.approx(4.0 * 20.0 / 4.0)


def test_the_done_part_of_running_tasks_counts() -> None:
    tally = Tally({"pretrain": 4.0, "first": 1.0}, running={"pretrain": 0.25})
    assert tally.seconds_left(10.0) == pytest.approx(40.0)  # 1 of 5 units took 10 s, 4 lie ahead


def test_tasks_side_by_side_share_the_wall() -> None:
    tally = Tally({"a": 2.0, "b": 2.0, "c": 2.0}, running={"a": 0.5, "b": 0.5})
    assert tally.seconds_left(6.0) == pytest.approx(12.0)  # 2 of 6 units took 6 s together


def test_failed_tasks_lie_no_longer_ahead() -> None:
    tally = Tally({"a": 1.0, "b": 1.0, "c": 5.0}, finished=["a"], failed=["c"])
    assert tally.seconds_left(10.0) == pytest.approx(10.0)
    assert tally.counts() == "1 of 3 done, 1 left, 1 failed"


def test_a_finished_grid_has_nothing_left() -> None:
    tally = Tally({"a": 1.0}, finished=["a"])
    assert tally.seconds_left(10.0) == 0.0
    assert tally.counts() == "1 of 1 done, 0 left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3570, "1 h 0 min"), (12000, "3 h 20 min"), (187200, "2 d 4 h")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_no_time_is_told_by_a_task_that_costs_next_to_nothing() -> None:
    tally = Tally({"draw": 1.0, "train": 10_000.0}, finished=["draw"])
    assert tally.seconds_left(5.0) is None
    tally.running["train"] = 0.5
    assert tally.seconds_left(5.0) == pytest.approx(5.0, rel=1e-3)
