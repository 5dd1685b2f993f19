"""Recordings in memory: what is missing, masked or named in another order, and what is written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.config.load import load_card
from benchmark.data.datasets.arrays import Arrays
from benchmark.data.datasets.base import Listing

SIGNALS = np.random.default_rng(0).normal(size=(4, 500, 12))  # (n, samples, leads)


def listing(folder: Path, **given: Any) -> Listing:
    file = Arrays(**{"name": "ours", "x": SIGNALS, "rate": 50, **given}).write(folder)
    return load_card(str(file))(file.parent).listing()


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["AF", "SR", pd.NA, "SR"], dtype="string"),
        pd.Categorical(["AF", "SR", None, "SR"]),
        np.ma.MaskedArray(["AF", "SR", "AF", "SR"], [False, False, True, False]),
    ],
)
def test_a_missing_label_is_no_class(labels: Any, tmp_path: Path) -> None:
    written = listing(tmp_path, y=labels)
    assert [entry.labels for entry in written.entries] == [(0,), (1,), (), (1,)]


def test_missing_patients_are_not_one_patient(tmp_path: Path) -> None:
    patients = pd.Series(["a", pd.NA, pd.NA, "b"], dtype="string")
    written = listing(tmp_path, y=["AF", "SR", "AF", "SR"], patient=patients)
    assert len({entry.patient for entry in written.entries}) == 4


def test_columns_of_a_frame_are_found_by_their_names(tmp_path: Path) -> None:
    frame = pd.DataFrame({"AF": [1, 0, 0, 1], "SR": [0, 1, 1, 0]})
    in_order = listing(tmp_path, y=frame)
    turned = listing(tmp_path, y=frame, classes=["SR", "AF"])
    assert [entry.labels for entry in in_order.entries] == [(0,), (1,), (1,), (0,)]
    assert [entry.labels for entry in turned.entries] == [(1,), (0,), (0,), (1,)]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"y": pd.DataFrame({"AF": [1, 0, 0, 1]}), "classes": ["SR"]}, r"y has the columns \['AF'\], classes names"),
        ({"x": np.ma.masked_less(SIGNALS, 0)}, "signal 0 has masked samples"),
        ({"x": {"a": SIGNALS[0]}}, r"signal 0 has the shape \(\), not \(samples, leads\)"),
    ],
)
def test_what_does_not_fit_is_one_line(given: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^ours: {reason}"):
        listing(tmp_path, **given)


def test_signals_of_another_shape_are_not_those_of_equal_bytes(tmp_path: Path) -> None:
    turned = Arrays(name="ours", x=SIGNALS.reshape(4, 12, 500), rate=50).write(tmp_path)
    assert turned != Arrays(name="ours", x=SIGNALS, rate=50).write(tmp_path)
