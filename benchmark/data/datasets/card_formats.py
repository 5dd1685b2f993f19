"""Readers of the user's own signals, one per format: WFDB, NumPy, HDF5, CSV and the exports of hospital systems.

NumPy and HDF5 files hold an array of samples by leads or leads by samples; CSV and other text files a line a sample and
a column a lead, the first line may hold the names of the columns. Of an export (EDF, DICOM waveform, SCP-ECG, HL7 aECG,
GE MUSE XML, Philips XML, ISHNE and more) the content tells the format. The one owner of ecgdatakit and h5py.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Recording, Unusable
from benchmark.data.datasets.card_sections import NO_LEAD, CardSignals, Format
from benchmark.data.datasets.tables import read_cells
from benchmark.data.datasets.wfdb_files import (
    MILLIVOLTS,
    check_extent,
    check_file,
    checked_recording,
    lead_columns,
    read_samples,
)

SHARES = {"III": (-1.0, 1.0), "aVR": (-0.5, -0.5), "aVL": (1.0, -0.5), "aVF": (-0.5, 1.0)}
"""Limb lead -> its shares of I and II, by Einthoven's and Goldberger's laws."""
PADDING_SECONDS = 0.05
"""For so long no lead of an ECG is exactly zero; a few samples may be."""
SAME_RATE = 1e-4
"""Relative difference up to which two rates are one."""
DOUBTFUL = re.compile(r"truncat|mismatch|checksum|not closed|incomplete", re.IGNORECASE)
"""In a warning of ecgdatakit: the samples are not those that were written."""


class FileContent(NamedTuple):
    """Samples (n, L) of a file, and the names and units of its columns and the rate in Hz where it states them."""

    signal: NDArray[np.float64]
    leads: Sequence[str] | None = None
    units: Sequence[str] | None = None
    fs: float | None = None


def read_content(path: Path, row: int | None, signals: CardSignals) -> FileContent:
    """Read what a file, or a row of a stacked one, holds. Raises Unusable with the reason."""
    if signals.kind != "wfdb":
        check_file(path)
    with reasons():
        return READERS[signals.kind](path, signals, row)


@contextmanager
def reasons() -> Iterator[None]:
    """Let any error of a library on a damaged file be an Unusable."""
    try:
        yield
    except (Unusable, MemoryError):
        raise
    except ImportError as error:
        raise Unusable(f"a package is missing; pip install '.[formats]': {error.name}") from error
    except Exception as error:
        raise Unusable(f"unreadable, truncated or not of its format: {type(error).__name__}") from error


def to_recording(content: FileContent, signals: CardSignals) -> Recording:
    """Make 12 leads in mV of a file's content. Raises Unusable where it and the card do not fit together."""
    fs = content.fs or signals.rate
    if fs is None:
        raise Unusable("sampling rate not in the file; give signals.rate in the card")
    if signals.rate is not None and not math.isclose(fs, signals.rate, rel_tol=SAME_RATE):
        raise Unusable(f"sampling rate contradicts the card; correct signals.rate: {fs:g} Hz in the file")
    names = _lead_names(content, signals)
    derived = missing_leads(names)
    if derived and not (signals.derive and derivable(names)):
        remedy = "set signals.derive to true, or " if derivable(names) else ""
        present = ", ".join(filter(None, names))[:200]
        raise Unusable(
            f"lead missing; {remedy}name the file's leads in signals.leads: {', '.join(derived)}, not in {present!r}"
        )
    columns = [column for column in lead_columns([*names, *derived]) if column < len(names)]
    measured = [lead for lead in LEADS if lead not in derived]
    signal = _without_padding(content.signal, fs)[:, columns] * _millivolts(content.units, columns, signals)
    if derived:  # the first two that are measured are I and II
        computed = signal[:, :2] @ np.array([SHARES[lead] for lead in derived]).T  # (n, leads derived)
        signal = np.concatenate([signal, computed], axis=1)[:, lead_columns([*measured, *derived])]  # (n, 12)
    return checked_recording(signal, float(fs))


def _without_padding(signal: NDArray[np.float64], fs: float) -> NDArray[np.float64]:
    """(n, L) without the samples at the ends at which every lead is zero or NaN, as files of one length are filled."""
    used = np.flatnonzero(np.nan_to_num(signal).any(axis=1))
    if not len(used):
        return signal
    first, last, shortest = used[0], used[-1] + 1, PADDING_SECONDS * fs
    return signal[first if first >= shortest else 0 : last if len(signal) - last >= shortest else None]


def missing_leads(names: Iterable[str]) -> list[str]:
    """Return those of the twelve leads that are not among these names, in any capitals."""
    lowered = {name.strip().lower() for name in names}
    return [lead for lead in LEADS if lead.lower() not in lowered]


