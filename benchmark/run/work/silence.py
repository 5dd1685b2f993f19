"""For how long a claim has not been renewed, by the clock of the file system it is on: a hint for people and queues.

Nothing is taken over by it: `Claims` watches a claim for that, and trusts no clock but its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from benchmark.machine.process import runs
from benchmark.run.work.claims import BEAT_SECONDS, Claims, Sight, look, owner_in

MISSED_SECONDS = 3 * BEAT_SECONDS
"""After which a runner seems to have ended."""


def store_time(folder: Path) -> int | None:
    """The time of the file system that a folder is on, ns, by which claims are renewed; None if it takes no file."""
    try:
        with TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None


def silence(sight: Sight, now: int | None) -> float:
    """Seconds since a claim was renewed; 0 where the time of its file system is not known."""
    return (now - sight.renewed) / 1e9 if now is not None else 0.0


def seems_left(key: str, claims: Claims) -> bool:
    """Whether the runner of another host that holds a task seems to have ended; True too if the task is free."""
    sight = look(claims.folder / f"{key}.json")
    if sight is None:
        return True
    owner = owner_in(sight.content)
    running = runs(owner) if owner else None
    return silence(sight, store_time(claims.folder)) >= MISSED_SECONDS if running is None else not running
