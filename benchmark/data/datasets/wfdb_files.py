"""WFDB records, in their units or in millivolts with leads in the order of `LEADS`, checked against their checksums.

A header is parsed here, by header(5) of the WFDB specification: wfdb takes the place of damaged fields (250 Hz for an
unreadable rate, a gain of 200 for none) and refuses odd times of a start, from which nothing is taken. Samples of
format 16, in which the datasets are published, are read with numpy, in half the time; wfdb reads the other formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Entry, Recording, Unusable

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
"""mV; larger values count as infinite."""
HIDDEN = (".", "~$")
"""Beginnings of names that are no data: hidden files, and Excel's marks of open files."""


class Samples(NamedTuple):
    """Signal (n, L) of a record in the leads' units, the leads' names ('' for none) and units, and the rate in Hz."""

    signal: NDArray[np.float64]
    leads: list[str]
    units: list[str]
    fs: float


def read_recording(record: Path) -> Recording:
    """Read one record, named without extension, as (n, 12) float32 in mV.

    Raises Unusable if a file is missing or truncated, the header is invalid, a checksum, lead or unit is wrong, or the
    signal is NaN, infinite or constant.
    """
    signal, leads, units, fs = read_samples(record)
    columns = lead_columns(leads)
    unknown = {units[column] for column in columns if units[column].lower() not in MILLIVOLTS}
    if unknown:
        raise Unusable(f"unknown unit: {', '.join(sorted(unknown))}")
    return checked_recording(signal[:, columns] * [MILLIVOLTS[units[column].lower()] for column in columns], fs)


def read_samples(record: Path) -> Samples:
    """Read the leads of one record, named without extension, in their units.

    Raises Unusable if a file is missing or truncated, the header is invalid, or a checksum is wrong.
    """
    lines = _stated_lines(record)
    first = RECORD_LINE.fullmatch(lines[0]) if lines else None
    if first is None:
        raise Unusable(f"damaged header: first line {''.join(lines[:1])[:60]!r}")
    if first["name"] != record.name:
        raise Unusable(f"header names another recording: {first['name'][:60]}")
    if first["segments"]:
        raise Unusable("records of several segments are not read; save the segments as records")
    count, fs, samples = int(first["leads"]), float(first["fs"]), int(first["samples"] or 0) or -1  # 0: not stated
    check_extent(1 if samples < 0 else samples, fs)
    leads = [_lead_fields(record, line) for line in lines[1 : 1 + count]]  # any further line is not of a signal
    if not leads or len(leads) < count:
        raise Unusable(f"damaged header: {len(leads)} signal lines, {count} stated")
    files = list(dict.fromkeys(record.with_name(lead["file"]) for lead in leads))
    for file in files:
        check_file(file)
    if len(files) == 1 and leads[0]["format"] == "16":
        digital = _read_format_16(files[0], leads, samples)  # (L, n)
        baseline = np.array([[int(lead["baseline"] or lead["zero"] or 0)] for lead in leads])  # (L, 1)
        signal = (digital - baseline) / np.array([[float(lead["gain"])] for lead in leads])  # (L, n)
        signal[digital == NO_SAMPLE] = np.nan
    else:
        header = [f"{record.name} {count} {fs:.12g} {samples if samples > 0 else ''}", *lines[1 : 1 + count]]
        digital, signal = _read_by_wfdb(record.name, files, header)
    for total, lead in zip(digital.sum(axis=1, dtype=np.int64).tolist(), leads, strict=True):
        if lead["sum"] and (int(lead["sum"]) - total) % 65536:
            raise Unusable("wrong checksum")
    names, units = [(lead["lead"] or "").strip() for lead in leads], [lead["unit"] or "mV" for lead in leads]
    return Samples(signal.T, names, units, fs)


def _lead_fields(record: Path, line: str) -> re.Match[str]:
    """The fields of a signal line. Raises Unusable."""
    fields = SIGNAL_LINE.fullmatch(line)
    if fields is None:
        raise Unusable(f"damaged header: signal line {line[:60]!r}")
    if fields["frames"] not in (None, "1") or fields["skew"] not in (None, "0"):
        raise Unusable("leads of several rates, or recorded at different times, are not read")
    if not float(fields["gain"]):
        raise Unusable("gain is 0, which means that it is not known")
    if not re.match(rf"{re.escape(record.name)}[-_.]", fields["file"]):  # its samples are another recording's
        raise Unusable(f"header names another file: {fields['file']}")
    return fields


def _read_format_16(file: Path, leads: Sequence[re.Match[str]], samples: int) -> NDArray[Any]:
    """Steps (L, n) of so many samples (-1: all) of a file of format 16. Raises Unusable."""
    offset, width = int(leads[0]["offset"] or 0), len(leads)
    try:
        digital = np.fromfile(file, "<i2", samples * width if samples > 0 else -1, offset=offset)  # (n * L,)
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    count, size = len(digital) // width, file.stat().st_size
    if count < max(samples, 1):
        raise Unusable(f"truncated: {count} of {samples} samples" if count else "no samples")
    if not all(lead["sum"] for lead in leads) and size != 2 * count * width + offset:
        raise Unusable(f"length differs from the header: {size} bytes")
    return np.ascontiguousarray(digital[: count * width].reshape(-1, width).T)


