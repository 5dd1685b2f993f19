"""What is noted of verified files survives an end at any moment, and is believed only while the file is as it was."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from benchmark.data.download.ledger import Ledger, alone_in
from benchmark.data.download.sums import Wanted
from benchmark.data.readers.errors import DatasetError

CONTENT = b"an ECG"
WANTED = Wanted("a", "a.dat", hashlib.sha256(CONTENT).hexdigest(), 6)


def written(root: Path) -> Path:
    (root / "a.dat").write_bytes(CONTENT)
    with Ledger(root) as ledger:
        ledger.add("a.dat", WANTED.digest)
    return root / ".download" / "verified.tsv"


def test_a_ledger_begins_empty_and_has_a_line_a_file(tmp_path: Path) -> None:
    with Ledger(tmp_path):
        assert (tmp_path / ".download" / "verified.tsv").read_bytes() == b""
    file = written(tmp_path)
    with Ledger(tmp_path):
        assert file.read_bytes().count(b"\n") == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to count open files")
def test_a_ledger_leaves_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    written(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_is_known_until_it_changes(tmp_path: Path) -> None:
    written(tmp_path)
    assert Ledger(tmp_path).knows(WANTED)
    assert Ledger(tmp_path).bytes_here() == 6
    assert not Ledger(tmp_path).knows(WANTED._replace(digest="0" * 64)), "the publisher has another file now"
    os.utime(tmp_path / "a.dat", ns=(1, 1))
    assert not Ledger(tmp_path).knows(WANTED)
    with Ledger(tmp_path) as ledger:
        assert ledger.holds(WANTED), "read and right"
    assert Ledger(tmp_path).knows(WANTED)
    (tmp_path / "a.dat").write_bytes(b"another")
    with Ledger(tmp_path) as ledger:
        assert not ledger.holds(WANTED)
    (tmp_path / "a.dat").unlink()
    assert not Ledger(tmp_path).knows(WANTED)


@pytest.mark.parametrize("keep", range(1, 90, 8))
def test_a_line_that_was_cut_is_no_entry_and_harms_no_later_one(tmp_path: Path, keep: int) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-keep] if keep < len(whole) else b"")
    assert not Ledger(tmp_path).knows(WANTED)
    with Ledger(tmp_path) as ledger:
        ledger.add("a.dat", WANTED.digest)
    assert Ledger(tmp_path).knows(WANTED)


def test_a_line_that_is_no_text_harms_no_other(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(b"\xff\xfe\n" + path.read_bytes())
    assert Ledger(tmp_path).knows(WANTED)


def test_without_a_sum_only_what_was_noted_counts(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(CONTENT)
    with Ledger(tmp_path) as ledger:
        assert not ledger.holds(WANTED._replace(digest=""))
    written(tmp_path)
    with Ledger(tmp_path) as ledger:
        assert ledger.holds(WANTED._replace(digest=""))


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(DatasetError, match="another process downloads into"), alone_in(tmp_path):
        pass
    with alone_in(tmp_path):
        pass