def derivable(names: Iterable[str]) -> list[str]:
    """Return the leads that are missing, where I and II among the given ones determine them; else none."""
    missing = missing_leads(names)
    return missing if set(missing) <= set(SHARES) else []


def _lead_names(content: FileContent, signals: CardSignals) -> list[str]:
    """Name of each column; '' for one that is not used. Raises Unusable."""
    if isinstance(signals.leads, list):
        names, count = signals.leads, content.signal.shape[1]
        if len(names) != count:
            raise Unusable(f"columns are not the leads of the card; correct signals.leads: {count} columns")
        stated = [name.strip().lower() for name in content.leads or ()]
        used = [(name, in_file) for name, in_file in zip(names, stated, strict=False) if name != NO_LEAD]
        wrong = [name for name, in_file in used if name.lower() != in_file]
        if wrong and {name.lower() for name, _ in used} <= {*stated}:
            raise Unusable(f"names of the columns contradict signals.leads; leave it out: {', '.join(wrong)}")
    elif content.leads is None:
        raise Unusable("no names of leads in the file; give signals.leads in the card")
    else:
        names = [(signals.leads or {}).get(name, name) for name in content.leads]
    return ["" if name == NO_LEAD else name for name in names]


def _millivolts(units: Sequence[str] | None, columns: Sequence[int], signals: CardSignals) -> NDArray[np.float64]:
    """Millivolts per unit of each of the columns: by the file's units, else by the card's. Raises Unusable."""
    stated = [units[column] for column in columns] if units is not None else []
    scales = [MILLIVOLTS[unit.lower()] for unit in stated if unit.lower() in MILLIVOLTS]
    given = 1 / signals.gain if signals.gain else MILLIVOLTS[signals.unit.lower()] if signals.unit else None
    names = ", ".join(sorted({*filter(None, stated)}))[:60]
    if not scales and given is None:
        raise Unusable(f"unknown unit or none in the file; give signals.unit or signals.gain in the card: {names}")
    if scales and len(scales) < len(columns):
        raise Unusable(f"unit of some leads alone; correct the files: {names}")
    if scales and given is not None and (signals.gain or {*scales} != {given}):
        raise Unusable(f"unit contradicts the card; leave out signals.unit and gain: {names}")
    return np.array(scales or [given or 1.0] * len(columns))


def read_wfdb(path: Path, signals: CardSignals, row: int | None) -> FileContent:
    """Read a record named by its header. Raises Unusable as `read_samples`."""
    return FileContent(*read_samples(path.with_suffix("")))


def read_csv(path: Path, signals: CardSignals, row: int | None) -> FileContent:
    """Read the columns of a text file. Raises ValueError where one holds anything but numbers, and any other error."""
    names, *rows = read_cells(path)
    if not are_names(names):
        names, rows = [], [names, *rows]
    values = np.array(list(map(_numbers, rows)))  # (n, L)
    if names and len(names) != values.shape[1]:
        raise Unusable("lines have more or fewer cells than the first: correct the files")
    if np.isnan(values[:, -1]).all() and not (names and names[-1]):  # every line ends in a separator
        names, values = names[:-1], values[:, :-1]
    if not names and _counts(values[0]):  # pandas' names of columns
        values = values[1:]
    expected = len(signals.leads) if isinstance(signals.leads, list) else 0
    if values.shape[1] == expected + 1 and _counts(values[:, 0]):  # pandas' names of rows
        names, values = names[1:], values[:, 1:]
    return FileContent(values, names or None)


def _numbers(cells: Sequence[str]) -> list[float]:
    """Cells as numbers with either decimal mark, NaN where blank. Raises ValueError."""
    return [float(cell.replace(",", ".") or "nan") for cell in cells]


def are_names(cells: Sequence[str]) -> bool:
    """Tell whether the cells of a first line are names of columns: one is neither a number nor blank."""
    try:
        return not _numbers(cells)
    except ValueError:
        return True


