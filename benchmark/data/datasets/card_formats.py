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
import pandas as pd
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Recording, Unusable
from benchmark.data.datasets.card_sections import NO_LEAD, Format, Signals
from benchmark.data.datasets.wfdb_files import (
    MILLIVOLTS,
    check_extent,
    check_file,
    checked_recording,
    lead_columns,
    read_samples,
)

LIMB = {
    "I": (1.0, 0.0),
    "II": (0.0, 1.0),
    "III": (-1.0, 1.0),
    "aVR": (-0.5, -0.5),
    "aVL": (1.0, -0.5),
    "aVF": (-0.5, 1.0),
}
"""Limb lead -> its shares of I and II, by Einthoven's and Goldberger's laws. Any two determine the other four."""
PADDING_SECONDS = 0.05
"""For so long no lead of an ECG is exactly zero; a few samples may be."""
SAME_RATE = 1e-4
"""Relative difference up to which two rates are one."""
SEPARATORS = ("\t", ";", ",")
"""The first that the first line has counts: beside the others, a comma stands in decimal numbers."""
DOUBTFUL = re.compile(r"truncat|mismatch|checksum|not closed|incomplete", re.IGNORECASE)
"""In a warning of ecgdatakit: the samples are not those that were written."""


class FileContent(NamedTuple):
    """The content of a file. What it does not state is None, and stands in the card."""

    signal: NDArray[np.float64]
    """(n, L)"""
    leads: Sequence[str] | None = None
    """Names of the columns."""
    units: Sequence[str] | None = None
    """Units of the columns."""
    fs: float | None = None
    """Hz."""


def read(path: Path, row: int | None, signals: Signals) -> Recording:
    """Read a recording of a file, or of a row of a stacked one. Raises Unusable with the reason."""
    return to_recording(read_content(path, row, signals), signals)


def read_content(path: Path, row: int | None, signals: Signals) -> FileContent:
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


def to_recording(content: FileContent, signals: Signals) -> Recording:
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
    columns = lead_columns([*names, *derived])  # (12,)
    measured = {lead: column for lead, column in zip(LEADS, columns, strict=True) if column < len(names)}
    scales = np.array(_millivolts(content.units, list(measured.values()), signals))  # (leads measured,)
    signal = _without_padding(content.signal, fs)[:, list(measured.values())] * scales  # (n, leads measured)
    if derived:
        by_lead = dict(zip(measured, signal.T, strict=True))
        signal = np.stack([_lead(lead, by_lead) for lead in LEADS], axis=1)  # (n, 12)
    return checked_recording(signal, float(fs))


def _without_padding(signal: NDArray[np.float64], fs: float) -> NDArray[np.float64]:
    """(n, L) without the samples at the ends at which every lead is zero or NaN, as files of one length are filled."""
    used = np.flatnonzero(np.nan_to_num(signal).any(axis=1))
    if not len(used):
        return signal
    first, last = used[0], used[-1] + 1
    shortest = PADDING_SECONDS * fs
    return signal[first if first >= shortest else 0 : last if len(signal) - last >= shortest else None]


def missing_leads(names: Iterable[str]) -> list[str]:
    """Return those of the twelve leads that are not among these names, in any capitals."""
    lowered = {name.strip().lower() for name in names}
    return [lead for lead in LEADS if lead.lower() not in lowered]


def derivable(names: Iterable[str]) -> list[str]:
    """Return the leads that are missing, where the given ones, in any capitals, determine them; else none."""
    missing = missing_leads(names)
    return missing if set(missing) <= set(LIMB) and len(missing) <= len(LIMB) - 2 else []


