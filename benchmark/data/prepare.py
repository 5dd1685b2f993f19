"""Recordings become one memory-mapped array of windows with an index, made in parallel and held in a cache.

    cache/KEY/windows.f16      (N, S, 12) float16, heartbeats, recording after recording; of whole
                               recordings (N, 1, 12), sample after sample
    cache/KEY/index.json       recordings, their signals in brief, first windows, skipped recordings, fingerprint
    cache/KEY/*.digest         the digest of each file (benchmark.data.damage)

KEY is a hash of what is read, known before a signal is opened: listing, sizes and times of the files, segmentation and
package versions; of a simulated dataset its settings. The fingerprint is a hash of what the windows are computed from,
and results depend on it alone: data that were copied or touched are prepared once more, and recognised as equal. No
window enters it, since processors round differently. The index also says of each signal what the audit compares
(`benchmark.data.signals`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import NamedTuple, get_type_hints

import numpy as np
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from benchmark.data.damage import INDEX, WINDOWS, remember, remove_damaged, stamp_of
from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, DatasetInfo, Entry, Listing, Unusable
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.signals import SignalFacts, outline_of, signal_digest, signal_doubts
from benchmark.process import shared_map
from benchmark.results.arrays import Halves, Ints
from benchmark.results.files import KEY_LENGTH, digest, naming, read_json, temporary_name, write_atomic
from benchmark.results.names import SKIPPED_COLUMNS

PIPELINE_VERSION = 1
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then rebuilt."""
INDEX_FORMAT = 15
"""Raised with every change of the index's content; old caches are then rebuilt."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""Packages that process samples between file and window: filters and readers."""
CHUNK = 16
"""Recordings a worker takes at a time."""
WORTH_A_WORKER = 256
"""Least recordings per process: starting one takes as long as some 100 recordings."""


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
    """Count the recordings of each kind of reason (the part before the colon), the most frequent first."""
    return dict(Counter(skip.reason.partition(":")[0] for skip in skipped).most_common())


