"""Named arrays in an .npz file: those written come back; a header that states more than there is allocates nothing.

Files of others: not regular, too large, too deep, or no array: one error, nothing hung, nothing allocated.

A sealed content is opened by its owner alone, and only as it was.

Sets of files: one process at a time, nothing left over from the set before, nothing removed that is not its own.

A file of the cache is read once per change; a stamp that is of another digest or of an earlier state is no proof.

Temporary names that no two processes share, and atomic writes under them.

CSV cells: text that a spreadsheet would run is quoted, numbers are not, and nothing harmful stays.
"""

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
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pytest

from benchmark.results.files import (
    LOCK,
    SET,
    bounded,
    bounded_by_text,
    csv_cell,
    csv_text,
    folder_lock,
    intact,
    is_read_only,
    naming,
    npz_bytes,
    owner_of,
    parse_json,
    publish,
    read_arrays,
    read_json,
    read_regular,
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


def plain(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    """The .npy file of an array in a version of the format."""
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def test_arrays_come_back_with_their_names_types_and_shapes() -> None:
    written = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "names": np.array(["é", "b"]), "n": np.array(3)}
    found = read_arrays(npz_bytes(written), LIMIT)
    assert list(found) == list(written)
    for name, array in written.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_of_the_format_are_read(version: tuple[int, int]) -> None:
    array = np.arange(3)
    np.testing.assert_array_equal(read_arrays(packed(a=plain(array, version)), LIMIT)["a"], array)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (packed(a=plain(np.zeros(3)).replace(b"(3,)", b"(9,)")), r"an array of float64 \(9,\) in \d+ bytes"),
        (packed(a=plain(np.zeros(3))[:-1]), "an array of float64"),
        (packed(a=plain(np.zeros(3)) + b"more"), "an array of float64"),
        (packed(a=b"no array"), "magic string"),
        (packed(a=plain(np.zeros(2 * LIMIT // 8))), "more than 1 MiB"),
        (packed(**{f"a{number}": b"" for number in range(101)}), "it has 101 members, more than 100"),
        (b"PK", "not a zip file"),
    ],
)
def test_what_is_no_file_of_arrays_is_refused_in_one_line(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^no readable .npz file: .*{problem}") as caught:
        read_arrays(content, LIMIT)
    assert "\n" not in str(caught.value)


def test_a_hundred_arrays_are_read() -> None:
    assert len(read_arrays(npz_bytes({f"a{number}": np.zeros(1) for number in range(100)}), LIMIT)) == 100


def test_objects_are_never_unpacked() -> None:
    buffer = BytesIO()
    np.savez(buffer, a=np.array([{}, None], dtype=object))
    with pytest.raises(ValueError, match=r"an array of object"):
        read_arrays(buffer.getvalue(), LIMIT)
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        npz_bytes({"a": np.array([{}, None], dtype=object)})


def test_a_file_of_the_limit_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(tmp_path / "file", 4)


@pytest.mark.attack("pipes, devices, huge files and deep nesting")
@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_not_regular_is_refused_and_not_waited_for(tmp_path: Path, make: object) -> None:
    make(tmp_path / "file")  # type: ignore[operator]
    with pytest.raises(OSError, match="not a regular file"):
        read_json(tmp_path / "file")


@pytest.mark.attack("pipes, devices, huge files and deep nesting")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "Expecting value"),
        (b"\xff", "codec can't decode"),
        (b"[" * 100_000, "nested deeper than 50 levels"),
        (b"[" * 51 + b"]" * 51, "nested deeper than 50 levels"),
        (b'{"a":' * 51 + b"1" + b"}" * 51, "nested deeper than 50 levels"),
        (b"9" * 20, "an integer beyond 64 bits"),
        (b"9223372036854775808", "an integer beyond 64 bits"),
        (b"9" * 5000, "limit"),
    ],
)
def test_what_is_no_bounded_json_is_a_value_error(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_json(content)


def test_plain_values_are_unchanged_and_harmful_text_is_not() -> None:
    assert parse_json(b'{"a": [1, -1.5, true, null, "\xc3\xa9\\n"]}') == {"a": [1, -1.5, True, None, "é\n"]}
    assert parse_json(b'{"\\u001b": "\\u202e\xe2\x80\xae\\ud800"}') == {"?": "???"}
    assert parse_json(b"[" * 50 + b"]" * 50)
    assert parse_json(b"9223372036854775807") == 2**63 - 1


def test_the_member_that_is_there_twice_is_named() -> None:
    entries = [ZipInfo(name) for name in ("first", "again", "again", "last")]
    assert unfit_members(entries, most=9, limit=9) == "it holds 'again' twice"


def test_members_of_the_limit_together_are_unpacked_and_larger_ones_not() -> None:
    entries = [ZipInfo("one"), ZipInfo("two")]
    entries[0].file_size, entries[1].file_size = 4, 5
    assert unfit_members(entries, most=2, limit=9) == ""
    assert unfit_members(entries, most=2, limit=8) == "it would unpack to 9 bytes, more than 8 bytes"
    assert unfit_members(entries, most=1, limit=9) == "it has 2 members, more than 1"


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"external_attr": 0o100644 << 16}, True),
        ({"external_attr": 0o120777 << 16}, False),
        ({"filename": "member/"}, False),
        ({"compress_type": ZIP_DEFLATED}, True),
        ({"compress_type": ZIP_BZIP2}, False),
        ({"flag_bits": 1}, False),
        ({"flag_bits": 2048}, True),
    ],
    ids=str,
)
def test_a_member_is_a_plain_file_that_any_program_packs(change: dict[str, Any], fits: bool) -> None:
    entry = ZipInfo("member")
    for name, value in change.items():
        setattr(entry, name, value)
    assert (unfit_members([entry], most=9, limit=9) == "") == fits


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -1.5, True, None, "plain ~", {}, []], "b": {"c": 1e300}},
        {"\x1b": "\u202e"},
        ["\x7f", "\x00", "é", "\\"],
        ["\x7f"],
        [2**63 - 1, -(2**63) + 1, 1000000000000000000],
        [2**63],
        [[-(2**63)]],
        [9999999999999999999],
        [0.00012345678901234567, 1e22, 12345678901234567.0],
        json.loads("[" * 50 + "]" * 50),
        json.loads("[" * 51 + "]" * 51),
        json.loads('{"a":' * 50 + "{}" + "}" * 50),
        ["]" * 60, json.loads("[" * 50 + "]" * 50)],
    ],
)
def test_the_quick_way_by_the_text_tells_the_same(value: Any) -> None:
    text = json.dumps(value, sort_keys=True)
    assert outcome(lambda: bounded_by_text(value, text)) == outcome(lambda: bounded(value))


