"""WFDB records, in their units or in millivolts with leads in the order of `LEADS`, checked against their checksums.

A header is first read strictly (header(5) of the WFDB specification), because wfdb replaces damaged fields: by 250 Hz
for an unreadable rate, a gain of 200 for none, and 'V' for a 'µV' that is not ASCII.

In the form in which the four datasets are published, all leads lie in one file in format 16 and every field of a header
line is stated. Such a record is read without wfdb, to the same samples: wfdb takes 8 ms for its header (it looks up
each field of each lead in a pandas table), which is half of what a recording's windows cost. Whatever differs in the
least, a wrong checksum included, is left to wfdb.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, OWN_TEST_PART, Entry, Recording, Unusable
from benchmark.results.files import MEBIBYTE, require_regular

PLAIN_RECORD_LINE = re.compile(
    r"[-\w]+ \d{1,4} (?P<fs>[1-9]\d{0,8}) (?P<samples>[1-9]\d{0,11})( (?P<start>[-\w:/ ]+))?", re.ASCII
)
PLAIN_SIGNAL_LINE = re.compile(
    r"(?P<file>[-\w]+\.\w+) 16(\+(?P<offset>\d{1,6}))? "
    r"(?P<gain>\d+(\.\d+)?)(\((?P<baseline>-?\d{1,5})\))?/(?P<unit>\w+) "
    r"\d{1,2} (?P<zero>-?\d{1,5}) -?\d{1,5} (?P<sum>-?\d{1,5}) \d{1,5} (?P<lead>\w+)",
    re.ASCII,
)
"""File, format and offset, gain with baseline and unit, resolution, zero, first sample, checksum, block size, lead."""
CHALLENGE_START = re.compile(r"[0-3]\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d", re.ASCII)
NO_SAMPLE = -32768
"""Stands for NaN in format 16."""


class Samples(NamedTuple):
    """What a record's files hold."""

    signal: NDArray[np.float64]
    """(n, L) in the leads' units."""
    leads: Sequence[str | None]
    units: Sequence[str]
    fs: float
    """Hz."""


def read_plain(record: Path, lines: Sequence[str]) -> Samples | None:
    """A record by the lines of its header without comments; None where it is not of this form or damaged."""
    first, stated = PLAIN_RECORD_LINE.fullmatch(lines[0]), [PLAIN_SIGNAL_LINE.fullmatch(line) for line in lines[1:]]
    leads = [lead for lead in stated if lead]
    if first is None or not _is_start(first["start"]) or not leads or len(leads) < len(stated):
        return None
    if len({(lead["file"], lead["offset"]) for lead in leads}) > 1:
        return None
    count, offset = int(first["samples"]) * len(leads), int(leads[0]["offset"] or 0)
    try:
        digital = np.fromfile(record.parent / leads[0]["file"], "<i2", count, offset=offset)  # (n * L,)
    except OSError:
        return None
    if len(digital) < count:
        return None
    digital = np.ascontiguousarray(digital.reshape(-1, len(leads)).T)  # (L, n)
    sums = np.array([int(lead["sum"]) for lead in leads])  # (L,)
    if ((sums - digital.sum(axis=1)) % 65536).any():
        return None
    gain = np.array([[float(lead["gain"])] for lead in leads])  # (L, 1)
    if not gain.all():  # wfdb takes it as not stated
        return None
    zero = np.array([[float(lead["baseline"] or lead["zero"])] for lead in leads])  # (L, 1)
    signal = digital - zero  # (L, n)
    signal /= gain
    signal[digital == NO_SAMPLE] = np.nan
    return Samples(signal.T, [lead["lead"] for lead in leads], [lead["unit"] for lead in leads], float(first["fs"]))


def _is_start(text: str | None) -> bool:
    """Whether the start of a recording is none, the Challenge's or a valid time and date of MIMIC-IV-ECG."""
    if text is None or CHALLENGE_START.fullmatch(text):
        return True
    try:
        datetime.strptime(text, "%H:%M:%S %d/%m/%Y")
    except ValueError:
        return False
    return True


LARGEST_HEADER, LARGEST_SIGNAL = MEBIBYTE, 1024 * MEBIBYTE
"""Bytes of one recording's files."""
SLOWEST, FASTEST = 50, 10_000
"""Hz; a sampling rate outside means a wrong header."""
LONGEST = 3600
"""Seconds; anything longer is a Holter recording."""
BEYOND = 1e9
"""mV; larger values count as infinite: beyond any ECG in a wrong unit, well within float32."""


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


