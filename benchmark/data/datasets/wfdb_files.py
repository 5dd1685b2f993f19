"""WFDB records, in their units or in millivolts with leads in the order of `LEADS`, checked against their checksums.

A header is parsed here, by header(5) of the WFDB specification: wfdb takes the place of damaged fields (250 Hz for an
unreadable rate, a gain of 200 for none) and refuses odd times of a start, from which nothing is taken. Samples of
format 16, in which the datasets are published, are read with numpy, in half the time; wfdb reads the other formats.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Entry, Recording, Unusable
from benchmark.results.files import MEBIBYTE, require_regular

NUMBER = r"\d{1,12}(?:\.\d*)?(?:e[-+]?\d{1,2})?"
RECORD_LINE = re.compile(
    rf"(?P<name>[-\w]+)(\.\w+)?\s+(?P<leads>\d{{1,4}})\s+(?P<fs>{NUMBER})(/\S*)?(\s+(?P<samples>\d{{1,12}}))?(\s.*)?",
    re.IGNORECASE,
)
"""Record, number of leads, Hz, samples; what follows is the start. Some Challenge headers name 'E0001.mat'."""
SIGNAL_LINE = re.compile(
    rf"(?P<file>[-\w]+\.\w+)\s+(?P<format>\d{{1,3}})(x1)?(\+(?P<offset>\d{{1,6}}))?"
    rf"\s+(?P<gain>{NUMBER})(\((?P<baseline>-?\d{{1,9}})\))?(/(?P<unit>\S+))?"
    r"(\s+\d+(\s+(?P<zero>-?\d+)(\s+-?\d+(\s+(?P<sum>-?\d+)(\s+\d+)?)?)?)?)?(\s+(?P<lead>\S.*))?",
    re.IGNORECASE,
)
"""File, format, offset, gain, baseline, unit, resolution, zero, first sample, checksum, block size, lead.

No skew and no samples per frame: a resting ECG's leads are sampled together and alike.
"""
SMALLEST_GAIN, LARGEST_GAIN = 1e-6, 1e9
"""Plausible gains in steps per unit, for any unit; 0 in a header means that the gain is not known."""
NO_SAMPLE = -32768
"""Stands for NaN in format 16."""
MILLIVOLTS = {"v": 1e3, "mv": 1.0, "uv": 1e-3, "µv": 1e-3, "μv": 1e-3, "nv": 1e-6}
"""Millivolts per unit, by the unit's name in lower case; micro as a sign and as a Greek letter."""
LARGEST_HEADER, LARGEST_SIGNAL = MEBIBYTE, 1024 * MEBIBYTE
"""Bytes of one recording's files."""
SLOWEST, FASTEST = 50, 10_000
"""Hz; a sampling rate outside means a wrong header."""
LONGEST = 3600
"""Seconds; anything longer is a Holter recording."""
BEYOND = 1e9
"""mV; larger values count as infinite: beyond any ECG in a wrong unit, well within float32."""
DEEPEST = 4
"""Folders between a dataset's and its records."""


class Samples(NamedTuple):
    """What a record's files hold."""

    signal: NDArray[np.float64]
    """(n, L) in the leads' units."""
    leads: Sequence[str]
    """'' for a lead without a name."""
    units: Sequence[str]
    fs: float
    """Hz."""


class Lead(NamedTuple):
    """A signal line of a header."""

    file: str
    format: str
    offset: int
    """Bytes ahead of the samples."""
    gain: float
    """Steps per unit."""
    baseline: int
    """Step of 0."""
    unit: str
    checksum: int | None
    """Sum of the samples modulo 65536; None where it is not stated."""
    name: str


class Header(NamedTuple):
    """What a record's header states."""

    fs: float
    """Hz."""
    samples: int | None
    """Of each lead; None where it is not stated."""
    leads: list[Lead]


