"""Claims on tasks, by which several runners share a store; and the removal of what killed runs left.

    CLAIMS/KEY.json    the process that works on task KEY; its modification time is renewed while that process lives

A claim is created exclusively. It is stale, and may be taken over, if its process has ended (same host and container)
or if it was not renewed for `STALE_SECONDS` while this process watched. Clocks of hosts are never compared, and time in
which this process did not look counts for little: a file server that answered nobody makes no claim stale.

Claims save work and protect nothing: a task that two runners do at once must have one result, written atomically.

Remove what killed processes left: temporary files and folders, and claims.

Each run looks once, when it starts. What a process of this host left goes 60 s after its last write, what one of
another host left after a day: younger files stay until the next run, and disturb nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from benchmark.machine.processes import Process, runs, this_process
from benchmark.results.files import owner_of, require_regular, this_host, write_atomic

CLAIMS = "claims"
"""Name of the folder of claims within a shared folder."""
POLL_SECONDS = 1.0
"""Interval at which the claims of other runners are read."""
BEAT_SECONDS = 30.0
STALE_SECONDS = 180.0
"""Longer than network file systems keep a file's modification time in their caches."""
TOKEN_DIGITS = 16
LARGEST_CLAIM = 65536
"""Bytes."""
MOST_PROCESSES = 2**31
"""Above any process id."""


class Sight(NamedTuple):
    """A claim's file as it was read."""

    content: bytes
    renewed: int
    """Modification time in ns, by the clock of its host or of the file server."""


class Watched(NamedTuple):
    """For how long a claim has been seen without a change."""

    sight: Sight
    looked: float
    """Time of the latest look, by the observer's own clock."""
    seconds: float
    """At most `BEAT_SECONDS` of each time between two looks."""


