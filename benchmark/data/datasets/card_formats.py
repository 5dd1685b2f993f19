"""Readers of the user's own signals, one per format: WFDB, NumPy, CSV, HDF5 and the exports of hospital systems.

NumPy and HDF5 files hold an array of samples by leads or leads by samples; CSV and other text files a line a sample and
a column a lead, the first line may hold the names of the columns. Of an export (EDF, DICOM waveform, SCP-ECG, HL7 aECG,
GE MUSE XML, Philips XML, ISHNE and more) the content tells the format. The one owner of ecgdatakit and h5py.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, DatasetError, Recording, Unusable
from benchmark.data.datasets.card import NO_LEAD, Format, Signals
from benchmark.data.datasets.wfdb_files import (
    LARGEST_SIGNAL,
    MILLIVOLTS,
    check_extent,
    check_file,
    checked_recording,
    lead_columns,
    read_samples,
    signal_files,
)
from benchmark.results.files import array_of, read_arrays

LIMB = {
    "I": (1.0, 0.0),
    "II": (0.0, 1.0),
    "III": (-1.0, 1.0),
    "aVR": (-0.5, -0.5),
    "aVL": (1.0, -0.5),
    "aVF": (-0.5, 1.0),
}
"""Limb lead -> its shares of I and II, by Einthoven's and Goldberger's laws. Any two determine the other four."""
SAME_RATE = 1e-4
"""Relative difference up to which two rates are one."""


class Stored(NamedTuple):
    """The content of a file. What it does not state is None, and stands in the card."""

    signal: NDArray[np.float64]
    """(n, L)"""
    leads: Sequence[str] | None
    """Names of the columns."""
    units: Sequence[str] | None
    """Units of the columns."""
    fs: float | None
    """Hz."""


def samples_by_leads(array: NDArray[Any], signals: Signals) -> NDArray[np.float64]:
    """An array of numbers as (n, L), L the leads of the card, which stand along either axis. Raises Unusable."""
    count = len(signals.leads or ())
    if array.ndim != 2 or not (np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)):
        raise Unusable(f"not a two-dimensional array of numbers: {array.dtype} of {array.ndim} dimensions")
    along = [axis for axis, length in enumerate(array.shape) if length == count]
    if len(along) != 1:
        shape = " x ".join(map(str, array.shape))
        raise Unusable(f"array has not one axis of as many as signals.leads names: {shape}, {count} leads")
    return np.asarray(array if along == [1] else array.T, np.float64)


def recording_of(stored: Stored, signals: Signals) -> Recording:
    """A file's content as 12 leads in mV. Raises Unusable where it and the card do not make a recording together."""
    fs = _rate(stored.fs, signals)
    names = _names(stored, signals)
    columns = lead_columns([*names, *_computed(names, signals)])  # (12,)
    measured = {lead: column for lead, column in zip(LEADS, columns, strict=True) if column < len(names)}
    scales = np.array(_millivolts(stored.units, list(measured.values()), signals))  # (leads measured,)
    signal = stored.signal[:, list(measured.values())] * scales  # (n, leads measured), in memory as a reader's
    if len(measured) < len(LEADS):
        there = dict(zip(measured, signal.T, strict=True))
        signal = np.stack([_lead(lead, there) for lead in LEADS], axis=1)  # (n, 12)
    return checked_recording(signal, fs)


def lacking(names: Iterable[str]) -> list[str]:
    """Those of the twelve leads that are not among these names, in any case."""
    lowered = {name.strip().lower() for name in names}
    return [lead for lead in LEADS if lead.lower() not in lowered]


def derivable(names: Iterable[str]) -> list[str]:
    """The leads that lack among the twelve, where these leads, in any case, determine them; else none."""
    lacks = lacking(names)
    return lacks if set(lacks) <= set(LIMB) and len(lacks) <= len(LIMB) - 2 else []


