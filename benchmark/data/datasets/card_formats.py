"""Readers of the user's own signals, one per format: WFDB, NumPy, CSV, HDF5 and the exports of hospital systems.

What hospitals export: EDF, DICOM waveform, SCP-ECG, HL7 aECG, GE MUSE XML, Philips XML, ISHNE and more.

The format is told from a file's content. The one owner of ecgdatakit.

HDF5 files: a two-dimensional array of samples by leads, or leads by samples. The one owner of h5py.

NumPy files: an array of samples by leads, or leads by samples, alone (.npy) or among others (.npz).

CSV and other text files: a line a sample, a column a lead; the first line may hold the names of the columns.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    LARGEST_STACK,
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
    computed = _computed(names, signals)
    columns = lead_columns([*names, *computed])  # (12,)
    there = [column for column in columns if column < len(names)]
    scale = dict(zip(there, _millivolts(stored.units, there, signals), strict=True))
    if not computed:
        factors = np.array([scale[column] for column in columns])  # (12,)
        return checked_recording(stored.signal[:, columns] * factors, fs)
    measured = {LEADS[place]: stored.signal[:, own] * scale[own] for place, own in enumerate(columns) if own in scale}
    return checked_recording(np.stack([_lead(name, measured) for name in LEADS], axis=1), fs)


def derivable(names: Collection[str]) -> list[str]:
    """The leads that lack among the twelve, where these leads, in any case, determine them; else none."""
    lowered = {name.strip().lower() for name in names}
    lacking = [lead for lead in LEADS if lead.lower() not in lowered]
    return lacking if set(lacking) <= set(LIMB) and len(lacking) <= len(LIMB) - 2 else []


def _lead(name: str, measured: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """A measured lead (n,), or one that two limb leads determine by Einthoven's and Goldberger's laws."""
    if name in measured:
        return measured[name]
    one, two = _plane(measured)
    laws = {"I": one, "II": two, "III": two - one, "aVR": -(one + two) / 2, "aVL": one - two / 2, "aVF": two - one / 2}
    return laws[name]


def _plane(measured: dict[str, NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """I and II (n,): measured, or solved for from the first two limb leads that are."""
    first, second = [lead for lead in LIMB if lead in measured][:2]
    (a, b), (c, d) = LIMB[first], LIMB[second]
    x, y = measured[first], measured[second]
    of_both = a * d - b * c
    return measured.get("I", (d * x - b * y) / of_both), measured.get("II", (a * y - c * x) / of_both)


def _computed(names: Sequence[str], signals: Signals) -> Sequence[str]:
    """The leads to be computed. Raises Unusable where leads lack that the card could give."""
    lowered = {name.strip().lower() for name in names}
    lacking = [lead for lead in LEADS if lead.lower() not in lowered]
    if not lacking:
        return ()
    computed = derivable(names)
    if computed and not signals.derive:
        told = " and ".join(filter(None, [", ".join(computed[:-1]), computed[-1]]))
        word = "leads" if len(computed) > 1 else "lead"
        naming = (
            ", or name the file's leads in signals.leads" if lowered - {lead.lower() for lead in LEADS} - {""} else ""
        )
        raise Unusable(f"{word} {told} not in the file; set signals.derive to true in the card{naming}")
    if not computed:
        there = ", ".join(filter(None, names))[:200]
        raise Unusable(f"lead missing; name the file's leads in signals.leads: {', '.join(lacking)}, not in {there!r}")
    return computed


def _rate(stated: float | None, signals: Signals) -> float:
    rate = signals.rate if stated is None else stated
    if rate is None:
        raise Unusable("sampling rate not in the file; give signals.rate in the card")
    if signals.rate is not None and not math.isclose(rate, signals.rate, rel_tol=SAME_RATE):
        raise Unusable(f"sampling rate contradicts the card; correct signals.rate: {rate:g} Hz in the file")
    return float(rate)


def _names(stored: Stored, signals: Signals) -> list[str]:
    """Name of each column; '' for one that is not used."""
    count = stored.signal.shape[1]
    if isinstance(signals.leads, list):
        if len(signals.leads) != count:
            raise Unusable(f"columns are not the leads of the card; correct signals.leads: {count} columns")
        return ["" if lead == NO_LEAD else lead for lead in signals.leads]
    if stored.leads is None:
        raise Unusable("no names of leads in the file; give signals.leads in the card")
    given = signals.leads or {}
    return ["" if given.get(name) == NO_LEAD else given.get(name, name) for name in stored.leads]


def _millivolts(units: Sequence[str] | None, columns: Sequence[int], signals: Signals) -> list[float]:
    """Millivolts per unit of each of the columns: by the file's units, else by the card's."""
    stated = {units[column] for column in columns} - {""} if units is not None else set()
    unknown = sorted(unit for unit in stated if unit.lower() not in MILLIVOLTS)
    if units is not None and stated and not unknown:
        if "" in {units[column] for column in columns}:
            raise Unusable("unit of some leads alone; correct the files")
        if signals.gain is not None or (signals.unit and {unit.lower() for unit in stated} != {signals.unit.lower()}):
            raise Unusable(f"unit contradicts the card; leave out signals.unit and gain: {', '.join(sorted(stated))}")
        return [MILLIVOLTS[units[column].lower()] for column in columns]
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
    with opened(path, LARGEST_SIGNAL) as file:
        array = _array(file, signals)
        if array.size * array.dtype.itemsize > LARGEST_SIGNAL:
            raise Unusable("array too large for a recording")
        return _stored(file, array, np.asarray(array), signals)


def hdf5_identifiers(path: Path, signals: Signals) -> list[str]:
    """The recordings of a stacked file, by the card's entry of identifiers, else the numbers of the rows.

    Raises Unusable where there is not one for each row.
    """
    with opened(path, LARGEST_STACK) as file:
        count = len(_array(file, signals))
        if count > MOST_ROWS:
            raise Unusable(f"{count} rows in a stacked file: more than {MOST_ROWS}")
        if not signals.ids_name:
            return [str(row) for row in range(count)]
        held = _own_array(file, signals.ids_name) if signals.ids_name in file else None
        if held is None or held.shape != (count,):
            raise Unusable(f"no identifier for each row under signals.ids_name: {signals.ids_name}")
        return [own.decode("utf-8", "replace") if isinstance(own, bytes) else str(own) for own in held[()].tolist()]


def read_hdf5_row(path: Path, signals: Signals, row: int) -> Stored:
    """One recording of a stacked file. Raises Unusable for damage."""
    with opened(path, LARGEST_STACK) as file:
        array = _array(file, signals)
        return _stored(file, array, np.asarray(array[row]), signals)


MOST_ROWS, MOST_OBJECTS = 5_000_000, 2_000
"""Of a stacked file, and groups and arrays of a file in which the array is looked for."""


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
    rate = _hdf5_rate(file, array, signals.rate_name) if signals.rate_name else None
    return Stored(samples_by_leads(signal, signals), None, None, rate)


def _array(file: Any, signals: Signals) -> Any:
    """The array that the card names, else the only one of two dimensions, in a stacked file of three."""
    if signals.array:
        if signals.array not in file:
            raise Unusable(f"no array of the name signals.array: there are {', '.join(_arrays(file))[:100]}")
        return _own_array(file, signals.array)
    dimensions = 3 if signals.stacked else 2
    tables = [name for name, array in _arrays(file).items() if array.ndim == dimensions]
    if len(tables) != 1:
        named = ", ".join(_arrays(file))[:100] or "none"
        count = "three" if signals.stacked else "two"
        raise Unusable(f"not one {count}-dimensional array; name it in signals.array: {named}")
    return _own_array(file, tables[0])


def _own_array(file: Any, name: str) -> Any:
    """An array that lies in the file itself. Raises Unusable for one of another file, or of chunks too large to unpack.

    HDF5 can name other files in links, as external storage and as sources of a virtual array.
    """
    array = file[name]
    if array.file.filename != file.filename or getattr(array, "external", None) or getattr(array, "is_virtual", False):
        raise Unusable(f"{name} lies in another file, which is not read: copy it into this one")
    chunk = getattr(array, "chunks", None) or array.shape[1:]
    if int(np.prod(chunk, dtype=np.float64)) * array.dtype.itemsize > LARGEST_SIGNAL:
        raise Unusable(f"{name}: a part that is unpacked at once is larger than a recording can be")
    return array


def _arrays(file: Any) -> dict[str, Any]:
    """Name -> array of all arrays of a file."""
    import h5py

    found: dict[str, Any] = {}
    seen = 0

    def look(name: str, item: Any) -> bool | None:
        nonlocal seen
        seen += 1
        if isinstance(item, h5py.Dataset):
            found[name] = item
        return True if seen > MOST_OBJECTS else None

    if file.visititems(look):
        raise Unusable(f"more than {MOST_OBJECTS} groups and arrays: name the one of the signals in signals.array")
    return found


def _hdf5_rate(file: Any, array: Any, name: str) -> float:
    """A number among the attributes of the array or the file, or an array of one number."""
    for held in (array.attrs, file.attrs, file):
        if name in held:
            values = np.asarray(held[name]).reshape(-1)
            if len(values) == 1 and np.issubdtype(values.dtype, np.number):
                return float(values[0])
    raise Unusable(f"no number under signals.rate_name: {name}")


def read_numpy(path: Path, signals: Signals) -> Stored:
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


def numpy_identifiers(path: Path, signals: Signals) -> list[str]:
    """The recordings of a stacked file: the numbers of its rows. Raises Unusable where it is no such array."""
    return [str(row) for row in range(len(_stack(path)))]


def read_numpy_row(path: Path, signals: Signals, row: int) -> Stored:
    """One recording of a stacked file. Raises Unusable for damage."""
    return Stored(samples_by_leads(np.array(_stack(path)[row]), signals), None, None, None)


def _stack(path: Path) -> NDArray[Any]:
    """The array of a stacked file, of which only the rows that are asked for are read."""
    check_file(path, LARGEST_STACK)
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises any kind of error on damaged content
        raise Unusable(f"unreadable or truncated: {str(error)[:100]}") from error
    if array.ndim > 3:  # (N, 1, n, L), as of images with one channel
        array = array.reshape(len(array), *(length for length in array.shape[1:] if length != 1))
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


MOST_NUMBERS = 50_000
"""In a line, as of a lead whose samples stand side by side."""
LONGEST_LINE = 1_000_000
"""Characters of a first line."""
SEPARATORS = ("\t", ";", ",")
"""The first that the first line has counts: beside the others, a comma stands in decimal numbers."""


def read_csv(path: Path, signals: Signals) -> Stored:
    """The columns of a file. Raises Unusable where one holds anything but numbers."""
    check_file(path, LARGEST_SIGNAL)
    try:
        names, separator = first_line(path)
        if len(names) > MOST_NUMBERS:
            raise Unusable(f"{len(names)} numbers in a line: more than {MOST_NUMBERS}")
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
        first = file.readline(LONGEST_LINE).rstrip("\r\n")
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
    "wfdb": Reader(read_wfdb, wfdb_record_files),
    "numpy": Reader(read_numpy, identifiers=numpy_identifiers, read_row=read_numpy_row),
    "csv": Reader(read_csv),
    "hdf5": Reader(read_hdf5, identifiers=hdf5_identifiers, read_row=read_hdf5_row, packages=("h5py",)),
    "export": Reader(read_export, packages=("ecgdatakit",)),
}
