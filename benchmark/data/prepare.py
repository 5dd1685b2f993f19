"""Recordings become one memory-mapped array of windows with an index, made in parallel and held in a cache.

    cache/KEY/windows.f16          (N, S, 12) float16, heartbeats, recording after recording; of whole
                                   recordings (N, 1, 12), sample after sample
    cache/KEY/index.safetensors    the table of recordings (benchmark.data.recordings), fingerprint and other facts
    cache/KEY/*.digest             the digest of each file (benchmark.data.damage)

KEY is a hash of what is read, known before a signal is opened: listing, sizes and times of the files, segmentation and
package versions; of a simulated dataset its settings. The fingerprint is a hash of what the windows are computed from,
and results depend on it alone: data that were copied or touched are prepared once more, and recognised as equal. No
window enters it, since processors round differently.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from threadpoolctl import threadpool_limits

from benchmark.data.damage import INDEX, WINDOWS, remember, remove_damaged, stamp_of
from benchmark.data.datasets.base import LEADS, NO_FOLD, Dataset, DatasetError, DatasetInfo, Entry, Listing, Unusable
from benchmark.data.recordings import RecordingTable, table_from, table_of
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.signals import outline_of, signal_digest, signal_doubts
from benchmark.process import shared_map
from benchmark.results.arrays import Halves, Ints
from benchmark.results.files import KEY_LENGTH, digest, naming, temporary_name, write_atomic
from benchmark.results.names import SKIPPED_COLUMNS

PIPELINE_VERSION = 1
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then rebuilt."""
INDEX_FORMAT = 16
"""Raised with every change of the index's content; old caches are then rebuilt."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""Packages that process samples between file and window: filters and readers."""
CHUNK = 16
"""Recordings a worker takes at a time."""
WORTH_A_WORKER = 256
"""Least recordings per process: starting one takes as long as some 100 recordings."""


def skip_summary(skipped: RecordingTable) -> dict[str, int]:
    """Count the recordings of each kind of reason (the part before the colon), the most frequent first."""
    return dict(Counter(reason.partition(":")[0] for reason in skipped.reason).most_common())


def write_skipped(skipped: Mapping[str, RecordingTable], path: Path) -> None:
    """Write one line per skipped recording of every dataset, given by name: dataset, recording, patient, reason."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")  # pandas would load for it alone
    lines.writerow(SKIPPED_COLUMNS)
    for name, table in skipped.items():
        lines.writerows(zip([name] * len(table), table.recording, table.patient, table.reason, strict=True))
    write_atomic(path, text.getvalue().encode(errors="replace"))


NO_WINDOWS = np.empty((0, 1, len(LEADS)), np.float16)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A prepared dataset. R usable recordings, N windows of S samples."""

    name: str
    title: str
    classes: tuple[str, ...]
    listed: RecordingTable
    """All recordings: the R usable ones, then those that are left out."""
    fingerprint: str
    """16 hex digits of the hash of what the windows are computed from; the same on every processor."""
    windows: Halves
    """(N, S, 12) memory map, standardised per recording and lead or in mV; heartbeats are zero-padded. Of whole
    recordings (N, 1, 12): an item is a sample."""
    folder: Path = Path()
    """Its folder in the cache."""
    form: str = ""
    """The on-disk form that was read, e.g. 'records500', or 'simulated'."""
    simulated: bool = False
    warnings: tuple[str, ...] = ()
    """Warnings of the listing."""
    segmentation: Segmentation = HEARTBEATS
    first_label_counts: bool = False
    """The first label stands for a recording in a single-label task (`datasets.base`)."""
    how_to_get: str = ""
    """One line: source of the real data."""
    dataset: str = ""
    """Name of the dataset of which this is a named task (benchmark.data.tasks); '' for a dataset itself."""
    members: tuple[tuple[Prepared, Ints], ...] = ()
    """The joined datasets (benchmark.data.joined), in whose files the windows lie, each with the ascending numbers of
    its recordings."""

    @cached_property
    def usable(self) -> int:
        """R."""
        return int((np.diff(self.listed.reason.start) == 0).sum())

    @cached_property
    def recordings(self) -> RecordingTable:
        """The usable recordings, R rows."""
        return self.listed[: self.usable]

    @cached_property
    def skipped(self) -> RecordingTable:
        """The recordings that are left out, with the reason."""
        return self.listed[self.usable :]

    @property
    def dataset_name(self) -> str:
        """Name of the dataset, also where this is a named task of it."""
        return self.dataset or self.name

    def trials_of_each(self, per_trial: int) -> Ints:
        """Count the pseudo-trials of `per_trial` windows of each recording, (R,); of one window: its windows."""
        return self.segmentation.trials_in(self.recordings.windows, per_trial)

    def windows_of(self, recording: int) -> Halves:
        """Return the items of a numbered recording."""
        for data, numbers in self.members:
            if recording < len(numbers):
                return data.windows_of(int(numbers[recording]))
            recording -= len(numbers)
        first = self.recordings.first_window[recording]
        return self.windows[first : first + self.recordings.windows[recording]]

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
        listed=table_of(entries),
        fingerprint=about.name,
        windows=NO_WINDOWS,
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
        return open_prepared(folder)
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
    return open_prepared(folder)


