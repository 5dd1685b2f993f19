"""The section `signals` of a card, and the readers of the user's own signals: WFDB, NumPy, HDF5, CSV and exports.

NumPy and HDF5 files hold an array of samples by leads or leads by samples; CSV and other text files a line a sample and
a column a lead, the first line may hold the names of the columns. Of an export of a hospital's system (EDF, DICOM
waveform, SCP-ECG, HL7 aECG, GE MUSE XML and more) the content tells the format. The one owner of ecgdatakit and h5py.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from benchmark.data.datasets.base import LEADS, LIMB_SHARES, Recording, Unusable
from benchmark.data.datasets.wfdb_files import (
    FASTEST,
    MILLIVOLTS,
    SLOWEST,
    Samples,
    checked_recording,
    lead_columns,
    millivolts,
    missing_leads,
    read_samples,
    reasons,
)
from benchmark.results.arrays import Doubles
from benchmark.results.canonical import TwoReadings, identifier, plain_numbers, text, thousands_mark
from benchmark.results.names import reason_of
from benchmark.results.sheets import read_cells, read_text

Format = Literal["wfdb", "numpy", "csv", "hdf5", "export"]
SUFFIXES: dict[str, Format] = {
    ".hea": "wfdb",
    **dict.fromkeys((".npy", ".npz"), "numpy"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".h5", ".hdf5"), "hdf5"),
    **dict.fromkeys((".edf", ".dcm", ".scp", ".xml", ".ecg", ".mwf"), "export"),
}
"""Suffix of the files -> their format, where the card states none."""
AT_THOUSANDS = "numbers whose comma or point was taken to stand at thousands"
NO_LEAD = "-"
"""Name of a column that is no lead and is not used."""
PADDING_SECONDS = 0.05
"""For so long no lead of an ECG is exactly zero; a few samples may be."""
SAME_RATE = 1e-3
"""Relative difference up to which two rates are one: times are rounded."""
DAMAGE = re.compile("truncat|mismatch|checksum|not closed|incomplete")
"""Words of a warning of ecgdatakit: the samples are not those that were written."""
GAPS = re.compile("has gaps|without a gap")
"""Words of a warning of ecgdatakit: the parts that it joins were not recorded without a break."""
HARMLESS = re.compile("(?i)additional|header size")
"""Words of a warning of ecgdatakit that changes no sample: median beats beside the rhythm, a known size."""
RATE = r"(?:fs|sr|rate|freq(?:uency)?|sampl(?:e|ing)[ _]?(?:rate|freq(?:uency)?))(?:[ _]?[(\[]?hz[)\]]?)?"
RATES = re.compile(RATE, re.IGNORECASE)
RATE_AHEAD = re.compile(rf"^#+ *({RATE})[^\w\n]+(\d+(?:\.\d*)?)", re.IGNORECASE | re.MULTILINE)
STEPS = re.compile(r"(?i)dt|((sampl(e|ing)[ _]?)?(period|interval|step)|time[ _]?step)([ _]?[mu]?s(ec)?)?")
TIMES = re.compile(r"(?i)(time|times|t|elapsed|timestamp|seconds|ms)([^a-z].*)?")
STARTS = ("start_sample", "LeadTimeOffset", "sample_skew_ms")
"""Names that ecgdatakit has for the start of a lead, in SCP-ECG, MUSE and DICOM."""
LEAD_NAMES = re.compile(r"(?i)(lead|channel|sig|signal)(s|_?names?)")
UNITS = re.compile(r"(?i)((adc|lead|sig|signal)_?)?units?")
GAINS = re.compile(r"(?i)(adc_?)?gains?")
"""Names of entries, columns and comments that say a rate, the time between samples or of each, leads, unit or gain."""
WITH_UNIT = re.compile(r"(?i)(.+?)[\s_/]*[\[(\s_/]((?<=[\[(])v|[mnuµμ]v)[\])]?")
"""The name of a column with the unit of a voltage: 'I (uV)', 'II [mV]', 'V1_uV'."""


Word = Annotated[
    str,
    BeforeValidator(lambda value: text(value) if type(value) in (int, float, str) else value),
    Field(min_length=1),
]
"""A value of a table's cell or the name of a column, in its canonical form; a number of YAML counts as its text."""


