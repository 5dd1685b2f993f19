"""WFDB records, in their units or in millivolts with leads in the order of `LEADS`, checked against their checksums.

A header is parsed here, by header(5) of the WFDB specification: wfdb takes the place of damaged fields (250 Hz for an
unreadable rate, a gain of 200 for none) and refuses odd times of a start, from which nothing is taken. Samples of
format 16, in which the datasets are published, are read with numpy, in half the time; wfdb reads the other formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Entry, Recording, Unusable

NUMBER = r"\d{1,12}(?:\.\d*)?(?:e[-+]?\d{1,2})?"
RECORD_LINE = re.compile(
    rf"(?P<name>[-\w]+)(\.\w+)?(?P<segments>/\d+)?\s+(?P<leads>\d{{1,4}})\s+(?P<fs>{NUMBER})(/\S*)?"
    r"(\s+(?P<samples>\d{1,12}))?(\s.*)?",
    re.IGNORECASE,
)
"""Record, number of leads, Hz, samples; what follows is the start. Some Challenge headers name 'E0001.mat'."""
SIGNAL_LINE = re.compile(
    rf"(?P<file>[-\w]+\.\w+)\s+(?P<format>\d{{1,3}})(x(?P<frames>\d+))?(:(?P<skew>\d+))?(\+(?P<offset>\d{{1,6}}))?"
    rf"\s+(?P<gain>{NUMBER})(\((?P<baseline>-?\d{{1,9}})\))?(/(?P<unit>\S+))?"
    r"(\s+\d+(\s+(?P<zero>-?\d+)(\s+-?\d+(\s+(?P<sum>-?\d+)(\s+\d+)?)?)?)?)?(\s+(?P<lead>\S.*))?",
    re.IGNORECASE,
)
"""File, format, samples a frame, skew, offset, gain, baseline, unit, resolution, zero, first, checksum, size, lead."""
NO_SAMPLE = -32768
"""Stands for NaN in format 16."""
MILLIVOLTS = {"v": 1e3, "mv": 1.0, "uv": 1e-3, "µv": 1e-3, "μv": 1e-3, "nv": 1e-6}
"""Millivolts per unit, by the unit's name in lower case; micro as a sign and as a Greek letter."""
SLOWEST, FASTEST = 50, 10_000
"""Hz; a sampling rate outside means a wrong header."""
LONGEST = 3600
"""Seconds; anything longer is a Holter recording."""
BEYOND = 1e9
"""mV; larger values count as infinite: beyond any ECG in a wrong unit, well within float32."""


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


