"""Files of others are read within bounds, files of ours are whole or the old ones, and what is sealed is as it was."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import numpy as np
import pytest

from benchmark.results.files import (
    LOCK,
    SET,
    csv_text,
    folder_lock,
    intact,
    is_read_only,
    naming,
    npz_bytes,
    owner_of,
    publish,
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


PAGE = Path("page.html")
WRITER = """
import sys
from pathlib import Path
from benchmark.results.files import folder_lock, publish
out, own = Path(sys.argv[1]), sys.argv[2]
names = [Path(f"{number}.txt") for number in range(8)] + [Path(f"figures/{own}.png"), Path("page.html")]
for _ in range(20):
    staged = out.with_name(f"staged-{own}")
    (staged / "figures").mkdir(parents=True, exist_ok=True)
    for name in names:
        (staged / name).write_text(own)
    with folder_lock(out):
        publish(staged, out, names, last=Path("page.html"))
        found = {str(file.relative_to(out)): file.read_text() for file in out.rglob("*.*") if file.suffix}
        assert found == {str(name): own for name in names}, found
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def put(out: Path, files: dict[str, str], *stay: str) -> None:
    """Publish files by name."""
    staged = out.with_name("staged")
    for name, text in files.items():
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).write_text(text)
    publish(staged, out, list(map(Path, files)), last=PAGE, stay=list(map(Path, stay)))


def names_in(out: Path) -> set[str]:
    return {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} - {str(SET), str(LOCK)}


def test_a_folder_is_locked_by_one_at_a_time_or_where_that_cannot_be_by_all(out: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with folder_lock(out), open(out / LOCK, "ab") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (tmp_path / ".kept").write_text("no folder")
    with folder_lock(tmp_path), folder_lock(tmp_path):
        put(tmp_path, {"page.html": "1"})
    assert (tmp_path / PAGE).read_text() == "1"


def test_files_of_the_set_before_go_and_no_others(out: Path) -> None:
    pictures = ("figures/old.png", "figures/stays.png", "figures/edited.png")
    put(out, dict.fromkeys(("a.csv", *pictures, "page.html"), "1"))
    (out / "figures" / "edited.png").write_text("by hand")
    (out / "figures" / "mine.png").write_text("the user's")
    put(out, {"a.csv": "2", "page.html": "2"}, "figures/stays.png")
    assert names_in(out) == {"a.csv", "page.html", "figures/stays.png", "figures/edited.png", "figures/mine.png"}
    assert (out / "a.csv").read_text() == (out / "page.html").read_text() == "2"
    put(out, {"page.html": "3"})
    assert names_in(out) == {"page.html", "figures/edited.png", "figures/mine.png"}


def test_the_last_file_is_gone_first_and_comes_last(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved, replace = [], os.replace
    put(out, {"page.html": "1"})

    def seen(source: Path, target: Path) -> None:
        if target.parent == out:
            moved.append((target.name, (out / PAGE).exists()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", seen)
    put(out, {"z.csv": "2", "page.html": "2", "a.csv": "2"})
    assert moved == [("z.csv", False), ("a.csv", False), ("page.html", False)]


def test_a_damaged_or_hostile_list_of_the_set_before_removes_nothing(out: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("1")
    put(out, {"a.csv": "1", "page.html": "1"})
    (digest,) = set(json.loads((out / SET).read_text()).values())
    hostile = [json.dumps({str(name): digest}) for name in (outside, "../outside.txt", "a\0b")]
    for content in ("", "[]", "{", "3", '["a"]', "null", *hostile):
        (out / SET).write_text(content)
        put(out, {"page.html": "2"})
        assert names_in(out) == {"a.csv", "page.html"}
        assert outside.exists()


def test_two_processes_never_mix_their_sets(out: Path) -> None:
    run = [sys.executable, "-c", WRITER, str(out)]
    writers = [subprocess.Popen([*run, own], stderr=subprocess.PIPE, text=True) for own in ("one", "two")]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors


CONTENT = b"windows"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_stamp_proves_one_state_and_one_digest_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changed within two seconds gets none: it may change again without a new time."""
    file, stamp = tmp_path / "windows.f16", tmp_path / "windows.f16.stamp"
    file.write_bytes(CONTENT)
    now = time.time_ns()
    for seconds, stamped in ((0, False), (1, False), (3, True)):
        monkeypatch.setattr(time, "time_ns", lambda passed=seconds: now + passed * 1_000_000_000)
        assert intact(file, SHA256)
        assert stamp.exists() == stamped
    with monkeypatch.context() as patched:
        patched.setattr(hashlib, "file_digest", lambda *_: pytest.fail("the file is read again"))
        assert intact(file, SHA256)
    assert not intact(file, hashlib.sha256(b"other").hexdigest())
    stamp.write_bytes(b"damaged")
    assert intact(file, SHA256)
    file.write_bytes(b"another content")
    assert not intact(file, SHA256)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        intact(file, SHA256)


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