def read_recording(record: Path) -> Recording:
    """One record, named without extension, as (n, 12) float32 in mV.

    Raises Unusable if a file is missing or truncated, the header is invalid, a checksum or a lead is wrong, or the
    signal is NaN, infinite or zero.
    """
    samples = read_samples(record)
    columns = lead_columns(samples.leads)
    units = [samples.units[column] for column in columns]
    unknown = sorted({unit for unit in units if unit.lower() not in MILLIVOLTS})
    if unknown:
        raise Unusable(f"unknown unit: {', '.join(unknown)}")
    signal = samples.signal[:, columns] * np.array([MILLIVOLTS[unit.lower()] for unit in units])  # (n, 12)
    return checked_recording(signal, samples.fs)


def read_samples(record: Path) -> Samples:
    """What the files of one record, named without extension, hold: its leads in their units.

    Raises Unusable if a file is missing or truncated, the header is invalid, or a checksum is wrong.
    """
    header = read_header(record)
    leads = header.leads
    files = dict.fromkeys(record.with_name(lead.file) for lead in leads)
    for file in files:
        check_file(file, LARGEST_SIGNAL)
    if len(files) == 1 and {lead.format for lead in leads} == {"16"}:
        signal = _read_format_16(next(iter(files)), header)
    else:
        signal = _read_by_wfdb(record, header)
    return Samples(signal, [lead.name for lead in leads], [lead.unit for lead in leads], header.fs)


def read_header(record: Path) -> Header:
    """The header of a record, named without extension. Raises Unusable where it is missing or damaged."""
    lines = _stated_lines(record)
    first = RECORD_LINE.fullmatch(lines[0]) if lines else None
    if first is None:
        raise Unusable(f"damaged header: first line {lines[0][:60]!r}" if lines else "damaged header: empty")
    if first["name"] != record.name:
        raise Unusable(f"header names another recording: {first['name'][:60]}")
    count, samples = int(first["leads"]), None if first["samples"] is None else int(first["samples"])
    check_extent(1 if samples is None else samples, float(first["fs"]))
    leads = [_parse_lead(record, line) for line in lines[1 : 1 + count]]  # any further line is not of a signal
    if not leads or len(leads) < count:
        raise Unusable(f"damaged header: {len(leads)} signal lines, {count} stated")
    if len({(lead.file, lead.format, lead.offset) for lead in leads}) > len({lead.file for lead in leads}):
        raise Unusable("damaged header: one file in two formats")
    return Header(float(first["fs"]), samples, leads)


def _parse_lead(record: Path, line: str) -> Lead:
    fields = SIGNAL_LINE.fullmatch(line)
    if fields is None:
        raise Unusable(f"damaged header: signal line {line[:60]!r}")
    if not SMALLEST_GAIN <= float(fields["gain"]) <= LARGEST_GAIN:
        raise Unusable(f"gain is none or no ECG's: {fields['gain'][:60]}")
    if not re.match(rf"{re.escape(record.name)}[-_.]", fields["file"]):  # its samples are another recording's
        raise Unusable(f"header names another file: {fields['file']}")
    return Lead(
        file=fields["file"],
        format=fields["format"],
        offset=int(fields["offset"] or 0),
        gain=float(fields["gain"]),
        baseline=int(fields["baseline"] or fields["zero"] or 0),
        unit=fields["unit"] or "mV",
        checksum=int(fields["sum"]) if fields["sum"] else None,
        name=(fields["lead"] or "").strip(),
    )


def _read_format_16(file: Path, header: Header) -> NDArray[np.float64]:
    """Samples of a file of format 16, (n, L). Raises Unusable for a wrong length or checksum."""
    leads, offset = header.leads, header.leads[0].offset
    try:
        wanted = -1 if header.samples is None else header.samples * len(leads)
        digital = np.fromfile(file, "<i2", wanted, offset=offset)  # (n * L,)
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    count = len(digital) // len(leads)
    if count == 0:
        raise Unusable("no samples")
    if count < (header.samples or 0):
        raise Unusable(f"truncated: {count} of {header.samples} samples")
    size = file.stat().st_size
    if None in {lead.checksum for lead in leads} and size != 2 * count * len(leads) + offset:
        raise Unusable(f"length differs from the header: {size} bytes")
    digital = np.ascontiguousarray(digital[: count * len(leads)].reshape(-1, len(leads)).T)  # (L, n)
    _check_sums(digital, leads)
    signal: NDArray[np.float64] = digital - np.array([[float(lead.baseline)] for lead in leads])  # (L, n)
    signal /= np.array([[lead.gain] for lead in leads])
    signal[digital == NO_SAMPLE] = np.nan
    return signal.T


