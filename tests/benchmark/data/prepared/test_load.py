"""A prepared dataset as it is kept: an index written by hand is read in full, and what is wrong with one is said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.load import Prepared, load_prepared, memory_map, opened, read_folder
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Entry

MakePrepared = Callable[..., Prepared]
WINDOWS = np.arange(3 * 4 * 12, dtype=np.float16).reshape(3, 4, 12)
INDEX: dict[str, Any] = {
    "name": "own",
    "title": "Own",
    "classes": ["a", "b"],
    "form": "wfdb",
    "simulated": True,
    "segmentation": {"kind": "windows", "samples": 4, "rate": 100},
    "first_window": [0, 1, 3],
    "entries": [
        {"recording": "r1", "patient": "p", "path": "x/r1", "labels": [1, 0], "statements": ["s"]},
        {"recording": "r2", "patient": "q", "path": "x/r2", "labels": [], "report": "fine", "fold": 3},
    ],
    "signals": [[500.0, 5000, "0123", "lead inverted: II"], [100.0, 1000, "4567"]],
    "skipped": [{"recording": "r3", "patient": "p", "labels": [1], "reason": "too short: 1 s", "statements": ["t"]}],
    "fingerprint": "0123456789abcdef",
    "others": ["csv"],
    "warnings": ["a column is odd"],
    "first_label_counts": True,
    "how_to_get": "Ask.",
    "format": 6,
}


def kept(folder: Path, **changed: Any) -> Path:
    """A folder of the cache with these windows and this index."""
    folder.mkdir()
    (folder / "windows.f16").write_bytes(WINDOWS.tobytes())
    index = INDEX | {"key": folder.name, "windows_sha256": hashlib.sha256(WINDOWS.tobytes()).hexdigest()} | changed
    content = json.dumps(index).encode()
    (folder / "index.json").write_bytes(content)
    (folder / "index.sha256").write_text(hashlib.sha256(content).hexdigest())
    return folder


def test_an_index_of_this_format_is_read_in_full(tmp_path: Path) -> None:
    found = load_prepared(kept(tmp_path / "key"))
    assert found is not None
    np.testing.assert_array_equal(found.windows, WINDOWS)
    np.testing.assert_array_equal(found.first_window, [0, 1, 3])
    assert replace(found, windows=WINDOWS, first_window=(first := np.array([0, 1, 3]))) == Prepared(
        name="own",
        title="Own",
        classes=("a", "b"),
        form="wfdb",
        simulated=True,
        windows=WINDOWS,
        first_window=first,
        entries=(
            Entry("r1", "p", "x/r1", (1, 0), statements=("s",)),
            Entry("r2", "q", "x/r2", (), report="fine", fold=3),
        ),
        signals=(Signal(500.0, 5000, "0123", "lead inverted: II"), Signal(100.0, 1000, "4567")),
        skipped=(Skipped("r3", "p", (1,), "too short: 1 s", ("t",)),),
        fingerprint="0123456789abcdef",
        folder=tmp_path / "key",
        others=("csv",),
        warnings=("a column is odd",),
        segmentation=Segmentation("windows", 4, 100),
        first_label_counts=True,
        how_to_get="Ask.",
    )


@pytest.mark.parametrize("number", [None, 5, 7])
def test_an_index_of_another_format_is_none_and_no_damage(
    tmp_path: Path, number: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert load_prepared(kept(tmp_path / "key", format=number)) is None
    assert load_prepared(tmp_path / "no folder") is None
    assert caplog.messages == []


@pytest.mark.parametrize("name", ["windows.f16", "index.json", "index.sha256"])
def test_what_is_missing_or_a_folder_is_named(tmp_path: Path, name: str) -> None:
    folder = kept(tmp_path / "key")
    (folder / name).unlink()
    assert read_folder(folder) == f"{name} is missing"
    (folder / name).mkdir()
    assert read_folder(folder) == f"{name} is a folder"


def test_a_folder_is_opened_once_per_process_and_one_that_is_gone_says_so(tmp_path: Path) -> None:
    folder = kept(tmp_path / "key")
    assert opened(folder) is opened(folder)
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path / 'gone'} are gone or damaged; the same command makes"):
        opened(tmp_path / "gone")


def test_a_file_without_numbers_is_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    assert memory_map(tmp_path / "none", (0, 4, 12)).shape == (0, 4, 12)
    (tmp_path / "some").write_bytes(WINDOWS.tobytes())
    some = memory_map(tmp_path / "some", WINDOWS.shape)
    np.testing.assert_array_equal(some, WINDOWS)
    assert not some.flags.writeable


def test_windows_are_counted_over_all_recordings(make_prepared: MakePrepared) -> None:
    beats = make_prepared("ptb-xl", [("a", (0,), 3, 1), ("b", (1,), 1, 2), ("c", (2,), 4, 3)])
    assert beats.window_count == 8
    assert beats.trials_of_each(2).tolist() == [1, 0, 2]
    crops = replace(beats, segmentation=Segmentation("recordings", 2, 100, 1), first_window=np.array([0, 3, 4, 8]))
    assert crops.window_count == 2 + 0 + 3


def test_recordings_that_were_lengthened_are_counted(make_prepared: MakePrepared) -> None:
    beats = make_prepared("ptb-xl", [("a", (0,), 1, 1)] * 3)
    signals = tuple(Signal(500.0, samples, "") for samples in (4999, 5000, 10))
    padding = Segmentation("recordings", 1000, 100, 500, pad=True)
    assert replace(beats, signals=signals, segmentation=padding).padded == 2
    assert replace(beats, signals=signals, segmentation=replace(padding, pad=False)).padded == 0


def test_a_named_task_goes_by_its_dataset_s_name(make_prepared: MakePrepared) -> None:
    whole = make_prepared("ptb-xl", [("a", (0,), 1, 1)])
    assert whole.dataset_name == "ptb-xl"
    assert replace(whole, name="ptb-xl.rhythm", dataset="ptb-xl").dataset_name == "ptb-xl"