class CardSection(BaseModel):
    """A part of a card, strictly typed; unknown keys are refused. docs/OWN_DATA.md says what each key means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class CardSignals(CardSection):
    """The files of the signals and what their numbers mean."""

    files: str
    format: Format | None = None
    rate: Annotated[float, Field(ge=50, le=10_000)] | None = None
    unit: Literal["V", "mV", "uV", "nV"] | None = None
    gain: Annotated[float, Field(gt=0)] | None = None
    leads: list[Word] | dict[Word, Word] | None = None
    array: Word | None = None
    rate_name: Word | None = None
    stacked: bool = False
    ids_name: Word | None = None
    derive: bool = False

    @model_validator(mode="after")
    def _complete(self) -> CardSignals:
        if not self.format and PurePosixPath(self.files).suffix.lower() not in SUFFIXES:
            raise ValueError(
                f"the suffix of files {self.files!r} says no format: end the pattern in "
                f"{', '.join(SUFFIXES)}, or give the format"
            )
        if self.unit and self.gain:
            raise ValueError("give unit or gain, not both")
        return self

    @property
    def kind(self) -> Format:
        """The format of the files."""
        return self.format or SUFFIXES[PurePosixPath(self.files).suffix.lower()]

    @property
    def scale(self) -> float | None:
        """Millivolts per unit, None where the card does not say it."""
        return 1 / self.gain if self.gain else MILLIVOLTS[self.unit.lower()] if self.unit else None


def read_content(path: Path, row: int | None, signals: CardSignals) -> Samples:
    """Read what a file, or a row of a stacked one, holds. Raises Unusable with the reason, and as `reasons`."""
    with reasons(path), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        content = with_units_of_names(READERS[signals.kind](path, signals, row), signals)
    doubts = [*content.doubts]
    for warning in caught:
        message = reason_of(warning.message)
        if DAMAGE.search(message):
            raise Unusable(f"unreadable, truncated or not of its format; copy it again: {message}")
        if GAPS.search(message):
            raise Unusable(f"gaps in the recording; export each stretch as a file: {message}")
        if not HARMLESS.search(message):
            doubts.append(f"a warning of its reader: {message}")
    return content._replace(doubts=doubts)


def with_units_of_names(content: Samples, signals: CardSignals) -> Samples:
    """Take the units that stand in names of columns from them; a name that the card has stays whole."""
    leads = list[str]()
    units = list[str]()
    for name in content.leads:
        match = WITH_UNIT.fullmatch(name)
        leads.append(match[1] if match and name not in (signals.leads or ()) else name)
        units.append(match[2] if match else "")
    return content._replace(leads=leads, units=units) if any(units) and not content.units else content


def to_recording(content: Samples, signals: CardSignals) -> Recording:
    """Make 12 leads in mV of a file's content. Raises Unusable where it and the card do not fit together."""
    fs = rate_of(content, signals)
    names = _lead_names(content, signals)
    missing = missing_leads(names)
    derivable = {*missing} <= LIMB_SHARES.keys()
    if missing and not (signals.derive and derivable):
        remedy = f"{'set signals.derive to true, or ' * derivable}name the file's leads in signals.leads"
        present = ", ".join(filter(None, names))[:200]
        raise Unusable(f"lead missing; {remedy}: {', '.join(missing)}, not in {present!r}")
    column_of_lead = np.array(lead_columns([*names, *missing]))
    is_measured = column_of_lead < len(names)
    samples = without_padding(content.signal, fs)
    columns = column_of_lead[is_measured]
    signal = np.zeros((len(samples), len(LEADS)))  # (n, 12)
    signal[:, is_measured] = samples[:, columns] * millivolts(content, columns, signals.scale)
    if missing:  # (n, leads missing) of I and II
        signal[:, ~is_measured] = signal[:, :2] @ np.array([LIMB_SHARES[lead] for lead in missing]).T
    return replace(checked_recording(signal, fs), doubts=tuple(content.doubts))


