"""WFDB records, in their units or in millivolts with leads in the order of `LEADS`, checked against their checksums.

A header is parsed here, by header(5) of the WFDB specification: wfdb takes the place of damaged fields (250 Hz for an
unreadable rate) and refuses odd times of a start, from which nothing is taken. Samples of format 16, in which the
datasets are published, are read with numpy, in half the time; wfdb reads the other formats.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Entry, NamedTask, Recording, Unusable
from benchmark.data.datasets.folder_walk import walk_folder
from benchmark.results.arrays import Doubles
from benchmark.results.files import impostor
from benchmark.results.names import install, reason_of
from benchmark.results.sheets import read_text

NUMBER = r"\d{1,12}(?:\.\d*)?(?:e[-+]?\d{1,2})?"
RECORD_LINE = re.compile(
    rf"[-\w]+(\.\w+)?\s+(?P<leads>\d{{1,4}})\s+(?P<fs>{NUMBER})(/\S*)?(\s+(?P<samples>\d{{1,12}}))?(\s.*)?",
    re.IGNORECASE,
)
"""Record, number of leads, Hz, samples; what follows is the start."""
SIGNAL_FILE = r"[-\w]+(?:\.[-\w]+)+"
SIGNAL_LINE = re.compile(
    rf"(?P<file>{SIGNAL_FILE})\s+(?P<format>\d{{1,3}})(x1)?(:0)?(\+(?P<offset>\d{{1,6}}))?"
    rf"(\s+(?P<gain>{NUMBER})(\((?P<baseline>-?\d{{1,10}})\))?(/(?P<unit>\S+))?"
    r"(\s+\d+(\s+(?P<zero>-?\d+)(\s+-?\d+(\s+(?P<sum>-?\d+)(\s+\d+)?)?)?)?)?(\s+(?P<lead>\S.*))?)?",
    re.IGNORECASE,
)
"""File, format, one sample a frame, no skew, offset, gain, baseline, unit, resolution, zero, first, checksum, lead."""
DEFAULT_GAIN = 200.0
"""Steps per unit of a signal line without a gain, or with 0: header(5)."""
NO_GAIN = "no gain in the header, read as 200 steps per mV"
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
NO_FILTER = re.compile(r"plugin|filter .* not registered")
"""Words of h5py for a sound file whose decompressing filter is not installed."""
OBJECTS = re.compile(r"[Oo]bject arrays|Python objects")
"""Words of NumPy for an array whose loading would execute stored code."""


class Samples(NamedTuple):
    """The samples of a file, and what it states of them."""

    signal: Doubles
    """(n, L) in the units of the columns."""
    leads: Sequence[str] = ()
    """Names of the columns; none where the file does not name them."""
    units: Sequence[str] = ()
    """Units of the columns; none where the file does not state them."""
    fs: float = 0.0
    """Hz; 0 where the form of the file has no place for it."""
    gains: Sequence[float] = ()
    """Steps per unit of the columns, where their numbers are steps."""
    rates: Mapping[str, float] = MappingProxyType({})
    """Further entry of the file that states a rate -> Hz."""
    doubts: Sequence[str] = ()
    """Warnings of its reader: kind, colon, details."""


@contextmanager
def reasons(path: Path, what: str = "signal") -> Iterator[None]:
    """Turn any error that the content of a file causes into Unusable with its reason.

    A failure of the machine says nothing of the data and is not stored: DatasetError, which ends the command.
    """
    try:
        yield
    except MemoryError:
        raise
    except FileNotFoundError as error:
        raise Unusable(f"file missing: {what}") from error
    except ImportError as error:
        remedy = install(error.name) if error.name else str(error)
        raise DatasetError(f"{path} needs a package that is missing; {remedy}") from error
    except Exception as error:
        words = reason_of(error)[:160]
        if isinstance(error, OSError) and error.errno:
            again = "make it readable, e.g. by a copy on a local disk, and give the same command again"
            raise DatasetError(f"{path} cannot be read: {error.strerror}; {again}") from error
        if NO_FILTER.search(words):
            raise DatasetError(f"{path} has a compression that needs a plugin: pip install hdf5plugin") from error
        if path.is_file() and (disguise := impostor(path)):
            raise Unusable(disguise) from error
        if isinstance(error, Unusable):
            raise
        if OBJECTS.search(words):
            raise Unusable("array of Python objects; save plain arrays, of unlike lengths a file each") from error
        raise Unusable(f"unreadable, truncated or not of its format; copy it again: {words}") from error


def read_recording(record: Path) -> Recording:
    """Read one record, named without extension, as (n, 12) float32 in mV.

    Raises Unusable if a file is missing or truncated, the header is invalid, a checksum, lead or unit is wrong, or the
    signal is NaN, infinite or constant.
    """
    samples = read_samples(record)
    columns = lead_columns(samples.leads)
    return checked_recording(samples.signal[:, columns] * millivolts(samples, columns), samples.fs)


def read_samples(record: Path) -> Samples:
    """Read the leads of one record, named without extension, in their units.

    Raises Unusable if a file is missing or truncated, the header is invalid, or a checksum is wrong.
    """
    lines = signal_lines(record)
    first = RECORD_LINE.fullmatch(line := "".join(lines[:1]))
    if first is None:
        raise Unusable(f"damaged header, or several segments: first line {line[:60]!r}")
    count = int(first["leads"])
    fs = float(first["fs"])
    samples = int(first["samples"] or 0)  # 0: not stated
    check_extent(samples or 1, fs)
    leads = []
    for line in lines[1 : 1 + count]:  # any further line is not of a signal
        fields = SIGNAL_LINE.fullmatch(line)
        if fields is None:
            raise Unusable(f"damaged header, or leads of several rates or times: signal line {line[:60]!r}")
        leads.append(fields)
    names = [lead["lead"] or "" for lead in leads]
    if not leads or len(leads) < count:
        raise Unusable(f"damaged header: {len(leads)} signal lines, {count} stated")
    gains = [float(lead["gain"] or 0) for lead in leads]
    files = [*dict.fromkeys(on_disk(record.with_name(lead["file"])) for lead in leads)]
    if len(files) == 1 and leads[0]["format"] == "16":
        with reasons(files[0]):
            stored = np.fromfile(files[0], "<i2", offset=int(leads[0]["offset"] or 0))  # (n * L,)
            length = samples or len(stored) // count
            if len(stored) < length * count:
                raise Unusable(f"truncated: {len(stored) // count} of {length} samples")
        digital = stored[: length * count].reshape(-1, count)  # (n, L)
        baseline = [int(lead["baseline"] or lead["zero"] or 0) for lead in leads]
        signal = (digital - np.array(baseline)) / [gain or DEFAULT_GAIN for gain in gains]  # (n, L)
        signal[digital == NO_SAMPLE] = np.nan
    else:
        digital, signal = _read_by_wfdb(files, [f"record {count} {fs:.12g} {samples or ''}", *lines[1 : 1 + count]])
    for total, lead in zip(digital.sum(axis=0, dtype=np.int64).tolist(), leads, strict=True):
        if lead["sum"] and (int(lead["sum"]) - total) % 65536:
            raise Unusable("wrong checksum")
    has_all_gains = missing_leads(compress(names, gains)) == missing_leads(names)
    return Samples(
        signal, names, [lead["unit"] or "mV" for lead in leads], fs, doubts=() if has_all_gains else (NO_GAIN,)
    )


def _read_by_wfdb(files: Sequence[Path], header: Sequence[str]) -> tuple[NDArray[Any], Doubles]:
    """Read steps and values, (n, L) each, of any format, by a header without starts and names that wfdb refuses."""
    import wfdb  # here, because it loads slowly and records of format 16 do without

    text = "\n".join(header)
    with TemporaryDirectory() as folder, reasons(files[0]):
        for number, file in enumerate(files):
            alias = f"{number}.dat"
            Path(folder, alias).symlink_to(file.absolute())
            text = re.sub(rf"^{re.escape(file.name)}(?=\s)", alias, text, flags=re.MULTILINE | re.IGNORECASE)
        Path(folder, "record.hea").write_text(text, encoding="utf-8")
        raw = wfdb.rdrecord(str(Path(folder, "record")), physical=False)
        return raw.d_signal, raw.dac()


def diagnosis_codes(record: Path) -> tuple[str, ...]:
    """Return the codes of the `#Dx:` or `# Dx:` lines of a record's header, in their order. Raises Unusable."""
    return tuple(dict.fromkeys(code for line in comments(record, "Dx") for code in re.findall(r"[^,;\s]+", line)))


