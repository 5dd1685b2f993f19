"""Runners share tasks: one has each, a dead one's are taken over, a living one's never, whatever its clock says.

What ended processes left goes; what may still be written, what is whole and what others named stays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from benchmark.machine.processes import Process, this_process
from benchmark.results.files import temporary_name, this_host
from benchmark.run import claims as claims_module
from benchmark.run.claims import (
    CLAIMS,
    DAY_SECONDS,
    LARGEST_CLAIM,
    QUIET_SECONDS,
    STALE_SECONDS,
    Claims,
    Sight,
    alone,
    look,
    owner_in,
    sweep,
    sweep_claims,
)

HERE = Process("here", "boot", "pid:[1]", 10, "100")
THERE = Process("there", "other boot", "pid:[1]", 10, "100")
ROOT = Path(__file__).resolve().parents[3]
TASKS = 12
HOST = f"""
import os, sys, time
from pathlib import Path
from benchmark.machine.processes import this_process
from benchmark.run import claims
folder, host, skew = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
claims.STALE_SECONDS, claims.BEAT_SECONDS = 2.5, 0.1
touch = os.utime
def touch_by_own_clock(path):
    touch(path, (time.time() + skew, time.time() + skew))
claims.os.utime = touch_by_own_clock
own = this_process()._replace(host=host, boot=host)
left = [f"task{{number}}" for number in range({TASKS})]
with claims.Claims(folder / "claims", process=own, runs=lambda other: True if other == own else None) as held:
    while left:
        for task in list(left):
            if (folder / task).exists():
                left.remove(task)
            elif held.take(task) and not (folder / task).exists():
                begun = time.monotonic()
                if host == "dead":
                    (folder / "died").write_text(task)
                    os._exit(1)
                time.sleep(0.1)
                with open(folder / "log", "a") as log:
                    log.write(f"{{host}} {{task}} {{begun}} {{time.monotonic()}}\\n")
                (folder / task).write_text("")
                held.release(task)
            else:
                held.release(task)
        time.sleep(0.02)
"""
"""A host with a clock of its own that shares tasks through claims; the one that is called dead ends within a task."""


class World:
    """Fake hosts and a clock that is moved by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "claims"
        self.now = 0.0
        self.dead: set[Process] = set()

    def runner(self, process: Process) -> Claims:
        """A runner that sees processes of its own host alone. Its heart does not beat by itself."""

        def runs(other: Process) -> bool | None:
            return other not in self.dead if other[:3] == process[:3] else None

        return Claims(self.folder, process=process, runs=runs, clock=lambda: self.now)

    def watches(self, runner: Claims, seconds: float) -> bool:
        """Whether a runner that asks for the task 'a' every second gets it within some seconds."""
        for _ in range(int(seconds)):
            self.now += 1
            if runner.take("a"):
                return True
        return False


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_task_has_one_runner_until_it_is_released(world: World) -> None:
    one, other, twin = world.runner(HERE), world.runner(HERE._replace(pid=11)), world.runner(HERE)
    assert one.take("a")
    assert not other.take("a")
    assert not twin.take("a"), "two runners of one process are two"
    twin.release("a")
    assert other.take("b")
    assert (other.holder("a"), other.holder("b"), other.holder("c")) == ("here:10", "here:11", "")
    one.release("a")
    assert other.take("a")
    assert other.holder("a") == "here:11"


def test_leaving_releases_what_is_held_and_nothing_else(world: World) -> None:
    with world.runner(THERE) as other:
        other.take("b")
        with world.runner(HERE) as one:
            one.take("a")
        assert [path.name for path in world.folder.iterdir()] == ["b.json"]
    assert list(world.folder.iterdir()) == []


def test_a_runner_of_this_host_is_gone_when_its_process_is(world: World) -> None:
    one, other = world.runner(HERE), world.runner(HERE._replace(pid=11))
    one.take("a")
    world.now += 100 * STALE_SECONDS  # its heart does not beat, and it runs all the same
    assert not other.take("a")
    world.dead.add(HERE)
    assert other.take("a")
    before = (world.folder / "a.json").stat().st_mtime_ns
    one.renew()  # it was only slow to hear of its end
    one.release("a")
    assert other.holder("a") == "here:11"
    assert (world.folder / "a.json").stat().st_mtime_ns == before


def test_a_runner_of_another_host_is_gone_when_it_was_not_renewed_while_watched(world: World) -> None:
    one, other = world.runner(THERE), world.runner(HERE)
    one.take("a")
    for step in range(5):
        assert not other.take("a")
        assert not world.watches(other, 0.6 * STALE_SECONDS)
        if step % 2:
            one.renew()
            continue
        stamp = (world.folder / "a.json").stat().st_mtime_ns
        os.utime(world.folder / "a.json", ns=(0, stamp - 10**15))  # by a clock that runs backwards
    assert not other.take("a")
    assert not world.watches(other, STALE_SECONDS - 1)
    assert world.watches(other, 1)
    assert other.holder("a") == "here:10"


