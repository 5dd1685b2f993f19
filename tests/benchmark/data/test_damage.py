"""Prepared files that are not what was written are named and made again, and the time in which they may have been read
is known."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmark.data import prepare as prepare_module
from benchmark.data.damage import digest_file, spans_file, spans_of
from benchmark.data.prepare import Prepared, open_prepared, prepare
from benchmark.data.simulate import SimulatedDataset
from benchmark.data.trials import trials_of

DATASET = SimulatedDataset("chapman", 6)
PER_TRIAL = 6
FILES = ("windows.f16", "index.safetensors", "trials-6.f16")
PREPARED, CHECKED, WRITTEN = 1e9, 2e9, 3e9
"""Seconds since 1970."""
Change = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A prepared dataset with pseudo-trials, of which tests change a copy."""
    data = prepare(DATASET, tmp_path_factory.mktemp("made"), workers=1)
    trials_of(data, PER_TRIAL)
    return data


@pytest.fixture
def folder(made: Prepared, tmp_path: Path) -> Path:
    """The copy, whose files were read whole at a known time."""
    copy = shutil.copytree(made.folder, tmp_path / made.folder.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time", lambda: CHECKED)
        assert prepare_again(copy) == []
    return copy


def prepare_again(folder: Path, *, read_again: bool = False) -> list[str]:
    """Prepare once more as a run does; returns the names of the files that were damaged."""
    damaged: list[Path] = []
    data = prepare(DATASET, folder.parent, workers=1, read_again=read_again, on_damage=damaged.append)
    trials_of(data, PER_TRIAL)
    assert data.folder == folder
    return [file.name for file in damaged]


def rewrite(file: Path, content: bytes, seconds: float) -> None:
    """Change a file in place, as if at that time."""
    file.write_bytes(content)
    os.utime(file, (seconds, seconds))


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


ANY: dict[str, Change] = {
    "cut off": lambda content: content[:-10],
    "empty": lambda content: b"",
    "a flipped bit": flipped,
    "zeros": lambda content: bytes(len(content)),
    "no values": lambda content: b"{}",
    "a list": lambda content: b"[]",
}
CHANGES = {**ANY, "other labels": lambda content: content.replace(b"SB", b"SR")}


@pytest.mark.parametrize(("name", "change"), [*product(FILES, ANY), ("index.safetensors", "other labels")])
def test_a_damaged_file_is_made_again(name: str, change: str, made: Prepared, folder: Path) -> None:
    whole = {name: (made.folder / name).read_bytes() for name in FILES}
    open_prepared(folder)
    (folder / name).write_bytes(CHANGES[change](whole[name]))
    assert prepare_again(folder) == [name]
    assert np.array_equal(open_prepared(folder).windows, made.windows), "a worker goes on with the new files"
    assert {name: (folder / name).read_bytes() for name in FILES} == whole
    assert prepare_again(folder) == []


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_gone_or_has_no_digest_is_made_again(name: str, made: Prepared, folder: Path) -> None:
    (folder / name).unlink()
    assert prepare_again(folder) == [name]
    digest_file(folder / name).write_bytes(b"")
    assert prepare_again(folder) == [name]
    assert (folder / name).read_bytes() == (made.folder / name).read_bytes()


def test_a_run_reads_again_only_files_that_were_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "trials-6.f16"
    state = file.stat()
    file.write_bytes(flipped(file.read_bytes()))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # as a disk that loses a bit
    with monkeypatch.context() as patch:
        patch.setattr("hashlib.file_digest", None)
        assert prepare_again(folder) == []
    assert prepare_again(folder, read_again=True) == [file.name]
    os.utime(folder / "windows.f16")
    monkeypatch.setattr(prepare_module, "_write", None)
    assert prepare_again(folder) == []


@pytest.mark.parametrize(
    ("written", "with_digest", "since"),
    [(PREPARED, True, CHECKED), (WRITTEN, True, WRITTEN), (PREPARED, False, PREPARED)],
)
def test_it_may_have_been_read_since_it_was_last_whole_or_changed(
    folder: Path, written: float, with_digest: bool, since: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "trials-6.f16"
    rewrite(file, flipped(file.read_bytes()), written)
    if not with_digest:
        digest_file(file).unlink()
    monkeypatch.setattr("time.time", lambda: 4e9)
    prepare_again(folder)
    assert spans_of(folder) == [(since, 4e9)]
    rewrite(folder / "index.safetensors", b"{}", 5e9)
    monkeypatch.setattr("time.time", lambda: 6e9)
    prepare_again(folder)
    assert spans_of(folder) == [(since, 4e9), (5e9, 6e9)]
    rewrite(spans_file(folder), b"", 7e9)
    assert spans_of(folder) == [(0, 7e9)]
