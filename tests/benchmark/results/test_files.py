"""Files of others are read within bounds, files of ours are whole or the old ones, and what is sealed is as it was."""

from __future__ import annotations

import csv
import errno
import os
import socket
import subprocess
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import numpy as np
import pytest

from benchmark.results.files import (
    csv_text,
    is_read_only,
    naming,
    npz_bytes,
    owner_of,
    read_arrays,
    remedy,
    replacing,
    seal,
    temporary_name,
    unfit_members,
    unseal,
    write_atomic,
)

LIMIT = 1 << 20


def packed(**members: bytes) -> bytes:
    """A zip of members as they are, as NAME.npy."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    """The .npy file of an array in a version of the format."""
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def test_arrays_come_back_with_their_names_types_and_shapes() -> None:
    written = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "names": np.array(["é", "b"]), "n": np.array(3)}
    second_format = packed(**{name: npy(array, (2, 0)) for name, array in written.items()})
    for content in (npz_bytes(written), second_format):
        arrays = read_arrays(content, LIMIT)
        assert list(arrays) == list(written)
        for name, array in written.items():
            np.testing.assert_array_equal(arrays[name], array, strict=True)
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        npz_bytes({"a": np.array([{}, None], dtype=object)})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (packed(a=npy(np.zeros(3)).replace(b"(3,)", b"(9,)")), r"an array of float64 \(9,\) in \d+ bytes"),
        (packed(a=npy(np.zeros(3))[:-1]), "an array of float64"),
        (packed(a=npy(np.zeros(3)) + b"more"), "an array of float64"),
        (packed(a=npy(np.array([{}, None], dtype=object))), "an array of object"),
        (packed(a=b"no array"), "magic string"),
        (packed(a=npy(np.zeros(2 * LIMIT // 8))), "more than 1 MiB"),
        (b"PK", "not a zip file"),
    ],
)
def test_what_is_no_file_of_arrays_is_refused_in_one_line(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^no readable .npz file: .*{problem}") as caught:
        read_arrays(content, LIMIT)
    assert "\n" not in str(caught.value)


def test_members_of_a_zip_are_small_together() -> None:
    first, second = ZipInfo("first"), ZipInfo("second")
    first.file_size = second.file_size = 5
    assert unfit_members([first, second], 10) == ""
    assert unfit_members([first, second], 9) == "it would unpack to 10 bytes, more than 9 bytes"


def test_a_seal_is_opened_by_its_owner_and_as_it_was() -> None:
    sealed = seal("owner", b"body")
    assert unseal("owner", sealed) == b"body"
    for place in range(len(sealed)):
        flipped = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
        assert (unseal("owner", flipped), unseal("owner", sealed[:place])) == (None, None)
    assert unseal("another", sealed) is None
    assert unseal("a", seal("ab", b"c")[:32] + b"bc") is None  # the border of owner and body is sealed too


def test_two_writers_of_one_process_id_do_not_touch_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    path = tmp_path / "file"
    assert len({temporary_name(path) for _ in range(100)}) == 100
    with replacing(path) as first:
        first.write(b"one, ")
        write_atomic(path, b"of the other")
        assert path.read_bytes() == b"of the other"
        first.write(b"and two")
    assert path.read_bytes() == b"one, and two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_temporary_name_names_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    for host, named in (("node-7", "node-7"), ("a.b/c_ü", "a-b-c--"), ("", "host"), ("x" * 90, "x" * 40)):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        assert owner_of(temporary_name(tmp_path / "a.b.json")) == (named, 4711)
    for name in ("windows.f16", ".windows.f16.4711.tmp", ".a.host.12.tmp", ".a.host.x.0123456789abcdef.tmp"):
        assert owner_of(Path(name)) is None


def interrupted_write(path: Path) -> None:
    with replacing(path) as handle:
        handle.write(b"half")
        raise KeyboardInterrupt


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "file"
    write_atomic(path, b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(path)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_a_full_or_read_only_disk_is_named_with_the_file_and_leaves_the_old_one(disk: Path) -> None:
    path = disk / "cells" / "row.json"
    write_atomic(path, b"old")
    with pytest.raises(OSError, match="No space left on device") as full:
        write_atomic(path, bytes(2**20))
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(OSError, match="Read-only file system") as read_only:
        write_atomic(path, b"new")
    assert full.value.filename == read_only.value.filename == str(path)
    assert remedy(full.value).startswith("free space there or name another folder; what is finished is kept")
    assert remedy(read_only.value) == "the place is mounted read-only: name another folder"
    assert (is_read_only(full.value), is_read_only(read_only.value)) == (False, True)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


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


def test_a_csv_file_reads_back() -> None:
    text = csv_text(["a", "b"], [["x,y", 'q"'], ["line\nbreak", 1.5]])
    assert list(csv.reader(text.splitlines(keepends=True))) == [["a", "b"], ["x,y", 'q"'], ["line\nbreak", "1.5"]]