def test_a_file_server_that_answered_nobody_makes_no_claim_stale(world: World) -> None:
    one, other = world.runner(THERE), world.runner(HERE)
    one.take("a")
    assert not other.take("a")
    world.now += 100 * STALE_SECONDS  # in which nobody could renew or look
    assert not other.take("a")
    one.renew()
    assert not world.watches(other, STALE_SECONDS - 1)


def test_a_claim_that_is_renewed_while_it_is_taken_over_is_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = world.runner(THERE), world.runner(HERE)
    one.take("a")
    assert not other.take("a")
    create = Claims._create

    def slow(claims: Claims, path: Path) -> bool:
        one.renew()  # its host was only asleep
        return create(claims, path)

    assert not world.watches(other, STALE_SECONDS - 1)
    monkeypatch.setattr(Claims, "_create", slow)
    assert not world.watches(other, 1)
    assert other.holder("a") == "there:10"
    assert [path.name for path in world.folder.iterdir()] == ["a.json"]


def test_hosts_with_clocks_days_apart_share_tasks_and_take_over_a_dead_ones(tmp_path: Path) -> None:
    """Each host is a process that sees no other one; a second on the common clock of this machine tells overlaps."""
    hosts = {"dead": 3_600, "ahead": 200_000, "behind": -200_000, "exact": 0}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = []
    for name, skew in hosts.items():
        started.append(subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path), name, str(skew)], env=environment))
        assert name != "dead" or started[-1].wait(60) == 1, "it ends before others can do all tasks"
    assert [process.wait(60) for process in started] == [1, 0, 0, 0]
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    intervals: dict[str, list[tuple[float, float]]] = {}
    for _, task, begun, ended in sorted(lines, key=lambda line: float(line[2])):
        intervals.setdefault(task, []).append((float(begun), float(ended)))
    assert set(intervals) == {f"task{number}" for number in range(TASKS)}
    assert all(len(own) == 1 for own in intervals.values())
    assert {"ahead", "behind", "exact"} == {line[0] for line in lines}
    assert (tmp_path / "died").read_text() in intervals
    assert list((tmp_path / "claims").iterdir()) == []