def _read_by_wfdb(record: Path, header: Header) -> NDArray[np.float64]:
    """Samples of any format, (n, L). Raises Unusable."""
    import wfdb  # here, because it loads slowly and records of format 16 do without

    count = len(header.leads)
    first = f"{record.name} {count} {header.fs:.12g} {'' if header.samples is None else header.samples}"
    with TemporaryDirectory() as folder:  # a header without the start, of which wfdb refuses some
        lines = [first, *_stated_lines(record)[1 : 1 + count]]
        Path(folder, f"{record.name}.hea").write_text("\n".join(lines), encoding="utf-8")
        for file in {lead.file for lead in header.leads}:
            Path(folder, file).symlink_to(record.with_name(file).absolute())
        try:
            raw = wfdb.rdrecord(str(Path(folder, record.name)), physical=False)
        except Exception as error:  # wfdb raises any kind of error on a short file or an unknown format
            raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    if raw.d_signal is None or raw.d_signal.size == 0:
        raise Unusable("no samples")
    _check_sums(raw.d_signal.T, header.leads)
    signal: NDArray[np.float64] = raw.dac()
    return signal


def _check_sums(digital: NDArray[np.integer], leads: Sequence[Lead]) -> None:
    """Raise Unusable where the samples of a lead, (L, n), have another sum than is stated."""
    for total, lead in zip(digital.sum(axis=1, dtype=np.int64).tolist(), leads, strict=True):
        if lead.checksum is not None and (lead.checksum - total) % 65536:
            raise Unusable("wrong checksum")


def records_by_form(root: Path, name: re.Pattern[str], forms: Sequence[str]) -> dict[str, dict[str, list[Path]]]:
    """Form -> records with such a name, paths without extension; the forms in order, without those that have none.

    A form is a folder's name, the last one that of all other folders. A name has several paths if it is in several
    folders. Folders that begin with a dot are not looked into.
    """
    named: dict[str, dict[str, list[Path]]] = {form: {} for form in forms}
    above = root.resolve().parts
    for folder, folders, files in os.walk(root, followlinks=True):
        below = Path(folder).relative_to(root).parts
        folders[:] = sorted(inner for inner in folders if not inner.startswith(".")) if len(below) < DEEPEST else []
        if not any(file.endswith(".hea") for file in files):
            continue
        form = next((form for form in forms if form in (*above, *below)), forms[-1])
        for stem in sorted({Path(file).stem for file in files if file.endswith((".hea", ".mat"))}):
            if name.fullmatch(stem):
                named[form].setdefault(stem, []).append(Path(folder, stem))
    return {form: records for form, records in named.items() if records}


def one_of(copies: Sequence[Path]) -> Path:
    """The first of a record's copies, paths without extension. Raises Unusable if their headers differ."""
    if any(_header_lines(copy) != _header_lines(copies[0]) for copy in copies[1:]):
        raise Unusable(f"in several folders: {len(copies)} files that differ")
    return copies[0]


def diagnosis_codes(record: Path) -> tuple[str, ...]:
    """Codes of the `#Dx:` or `# Dx:` lines of a record's header, in their order; empty where there is none.

    Raises Unusable if the header cannot be read.
    """
    return tuple(dict.fromkeys(code for line in comments(record, "Dx") for code in re.findall(r"[^,;\s]+", line)))


