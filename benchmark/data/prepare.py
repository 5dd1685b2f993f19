"""Recordings become one memory-mapped array of windows with an index, made in parallel and held in a cache.

    cache/KEY/windows.f16      (N, S, 12) float16, heartbeats, recording after recording; of whole
                               recordings (N, 1, 12), sample after sample
    cache/KEY/index.json       key, entries, their signals in brief, first windows, skipped recordings, fingerprint,
                               digest of the windows
    cache/KEY/index.sha256     digest of the index
    cache/KEY/trials-K.f16     pseudo-trials of K windows (benchmark.data.corpus)
    cache/stamps/NAME-ROOT.json    file -> size, mtime in ns, inode, SHA-256; ROOT: a hash of the dataset's folder

Windows are used only if their content has the index's digest, and an index only in the folder of its key; else the
recordings are prepared again. KEY is a hash of the inputs, known before a signal is read (`cache_key`): files (names
and contents), tables, segmentation and package versions, and no time or place, so a copied or touched dataset is
recognised; of a simulated dataset its settings in place of files and tables. The fingerprint is a hash of the outcome,
and results depend on it alone, so equal data prepared in different places or by other versions are recognised as equal.

A file is read for the key once per change (`contents_of`). A missing, damaged or unwritable file of stamps costs time
and nothing else.

What is doubtful about the leads of a recording that can be read: flat, identical, exchanged or inverted leads. The six
limb leads come from three electrodes, so every sample obeys four laws (Einthoven 1913, Goldberger 1942):

    III = II - I    aVR = -(I + II) / 2    aVL = I - II / 2    aVF = II - I / 2

A limb lead that is exchanged with another lead, or inverted, breaks them, and undoing it restores them. Exchanged
electrodes keep the laws: they are not seen here. Nor is anything said where the laws are broken otherwise, as by leads
that were scaled one by one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import stat
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Entry, Listing, Unusable
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.machine.process import shared_map
from benchmark.results.files import csv_text, intact, naming, temporary_name, write_atomic
from benchmark.results.names import SKIPPED_COLUMNS
from benchmark.results.schema import KEY_LENGTH, digest

EXCHANGED, INVERTED = "leads exchanged", "lead inverted"
IDENTICAL, FLAT = "all leads identical", "half of the leads or more flat"
STEP = 0.005
"""mV; a lead that varies by no more is flat, and leads that differ by no more are equal: one step of a coarse file."""
SOME = 50
"""Leads that differ mostly do so in every fiftieth sample."""
LIMB = 6
"""The first of `LEADS` are the limb leads."""
BROKEN, KEPT = 0.1, 0.05
"""Root mean square of the laws' errors, as a share of the limb leads', from which they are broken, and up to which they
are kept. Real files have at most 0.02."""
LAWS = np.zeros((4, len(LEADS)))  # (4, 12): each row times the leads is 0
LAWS[0, [2, 1, 0]] = 1, -1, 1
LAWS[1, [3, 0, 1]] = 1, 0.5, 0.5
LAWS[2, [4, 0, 1]] = 1, -1, 0.5
LAWS[3, [5, 1, 0]] = 1, -1, 0.5


def _repairs() -> dict[str, NDArray[np.float64]]:
    """Doubt -> the laws (4, 12) on the leads as they stand if it is true."""
    repaired = {}
    for first, second in combinations(range(len(LEADS)), 2):
        if first < LIMB:
            order = np.arange(len(LEADS))
            order[[first, second]] = second, first
            repaired[f"{EXCHANGED}: {LEADS[first]} and {LEADS[second]}"] = LAWS[:, order]
    for lead in range(LIMB):
        repaired[f"{INVERTED}: {LEADS[lead]}"] = LAWS * np.where(np.arange(len(LEADS)) == lead, -1, 1)
    return repaired


REPAIRS = _repairs()


def doubt_about(signal: NDArray[np.float32]) -> str:
    """The doubt about the leads of (n, 12) mV, as kind or 'kind: leads'; '' for none."""
    varies = np.ptp(signal, axis=0) > STEP  # (12,)
    if varies.sum() <= len(LEADS) / 2:
        return FLAT
    moving = signal if varies.all() else signal[:, varies]
    if all(np.abs(leads - leads[:, :1]).max() <= STEP for leads in (moving[::SOME], moving)):
        return IDENTICAL
    if not varies[:LIMB].all():
        return ""
    centred = signal - signal.mean(axis=0, dtype=np.float64)  # (n, 12)
    power = centred.T @ centred  # (12, 12)
    size = np.sqrt(np.trace(power[:LIMB, :LIMB]) / LIMB)
    if _error(LAWS, power) < BROKEN * size:
        return ""
    errors = {doubt: _error(laws, power) for doubt, laws in REPAIRS.items()}
    likeliest = min(errors, key=errors.__getitem__)
    return likeliest if errors[likeliest] <= KEPT * size else ""


def _error(laws: NDArray[np.float64], power: NDArray[np.float64]) -> float:
    """Root mean square over the laws and samples, times the root of the number of samples."""
    squares = ((laws @ power) * laws).sum(axis=1)  # (4,)
    return float(np.sqrt(max(0.0, squares.mean())))


CHUNK = 16
"""Recordings a worker takes at a time."""
WORTH_A_WORKER = 512
"""Least recordings per process: starting one takes as long as some 300 recordings."""


class Signal(NamedTuple):
    """Facts kept of a recording's signal besides its windows."""

    fs: float
    """Sampling rate in Hz."""
    samples: int
    """Per lead."""
    digest: str
    """Hash of the samples in whole microvolts: equal for copies, whatever their names and on-disk forms."""
    doubt: str = ""
    """What is doubtful about its leads, as kind or 'kind: leads' (benchmark.data.prepare)."""


