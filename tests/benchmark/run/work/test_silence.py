"""A claim that is no longer renewed is told by the clock of its own file system, and nothing is taken over by it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from benchmark.machine.process import this_process
from benchmark.run.work.claims import Claims
from benchmark.run.work.silence import MISSED_SECONDS, seems_left, store_time


def test_the_time_is_that_of_the_file_system_and_leaves_no_file(tmp_path: Path) -> None:
    assert store_time(tmp_path / "none") is None
    assert abs((store_time(tmp_path) or 0) - time.time_ns()) < 10 * 10**9
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("host", "renewed", "left"), [("there", True, False), ("there", False, True), ("", False, False)]
)
def test_a_claim_of_another_host_seems_left_when_it_is_not_renewed(
    tmp_path: Path, host: str, renewed: bool, left: bool
) -> None:
    own = this_process()
    holder = Claims(tmp_path, process=own._replace(host=host or own.host))
    assert holder.take("a")
    if not renewed:
        then = time.time() - MISSED_SECONDS - 1
        os.utime(tmp_path / "a.json", (then, then))
    mine = Claims(tmp_path)
    assert seems_left("a", mine) == left
    assert not mine.take("a"), "it is not taken over by that"
    assert seems_left("free", mine)