def test_a_seal_is_opened_by_its_owner_and_as_it_was() -> None:
    sealed = seal("owner", b"body")
    assert unseal("owner", sealed) == b"body"
    assert unseal("another", sealed) is None
    assert [unseal("owner", sealed[:kept]) for kept in range(len(sealed))] == [None] * len(sealed)
    for position in range(len(sealed)):
        flipped = bytearray(sealed)
        flipped[position] ^= 1
        assert unseal("owner", bytes(flipped)) is None


def test_the_border_of_owner_and_body_is_sealed_too() -> None:
    assert seal("ab", b"c") != seal("a", b"bc")
    assert unseal("a", seal("ab", b"c")[:32] + b"bc") is None


PAGE = Path("page.html")
ROUNDS = 40
WRITER = """
import sys
from pathlib import Path
from benchmark.results.files import folder_lock, publish
out, own, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
names = [Path(f"{number}.txt") for number in range(8)] + [Path(f"figures/{own}.png"), Path("page.html")]
for _ in range(rounds):
    staged = out.with_name(f"staged-{own}")
    (staged / "figures").mkdir(parents=True, exist_ok=True)
    for name in names:
        (staged / name).write_text(own)
    with folder_lock(out):
        publish(staged, out, names, last=Path("page.html"))
        found = {str(file.relative_to(out)): file.read_text() for file in out.rglob("*.*") if file.suffix}
        assert found == {str(name): own for name in names}, found
"""


def put(out: Path, files: dict[str, str], *stay: str) -> None:
    """Publish files by name."""
    staged = out.with_name("staged")
    for name, text in files.items():
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).write_text(text)
    publish(staged, out, list(map(Path, files)), last=PAGE, stay=list(map(Path, stay)))


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_folder_is_locked_within(tmp_path: Path, time: str) -> None:
    if time == "second":
        with folder_lock(tmp_path / "out"):
            pass
    with folder_lock(tmp_path / "out"), open(tmp_path / "out" / LOCK, "ab") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def names_in(out: Path) -> set[str]:
    return {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} - {str(SET), str(LOCK)}


def test_files_of_the_set_before_go_and_no_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    put(
        out,
        {"a.csv": "1", "figures/old.png": "1", "figures/kept.png": "1", "figures/edited.png": "1", "page.html": "1"},
    )
    (out / "figures" / "edited.png").write_text("by hand")
    (out / "figures" / "mine.png").write_text("the user's")
    put(out, {"a.csv": "2", "page.html": "2"}, "figures/kept.png")
    assert names_in(out) == {"a.csv", "page.html", "figures/kept.png", "figures/edited.png", "figures/mine.png"}
    assert (out / "a.csv").read_text() == (out / "page.html").read_text() == "2"
    put(out, {"page.html": "3"})
    assert names_in(out) == {"page.html", "figures/edited.png", "figures/mine.png"}