def read_recording(record: Path) -> Recording:
    """Read one record, named without extension, as (n, 12) float32 in mV.

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
    """Read what the files of one record, named without extension, hold: its leads in their units.

    Raises Unusable if a file is missing or truncated, the header is invalid, or a checksum is wrong.
    """
    lines = _stated_lines(record)
    first = RECORD_LINE.fullmatch(lines[0]) if lines else None
    if first is None:
        raise Unusable(f"damaged header: first line {lines[0][:60]!r}" if lines else "damaged header: empty")
    if first["name"] != record.name:
        raise Unusable(f"header names another recording: {first['name'][:60]}")
    if first["segments"]:
        raise Unusable("records of several segments are not read; save the segments as records")
    count, fs, samples = int(first["leads"]), float(first["fs"]), int(first["samples"] or -1)
    check_extent(1 if samples < 0 else samples, fs)
    leads = [_parse_lead(record, line) for line in lines[1 : 1 + count]]  # any further line is not of a signal
    if not leads or len(leads) < count:
        raise Unusable(f"damaged header: {len(leads)} signal lines, {count} stated")
    files = {record.with_name(lead.file) for lead in leads}
    for file in files:
        check_file(file)
    if len(files) == 1 and leads[0].format == "16":
        signal = _read_format_16(files.pop(), leads, samples)
    else:
        signal = _read_by_wfdb(record, leads, [f"{record.name} {count} {fs:.12g} {first['samples'] or ''}", *lines[1:]])
    return Samples(signal, [lead.name for lead in leads], [lead.unit for lead in leads], fs)


def _parse_lead(record: Path, line: str) -> Lead:
    fields = SIGNAL_LINE.fullmatch(line)
    if fields is None:
        raise Unusable(f"damaged header: signal line {line[:60]!r}")
    if fields["frames"] not in (None, "1") or fields["skew"] not in (None, "0"):
        raise Unusable("leads of several rates, or recorded at different times, are not read")
    if not float(fields["gain"]):
        raise Unusable("gain is 0, which means that it is not known")
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


def _read_format_16(file: Path, leads: Sequence[Lead], samples: int) -> NDArray[np.float64]:
    """Read the stated number of samples (-1: all) of a file of format 16, (n, L). Raises Unusable."""
    offset, width = leads[0].offset, len(leads)
    try:
        digital = np.fromfile(file, "<i2", samples * width if samples > 0 else -1, offset=offset)  # (n * L,)
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    count, size = len(digital) // width, file.stat().st_size
    if count < max(samples, 1):
        raise Unusable(f"truncated: {count} of {samples} samples" if count else "no samples")
    if None in {lead.checksum for lead in leads} and size != 2 * count * width + offset:
        raise Unusable(f"length differs from the header: {size} bytes")
    digital = np.ascontiguousarray(digital[: count * width].reshape(-1, width).T)  # (L, n)
    _check_sums(digital, leads)
    signal: NDArray[np.float64] = digital - np.array([[float(lead.baseline)] for lead in leads])  # (L, n)
    signal /= np.array([[lead.gain] for lead in leads])
    signal[digital == NO_SAMPLE] = np.nan
    return signal.T


def _read_by_wfdb(record: Path, leads: Sequence[Lead], header: Sequence[str]) -> NDArray[np.float64]:
    """Samples of any format, (n, L), by a header without the start, of which wfdb refuses some. Raises Unusable."""
    import wfdb  # here, because it loads slowly and records of format 16 do without

    with TemporaryDirectory() as folder:
        Path(folder, f"{record.name}.hea").write_text("\n".join(header[: 1 + len(leads)]), encoding="utf-8")
        for file in {lead.file for lead in leads}:
            Path(folder, file).symlink_to(record.with_name(file).absolute())
        try:
            raw = wfdb.rdrecord(str(Path(folder, record.name)), physical=False)
        except Exception as error:  # wfdb raises any kind of error on a short file or an unknown format
            raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    if raw.d_signal is None or raw.d_signal.size == 0:
        raise Unusable("no samples")
    _check_sums(raw.d_signal.T, leads)
    signal: NDArray[np.float64] = raw.dac()
    return signal


def _check_sums(digital: NDArray[np.integer], leads: Sequence[Lead]) -> None:
    """Raise Unusable where the samples of a lead, (L, n), have another sum than is stated."""
    for total, lead in zip(digital.sum(axis=1, dtype=np.int64).tolist(), leads, strict=True):
        if lead.checksum is not None and (lead.checksum - total) % 65536:
            raise Unusable("wrong checksum")


def paths_below(root: Path) -> Iterator[str]:
    """Yield the paths of the files below a folder, sorted within each folder; links to folders are followed.

    Names that begin with a dot, or with '~$' as Excel's marks of open files, are no data.
    """
    folders, seen = [root] if root.is_dir() else [], set[Path]()
    while folders:
        folder = folders.pop()
        if folder.resolve() in seen:  # a link to a folder above
            continue
        seen.add(folder.resolve())
        with os.scandir(folder) as scanned:
            inside = sorted((item for item in scanned if not item.name.startswith((".", "~$"))), key=lambda i: i.name)
        folders += [Path(item.path) for item in reversed(inside) if item.is_dir()]
        yield from (Path(item.path).relative_to(root).as_posix() for item in inside if item.is_file())


def records_by_form(root: Path, name: re.Pattern[str], forms: Sequence[str]) -> dict[str, dict[str, Path]]:
    """Find the records with such a name: form -> name -> path below the folder without extension, the first of several.

    A form is a folder's name, the last one that of all other folders; forms without records are left out.
    """
    named: dict[str, dict[str, Path]] = {form: {} for form in forms}
    for path in map(PurePosixPath, paths_below(root)):
        if path.suffix == ".hea" and name.fullmatch(path.stem):
            parts = {*root.resolve().parts, *path.parts}
            form = next((form for form in forms if form in parts), forms[-1])
            named[form].setdefault(path.stem, Path(path.with_suffix("")))
    return {form: dict(sorted(records.items())) for form, records in named.items() if records}


def diagnosis_codes(record: Path) -> tuple[str, ...]:
    """Return the codes of the `#Dx:` or `# Dx:` lines of a record's header, in their order. Raises Unusable."""
    return tuple(dict.fromkeys(code for line in comments(record, "Dx") for code in re.findall(r"[^,;\s]+", line)))


def comments(record: Path, name: str) -> tuple[str, ...]:
    """Return what follows `#NAME:` in the comments of a record's header, a line each, the name in any capitals.

    Raises Unusable if the header cannot be read.
    """
    lines = [line.lstrip("# \t").partition(":") for line in _header_lines(record) if line.startswith("#")]
    return tuple(text.strip() for key, _, text in lines if key.strip().lower() == name.strip().lower())


def signal_files(record: Path) -> tuple[Path, ...]:
    """Return the files beside a record's header, named without extension, that its signal lines name; each once.

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
    check_file(header, what="header")
    content = header.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return re.split(r"\r\n?|\n", text)


def lead_columns(names: Sequence[str]) -> list[int]:
    """Return the column of each of `LEADS`; sources order and capitalise them differently. Raises Unusable."""
    lowered = [name.strip().lower() for name in names]
    for fault, times in (("missing", 0), ("twice", 2)):
        wrong = [lead for lead in LEADS if min(lowered.count(lead.lower()), 2) == times]
        if wrong:
            raise Unusable(f"lead {fault}: {', '.join(wrong)}")
    return [lowered.index(lead.lower()) for lead in LEADS]


def check_file(path: Path, *, what: str = "signal") -> None:
    """Raise Unusable unless a file is there that can be read."""
    if not path.is_file():
        raise Unusable(f"file missing: {what}")
    if not os.access(path, os.R_OK):
        raise Unusable(f"no permission to read the {what}")


def check_extent(samples: int, fs: float) -> None:
    """Raise Unusable if the sampling rate (Hz) or the duration is not that of a resting ECG."""
    if not SLOWEST <= fs <= FASTEST:
        raise Unusable(f"sampling rate outside {SLOWEST} to {FASTEST} Hz: {fs:g}")
    if samples == 0:
        raise Unusable("no samples")
    if samples > LONGEST * fs:
        raise Unusable(f"longer than {LONGEST} s: {samples / fs:.0f}")


def checked_recording(signal: NDArray[np.float64], fs: float) -> Recording:
    """Make a recording of (n, 12) mV, leads in the order of `LEADS`, at fs Hz.

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
        """Return the header and the signal file."""
        record = self.root / entry.path
        return record.with_name(f"{record.name}.hea"), record.with_name(f"{record.name}{self.suffix}")

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)
