"""Contents of files: read once per change of size, time or inode, whatever happens to the file of stamps."""

from __future__ import annotations

import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from benchmark.data.prepared import contents
from benchmark.data.prepared.contents import contents_of


class Folder:
    """Three files of long ago, and how many of them were read."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        root.mkdir()
        self.files = [root / name for name in "abc"]
        for path in self.files:
            self.write(path, f"content of {path.name}")

    def write(self, path: Path, text: str, seconds: int = 1) -> None:
        path.write_text(text)
        os.utime(path, (seconds, seconds))

    def look(self, *, read: bool = True) -> tuple[dict[str, str | None], int]:
        """Contents by name, and the number of files that were read."""
        heard: list[tuple[int, int]] = []
        found = contents_of(
            "x", self.root, self.files, self.cache, read=read, on_reading=lambda *counts: heard.append(counts)
        )
        assert [done for done, _ in heard] == list(range(len(heard)))
        return {path.name: content for path, content in found.items()}, heard[-1][1] if heard else 0

    def truth(self) -> dict[str, str | None]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files}

    @property
    def stamps(self) -> Path:
        (file,) = (self.cache / "stamps").iterdir()
        return file


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "data", tmp_path / "cache")


def test_files_are_read_once(folder: Folder) -> None:
    assert folder.look() == (folder.truth(), 3)
    assert folder.look() == (folder.truth(), 0)


@pytest.mark.parametrize("change", ["size", "time", "inode"])
def test_a_changed_file_alone_is_read_again(folder: Folder, change: str) -> None:
    folder.look()
    path = folder.files[1]
    if change == "inode":
        path.rename(path.with_name("old"))
    folder.write(path, "b of content" if change != "size" else "longer content of b", 2 if change == "time" else 1)
    assert folder.look() == (folder.truth(), 1)


def test_a_file_of_this_moment_is_not_vouched_for(folder: Folder) -> None:
    folder.files[0].touch()
    folder.look()
    assert folder.look() == (folder.truth(), 1)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"a": [1, 2]}', "null", "\0"])
def test_a_damaged_file_of_stamps_is_a_slow_start(folder: Folder, text: str) -> None:
    folder.look()
    folder.stamps.write_text(text)
    assert folder.look() == (folder.truth(), 3)
    assert folder.look() == (folder.truth(), 0)


def test_a_cache_that_cannot_be_written_is_a_slow_start(folder: Folder) -> None:
    folder.cache.write_text("a file, no folder")
    assert folder.look() == (folder.truth(), 3)
    assert folder.look() == (folder.truth(), 3)


@pytest.mark.parametrize(("age_ns", "read"), [(2_000_000_000, 1), (2_000_000_001, 0)])
def test_a_file_is_vouched_for_once_it_is_older_than_two_seconds(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, age_ns: int, read: int
) -> None:
    """The coarsest file systems count in steps of two seconds."""
    changed = folder.files[0].stat().st_mtime_ns
    for path in folder.files[1:]:
        os.utime(path, ns=(0, 0))
    monkeypatch.setattr(contents.time, "time_ns", lambda: changed + age_ns)
    folder.look()
    assert folder.look() == (folder.truth(), read)


def test_stamps_are_kept_without_blanks(folder: Folder) -> None:
    folder.look()
    content = folder.stamps.read_text()
    assert content == json.dumps(json.loads(content), separators=(",", ":"))


def test_missing_files_folders_and_pipes_have_no_content_and_hang_nothing(folder: Folder) -> None:
    folder.files[0].unlink()
    folder.files[1].unlink()
    os.mkfifo(folder.files[1])
    found, read = folder.look()
    assert (found["a"], found["b"], read) == (None, None, 1)
    assert found["c"] == hashlib.sha256(b"content of c").hexdigest()


def test_without_reading_the_stamps_alone_tell(folder: Folder) -> None:
    assert folder.look(read=False) == (dict.fromkeys("abc"), 0)
    assert not folder.cache.exists()
    folder.look()
    assert folder.look(read=False) == (folder.truth(), 0)


def test_an_interrupted_reading_keeps_what_was_read(folder: Folder) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        contents_of("x", folder.root, folder.files, folder.cache, on_reading=interrupt)
    assert folder.look() == (folder.truth(), 1)


def test_an_interrupted_reading_begins_no_further_file(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread reads file by file; the second file is not read before the pool was told to stop."""
    told, begun = Event(), list[str]()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(False, cancel_futures=cancel_futures)
            told.set()
            super().shutdown(wait)

    def read(path: Path) -> str:
        if begun:
            told.wait(1)
        begun.append(path.name)
        return "digest"

    def interrupt(done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    for name, value in {"ThreadPoolExecutor": Pool, "READERS": 1, "PART": 1, "sha256_of": read}.items():
        monkeypatch.setattr(contents, name, value)
    with pytest.raises(KeyboardInterrupt):
        contents_of("x", folder.root, folder.files, folder.cache, on_reading=interrupt)
    assert told.is_set()
    assert "c" not in begun


def test_two_folders_of_a_dataset_keep_their_stamps_apart(folder: Folder, tmp_path: Path) -> None:
    other = Folder(tmp_path / "other", folder.cache)
    for _ in range(2):
        folder.look()
        other.look()
    assert (folder.look()[1], other.look()[1]) == (0, 0)


def test_a_change_within_the_same_moment_is_seen(folder: Folder) -> None:
    now = int(time.time())
    folder.write(folder.files[0], "first", now)
    folder.look()
    folder.write(folder.files[0], "other", now)
    assert folder.look()[0] == folder.truth()