def _read_by_wfdb(name: str, files: Sequence[Path], header: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Steps and values, (L, n) each, of any format, by a header without the start, of which wfdb refuses some."""
    import wfdb  # here, because it loads slowly and records of format 16 do without

    with TemporaryDirectory() as folder:
        Path(folder, f"{name}.hea").write_text("\n".join(header), encoding="utf-8")
        for file in files:
            Path(folder, file.name).symlink_to(file.absolute())
        try:
            raw = wfdb.rdrecord(str(Path(folder, name)), physical=False)
        except Exception as error:  # wfdb raises any kind of error on a short file or an unknown format
            raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    if raw.d_signal is None or raw.d_signal.size == 0:
        raise Unusable("no samples")
    return raw.d_signal.T, raw.dac().T


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
    """Return the files beside a record's header that its signal lines name, each once; none for no header."""
    try:
        names = [line.split()[0] for line in _stated_lines(record)[1:]]
    except Unusable:
        return ()
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


def check_file(path: Path, *, what: str = "signal") -> None:
    """Raise Unusable unless a file is there that can be read."""
    if not path.is_file():
        raise Unusable(f"file missing: {what}")
    if not os.access(path, os.R_OK):
        raise Unusable(f"no permission to read the {what}")


def lead_columns(names: Sequence[str]) -> list[int]:
    """Return the column of each of `LEADS`; sources order and capitalise them differently. Raises Unusable."""
    lowered = [name.strip().lower() for name in names]
    for fault, times in (("missing", 0), ("twice", 2)):
        if wrong := [lead for lead in LEADS if min(lowered.count(lead.lower()), 2) == times]:
            raise Unusable(f"lead {fault}: {', '.join(wrong)}")
    return [lowered.index(lead.lower()) for lead in LEADS]


def check_extent(samples: int, fs: float) -> None:
    """Raise Unusable if the sampling rate (Hz) or the duration is not that of a resting ECG."""
    if not SLOWEST <= fs <= FASTEST:
        raise Unusable(f"sampling rate outside {SLOWEST} to {FASTEST} Hz: {fs:g}")
    if samples == 0:
        raise Unusable("no samples")
    if samples > LONGEST * fs:
        raise Unusable(f"longer than {LONGEST} s: {samples / fs:.0f}")


def checked_recording(signal: NDArray[np.float64], fs: float) -> Recording:
    """Make a recording of (n, 12) mV, leads in the order of `LEADS`, at fs Hz; some flat leads are allowed.

    Raises Unusable for NaN, infinite or constant signals, and like `check_extent`.
    """
    check_extent(len(signal), fs)
    for kind, bad in (("NaN", np.isnan(signal)), ("infinite", np.abs(signal) >= BEYOND)):  # (n, 12)
        if bad.any():
            raise Unusable(f"{kind} samples: lead {', '.join(np.array(LEADS)[bad.any(axis=0)])}")
    if (signal == signal[0]).all():
        raise Unusable("all leads constant" if signal.any() else "all samples zero")
    return Recording(signal.astype(np.float32), fs)


def paths_below(root: Path) -> list[str]:
    """List the paths of the files below a folder, sorted within each folder; links to folders are followed."""
    paths, seen = list[str](), set[Path]()
    for folder, folders, files in os.walk(root, followlinks=True):
        is_loop = Path(folder).resolve() in seen  # a link to a folder above
        seen.add(Path(folder).resolve())
        folders[:] = [] if is_loop else sorted(name for name in folders if not name.startswith(HIDDEN))
        inside = [] if is_loop else sorted(name for name in files if not name.startswith(HIDDEN))
        paths += [Path(folder, name).relative_to(root).as_posix() for name in inside]
    return paths


def find_records(
    dataset: Dataset, forms: Sequence[str], is_named: Callable[[str], object], looked_for: str
) -> tuple[str, dict[str, str]]:
    """Find the records with such names of the first form that has any: form, name -> path without extension.

    A form is a folder's name, the last one that of all other folders. Raises DatasetError where there is no record.
    """
    of_form: dict[str, dict[str, str]] = {form: {} for form in forms}
    for path in map(PurePosixPath, paths_below(dataset.root)):
        if path.suffix == ".hea" and is_named(path.stem):
            parts = {*dataset.root.resolve().parts, *path.parts}
            form = next((form for form in forms if form in parts), forms[-1])
            of_form[form].setdefault(path.stem, path.with_suffix("").as_posix())
    for form, records in of_form.items():
        if records:
            return form, dict(sorted(records.items()))
    raise DatasetError(
        f"{dataset.title}: no header {looked_for} in {dataset.root} or the folders below. {dataset.how_to_get}"
    )


class WFDBFolder:
    """What datasets of WFDB records share (`base.Dataset`): a recording is a header and a signal file of one suffix."""

    suffix: ClassVar[str]
    drawn_from = ""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the header and the signal file."""
        return self.root / f"{entry.path}.hea", self.root / f"{entry.path}{self.suffix}"

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)
