"""Temporary names that no two processes share, and atomic writes under them."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from pathlib import Path

import pytest

from benchmark.results.files.write import (
    is_read_only,
    naming,
    owner_of,
    remedy,
    replacing,
    temporary_name,
    write_atomic,
)


@pytest.mark.attack("two processes of one id, as in containers")
def test_names_of_equal_hosts_and_processes_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    names = {temporary_name(tmp_path / "trials-6.f16").name for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith(".trials-6.f16.") and name.endswith(".tmp") for name in names)


@pytest.mark.parametrize(
    ("host", "told"),
    [("node-7", "node-7"), ("a.b/c_ü", "a-b-c--"), ("", "host"), ("x" * 90, "x" * 40)],
)
def test_a_temporary_name_tells_its_owner(
    host: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    assert owner_of(temporary_name(tmp_path / "a.b.json")) == (told, 4711)


@pytest.mark.parametrize(
    "name", ["windows.f16", ".windows.f16.4711.tmp", ".a.host.12.tmp", ".a.host.x.0123456789abcdef.tmp"]
)
def test_another_name_has_no_owner(name: str) -> None:
    assert owner_of(Path(name)) is None


@pytest.mark.attack("two processes of one id, as in containers")
def test_two_writers_of_one_process_id_do_not_touch_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"one, ")
        write_atomic(path, b"of the other")
        assert path.read_bytes() == b"of the other"
        first.write(b"and two")
    assert path.read_bytes() == b"one, and two"
    assert list(tmp_path.iterdir()) == [path]


def interrupted_write(path: Path) -> None:
    with replacing(path) as handle:
        handle.write(b"half")
        raise KeyboardInterrupt


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.attack("full disks and read-only places")
def test_a_full_disk_is_named_with_the_file_and_leaves_the_old_one(disk: Path) -> None:
    path = disk / "cells" / "row.json"
    write_atomic(path, b"old")
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_atomic(path, bytes(2**20))
    assert caught.value.filename == str(path)
    assert remedy(caught.value).startswith("free space there or name another folder; what is finished is kept")
    assert not is_read_only(caught.value)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.attack("full disks and read-only places")
def test_a_read_only_place_is_named_with_the_file(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(OSError, match="Read-only file system") as caught:
        write_atomic(disk / "row.json", b"new")
    assert caught.value.filename == str(disk / "row.json")
    assert remedy(caught.value) == "the place is mounted read-only: name another folder"
    assert is_read_only(caught.value)


@pytest.mark.parametrize(
    ("raised", "number", "named"),
    [
        (OSError("60000 requested and 49152 written"), errno.EIO, "windows.f16"),
        (OSError(errno.ENOSPC, "No space left on device"), errno.ENOSPC, "windows.f16"),
        (OSError(errno.EDQUOT, "over", "/d/.windows.f16.host.1.0123456789abcdef.tmp"), errno.EDQUOT, "windows.f16"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "raw.dat"), errno.ENOENT, "raw.dat"),
    ],
)
def test_an_error_names_a_file_that_a_user_knows(raised: OSError, number: int, named: str) -> None:
    with pytest.raises(OSError, match=r".") as caught, naming(Path("windows.f16")):
        raise raised
    assert (caught.value.errno, caught.value.filename) == (number, named)
