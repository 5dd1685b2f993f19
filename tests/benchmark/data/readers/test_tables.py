"""CSV tables are read as text."""

from __future__ import annotations

from pathlib import Path

from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.tables import read_table


def test_cells_stay_text_in_the_order_asked_for(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffa,b,c\n1.0,NA,\n007,x,y\n", encoding="utf-8")
    table = read_table(Chapman(tmp_path), path, ("b", "a"))
    assert table.rows == [("NA", "1.0"), ("x", "007")]
    assert table.skipped == []
