"""Files from a home, politely: few connections, waits that grow, and rests that the server asks for.

requests and urllib3 do the talking. The waiting between tries is ours, because a stop has to end it.

A file comes into NAME.part, is checked, and then gets its name.

    NAME.part        the bytes so far
    NAME.part.json   what they are bytes of: address, validator (ETag or date) and length of the remote file

A part goes on only with the remote file that it began with: the server is asked by If-Range, and an answer with another
validator, another start or without a range begins anew. What came is compared with the publisher's sum before the
rename, so a part that was glued together after all is thrown away.

Threads fetch and one loop takes their news. A thread writes nothing but its own part and the ledger, so that a process
may end at any moment.

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
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread
from typing import NamedTuple, Self

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError, InvalidHeader
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
WRONG_TRIES = 2
"""Whole downloads of a file whose sum is wrong each time, until the home is not asked for it again."""
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", re.ASCII)
PATIENCE = 2.0
"""Seconds to wait for threads where the process ends; one that waits for a byte ends with it."""


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
    """Requests to one home, from several threads, until `stop`. Leaving the context closes the connections."""

    def __init__(self, manners: Manners, stop: Event) -> None:
        self._manners = manners
        self._stop = stop
        self._lock = Lock()
        self._not_before = 0.0
        self._timeout = min(CONNECT_SECONDS, manners.timeout), manners.timeout
        self._session = requests.Session()
        self._session.auth = _NoLogin()
        self._session.headers.update({"User-Agent": AGENT, "Accept-Encoding": "identity"})  # bytes as published
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=manners.connections, max_retries=0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ending: object) -> None:
        self._session.close()

    def pause(self, failures: int, problem: Interrupted) -> None:
        """Wait after so many failures in a row. Raises Unreachable where no try is left, Halted at a stop."""
        manners = self._manners
        if problem.after > manners.longest_rest:
            raise Unreachable(f"{problem}; it asks for a rest of {problem.after:.0f} s")
        if failures >= manners.tries:
            raise Unreachable(f"{problem} ({manners.tries} tries)")
        if problem.after:  # asked of all connections, not of this one
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + problem.after)
        doubled = 2.0 ** min(failures - 1, 60) + random.random() if failures > 1 else random.uniform(0.5, 1.0)
        if self._stop.wait(max(problem.after, min(manners.longest_wait, manners.first_wait * doubled))):
            raise Halted

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[requests.Response]:
        """The answer to a GET, its body not yet read: of status 200, 206 or 416.

        Raises Interrupted, Refused, Unreachable or Halted.
        """
        if self._stop.wait(max(0.0, self._not_before - time.monotonic())):
            raise Halted
        try:
            response = self._ask(url, headers)
        except requests.exceptions.SSLError as error:
            raise Unreachable(f"no trusted https connection: {_short(error)}") from None
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise Interrupted(f"no answer: {_short(error)}") from None
        except requests.RequestException as error:
            raise Refused(_short(error)) from None
        with response:
            steps = [step.url for step in (*response.history, response)]
            if url.startswith("https:") and not all(step.startswith("https:") for step in steps):
                raise Refused("redirected from https to http")
            status = f"{response.status_code} {response.reason}"
            if response.status_code in PASSING:
                raise Interrupted(status, _retry_after(response))
            if response.status_code not in (200, 206, WITHOUT_RANGE):
                raise Refused(status)
            yield response

    def _ask(self, url: str, headers: Mapping[str, str] | None) -> requests.Response:
        """The head of the answer. A thread waits for it, since requests bounds each byte's time and not their sum."""
        answers = Queue[requests.Response | Exception]()

        def ask() -> None:
            try:
                answers.put(self._session.get(url, headers=headers, stream=True, timeout=self._timeout))
            except Exception as problem:
                answers.put(problem)

        Thread(target=ask, daemon=True).start()
        seconds = sum(self._timeout) + self._manners.patience
        try:
            answer = answers.get(timeout=seconds)
        except Empty:
            raise Unreachable(f"no whole answer in {seconds:.0f} s") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pieces(self, response: requests.Response) -> Iterator[bytes]:
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
            if self._stop.is_set():
                raise Halted
            count += len(piece)
            if (seconds := time.monotonic() - since) >= self._manners.patience:
                slowest = self._manners.slowest
                if count < slowest * seconds:
                    raise Unreachable(f"only {count} bytes in {seconds:.0f} s, fewer than {slowest} a second")
                since, count = time.monotonic(), 0


