"""What is not taken from an answer, and what ends a wait.

One file from a home that behaves badly: resumed, verified, or one line of why not.

Several files at once: few connections, rests that all of them keep, a home that is given up as a whole.

What is noted of verified files survives an end at any moment, and is believed only while the file is as it was.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest
import requests
from urllib3 import HTTPResponse

from benchmark.data.datasets.base import DatasetError
from benchmark.extras import download_files as fetch_module
from benchmark.extras.download_catalogue import Manners, Wanted
from benchmark.extras.download_files import (
    CHUNK,
    TICK_SECONDS,
    Halted,
    Interrupted,
    Ledger,
    Refused,
    Result,
    Unreachable,
    Web,
    _answered,
    _Count,
    _put,
    _Tag,
    fetch,
    fetch_all,
    folder_lock,
    part_of,
    pieces,
)
from tests.benchmark.extras.download.server import PIECE, Fault, Home, serving


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
    assert b"".join(pieces(response, Event(), Manners())) == sent


def test_a_stop_ends_a_wait() -> None:
    stop = Event()
    Timer(0.05, stop.set).start()
    with Web(Manners(), stop) as web:
        with pytest.raises(Halted):
            web.pause(web.tries(), Interrupted("503 Service Unavailable", after=600.0))
        with pytest.raises(Halted), web.get("http://127.0.0.1:1/a"):
            pass


CONTENT = bytes(range(256)) * 400
OTHER = bytes(reversed(CONTENT))
DIGEST = hashlib.sha256(CONTENT).hexdigest()
QUICK = Manners(tries=4, first_wait=0.01, longest_wait=0.05, timeout=2)


@pytest.fixture
def home() -> Iterator[Home]:
    with serving({"a.dat": CONTENT}) as home:
        yield home


def get(home: Home, target: Path, *, digest: str = DIGEST, manners: Manners = QUICK) -> str:
    stop = Event()
    with Web(manners, stop) as web:
        return fetch(web, f"{home.url}a.dat", target, stop, digest=digest)


def ends_right(home: Home, target: Path, digest: str = DIGEST) -> None:
    assert get(home, target, digest=digest) == DIGEST
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def left_half(home: Home, target: Path) -> None:
    """A part of two thirds of the file, as an earlier process leaves it."""
    home.faults["a.dat"].append(Fault("drop", 1))
    with pytest.raises(Unreachable, match="connection lost"):
        get(home, target, manners=QUICK.model_copy(update={"tries": 1}))
    assert 0 < part_of(target) < len(CONTENT)


def test_a_file_comes_whole_and_is_verified(home: Home, tmp_path: Path) -> None:
    ends_right(home, tmp_path / "deep" / "a.dat")
    assert home.whole["a.dat"] == 1


def test_a_dropped_connection_goes_on_where_it_ended(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("drop", 3))
    ends_right(home, tmp_path / "a.dat")
    starts = [asked for _, _, asked in home.asked]
    assert starts[0] == ""
    assert [start != "" for start in starts[1:]] == [True] * 3
    assert home.sent["a.dat"] == len(CONTENT)


def test_a_later_process_goes_on(home: Home, tmp_path: Path) -> None:
    left_half(home, tmp_path / "a.dat")
    ends_right(home, tmp_path / "a.dat")
    assert (home.sent["a.dat"], home.whole["a.dat"]) == (len(CONTENT), 0)
    assert home.headers[-1]["If-Range"] == f'"{hashlib.md5(CONTENT).hexdigest()}"'


def test_a_range_that_ends_early_goes_on(home: Home, tmp_path: Path) -> None:
    """As of homes that bound their answers."""
    left_half(home, tmp_path / "a.dat")
    home.faults["a.dat"].append(Fault("length", 1, -1000))
    ends_right(home, tmp_path / "a.dat")
    assert home.sent["a.dat"] == len(CONTENT)


def test_a_home_that_sends_a_byte_now_and_then_is_out_of_reach(home: Home, tmp_path: Path) -> None:
    home.delay = 0.05
    slow = QUICK.model_copy(update={"slowest": 10**6, "patience": 0.1})
    with pytest.raises(Unreachable, match=r"^only \d+ bytes in 0 s, fewer than 1000000 a second$"):
        get(home, tmp_path / "a.dat", manners=slow)
    ends_right(home, tmp_path / "a.dat")


def test_a_home_whose_headers_come_a_byte_now_and_then_is_out_of_reach(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("slow-head", 1))
    slow = QUICK.model_copy(update={"timeout": 0.3, "patience": 0.3})
    with pytest.raises(Unreachable, match=r"^no whole answer in 1 s$"):
        get(home, tmp_path / "a.dat", manners=slow)
    ends_right(home, tmp_path / "a.dat")


@pytest.mark.parametrize("digest", [DIGEST, ""])
def test_a_part_that_is_whole_is_not_asked_for(home: Home, tmp_path: Path, digest: str) -> None:
    """As a process leaves it that is killed between the last byte and the new name."""
    left_half(home, tmp_path / "a.dat")
    (tmp_path / "a.dat.part").write_bytes(CONTENT)
    asked = len(home.asked)
    ends_right(home, tmp_path / "a.dat", digest)
    assert len(home.asked) == asked


@pytest.mark.parametrize("digest", [DIGEST, ""])
@pytest.mark.parametrize("fault", ["no-range", "wrong-range"])
def test_a_home_that_ignores_ranges_is_asked_for_all(home: Home, tmp_path: Path, fault: str, digest: str) -> None:
    left_half(home, tmp_path / "a.dat")
    home.faults["a.dat"].append(Fault(fault, 1))
    asked = len(home.asked)
    ends_right(home, tmp_path / "a.dat", digest)
    assert len(home.asked) - asked == (1 if fault == "no-range" else 2)


@pytest.mark.parametrize("digest", [DIGEST, ""])
@pytest.mark.parametrize("ignores", [False, True])
def test_a_file_that_changed_meanwhile_is_not_glued_together(
    home: Home, tmp_path: Path, digest: str, ignores: bool
) -> None:
    """Also where the home answers If-Range with a range of the new file."""
    home.files["a.dat"] = OTHER
    left_half(home, tmp_path / "a.dat")
    home.files["a.dat"] = CONTENT
    if ignores:
        home.faults["a.dat"].append(Fault("ignores-if-range"))
    ends_right(home, tmp_path / "a.dat", digest)


@pytest.mark.parametrize("fault", ["no-validator", "weak"])
def test_without_a_validator_a_part_goes_on_by_the_sum_alone(home: Home, tmp_path: Path, fault: str) -> None:
    home.faults["a.dat"].append(Fault(fault))
    for number, (digest, sent) in enumerate([(DIGEST, len(CONTENT)), ("", 0)]):
        folder = tmp_path / str(number)
        home.sent.clear()
        left_half(home, folder / "a.dat")
        ends_right(home, folder / "a.dat", digest)
        assert home.sent["a.dat"] == sent or (not digest and home.sent["a.dat"] > len(CONTENT))


def test_a_glued_part_is_found_by_its_sum(home: Home, tmp_path: Path) -> None:
    """Without validators nothing else tells that the file has changed."""
    home.faults["a.dat"].append(Fault("no-validator"))
    home.files["a.dat"] = OTHER
    left_half(home, tmp_path / "a.dat")
    home.files["a.dat"] = CONTENT
    ends_right(home, tmp_path / "a.dat")


def test_wrong_bytes_are_fetched_once_more_and_then_refused(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("wrong", 1))
    ends_right(home, tmp_path / "a.dat")
    home.faults["a.dat"].append(Fault("wrong"))
    asked = len(home.asked)
    with pytest.raises(Refused, match=rf"^its SHA256 is [0-9a-f]{{12}}..., the published one {DIGEST[:12]}...$"):
        get(home, tmp_path / "b" / "a.dat")
    assert len(home.asked) == asked + 2
    assert list((tmp_path / "b").iterdir()) == []


@pytest.mark.parametrize("by", [-1000, 1000])
def test_a_wrong_length_does_not_pass(home: Home, tmp_path: Path, by: int) -> None:
    home.faults["a.dat"].append(Fault("length", 1, by))
    ends_right(home, tmp_path / "a.dat")


def test_a_wrong_length_at_every_answer_ends(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("length", value=-1000))
    with pytest.raises(Refused, match="its SHA256 is"):
        get(home, tmp_path / "a.dat")


def test_a_missing_file_is_asked_for_once(home: Home, tmp_path: Path) -> None:
    del home.files["a.dat"]
    with pytest.raises(Refused, match=r"^404 Not Found$"):
        get(home, tmp_path / "a.dat")
    assert len(home.asked) == 1


def test_an_asked_rest_is_kept(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("status", 1, (503, {"Retry-After": "1"})))
    ends_right(home, tmp_path / "a.dat")
    (first, _, _), (second, _, _) = home.asked
    assert 1.0 <= second - first < 1.6


def test_a_rest_that_is_too_long_ends(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("status", 1, (429, {"Retry-After": "7200"})))
    with pytest.raises(Unreachable, match="asks for a rest of 7200 s"):
        get(home, tmp_path / "a.dat")


@pytest.mark.parametrize("header", [{}, {"Retry-After": "soon"}])
def test_waits_grow_and_tries_end(home: Home, tmp_path: Path, header: dict[str, str]) -> None:
    home.faults["a.dat"].append(Fault("status", value=(500, header)))
    with pytest.raises(Unreachable, match=r"^500 Internal Server Error \(4 tries\)$"):
        get(home, tmp_path / "a.dat", manners=Manners(tries=4, first_wait=0.05, longest_wait=0.2))
    times = [time for time, _, _ in home.asked]
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert len(waits) == 3
    assert 0.02 < waits[0] < 0.2
    assert waits[1] >= 0.1
    assert waits[2] >= 0.2


def test_a_redirect_is_followed(home: Home, tmp_path: Path) -> None:
    home.files["elsewhere/a.dat"] = home.files.pop("a.dat")
    home.faults["a.dat"].append(Fault("redirect", value="/elsewhere/a.dat"))
    home.faults["elsewhere/a.dat"].append(Fault("drop", 1))
    ends_right(home, tmp_path / "a.dat")
    assert home.sent["elsewhere/a.dat"] == len(CONTENT)


def test_a_circle_of_redirects_ends(home: Home, tmp_path: Path) -> None:
    home.faults["a.dat"].append(Fault("redirect", value="/a.dat"))
    with pytest.raises(Refused, match="redirects"):
        get(home, tmp_path / "a.dat")


def test_a_home_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with serving({}) as gone:
        pass
    with pytest.raises(Unreachable, match=r"^no answer: .*refused.*\(4 tries\)$"):
        get(gone, tmp_path / "a.dat")


def test_a_silent_home_is_given_up(home: Home, tmp_path: Path) -> None:
    home.delay = 5.0
    with pytest.raises(Unreachable, match=r"connection lost|no answer"):
        get(home, tmp_path / "a.dat", manners=QUICK.model_copy(update={"timeout": 0.1, "tries": 1}))


def test_no_login_of_the_user_is_sent(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    get(home, tmp_path / "x" / "a.dat")
    (headers,) = home.headers
    assert "Authorization" not in headers
    assert headers["Accept-Encoding"] == "identity"


def test_a_full_disk_is_the_target_s(home: Home, disk: Path) -> None:
    home.files["a.dat"] = CONTENT * 4
    with pytest.raises(OSError, match="No space left") as caught:
        get(home, disk / "a.dat", digest=hashlib.sha256(CONTENT * 4).hexdigest())
    assert caught.value.filename == str(disk / "a.dat")


@pytest.mark.parametrize("length", [None, "", "x", "-5", "\u00b2"])
def test_a_length_that_is_no_number_is_unknown(length: str | None) -> None:
    response = requests.Response()
    response.status_code = 200
    response.headers.update({} if length is None else {"Content-Length": length})
    assert _answered(response, "http://here/a") == (0, _Tag("http://here/a", "", None))


@pytest.mark.parametrize(
    ("stated", "begin", "total"),
    [("bytes 5-9/10", 5, 10), ("bytes 5-9/*", 5, None), ("", -1, None), ("pages 5-9/10", -1, None)],
)
def test_a_part_begins_where_the_answer_says(stated: str, begin: int, total: int | None) -> None:
    response = requests.Response()
    response.status_code = 206
    response.headers.update({"Content-Range": stated, "Last-Modified": "Monday"})
    assert _answered(response, "http://here/a") == (begin, _Tag("http://here/a", "Monday", total))


def test_a_whole_part_without_its_tag_is_taken(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a kill after the last byte, beside a tag that a cleaner of disks took."""
    put = fetch_module._put

    def without_tag(part: Path, target: Path) -> None:
        part.with_name(f"{part.name}.json").unlink()
        put(part, target)

    monkeypatch.setattr(fetch_module, "_put", without_tag)
    ends_right(home, tmp_path / "a.dat")