def rate_of(content: Samples, signals: CardSignals) -> float:
    """Return the rate, Hz, that a file and its card state. Raises Unusable where none does, or two differ."""
    rates = {"the file": content.fs, "the card": signals.rate or 0.0, **content.rates}
    stated = {source: rate for source, rate in rates.items() if rate}
    if not stated:
        raise Unusable("sampling rate not in the file; give signals.rate in the card")
    first, *others = stated.values()
    if not all(math.isclose(first, other, rel_tol=SAME_RATE) for other in others):
        texts = ", ".join(f"{rate:g} Hz says {source}" for source, rate in stated.items())
        raise Unusable(f"sampling rate contradicts the card; correct signals.rate: {texts}")
    return first


def rate_of_times(times: Doubles, source: str) -> float:
    """Return the Hz of the times (n,) of samples in s, ms or us; 0 of their numbers. Raises Unusable for gaps.

    Of the three units one alone gives a rate of an ECG.
    """
    if len(times) < 3 or _counts(times):
        return 0.0
    even = np.linspace(times[0], times[-1], len(times))
    step = even[1] - even[0]
    if not (step > 0 and np.abs(times - even).max() <= step):  # NaN is no time
        raise Unusable(f"gaps in the recording, or times that do not rise evenly: {source}")
    rates = [scale / float(step) for scale in (1, 1e3, 1e6)]
    return next((rate for rate in rates if SLOWEST <= rate <= FASTEST), 0.0)


def without_padding(signal: Doubles, fs: float) -> Doubles:
    """Cut off the samples (n, L) at the ends at which every lead is zero or NaN, as files of one length are filled."""
    used = np.flatnonzero(np.nan_to_num(signal).any(axis=1))
    if not len(used):
        return signal
    first = used[0]
    last = used[-1] + 1
    shortest = PADDING_SECONDS * fs
    return signal[first if first >= shortest else 0 : last if len(signal) - last >= shortest else None]


def _lead_names(content: Samples, signals: CardSignals) -> list[str]:
    """Name the lead of each column; '' for one that is not used. Raises Unusable."""
    if isinstance(signals.leads, list):
        names, count = signals.leads, content.signal.shape[1]
        if len(names) != count:
            raise Unusable(f"columns are not the leads of the card; correct signals.leads: {count} columns")
        stated = ", ".join(content.leads)
        if not missing_leads(content.leads) and stated.lower() != ", ".join(names).lower():
            raise Unusable(f"names of the columns contradict signals.leads; correct it: {stated}")
    elif not content.leads:
        raise Unusable("no names of leads in the file; give signals.leads in the card")
    else:
        names = [(signals.leads or {}).get(name, name) for name in content.leads]
    return ["" if name == NO_LEAD else name for name in names]


