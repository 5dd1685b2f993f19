"""A first signal stops, after the step where one is to be saved; a second ends the process; one echo is no second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmark.machine import processes
from benchmark.machine.processes import GRACE_SECONDS, Stopped, postponed, stopped, stops_on_signals

ROOT = Path(__file__).resolve().parents[3]
STUBBORN = """
import time
from benchmark.machine.processes import stops_on_signals

with stops_on_signals(lambda: print("last words", flush=True)):
    try:
        print("ready", flush=True)
        time.sleep(600)
    finally:
        print("stopping", flush=True)
        time.sleep(600)
"""


@pytest.fixture(autouse=True)
def as_a_terminal_has_it() -> Iterator[None]:
    """A shell's background jobs ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def never() -> None:
    raise AssertionError("the process would have ended")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_at_once_with_the_status_of_the_shell(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as caught, stops_on_signals(never):
        signal.raise_signal(number)
    assert (caught.value.status, caught.value.saved) == (status, "")
    assert signal.getsignal(number) == before


def run(step: Callable[[], None]) -> None:
    """A postponed step in the main thread of a command."""
    with stops_on_signals(never), postponed():
        step()


def test_a_postponed_stop_lets_the_step_end_and_says_what_was_saved() -> None:
    steps = []

    def work() -> None:
        with stops_on_signals(never), postponed() as asked:
            for step in range(5):
                if step == 2:
                    signal.raise_signal(signal.SIGTERM)
                steps.append(step)
                if asked():
                    raise stopped(f"step {step}")

    with pytest.raises(Stopped) as caught:
        work()
    assert steps == [0, 1, 2]
    assert (caught.value.status, caught.value.saved) == (143, "step 2")


def test_a_postponed_stop_comes_at_the_end_where_the_body_never_asks() -> None:
    done = []

    def step() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(True)

    with pytest.raises(Stopped):
        run(step)
    assert done == [True]


def test_the_next_command_of_the_process_is_not_stopped() -> None:
    with pytest.raises(Stopped):
        run(lambda: signal.raise_signal(signal.SIGINT))
    run(lambda: None)


def test_a_stop_is_not_postponed_for_long() -> None:
    left: list[float] = []

    def step() -> None:
        signal.raise_signal(signal.SIGTERM)
        left.append(signal.getitimer(signal.ITIMER_REAL)[0])
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # the test does not wait it out
        time.sleep(600)

    with pytest.raises(Stopped) as caught:
        run(step)
    assert 0 < left[0] <= GRACE_SECONDS
    assert caught.value.status == 143
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_second_signal_ends_the_postponement_and_an_echo_of_the_first_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached = []

    def step() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        reached.append("echo")
        monkeypatch.setattr(processes, "ECHO_SECONDS", 0.0)
        signal.raise_signal(signal.SIGINT)
        reached.append("second")

    with pytest.raises(Stopped):
        run(step)
    assert reached == ["echo"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stops_on_signals(never):
        signal.raise_signal(signal.SIGINT)


def test_another_thread_leaves_signals_alone() -> None:
    before, seen = signal.getsignal(signal.SIGTERM), []

    def look() -> None:
        with stops_on_signals(never):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.slow
def test_a_process_that_does_not_stop_is_ended_by_a_second_signal() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.stdout.readline() == "stopping\n"
        time.sleep(processes.ECHO_SECONDS)
        child.send_signal(signal.SIGTERM)
        assert child.stdout.readline() == "last words\n"
        assert child.wait(60) == 143
