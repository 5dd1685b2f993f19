"""A submission is named by its file alone, and what it was tested on is read from its predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmark.results.files.arrays import npz_bytes
from benchmark.results.store import Store
from reports.leaderboard.submissions import LONGEST_NAME, digests_of, name_of, unique


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("capsules/alice.zip", "alice"),
        ("/home/ann/runs", "runs"),
        ("/home/ann/runs@0123", "runs@0123"),
        ("runs@all", "runs"),
        ("x\u202ey.zip", "x?y"),
        (f"{'a' * 100}.zip", "a" * LONGEST_NAME),
    ],
)
def test_no_folder_of_the_machine_is_in_a_name(source: str, name: str) -> None:
    assert name_of(source) == name


def test_equal_names_are_numbered() -> None:
    assert unique(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_windows_and_labels_have_digests_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.cells.mkdir()
    truth, probability = np.eye(2, dtype=np.int64), np.eye(2, dtype=np.float32)
    ids = {"recording": np.array(["r1", "r2"]), "patient": np.array(["p1", "p2"])}
    longer = {name: found.astype("<U30") for name, found in ids.items()}
    cells = {
        "a": {"probability": probability, "truth": truth, **ids},
        "same": {"probability": probability[::-1], "truth": truth, **longer},
        "labels": {"probability": probability, "truth": truth[::-1].copy(), **ids},
        "windows": {"probability": probability, "truth": truth, **ids, "recording": np.array(["r1", "r3"])},
        "joined": {"probability": probability, "truth": truth, **ids, "recording": np.array(["r1\nr2", ""])},
    }
    for key, arrays in cells.items():
        (store.cells / f"{key}.npz").write_bytes(npz_bytes(arrays))
    found = {key: digests_of(store, key) for key in cells}
    assert found["a"][:2] == found["same"][:2]
    assert found["a"].content != found["same"].content
    assert (found["a"].windows, found["a"].labels != found["labels"].labels) == (found["labels"].windows, True)
    assert len({found[key].windows for key in ("a", "windows", "joined")}) == 3
