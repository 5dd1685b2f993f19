"""Polite requests: few connections, waits that grow, rests that a server asks for, and one line for each way to fail.

requests and urllib3 do the talking; urllib3's `Retry` does the arithmetic of waiting and reads Retry-After. The waiting
itself is ours, because a stop has to end it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError, InvalidHeader, MaxRetryError
from urllib3.util.retry import Retry

from benchmark.data.download.catalogue import Manners

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
            response = self._session.get(url, headers=headers, stream=True, timeout=self._timeout())
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


def pieces(response: requests.Response, stop: Event) -> Iterator[bytes]:
    """The body as it comes, undecoded. Raises Interrupted where the connection ends early, Halted at a stop."""
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