def comments(record: Path, name: str) -> tuple[str, ...]:
    """Return what follows `#NAME:` in the comments of a record's header, a line each, the name in any capitals.

    Raises Unusable if the header cannot be read.
    """
    comment = re.compile(rf"#[#\s]*{re.escape(name.strip())}\s*:\s*(.*)", re.IGNORECASE)
    return tuple(match[1] for match in map(comment.fullmatch, read_header(record)) if match)


def signal_files(record: Path) -> tuple[Path, ...]:
    """Return the files beside a record's header that its signal lines name, each once; none for no header."""
    try:
        names = dict.fromkeys(line.split()[0] for line in signal_lines(record)[1:])
    except Unusable:
        return ()
    return tuple(on_disk(record.with_name(name)) for name in names if re.fullmatch(SIGNAL_FILE, name))


def on_disk(path: Path) -> Path:
    """Return a path; with its suffix in capitals where only such a file is there, as old discs and shares name them."""
    capitals = path.with_suffix(path.suffix.upper())
    return capitals if not path.exists() and capitals.exists() else path


def signal_lines(record: Path) -> list[str]:
    """Return the line of the record and those of its signals. Raises Unusable."""
    return [line for line in read_header(record) if line and line[0] != "#"]


def read_header(record: Path) -> list[str]:
    """Return the lines of a record's header, comments included. Raises Unusable."""
    header = on_disk(record.with_name(f"{record.name}.hea"))
    with reasons(header, f"header {header.name}"):
        if impostor(header):
            raise ValueError("no header")
        return [line.strip() for line in read_text(header).split("\n")]


