"""Polite requests: few connections, waits that grow, rests that a server asks for, and one line for each way to fail.

requests and urllib3 do the talking; urllib3's `Retry` does the arithmetic of waiting and reads Retry-After. The waiting
itself is ours, because a stop has to end it.

One file: from where it stopped, into NAME.part, checked, then named.

    NAME.part        the bytes so far
    NAME.part.json   what they are bytes of: address, validator (ETag or date) and length of the remote file

A part goes on only with the remote file that it began with: the server is asked by If-Range, and an answer with another
validator, another start or without a range begins anew. What came is compared with the publisher's sum before the
rename, so a part that was glued together after all is thrown away.

Several files at once from one home: threads that fetch, and one that listens to them and to Ctrl-C.

A thread writes nothing but its own part and the ledger, so that a process may end at any moment. Threads end with the
process; a stop waits shortly for them.

What a folder holds of a download: files that were verified, so that they are not read again, and who is at work.

    .download/verified.tsv   sum, bytes, time and path of each verified file, a line each, appended
    .download/lock           held by the process that downloads into the folder

A file counts as verified while its size and time are those of its line; any other is read and compared once more.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread
from typing import NamedTuple, Self

import requests
from requests import Response
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError, InvalidHeader, MaxRetryError
from urllib3.util.retry import Retry

from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.registry import OF_DOWNLOAD
from benchmark.extras.download_catalogue import Manners, Wanted
from benchmark.results.files import MEBIBYTE, naming, read_regular

AGENT = "ecg-pretrain-bench (data download)"
CHUNK = 2**18
"""Most bytes taken at once."""
PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Statuses that a later request may not meet."""
WITHOUT_RANGE = 416
CONNECT_SECONDS = 20.0


class Halted(Exception):
    """The download was asked to stop."""


class Interrupted(Exception):
    """A request failed in a way that a later one may not. `after`: seconds that the server asked to wait."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


class Refused(Exception):
    """A home does not give this file, however often it is asked."""


class Unreachable(Exception):
    """A home does not answer, or not usefully, after all tries."""


class _NoLogin(AuthBase):
    """Sends no credentials, not even those of ~/.netrc; everything taken here is open."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


class Web:
    """Requests to one home, from several threads. Leaving the context closes the connections."""

    def __init__(self, manners: Manners, stop: Event) -> None:
        self.manners = manners
        self._stop = stop
        self._lock = Lock()
        self._not_before = 0.0
        self._session = requests.Session()
        self._session.auth = _NoLogin()
        self._session.headers.update({"User-Agent": AGENT, "Accept-Encoding": "identity"})  # bytes as published
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=manners.connections, max_retries=0))

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *ending: object) -> None:
        self._session.close()

    def tries(self) -> Retry:
        """A fresh count of tries, to be used up by `pause`."""
        manners = self.manners
        return Retry(
            total=manners.tries - 1,
            backoff_factor=manners.first_wait,
            backoff_max=manners.longest_wait,
            backoff_jitter=manners.first_wait,
        )

    def pause(self, tries: Retry, problem: Interrupted) -> Retry:
        """Wait before the next try; returns the tries left. Raises Unreachable where none is, Halted at a stop."""
        if problem.after > self.manners.longest_rest:
            raise Unreachable(f"{problem}; it asks for a rest of {problem.after:.0f} s")
        try:
            left = tries.increment(error=problem)
        except (MaxRetryError, Interrupted):
            raise Unreachable(f"{problem} ({self.manners.tries} tries)") from None
        seconds = max(left.get_backoff_time(), self.manners.first_wait * random.uniform(0.5, 1.0), problem.after)
        if problem.after:  # asked of all connections, not of this one
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + problem.after)
        if self._stop.wait(seconds):
            raise Halted
        return left

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[requests.Response]:
        """The answer to a GET, its body not yet read: of status 200, 206 or 416.

        Raises Interrupted, Refused, Unreachable or Halted.
        """
        self._rest()
        try:
            response = self._ask(url, headers)
        except requests.exceptions.SSLError as error:
            raise Unreachable(f"no trusted https connection: {_short(error)}") from None
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise Interrupted(f"no answer: {_short(error)}") from None
        except requests.RequestException as error:
            raise Refused(_short(error)) from None
        with response:
            steps = [own.url for own in (*response.history, response)]
            if url.startswith("https:") and not all(step.startswith("https:") for step in steps):
                raise Refused("redirected from https to http")
            if response.status_code in PASSING:
                raise Interrupted(f"{response.status_code} {response.reason}", self._asked(response))
            if response.status_code not in (200, 206, WITHOUT_RANGE):
                raise Refused(f"{response.status_code} {response.reason}")
            yield response

    def _ask(self, url: str, headers: Mapping[str, str] | None) -> Response:
        """The head of the answer. A thread waits for it, since requests bounds each byte's time and not their sum."""
        answers = Queue[Response | Exception]()

        def ask() -> None:
            try:
                answers.put(self._session.get(url, headers=headers, stream=True, timeout=self._timeout()))
            except Exception as problem:
                answers.put(problem)

        Thread(target=ask, daemon=True).start()
        seconds = sum(self._timeout()) + self.manners.patience
        try:
            answer = answers.get(timeout=seconds)
        except Empty:
            raise Unreachable(f"no whole answer in {seconds:.0f} s") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _rest(self) -> None:
        """Wait until the home wants to be asked again. Raises Halted at a stop."""
        with self._lock:
            seconds = self._not_before - time.monotonic()
        if self._stop.wait(seconds) if seconds > 0 else self._stop.is_set():
            raise Halted

    def _timeout(self) -> tuple[float, float]:
        return min(CONNECT_SECONDS, self.manners.timeout), self.manners.timeout

    def _asked(self, response: requests.Response) -> float:
        """Seconds of Retry-After; 0 where it is not stated or no time."""
        stated = response.headers.get("Retry-After", "")
        try:
            return max(0.0, self.tries().parse_retry_after(stated)) if stated else 0.0
        except InvalidHeader:
            return 0.0


