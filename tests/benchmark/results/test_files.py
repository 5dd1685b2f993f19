"""Files are whole or the old ones, what is sealed is as it was, and an error names a file that a user knows."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmark.results.files import (
    Locked,
    file_lock,
    holder_of,
    naming,
    remedy,
    remove_stale,
    replacing,
    seal,
    temporary_name,
    unseal,
    write_atomic,
)


def opens(owner: str, content: bytes) -> bool:
    try:
        unseal(owner, content)
    except ValueError:
        return False
    return True


def test_a_seal_is_opened_by_its_owner_alone() -> None:
    sealed = seal("owner", b"body")
    assert unseal("owner", sealed) == b"body"
    for index in range(len(sealed)):
        flipped = sealed[:index] + bytes([sealed[index] ^ 1]) + sealed[index + 1 :]
        assert not any(opens("owner", content) for content in (flipped, sealed[:index]))
    assert not opens("another", sealed)
    assert not opens("a", seal("ab", b"c")[:32] + b"bc")  # the border of owner and body is sealed too


def test_two_writers_do_not_touch_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"one, ")
        write_atomic(path, b"of the other")
        assert path.read_bytes() == b"of the other"
        first.write(b"and two")
    assert path.read_bytes() == b"one, and two"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    old, busy, deeper = (temporary_name(tmp_path / where / "windows") for where in ("a", "a", "a/b"))
    new = temporary_name(tmp_path / "row.json")
    for folder in (old, busy, deeper):
        folder.mkdir(parents=True)
        (folder / "part").write_bytes(b"x")
    new.write_bytes(b"x")
    for path in (old / "part", old, busy, deeper / "part", deeper):
        os.utime(path, (0, 0))
    assert remove_stale({tmp_path: 1}) == 1
    assert [path.exists() for path in (old, busy, deeper, new)] == [False, True, True, True]


def test_a_lock_names_its_one_holder(tmp_path: Path) -> None:
    path, holder = tmp_path / "new" / "runs" / ".lock", f"{socket.gethostname()}:{os.getpid()}"
    for _ in range(2):
        with file_lock(path):
            assert holder_of(path) == holder
            with pytest.raises(Locked, match=f"^{holder}$"), file_lock(path):
                pass
        assert holder_of(path) == ""
    assert holder_of(tmp_path / "none") == ""


def test_a_store_that_cannot_be_written_is_named_where_it_is_locked(disk: Path) -> None:
    path = disk / ".lock"
    with file_lock(path):
        pass
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(OSError, match="Read-only file system") as read_only, file_lock(path):
        pass
    assert read_only.value.filename == str(path)


def interrupted_write(path: Path) -> None:
    with replacing(path) as handle:
        handle.write(b"half")
        raise KeyboardInterrupt


def test_an_error_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "file"
    write_atomic(path, b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(path)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_of_the_disk_names_the_file(disk: Path) -> None:
    path = disk / "cells" / "row.json"
    write_atomic(path, b"old")
    with pytest.raises(OSError, match="No space left on device") as full:
        write_atomic(path, bytes(2**20))
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(OSError, match="Read-only file system") as read_only:
        write_atomic(path, b"new")
    assert full.value.filename == read_only.value.filename == str(path)
    assert remedy(full.value).startswith("; free space")
    assert "read-only" in remedy(read_only.value)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("raised", "number", "named"),
    [
        (OSError("60000 requested and 49152 written"), errno.EIO, "windows.f16"),
        (OSError(errno.ENOSPC, "No space left on device"), errno.ENOSPC, "windows.f16"),
        (OSError(errno.EDQUOT, "over", "/d/.windows.f16.0123456789abcdef.tmp"), errno.EDQUOT, "windows.f16"),
        (
            IsADirectoryError(errno.EISDIR, "Is a directory", "/d/.windows.f16.0123456789abcdef.tmp", None, "/d"),
            errno.EISDIR,
            "windows.f16",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "raw.dat"), errno.ENOENT, "raw.dat"),
    ],
)
def test_an_error_names_a_file_that_a_user_knows(raised: OSError, number: int, named: str) -> None:
    with pytest.raises(OSError, match=r".") as caught, naming(Path("windows.f16")):
        raise raised
    assert (caught.value.errno, caught.value.filename) == (number, named)
    assert str(caught.value).endswith(f": '{named}'")


@pytest.mark.parametrize(("number", "is_written"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_a_file_system_without_fsync_loses_nothing(
    number: int, is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fails)
    with nullcontext() if is_written else pytest.raises(OSError, match=os.strerror(number)):
        write_atomic(tmp_path / "file", b"content")
    assert (tmp_path / "file").is_file() == is_written