def comments(record: Path, name: str) -> tuple[str, ...]:
    """What follows `#NAME:` in the comments of a record's header, a line each, the name in any capitals.

    Raises Unusable if the header cannot be read.
    """
    lines = [line.lstrip("# \t").partition(":") for line in _header_lines(record) if line.startswith("#")]
    return tuple(text.strip() for key, _, text in lines if key.strip().lower() == name.strip().lower())


def signal_files(record: Path) -> tuple[Path, ...]:
    """The files beside a record's header, named without extension, that its signal lines name; each once.

    Raises Unusable if the header cannot be read.
    """
    names = [line.split()[0] for line in _stated_lines(record)[1:]]
    return tuple(dict.fromkeys(record.with_name(name) for name in names if re.fullmatch(r"[-\w]+\.\w+", name)))


def _stated_lines(record: Path) -> list[str]:
    """The lines of a header without comments. Raises Unusable if it cannot be read."""
    return [line.strip() for line in _header_lines(record) if line.strip() and not line.lstrip().startswith("#")]


def _header_lines(record: Path) -> list[str]:
    """The lines of a record's header, UTF-8 or else Latin-1. Raises Unusable if it is missing or cannot be read."""
    header = record.with_name(f"{record.name}.hea")
    check_file(header, LARGEST_HEADER, what="header")
    try:
        content = header.read_bytes()
    except OSError as error:
        raise Unusable(f"unreadable file: {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return re.split(r"\r\n?|\n", text)


def lead_columns(names: Sequence[str]) -> list[int]:
    """Column of each of `LEADS`; sources order and capitalise them differently. Raises Unusable."""
    lowered = [name.strip().lower() for name in names]
    for fault, times in (("missing", 0), ("twice", 2)):
        wrong = [lead for lead in LEADS if min(lowered.count(lead.lower()), 2) == times]
        if wrong:
            raise Unusable(f"lead {fault}: {', '.join(wrong)}")
    return [lowered.index(lead.lower()) for lead in LEADS]


def check_file(path: Path, limit: int = sys.maxsize, *, what: str = "signal") -> None:
    """Raise Unusable unless the file is there, regular and of at most `limit` bytes."""
    try:
        require_regular(path, path.stat(), limit)
    except FileNotFoundError:
        raise Unusable(f"file missing: {what}") from None
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable file: {getattr(error, 'strerror', None) or type(error).__name__}") from error


def check_extent(samples: int, fs: float) -> None:
    """Raise Unusable if the sampling rate (Hz) or the duration is not that of a resting ECG."""
    if not SLOWEST <= fs <= FASTEST:
        raise Unusable(f"sampling rate outside {SLOWEST} to {FASTEST} Hz: {fs:g}")
    if samples == 0:
        raise Unusable("no samples")
    if samples > LONGEST * fs:
        raise Unusable(f"longer than {LONGEST} s: {samples / fs:.0f}")


def checked_recording(signal: NDArray[np.float64], fs: float) -> Recording:
    """A recording of (n, 12) mV, leads in the order of `LEADS`, at fs Hz.

    Some flat leads are allowed. Raises Unusable for NaN, infinite, all-zero or constant signals, and like
    `check_extent`.
    """
    check_extent(len(signal), fs)
    low, high = signal.min(axis=0), signal.max(axis=0)  # (12,) NaN where a lead has one
    beyond = np.maximum(np.abs(low), np.abs(high)) >= BEYOND  # (12,)
    for kind, bad in (("NaN", np.isnan(low)), ("infinite", beyond)):
        if bad.any():
            raise Unusable(f"{kind} samples: lead {', '.join(np.array(LEADS)[bad])}")
    if not (low.any() or high.any()):
        raise Unusable("all samples zero")
    if (low == high).all():
        raise Unusable("all leads constant")
    return Recording(signal.astype(np.float32), fs)


class WFDBFolder:
    """What datasets of WFDB records share (`base.Dataset`): a recording is a header and a signal file of one suffix."""

    suffix: ClassVar[str]
    drawn_from = ""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        record = self.root / entry.path
        return record.with_name(f"{record.name}.hea"), record.with_name(f"{record.name}{self.suffix}")

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)