def _lead(name: str, measured: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """A measured lead (n,), or one that two limb leads determine by Einthoven's and Goldberger's laws."""
    if name in measured:
        return measured[name]
    first, second = [lead for lead in LIMB if lead in measured][:2]
    (a, b), (c, d) = LIMB[first], LIMB[second]
    x, y = measured[first], measured[second]
    of_both = a * d - b * c
    one = measured.get("I", (d * x - b * y) / of_both)
    two = measured.get("II", (a * y - c * x) / of_both)
    laws = {"I": one, "II": two, "III": two - one, "aVR": -(one + two) / 2, "aVL": one - two / 2, "aVF": two - one / 2}
    return laws[name]


def _computed(names: Sequence[str], signals: Signals) -> list[str]:
    """The leads to be computed. Raises Unusable where leads lack that the card could give."""
    lacks = lacking(names)
    if lacks and not derivable(names):
        there = ", ".join(filter(None, names))[:200]
        raise Unusable(f"lead missing; name the file's leads in signals.leads: {', '.join(lacks)}, not in {there!r}")
    if lacks and not signals.derive:
        listed = " and ".join(filter(None, [", ".join(lacks[:-1]), lacks[-1]]))
        others = {name.strip().lower() for name in names} - {lead.lower() for lead in LEADS} - {""}
        naming = ", or name the file's leads in signals.leads" if others else ""
        raise Unusable(
            f"lead{'s' if len(lacks) > 1 else ''} {listed} not in the file; set signals.derive to true in the "
            f"card{naming}"
        )
    return lacks


def _rate(stated: float | None, signals: Signals) -> float:
    rate = signals.rate if stated is None else stated
    if rate is None:
        raise Unusable("sampling rate not in the file; give signals.rate in the card")
    if signals.rate is not None and not math.isclose(rate, signals.rate, rel_tol=SAME_RATE):
        raise Unusable(f"sampling rate contradicts the card; correct signals.rate: {rate:g} Hz in the file")
    return float(rate)


def _names(stored: Stored, signals: Signals) -> list[str]:
    """Name of each column; '' for one that is not used."""
    if isinstance(signals.leads, list):
        names, count = signals.leads, stored.signal.shape[1]
        if len(names) != count:
            raise Unusable(f"columns are not the leads of the card; correct signals.leads: {count} columns")
    elif stored.leads is None:
        raise Unusable("no names of leads in the file; give signals.leads in the card")
    else:
        names = [(signals.leads or {}).get(name, name) for name in stored.leads]
    return ["" if name == NO_LEAD else name for name in names]


def _millivolts(units: Sequence[str] | None, columns: Sequence[int], signals: Signals) -> list[float]:
    """Millivolts per unit of each of the columns: by the file's units, else by the card's."""
    given = [units[column] for column in columns] if units is not None else []
    stated = sorted({unit for unit in given if unit})
    unknown = [unit for unit in stated if unit.lower() not in MILLIVOLTS]
    if stated and not unknown:
        if "" in given:
            raise Unusable("unit of some leads alone; correct the files")
        if signals.gain is not None or (signals.unit and {unit.lower() for unit in stated} != {signals.unit.lower()}):
            raise Unusable(f"unit contradicts the card; leave out signals.unit and gain: {', '.join(stated)}")
        return [MILLIVOLTS[unit.lower()] for unit in given]
    if signals.gain is not None:
        return [1 / signals.gain] * len(columns)
    if signals.unit is not None:
        return [MILLIVOLTS[signals.unit.lower()]] * len(columns)
    if unknown:
        raise Unusable(f"unknown unit; give signals.unit or signals.gain in the card: {', '.join(unknown)[:60]}")
    raise Unusable("unit not in the file; give signals.unit or signals.gain in the card")


DOUBTFUL = re.compile(r"truncat|mismatch|checksum|not closed|incomplete", re.IGNORECASE)
"""In a warning of the parser: the samples are not those that were written."""


def read_export(path: Path, signals: Signals) -> Stored:
    """The leads of a file in their units. Raises Unusable for damage, also where the parser only warns of it."""
    record = parsed(path)
    leads = wanted(record.leads, signals)
    if not leads:
        raise Unusable("no leads in the file")
    if len({len(lead.samples) for lead in leads}) > 1 or len({lead.sampling_rate for lead in leads}) > 1:
        raise Unusable("leads of different lengths or rates")
    if any(lead.annotations.get("start_sample", "1") != "1" for lead in leads):
        raise Unusable("leads that were not recorded together")
    fs = exact_rate(leads[0], record.raw_metadata)
    check_extent(len(leads[0].samples), fs)
    signal = np.stack([lead.samples for lead in leads], axis=1).astype(np.float64)  # (n, L)
    return Stored(signal, [lead.label for lead in leads], [lead.units for lead in leads], fs)


def wanted(leads: Sequence[Any], signals: Signals) -> Sequence[Any]:
    """The leads that a card can mean: an EDF file may have channels of breathing too, at another rate."""
    if isinstance(signals.leads, list):
        return leads
    names = {lead.lower() for lead in LEADS}
    named = signals.leads or {}
    return [lead for lead in leads if lead.label.lower() in names or lead.label in named] or leads


def parsed(path: Path) -> Any:
    """The record of a file, its leads in millivolts where the file states their scale. Raises Unusable."""
    from ecgdatakit import FileParser  # here, because it is in the extra `formats` alone

    check_file(path, LARGEST_SIGNAL)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            record = FileParser.parse(path)
    except ImportError as error:
        raise Unusable(f"a package is missing; pip install '.[formats]': {error.name}") from error
    except Exception as error:  # a parser raises any kind of error on a damaged file
        raise Unusable(f"unreadable, truncated or of no known format: {type(error).__name__}") from error
    doubts = [str(warning.message) for warning in said if DOUBTFUL.search(str(warning.message))]
    if doubts:
        raise Unusable(f"damaged file: {doubts[0][:100]}")
    return record


def exact_rate(lead: Any, raw: Mapping[str, Any]) -> float:
    """Hz: the rate as the file states it, which the parser rounds to a whole number."""
    if lead.label in raw.get("exact_sampling_rates", {}):  # EDF
        return float(raw["exact_sampling_rates"][lead.label])
    groups = [group for group in raw.get("multiplex_groups", []) if "sampling_frequency" in group]  # DICOM
    if groups:
        rates = [group["sampling_frequency"] for group in groups]
        return float(min(rates, key=lambda rate: abs(rate - lead.sampling_rate)))
    exact = raw.get("rhythm_time", {}).get("sampling_rate_exact") if isinstance(raw.get("rhythm_time"), dict) else None
    if exact is not None and abs(exact - round(exact)) > 1e-3:  # HL7 aECG; a step of 2 ms may give 499.99999
        return float(exact)
    return float(lead.sampling_rate)


def read_hdf5(path: Path, signals: Signals) -> Stored:
    """The array of a file. Raises Unusable for damage, and where the card does not say which array is meant."""
    with opened(path) as file:
        array = _array(file, signals)
        if array.size * array.dtype.itemsize > LARGEST_SIGNAL:
            raise Unusable("array too large for a recording")
        return _stored(np.asarray(array), signals, array.attrs, file.attrs, file)


def hdf5_identifiers(path: Path, signals: Signals) -> list[str]:
    """The recordings of a stacked file, by the card's entry of identifiers, else the numbers of the rows.

    Raises Unusable where there is not one for each row.
    """
    with opened(path) as file:
        count = len(_array(file, signals))
        if not signals.ids_name:
            return [str(row) for row in range(count)]
        held = file.get(signals.ids_name)
        if held is None or held.shape != (count,):
            raise Unusable(f"no identifier for each row under signals.ids_name: {signals.ids_name}")
        return [own.decode("utf-8", "replace") if isinstance(own, bytes) else str(own) for own in held[()].tolist()]


def read_hdf5_row(path: Path, signals: Signals, row: int) -> Stored:
    """One recording of a stacked file. Raises Unusable for damage."""
    with opened(path) as file:
        array = _array(file, signals)
        return _stored(np.asarray(array[row]), signals, array.attrs, file.attrs, file)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The file while it is read. Raises Unusable for damage."""
    import h5py  # here, because it is in the extra `formats` alone

    check_file(path)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except Unusable:
        raise
    except Exception as error:  # h5py raises any kind of error on a damaged file
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error


def _array(file: Any, signals: Signals) -> Any:
    return file[_name_of_array(file, lambda: _arrays(file), signals)]


def _name_of_array(there: Container[str], arrays: Callable[[], Mapping[str, Any]], signals: Signals) -> str:
    """The array that the card names, else the only one of two dimensions, in a stacked file of three."""
    if signals.array and signals.array in there:
        return signals.array
    named = ", ".join(arrays())[:100]
    if signals.array:
        raise Unusable(f"no array of the name signals.array: there are {named}")
    dimensions, count = (3, "three") if signals.stacked else (2, "two")
    tables = [name for name, array in arrays().items() if array.ndim == dimensions]
    if len(tables) != 1:
        raise Unusable(f"not one {count}-dimensional array; name it in signals.array: {named or 'none'}")
    return tables[0]


def _stored(signal: NDArray[Any], signals: Signals, *holders: Mapping[str, Any]) -> Stored:
    """A signal, with the rate from the first of the holders that has a number under the card's name of it."""
    rate = _number(signals.rate_name, holders)
    return Stored(samples_by_leads(signal, signals), None, None, rate)


def _number(name: str | None, holders: Iterable[Mapping[str, Any]]) -> float | None:
    if not name:
        return None
    for values in (np.asarray(held[name]).reshape(-1) for held in holders if name in held):
        if len(values) == 1 and np.issubdtype(values.dtype, np.number):
            return float(values[0])
    raise Unusable(f"no number under signals.rate_name: {name}")


def _arrays(file: Any) -> dict[str, Any]:
    """Name -> array of all arrays of a file."""
    import h5py

    found: dict[str, Any] = {}

    def look(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item

    file.visititems(look)
    return found


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Name -> shape of the arrays of a NumPy or HDF5 file; '' is the name in an .npy file.

    Raises Unusable for damage.
    """
    if path.suffix.lower() not in (".npy", ".npz"):
        with opened(path) as file:
            return {name: array.shape for name, array in _arrays(file).items()}
    check_file(path)
    try:
        if path.suffix.lower() == ".npy":
            return {"": np.load(path, mmap_mode="r", allow_pickle=False).shape}
        return {name: array.shape for name, array in read_arrays(path.read_bytes(), LARGEST_SIGNAL).items()}
    except Exception as error:  # numpy raises any kind of error on damaged content
        raise Unusable(f"unreadable or truncated: {str(error)[:100]}") from error


def read_numpy(path: Path, signals: Signals) -> Stored:
    """The array of a file. Raises Unusable for damage, and where the card does not say which array is meant."""
    check_file(path, LARGEST_SIGNAL)
    try:
        content = path.read_bytes()
        arrays = {"": array_of(content)} if path.suffix.lower() == ".npy" else read_arrays(content, LARGEST_SIGNAL)
    except Exception as error:  # numpy raises any kind of error on damaged content
        raise Unusable(f"unreadable or truncated: {str(error)[:100]}") from error
    name = "" if "" in arrays else _name_of_array(arrays, lambda: arrays, signals)
    return _stored(arrays[name], signals, arrays)


def numpy_identifiers(path: Path, signals: Signals) -> list[str]:
    """The recordings of a stacked file: the numbers of its rows. Raises Unusable where it is no such array."""
    return [str(row) for row in range(len(_stack(path)))]


def read_numpy_row(path: Path, signals: Signals, row: int) -> Stored:
    """One recording of a stacked file. Raises Unusable for damage."""
    return _stored(np.array(_stack(path)[row]), signals)


def _stack(path: Path) -> NDArray[Any]:
    """The array of a stacked file, of which only the rows that are asked for are read."""
    check_file(path)
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises any kind of error on damaged content
        raise Unusable(f"unreadable or truncated: {str(error)[:100]}") from error
    if array.ndim > 3:  # (N, 1, n, L), as of images with one channel
        array = array.reshape(len(array), *(length for length in array.shape[1:] if length != 1))
    if array.ndim != 3:
        raise Unusable(f"stacked file has not three dimensions: {array.ndim}")
    return array


SEPARATORS = ("\t", ";", ",")
"""The first that the first line has counts: beside the others, a comma stands in decimal numbers."""


def read_csv(path: Path, signals: Signals) -> Stored:
    """The columns of a file. Raises Unusable where one holds anything but numbers."""
    check_file(path, LARGEST_SIGNAL)
    try:
        names, separator = first_line(path)
        header = 0 if are_names(names, separator) else None
        try:
            table = _numbers(path, header, separator, ".")
        except ValueError:
            table = _numbers(path, header, separator, "," if separator != "," else ".")
    except (OSError, ValueError) as error:  # pandas' own errors of parsing are ValueErrors
        raise Unusable(f"unreadable or not numbers: {type(error).__name__}") from error
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes the cells in front for names of the lines
        raise Unusable("lines have more cells than the first: correct the files")
    if len(names) > 1 and not names[-1] and table.iloc[:, -1].isna().all():  # every line ends in a separator
        names, table = names[:-1], table.iloc[:, :-1]
    return Stored(table.to_numpy(), None if header is None else names, None, None)


def first_line(path: Path) -> tuple[list[str], str]:
    """The cells of a file's first line, and what separates them. Raises OSError, ValueError."""
    with open(path, encoding="utf-8-sig") as file:
        first = file.readline().rstrip("\r\n")
    separator = next((own for own in SEPARATORS if own in first), ",")
    return [cell.strip().strip('"') for cell in first.split(separator)], separator


def are_names(cells: list[str], separator: str) -> bool:
    """Whether the cells of a first line are names of columns: one is neither a number nor blank."""
    numbers = [cell.replace(",", ".") if separator != "," else cell for cell in cells]
    return not all(_is_number(cell) or not cell for cell in numbers)


def _numbers(path: Path, header: int | None, separator: str, point: str) -> pd.DataFrame:
    return pd.read_csv(path, header=header, sep=separator, decimal=point, dtype=np.float64, encoding="utf-8-sig")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read_wfdb(path: Path, signals: Signals) -> Stored:
    """A record named by its header. Raises Unusable as `read_samples`."""
    samples = read_samples(path.with_suffix(""))
    return Stored(samples.signal, [lead or "" for lead in samples.leads], samples.units, samples.fs)


def wfdb_record_files(path: Path) -> tuple[Path, ...]:
    """The header and the signal files that it names, existing or not; else the .dat or .mat file beside it."""
    try:
        if named := signal_files(path.with_suffix("")):
            return (path, *named)
    except Unusable:  # no header, or no text
        pass
    signal = next((own for own in (path.with_suffix(".dat"), path.with_suffix(".mat")) if own.is_file()), None)
    return (path, signal or path.with_suffix(".dat"))


class Reader(NamedTuple):
    """How files of a format are read."""

    read: Callable[[Path, Signals], Stored]
    """Raises Unusable with the reason."""
    files: Callable[[Path], tuple[Path, ...]] = lambda path: (path,)
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
    "wfdb": Reader(read_wfdb, wfdb_record_files),
    "numpy": Reader(read_numpy, identifiers=numpy_identifiers, read_row=read_numpy_row),
    "csv": Reader(read_csv),
    "hdf5": Reader(read_hdf5, identifiers=hdf5_identifiers, read_row=read_hdf5_row, packages=("h5py",)),
    "export": Reader(read_export, packages=("ecgdatakit",)),
}