def _retry_after(response: requests.Response) -> float:
    """Seconds of Retry-After; 0 where it is not stated or no time."""
    try:
        return max(0.0, Retry().parse_retry_after(response.headers.get("Retry-After", "0")))
    except InvalidHeader:
        return 0.0


def _short(error: BaseException) -> str:
    """The innermost reason of a chain that requests wraps, in a few words."""
    inner: object = error
    while isinstance(inner, BaseException):
        causes = (getattr(inner, "reason", None), *inner.args)
        reason = next((cause for cause in causes if isinstance(cause, BaseException)), None)
        if reason is None:
            break
        inner = reason
    text = " ".join(str(inner).split()) or type(inner).__name__
    return text.rpartition("object at 0x")[2].partition(">: ")[2] or text[:160]


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


def part_of(target: Path) -> Path:
    """Where the bytes of a file are until it is whole."""
    return target.with_name(f"{target.name}.part")


def fetch(
    web: Web,
    url: str,
    target: Path,
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
    part = part_of(target)
    tag = part.with_name(f"{part.name}.json")
    failures = wrong = 0
    with naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            before = _size(part)
            try:
                _go_on(web, url, part, tag, bool(digest), on_bytes)
            except Interrupted as problem:
                failures = 1 if _size(part) > before else failures + 1
                web.pause(failures, problem)
                continue
            received = digest_of(part, algorithm)
            if received == (digest or received):
                break
            _discard(part, tag)
            wrong += 1
            if wrong == WRONG_TRIES:
                raise Refused(f"its {algorithm.upper()} is {received[:12]}..., the published one {digest[:12]}...")
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, target)
        tag.unlink(missing_ok=True)
    return received


def _go_on(web: Web, url: str, part: Path, tag: Path, has_sum: bool, on_bytes: Callable[[int], None]) -> None:
    """Bring a part to its end, by one request or none. Raises Interrupted, Refused, Unreachable or Halted."""
    known, have = _read_tag(tag), _size(part)
    if known is None or known.url != url or not (known.validator or has_sum):
        known, have = None, 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    if known and have:
        if have == known.total:
            return
        if known.validator:
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
            for piece in web.pieces(response):
                file.write(piece)
                on_bytes(len(piece))
    if now.total is not None and _size(part) != now.total:
        raise Interrupted(f"connection lost at {_size(part)} of {now.total} bytes")


def _answered(response: requests.Response, url: str) -> tuple[int, _Tag]:
    """Where an answer's bytes begin, -1 where it does not say, and what they are part of."""
    headers = response.headers
    etag = headers.get("ETag", "")
    validator = etag if etag.startswith('"') else headers.get("Last-Modified", "")  # a weak ETag says too little
    if response.status_code == 200:
        length = headers.get("Content-Length", "")
        return 0, _Tag(url, validator, int(length) if length.isascii() and length.isdigit() else None)
    match = CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    begin, _, total = match.groups() if match else (None, None, "*")
    return -1 if begin is None else int(begin), _Tag(url, validator, None if total == "*" else int(total))


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