Outcome = tuple[NDArray[np.float16], Signal, str] | str
"""What is kept of an entry, windows (n, S, 12) or samples (n, 1, 12), its signal and the report made with it, or the
reason why it cannot be used."""


def outcomes(
    dataset: Dataset, entries: Sequence[Entry], segmentation: Segmentation, workers: int
) -> Generator[Outcome, None, None]:
    """The outcome of each entry, in order. Up to `workers` processes share them; few are cut in this process."""
    chunks = [entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK)]
    work = partial(_prepare_chunk, dataset, segmentation)
    processes = min(workers, len(entries) // WORTH_A_WORKER)
    with closing(shared_map(work, chunks, processes)) as each:
        yield from chain.from_iterable(each)


def _prepare_chunk(dataset: Dataset, segmentation: Segmentation, entries: Sequence[Entry]) -> list[Outcome]:
    return [_prepare_entry(dataset, segmentation, entry) for entry in entries]


def _prepare_entry(dataset: Dataset, segmentation: Segmentation, entry: Entry) -> Outcome:
    try:
        recording = dataset.read(entry)
        windows = segmentation.cut(recording.signal, recording.fs).astype(np.float16)  # (n, S, 12)
    except Unusable as reason:
        return str(reason)
    signal = recording.signal
    return windows, Signal(recording.fs, len(signal), signal_digest(signal), doubt_about(signal)), recording.report


def signal_digest(signal: NDArray[np.float32]) -> str:
    """Hash of (n, 12) in mV as whole microvolts, so that gain and number format of a file do not matter."""
    microvolts = np.rint(signal.T * 1000) + 0.0  # (12, n); the sum makes -0.0 a 0.0
    return hashlib.sha256(np.ascontiguousarray(microvolts).data).hexdigest()[:KEY_LENGTH]


Stamp = tuple[int, int, int]
"""Size, mtime in ns, inode."""
OnReading = Callable[[int, int], None]
STAMPS = "stamps"
READERS = 8
"""Threads that read files."""
PART = 16
"""Files a thread takes at a time; one at a time, handing over costs as much as reading."""
SETTLED_NS = 2_000_000_000
"""A file changed this recently is not stamped: a further change might leave its time as it is."""


def contents_of(
    name: str,
    root: Path,
    files: Sequence[Path],
    cache: Path,
    *,
    on_reading: OnReading | None = None,
) -> dict[Path, str | None]:
    """SHA-256 of each file of the dataset `name` in the folder `root`; None for what is no readable file.

    `on_reading(done, total)` counts the files that are read, from 0; it is not called if every stamp holds.
    """
    place = cache / STAMPS / f"{name}-{digest(str(root.resolve()))}.json"
    known = read_stamps(place)
    stamps = {path: stamp for path in files if (stamp := stamp_of(path))}
    found: dict[Path, str | None] = dict.fromkeys(files)
    for path, stamp in stamps.items():
        before, content = known.get(os.fspath(path), (None, None))
        found[path] = content if before == stamp else None
    unread = [path for path in stamps if found[path] is None]
    if not unread:
        return found
    try:
        for path, content in read_all(unread, on_reading):
            found[path] = content
            if content and time.time_ns() - stamps[path][1] > SETTLED_NS:
                known[os.fspath(path)] = stamps[path], content
    finally:  # what was read before an interruption counts
        with suppress(OSError):  # a cache that cannot be written: the files are read again next time
            flat = {path: (*stamp, content) for path, (stamp, content) in known.items()}
            write_atomic(place, json.dumps(flat, separators=(",", ":")).encode())
    return found


def stamp_of(path: Path) -> Stamp | None:
    """Stamp of a regular file; None for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a zero byte in a name
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def read_stamps(place: Path) -> dict[str, tuple[Stamp, str]]:
    """Path -> stamp and SHA-256 of a file of stamps; empty if it is missing or damaged."""
    try:
        return {
            str(path): ((int(size), int(time_ns), int(inode)), str(content))
            for path, (size, time_ns, inode, content) in json.loads(place.read_bytes()).items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def read_all(files: Sequence[Path], on_reading: OnReading | None) -> Iterator[tuple[Path, str | None]]:
    """Each file with its SHA-256, read by several threads; None for one that cannot be read."""
    say = on_reading or (lambda done, total: None)
    say(0, len(files))
    parts = [files[start : start + PART] for start in range(0, len(files), PART)]
    pool = ThreadPoolExecutor(READERS)
    try:
        digests = chain.from_iterable(pool.map(lambda part: [sha256_of(path) for path in part], parts))
        for done, found in enumerate(zip(files, digests, strict=True), start=1):
            yield found
            say(done, len(files))
    finally:
        pool.shutdown(cancel_futures=True)


def sha256_of(path: Path) -> str | None:
    """SHA-256 of a file; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


PIPELINE_VERSION = 1
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then rebuilt."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""Packages that process samples between file and window: filters and readers."""


def cache_key(
    dataset: Dataset,
    listing: Listing | None,
    segmentation: Segmentation,
    cache: Path,
    *,
    on_reading: OnReading | None = None,
) -> str:
    """Key of a dataset with its `key_listing` under a segmentation: 16 hex digits; `on_reading` as in `contents_of`."""
    versions = {"pipeline": PIPELINE_VERSION, **{name: version(name) for name in PACKAGES}}
    if listing is None:
        return digest([dataset.name, dataset.drawn_from, versions, segmentation.content()])
    about = [dataset.name, listing.form, listing.skipped, listing.warnings, versions, segmentation.content()]
    content = hashlib.sha256(json.dumps([*about, listing.reading]).encode())
    files_of = [dataset.files(entry) for entry in listing.entries]
    files = [path for own in files_of for path in own]
    found = contents_of(dataset.name, dataset.root, files, cache, on_reading=on_reading)
    for entry, own in zip(listing.entries, files_of, strict=True):
        content.update(json.dumps([asdict(entry), [(path.name, found[path]) for path in own]]).encode())
    return content.hexdigest()[:KEY_LENGTH]


@dataclass(frozen=True)
class Skipped:
    """One recording that is in the dataset's tables and not in the prepared data."""

    recording: str
    patient: str
    """The recording's name if it was ruled out by the tables alone."""
    labels: tuple[int, ...]
    """Class indices it would have counted for, from which the coverage of classes is computed."""
    reason: str
    """Kind, colon, details of this recording."""
    statements: tuple[str, ...] = ()
    """As those of an entry."""


def skip_summary(skipped: Iterable[Skipped]) -> dict[str, int]:
    """Kind of reason (the part before the colon) -> recordings, the most frequent first."""
    return dict(Counter(skip.reason.partition(":")[0] for skip in skipped).most_common())


def write_skipped(skipped: Mapping[str, Sequence[Skipped]], path: Path) -> None:
    """Write one line per skipped recording of every dataset, given by name: dataset, recording, patient, reason."""
    rows = (
        (dataset, skip.recording, skip.patient, skip.reason)
        for dataset, recordings in skipped.items()
        for skip in recordings
    )
    write_atomic(path, csv_text(SKIPPED_COLUMNS, rows).encode())


log = logging.getLogger(__name__)

INDEX_FORMAT = 6
"""Raised with every change of the index's content; a cache with another one is rebuilt."""


@dataclass(frozen=True)
class Prepared:
    """A prepared dataset. R usable recordings, N windows of S samples."""

    name: str
    title: str
    classes: tuple[str, ...]
    form: str
    """The on-disk form that was read, e.g. 'records500', or 'simulated'."""
    simulated: bool
    """Whether its recordings were drawn by the simulator."""
    windows: NDArray[np.float16]
    """(N, S, 12) memory map, standardised per recording and lead or in mV; heartbeats are zero-padded. Of whole
    recordings (N, 1, 12): an item is a sample."""
    first_window: NDArray[np.int64]
    """(R + 1,) recording r has the items first_window[r] to first_window[r + 1]."""
    entries: tuple[Entry, ...]
    """The R usable recordings."""
    signals: tuple[Signal, ...]
    """Of the R usable recordings."""
    skipped: tuple[Skipped, ...]
    fingerprint: str
    """16 hex digits of the SHA-256 of windows and index; no path, time or number of workers enters."""
    folder: Path
    """Its folder in the cache."""
    others: tuple[str, ...] = ()
    """On-disk forms also present and not read."""
    warnings: tuple[str, ...] = ()
    """Of the listing."""
    segmentation: Segmentation = HEARTBEATS
    """Kind and length of the windows."""
    first_label_counts: bool = False
    """Whether the first label stands for a recording in a single-label task (`readers.base.About`)."""
    how_to_get: str = ""
    """One line: source of the real data."""
    dataset: str = ""
    """Where this is a named task of a dataset (benchmark.data.splits): the dataset's name."""
    members: tuple[tuple[Prepared, NDArray[np.int64]], ...] = ()
    """Of a corpus of several: datasets, in whose files its windows lie, and numbers of their recordings, ascending."""

    @property
    def dataset_name(self) -> str:
        """Name of the dataset, also where this is a named task of it."""
        return self.dataset or self.name

    def trials_of_each(self, per_trial: int) -> NDArray[np.int64]:
        """(R,) pseudo-trials of `per_trial` windows of each recording; of one window: its windows."""
        return self.segmentation.trials_in(np.diff(self.first_window), per_trial)

    def windows_of(self, recording: int) -> NDArray[np.float16]:
        """Items of a numbered recording."""
        for data, numbers in self.members:
            if recording < len(numbers):
                return data.windows_of(int(numbers[recording]))
            recording -= len(numbers)
        return self.windows[self.first_window[recording] : self.first_window[recording + 1]]

    @property
    def window_count(self) -> int:
        """Windows of all recordings."""
        return int(self.trials_of_each(1).sum())

    @property
    def padded(self) -> int:
        """Recordings that were lengthened to a window."""
        return sum(self.segmentation.is_padded(signal.samples, signal.fs) for signal in self.signals)


def memory_map(path: Path, shape: tuple[int, ...]) -> NDArray[np.float16]:
    """A file of float16 numbers as a read-only array; an empty file cannot be mapped, but is an empty array."""
    return np.memmap(path, np.float16, "r", shape=shape) if path.stat().st_size else np.empty(shape, np.float16)


def load_prepared(folder: Path) -> Prepared | None:
    """The prepared dataset in a folder of the cache; None if missing, damaged (told in a line) or of another format."""
    found = read_folder(folder)
    if isinstance(found, Prepared):
        return found
    if found:
        log.warning("%s: %s; it is not used, and prepared again from the recordings", folder, found)
    return None


@lru_cache(maxsize=4)
def opened(folder: Path) -> Prepared:
    """The prepared dataset in a folder, opened once per process. Raises FileNotFoundError."""
    if prepared := load_prepared(folder):
        return prepared
    raise FileNotFoundError(f"the prepared data in {folder} are gone or damaged; the same command makes them again")


def read_folder(folder: Path) -> Prepared | str:
    """The prepared dataset in a folder, or what is wrong with it: '' if there is none of this index format."""
    if not folder.is_dir():
        return ""
    try:
        content = (folder / "index.json").read_bytes()
        if hashlib.sha256(content).hexdigest().encode() != (folder / "index.sha256").read_bytes():
            return "index.json does not match index.sha256"
        index = json.loads(content)
        if index.get("format") != INDEX_FORMAT:
            return ""
        if index["key"] != folder.name:
            return f"index.json is that of {index['key']}"
        if not intact(folder / "windows.f16", index["windows_sha256"]):
            return "windows.f16 does not match its digest"
    except (FileNotFoundError, IsADirectoryError) as error:
        return f"{Path(error.filename).name} is {'missing' if isinstance(error, FileNotFoundError) else 'a folder'}"
    return _opened(folder, index)


def _opened(folder: Path, index: dict[str, Any]) -> Prepared:
    as_stored = ("name", "title", "form", "simulated", "fingerprint", "first_label_counts", "how_to_get")
    plain: dict[str, Any] = {name: index[name] for name in as_stored}
    plain |= {name: tuple(index[name]) for name in ("classes", "others", "warnings")}
    segmentation = Segmentation(**index["segmentation"])
    first_window = np.array(index["first_window"], np.int64)  # (R + 1,)
    shape = (int(first_window[-1]), segmentation.unit, len(LEADS))  # N, S, L
    return Prepared(
        **plain,
        windows=memory_map(folder / "windows.f16", shape),
        first_window=first_window,
        entries=tuple(Entry(**_with_tuples(entry)) for entry in index["entries"]),
        signals=tuple(Signal(*signal) for signal in index["signals"]),
        skipped=tuple(Skipped(**_with_tuples(skip)) for skip in index["skipped"]),
        folder=folder,
        segmentation=segmentation,
    )


def _with_tuples(listed: dict[str, Any]) -> dict[str, Any]:
    """An entry of the index with its lists as tuples."""
    return listed | {name: tuple(listed[name]) for name in ("labels", "statements")}


def prepare(
    dataset: Dataset,
    cache: Path,
    *,
    workers: int,
    segmentation: Segmentation = HEARTBEATS,
    prefix: str = "",
    on_progress: Callable[[int, int], None] | None = None,
    on_reading: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Prepare a dataset, or load it from the cache if the contents of its files, or its settings, have not changed.

    With a `prefix`, only the recordings whose path in the dataset begins with it, e.g. 'files/p10'.
    Up to `workers` processes share the recordings; a small dataset or one worker is done in this process.
    `on_progress(done, total)` is called after each recording, and not at all on a cache hit; `on_reading(done, total)`
    while new and touched files are read for the cache's key. A dataset without a usable
    recording is returned empty, with the reasons in `skipped`. Raises DatasetError if the folder is not the dataset's
    or the prefix matches nothing.
    """
    listing = key_listing(dataset, prefix)
    folder = cache / cache_key(dataset, listing, segmentation, cache, on_reading=on_reading)
    if prepared := load_prepared(folder):
        return prepared
    unfinished = temporary_name(folder)
    try:
        with naming(folder):
            unfinished.mkdir(parents=True)
            _build(unfinished, folder.name, dataset, listing or dataset.listing(), segmentation, workers, on_progress)
        if isinstance(read_folder(folder), str):  # else another process has finished the same meanwhile
            shutil.rmtree(folder, ignore_errors=True)
            try:
                unfinished.rename(folder)
            except OSError:
                if load_prepared(folder) is None:
                    raise  # else another process was faster
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    if prepared := load_prepared(folder):
        return prepared
    raise DatasetError(f"{dataset.title}: {folder} is damaged right after it was written: is the disk full?")


def cached(
    dataset: Dataset,
    cache: Path,
    listing: Listing | None,
    segmentation: Segmentation = HEARTBEATS,
    *,
    on_reading: Callable[[int, int], None] | None = None,
) -> Prepared | None:
    """The cached preparation of a dataset with its `key_listing`; None if missing or its files' contents have changed.

    New or touched files are read, unless the cache holds no dataset at all.
    """
    if next(cache.glob("*/index.json"), None) is None:
        return None
    return load_prepared(cache / cache_key(dataset, listing, segmentation, cache, on_reading=on_reading))


def key_listing(dataset: Dataset, prefix: str = "") -> Listing | None:
    """The listing that the key of a dataset depends on: None of a simulated one, whose settings say all."""
    return None if dataset.drawn_from else list_part(dataset, prefix)


def list_part(dataset: Dataset, prefix: str) -> Listing:
    """The listing of a dataset, or its part whose paths begin with a prefix. Raises DatasetError where none does."""
    listing = dataset.listing()
    if not prefix:
        return listing
    entries = tuple(entry for entry in listing.entries if entry.path.startswith(prefix))
    if not entries:
        raise DatasetError(
            f"{dataset.title}: none of {len(listing.entries)} recordings has a path with prefix {prefix!r}"
        )
    return replace(listing, entries=entries)


def _build(
    folder: Path,
    key: str,
    dataset: Dataset,
    listing: Listing,
    segmentation: Segmentation,
    workers: int,
    on_progress: Callable[[int, int], None] | None,
) -> None:
    """Write windows and index of a listing into an empty folder."""
    entries: list[Entry] = []
    signals: list[Signal] = []
    first_window = [0]
    skipped = [Skipped(recording, recording, (), reason) for recording, reason in listing.skipped]
    content = hashlib.sha256()
    found = outcomes(dataset, listing.entries, segmentation, workers)
    with open(folder / "windows.f16", "wb") as file, closing(found) as each:
        for done, (entry, outcome) in enumerate(zip(listing.entries, each, strict=True), start=1):
            if isinstance(outcome, str):
                skipped.append(Skipped(entry.recording, entry.patient, entry.labels, outcome, entry.statements))
            else:
                windows, signal, report = outcome
                data = windows.tobytes()
                content.update(data)
                file.write(data)
                entries.append(replace(entry, report=report or entry.report))
                signals.append(signal)
                first_window.append(first_window[-1] + len(windows))
            if on_progress is not None:
                on_progress(done, len(listing.entries))
    index: dict[str, Any] = {
        "name": dataset.name,
        "classes": dataset.classes,
        "segmentation": segmentation.content(),
        "first_window": first_window,
        "entries": [asdict(entry) for entry in entries],
        "skipped": [asdict(skip) for skip in skipped],
        "first_label_counts": dataset.first_label_counts,
    }
    windows_digest = content.hexdigest()
    about = {
        "title": dataset.title,
        "form": listing.form,
        "simulated": bool(dataset.drawn_from),
        "signals": signals,
        "how_to_get": dataset.how_to_get,
        "format": INDEX_FORMAT,
        "key": key,
        "fingerprint": _fingerprint(index, windows_digest),
        "others": listing.others,
        "warnings": listing.warnings,
        "windows_sha256": windows_digest,
    }
    encoded = json.dumps(index | about, separators=(",", ":")).encode()
    (folder / "index.json").write_bytes(encoded)
    (folder / "index.sha256").write_text(hashlib.sha256(encoded).hexdigest())


def _fingerprint(index: dict[str, Any], windows_digest: str) -> str:
    """Hash of the prepared content, without what no result depends on: the files' paths, sex and age.

    Without the statements too: a named task's labels have a fingerprint of their own (benchmark.data.splits).
    """
    told = ("path", "sex", "age", "statements")
    listed = {
        part: [{name: value for name, value in one.items() if name not in told} for one in index[part]]
        for part in ("entries", "skipped")
    }
    content = json.dumps([windows_digest, index | listed], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:KEY_LENGTH]