def test_the_last_file_is_gone_first_and_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, moved, replace = tmp_path / "out", [], os.replace
    put(out, {"page.html": "1"})

    def seen(source: Path, target: Path) -> None:
        if target.parent == out:
            moved.append((target.name, (out / PAGE).exists()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", seen)
    put(out, {"z.csv": "2", "page.html": "2", "a.csv": "2"})
    assert moved == [("z.csv", False), ("a.csv", False), ("page.html", False)]


@pytest.mark.parametrize("content", ["", "[]", "{", "3", '["a"]', '{"a\\u0000b": "c"}', "null"])
def test_a_damaged_list_of_the_set_before_removes_nothing(tmp_path: Path, content: str) -> None:
    out = tmp_path / "out"
    put(out, {"a.csv": "1", "page.html": "1"})
    (out / SET).write_text(content)
    put(out, {"page.html": "2"})
    assert names_in(out) == {"a.csv", "page.html"}


@pytest.mark.attack("names that are paths")
@pytest.mark.parametrize("absolute", [True, False])
def test_nothing_outside_the_folder_is_removed(tmp_path: Path, absolute: bool) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside.txt"
    put(out, {"a.csv": "1", "page.html": "1"})
    outside.write_text("1")
    (digest,) = set(json.loads((out / SET).read_text()).values())
    (out / SET).write_text(json.dumps({str(outside) if absolute else "../outside.txt": digest}))
    put(out, {"page.html": "2"})
    assert outside.exists()


@pytest.mark.attack("two reports into one folder")
def test_two_processes_never_mix_their_sets(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = [sys.executable, "-c", WRITER, str(out)]
    writers = [subprocess.Popen([*run, own, str(ROUNDS)], stderr=subprocess.PIPE, text=True) for own in ("one", "two")]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], errors


def test_where_no_lock_can_be_made_all_go_on(tmp_path: Path) -> None:
    (tmp_path / ".kept").write_text("no folder")
    with folder_lock(tmp_path), folder_lock(tmp_path):
        put(tmp_path, {"page.html": "1"})
    assert (tmp_path / "page.html").read_text() == "1"


CONTENT = b"windows"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "windows.f16"
    file.write_bytes(CONTENT)
    return file


def stamp_of(file: Path) -> Path:
    return file.with_name("windows.f16.stamp")


def let_pass(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    """Set the clock this long after the present."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + seconds * 1_000_000_000)


def test_only_a_file_that_has_not_just_changed_gets_a_stamp(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within two seconds it may change again without a new time."""
    for seconds, stamped in ((0, False), (1, False), (3, True)):
        with monkeypatch.context() as patched:
            let_pass(patched, seconds)
            assert intact(file, SHA256)
        assert stamp_of(file).exists() == stamped


def test_a_stamped_file_is_not_read_again_until_it_changes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_pass(monkeypatch, 3)
    assert intact(file, SHA256)
    with monkeypatch.context() as patched:
        patched.setattr(hashlib, "file_digest", lambda *_: pytest.fail("the file is read again"))
        assert intact(file, SHA256)
    file.write_bytes(b"another content")
    assert not intact(file, SHA256)


def test_a_stamp_proves_its_own_digest_alone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_pass(monkeypatch, 3)
    assert intact(file, SHA256)
    assert not intact(file, hashlib.sha256(b"other").hexdigest())
    stamp_of(file).write_bytes(b"damaged")
    assert intact(file, SHA256)


def test_a_file_that_is_gone_is_an_error(file: Path) -> None:
    file.unlink()
    with pytest.raises(FileNotFoundError):
        intact(file, SHA256)


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


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "=", "-", "-\u0661"])
def test_a_text_that_reads_as_a_formula_stands_after_an_apostrophe(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-1.5", "+2", "-1e-9", "+1E9", "pmq", "w/o a", "–", "", -1.5, 3, None, True, "a=b"])
def test_numbers_and_plain_text_are_unchanged(value: object) -> None:
    assert csv_cell(value) is value or csv_cell(value) == value


def test_harmful_characters_are_replaced_before_the_first_one_is_looked_at() -> None:
    assert csv_cell("\x1b]0;x\x07\u202ey") == "?]0;x??y"


def test_a_file_reads_back_cell_by_cell() -> None:
    text = csv_text(["a", "=b"], [["x,y", 'q"'], ["line\nbreak", 1.5]])
    assert list(csv.reader(text.splitlines(keepends=True))) == [["a", "'=b"], ["x,y", 'q"'], ["line\nbreak", "1.5"]]