def millivolts(content: Samples, columns: Iterable[int], scale: float | None = None) -> Doubles:
    """Return what a number of each of some columns is in mV: by a card's scale, else by the file's units and gains.

    Raises Unusable where neither is known, or both and different.
    """
    units = content.units or ["mV"] * len(content.gains)  # a gain alone is of steps per millivolt
    gains = content.gains or [1.0] * len(units)
    stated = [(units[column], gains[column]) for column in columns] if units else []
    scales = np.array([MILLIVOLTS.get(unit.lower(), np.nan) / gain for unit, gain in stated])
    names = ", ".join(sorted({unit if gain == 1 else f"{gain:g} steps per {unit}" for unit, gain in stated}))
    if scale is None and (not stated or np.isnan(scales).any()):
        raise Unusable(f"unknown unit or none in the file; give signals.unit or signals.gain in the card: {names}")
    if scale is not None and not (np.isnan(scales) | np.isclose(scales, scale, atol=0)).all():
        raise Unusable(f"unit contradicts the card; leave out signals.unit and gain: {names}")
    return scales if scale is None else np.array(scale)


def missing_leads(names: Iterable[str]) -> list[str]:
    """Return those of the twelve leads that are not among these names, in any capitals."""
    lowered = {name.strip().lower() for name in names}
    return [lead for lead in LEADS if lead.lower() not in lowered]


def lead_columns(names: Sequence[str]) -> list[int]:
    """Return the column of each of `LEADS`; sources order and capitalise them differently. Raises Unusable."""
    lowered = [name.strip().lower() for name in names]
    if missing := missing_leads(names):
        raise Unusable(f"lead missing: {', '.join(missing)}")
    if twice := [lead for lead in LEADS if lowered.count(lead.lower()) > 1]:
        raise Unusable(f"lead twice: {', '.join(twice)}")
    return [lowered.index(lead.lower()) for lead in LEADS]


def check_extent(samples: int, fs: float) -> None:
    """Raise Unusable if the sampling rate (Hz) or the duration is not that of a resting ECG."""
    if not SLOWEST <= fs <= FASTEST:
        raise Unusable(f"sampling rate outside {SLOWEST} to {FASTEST} Hz: {fs:g}")
    if samples == 0:
        raise Unusable("no samples")
    if samples > LONGEST * fs:
        raise Unusable(f"longer than {LONGEST} s: {samples / fs:.0f}")


def checked_recording(signal: Doubles, fs: float) -> Recording:
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


class RecordsBelow(NamedTuple):
    """The records of a folder in one form."""

    form: str
    paths: dict[str, str]
    """Name -> path without extension."""
    warnings: tuple[str, ...]
    """Names that could not be entered or followed (`FolderWalk`)."""


def find_records(
    dataset: Dataset, forms: Sequence[str], is_named: Callable[[str], object], looked_for: str
) -> RecordsBelow:
    """Find the records with such names of the first form that has any.

    A form is a folder's name, the last one that of all other folders. Raises DatasetError where there is no record.
    """
    forms_of = defaultdict[str, dict[str, str]](dict)
    walk = walk_folder(dataset.root)
    for path in map(PurePosixPath, walk.paths):
        if path.suffix == ".hea" and is_named(path.stem):
            parts = {*dataset.root.resolve().parts, *path.parts}
            form = next((form for form in forms if form in parts), forms[-1])
            forms_of[form].setdefault(path.stem, path.with_suffix("").as_posix())
    if not forms_of:
        raise DatasetError(
            f"{dataset.title}: no header {looked_for} in {dataset.root}{walk.remark}. {dataset.how_to_get}"
        )
    form = min(forms_of, key=forms.index)
    return RecordsBelow(form, dict(sorted(forms_of[form].items())), walk.warnings)


class WFDBFolder:
    """A folder of WFDB records (`base.Dataset`): a recording is a header and a signal file of one suffix."""

    suffix: ClassVar[str]
    tasks: ClassVar[Mapping[str, NamedTask]] = {}
    drawn_from = ""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the header and the signal file."""
        return self.root / f"{entry.path}.hea", self.root / f"{entry.path}{self.suffix}"

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)