def cached(dataset: Dataset, cache: Path, listing: Listing | None, segmentation: Segmentation) -> Prepared | None:
    """Load the cached preparation of a dataset with its `key_listing`; None if missing or its files have changed."""
    with suppress(FileNotFoundError):
        return open_prepared(cache / cache_key(dataset, listing, segmentation))
    return None


def key_listing(dataset: Dataset, prefix: str = "") -> Listing | None:
    """List a dataset, or its part whose paths begin with a prefix; None of a simulated one, whose settings say all.

    Raises DatasetError where no path does.
    """
    if dataset.drawn_from:
        return None
    listing = dataset.listing()
    entries = tuple(entry for entry in listing.entries if entry.path.startswith(prefix))
    if prefix and not entries:
        raise DatasetError(
            f"{dataset.title}: none of {len(listing.entries)} recordings has a path with prefix {prefix!r}"
        )
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
        content.update(json.dumps([stated(entry), files]).encode())
    return content.hexdigest()[:KEY_LENGTH]


def stated(entry: Entry) -> dict[str, Any]:
    """Return what a dataset's tables say of a recording, as values of JSON."""
    names = ("recording", "patient", "path", "labels", "report", "fold", "statements", "is_negative")
    cells = {name: getattr(entry, name) for name in names}
    fold = None if entry.fold == NO_FOLD else entry.fold
    return cells | {"fold": fold, "statements": entry.statements.splitlines()}


def prepare_entries(
    dataset: Dataset, segmentation: Segmentation, entries: Sequence[Entry]
) -> list[tuple[Halves, Entry]]:
    """Read and cut some recordings, on one thread: several would wait for each other over small matrices."""
    with threadpool_limits(1):
        return [prepare_entry(dataset, segmentation, entry) for entry in entries]


def prepare_entry(dataset: Dataset, segmentation: Segmentation, entry: Entry) -> tuple[Halves, Entry]:
    """Return the windows (n, S, 12), or samples (n, 1, 12), of a recording and its row; none with a reason."""
    windows = np.empty((0, segmentation.samples_per_item, len(LEADS)), np.float16)
    try:
        recording = dataset.read(entry)
        signal, fs, drawn_from = recording.signal, recording.fs, dataset.drawn_from
        source = digest([drawn_from, entry.path]) if drawn_from else signal_digest(signal)
        entry = replace(entry, fs=fs, samples=len(signal), digest=source)
        windows = segmentation.cut(signal, fs).astype(np.float16)  # (n, S, 12)
    except Unusable as reason:
        return windows, replace(entry, reason=str(reason))
    entry = replace(entry, report=recording.report or entry.report, windows=len(windows))
    if not drawn_from:  # a drawn one's leads obey the laws, and it is no other recording's copy
        doubts = (*recording.doubts, *signal_doubts(signal, fs, raw=segmentation.raw))
        entry = replace(entry, outline=outline_of(signal), doubts="\n".join(doubts))
    return windows, entry