@pytest.mark.parametrize("by", [0, -1])
def test_a_part_whose_length_nobody_stated_is_whole_where_the_home_says_so(home: Home, tmp_path: Path, by: int) -> None:
    target = tmp_path / "a.dat"
    (tmp_path / "a.dat.part").write_bytes(CONTENT + b"x" * -by)
    validator = f'"{hashlib.md5(CONTENT).hexdigest()}"'
    tag = {"url": f"{home.url}a.dat", "validator": validator, "total": None}
    (tmp_path / "a.dat.part.json").write_text(json.dumps(tag))
    ends_right(home, target)
    assert (len(home.asked), home.whole["a.dat"]) == ((1, 0) if by == 0 else (2, 1))


def test_a_length_that_is_stated_on_the_way_is_kept(home: Home, tmp_path: Path) -> None:
    (tmp_path / "a.dat.part").write_bytes(CONTENT[: len(CONTENT) // 3])
    validator = f'"{hashlib.md5(CONTENT).hexdigest()}"'
    tag = tmp_path / "a.dat.part.json"
    tag.write_text(json.dumps({"url": f"{home.url}a.dat", "validator": validator, "total": None}))
    home.faults["a.dat"].append(Fault("drop", 1))
    with pytest.raises(Unreachable, match="connection lost"):
        get(home, tmp_path / "a.dat", manners=QUICK.model_copy(update={"tries": 1}))
    assert json.loads(tag.read_text())["total"] == len(CONTENT)
    ends_right(home, tmp_path / "a.dat")


def test_a_file_that_has_come_is_not_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, closed, really_open, really_close = [], [], os.open, os.close

    def seen_open(*arguments: Any, **options: Any) -> int:
        opened.append(really_open(*arguments, **options))
        return opened[-1]

    def seen_close(descriptor: int) -> None:
        closed.append(descriptor)
        really_close(descriptor)

    monkeypatch.setattr(fetch_module.os, "open", seen_open)
    monkeypatch.setattr(fetch_module.os, "close", seen_close)
    (tmp_path / "part").write_bytes(b"an ECG")
    _put(tmp_path / "part", tmp_path / "file")
    assert opened
    assert set(opened) <= set(closed)


POOL_QUICK = Manners(connections=3, tries=2, first_wait=0.01, longest_wait=0.05, timeout=2)


@pytest.fixture
def pool_home() -> Iterator[Home]:
    with serving({f"{number:02d}": bytes([number]) * 9000 for number in range(12)}) as home:
        yield home


def all_of(home: Home, root: Path, told: list[tuple[int, int]] | None = None, size: int = 8000) -> Result:
    wanted = [
        Wanted(name, name, hashlib.sha256(content).hexdigest(), size) for name, content in sorted(home.files.items())
    ]
    with Ledger(root) as ledger:
        return fetch_all(
            wanted, home.url, ledger, POOL_QUICK, lambda *step: told.append(step) if told is not None else None
        )


def test_of_nothing_asked_for_nothing_came() -> None:
    assert vars(Result()) == {"fetched": [], "refused": [], "left": [], "unreachable": "", "received": 0}


def test_no_more_connections_than_allowed(pool_home: Home, tmp_path: Path) -> None:
    pool_home.delay = 0.02
    told: list[tuple[int, int]] = []
    result = all_of(pool_home, tmp_path, told)
    assert (len(result.fetched), result.refused, result.left, result.received) == (12, [], [], 12 * 9000)
    assert 1 < pool_home.most_at_once <= 3
    assert told
    assert all(done < total for done, total in told)


def test_what_is_still_to_come_is_that_of_the_files_that_have_not_come(pool_home: Home, tmp_path: Path) -> None:
    pool_home.delay = 0.02
    told: list[tuple[int, int]] = []
    all_of(pool_home, tmp_path, told, size=20_000)
    done, total = told[-1]
    assert done > 8 * 9000
    assert total - done <= 3 * 20_000


def test_a_part_that_is_there_is_not_still_to_come(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    (tmp_path / "00.part").write_bytes(bytes(5000))
    count = _Count([Wanted(name, name, "", 8000) for name in ("00", "01")], Ledger(tmp_path))
    count.add("00", 1000)
    count.tell(lambda *step: told.append(step))
    assert told == [(1000, 11_000)]


def test_all_connections_keep_a_rest(pool_home: Home, tmp_path: Path) -> None:
    pool_home.faults["00"].append(Fault("status", 1, (503, {"Retry-After": "2"})))
    pool_home.delay = 0.05
    assert len(all_of(pool_home, tmp_path).fetched) == 12
    began = next(time for time, path, _ in pool_home.asked if path == "00")
    meanwhile = [path for time, path, _ in pool_home.asked if began + 0.7 < time < began + 1.95]
    assert meanwhile == [], "those under way end, and no other begins"


def test_a_file_that_is_refused_does_not_stop_the_others(pool_home: Home, tmp_path: Path) -> None:
    pool_home.faults["03"].append(Fault("status", value=(404, {})))
    result = all_of(pool_home, tmp_path)
    assert [(item.path, reason) for item, reason in result.refused] == [("03", "404 Not Found")]
    assert len(result.fetched) == 11
    assert result.left == []


def test_no_thread_is_left_that_writes_where_the_next_home_does(pool_home: Home, tmp_path: Path) -> None:
    pool_home.delay = 0.2
    pool_home.faults["02"].append(Fault("status", value=(503, {"Retry-After": "5000"})))
    assert all_of(pool_home, tmp_path).unreachable
    assert [own.name for own in threading.enumerate() if own.name.endswith("(work)")] == []


def test_a_home_out_of_reach_is_given_up_as_a_whole(pool_home: Home, tmp_path: Path) -> None:
    for name in list(pool_home.files)[4:]:
        pool_home.faults[name].append(Fault("status", value=(500, {})))
    result = all_of(pool_home, tmp_path)
    assert result.unreachable == "500 Internal Server Error (2 tries)"
    assert {item.path for item in result.fetched} <= {"00", "01", "02", "03"}
    assert len(result.fetched) + len(result.left) == 12, "one that was under way is left, with its part"
    assert len({path for _, path, _ in pool_home.asked}) < 12


def test_what_is_no_failure_of_the_home_is_raised(pool_home: Home, tmp_path: Path) -> None:
    (tmp_path / "05").mkdir()
    with pytest.raises(OSError, match="05"):
        all_of(pool_home, tmp_path)


def test_progress_is_told_while_a_file_is_under_way(tmp_path: Path) -> None:
    content, told = bytes(4 * CHUNK), list[tuple[int, int]]()
    with serving({"00": content}) as home, Ledger(tmp_path) as ledger:
        home.delay = 3 * TICK_SECONDS * PIECE / len(content)
        item = Wanted("00", "00", hashlib.sha256(content).hexdigest(), len(content))
        fetch_all([item], home.url, ledger, POOL_QUICK, lambda *step: told.append(step))
    assert any(done < total == len(content) for done, total in told)


LEDGER_CONTENT = b"an ECG"
WANTED = Wanted("a", "a.dat", hashlib.sha256(LEDGER_CONTENT).hexdigest(), 6)


def written(root: Path) -> Path:
    (root / "a.dat").write_bytes(LEDGER_CONTENT)
    with Ledger(root) as ledger:
        ledger.add("a.dat", WANTED.digest)
    return root / ".download" / "verified.tsv"


def test_a_ledger_begins_empty_and_has_a_line_a_file(tmp_path: Path) -> None:
    with Ledger(tmp_path):
        assert (tmp_path / ".download" / "verified.tsv").read_bytes() == b""
    file = written(tmp_path)
    with Ledger(tmp_path):
        assert file.read_bytes().count(b"\n") == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to count open files")
def test_a_ledger_leaves_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    written(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_is_known_until_it_changes(tmp_path: Path) -> None:
    written(tmp_path)
    assert Ledger(tmp_path).knows(WANTED)
    assert Ledger(tmp_path).bytes_here() == 6
    assert not Ledger(tmp_path).knows(WANTED._replace(digest="0" * 64)), "the publisher has another file now"
    os.utime(tmp_path / "a.dat", ns=(1, 1))
    assert not Ledger(tmp_path).knows(WANTED)
    with Ledger(tmp_path) as ledger:
        assert ledger.holds(WANTED), "read and right"
    assert Ledger(tmp_path).knows(WANTED)
    (tmp_path / "a.dat").write_bytes(b"another")
    with Ledger(tmp_path) as ledger:
        assert not ledger.holds(WANTED)
    (tmp_path / "a.dat").unlink()
    assert not Ledger(tmp_path).knows(WANTED)


@pytest.mark.parametrize("keep", range(1, 90, 8))
def test_a_line_that_was_cut_is_no_entry_and_harms_no_later_one(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-keep] if keep < len(whole) else b"")
    assert not Ledger(tmp_path).knows(WANTED)
    with Ledger(tmp_path) as ledger:
        ledger.add("a.dat", WANTED.digest)
    assert Ledger(tmp_path).knows(WANTED)


def test_a_line_that_is_no_text_harms_no_other(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(b"\xff\xfe\n" + path.read_bytes())
    assert Ledger(tmp_path).knows(WANTED)


def test_without_a_sum_only_what_was_noted_counts(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(LEDGER_CONTENT)
    with Ledger(tmp_path) as ledger:
        assert not ledger.holds(WANTED._replace(digest=""))
    written(tmp_path)
    with Ledger(tmp_path) as ledger:
        assert ledger.holds(WANTED._replace(digest=""))


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        folder_lock(tmp_path),
        pytest.raises(DatasetError, match="another process downloads into"),
        folder_lock(tmp_path),
    ):
        pass
    with folder_lock(tmp_path):
        pass