def write_skipped(skipped: Mapping[str, Sequence[Skipped]], path: Path) -> None:
    """Write one line per skipped recording of every dataset, given by name: dataset, recording, patient, reason."""
    lines = [(name, skip.recording, skip.patient, skip.reason) for name, of in skipped.items() for skip in of]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([SKIPPED_COLUMNS, *lines])  # pandas would load for it alone
    write_atomic(path, text.getvalue().encode(errors="replace"))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A prepared dataset. R usable recordings, N windows of S samples."""

    name: str
    title: str
    classes: tuple[str, ...]
    form: str
    """The on-disk form that was read, e.g. 'records500', or 'simulated'."""
    simulated: bool
    windows: Halves
    """(N, S, 12) memory map, standardised per recording and lead or in mV; heartbeats are zero-padded. Of whole
    recordings (N, 1, 12): an item is a sample."""
    first_window: Ints
    """(R + 1,) recording r has the items first_window[r] to first_window[r + 1]."""
    entries: tuple[Entry, ...]
    """The R usable recordings."""
    signals: tuple[SignalFacts, ...]
    """Facts of the signals of the R usable recordings."""
    skipped: tuple[Skipped, ...]
    fingerprint: str
    """16 hex digits of the hash of what the windows are computed from; the same on every processor."""
    folder: Path
    """Its folder in the cache."""
    warnings: tuple[str, ...] = ()
    """Warnings of the listing."""
    notes: tuple[str, ...] = ()
    """Notes of the listing."""
    segmentation: Segmentation = HEARTBEATS
    first_label_counts: bool = False
    """Whether the first label stands for a recording in a single-label task (`datasets.base`)."""
    how_to_get: str = ""
    """One line: source of the real data."""
    dataset: str = ""
    """Name of the dataset of which this is a named task (benchmark.data.tasks); '' for a dataset itself."""
    members: tuple[tuple[Prepared, Ints], ...] = ()
    """The joined datasets (benchmark.data.joined), in whose files the windows lie, each with the ascending numbers of
    its recordings."""

    @property
    def dataset_name(self) -> str:
        """Name of the dataset, also where this is a named task of it."""
        return self.dataset or self.name

    def trials_of_each(self, per_trial: int) -> Ints:
        """Count the pseudo-trials of `per_trial` windows of each recording, (R,); of one window: its windows."""
        return self.segmentation.trials_in(np.diff(self.first_window), per_trial)

    def windows_of(self, recording: int) -> Halves:
        """Return the items of a numbered recording."""
        for data, numbers in self.members:
            if recording < len(numbers):
                return data.windows_of(int(numbers[recording]))
            recording -= len(numbers)
        return self.windows[self.first_window[recording] : self.first_window[recording + 1]]

    @property
    def window_count(self) -> int:
        """Windows of all recordings."""
        return int(self.trials_of_each(1).sum())


def unprepared(about: DatasetInfo, entries: Sequence[Entry]) -> Prepared:
    """Return a dataset as its tables list it, without windows: all that a split needs. Its fingerprint is its name."""
    return Prepared(
        name=about.name,
        title=about.title,
        classes=about.classes,
        form="",
        simulated=False,
        windows=np.empty((0, 0, 0), np.float16),
        first_window=np.zeros(len(entries) + 1, np.int64),
        entries=tuple(entries),
        signals=(),
        skipped=(),
        fingerprint=about.name,
        folder=Path(),
        first_label_counts=about.first_label_counts,
        how_to_get=about.how_to_get,
    )


def prepare(
    dataset: Dataset,
    cache: Path,
    *,
    workers: int,
    segmentation: Segmentation = HEARTBEATS,
    prefix: str = "",
    read_again: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_damage: Callable[[Path], None] = lambda file: None,
) -> Prepared:
    """Prepare a dataset, or load it from the cache where its listing and files have not changed.

    With a `prefix`, only the recordings whose path in the dataset begins with it, e.g. 'files/p10'. Up to `workers`
    processes share the recordings. `on_progress(done, total)` is called after each, and not at all on a cache hit.
    Files that do not match their digests are made again, and `on_damage(file)` is called for each; `read_again`: also
    files that look as they were left are compared. A dataset without a usable recording is returned empty, with the
    reasons in `skipped`. Raises DatasetError if the folder is not the dataset's or the prefix matches nothing.
    """
    listing = key_listing(dataset, prefix)
    folder = cache / cache_key(dataset, listing, segmentation)
    for file in remove_damaged(folder, read_again=read_again):
        on_damage(file)
    with suppress(FileNotFoundError):
        return load_noted(folder, listing)
    shutil.rmtree(folder, ignore_errors=True)  # a damaged one
    unfinished = temporary_name(folder)
    try:
        with naming(folder):
            unfinished.mkdir(parents=True)
            _write(unfinished, dataset, listing or dataset.listing(), segmentation, workers, on_progress)
        with suppress(OSError):  # another process was faster
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return load_prepared(folder)


def cached(
    dataset: Dataset, cache: Path, listing: Listing | None, segmentation: Segmentation = HEARTBEATS
) -> Prepared | None:
    """Load the cached preparation of a dataset with its `key_listing`; None if missing or its files have changed."""
    with suppress(FileNotFoundError):
        return load_noted(cache / cache_key(dataset, listing, segmentation), listing)
    return None


def load_noted(folder: Path, listing: Listing | None) -> Prepared:
    """Load a prepared dataset with the notes of its listing, which are of other files and prepare nothing anew."""
    prepared = load_prepared(folder)
    return replace(prepared, notes=listing.notes) if listing else prepared


def key_listing(dataset: Dataset, prefix: str = "") -> Listing | None:
    """List a dataset, or its part whose paths begin with a prefix; None of a simulated one, whose settings say all.

    Raises DatasetError where no path does.
    """
    if dataset.drawn_from:
        return None
    listing = dataset.listing()
    entries = tuple(entry for entry in listing.entries if entry.path.startswith(prefix))
    if prefix and not entries:
        count = len(listing.entries)
        raise DatasetError(f"{dataset.title}: none of {count} recordings has a path with prefix {prefix!r}")
    return replace(listing, entries=entries)


def cache_key(dataset: Dataset, listing: Listing | None, segmentation: Segmentation) -> str:
    """Hash what a dataset with its `key_listing` is prepared from under a segmentation: 16 hex digits."""
    versions = {"pipeline": PIPELINE_VERSION, "index": INDEX_FORMAT, **{name: version(name) for name in PACKAGES}}
    about = [dataset.name, dataset.title, dataset.drawn_from, versions, asdict(segmentation)]
    if listing is None:
        return digest(about)
    content = hashlib.sha256(json.dumps([about, asdict(replace(listing, entries=(), notes=()))]).encode())
    for entry in listing.entries:
        states = [(path, path.stat()) for path in dataset.files(entry) if path.exists()]
        files = [(path.name, state.st_size, state.st_mtime_ns) for path, state in states]
        content.update(json.dumps([asdict(entry), files]).encode())
    return content.hexdigest()[:KEY_LENGTH]


class Cut(NamedTuple):
    """What is prepared of an entry."""

    signal: SignalFacts
    windows: Halves
    """(n, S, 12) windows or (n, 1, 12) samples."""
    report: str
    """The one that was made with the signal; '' where the entry has its own."""


class Refused(NamedTuple):
    """Why an entry cannot be used."""

    signal: SignalFacts | None
    """None where it could not be read."""
    reason: str


def prepare_entries(dataset: Dataset, segmentation: Segmentation, entries: Sequence[Entry]) -> list[Cut | Refused]:
    """Read and cut some recordings, on one thread: several would wait for each other over small matrices."""
    with threadpool_limits(1):
        return [prepare_entry(dataset, segmentation, entry) for entry in entries]


def prepare_entry(dataset: Dataset, segmentation: Segmentation, entry: Entry) -> Cut | Refused:
    """Read and cut a recording."""
    try:
        recording = dataset.read(entry)
    except Unusable as reason:
        return Refused(None, str(reason))
    signal, is_drawn = recording.signal, bool(dataset.drawn_from)
    source = digest([dataset.drawn_from, entry.path]) if is_drawn else signal_digest(signal)
    facts = SignalFacts(recording.fs, len(signal), source)
    try:
        windows = segmentation.cut(signal, recording.fs).astype(np.float16)  # (n, S, 12)
    except Unusable as reason:
        return Refused(facts, str(reason))
    if not is_drawn:  # a drawn one's leads obey the laws, and it is no other recording's copy
        doubts = (*recording.doubts, *signal_doubts(signal, recording.fs, raw=segmentation.raw))
        facts = facts._replace(outline=outline_of(signal), doubts=doubts)
    return Cut(facts, windows, recording.report)


def _write(
    folder: Path,
    dataset: Dataset,
    listing: Listing,
    segmentation: Segmentation,
    workers: int,
    on_progress: Callable[[int, int], None],
) -> None:
    """Write windows and index of a listing into an empty folder."""
    entries, facts, first_window = list[Entry](), list[SignalFacts](), [0]  # of the usable recordings
    skipped = [Skipped(recording, recording, (), reason) for recording, reason in listing.skipped]
    signals: list[SignalFacts | None] = []
    content, count = hashlib.sha256(), len(listing.entries)
    chunks = [listing.entries[start : start + CHUNK] for start in range(0, count, CHUNK)]
    mapped = shared_map(partial(prepare_entries, dataset, segmentation), chunks, min(workers, count // WORTH_A_WORKER))
    with open(folder / WINDOWS, "wb") as file, closing(mapped):
        for done, (entry, outcome) in enumerate(zip(listing.entries, chain.from_iterable(mapped), strict=True), 1):
            signals.append(outcome.signal)
            if isinstance(outcome, Refused):
                skipped.append(Skipped(entry.recording, entry.patient, entry.labels, outcome.reason, entry.statements))
            else:
                content.update(outcome.windows.tobytes())
                file.write(outcome.windows.tobytes())
                entries.append(replace(entry, report=outcome.report or entry.report))
                facts.append(outcome.signal)
                first_window.append(first_window[-1] + len(outcome.windows))
            on_progress(done, count)
    remember(folder / WINDOWS, content.hexdigest(), stamp_of(folder / WINDOWS))
    prepared = replace(
        unprepared(dataset, entries),
        form=listing.form,
        simulated=bool(dataset.drawn_from),
        first_window=np.array(first_window),
        signals=tuple(facts),
        skipped=tuple(skipped),
        fingerprint=fingerprint_of(dataset, listing, segmentation, signals),
        folder=folder,
        warnings=listing.warnings,
        notes=listing.notes,
        segmentation=segmentation,
    )
    write_index(prepared)


def fingerprint_of(
    dataset: Dataset, listing: Listing, segmentation: Segmentation, signals: Sequence[SignalFacts | None]
) -> str:
    """Hash what prepared data are computed from: 16 hex digits, the same on every processor.

    signals: of each entry of the listing, as it was read; None where it could not be. Of a simulated dataset the
    settings say all. No path enters, no window, and no reason why a recording is skipped. No statement enters either: a
    named task's labels have a fingerprint of their own (benchmark.data.tasks).
    """
    about = [dataset.name, dataset.classes, dataset.first_label_counts, asdict(segmentation), PIPELINE_VERSION]
    if dataset.drawn_from:
        return digest([*about, dataset.drawn_from])
    recordings = []
    for entry, signal in zip(listing.entries, signals, strict=True):
        source = None if signal is None else [signal.fs, signal.digest]
        about_entry = asdict(replace(entry, path="", statements=()))
        if not entry.is_negative:
            del about_entry["is_negative"]
        recordings.append([about_entry, source])
    return digest([*about, recordings])


def write_index(prepared: Prepared) -> None:
    """Write the index by which other processes open prepared data: all but the windows."""
    file = prepared.folder / INDEX
    index = {name: value for name, value in vars(prepared).items() if name not in ("windows", "folder")}
    index["first_window"] = prepared.first_window.tolist()
    index["members"] = [[data.folder.name, numbers.tolist()] for data, numbers in prepared.members]
    content = json.dumps(index, separators=(",", ":"), default=asdict).encode()
    write_atomic(file, content)
    remember(file, hashlib.sha256(content).hexdigest(), stamp_of(file))


def load_prepared(folder: Path) -> Prepared:
    """Load the prepared dataset in a folder of the cache. Raises FileNotFoundError where a file is gone or damaged.

    Its digests are not compared: `prepare` does that once a run.
    """
    try:
        index, kinds = read_json(folder / INDEX), get_type_hints(Prepared)
        for name in ("classes", "entries", "signals", "skipped", "warnings", "notes", "segmentation"):
            index[name] = TypeAdapter(kinds[name]).validate_python(index[name])
        members = tuple((open_prepared(folder.parent / name), np.array(r)) for name, r in index["members"])
        count = 0 if members else index["first_window"][-1]
        shape = count, index["segmentation"].samples_per_item, len(LEADS)
        index["windows"] = memory_map(folder / WINDOWS, shape)  # (N, S, L)
        index["first_window"] = np.array(index["first_window"], np.int64)  # (R + 1,)
        return Prepared(**index | {"folder": folder, "members": members})
    except (OSError, ValueError, LookupError, TypeError):
        problem = f"the prepared data in {folder} are gone or damaged; the same command makes them again"
        raise FileNotFoundError(problem) from None


def open_prepared(folder: Path) -> Prepared:
    """Load the prepared dataset in a folder once per process, and again where it was made again."""
    return _opened(folder, made_at(folder))


@lru_cache(maxsize=4)
def _opened(folder: Path, made_at: int) -> Prepared:
    return load_prepared(folder)


def made_at(folder: Path) -> int:
    """Return when a prepared dataset was made, in nanoseconds since 1970; 0 for one that is not there."""
    index = folder / INDEX
    return index.stat().st_mtime_ns if index.is_file() else 0


def memory_map(path: Path, shape: tuple[int, ...]) -> Halves:
    """Map a file of float16 numbers as a read-only array; an empty file cannot be mapped, but is an empty array."""
    return np.memmap(path, np.float16, "r", shape=shape) if shape[0] else np.empty(shape, np.float16)
