"""Counts and the time that is left, against sums done by hand."""

from __future__ import annotations

import pytest

from benchmark.screen.tally import Cost, Tally, duration, left


def costs(**tasks: float) -> dict[str, Cost]:
    return {name: Cost(seconds) for name, seconds in tasks.items()}


def test_nothing_is_estimated_before_anything_is_measured() -> None:
    tally = Tally(costs(a=1.0, b=1.0))
    tally.running["a"] = 0.0, 30.0
    assert tally.seconds_left() is None
    assert left(None) == "time left not known yet"


def test_what_is_expected_times_how_much_longer_it_takes() -> None:
    tally = Tally(costs(pretrain=4.0, first=1.0, second=1.0, third=2.0), finished={"pretrain": 20.0})
    assert tally.seconds_left() == pytest.approx((20.0, 20.0))


def test_the_done_part_of_running_tasks_counts() -> None:
    tally = Tally(costs(pretrain=4.0, first=1.0), running={"pretrain": (0.25, 10.0)})
    assert tally.seconds_left() == pytest.approx((40.0, 40.0))  # 1 expected second took 10, 4 lie ahead


def test_tasks_side_by_side_share_the_wall() -> None:
    tally = Tally({name: Cost(2.0, abreast=2) for name in "abc"}, running={"a": (0.5, 6.0), "b": (0.5, 6.0)})
    assert tally.seconds_left() == pytest.approx((12.0, 12.0))  # 4 expected seconds at 6 each, on two


def test_kinds_have_their_own_pace_and_one_that_is_not_known_makes_a_range() -> None:
    tasks = {"pretrain": Cost(10.0, "pretraining"), "tune": Cost(4.0, "finetune"), "again": Cost(6.0, "finetune")}
    tally = Tally(tasks | {"boost": Cost(8.0, "features")}, finished={"pretrain": 10.0})
    assert tally.seconds_left() == pytest.approx((9.0, 36.0))  # 18 expected seconds, half or twice
    tally.finished["tune"] = 16.0
    around = 4 ** (0.5 * 4 / (4 + 10))  # sqrt(1 * 4) for boosting, drawn to 1: the tasks were short
    assert tally.seconds_left() == pytest.approx((24.0 + 8.0 * around / 2, 24.0 + 8.0 * around * 2))
    assert left(tally.seconds_left()) == "29 s to 44 s left"
    known = Tally(tally.costs, {"features": 0.5}, tally.finished)
    assert left(known.seconds_left()) == "about 28 s left"
    known.finished["boost"] = 80.0  # what is measured now goes before what was measured earlier
    assert known.seconds_left() == pytest.approx((24.0, 24.0))


def test_long_tasks_of_one_kind_tell_what_another_kind_takes() -> None:
    costs = {"pretrain": Cost(6e6, "pretraining"), "tune": Cost(100.0, "finetune")}
    tally = Tally(costs, finished={"pretrain": 24e6})
    assert tally.seconds_left() == pytest.approx((200.0, 800.0), rel=1e-3)


def test_failed_tasks_lie_no_longer_ahead() -> None:
    tally = Tally(costs(a=1.0, b=1.0, c=5.0), finished={"a": 10.0}, failed=["c"])
    assert tally.seconds_left() == pytest.approx((10.0, 10.0))
    assert tally.through() == 6.0
    assert tally.counts() == "1 of 3 done, 1 left, 1 failed"


def test_other_runners_go_on_doing_their_share() -> None:
    tally = Tally(costs(a=1.0, b=1.0, c=4.0), finished={"a": 10.0}, elsewhere=["b"])
    assert tally.seconds_left() == pytest.approx((20.0, 20.0))


def test_a_finished_grid_has_nothing_left() -> None:
    tally = Tally(costs(a=1.0), finished={"a": 10.0})
    assert left(tally.seconds_left()) == "about 0 s left"
    assert tally.counts() == "1 of 1 done, 0 left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3570, "1 h 0 min"), (12000, "3 h 20 min"), (187200, "2 d 4 h")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_no_time_is_told_by_a_task_that_costs_next_to_nothing() -> None:
    tally = Tally(costs(draw=1.0, train=10_000.0), finished={"draw": 5.0})
    assert tally.seconds_left() is None
    tally.running["train"] = 0.5, 5.0
    assert tally.seconds_left() == pytest.approx((10.0, 10.0), rel=1e-3)