def test_the_heart_of_a_running_runner_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beaten = threading.Event()
    monkeypatch.setattr(claims_module, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(Claims, "renew", lambda self: beaten.set())
    with Claims(tmp_path):
        assert beaten.wait(60)


WHOLE = {"host": "here", "boot": "boot", "namespace": "pid:[1]", "pid": 10, "started": "100"}
FOREIGN = {
    "a text as pid": WHOLE | {"pid": "10"},
    "no pid": WHOLE | {"pid": -1},
    "a pid beyond all": WHOLE | {"pid": 2**40},
    "a list as host": WHOLE | {"host": ["here"]},
    "a list": [WHOLE],
    "null": None,
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_claim_of_no_process_has_no_owner(content: object) -> None:
    assert owner_in(json.dumps(WHOLE).encode()) == HERE
    assert owner_in(json.dumps(content).encode()) is None


@pytest.mark.parametrize("name", ["half", "pipe", "device", "huge", "deep", "folder"])
def test_what_is_no_claim_is_not_read_and_becomes_stale(name: str, world: World) -> None:
    world.folder.mkdir()
    file = world.folder / "a.json"
    if name == "pipe":
        os.mkfifo(file)
    elif name == "device":
        file.symlink_to("/dev/zero")
    elif name == "folder":
        file.mkdir()
    elif name == "half":
        file.write_text('{"host": "here", "bo')
    else:
        file.write_text("[" * (LARGEST_CLAIM + 1 if name == "huge" else LARGEST_CLAIM))
    sight = look(file)
    assert sight is not None
    assert len(sight.content) <= LARGEST_CLAIM
    assert owner_in(sight.content) is None
    runner = world.runner(HERE)
    assert not runner.take("a")
    assert runner.holder("a") == "another runner"
    assert not world.watches(runner, STALE_SECONDS - 1)
    assert world.watches(runner, 2)
    assert name == "folder" or runner.holder("a") == "here:10"


def test_a_claim_made_anew_after_it_was_judged_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (world.runner(HERE._replace(pid=pid)) for pid in (10, 11, 12))
    first.take("a")
    world.dead.add(HERE)
    judge = Claims._is_stale

    def slow(claims: Claims, key: str, sight: Sight) -> bool:
        monkeypatch.undo()
        stale = judge(claims, key, sight)
        assert second.take("a")  # between the judgement of the third and its taking over
        return stale

    monkeypatch.setattr(Claims, "_is_stale", slow)
    assert not third.take("a")
    assert third.holder("a") == "here:11"
    assert [path.name for path in world.folder.iterdir()] == ["a.json"]


def test_a_runner_that_ended_while_it_took_over_is_in_nobodys_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (world.runner(HERE._replace(pid=pid)) for pid in (10, 11, 12))
    first.take("a")
    world.dead.add(HERE)
    with monkeypatch.context() as patch:
        patch.setattr(claims_module, "write_atomic", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            second.take("a")
    assert not third.take("a")
    world.dead.add(HERE._replace(pid=11))
    assert third.take("a")
    assert [path.name for path in world.folder.iterdir()] == ["a.json"]


def test_without_a_folder_that_can_be_written_all_is_free_and_the_reason_is_kept(tmp_path: Path) -> None:
    (tmp_path / "claims").write_text("a file")
    claims = Claims(tmp_path / "claims")
    assert claims.take("a")
    assert claims.unshared == f"{tmp_path / 'claims'}: File exists"
    claims.release("a")


def test_what_one_makes_alone_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    other, waits, told = world.runner(THERE), [], []
    shared = world.folder.parent
    assert other.take("a")

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.release("a")

    monkeypatch.setattr(claims_module.time, "sleep", wait)
    with alone(shared, "a", told.append):
        assert not other.take("a")
    assert (len(waits), told) == (3, ["there:10"])
    assert other.take("a")


TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def ended() -> int:
    """The id of a process that has ended."""
    return int(subprocess.check_output([sys.executable, "-c", "import os; print(os.getpid())"]))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


def test_only_what_an_ended_process_of_this_host_left_goes_soon(tmp_path: Path, ended: int) -> None:
    left = f".row.json.{this_host()}.{ended}.{TOKEN}.tmp"
    kept = {
        temporary_name(tmp_path / "row.json").name,  # this process writes it
        f".row.json.elsewhere.{ended}.{TOKEN}.tmp",
        f".row.json.{ended}.tmp",
        f"row.json.{this_host()}.{ended}.{TOKEN}.tmp",
        ".row.json.tmp",
        "row.json",
    }
    for name in (left, *kept):
        (tmp_path / name).write_text("half")
    now = time.time()
    assert sweep({tmp_path: 0}, now) == []  # in use a moment ago, perhaps by a container of the same name
    assert sweep({tmp_path: 0}, now + QUIET_SECONDS) == [tmp_path / left]
    assert names(tmp_path) == kept
    sweep({tmp_path: 0}, now + DAY_SECONDS + 1)
    assert names(tmp_path) == {f"row.json.{this_host()}.{ended}.{TOKEN}.tmp", ".row.json.tmp", "row.json"}


def test_a_folder_is_as_old_as_the_last_thing_written_in_it(tmp_path: Path, ended: int) -> None:
    folder = tmp_path / f".key.{this_host()}.{ended}.{TOKEN}.tmp"
    folder.mkdir()
    (folder / "windows.f16").write_bytes(b"half")
    os.utime(folder, (0, 0))
    assert sweep({tmp_path: 0}) == []
    os.utime(folder / "windows.f16", (0, 0))
    os.utime(folder, (0, 0))
    assert sweep({tmp_path: 0}) == [folder]
    assert names(tmp_path) == set()


def test_a_folder_is_swept_as_deep_as_is_said(tmp_path: Path, ended: int) -> None:
    name = f".file.{this_host()}.{ended}.{TOKEN}.tmp"
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        folder.mkdir()
        (folder / name).write_text("half")
        os.utime(folder / name, (0, 0))
    outside = tmp_path / "linked"
    outside.symlink_to(tmp_path / "a")
    assert sweep({tmp_path: 0, tmp_path / "nowhere": 2}) == []
    assert sweep({tmp_path: 1}) == [tmp_path / "a" / name]
    assert sweep({tmp_path: 2}) == [tmp_path / "a" / "b" / name]


def test_claims_of_ended_runners_go_and_no_others(tmp_path: Path, ended: int) -> None:
    gone, there = (this_process()._replace(pid=ended), this_process()._replace(host="there"))
    for key, process in {"gone": gone, "there": there, "here": None}.items():
        assert Claims(tmp_path / CLAIMS, process=process).take(key)
    sweep_claims(tmp_path)
    assert names(tmp_path / CLAIMS) == {"there.json", "here.json"}
    sweep_claims(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_of_many_runners_one_takes_over(world: World) -> None:
    world.runner(HERE).take("a")
    world.dead.add(HERE)
    runners = [world.runner(HERE._replace(pid=pid)) for pid in range(11, 31)]
    together, taken = threading.Barrier(len(runners)), []

    def take(runner: Claims) -> None:
        together.wait()
        taken.append(runner.take("a"))

    threads = [threading.Thread(target=take, args=(runner,)) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 1
    assert [path.name for path in world.folder.iterdir()] == ["a.json"]
