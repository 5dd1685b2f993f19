"""A file of the cache is read once per change; a stamp that is of another digest or of an earlier state is no proof."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from benchmark.results.files.verify import intact

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
