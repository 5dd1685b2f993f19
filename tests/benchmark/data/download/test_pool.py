"""Several files at once: few connections, rests that all of them keep, a home that is given up as a whole."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.data.download.catalogue import Manners
from benchmark.data.download.ledger import Ledger
from benchmark.data.download.pool import TICK_SECONDS, Result, _Count, fetch_all
from benchmark.data.download.sums import Wanted
from benchmark.data.download.web import CHUNK
from tests.benchmark.data.download.server import PIECE, Fault, Home, serving

QUICK = Manners(connections=3, tries=2, first_wait=0.01, longest_wait=0.05, timeout=2)


@pytest.fixture
def home() -> Iterator[Home]:
    with serving({f"{number:02d}": bytes([number]) * 9000 for number in range(12)}) as home:
        yield home


def all_of(home: Home, root: Path, told: list[tuple[int, int]] | None = None, size: int = 8000) -> Result:
    wanted = [
        Wanted(name, name, hashlib.sha256(content).hexdigest(), size) for name, content in sorted(home.files.items())
    ]
    with Ledger(root) as ledger:
        return fetch_all(wanted, home.url, ledger, QUICK, lambda *step: told.append(step) if told is not None else None)


def test_of_nothing_asked_for_nothing_came() -> None:
    assert vars(Result()) == {"fetched": [], "refused": [], "left": [], "unreachable": "", "received": 0}


def test_no_more_connections_than_allowed(home: Home, tmp_path: Path) -> None:
    home.delay = 0.02
    told: list[tuple[int, int]] = []
    result = all_of(home, tmp_path, told)
    assert (len(result.fetched), result.refused, result.left, result.received) == (12, [], [], 12 * 9000)
    assert 1 < home.most_at_once <= 3
    assert told
    assert all(done < total for done, total in told)


def test_what_is_still_to_come_is_that_of_the_files_that_have_not_come(home: Home, tmp_path: Path) -> None:
    home.delay = 0.02
    told: list[tuple[int, int]] = []
    all_of(home, tmp_path, told, size=20_000)
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


def test_all_connections_keep_a_rest(home: Home, tmp_path: Path) -> None:
    home.faults["00"].append(Fault("status", 1, (503, {"Retry-After": "2"})))
    home.delay = 0.05
    assert len(all_of(home, tmp_path).fetched) == 12
    began = next(time for time, path, _ in home.asked if path == "00")
    meanwhile = [path for time, path, _ in home.asked if began + 0.7 < time < began + 1.95]
    assert meanwhile == [], "those under way end, and no other begins"


def test_a_file_that_is_refused_does_not_stop_the_others(home: Home, tmp_path: Path) -> None:
    home.faults["03"].append(Fault("status", value=(404, {})))
    result = all_of(home, tmp_path)
    assert [(item.path, reason) for item, reason in result.refused] == [("03", "404 Not Found")]
    assert len(result.fetched) == 11
    assert result.left == []


def test_no_thread_is_left_that_writes_where_the_next_home_does(home: Home, tmp_path: Path) -> None:
    home.delay = 0.2
    home.faults["02"].append(Fault("status", value=(503, {"Retry-After": "5000"})))
    assert all_of(home, tmp_path).unreachable
    assert [own.name for own in threading.enumerate() if own.name.endswith("(work)")] == []


def test_a_home_out_of_reach_is_given_up_as_a_whole(home: Home, tmp_path: Path) -> None:
    for name in list(home.files)[4:]:
        home.faults[name].append(Fault("status", value=(500, {})))
    result = all_of(home, tmp_path)
    assert result.unreachable == "500 Internal Server Error (2 tries)"
    assert {item.path for item in result.fetched} <= {"00", "01", "02", "03"}
    assert len(result.fetched) + len(result.left) == 12, "one that was under way is left, with its part"
    assert len({path for _, path, _ in home.asked}) < 12


def test_what_is_no_failure_of_the_home_is_raised(home: Home, tmp_path: Path) -> None:
    (tmp_path / "05").mkdir()
    with pytest.raises(OSError, match="05"):
        all_of(home, tmp_path)


def test_progress_is_told_while_a_file_is_under_way(tmp_path: Path) -> None:
    content, told = bytes(4 * CHUNK), list[tuple[int, int]]()
    with serving({"00": content}) as home, Ledger(tmp_path) as ledger:
        home.delay = 3 * TICK_SECONDS * PIECE / len(content)
        item = Wanted("00", "00", hashlib.sha256(content).hexdigest(), len(content))
        fetch_all([item], home.url, ledger, QUICK, lambda *step: told.append(step))
    assert any(done < total == len(content) for done, total in told)