class Claims:
    """The claims of one runner in a folder. Leaving the context releases those it holds."""

    def __init__(
        self,
        folder: Path,
        *,
        process: Process | None = None,
        runs: Callable[[Process], bool | None] = runs,
        clock: Callable[[], float] = time.monotonic,
        seen: dict[str, Watched] | None = None,
    ) -> None:
        """seen: claims of others that an earlier object of this process has watched; watching them continues."""
        self.folder = folder
        self.unshared = ""
        """Why no claim can be made in the folder; '' if claims work."""
        own = (process or this_process())._asdict() | {"token": secrets.token_hex(TOKEN_DIGITS // 2)}
        self._content = json.dumps(own).encode()
        self._runs, self._clock = runs, clock
        self._held: set[str] = set()
        self._seen: dict[str, Watched] = {} if seen is None else seen
        self._closed = threading.Event()
        self._heart = threading.Thread(target=self._beat_until_closed, daemon=True)

    def __enter__(self) -> Self:
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        for key in list(self._held):
            self.release(key)

    def take(self, key: str) -> bool:
        """Claim a task; False if another runner holds it. Without a folder that can be written, every task is free."""
        path = self._path(key)
        try:
            free = self._create(path) or self._take_over(key)
        except OSError as error:
            self.unshared = f"{self.folder}: {error.strerror or error}"
            return True
        if free:
            self._held.add(key)
            self._seen.pop(key, None)
        return free

    def release(self, key: str) -> None:
        """Remove an own claim; one that another runner has taken over stays."""
        self._held.discard(key)
        sight = look(self._path(key))
        if sight is not None and sight.content == self._content:
            self._path(key).unlink(missing_ok=True)

    def holder(self, key: str) -> str:
        """'host:pid' of the runner that holds a task; '' if it is free."""
        sight = look(self._path(key))
        if sight is None:
            return ""
        owner = owner_in(sight.content)
        return f"{owner.host}:{owner.pid}" if owner else "another runner"

    def renew(self) -> None:
        """Renew the modification time of the held claims."""
        for key in list(self._held):
            sight = look(self._path(key))
            if sight is not None and sight.content == self._content:
                os.utime(self._path(key))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _create(self, path: Path) -> bool:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with open(path, "xb") as file:
                file.write(self._content)
        except FileExistsError:
            return False
        return True

    def _take_over(self, key: str) -> bool:
        """Replace a stale claim by an own one; False if it is not stale or another runner was faster.

        That a claim is replaced is a task too, which one runner claims: nobody removes a claim that was made meanwhile.
        """
        path = self._path(key)
        judged = look(path)
        if judged is None or not self._is_stale(key, judged):
            return False
        replacing = f"{key}.{hashlib.sha256(judged.content).hexdigest()[:TOKEN_DIGITS]}"
        if not self.take(replacing):
            return False
        same = look(path) == judged  # else it was renewed, released or taken over meanwhile
        if same:
            write_atomic(path, self._content)
        self.release(replacing)
        return same

    def _is_stale(self, key: str, sight: Sight) -> bool:
        """Whether the holder of a claim is gone; judged over repeated calls if it is not of this host."""
        owner = owner_in(sight.content)
        running = self._runs(owner) if owner else None
        if running is not None:
            return not running
        now, before = self._clock(), self._seen.get(key)
        watched = 0.0
        if before is not None and before.sight == sight:
            watched = before.seconds + min(now - before.looked, BEAT_SECONDS)
        self._seen[key] = Watched(sight, now, watched)
        return watched >= STALE_SECONDS

    def _beat_until_closed(self) -> None:
        while not self._closed.wait(BEAT_SECONDS):
            try:
                self.renew()
            except OSError:
                continue  # tried again at the next beat


def look(path: Path) -> Sight | None:
    """A claim's file, empty if it cannot be read or is no claim; None if there is none.

    It is opened each time, because network file systems then ask the server for its modification time.
    """
    try:
        require_regular(path, path.stat(), LARGEST_CLAIM)  # before it is opened: opening a FIFO waits for its writer
        with open(path, "rb") as file:
            return Sight(file.read(LARGEST_CLAIM), os.fstat(file.fileno()).st_mtime_ns)
    except FileNotFoundError:
        return None
    except OSError:
        return Sight(b"", path.stat().st_mtime_ns) if path.exists() else None


def owner_in(content: bytes) -> Process | None:
    """The process in a claim's content; None if it is not whole or no process."""
    try:
        found = json.loads(content)
        owner = Process(**{name: found[name] for name in Process._fields})
    except (ValueError, KeyError, TypeError):
        return None
    texts = all(isinstance(text, str) for text in (owner.host, owner.boot, owner.namespace, owner.started))
    return owner if texts and isinstance(owner.pid, int) and 0 < owner.pid < MOST_PROCESSES else None


@contextmanager
def alone(shared: Path, key: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Within, no other runner has the task `key` of a shared folder; waits for it first, and says once for whom."""
    told = ""
    with Claims(shared / CLAIMS) as claims:
        while not claims.take(key):
            holder = claims.holder(key)
            if holder and not told:
                told = holder
                on_wait(holder)
            time.sleep(POLL_SECONDS)
        yield


EARLIER = re.compile(r"\..+\.[0-9]+\.tmp")
"""`.NAME.PID.tmp`, which names no host."""
QUIET_SECONDS = 60.0
"""Least age of what a process of this host left that is not found: another container may have the host's name."""
DAY_SECONDS = 86400.0
"""Least age of what a process of another host left."""


def sweep(folders: Mapping[Path, int], now: float | None = None) -> list[Path]:
    """Remove temporary files and folders of ended processes from folders and, so many levels deep, their subfolders.

    Files that cannot be removed are left. Returns what was removed, without claims.
    """
    moment = time.time() if now is None else now
    found = [path for folder, depth in folders.items() for path in leftovers(folder, depth, moment)]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return found


def leftovers(folder: Path, depth: int, now: float) -> Iterator[Path]:
    """Temporary files and folders of ended processes."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if owner_of(path) or EARLIER.fullmatch(entry.name):
            if is_left(path, now):
                yield path
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from leftovers(path, depth - 1, now)


def is_left(path: Path, now: float) -> bool:
    """Whether the process that writes a temporary file has ended; judged by age if it cannot be seen from here."""
    owner = owner_of(path)
    gone = owner is not None and owner[0] == this_host() and not is_process(owner[1])
    return now - last_write(path) >= (QUIET_SECONDS if gone else DAY_SECONDS)


def is_process(pid: int) -> bool:
    """Whether this host has a process with the id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def last_write(path: Path) -> float:
    """Time of the last change of a file, or of anything in a folder; that of another process's removal is infinite."""
    try:
        return max(item.lstat().st_mtime for item in (path, *path.rglob("*")))
    except OSError:
        return float("inf")


def sweep_claims(shared: Path) -> None:
    """Remove the claims in a shared folder whose runner has ended."""
    paths = list((shared / CLAIMS).glob("*.json"))
    if not paths:
        return
    with Claims(shared / CLAIMS) as claims:
        for path in paths:
            if claims.take(path.stem):
                claims.release(path.stem)