def _discard(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


class _Seen(NamedTuple):
    digest: str
    size: int
    time: int
    """Modification time in ns."""


class Ledger:
    """The verified files of a dataset's folder; several threads may add to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._path = root / OF_DOWNLOAD / "verified.tsv"
        self._lock = Lock()
        self._seen = dict(_entries(self._path))
        self._descriptor = -1

    def __enter__(self) -> Self:
        with naming(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            if self._path.read_bytes()[-1:] not in (b"", b"\n"):
                os.write(self._descriptor, b"\n")  # a line that was cut by the end of its process
        return self

    def __exit__(self, *ending: object) -> None:
        os.close(self._descriptor)

    def add(self, path: str, digest: str) -> None:
        """Note a file of the folder as verified."""
        stat = (self.root / path).stat()
        line = f"{digest}\t{stat.st_size}\t{stat.st_mtime_ns}\t{path}\n"
        with self._lock, naming(self._path):
            self._seen[path] = _Seen(digest, stat.st_size, stat.st_mtime_ns)
            os.write(self._descriptor, line.encode())

    def knows(self, wanted: Wanted) -> bool:
        """Whether a file is there as it was verified, with the publisher's sum; without one, with any."""
        seen = self._seen.get(wanted.path)
        if seen is None or seen.digest != (wanted.digest or seen.digest):
            return False
        try:
            stat = (self.root / wanted.path).stat()
        except OSError:
            return False
        return (stat.st_size, stat.st_mtime_ns) == (seen.size, seen.time)

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


@contextmanager
def folder_lock(root: Path) -> Iterator[None]:
    """Within, no other process downloads into the folder. Raises DatasetError if one does."""
    path = root / OF_DOWNLOAD / "lock"
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


def fetch_all(
    wanted: Sequence[Wanted],
    base: str,
    ledger: Ledger,
    manners: Manners,
    progress: Callable[[int, int], None] = lambda received, total: None,
) -> tuple[int, dict[Wanted, str]]:
    """Fetch files from below the address `base`, several at a time; verified ones are noted in the ledger.

    Returns the bytes that came, and the files that did not, each with the reason: first those that the home refuses,
    then those that were not tried to the end, since it is out of reach. progress: called with the bytes that came, and
    those with what is still to come, until all is there.

    Raises what a thread met that concerns more than its file, e.g. OSError of a full disk, and KeyboardInterrupt.
    """
    stop, waiting = Event(), deque(wanted)
    news = Queue[tuple[Wanted, int | Exception | None] | None]()

    def work(web: Web) -> None:
        """Fetch files while there are any: tells the bytes of each and how it ended, at last None."""
        while not stop.is_set():
            try:
                item = waiting.popleft()
            except IndexError:
                break
            url = item.url if "://" in item.url else base + item.url
            end: Exception | None = None
            try:
                digest = fetch(
                    web,
                    url,
                    ledger.root / item.path,
                    digest=item.digest,
                    algorithm=item.algorithm,
                    on_bytes=lambda count, item=item: news.put((item, count)),  # type: ignore[misc]
                )
                ledger.add(item.path, digest)
            except Unreachable as problem:
                stop.set()  # here, so that no thread asks for another file meanwhile
                end = problem
            except Exception as problem:  # raised by the loop below if it is no failure of the home
                end = problem
            news.put((item, end))
        news.put(None)

    # Sizes are estimates, and an earlier part counts as had.
    ahead = {item: max(0, item.size - _size(part_of(ledger.root / item.path))) for item in wanted}
    to_come, received, refused, out_of_reach = sum(ahead.values()), 0, dict[Wanted, str](), ""
    with Web(manners, stop) as web:
        threads = [Thread(target=work, args=(web,), daemon=True) for _ in range(min(manners.connections, len(wanted)))]
        try:
            for thread in threads:
                thread.start()
            for _ in threads:
                for item, event in iter(news.get, None):
                    if isinstance(event, int):
                        received += event
                        expected = min(event, ahead[item])
                        ahead[item] -= expected
                        to_come -= expected
                    elif isinstance(event, Unreachable):
                        out_of_reach = out_of_reach or str(event)
                    elif event is None or isinstance(event, Refused):
                        to_come -= ahead.pop(item)
                        if event:
                            refused[item] = str(event)
                    elif not isinstance(event, Halted):
                        raise event
                    if received and to_come:
                        progress(received, received + to_come)
        except BaseException:
            stop.set()
            until = time.monotonic() + PATIENCE
            for thread in threads:
                if thread.ident is not None:
                    thread.join(max(0.0, until - time.monotonic()))
            raise
        for thread in threads:  # the next home may be asked for the same files
            thread.join()
    return received, refused | dict.fromkeys(ahead, out_of_reach)
