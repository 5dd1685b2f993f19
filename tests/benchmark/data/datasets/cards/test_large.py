"""Own data that say that they are huge, or lie elsewhere: one line each, before anything of them is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import openpyxl
import pytest

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.card import Card, Signals
from benchmark.data.datasets.card_dataset import header_of_table, read_columns
from benchmark.data.datasets.card_formats import READERS
from benchmark.data.datasets.tables import read_parquet, read_workbook


def about() -> Card:
    return Card.model_construct(title="Mine", how_to_get="")


def signals(**more: Any) -> Signals:
    return Signals(**{"files": "{recording}.h5", "rate": 500, "unit": "mV", "leads": ["I", "II"]} | more)


def test_a_table_of_a_million_columns(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(",".join(map(str, range(100_000))) + "\n" + "," * 99_999 + "\n")
    with pytest.raises(DatasetError, match="100000 columns, more than 10000"):
        read_columns(about(), tmp_path / "wide.csv", ["1"])
    (tmp_path / "long.csv").write_text("a" * 1_100_000)
    with pytest.raises(DatasetError, match="its first line has over"):
        header_of_table(about(), tmp_path / "long.csv")


def test_a_workbook_with_a_row_far_away_or_padded(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A2"] = "name", "x"
    book.save(tmp_path / "small.xlsx")
    with ZipFile(tmp_path / "small.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    far = parts[sheet].replace(b'r="2"', b'r="1000000000"').replace(b'r="A2"', b'r="A1000000000"')
    padded = parts[sheet] + b" " * 140_000_000
    for content in (far, padded, far.replace(b"A1:A2", b"A1:A1000000000")):
        with ZipFile(tmp_path / "book.xlsx", "w", ZIP_DEFLATED, compresslevel=1) as archive:
            for name, body in parts.items():
                archive.writestr(name, content if name == sheet else body)
        with pytest.raises(ValueError, match=r"2000000 cells|1000000000 rows|unpack to"):
            read_workbook(tmp_path / "book.xlsx")


def test_a_parquet_file_of_repeated_rows(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    with pq.ParquetWriter(tmp_path / "t.parquet", pa.schema([("name", pa.int8())])) as writer:
        block = pa.table({"name": pa.array(np.zeros(10_000_000, np.int8))})
        for _ in range(6):
            writer.write_table(block)
    with pytest.raises(ValueError, match="60000000 rows of 1 columns"):
        read_parquet(tmp_path / "t.parquet")


def test_hdf5_files_that_declare_too_much(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    reader = READERS["hdf5"]
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        for number in range(3000):
            file.create_group(f"g{number}")
    with pytest.raises(Unusable, match="more than 2000 groups and arrays"):
        reader.read(tmp_path / "groups.h5", signals())
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("x", (10**10, 5000, 2), np.float32, chunks=(1, 5000, 2))
    with h5py.File(tmp_path / "long.h5", "w") as file:
        file.create_dataset("x", (2 * 10**8, 2), np.float32, chunks=(5000, 2))
    with pytest.raises(Unusable, match="array too large for a recording"):
        reader.read(tmp_path / "long.h5", signals())
    assert reader.identifiers is not None
    with pytest.raises(Unusable, match="10000000000 rows in a stacked file"):
        reader.identifiers(tmp_path / "rows.h5", signals(files="*.h5", stacked=True))
    with h5py.File(tmp_path / "chunk.h5", "w") as file:
        file.create_dataset("x", (10**6, 5000, 2), np.float32, chunks=(10**5, 5000, 2), compression="gzip")
    with pytest.raises(Unusable, match="larger than a recording can be"):
        reader.read_row(tmp_path / "chunk.h5", signals(files="*.h5", stacked=True), 0)  # type: ignore[misc]


@pytest.mark.parametrize("how", ["storage", "link", "virtual"])
def test_hdf5_reads_no_other_file(tmp_path: Path, how: str) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = np.ones((5000, 2), np.float32)
    (tmp_path / "secret").write_bytes(bytes(40_000))
    with h5py.File(tmp_path / "mine.h5", "w") as file:
        if how == "storage":
            file.create_dataset("x", (5000, 2), np.float32, external=[(str(tmp_path / "secret"), 0, 40_000)])
        elif how == "link":
            file["x"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "x")
        else:
            layout = h5py.VirtualLayout((5000, 2), np.float32)
            layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "x", (5000, 2))
            file.create_virtual_dataset("x", layout)
    with pytest.raises(Unusable, match="lies in another file"):
        READERS["hdf5"].read(tmp_path / "mine.h5", signals(array="x"))


def test_a_line_of_numbers_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",".join("1" for _ in range(60_000)) + "\n")
    with pytest.raises(Unusable, match="60000 numbers in a line"):
        READERS["csv"].read(tmp_path / "a.csv", signals(files="{recording}.csv"))
