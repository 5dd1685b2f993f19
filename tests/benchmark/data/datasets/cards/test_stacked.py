"""Files of many recordings: a row is a recording, matched with the table by its identifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS, DatasetError, Unusable
from benchmark.data.datasets.card import NO_FILE, NO_ROW, CardDataset

ARRAY: dict[str, Any] = {"files": "all.npy", "stacked": True, "rate": 500, "unit": "mV", "leads": list(LEADS)}
Opened = Callable[..., CardDataset]


@pytest.fixture
def stack(make_ecg: Callable[..., Any]) -> Any:
    """(6, n, 12) recordings that differ in scale."""
    return np.stack([make_ecg(seconds=2.0) * (1 + row) for row in range(6)]).astype(np.float32)


def hdf5(path: Path, **arrays: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def test_a_row_of_an_array_is_a_recording(opened: Opened, folder: Path, stack: Any) -> None:
    np.save(folder / "all.npy", stack)
    dataset = opened(signals=ARRAY, table=None, labels=None)
    entries = dataset.listing().entries
    assert [(entry.recording, entry.path) for entry in entries] == [(str(n), f"all.npy#{n}") for n in range(6)]
    assert dataset.files(entries[3]) == (folder / "all.npy",)
    for row in (0, 3):
        np.testing.assert_array_equal(dataset.read(entries[row]).signal, stack[row])


def test_rows_are_matched_with_the_table_by_their_identifiers(opened: Opened, folder: Path, stack: Any) -> None:
    hdf5(folder / "a.h5", ecg=stack[:3].transpose(0, 2, 1), id=np.array(["r05", "r01", "r99"], "S3"))
    hdf5(folder / "b.h5", ecg=stack[3:].transpose(0, 2, 1), id=np.array(["r02", "r04", "r06"], "S3"))
    dataset = opened(signals={**ARRAY, "files": "*.h5", "ids_name": "id"}, labels={"others": "ignore"})
    listing = dataset.listing()
    assert {entry.recording: entry.path for entry in listing.entries} == {
        "r05": "a.h5#0", "r01": "a.h5#1", "r02": "b.h5#0", "r04": "b.h5#1", "r06": "b.h5#2",
    }  # fmt: skip
    assert dict(listing.skipped)["r99"] == f"{NO_ROW}: a.h5#2"
    assert dict(listing.skipped)["r00"] == NO_FILE
    entry = next(item for item in listing.entries if item.recording == "r04")
    assert (entry.patient, entry.labels) == ("p4", (0,))
    np.testing.assert_array_equal(dataset.read(entry).signal, stack[4])


def test_what_is_no_stack_says_so(opened: Opened, folder: Path, stack: Any) -> None:
    np.save(folder / "all.npy", stack[0])
    with pytest.raises(
        DatasetError, match=r"ours: all\.npy: not one array of 3 dimensions; name it in signals.array: none"
    ):
        opened(signals=ARRAY).listing()
    (folder / "all.npy").write_bytes(b"no array")
    with pytest.raises(DatasetError, match=r"all\.npy: unreadable, truncated"):
        opened(signals=ARRAY).listing()
    np.save(folder / "all.npy", stack[:, :, :11])
    dataset = opened(signals=ARRAY, table=None, labels=None)
    with pytest.raises(Unusable, match="array has not one axis of as many"):
        dataset.read(dataset.listing().entries[0])
    hdf5(folder / "a.h5", ecg=stack, id=np.arange(5))
    with pytest.raises(DatasetError, match=r"a\.h5: no identifier for each row under signals\.ids_name: id"):
        opened(signals={**ARRAY, "files": "a.h5", "ids_name": "id"}).listing()
    hdf5(folder / "b.h5", ecg=stack)
    with pytest.raises(DatasetError, match=r"2 stacked files: say by signals\.ids_name"):
        opened(signals={**ARRAY, "files": "*.h5"}).listing()
