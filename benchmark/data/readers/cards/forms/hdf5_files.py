"""HDF5 files: a two-dimensional array of samples by leads, or leads by samples. The one owner of h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored, samples_by_leads
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_file

LARGEST_OF_MANY = 64 * LARGEST_SIGNAL
"""Bytes of a file that holds many recordings."""


def read(path: Path, signals: Signals) -> Stored:
    """The array of a file. Raises Unusable for damage, and where the card does not say which array is meant."""
    import h5py  # here, because it is in the extra `formats` alone

    check_file(path, LARGEST_SIGNAL)
    try:
        with h5py.File(path, "r") as file:
            array = _array(file, signals)
            if array.size * array.dtype.itemsize > LARGEST_SIGNAL:
                raise Unusable("array too large for a recording")
            signal = samples_by_leads(np.asarray(array), signals)
            return Stored(signal, None, None, _rate(file, array, signals.rate_name) if signals.rate_name else None)
    except Unusable:
        raise
    except Exception as error:  # h5py raises any kind of error on a damaged file
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error


def read_row(path: Path, array: str, row: int) -> NDArray[Any]:
    """A row of a three-dimensional array of many recordings. Raises Unusable."""
    import h5py

    check_file(path, LARGEST_OF_MANY)
    try:
        with h5py.File(path, "r") as file:
            if array not in file or file[array].ndim != 3 or row >= len(file[array]):
                raise Unusable(f"no such row of an array of recordings: {array} {row}")
            return np.asarray(file[array][row])
    except Unusable:
        raise
    except Exception as error:  # h5py raises any kind of error on a damaged file
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error


def _array(file: Any, signals: Signals) -> Any:
    """The array that the card names, else the only two-dimensional one."""
    if signals.array:
        if signals.array not in file:
            raise Unusable(f"no array of the name signals.array: there are {', '.join(_arrays(file))[:100]}")
        return file[signals.array]
    tables = [name for name, array in _arrays(file).items() if array.ndim == 2]
    if len(tables) != 1:
        named = ", ".join(_arrays(file))[:100] or "none"
        raise Unusable(f"not one two-dimensional array; name it in signals.array: {named}")
    return file[tables[0]]


def _arrays(file: Any) -> dict[str, Any]:
    """Name -> array of all arrays of a file."""
    import h5py

    found: dict[str, Any] = {}
    file.visititems(lambda name, item: found.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    return found


def _rate(file: Any, array: Any, name: str) -> float:
    """A number among the attributes of the array or the file, or an array of one number."""
    for held in (array.attrs, file.attrs, file):
        if name in held:
            values = np.asarray(held[name]).reshape(-1)
            if len(values) == 1 and np.issubdtype(values.dtype, np.number):
                return float(values[0])
    raise Unusable(f"no number under signals.rate_name: {name}")
