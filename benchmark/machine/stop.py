"""Ctrl-C and SIGTERM: a first one asks the process to stop, a second one stops it at once.

The first raises `Stopped` in the main thread, within `postponed` only after a step, so that the step can be saved.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

GRACE_SECONDS = 4.0
"""Most that a stop is postponed, where nothing else is said."""
ECHO_SECONDS = 0.5
"""Least between two signals of a user: a program around this one may pass on what the terminal has sent already."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED = 128
"""An exit status above it says by which signal a process was stopped."""


class Stopped(KeyboardInterrupt):
    """The process was asked to stop."""

    def __init__(self, number: int, saved: str = "") -> None:
        self.status = STOPPED + number
        self.saved = saved
        """What was saved of the running task; '' for nothing."""


@dataclass
class _Asked:
    """State of this process; handlers of signals have no other place for it."""

    number: int = 0
    at: float = 0.0
    postponed: bool = False


_asked = _Asked()


@contextmanager
def stops_on_signals(
    last: Callable[[], None], signals: Sequence[signal.Signals] = SIGNALS, grace: float = GRACE_SECONDS
) -> Iterator[None]:
    """Within, the signals (SIGINT and SIGTERM) raise `Stopped` in the main thread, postponed by at most `grace`.

    One that comes while the process is stopping calls `last` and ends it. A signal that is ignored stays ignored. In
    another thread than the main one, signals are left alone.
    """

    def hear(number: int, frame: FrameType | None) -> None:
        if not _asked.number:
            _asked.number, _asked.at = number, time.monotonic()
            if not _asked.postponed:
                raise Stopped(number)
            signal.setitimer(signal.ITIMER_REAL, grace)
        elif time.monotonic() - _asked.at < ECHO_SECONDS:
            return
        elif _asked.postponed:
            _asked.postponed = False
            raise Stopped(number)
        else:
            last()
            os._exit(STOPPED + number)

    def run_out(number: int, frame: FrameType | None) -> None:
        raise Stopped(_asked.number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: hear for number in signals if signal.getsignal(number) != signal.SIG_IGN}
    before = {number: signal.signal(number, own) for number, own in {**handlers, signal.SIGALRM: run_out}.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _asked.number = 0


@contextmanager
def postponed() -> Iterator[Callable[[], bool]]:
    """Within, a stop waits up to `GRACE_SECONDS` for the body, which asks for it by the yielded function.

    Raises Stopped at the end of the body if a stop was asked for.
    """
    _asked.postponed = True
    try:
        yield lambda: _asked.number > 0
    finally:
        _asked.postponed = False
        if _asked.number:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if _asked.number:
        raise Stopped(_asked.number)


def stopped(saved: str) -> Stopped:
    """The exception to raise where a stop was asked for; `saved` says what was saved of the running task."""
    return Stopped(_asked.number or signal.SIGTERM, saved)  # another rank may have been asked


def end(status: int) -> NoReturn:
    """End a process that was stopped: deaf to further signals, and without the second that the interpreter takes."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