MILLIVOLTS = {"v": 1e3, "mv": 1.0, "uv": 1e-3, "nv": 1e-6}
"""Millivolts per unit, by the unit's name in lower case."""
RECORD_LINE = re.compile(
    r"(?P<name>[-\w]+)(?P<suffix>\.\w+)?\s+(?P<signals>\d{1,4})\s+(?P<fs>\d{1,9}(\.\d{1,9})?)(/\S*)?"
    r"(\s+(?P<samples>\d{1,12}))?(\s[ -~\t]*)?",
    re.ASCII,
)
"""Record, number of signals, Hz, samples. Some Challenge headers name the record with its suffix, 'E0001.mat'."""
SIGNAL_LINE = re.compile(
    r"(?P<file>[-\w]+\.\w+)\s+(?P<format>\d{1,3})(x1)?(?P<offset>\+\d{1,6})?\s+"
    r"(?P<gain>\d+(\.\d*)?(e[-+]?\d+)?)(\(-?\d+\))?(/[-\w^%]+)?(\s[ -~\t]*)?",
    re.ASCII,
)
"""File, format with its offset, and a gain that is stated and not negative, with its baseline and unit.

No skew and no samples per frame: a resting ECG's leads are sampled together and alike.
"""
SMALLEST_GAIN, LARGEST_GAIN = 1e-6, 1e9
"""Plausible gains in steps per unit, for any unit; 0 in a header means that the gain is not known."""


def record_files(record: Path, suffix: str) -> tuple[Path, Path]:
    """Header and signal file of a record named without extension; the suffix is '.dat' or '.mat'."""
    return record.with_name(record.name + ".hea"), record.with_name(record.name + suffix)


def records_at(root: Path, pattern: str) -> dict[str, list[Path]]:
    """Records that a glob pattern finds by header or .mat file, paths without extension by name, in the paths' order.

    A name has several paths if it is in several folders.
    """
    records: dict[str, list[Path]] = {}
    for path in sorted({file.with_suffix("") for suffix in (".hea", ".mat") for file in root.glob(pattern + suffix)}):
        records.setdefault(path.name, []).append(path)
    return records


def one_of(copies: Sequence[Path], suffix: str) -> Path:
    """The first of a record's copies, paths without the suffix of the file that tells them apart.

    Raises Unusable if these files differ.
    """
    if len(copies) > 1 and len({_content(copy.with_name(copy.name + suffix)) for copy in copies}) > 1:
        raise Unusable(f"in several folders: {len(copies)} files that differ")
    return copies[0]


def read_recording(record: Path) -> Recording:
    """One record, named without extension, as (n, 12) float32 in mV.

    Raises Unusable if a file is missing or truncated, the header is invalid, a checksum or a lead is wrong, or the
    signal is NaN, infinite or zero.
    """
    samples = read_samples(record)
    columns = lead_columns(samples.leads)
    signal = samples.signal[:, columns] * _millivolts([samples.units[column] for column in columns])  # (n, 12)
    return checked_recording(signal, samples.fs)


def read_samples(record: Path) -> Samples:
    """What the files of one record, named without extension, hold: its leads in their units.

    Raises Unusable if a file is missing or truncated, the header is invalid, or a checksum is wrong.
    """
    lines = _checked_header(record)
    for file in {line.split()[0] for line in lines[1:]}:
        check_file(record.parent / file, LARGEST_SIGNAL)
    return read_plain(record, lines) or _read_by_wfdb(record, lines)


def diagnosis_codes(record: Path) -> tuple[str, ...]:
    """Codes of the `#Dx:` or `# Dx:` lines of a record's header, in their order; empty where there is none.

    Raises Unusable if the header cannot be read.
    """
    return tuple(dict.fromkeys(code for line in comments(record, "Dx") for code in re.findall(r"[^,;\s\0]+", line)))


def comments(record: Path, name: str) -> tuple[str, ...]:
    """What follows `#NAME:` in the comments of a record's header, a line each, the name in any capitals.

    Raises Unusable if the header cannot be read.
    """
    lines = [line.lstrip("# \t").partition(":") for line in _header_lines(record) if line.startswith("#")]
    return tuple(text.strip(" \t\0") for own, _, text in lines if own.strip().lower() == name.strip().lower())


def signal_files(record: Path) -> tuple[Path, ...]:
    """The files beside a record's header, named without extension, that its signal lines name; each once.

    Raises Unusable if the header cannot be read.
    """
    names = [line.split()[0] for line in _stated_lines(record)[1:]]
    return tuple(dict.fromkeys(record.with_name(name) for name in names if re.fullmatch(r"[-\w]+\.\w+", name)))


def _header_lines(record: Path) -> list[str]:
    return header_text(record_files(record, "")[0]).splitlines()


def _stated_lines(record: Path) -> list[str]:
    """The lines of a header without comments. Raises Unusable if it cannot be read."""
    return [line.strip() for line in _header_lines(record) if line.strip() and not line.lstrip().startswith("#")]


def header_text(header: Path) -> str:
    """The text of a header's file. Raises Unusable if it is missing, too large or cannot be read."""
    return _content(header).decode("ascii", errors="replace")  # comments may hold any byte


def _content(path: Path) -> bytes:
    is_header = path.suffix == ".hea"
    check_file(path, LARGEST_HEADER if is_header else LARGEST_SIGNAL, what="header" if is_header else "signal")
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unusable(f"unreadable file: {error.strerror}") from error


