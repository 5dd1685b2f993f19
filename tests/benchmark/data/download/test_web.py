"""What is not taken from an answer, and what ends a wait."""

from __future__ import annotations

import gzip
from io import BytesIO
from threading import Event, Timer

import pytest
import requests
from urllib3 import HTTPResponse

from benchmark.data.download.catalogue import Manners
from benchmark.data.download.web import Halted, Interrupted, Refused, Unreachable, Web, pieces


def test_https_is_not_left_for_http(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(session: requests.Session, url: str, **more: object) -> requests.Response:
        response = requests.Response()
        response.status_code, response.url = 200, "http://elsewhere/a"
        response._content_consumed = True  # type: ignore[attr-defined]  # else it closes a connection
        return response

    monkeypatch.setattr(requests.Session, "get", answer)
    with Web(Manners(), Event()) as web:
        with pytest.raises(Refused, match="redirected from https to http"), web.get("https://here/a"):
            pass
        with web.get("http://here/a") as response:
            assert response.status_code == 200


def test_a_connection_that_is_not_trusted_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(session: requests.Session, url: str, **more: object) -> requests.Response:
        raise requests.exceptions.SSLError("certificate has expired")

    monkeypatch.setattr(requests.Session, "get", answer)
    with (
        Web(Manners(), Event()) as web,
        pytest.raises(Unreachable, match=r"^no trusted https connection: certificate has expired$"),
        web.get("https://here/a"),
    ):
        pass


def test_the_first_wait_is_between_half_and_all_of_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Event, "wait", lambda stop, seconds: waits.append(seconds))
    for at in (0.0, 1.0):
        monkeypatch.setattr("random.uniform", lambda low, high, at=at: low + at * (high - low))
        with Web(Manners(first_wait=8.0), Event()) as web:
            web.pause(web.tries(), Interrupted("503 Service Unavailable", after=0.0))
    assert waits == [4.0, 8.0]


def test_waits_double_with_jitter_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Event, "wait", lambda stop, seconds: waits.append(seconds))
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    monkeypatch.setattr("random.random", lambda: 0.5)
    with Web(Manners(first_wait=8.0, longest_wait=50.0, tries=5), Event()) as web:
        tries = web.tries()
        for _ in range(4):
            tries = web.pause(tries, Interrupted("503 Service Unavailable"))
        with pytest.raises(Unreachable, match=r"^503 Service Unavailable \(5 tries\)$"):
            web.pause(tries, Interrupted("503 Service Unavailable"))
    assert waits == [4.0, 16.0 + 4.0, 32.0 + 4.0, 50.0]


def test_a_failed_request_is_tried_again_at_once_unless_the_server_asks_to_wait() -> None:
    assert (Interrupted("lost").after, Interrupted("busy", 3.0).after) == (0.0, 3.0)


def test_a_compressed_body_comes_as_it_was_sent() -> None:
    sent = gzip.compress(b"a,b")
    response = requests.Response()
    response.raw = HTTPResponse(BytesIO(sent), {"content-encoding": "gzip"}, preload_content=False)
    assert b"".join(pieces(response, Event())) == sent


def test_a_stop_ends_a_wait() -> None:
    stop = Event()
    Timer(0.05, stop.set).start()
    with Web(Manners(), stop) as web:
        with pytest.raises(Halted):
            web.pause(web.tries(), Interrupted("503 Service Unavailable", after=600.0))
        with pytest.raises(Halted), web.get("http://127.0.0.1:1/a"):
            pass
