"""Sex and age of a dataset's recordings: by its entries, else by a table or by WFDB headers; no signal is opened.

A card may name the columns of both, which are then in the entries. CPSC2018's original structs state them beside the
signals alone and are not opened for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchmark.data.readers.base import Dataset, Entry, Person, Unusable
from benchmark.data.readers.files.tables import years_of
from benchmark.data.readers.files.wfdb_record import comments


def people_of(dataset: Dataset, entries: Sequence[Entry]) -> dict[str, Person]:
    """Recording -> sex and age, of those entries of which a dataset states either; {} where it states none."""
    told = {entry.recording: (entry.sex, entry.age) for entry in entries}
    if not any(sex or age is not None for sex, age in told.values()):
        table = dataset.people()
        told = {own.recording: table.get(own.recording) or _of_headers(dataset.files(own)) for own in entries}
    return {recording: own for recording, own in told.items() if own[0] or own[1] is not None}


def _of_headers(files: Sequence[Path]) -> Person:
    """The person of the comments `# Age: 63` and `#Sex: Female` of a recording's WFDB headers."""
    return _stated(files, "sex"), years_of(_stated(files, "age"))


def _stated(files: Sequence[Path], name: str) -> str:
    """What the first comment of a name in the headers among some files says; '' for none, or none that can be read."""
    for header in (path for path in files if path.suffix == ".hea"):
        with suppress(Unusable):
            for text in comments(header.with_suffix(""), name):
                return text
    return ""
