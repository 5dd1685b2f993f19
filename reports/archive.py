"""The results archive: one zip of a run's plan, rows, predictions, failures and pretraining records.

It holds all that a report is made of and neither signals nor weights, so it fits beside a paper. Its files are those of
the results store, and are checked against their digests when they are read. Recordings and patients have the ids of the
dataset's own tables, which fall under the dataset's licence. The same run gives the same bytes.
"""

from __future__ import annotations

from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmark.results.files import digested_json, write_atomic
from benchmark.results.names import CARD
from benchmark.results.store import NoResults, Store

if TYPE_CHECKING:
    from reports.results import Results


def pack(results: Results, file: Path) -> None:
    """Write a run's finished cells, failures and pretraining records to a zip file. Damaged rows are left out."""
    contents = {"plans/latest": results.plan.key.encode()}
    contents[f"plans/{results.plan.key}.json"] = digested_json(asdict(results.plan))
    keys = [key for key in (*results.rows, *results.failures)]
    paths = [
        (store, path)
        for key in keys
        for store in [results.store_of(key)]
        for path in (store.cells / f"{key}.json", store.cells / f"{key}.npz", store.failure_file(key))
    ]
    paths += [
        (store, store.pretrained / row.pretrain_key / CARD)
        for row in results.rows.values()
        if row.pretrain_key
        for store in results.stores
    ]
    for store, path in paths:
        if path.is_file():
            contents.setdefault(path.relative_to(store.root).as_posix(), path.read_bytes())
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in sorted(contents.items()):  # ZipInfo dates a file to 1980
            archive.writestr(ZipInfo(name), content, ZIP_STORED if name.endswith(".npz") else ZIP_DEFLATED)
    write_atomic(file, buffer.getvalue())


def unpack(file: Path, folder: Path) -> Store:
    """Extract a results archive to a folder and return its store. Raises NoResults if the file is none."""
    try:
        with ZipFile(file) as archive:
            if "plans/latest" not in archive.namelist():
                raise ValueError("it holds no plan")
            archive.extractall(folder)
    except (BadZipFile, OSError, EOFError, ValueError, RuntimeError) as error:
        raise NoResults(f"{file} is no results archive ({error}); pack it again with `report --archive`") from None
    return Store(folder)
