"""One file from a home that behaves badly: resumed, verified, or one line of why not."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import requests

from benchmark.data.download import fetch as fetch_module
from benchmark.data.download.catalogue import Manners
from benchmark.data.download.fetch import _answered, _put, _Tag, fetch, part_of
from benchmark.data.download.web import Refused, Unreachable, Web
from tests.benchmark.data.download.server import Fault, Home, serving

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