def read_csv(path: Path, signals: CardSignals, row: int | None) -> Samples:
    """Read the columns of a text file. Raises Unusable for numbers of two readings, and any error for what is none."""
    cells = read_cells(path)
    names = cells.iloc[0].tolist() if are_names(cells.iloc[0]) else []
    rows = cells.iloc[1:] if names else cells
    texts = rows.to_numpy().ravel().tolist()
    try:
        thousands = thousands_mark(texts)
        numbers = [float(number or "nan") for number in plain_numbers(texts, thousands)]
    except TwoReadings as reason:
        raise Unusable(str(reason)) from None
    except ValueError as error:
        raise Unusable(f"text among the numbers; write times as seconds, take other text out: {error}") from None
    values = np.array(numbers).reshape(rows.shape)  # (n, L)
    if np.isnan(values[:, -1]).all() and not (names and names[-1]):  # every line ends in a separator
        names, values = names[:-1], values[:, :-1]
    if not names and _counts(values[0]):  # pandas' names of columns
        values = values[1:]
    if isinstance(signals.leads, list) and values.shape[1] == len(signals.leads) + 1 and _counts(values[:, 0]):
        names, values = names[1:], values[:, 1:]  # pandas' names of rows
    rates = {source: float(rate) for source, rate in RATE_AHEAD.findall(read_text(path))}
    for name, column in zip(names, values.T, strict=False):
        if TIMES.fullmatch(name):
            rates[name] = rate_of_times(column, name)
    return Samples(values, names, rates=rates, doubts=[AT_THOUSANDS] if thousands else [])


def are_names(cells: Iterable[str]) -> bool:
    """Tell whether the cells of a first line are names of columns: one is neither a number nor blank."""
    try:
        return not [float(re.sub("[,.]", "", cell) or 0) for cell in cells]
    except ValueError:
        return True


def _counts(values: Doubles) -> bool:
    """Tell whether values, the first of which may be blank, are 0, 1, ... or 1, 2, ...: no lead measures that."""
    numbers = values[1:] if np.isnan(values[0]) else values
    return len(numbers) > 2 and numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def read_array(path: Path, signals: CardSignals, row: int | None) -> Samples:
    """Read an array of a NumPy or HDF5 file; of a stacked one the given row. Raises Unusable."""
    (arrays, attributes), count = arrays_in(path), len(signals.leads or ())
    array = arrays[_array_name(arrays, signals)]
    values = np.squeeze(array if row is None else array[row])
    if values.ndim != 2 or (values.shape[0] == count) == (values.shape[1] == count):
        shape = " x ".join(map(str, values.shape))
        raise Unusable(f"array has not one axis of as many as signals.leads names: {shape}, {count} leads")
    signal = np.asarray(values if values.shape[1] == count else values.T, np.float64)  # (n, L)
    if values.dtype.kind == "i":
        signal[signal == np.iinfo(values.dtype).min] = np.nan  # no sample, as in format 16 of WFDB
    content = Samples(signal)
    for name, stored in {**arrays, **attributes, **getattr(array, "attrs", {})}.items():
        if stored is not array and np.size(stored) <= max(len(array), len(signal)):
            values = np.ravel(stored)
            if getattr(stored, "attrs", {}).get("MATLAB_class") == b"char":
                values = np.array(["".join(map(chr, values))])
            content = _with_entry(content, name, values, signals, row)
    return content


