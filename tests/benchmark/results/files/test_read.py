"""Files of others: not regular, too large, too deep, or no array: one error, nothing hung, nothing allocated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipInfo

import pytest

from benchmark.results.files.read import bounded, bounded_by_text, parse_json, read_json, read_regular, unfit_members


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
