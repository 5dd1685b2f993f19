"""HDF5 files: a two-dimensional array of samples by leads, or leads by samples. The one owner of h5py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored, samples_by_leads
from benchmark.data.readers.checks import LARGEST_SIGNAL, LARGEST_STACK, check_file


def read(path: Path, signals: Signals) -> Stored:
    """The array of a file. Raises Unusable for damage, and where the card does not say which array is meant."""
    with opened(path, LARGEST_SIGNAL) as file:
        array = _array(file, signals)
        if array.size * array.dtype.itemsize > LARGEST_SIGNAL:
            raise Unusable("array too large for a recording")
        return _stored(file, array, np.asarray(array), signals)


def identifiers(path: Path, signals: Signals) -> list[str]:
    """The recordings of a stacked file, by the card's entry of identifiers, else the numbers of the rows.

    Raises Unusable where there is not one for each row.
    """
    with opened(path, LARGEST_STACK) as file:
        count = len(_array(file, signals))
        if not signals.ids_name:
            return [str(row) for row in range(count)]
        held = file.get(signals.ids_name)
        if held is None or held.shape != (count,):
            raise Unusable(f"no identifier for each row under signals.ids_name: {signals.ids_name}")
        return [own.decode("utf-8", "replace") if isinstance(own, bytes) else str(own) for own in held[()].tolist()]


def read_row(path: Path, signals: Signals, row: int) -> Stored:
    """One recording of a stacked file. Raises Unusable for damage."""
    with opened(path, LARGEST_STACK) as file:
        array = _array(file, signals)
        return _stored(file, array, np.asarray(array[row]), signals)


@contextmanager
def opened(path: Path, limit: int) -> Iterator[Any]:
    """The file of at most `limit` bytes while it is read. Raises Unusable for damage."""
    import h5py  # here, because it is in the extra `formats` alone

    check_file(path, limit)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except Unusable:
        raise
    except Exception as error:  # h5py raises any kind of error on a damaged file
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error


def _stored(file: Any, array: Any, signal: NDArray[Any], signals: Signals) -> Stored:
    rate = _rate(file, array, signals.rate_name) if signals.rate_name else None
    return Stored(samples_by_leads(signal, signals), None, None, rate)


def _array(file: Any, signals: Signals) -> Any:
    """The array that the card names, else the only one of two dimensions, in a stacked file of three."""
    if signals.array:
        if signals.array not in file:
            raise Unusable(f"no array of the name signals.array: there are {', '.join(_arrays(file))[:100]}")
        return file[signals.array]
    dimensions = 3 if signals.stacked else 2
    tables = [name for name, array in _arrays(file).items() if array.ndim == dimensions]
    if len(tables) != 1:
        named = ", ".join(_arrays(file))[:100] or "none"
        count = "three" if signals.stacked else "two"
        raise Unusable(f"not one {count}-dimensional array; name it in signals.array: {named}")
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