def _with_entry(content: Samples, name: str, values: NDArray[Any], signals: CardSignals, row: int | None) -> Samples:
    """Add what the values (m,) of an entry beside the array say of it: rate, times of samples, leads, unit or gain.

    A gain counts where the numbers are whole; others are no steps of a converter.
    """
    word = PurePosixPath(name).name
    count = content.signal.shape[1]
    if values.dtype.kind in "iuf":
        is_step = len(values) == 1 and STEPS.fullmatch(word)
        if len(values) and (is_step or RATES.fullmatch(word) or name == signals.rate_name):
            rate = float(values[row if row is not None and len(values) > 1 else 0])  # a stacked file may have one a row
            if is_step:
                rate = rate_of_times(values * np.arange(3), name)
            return content._replace(rates={**content.rates, name: rate})
        if len(values) == len(content.signal) and TIMES.fullmatch(word):
            return content._replace(rates={**content.rates, name: rate_of_times(values.astype(np.float64), name)})
        is_gain = len(values) in (1, count) and GAINS.fullmatch(word) and (values > 0).all()
        if is_gain and not np.nan_to_num(content.signal % 1).any():
            return content._replace(gains=np.broadcast_to(values, count).tolist())
    elif len(values) in (1, count) and all(isinstance(value, str | bytes) for value in values):
        words = [text(value) for value in values]
        if UNITS.fullmatch(word):
            return content._replace(units=words * (count // len(words)))
        if LEAD_NAMES.fullmatch(word) and len(words) == count:
            return content._replace(leads=words)
    return content


def arrays_in(path: Path) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return name -> array of a NumPy or HDF5 file ('' in an .npy file), read when indexed, and its attributes."""
    if path.suffix.lower() == ".npy":
        return {"": np.load(path, mmap_mode="r")}, {}
    if path.suffix.lower() == ".npz":
        with np.load(path) as entries:
            return dict(entries), {}
    import h5py  # here, because it is in the extra `formats` alone

    with suppress(ImportError):
        import_module("hdf5plugin")  # further compressions
    file = h5py.File(path, "r")
    arrays = dict[str, Any]()
    file.visititems(lambda name, item: arrays.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    return arrays, file.attrs


def _array_name(arrays: Mapping[str, Any], signals: CardSignals) -> str:
    """Name the array that the card names, else the only one of two dimensions, three if stacked. Raises Unusable."""
    dimensions = 3 if signals.stacked else 2
    fitting = [name for name, array in arrays.items() if array.ndim == dimensions or not name]
    fitting = [name for name in arrays if name == signals.array] if signals.array else fitting
    if len(fitting) != 1:
        present = ", ".join(arrays)[:100] or "none"
        raise Unusable(f"not one array of {dimensions} dimensions; name it in signals.array: {present}")
    return fitting[0]


def identifiers(path: Path, signals: CardSignals) -> list[str]:
    """Return the recordings of a stacked file: the card's entry of identifiers, else the numbers of its rows.

    Raises Unusable where there is not one for each row.
    """
    with reasons(path):
        arrays, _ = arrays_in(path)
        count = len(arrays[_array_name(arrays, signals)])
        if not signals.ids_name:
            return [str(row) for row in range(count)]
        if signals.ids_name not in arrays or arrays[signals.ids_name].size != count:
            raise Unusable(f"no identifier for each row under signals.ids_name: {signals.ids_name}")
        return [*map(identifier, np.ravel(arrays[signals.ids_name]).tolist())]


def read_export(path: Path, signals: CardSignals, row: int | None) -> Samples:
    """Read the leads of a file in their units, other channels left out unless the card lists all columns.

    Raises Unusable, and any error for damage.
    """
    from ecgdatakit import FileParser  # here, because it is in the extra `formats` alone

    leads = FileParser.parse(path).leads
    names = {lead.lower() for lead in (*LEADS, *(signals.leads or ()))}
    leads = [lead for lead in leads if lead.label.lower() in names] or leads
    if len({(len(lead.samples), lead.sampling_rate) for lead in leads}) != 1:
        raise Unusable("no leads in the file, or of different lengths or rates")
    for key in STARTS:
        if len({lead.annotations.get(key) for lead in leads}) > 1:
            raise Unusable(f"leads begin at different times; export leads of one stretch of time: {key}")
    signal = np.stack([lead.samples for lead in leads], axis=1).astype(np.float64)  # (n, L)
    units = [lead.units for lead in leads]
    fs = float(leads[0].sampling_rate)
    return Samples(signal, [lead.label for lead in leads], units, fs)


READERS: dict[Format, Callable[[Path, CardSignals, int | None], Samples]] = {
    "wfdb": lambda path, signals, row: read_samples(path.with_suffix("")),
    "numpy": read_array,
    "csv": read_csv,
    "hdf5": read_array,
    "export": read_export,
}
PACKAGES: dict[Format, tuple[str, ...]] = {
    "wfdb": ("soundfile",),
    "numpy": (),
    "csv": (),
    "hdf5": ("h5py", "hdf5plugin"),
    "export": ("ecgdatakit", "pydicom"),
}
"""Packages that read a format, beside those of every dataset (benchmark.data.prepare)."""
