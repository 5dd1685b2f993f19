"""Labels of a cell in the forms that ECGBench's tables have, and the labels that enough patients have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.ecgbench.labels import counted, flags, stated


@pytest.mark.parametrize(
    ("cell", "separator", "labels"),
    [
        ("22;60;22", ";", ["22", "60"]),
        ("AF, LBBB,", ",", ["AF", "LBBB"]),
        ("RVOT", None, ["RVOT"]),
        (["MI", "STTC"], None, ["MI", "STTC"]),
        ({"NORM": 100.0, "SR": 0.0}, None, ["NORM", "SR"]),
        ([], None, []),
        ("", ",", []),
        (np.nan, ";", []),
        (None, None, []),
        (pd.NA, None, []),
        (np.int64(1), None, ["1"]),
        (1.0, None, ["1"]),
        (True, None, ["True"]),
    ],
)
def test_labels_of_a_cell(cell: Any, separator: str | None, labels: list[str]) -> None:
    assert stated(cell, separator) == labels


def test_columns_of_yes_and_no() -> None:
    row = {"a": 1, "b": 0.0, "c": "True", "d": np.nan, "e": pd.NA}
    assert flags(row, list("abcde")) == ["a", "c"]
    with pytest.raises(Unusable, match="neither yes nor no"):
        flags({"a": 2}, ["a"])


def test_a_class_needs_patients_not_recordings() -> None:
    rows = [("p1", ["AF"]), ("p1", ["AF"]), ("p1", ["10", "9"]), ("p2", ["9", "10"])]
    assert counted(iter(rows), 2) == ["9", "10"]
    assert counted(iter(rows), 1) == ["9", "10", "AF"]
    long = ["1" * 18, "2" * 17, "1" * 19]
    assert counted(iter([("p1", [*long, "AF"])]), 1) == ["2" * 17, "1" * 18, "1" * 19, "AF"]
    assert counted(iter([("p1", ["9" * 19, "8" + "0" * 19])]), 1) == ["8" + "0" * 19, "9" * 19], "as words"
