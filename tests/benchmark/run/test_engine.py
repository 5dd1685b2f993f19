"""This process, and processes of this machine: a killed worker ends its pool and no more, and nothing stays."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import active_children
from unittest.mock import Mock

import pytest

from benchmark.config.errors import ConfigError
from benchmark.run.engine import Inline, Pool, open_engine
from benchmark.run.tasks import code_digest


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


def test_workers_of_other_code_are_refused_before_they_are_given_a_task() -> None:
    dask_engine = pytest.importorskip("benchmark.run.dask_engine")
    codes: dict[str, object] = {"tcp://one": code_digest(), "tcp://gone": OSError()}
    client = Mock(nthreads=lambda: dict.fromkeys(codes, 1), run=lambda function, **given: codes)
    engine = dask_engine.Dask(client, None)
    assert engine.width() == 2
    for answer in ("another digest", AttributeError("no such function")):
        codes["tcp://new"] = answer
        with pytest.raises(ConfigError, match="has other code than this run was started with: restart the workers"):
            engine.width()
