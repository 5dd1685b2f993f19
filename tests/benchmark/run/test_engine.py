"""This process, and processes of this machine: a killed worker ends its pool and no more, and nothing stays."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import active_children

import pytest

from benchmark.run.engine import Inline, Pool, open_engine


def test_one_job_is_this_process_and_several_are_others() -> None:
    with open_engine("local", 1) as engine:
        assert isinstance(engine, Inline)
        assert engine.submit(os.getpid).result() == os.getpid()
        with pytest.raises(ZeroDivisionError):
            engine.submit(divmod, 1, 0)
    with open_engine("local", 2, ()) as engine:
        assert isinstance(engine, Pool)
        assert engine.width() == 2
    with open_engine("local", 1, ("3",)) as engine:
        assert isinstance(engine, Pool)


def die() -> None:
    """Be killed, as for want of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def device(seconds: float) -> tuple[int, str]:
    """Worker and device."""
    time.sleep(seconds)
    return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.slow
def test_a_pool_goes_on_after_a_killed_worker_and_each_worker_has_a_device() -> None:
    with open_engine("local", 2, ("4", "7")) as engine:
        before = dict(future.result() for future in [engine.submit(device, 1.0) for _ in range(2)])
        assert sorted(before.values()) == ["4", "7"]
        with pytest.raises(engine.lost):
            engine.submit(die).result()
        after = dict(future.result() for future in [engine.submit(device, 1.0) for _ in range(2)])
        assert sorted(after.values()) == ["4", "7"]
        assert not before.keys() & after.keys()
    assert active_children() == []
