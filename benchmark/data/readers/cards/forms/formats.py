"""The formats of signals by name: how a file of each is read, and which packages read it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmark.data.readers.cards.card import Format, Signals
from benchmark.data.readers.cards.forms import exports, hdf5_files, numpy_files, text_files, wfdb
from benchmark.data.readers.cards.forms.stored import Stored


class Reader(NamedTuple):
    """How files of a format are read."""

    read: Callable[[Path, Signals], Stored]
    """Raises Unusable with the reason."""
    files: Callable[[Path], tuple[Path, ...]] = lambda path: (path,)
    """The files that a recording is in, from the one that the pattern finds."""
    packages: tuple[str, ...] = ()
    """Packages of the extra `formats` that read it; their versions belong to what is read."""

    def versions(self) -> dict[str, str]:
        """Package -> version. Raises PackageNotFoundError for one that is not installed."""
        return {name: version(name) for name in self.packages}


READERS: dict[Format, Reader] = {
    "wfdb": Reader(wfdb.read, wfdb.files),
    "numpy": Reader(numpy_files.read),
    "csv": Reader(text_files.read),
    "hdf5": Reader(hdf5_files.read, packages=("h5py",)),
    "export": Reader(exports.read, packages=("ecgdatakit",)),
}
