"""The first patients of a dataset: their files, and tables cut to their rows.

The publisher's tables are kept whole, as verified, in .download/tables; those that the reader takes are made of
them, so that a later download of more patients fetches no table again.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from benchmark.data.download.catalogue import Source
from benchmark.data.download.ledger import Ledger
from benchmark.data.download.sums import Wanted
from benchmark.data.readers.errors import DatasetError
from benchmark.data.readers.registry import OF_DOWNLOAD
from benchmark.results.files.write import naming, temporary_name, write_atomic

KEPT = f"{OF_DOWNLOAD}/tables"


class Chosen(NamedTuple):
    """What is to be fetched for the chosen patients."""

    files: list[Wanted]
    patients: frozenset[str] | None
    """Their names in the tables; None for all, whose tables are not cut."""
    number: int
    """Of patients; 0 where they were not counted."""


def with_tables_kept(wanted: Sequence[Wanted], source: Source) -> tuple[list[Wanted], list[Wanted]]:
    """(tables, where they are kept whole; all other files)."""
    names = {table.file for table in source.tables}
    tables = [item._replace(path=f"{KEPT}/{item.path}") for item in wanted if item.path in names]
    lacking = names - {item.path.rpartition("/")[2] for item in tables}
    if lacking:
        raise DatasetError(f"{source.release}: the list of sums has no {', '.join(sorted(lacking))}")
    return tables, [item for item in wanted if item.path not in names]


def adopt_tables(tables: Sequence[Wanted], ledger: Ledger) -> None:
    """Keep tables that lie whole in the dataset's folder, so that they are not fetched."""
    for item in tables:
        own = item._replace(path=Path(item.path).name)
        if not ledger.holds(item) and ledger.holds(own):
            _link(ledger.root / own.path, ledger.root / item.path)
            ledger.holds(item)


def first_patients(files: Sequence[Wanted], source: Source, root: Path, number: int | None) -> Chosen:
    """The files of the first patients, in the order of the first table, else of the recordings' names.

    All files for no number. A patient counts who has a recording among the files.
    """
    if number is None:
        return Chosen(list(files), None, 0)
    offered = {item.record for item in files} - {""}
    if not source.tables:
        by_name = sorted(offered, key=lambda record: record.rpartition("/")[2])[:number]
        kept, patients = set(by_name), frozenset(Path(record).name for record in by_name)
    else:
        table = source.tables[0]
        of_patient: dict[str, list[str]] = {}
        for cells in _rows(root / KEPT / table.file, (table.patient, *table.records)):
            own = [record for record in cells[1:] if record in offered]
            if own and cells[0] and (cells[0] in of_patient or len(of_patient) < number):
                of_patient.setdefault(cells[0], []).extend(own)
        kept, patients = {record for own in of_patient.values() for record in own}, frozenset(of_patient)
    return Chosen([item for item in files if not item.record or item.record in kept], patients, len(patients))


def place_tables(source: Source, root: Path, patients: Collection[str] | None) -> None:
    """Put the tables where the reader finds them: whole, or cut to the rows of the patients."""
    for table in source.tables:
        if patients is None:
            _link(root / KEPT / table.file, root / table.file)
        else:
            cut_table(root / KEPT / table.file, root / table.file, table.patient, patients)


def cut_table(whole: Path, path: Path, column: str, kept: Collection[str]) -> int:
    """Write a table with those rows alone whose cell in a column is one of `kept`; returns their number."""
    out, count = StringIO(), 0
    writer = csv.writer(out, lineterminator="\n")
    with open(whole, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        place = _place(whole, header, column)
        writer.writerow(header)
        for cells in reader:
            if len(cells) == len(header) and cells[place].strip() in kept:
                writer.writerow(cells)
                count += 1
    write_atomic(path, out.getvalue().encode())
    return count


def _rows(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        places = [_place(path, header, column) for column in columns]
        for cells in reader:
            if len(cells) == len(header):
                yield [cells[place].strip() for place in places]


def _place(path: Path, header: Sequence[str], column: str) -> int:
    if column not in header:
        raise DatasetError(f"{path} has no column {column}, by which patients are chosen")
    return header.index(column)


def _link(whole: Path, path: Path) -> None:
    """Make `path` the same file as `whole`; a copy where the file system has no links."""
    if path.exists() and path.samefile(whole):
        return
    temporary = temporary_name(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(whole, temporary)
        except OSError:
            write_atomic(path, whole.read_bytes())
            return
        try:
            os.replace(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()