def pieces(response: requests.Response, stop: Event, manners: Manners) -> Iterator[bytes]:
    """The body as it comes, undecoded.

    Raises Interrupted where the connection ends early, Unreachable where it is slower than `manners.slowest`, and
    Halted at a stop.
    """
    since, count = time.monotonic(), 0
    while True:
        try:
            piece = response.raw.read1(CHUNK, decode_content=False)
        except (HTTPError, OSError, ValueError) as error:  # a closed or reset socket is any of them
            raise Interrupted(f"connection lost: {_short(error)}") from None
        if not piece:
            return
        yield piece
        if stop.is_set():
            raise Halted
        count += len(piece)
        if (seconds := time.monotonic() - since) >= manners.patience:
            if count < manners.slowest * seconds:
                raise Unreachable(f"only {count} bytes in {seconds:.0f} s, fewer than {manners.slowest} a second")
            since, count = time.monotonic(), 0


def _short(error: BaseException) -> str:
    """The innermost reason of a chain that requests wraps, in a few words."""
    inner: object = error
    while isinstance(inner, BaseException):
        reason = getattr(inner, "reason", None) or next(
            (own for own in inner.args if isinstance(own, BaseException)), None
        )
        if not isinstance(reason, BaseException):
            break
        inner = reason
    text = " ".join(str(inner).split()) or type(inner).__name__
    return text.rpartition("object at 0x")[2].partition(">: ")[2] or text[:160]


WRONG_TRIES = 2
"""Whole downloads of a file whose sum is wrong each time, until the home is not asked for it again."""
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", re.ASCII)


@dataclass(frozen=True)
class _Tag:
    """What a part is a part of."""

    url: str
    validator: str = ""
    """Strong ETag or Last-Modified; '' where the server states neither."""
    total: int | None = None
    """Bytes of the whole; None where the server does not say."""


def digest_of(path: Path, algorithm: str) -> str:
    """The sum of a file's bytes in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def fetch(
    web: Web,
    url: str,
    target: Path,
    stop: Event,
    *,
    digest: str = "",
    algorithm: str = "sha256",
    on_bytes: Callable[[int], None] = lambda count: None,
) -> str:
    """Download a file, resuming its part; returns its sum.

    on_bytes: called with the number of bytes that came, also of those that are thrown away later.

    Raises Refused where the home does not give the file or gives other bytes than the sum says, Unreachable, Halted, or
    OSError of the disk.
    """
    part, tag = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.json")
    tries, wrong = web.tries(), 0
    with naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            before = _size(part)
            try:
                _go_on(web, url, part, tag, stop, bool(digest), on_bytes)
            except Interrupted as problem:
                tries = web.pause(web.tries() if _size(part) > before else tries, problem)
                continue
            found = digest_of(part, algorithm)
            if not digest or found == digest:
                break
            wrong += 1
            _discard(part, tag)
            if wrong == WRONG_TRIES:
                raise Refused(f"its {algorithm.upper()} is {found[:12]}..., the published one {digest[:12]}...")
        _put(part, target)
        tag.unlink(missing_ok=True)
    return found


def part_of(target: Path) -> int:
    """Bytes of a file that an earlier download has left in its part."""
    return _size(target.with_name(f"{target.name}.part"))


def _go_on(
    web: Web, url: str, part: Path, tag: Path, stop: Event, has_sum: bool, on_bytes: Callable[[int], None]
) -> None:
    """Bring a part to its end, by one request or none. Raises Interrupted, Refused, Unreachable or Halted."""
    known, have = _read_tag(tag), _size(part)
    if known is None or known.url != url or not (known.validator or has_sum):
        known, have = None, 0
    if known and have and have == known.total:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    if known and have and known.validator:
        headers["If-Range"] = known.validator
    with web.get(url, headers) as response:
        start, now = _answered(response, url)
        same = not known or now.validator in (known.validator, "")
        if response.status_code == WITHOUT_RANGE and have and now.total == have and same:
            return
        if response.status_code != 200 and (start != have or not same):
            _discard(part, tag)
            raise Interrupted("the remote file is another than that of the part: begun anew")
        with open(part, "r+b" if start else "wb", buffering=0) as file:
            # After the part is emptied, and not anew where it goes on: a kill here leaves no tag beside foreign bytes.
            if not start or now != known:
                tag.write_text(json.dumps(asdict(now)))
            file.seek(start)
            for piece in pieces(response, stop, web.manners):
                file.write(piece)
                on_bytes(len(piece))
    if now.total is not None and _size(part) != now.total:
        raise Interrupted(f"connection lost at {_size(part)} of {now.total} bytes")


def _answered(response: Response, url: str) -> tuple[int, _Tag]:
    """Where an answer's bytes begin, -1 where it does not say, and what they are part of."""
    headers = response.headers
    etag = headers.get("ETag", "")
    validator = etag if etag.startswith('"') else headers.get("Last-Modified", "")  # a weak ETag says too little
    if response.status_code == 200:
        length = headers.get("Content-Length", "")
        return 0, _Tag(url, validator, int(length) if length.isascii() and length.isdigit() else None)
    match = CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    total = int(match[3]) if match and match[3] != "*" else None
    return (int(match[1]) if match and match[1] else -1), _Tag(url, validator, total)


