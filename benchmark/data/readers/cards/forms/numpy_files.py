"""NumPy files: an array of samples by leads, or leads by samples, alone (.npy) or among others (.npz)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Signals
from benchmark.data.readers.cards.forms.stored import Stored, samples_by_leads
from benchmark.data.readers.checks import LARGEST_SIGNAL, LARGEST_STACK, check_file
from benchmark.results.files.arrays import array_of, read_arrays


def read(path: Path, signals: Signals) -> Stored:
    """The array of a file. Raises Unusable for damage, and where the card does not say which array is meant."""
    check_file(path, LARGEST_SIGNAL)
    try:
        content = path.read_bytes()
        arrays = {"": array_of(content)} if path.suffix.lower() == ".npy" else read_arrays(content, LARGEST_SIGNAL)
    except Exception as error:  # numpy raises any kind of error on damaged content
        raise Unusable(f"unreadable or truncated: {str(error)[:100]}") from error
    signal = _signal(arrays, signals)
    rate = None
    if signals.rate_name:
        rate = _number(arrays, signals.rate_name)
    return Stored(samples_by_leads(signal, signals), None, None, rate)


def identifiers(path: Path, signals: Signals) -> list[str]:
    """The recordings of a stacked file: the numbers of its rows. Raises Unusable where it is no such array."""
    return [str(row) for row in range(len(_stack(path)))]


def read_row(path: Path, signals: Signals, row: int) -> Stored:
    """One recording of a stacked file. Raises Unusable for damage."""
    return Stored(samples_by_leads(np.array(_stack(path)[row]), signals), None, None, None)


def _stack(path: Path) -> NDArray[Any]:
    """The array of a stacked file, of which only the rows that are asked for are read."""
    check_file(path, LARGEST_STACK)
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises any kind of error on damaged content
        raise Unusable(f"unreadable or truncated: {str(error)[:100]}") from error
    if array.ndim != 3:
        raise Unusable(f"stacked file has not three dimensions: {array.ndim}")
    return array


def _signal(arrays: Mapping[str, NDArray[Any]], signals: Signals) -> NDArray[Any]:
    if signals.array:
        if signals.array not in arrays:
            raise Unusable(f"no array of the name signals.array: there are {', '.join(arrays)[:100]}")
        return arrays[signals.array]
    tables = {name: array for name, array in arrays.items() if array.ndim == 2 or not name}
    if len(tables) != 1:
        raise Unusable(f"not one two-dimensional array; name it in signals.array: {', '.join(arrays)[:100] or 'none'}")
    return next(iter(tables.values()))


def _number(arrays: Mapping[str, NDArray[Any]], name: str) -> float:
    found = arrays.get(name)
    if found is None or found.size != 1 or not np.issubdtype(found.dtype, np.number):
        raise Unusable(f"no number under signals.rate_name: {name}")
    return float(found.reshape(-1)[0])