def _lead(name: str, measured: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """A measured lead (n,), or one that two limb leads determine by Einthoven's and Goldberger's laws."""
    if name in measured:
        return measured[name]
    first, second = [lead for lead in LIMB if lead in measured][:2]
    (a, b), (c, d) = LIMB[first], LIMB[second]
    x, y = measured[first], measured[second]
    determinant = a * d - b * c
    one = measured.get("I", (d * x - b * y) / determinant)
    two = measured.get("II", (a * y - c * x) / determinant)
    laws = {"I": one, "II": two, "III": two - one, "aVR": -(one + two) / 2, "aVL": one - two / 2, "aVF": two - one / 2}
    return laws[name]


def _lead_names(content: FileContent, signals: Signals) -> list[str]:
    """Name of each column; '' for one that is not used. Raises Unusable."""
    if isinstance(signals.leads, list):
        names, count = signals.leads, content.signal.shape[1]
        if len(names) != count:
            raise Unusable(f"columns are not the leads of the card; correct signals.leads: {count} columns")
        stated = [name.strip().lower() for name in content.leads or ()]
        if {name.lower() for name in names} - {NO_LEAD} <= {*stated}:
            wrong = [
                name for name, in_file in zip(names, stated, strict=True) if name.lower() not in (NO_LEAD, in_file)
            ]
            if wrong:
                raise Unusable(f"names of the columns contradict signals.leads; leave it out: {', '.join(wrong)}")
    elif content.leads is None:
        raise Unusable("no names of leads in the file; give signals.leads in the card")
    else:
        names = [(signals.leads or {}).get(name, name) for name in content.leads]
    return ["" if name == NO_LEAD else name for name in names]


def _millivolts(units: Sequence[str] | None, columns: Sequence[int], signals: Signals) -> list[float]:
    """Millivolts per unit of each of the columns: by the file's units, else by the card's. Raises Unusable."""
    stated = [units[column] for column in columns] if units is not None else []
    given = [1 / signals.gain] if signals.gain else [MILLIVOLTS[signals.unit.lower()]] if signals.unit else []
    if stated and all(unit.lower() in MILLIVOLTS for unit in stated):
        scales = [MILLIVOLTS[unit.lower()] for unit in stated]
        if signals.gain or (given and {*scales} != {*given}):
            names = ", ".join(sorted({*stated}))
            raise Unusable(f"unit contradicts the card; leave out signals.unit and gain: {names}")
        return scales
    if any(unit.lower() in MILLIVOLTS for unit in stated):
        raise Unusable(f"unit of some leads alone; correct the files: {', '.join(sorted({*stated}))}")
    if not given:
        names = ", ".join(sorted({*filter(None, stated)}))[:60]
        raise Unusable(f"unknown unit or none in the file; give signals.unit or signals.gain in the card: {names}")
    return given * len(columns)


def read_wfdb(path: Path, signals: Signals, row: int | None) -> FileContent:
    """Read a record named by its header. Raises Unusable as `read_samples`."""
    samples = read_samples(path.with_suffix(""))
    return FileContent(samples.signal, samples.leads, samples.units, samples.fs)


def read_csv(path: Path, signals: Signals, row: int | None) -> FileContent:
    """Read the columns of a text file. Raises Unusable or ValueError where one holds anything but numbers."""
    names, separator = first_line(path)
    header = 0 if are_names(names, separator) else None
    try:
        table = _numbers(path, header, separator, ".")
    except ValueError:
        table = _numbers(path, header, separator, "," if separator != "," else ".")
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes the cells in front for names of the lines
        raise Unusable("lines have more cells than the first: correct the files")
    if len(names) > 1 and not names[-1] and table.iloc[:, -1].isna().all():  # every line ends in a separator
        names, table = names[:-1], table.iloc[:, :-1]
    values, leads = table.to_numpy(), None if header is None else names
    if leads is None and _counts(values[0]):  # pandas' names of columns
        values = values[1:]
    expected = len(signals.leads) if isinstance(signals.leads, list) else 0
    if values.shape[1] == expected + 1 and _counts(values[:, 0]):  # pandas' names of rows
        values, leads = values[:, 1:], leads and leads[1:]
    return FileContent(values, leads)


def _counts(values: NDArray[np.float64]) -> bool:
    """Whether values, the first of which may be blank, are 0, 1, ... or 1, 2, ...: no lead measures that."""
    numbers = values[1:] if np.isnan(values[0]) else values
    return len(numbers) > 2 and numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def first_line(path: Path) -> tuple[list[str], str]:
    """Return the cells of a file's first line, and what separates them. Raises OSError, ValueError."""
    with open(path, encoding="utf-8-sig") as file:
        first = file.readline().rstrip("\r\n")
    separator = next((candidate for candidate in SEPARATORS if candidate in first), ",")
    return [cell.strip().strip('"') for cell in first.split(separator)], separator


def are_names(cells: list[str], separator: str) -> bool:
    """Tell whether the cells of a first line are names of columns: one is neither a number nor blank."""
    try:
        _ = [float(cell.replace(",", ".") if separator != "," else cell) for cell in cells if cell]
    except ValueError:
        return True
    return False


def _numbers(path: Path, header: int | None, separator: str, point: str) -> pd.DataFrame:
    return pd.read_csv(path, header=header, sep=separator, decimal=point, dtype=np.float64, encoding="utf-8-sig")


def read_array(path: Path, signals: Signals, row: int | None) -> FileContent:
    """Read an array of a NumPy or HDF5 file; of a stacked one the given row. Raises Unusable."""
    with arrays_in(path) as (arrays, attributes):
        array = arrays[_array_name(arrays, signals)]
        values = np.asarray(array if row is None else array[row])
        rate = _number(signals.rate_name, [array.attrs if hasattr(array, "attrs") else {}, attributes, arrays])
    values = values.squeeze() if values.ndim > 2 else values
    if values.ndim != 2 or values.dtype.kind not in "iuf":
        raise Unusable(f"not a two-dimensional array of numbers: {values.dtype} of {values.ndim} dimensions")
    count = len(signals.leads or ())
    along = [axis for axis, length in enumerate(values.shape) if length == count]
    if len(along) != 1:
        shape = " x ".join(map(str, values.shape))
        raise Unusable(f"array has not one axis of as many as signals.leads names: {shape}, {count} leads")
    return FileContent(np.asarray(values if along == [1] else values.T, np.float64), fs=rate)


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


def _array_name(arrays: Mapping[str, Any], signals: Signals) -> str:
    """The array that the card names, else the only one of two dimensions, in a stacked file of more."""
    present = ", ".join(arrays)[:100] or "none"
    if signals.array and signals.array not in arrays:
        raise Unusable(f"no array of the name signals.array: there are {present}")
    fitting = [name for name, array in arrays.items() if (array.ndim > 2) == signals.stacked and array.ndim > 1]
    fitting = [signals.array] if signals.array else [""] if "" in arrays and not signals.stacked else fitting
    if len(fitting) != 1:
        dimensions = "three" if signals.stacked else "two"
        raise Unusable(f"not one {dimensions}-dimensional array; name it in signals.array: {present}")
    return fitting[0]


def _number(name: str | None, holders: Iterable[Mapping[str, Any]]) -> float | None:
    """The number under a name, None for no name. Raises Unusable where there is none."""
    if not name:
        return None
    for values in (np.asarray(holder[name]).reshape(-1) for holder in holders if name in holder):
        if len(values) == 1 and np.issubdtype(values.dtype, np.number):
            return float(values[0])
    raise Unusable(f"no number under signals.rate_name: {name}")


def identifiers(path: Path, signals: Signals) -> list[str]:
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


def read_export(path: Path, signals: Signals, row: int | None) -> FileContent:
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
    known = parsed if isinstance(signals.leads, list) else [lead for lead in parsed if lead.label.lower() in names]
    leads = known or parsed
    if not leads:
        raise Unusable("no leads in the file")
    if len({(len(lead.samples), lead.sampling_rate) for lead in leads}) > 1:
        raise Unusable("leads of different lengths or rates")
    if any(lead.annotations.get("start_sample", "1") != "1" for lead in leads):
        raise Unusable("leads that were not recorded together")
    check_extent(len(leads[0].samples), leads[0].sampling_rate)
    signal = np.stack([lead.samples for lead in leads], axis=1).astype(np.float64)  # (n, L)
    return FileContent(
        signal, [lead.label for lead in leads], [lead.units for lead in leads], float(leads[0].sampling_rate)
    )


READERS: dict[Format, Callable[[Path, Signals, int | None], FileContent]] = {
    "wfdb": read_wfdb,
    "numpy": read_array,
    "csv": read_csv,
    "hdf5": read_array,
    "export": read_export,
}
