"""The table of recordings: what is written is what another process maps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import Entry
from benchmark.data.prepare import load_prepared, unprepared, write_index
from benchmark.data.recordings import table_of
from tests.benchmark.tables import rows_of

ROWS = [
    Entry("é", "\udcff", labels=(2, 0), fold=0, outline=(-(2**63), 2**63 - 1, 0)),
    Entry("", "", report="two\nlines", is_negative=True, fs=500.5, windows=3),
    Entry("r", "", labels=(1,), doubts="one: odd\nanother", windows=2),
    Entry("left out", "p", reason="too short: 1.00 s"),
]


@pytest.mark.parametrize("count", [0, 4])
def test_a_table_is_mapped_as_it_was_written(tmp_path: Path, count: int) -> None:
    data = replace(unprepared(DATASETS["ptb-xl"], ()), folder=tmp_path, listed=table_of(ROWS[:count]))
    (tmp_path / "windows.f16").write_bytes(bytes(5 * 300 * 12 * 2))
    write_index(data)
    again = load_prepared(tmp_path)
    assert rows_of(again.listed) == ROWS[:count]
    assert rows_of(again.recordings) == [row for row in ROWS[:count] if not row.reason]
    assert again.recordings.first_window.tolist() == ([0, 0, 3] if count else [])
    assert [again.listed.recording[number] for number in range(count)] == [*again.listed.recording]
