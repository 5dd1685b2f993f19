"""One file from a home that behaves badly, several at once, and what is noted of files that were verified."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Event, Timer

import pytest
import requests
from urllib3 import HTTPResponse

from benchmark.data.datasets.base import DatasetError
from benchmark.extras.download_catalogue import Manners, Wanted
from benchmark.extras.download_files import (
    CHUNK,
    Halted,
    Interrupted,
    Ledger,
    Refused,
    Unreachable,
    Web,
    _answered,
    _Tag,
    fetch,
    fetch_all,
    folder_lock,
    part_of,
)
from tests.benchmark.extras.download.server import Fault, Home, serving


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


def test_waits_double_with_jitter_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Event, "wait", lambda stop, seconds: waits.append(seconds))
    monkeypatch.setattr("random.random", lambda: 0.5)
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    busy = Interrupted("503 Service Unavailable")
    with Web(Manners(first_wait=8.0, longest_wait=50.0, tries=5), Event()) as web:
        for failures in range(1, 5):
            web.pause(failures, busy)
        web.pause(1, Interrupted("429 Too Many Requests", after=900.0))
        with pytest.raises(Unreachable, match=r"^503 Service Unavailable \(5 tries\)$"):
            web.pause(5, busy)
        with pytest.raises(Unreachable, match=r"^429 Too Many Requests; it asks for a rest of 901 s$"):
            web.pause(1, Interrupted("429 Too Many Requests", after=901.0))
    assert waits == [6.0, 16.0 + 4.0, 32.0 + 4.0, 50.0, 900.0]


def test_a_compressed_body_comes_as_it_was_sent() -> None:
    sent = gzip.compress(b"a,b")
    response = requests.Response()
    response.raw = HTTPResponse(BytesIO(sent), {"content-encoding": "gzip"}, preload_content=False)
    with Web(Manners(), Event()) as web:
        assert b"".join(web.pieces(response)) == sent


def test_a_stop_ends_a_wait() -> None:
    stop = Event()
    Timer(0.05, stop.set).start()
    with Web(Manners(), stop) as web:
        with pytest.raises(Halted):
            web.pause(1, Interrupted("503 Service Unavailable", after=600.0))
        with pytest.raises(Halted), web.get("http://127.0.0.1:1/a"):
            pass


CONTENT = bytes(range(256)) * 400
OTHER = bytes(reversed(CONTENT))
DIGEST = hashlib.sha256(CONTENT).hexdigest()
VALIDATOR = f'"{hashlib.md5(CONTENT).hexdigest()}"'
QUICK = Manners(tries=4, first_wait=0.01, longest_wait=0.05, timeout=2)


@pytest.fixture
def home() -> Iterator[Home]:
    with serving({"a.dat": CONTENT}) as home:
        yield home


def get(home: Home, target: Path, *, digest: str = DIGEST, **manners: float) -> str:
    with Web(QUICK.model_copy(update=manners), Event()) as web:
        return fetch(web, f"{home.url}a.dat", target, digest=digest)


def ends_right(home: Home, target: Path, digest: str = DIGEST) -> None:
    assert get(home, target, digest=digest) == DIGEST
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def left_half(home: Home, target: Path) -> None:
    """A part of two thirds of the file, as an earlier process leaves it."""
    home.faults["a.dat"].append(Fault("drop", 1))
    with pytest.raises(Unreachable, match="connection lost"):
        get(home, target, tries=1)
    assert 0 < part_of(target).stat().st_size < len(CONTENT)


def write_part(target: Path, content: bytes, home: Home, total: int | None) -> Path:
    """A part and its tag; returns the tag."""
    part_of(target).write_bytes(content)
    tag = target.with_name(f"{target.name}.part.json")
    tag.write_text(json.dumps({"url": f"{home.url}a.dat", "validator": VALIDATOR, "total": total}))
    return tag


@pytest.mark.parametrize(
    "fault", [Fault("drop", 5), Fault("wrong", 1), Fault("length", 1, -1000), Fault("length", 1, 1000)], ids=str
)
def test_a_file_comes_whole_although_an_answer_was_not(home: Home, tmp_path: Path, fault: Fault) -> None:
    home.faults["a.dat"].append(fault)
    ends_right(home, tmp_path / "deep" / "a.dat")
    if fault.kind == "drop":
        assert home.sent["a.dat"] == len(CONTENT), "each answer goes on where the last one ended"
        assert [start != "" for _, _, start in home.asked] == [False, *[True] * 5]


def test_a_later_process_goes_on(home: Home, tmp_path: Path) -> None:
    """Also where a home bounds its answers, so that a range ends early."""
    left_half(home, tmp_path / "a.dat")
    home.faults["a.dat"].append(Fault("length", 1, -1000))
    ends_right(home, tmp_path / "a.dat")
    assert (home.sent["a.dat"], home.whole["a.dat"]) == (len(CONTENT), 0)
    assert home.headers[-1]["If-Range"] == VALIDATOR


@pytest.mark.parametrize(
    ("faults", "manners", "message", "requests_made"),
    [
        ({"delay": 0.05}, {"slowest": 10**6, "patience": 0.1}, r"^only \d+ bytes in 0 s, fewer than 1000000 a", 1),
        ({"slow-head": None}, {"timeout": 0.3, "patience": 0.3}, r"^no whole answer in 1 s$", 1),
        ({"delay": 5.0}, {"timeout": 0.1, "tries": 1}, "connection lost|no answer", 1),
        ({"status": (429, {"Retry-After": "7200"})}, {}, "asks for a rest of 7200 s", 1),
        ({"status": (500, {})}, {}, r"^500 Internal Server Error \(4 tries\)$", 4),
        ({"status": (500, {"Retry-After": "soon"})}, {}, r"^500 Internal Server Error \(4 tries\)$", 4),
    ],
)
def test_a_home_that_does_not_answer_usefully_is_out_of_reach(
    home: Home, tmp_path: Path, faults: dict[str, object], manners: dict[str, float], message: str, requests_made: int
) -> None:
    ((kind, value),) = faults.items()
    if kind == "delay":
        home.delay = float(str(value))
    else:
        home.faults["a.dat"].append(Fault(kind, value=value))
    with pytest.raises(Unreachable, match=message):
        get(home, tmp_path / "a.dat", **manners)
    assert len(home.asked) == requests_made


def test_a_home_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with serving({}) as gone:
        pass
    with pytest.raises(Unreachable, match=r"^no answer: .*refused.*\(4 tries\)$"):
        get(gone, tmp_path / "a.dat")


@pytest.mark.parametrize(
    ("fault", "message", "requests_made"),
    [
        (Fault("wrong"), rf"^its SHA256 is [0-9a-f]{{12}}..., the published one {DIGEST[:12]}...$", 2),
        (Fault("length", value=-1000), "its SHA256 is", 2),
        (Fault("status", value=(404, {})), "^404 Not Found$", 1),
        (Fault("redirect", value="/a.dat"), "redirects", 31),
    ],
    ids=str,
)
def test_a_home_that_does_not_give_a_file_refuses_it(
    home: Home, tmp_path: Path, fault: Fault, message: str, requests_made: int
) -> None:
    home.faults["a.dat"].append(fault)
    with pytest.raises(Refused, match=message):
        get(home, tmp_path / "a.dat")
    assert len(home.asked) == requests_made
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("digest", [DIGEST, ""])
def test_a_part_that_is_whole_is_not_asked_for(home: Home, tmp_path: Path, digest: str) -> None:
    """As a process leaves it that is killed between the last byte and the new name."""
    write_part(tmp_path / "a.dat", CONTENT, home, len(CONTENT))
    ends_right(home, tmp_path / "a.dat", digest)
    assert home.asked == []


@pytest.mark.parametrize("digest", [DIGEST, ""])
@pytest.mark.parametrize(("fault", "requests_made"), [("no-range", 1), ("wrong-range", 2)])
def test_a_home_that_ignores_ranges_is_asked_for_all(
    home: Home, tmp_path: Path, fault: str, requests_made: int, digest: str
) -> None:
    write_part(tmp_path / "a.dat", CONTENT[:1000], home, len(CONTENT))
    home.faults["a.dat"].append(Fault(fault, 1))
    ends_right(home, tmp_path / "a.dat", digest)
    assert len(home.asked) == requests_made


@pytest.mark.parametrize("digest", [DIGEST, ""])
@pytest.mark.parametrize("fault", ["", "ignores-if-range", "no-validator"])
def test_a_file_that_changed_meanwhile_is_not_glued_together(
    home: Home, tmp_path: Path, digest: str, fault: str
) -> None:
    """Also where the home answers If-Range with a range of the new file, or where the sum alone tells the change."""
    if fault:
        home.faults["a.dat"].append(Fault(fault))
    home.files["a.dat"] = OTHER
    left_half(home, tmp_path / "a.dat")
    home.files["a.dat"] = CONTENT
    ends_right(home, tmp_path / "a.dat", digest)


@pytest.mark.parametrize("fault", ["no-validator", "weak"])
@pytest.mark.parametrize(("digest", "again"), [(DIGEST, False), ("", True)])
def test_without_a_validator_a_part_goes_on_by_the_sum_alone(
    home: Home, tmp_path: Path, fault: str, digest: str, again: bool
) -> None:
    home.faults["a.dat"].append(Fault(fault))
    left_half(home, tmp_path / "a.dat")
    ends_right(home, tmp_path / "a.dat", digest)
    assert (home.sent["a.dat"] > len(CONTENT)) is again


@pytest.mark.parametrize(("more", "requests_made", "whole"), [(b"", 1, 0), (b"x", 2, 1)])
def test_a_part_whose_length_nobody_stated_is_whole_where_the_home_says_so(
    home: Home, tmp_path: Path, more: bytes, requests_made: int, whole: int
) -> None:
    write_part(tmp_path / "a.dat", CONTENT + more, home, None)
    ends_right(home, tmp_path / "a.dat")
    assert (len(home.asked), home.whole["a.dat"]) == (requests_made, whole)


def test_a_length_that_is_stated_on_the_way_is_kept(home: Home, tmp_path: Path) -> None:
    tag = write_part(tmp_path / "a.dat", CONTENT[: len(CONTENT) // 3], home, None)
    left_half(home, tmp_path / "a.dat")
    assert json.loads(tag.read_text())["total"] == len(CONTENT)
    ends_right(home, tmp_path / "a.dat")


def test_a_redirect_is_followed(home: Home, tmp_path: Path) -> None:
    home.files["elsewhere/a.dat"] = home.files.pop("a.dat")
    home.faults["a.dat"].append(Fault("redirect", value="/elsewhere/a.dat"))
    home.faults["elsewhere/a.dat"].append(Fault("drop", 1))
    ends_right(home, tmp_path / "a.dat")
    assert home.sent["elsewhere/a.dat"] == len(CONTENT)


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


@pytest.mark.parametrize(
    ("status", "headers", "begin", "total"),
    [
        *[(200, {"Content-Length": length}, 0, None) for length in ("", "x", "-5", "\u00b2")],
        *[(200, {}, 0, None), (200, {"Content-Length": "10"}, 0, 10)],
        *[(206, {"Content-Range": "bytes 5-9/10"}, 5, 10), (206, {"Content-Range": "bytes 5-9/*"}, 5, None)],
        *[(206, {"Content-Range": "pages 5-9/10"}, -1, None), (206, {}, -1, None)],
        (416, {"Content-Range": "bytes */10"}, -1, 10),
    ],
)
def test_an_answer_begins_and_ends_where_it_says(
    status: int, headers: dict[str, str], begin: int, total: int | None
) -> None:
    response = requests.Response()
    response.status_code = status
    response.headers.update({"Last-Modified": "Monday"} | headers)
    assert _answered(response, "http://here/a") == (begin, _Tag("http://here/a", "Monday", total))


SEVERAL = Manners(connections=3, tries=2, first_wait=0.01, longest_wait=0.05, timeout=2)


@pytest.fixture
def twelve() -> Iterator[Home]:
    """A home of twelve files."""
    with serving({f"{number:02d}": bytes([number]) * 9000 for number in range(12)}) as home:
        yield home


def all_of(home: Home, root: Path, size: int = 8000) -> tuple[int, dict[str, str], list[tuple[int, int]]]:
    """(bytes, file that did not come -> reason, progress) of fetching all that a home has."""
    steps: list[tuple[int, int]] = []
    wanted = [
        Wanted(name, name, hashlib.sha256(content).hexdigest(), size) for name, content in sorted(home.files.items())
    ]
    with Ledger(root) as ledger:
        received, failed = fetch_all(wanted, home.url, ledger, SEVERAL, lambda *numbers: steps.append(numbers))
        assert [ledger.knows(item) for item in wanted] == [item not in failed for item in wanted]
    return received, {item.path: reason for item, reason in failed.items()}, steps


@pytest.mark.parametrize("size", [8000, 20_000])
def test_no_more_connections_than_allowed(twelve: Home, tmp_path: Path, size: int) -> None:
    """What is still to come is that of the files that have not come, whatever their sizes were thought to be."""
    twelve.delay = 0.02
    received, failed, steps = all_of(twelve, tmp_path, size)
    assert (received, failed) == (12 * 9000, {})
    assert 1 < twelve.most_at_once <= 3
    assert all(done < total for done, total in steps)
    done, total = steps[-1]
    assert done > 8 * 9000
    assert total - done <= 3 * size


def test_a_part_that_is_there_is_not_still_to_come_and_progress_is_told_within_a_file(tmp_path: Path) -> None:
    content, steps = bytes(4 * CHUNK), list[tuple[int, int]]()
    with serving({"a.dat": content}) as home, Ledger(tmp_path) as ledger:
        part_of(tmp_path / "a.dat").write_bytes(content[:CHUNK])
        tag = {"url": f"{home.url}a.dat", "validator": f'"{hashlib.md5(content).hexdigest()}"', "total": len(content)}
        (tmp_path / "a.dat.part.json").write_text(json.dumps(tag))
        item = Wanted("a.dat", "a.dat", hashlib.sha256(content).hexdigest(), len(content))
        received, failed = fetch_all([item], home.url, ledger, SEVERAL, lambda *numbers: steps.append(numbers))
    assert (received, failed) == (3 * CHUNK, {})
    assert len(steps) > 1
    assert {total for _, total in steps} == {3 * CHUNK}


def test_all_connections_keep_a_rest(twelve: Home, tmp_path: Path) -> None:
    twelve.faults["00"].append(Fault("status", 1, (503, {"Retry-After": "1"})))
    twelve.delay = 0.05
    assert all_of(twelve, tmp_path)[1] == {}
    began = next(time for time, path, _ in twelve.asked if path == "00")
    meanwhile = [path for time, path, _ in twelve.asked if began + 0.5 < time < began + 0.95]
    assert meanwhile == [], "those under way end, and no other begins"
    assert [path for time, path, _ in twelve.asked if began + 1.0 <= time]


def test_a_file_that_is_refused_does_not_stop_the_others(twelve: Home, tmp_path: Path) -> None:
    twelve.faults["03"].append(Fault("status", value=(404, {})))
    assert all_of(twelve, tmp_path)[:2] == (11 * 9000, {"03": "404 Not Found"})


def test_a_home_out_of_reach_is_given_up_as_a_whole(twelve: Home, tmp_path: Path) -> None:
    """No thread is left that writes where the next home does."""
    twelve.delay = 0.1
    for name in list(twelve.files)[4:]:
        twelve.faults[name].append(Fault("status", value=(500, {})))
    _, failed, _ = all_of(twelve, tmp_path)
    assert set(failed.values()) == {"500 Internal Server Error (2 tries)"}
    assert failed.keys() >= {f"{number:02d}" for number in range(4, 12)}
    assert len({path for _, path, _ in twelve.asked}) < 12
    assert [thread.name for thread in threading.enumerate() if thread.name.endswith("(work)")] == []


def test_what_is_no_failure_of_the_home_is_raised(twelve: Home, tmp_path: Path) -> None:
    (tmp_path / "05").mkdir()
    with pytest.raises(OSError, match="05"):
        all_of(twelve, tmp_path)


NOTED = b"an ECG"
WANTED = Wanted("a", "a.dat", hashlib.sha256(NOTED).hexdigest(), 6)


def written(root: Path) -> Path:
    (root / "a.dat").write_bytes(NOTED)
    with Ledger(root) as ledger:
        ledger.add("a.dat", WANTED.digest)
    return root / ".download" / "verified.tsv"


def test_a_file_is_known_until_it_changes(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    file = written(tmp_path)
    with Ledger(tmp_path):
        assert file.read_bytes().count(b"\n") == 1
    assert len(os.listdir("/proc/self/fd")) == before, "no file is left open"
    assert Ledger(tmp_path).knows(WANTED)
    assert Ledger(tmp_path).bytes_here() == 6
    assert not Ledger(tmp_path).knows(WANTED._replace(digest="0" * 64)), "the publisher has another file now"
    os.utime(tmp_path / "a.dat", ns=(1, 1))
    assert not Ledger(tmp_path).knows(WANTED)
    with Ledger(tmp_path) as ledger:
        assert ledger.holds(WANTED), "read and right"
        assert ledger.holds(WANTED._replace(digest="")), "without a sum, what was noted counts"
    assert Ledger(tmp_path).knows(WANTED)
    (tmp_path / "a.dat").write_bytes(b"another")
    with Ledger(tmp_path) as ledger:
        assert not ledger.holds(WANTED)
        assert not ledger.holds(WANTED._replace(digest=""))
    (tmp_path / "a.dat").unlink()
    assert not Ledger(tmp_path).knows(WANTED)


@pytest.mark.parametrize("keep", range(1, 90, 8))
def test_a_line_that_was_cut_is_no_entry_and_harms_no_later_one(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-keep])
    assert not Ledger(tmp_path).knows(WANTED)
    with Ledger(tmp_path) as ledger:
        ledger.add("a.dat", WANTED.digest)
    path.write_bytes(b"\xff\xfe\n" + path.read_bytes())
    assert Ledger(tmp_path).knows(WANTED), "nor does a line that is no text"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        folder_lock(tmp_path),
        pytest.raises(DatasetError, match="another process downloads into"),
        folder_lock(tmp_path),
    ):
        pass
    with folder_lock(tmp_path):
        pass