def _counts(values: NDArray[np.float64]) -> bool:
    """Whether values, the first of which may be blank, are 0, 1, ... or 1, 2, ...: no lead measures that."""
    numbers = values[1:] if np.isnan(values[0]) else values
    return len(numbers) > 2 and numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def read_array(path: Path, signals: CardSignals, row: int | None) -> FileContent:
    """Read an array of a NumPy or HDF5 file; of a stacked one the given row. Raises Unusable."""
    with arrays_in(path) as (arrays, attributes):
        array = arrays[_array_name(arrays, signals)]
        values = np.asarray(array if row is None else array[row]).squeeze()
        holders, name = [getattr(array, "attrs", {}), attributes, arrays], signals.rate_name or ""
        stored = [np.ravel(holder[name]) for holder in holders if name and name in holder]
        rate = float(stored[0][0]) if stored and len(stored[0]) == 1 else None
    if values.ndim != 2 or values.dtype.kind not in "iuf":
        raise Unusable(f"not a two-dimensional array of numbers: {values.dtype} of {values.ndim} dimensions")
    if signals.rate_name and rate is None:
        raise Unusable(f"no number under signals.rate_name: {signals.rate_name}")
    count = len(signals.leads or ())
    if (values.shape[0] == count) == (values.shape[1] == count):
        shape = " x ".join(map(str, values.shape))
        raise Unusable(f"array has not one axis of as many as signals.leads names: {shape}, {count} leads")
    return FileContent(np.asarray(values if values.shape[1] == count else values.T, np.float64), fs=rate)


@contextmanager
def arrays_in(path: Path) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Open name -> array of a NumPy or HDF5 file ('' in an .npy file), read when indexed, and its attributes."""
    check_file(path)
    if path.suffix.lower() == ".npy":
        yield {"": np.load(path, mmap_mode="r", allow_pickle=False)}, {}
    elif path.suffix.lower() == ".npz":
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            yield dict(stored), {}
    else:
        import h5py  # here, because it is in the extra `formats` alone

        with h5py.File(path, "r") as file:
            arrays: dict[str, Any] = {}
            file.visititems(lambda name, item: arrays.update({name: item} if isinstance(item, h5py.Dataset) else {}))
            yield arrays, file.attrs


def _array_name(arrays: Mapping[str, Any], signals: CardSignals) -> str:
    """The array that the card names, else the only one of two dimensions, or three if stacked. Raises Unusable."""
    dimensions = 3 if signals.stacked else 2
    fitting = [name for name, array in arrays.items() if array.ndim == dimensions]
    fitting = fitting or [name for name in arrays if not (name or signals.stacked)]  # an .npy file of (1, n, L)
    fitting = [name for name in arrays if name == signals.array] if signals.array else fitting
    if len(fitting) != 1:
        present = ", ".join(arrays)[:100] or "none"
        raise Unusable(f"not one array of {dimensions} dimensions; name it in signals.array: {present}")
    return fitting[0]


def identifiers(path: Path, signals: CardSignals) -> list[str]:
    """Return the recordings of a stacked file: the card's entry of identifiers, else the numbers of its rows.

    Raises Unusable where there is not one for each row.
    """
    with reasons(), arrays_in(path) as (arrays, _):
        count = len(arrays[_array_name(arrays, signals)])
        if not signals.ids_name:
            return [str(row) for row in range(count)]
        if signals.ids_name not in arrays or arrays[signals.ids_name].size != count:
            raise Unusable(f"no identifier for each row under signals.ids_name: {signals.ids_name}")
        stored = np.asarray(arrays[signals.ids_name]).reshape(-1).tolist()
        return [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name).strip() for name in stored]


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Return name -> shape of the arrays of a NumPy or HDF5 file. Raises Unusable for damage."""
    with reasons(), arrays_in(path) as (arrays, _):
        return {name: array.shape for name, array in arrays.items()}


def read_export(path: Path, signals: CardSignals, row: int | None) -> FileContent:
    """Read the leads of a file in their units, other channels left out unless the card lists all columns.

    Raises Unusable for damage, also where ecgdatakit only warns of it.
    """
    from ecgdatakit import FileParser  # here, because it is in the extra `formats` alone

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = FileParser.parse(path).leads
    doubts = [str(warning.message) for warning in caught if DOUBTFUL.search(str(warning.message))]
    if doubts:
        raise Unusable(f"damaged file: {doubts[0][:100]}")
    names = {lead.lower() for lead in (*LEADS, *(signals.leads or {}))}
    known = [lead for lead in parsed if isinstance(signals.leads, list) or lead.label.lower() in names]
    leads = known or parsed
    if len({(len(lead.samples), lead.sampling_rate) for lead in leads}) != 1:
        raise Unusable("no leads in the file, or of different lengths or rates")
    if any(lead.annotations.get("start_sample", "1") != "1" for lead in leads):
        raise Unusable("leads that were not recorded together")
    fs = float(leads[0].sampling_rate)
    check_extent(len(leads[0].samples), fs)
    signal = np.stack([lead.samples for lead in leads], axis=1).astype(np.float64)  # (n, L)
    return FileContent(signal, [lead.label for lead in leads], [lead.units for lead in leads], fs)


READERS: dict[Format, Callable[[Path, CardSignals, int | None], FileContent]] = {
    "wfdb": read_wfdb,
    "numpy": read_array,
    "csv": read_csv,
    "hdf5": read_array,
    "export": read_export,
}
