"""What ended processes left goes; what may still be written, what is whole and what others named stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.machine.process import this_process
from benchmark.results.files.write import owner_of, temporary_name, this_host
from benchmark.run.sweep import DAY_SECONDS, QUIET_SECONDS, sweep, sweep_claims
from benchmark.run.work.claims import CLAIMS, Claims

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


def test_the_form_that_is_swept_is_the_one_that_is_written(tmp_path: Path) -> None:
    assert owner_of(temporary_name(tmp_path / "x")) == (this_host(), os.getpid())


def test_claims_of_ended_runners_go_and_no_others(tmp_path: Path, ended: int) -> None:
    gone, there = (this_process()._replace(pid=ended), this_process()._replace(host="there"))
    for key, process in {"gone": gone, "there": there, "here": None}.items():
        assert Claims(tmp_path / CLAIMS, process=process).take(key)
    sweep_claims(tmp_path)
    assert names(tmp_path / CLAIMS) == {"there.json", "here.json"}
    sweep_claims(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
