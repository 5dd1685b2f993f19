"""This process, and processes of this machine: a killed worker ends its pool and no more, and nothing stays."""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from multiprocessing import active_children
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from benchmark.config.errors import ConfigError
from benchmark.machine import releases
from benchmark.process import EngineLost
from benchmark.results.files import remedy
from benchmark.run import tasks as tasks_module
from benchmark.run.engine import Inline, Pool, open_engine


def test_one_job_runs_in_this_process() -> None:
    with open_engine("local", 1) as engine:
        assert isinstance(engine, Inline)
        assert engine.submit(os.getpid).result() == os.getpid()
        with pytest.raises(ZeroDivisionError):
            engine.submit(divmod, 1, 0)


def test_several_jobs_are_processes() -> None:
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
def test_a_pool_goes_on_after_a_killed_worker() -> None:
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


def test_a_full_shared_memory_is_named_with_the_way_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr("benchmark.run.engine.ProcessPoolExecutor", full)
    with pytest.raises(OSError, match="No space left") as raised:
        open_engine("local", 2).__enter__()
    assert raised.value.filename == "/dev/shm"
    assert "--workers 1 and --jobs 1" in remedy(raised.value)


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Open a port of this machine that says some bytes to whoever comes, and nothing more; returns its address."""
    servers, threads = list[socket.socket](), list[Thread]()

    def answer(server: socket.socket, content: bytes) -> None:
        with ExitStack() as connections, suppress(OSError):  # at the end of the test
            while True:
                connection = connections.enter_context(server.accept()[0])
                connection.sendall(content)

    def open_port(content: bytes) -> str:
        servers.append(socket.create_server(("127.0.0.1", 0)))
        threads.append(Thread(target=answer, args=(servers[-1], content)))
        threads[-1].start()
        return f"127.0.0.1:{servers[-1].getsockname()[1]}"

    yield open_port
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def refusal_of(name: str) -> str:
    """Open an engine that cannot be opened, within the patience; returns the only line."""
    begin = time.monotonic()
    with pytest.raises(ConfigError) as refused:
        open_engine(name, None).__enter__()
    assert time.monotonic() - begin < 30
    line = str(refused.value)
    assert line.startswith(f"--engine {name}: ")
    assert "\n" not in line
    assert "start one with `dask scheduler`" in line
    return line


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATIENCE_SECONDS", "FILE_SECONDS"):
        monkeypatch.setattr(pytest.importorskip("benchmark.run.dask_engine"), name, 1.0)


@pytest.mark.usefixtures("impatient")
def test_every_address_without_a_scheduler_is_refused_in_a_line(answering: Callable[[bytes], str]) -> None:
    silent, http = answering(b""), answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    for address in ("127.0.0.1:1", silent, http):
        assert f"at tcp://{address} (" in refusal_of(f"tcp://{address}")
    for scheme in ("tls", "ucx", "ftp"):
        assert f"at {scheme}://{silent} (" in refusal_of(f"{scheme}://{silent}")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", "8786", "tcp://127.0.0.1:1"])
def test_every_file_that_is_no_schedulers_is_refused_in_a_line(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    if content is not None:
        file.write_text(content)
    line = refusal_of(str(file))
    assert "it is no scheduler's file" in line
    assert ("it lacks 'address'" in line) == (content == "{}")


def test_a_lost_scheduler_ends_the_run_in_a_line_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    dask_engine = pytest.importorskip("benchmark.run.dask_engine")
    client = MagicMock()
    client.__enter__.return_value = client
    monkeypatch.setattr(dask_engine, "connect", lambda name: client)
    client.nthreads.side_effect = [{}, OSError("Timed out")]
    with pytest.raises(EngineLost) as ended, open_engine("tcp://a:1", 4) as engine:
        engine.width()
    assert str(ended.value).startswith("--engine tcp://a:1: the scheduler has ended or cannot be reached; start it")


def test_workers_that_left_are_missed_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    dask_engine = pytest.importorskip("benchmark.run.dask_engine")
    now, workers = [time.mktime((2026, 1, 2, 12, 34, 0, 0, 0, -1))], {}
    monkeypatch.setattr(dask_engine.time, "time", lambda: now[0])
    engine = dask_engine.Dask(Mock(nthreads=lambda: workers, run=lambda *given, **where: {}), 3)
    remarks = []
    for seconds, threads in ((0, {"tcp://one": 1}), (59, {}), (1, {}), (500, {}), (0, {"tcp://two": 1})):
        now[0] += seconds
        workers = threads
        engine.width()
        remarks.append(engine.remark)
    missed = "no worker since 12:34: the run waits for one"
    assert remarks == ["", "", missed, missed, ""]
