"""Several files at once from one home: threads that fetch, and one that listens to them and to Ctrl-C.

A thread writes nothing but its own part and the ledger, so that a process may end at any moment. Threads end with the
process; a stop waits shortly for them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Event, Lock, Thread

from benchmark.data.download.catalogue import Manners
from benchmark.data.download.fetch import fetch, part_of
from benchmark.data.download.ledger import Ledger
from benchmark.data.download.sums import Wanted
from benchmark.data.download.web import Halted, Refused, Unreachable, Web

TICK_SECONDS = 0.2
"""Between two looks at the progress."""
PATIENCE = 2.0
"""Seconds to wait for threads where the process ends; one that waits for a byte ends with it."""

Told = Callable[[int, int], None]
"""Progress: (bytes that came, bytes that came or are still to come)."""


@dataclass
class Result:
    """What a home gave."""

    fetched: list[Wanted] = field(default_factory=list)
    refused: list[tuple[Wanted, str]] = field(default_factory=list)
    """Files that the home does not give, each with the reason."""
    left: list[Wanted] = field(default_factory=list)
    """Files that were not tried to the end, since the home is out of reach."""
    unreachable: str = ""
    """Why the home is out of reach; '' if it is not."""
    received: int = 0
    """Bytes."""


class _Count:
    """Bytes that came and bytes to come, by file: sizes are estimates, and a part counts as had."""

    def __init__(self, wanted: Sequence[Wanted], ledger: Ledger) -> None:
        self._lock = Lock()
        self._left = {item.path: max(0, item.size - part_of(ledger.root / item.path)) for item in wanted}
        self._ahead = sum(self._left.values())
        self.received = 0

    def add(self, path: str, count: int) -> None:
        with self._lock:
            known = min(count, self._left[path])
            self._left[path] -= known
            self._ahead -= known
            self.received += count

    def close(self, path: str) -> None:
        with self._lock:
            self._ahead -= self._left.pop(path)

    def tell(self, told: Told) -> None:
        if self.received and self._ahead:  # the end is told once, by the caller
            told(self.received, self.received + self._ahead)


def fetch_all(
    wanted: Sequence[Wanted], base: str, ledger: Ledger, manners: Manners, told: Told = lambda done, total: None
) -> Result:
    """Fetch files from below the address `base`, several at a time; verified ones are noted in the ledger.

    Raises what a thread met that concerns more than its file, e.g. OSError of a full disk, and KeyboardInterrupt.
    """
    stop, answers = Event(), Queue[tuple[Wanted, Exception | None]]()
    count, waiting, result = _Count(wanted, ledger), deque(wanted), Result()
    with Web(manners, stop) as web:

        def work() -> None:
            while not stop.is_set():
                try:
                    item = waiting.popleft()
                except IndexError:
                    return
                problem = _one(web, item, base, ledger, stop, count)
                if isinstance(problem, Unreachable):
                    stop.set()  # here, so that no thread asks for another file meanwhile
                answers.put((item, problem))

        threads = [Thread(target=work, daemon=True) for _ in range(min(manners.connections, len(wanted)))]
        try:
            for thread in threads:
                thread.start()
            _listen(len(wanted), answers, count, told, result)
        except BaseException:
            stop.set()
            _join(threads, PATIENCE)
            raise
        _join(threads, None)  # the next home may be asked for the same files
    result.received = count.received
    done = {item.path for item in result.fetched} | {item.path for item, _ in result.refused}
    result.fetched += [item for item in wanted if item.path not in done and ledger.knows(item)]  # answered unheard
    done |= {item.path for item in result.fetched}
    result.left = [item for item in wanted if item.path not in done]
    return result


def _one(web: Web, item: Wanted, base: str, ledger: Ledger, stop: Event, count: _Count) -> Exception | None:
    """Fetch and note a file; returns what kept it from that."""
    try:
        found = fetch(
            web,
            item.url if "://" in item.url else base + item.url,
            ledger.root / item.path,
            stop,
            digest=item.digest,
            algorithm=item.algorithm,
            on_bytes=lambda number: count.add(item.path, number),
        )
        ledger.add(item.path, found)
    except Exception as problem:  # handed to the listening thread, which raises what is no failure of the home
        return problem
    return None


def _listen(
    expected: int,
    answers: Queue[tuple[Wanted, Exception | None]],
    count: _Count,
    told: Told,
    result: Result,
) -> None:
    """Take the threads' answers until all are there or the home is out of reach."""
    heard = 0
    while heard < expected:
        try:
            item, problem = answers.get(timeout=TICK_SECONDS)
        except Empty:
            count.tell(told)
            continue
        heard += 1
        count.close(item.path)
        if problem is None:
            result.fetched.append(item)
        elif isinstance(problem, Refused):
            result.refused.append((item, str(problem)))
        elif isinstance(problem, Unreachable):
            result.unreachable = str(problem)
            return
        elif not isinstance(problem, Halted):
            raise problem
        count.tell(told)


def _join(threads: Sequence[Thread], patience: float | None) -> None:
    until = None if patience is None else time.monotonic() + patience
    for thread in threads:
        if thread.ident is not None:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
