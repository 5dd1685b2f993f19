"""This process, and processes of this machine: a killed worker ends its pool and no more, and nothing stays."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from multiprocessing import active_children
from typing import Any
from unittest.mock import Mock

import pytest

from benchmark.config.errors import ConfigError
from benchmark.machine import releases
from benchmark.run import tasks as tasks_module
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


def test_workers_of_other_code_are_refused_before_they_are_given_a_task() -> None:
    dask_engine = pytest.importorskip("benchmark.run.dask_engine")
    answers: dict[str, object] = {"tcp://one": None, "tcp://gone": OSError()}
    client = Mock(nthreads=lambda: dict.fromkeys(answers, 1), run=lambda *given, **where: answers)
    engine = dask_engine.Dask(client, None)
    assert engine.width() == 2
    answers["tcp://new"] = AttributeError("no such function")
    with pytest.raises(ConfigError, match="has other code than this run was started with: restart the workers"):
        engine.width()


def test_workers_of_other_packages_are_refused_before_they_are_given_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    dask_engine = pytest.importorskip("benchmark.run.dask_engine")

    def run_on_a_worker(function: Callable[..., None], *given: Any, **where: Any) -> dict[str, object]:
        with monkeypatch.context() as worker:
            worker.setattr(tasks_module, "releases", lambda: releases() | {"numpy": "9.9", "python": "3.99"})
            with pytest.raises(ConfigError) as refusal:
                function(*given)
        return {"tcp://new": refusal.value}

    engine = dask_engine.Dask(Mock(nthreads=lambda: {"tcp://new": 1}, run=run_on_a_worker), None)
    python, numpy = releases()["python"], releases()["numpy"]
    with pytest.raises(ConfigError, match=rf"\(python 3\.99, not {python}, numpy 9\.9, not {numpy}\): restart the"):
        engine.width()