def _checked_header(record: Path) -> list[str]:
    """The lines of a header without comments. Raises Unusable if wfdb could misread them."""
    lines = _stated_lines(record)
    first = RECORD_LINE.fullmatch(lines[0]) if lines else None
    if first is None:
        raise Unusable(f"damaged header: first line {lines[0][:60]!r}" if lines else "damaged header: empty")
    if first["name"] != record.name:
        raise Unusable(f"header names another recording: {first['name'][:60]}")
    check_extent(int(first["samples"] or 1), float(first["fs"]))
    if len(lines) - 1 != int(first["signals"]):
        raise Unusable(f"damaged header: {len(lines) - 1} signal lines, {first['signals']} stated")
    layouts = {_checked_signal_line(record, line) for line in lines[1:]}
    if len(layouts) > len({file for file, _, _ in layouts}):
        raise Unusable("damaged header: one file in two formats")
    return lines


def _checked_signal_line(record: Path, line: str) -> tuple[str, str, str]:
    """File, format and offset of one signal."""
    match = SIGNAL_LINE.fullmatch(line)
    if match is None:
        raise Unusable(f"damaged header: signal line {line[:60]!r}")
    if not SMALLEST_GAIN <= float(match["gain"]) <= LARGEST_GAIN:
        raise Unusable(f"gain is none or no ECG's: {match['gain'][:60]}")
    if match["file"].partition(".")[0] != record.name:  # its samples are another recording's
        raise Unusable(f"header names another file: {match['file']}")
    return match["file"], match["format"], match["offset"] or ""


def _read_by_wfdb(record: Path, lines: list[str]) -> Samples:
    import wfdb  # here, because it loads slowly and plain records do without

    name, rest = lines[0].split(maxsplit=1)
    try:
        if "." not in name:
            raw = wfdb.rdrecord(str(record), physical=False)
        else:  # wfdb refuses the name 'E0001.mat', so it reads a header without the suffix
            with TemporaryDirectory() as folder:
                copy = Path(folder) / record.name
                copy.with_name(f"{record.name}.hea").write_text("\n".join([f"{Path(name).stem} {rest}", *lines[1:]]))
                for file in {line.split()[0] for line in lines[1:]}:
                    copy.with_name(file).symlink_to((record.parent / file).absolute())
                raw = wfdb.rdrecord(str(copy), physical=False)
    except Exception as error:  # wfdb raises any kind of error on a damaged header or a short file
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    if raw.d_signal is None:
        raise Unusable("no samples")
    _check_sums(raw, record)
    return Samples(raw.dac(), raw.sig_name, raw.units, float(raw.fs))


def _check_sums(raw: Any, record: Path) -> None:
    """Raise Unusable on a wrong checksum or, without checksums, on a file length that differs from the header."""
    for stated, found in zip(raw.checksum, raw.calc_checksum(), strict=True):
        if stated is not None and (stated - found) % 65536:
            raise Unusable("wrong checksum")
    if None in raw.checksum and set(raw.fmt) == {"16"} and len(set(raw.file_name)) == 1:
        size = (record.parent / raw.file_name[0]).stat().st_size
        if size != raw.d_signal.size * 2 + (raw.byte_offset[0] or 0):
            raise Unusable(f"length differs from the header: {size} bytes")


def lead_columns(names: Sequence[str | None]) -> list[int]:
    """Column of each of `LEADS`; sources order and capitalise them differently. Raises Unusable."""
    lowered = [(name or "").strip().lower() for name in names]
    for fault, times in (("missing", 0), ("twice", 2)):
        wrong = [lead for lead in LEADS if min(lowered.count(lead.lower()), 2) == times]
        if wrong:
            raise Unusable(f"lead {fault}: {', '.join(wrong)}")
    return [lowered.index(lead.lower()) for lead in LEADS]


def _millivolts(units: list[str]) -> NDArray[np.float64]:
    unknown = sorted({unit for unit in units if unit.lower() not in MILLIVOLTS})
    if unknown:
        raise Unusable(f"unknown unit: {', '.join(unknown)}")
    return np.array([MILLIVOLTS[unit.lower()] for unit in units])  # (12,)


SIMULATED_TEST_PART = "SIMULATED_TEST_PART.txt"
"""File in the root of a simulated dataset: the recordings that are tested however the others are split."""


class WFDBFolder:
    """What datasets of WFDB records share (`base.Dataset`): a recording is a header and a signal file of one suffix."""

    suffix: ClassVar[str]

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        return record_files(self.root / entry.path, self.suffix)

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)

    def fold_of(self, recording: str) -> int | None:
        """`OWN_TEST_PART` of a simulated recording that is named as tested; None of any other."""
        return OWN_TEST_PART if recording in self._tested else None

    @cached_property
    def _tested(self) -> frozenset[str]:
        file = self.root / SIMULATED_TEST_PART
        return frozenset(file.read_text(encoding="ascii").split() if file.is_file() else ())
