"""The formats of signals by name: how a file of each is read, and which packages read it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.cards.card import Format, Signals
from benchmark.data.readers.cards.forms import exports, hdf5_files, numpy_files, text_files, wfdb
from benchmark.data.readers.cards.forms.stored import Stored


def alone(path: Path) -> tuple[Path, ...]:
    """The files of a recording that is in one file."""
    return (path,)


class Reader(NamedTuple):
    """How files of a format are read."""

    read: Callable[[Path, Signals], Stored]
    """Raises Unusable with the reason."""
    files: Callable[[Path], tuple[Path, ...]] = alone
    """The files that a recording is in, from the one that the pattern finds."""
    identifiers: Callable[[Path, Signals], list[str]] | None = None
    """The recordings of a stacked file, None for a format without such files. Raises Unusable with the reason."""
    read_row: Callable[[Path, Signals, int], Stored] | None = None
    """One recording of a stacked file, by the number of its row. Raises Unusable with the reason."""
    packages: tuple[str, ...] = ()
    """Packages of the extra `formats` that read it; their versions belong to what is read."""

    def versions(self, title: str) -> dict[str, str]:
        """Package -> version. Raises DatasetError, which begins with the title, for one that is not installed."""
        try:
            return {name: version(name) for name in self.packages}
        except PackageNotFoundError as lacking:
            raise DatasetError(f"{title}: these files need {lacking.name}: pip install '.[formats]'") from None


READERS: dict[Format, Reader] = {
    "wfdb": Reader(wfdb.read, wfdb.files),
    "numpy": Reader(numpy_files.read, identifiers=numpy_files.identifiers, read_row=numpy_files.read_row),
    "csv": Reader(text_files.read),
    "hdf5": Reader(
        hdf5_files.read, identifiers=hdf5_files.identifiers, read_row=hdf5_files.read_row, packages=("h5py",)
    ),
    "export": Reader(exports.read, packages=("ecgdatakit",)),
}