def _read_tag(tag: Path) -> _Tag | None:
    """What a part is a part of; None where that is not known."""
    try:
        return _Tag(**json.loads(read_regular(tag, MEBIBYTE)))
    except (OSError, ValueError, TypeError):
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _discard(part: Path, tag: Path) -> None:
    for path in (part, tag):
        with suppress(FileNotFoundError):
            path.unlink()


def _put(part: Path, target: Path) -> None:
    """Give a part its name, after its bytes are on the disk."""
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(part, target)


VERIFIED, LOCK = "verified.tsv", "lock"


class _Seen(NamedTuple):
    digest: str
    size: int
    time: int
    """Modification time in ns."""


class Ledger:
    """The verified files of a dataset's folder; several threads may add to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._path = root / OF_DOWNLOAD / VERIFIED
        self._lock = Lock()
        self._seen = dict(_entries(self._path))
        self._descriptor = -1

    def __enter__(self) -> Self:
        with naming(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            if self._path.stat().st_size and self._path.read_bytes()[-1:] != b"\n":
                os.write(self._descriptor, b"\n")  # a line that was cut by the end of its process
        return self

    def __exit__(self, *ending: object) -> None:
        os.close(self._descriptor)

    def add(self, path: str, digest: str) -> None:
        """Note a file of the folder as verified."""
        found = (self.root / path).stat()
        seen = _Seen(digest, found.st_size, found.st_mtime_ns)
        line = "\t".join([seen.digest, str(seen.size), str(seen.time), path])
        with self._lock, naming(self._path):
            self._seen[path] = seen
            os.write(self._descriptor, f"{line}\n".encode())

    def knows(self, wanted: Wanted) -> bool:
        """Whether a file is there as it was verified, with the publisher's sum; without one, with any."""
        seen = self._seen.get(wanted.path)
        if seen is None or seen.digest != (wanted.digest or seen.digest):
            return False
        try:
            found = (self.root / wanted.path).stat()
        except OSError:
            return False
        return (found.st_size, found.st_mtime_ns) == (seen.size, seen.time)

    def holds(self, wanted: Wanted, *, again: bool = False) -> bool:
        """Whether a file is there and right; one that is not known, or `again` any, is read and compared."""
        if not again and self.knows(wanted):
            return True
        path = self.root / wanted.path
        if not wanted.digest or not path.is_file() or digest_of(path, wanted.algorithm) != wanted.digest:
            return False
        self.add(wanted.path, wanted.digest)
        return True

    def bytes_here(self) -> int:
        """Bytes of the verified files."""
        return sum(seen.size for seen in self._seen.values())


@contextmanager
def folder_lock(root: Path) -> Iterator[None]:
    """Within, no other process downloads into the folder. Raises DatasetError if one does."""
    path = root / OF_DOWNLOAD / LOCK
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a")  # noqa: SIM115, closed below
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetError(f"another process downloads into {root}: let it end, or stop it") from None
        except OSError:
            pass  # a file system without locks
        yield


def _entries(path: Path) -> Iterator[tuple[str, _Seen]]:
    """(path, entry) of the whole lines of a ledger, the latest of a path last."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    except FileNotFoundError:
        return
    for line in lines:
        cells = line.split("\t")
        if len(cells) == 4 and cells[1].isdecimal() and cells[2].isdecimal():
            yield cells[3], _Seen(cells[0], int(cells[1]), int(cells[2]))


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