def _write(
    folder: Path,
    dataset: Dataset,
    listing: Listing,
    segmentation: Segmentation,
    workers: int,
    on_progress: Callable[[int, int], None],
) -> None:
    """Write windows and index of a listing into an empty folder."""
    rows: list[Entry] = []
    content = hashlib.sha256()
    count = len(listing.entries)
    chunks = [listing.entries[start : start + CHUNK] for start in range(0, count, CHUNK)]
    mapped = shared_map(partial(prepare_entries, dataset, segmentation), chunks, min(workers, count // WORTH_A_WORKER))
    with open(folder / WINDOWS, "wb") as file, closing(mapped):
        for windows, row in chain.from_iterable(mapped):
            content.update(windows.tobytes())
            file.write(windows.tobytes())
            rows.append(row)
            on_progress(len(rows), count)
    remember(folder / WINDOWS, content.hexdigest(), stamp_of(folder / WINDOWS))
    ruled_out = [Entry(name, name, reason=reason) for name, reason in listing.skipped]
    prepared = replace(
        unprepared(dataset, ()),
        form=listing.form,
        simulated=bool(dataset.drawn_from),
        listed=table_of(sorted([*ruled_out, *rows], key=lambda row: row.reason != "")),
        fingerprint=fingerprint_of(dataset, listing, segmentation, rows),
        folder=folder,
        warnings=listing.warnings,
        segmentation=segmentation,
    )
    write_index(prepared)


def fingerprint_of(dataset: Dataset, listing: Listing, segmentation: Segmentation, rows: Sequence[Entry]) -> str:
    """Hash what prepared data are computed from: 16 hex digits, the same on every processor.

    rows: of each entry of the listing, without a digest where it could not be read. Of a simulated dataset the settings
    say all. No path enters, no window, and no reason why a recording is skipped. No statement enters either: a
    named task's labels have a fingerprint of their own (benchmark.data.tasks).
    """
    about = [dataset.name, dataset.classes, dataset.first_label_counts, asdict(segmentation), PIPELINE_VERSION]
    if dataset.drawn_from:
        return digest([*about, dataset.drawn_from])
    recordings = []
    for entry, row in zip(listing.entries, rows, strict=True):
        cells = stated(replace(entry, path="", statements=""))
        if not entry.is_negative:
            del cells["is_negative"]
        recordings.append([cells, [row.fs, row.digest] if row.digest else None])
    return digest([*about, recordings])


LISTS = ("classes", "warnings")
FACTS = ("name", "title", "form", "simulated", "fingerprint", "first_label_counts", "how_to_get", *LISTS)
"""Facts of a prepared dataset in its index, beside the table."""


def write_index(prepared: Prepared) -> None:
    """Write the index by which other processes open prepared data: all but the windows."""
    file = prepared.folder / INDEX
    facts = {name: getattr(prepared, name) for name in FACTS} | {"segmentation": asdict(prepared.segmentation)}
    facts["members"] = [data.folder.name for data, _ in prepared.members]
    arrays = prepared.listed.arrays()
    arrays |= {f"members.{number}": numbers for number, (_, numbers) in enumerate(prepared.members)}
    content = save(arrays, {"facts": json.dumps(facts)})
    write_atomic(file, content)
    remember(file, hashlib.sha256(content).hexdigest(), stamp_of(file))


def load_prepared(folder: Path) -> Prepared:
    """Load the prepared dataset in a folder of the cache. Raises FileNotFoundError where a file is gone or damaged.

    Its digests are not compared: `prepare` does that once a run.
    """
    try:
        with safe_open(folder / INDEX, "pt") as file:  # as NumPy it would be read, and not mapped
            facts = json.loads(file.metadata()["facts"])
            arrays = {name: file.get_tensor(name).numpy() for name in file.keys()}  # noqa: SIM118
        listed = table_from(arrays)
        segmentation = Segmentation(**facts.pop("segmentation"))
        joined = [open_prepared(folder.parent / name) for name in facts.pop("members")]
        members = [(data, arrays[f"members.{number}"]) for number, data in enumerate(joined)]
        count = 0 if members else int(listed.windows.sum())
        windows = memory_map(folder / WINDOWS, (count, segmentation.samples_per_item, len(LEADS)))  # (N, S, L)
        facts |= {name: tuple(facts[name]) for name in LISTS}
        return Prepared(
            **facts,
            segmentation=segmentation,
            windows=windows,
            listed=listed,
            folder=folder,
            members=tuple(members),
        )
    except (OSError, ValueError, LookupError, TypeError, SafetensorError):
        problem = f"the prepared data in {folder} are gone or damaged; the same command makes them again"
        raise FileNotFoundError(problem) from None


def open_prepared(folder: Path) -> Prepared:
    """Load the prepared dataset in a folder once per process, and again where it was made again."""
    there = [file for file in (folder / INDEX, folder / WINDOWS) if file.is_file()]
    return _opened(folder, tuple(file.stat().st_mtime_ns for file in there))


@lru_cache(maxsize=32)
def _opened(folder: Path, made_at: tuple[int, ...]) -> Prepared:
    return load_prepared(folder)


def memory_map(path: Path, shape: tuple[int, ...]) -> Halves:
    """Map a file of float16 numbers as a read-only array; an empty file cannot be mapped, but is an empty array."""
    return np.memmap(path, np.float16, "r", shape=shape) if shape[0] else np.empty(shape, np.float16)
