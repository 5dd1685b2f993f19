"""Recordings become one memory-mapped array of windows with an index, made in parallel and held in a cache.

    cache/KEY/windows.f16      (N, S, 12) float16, heartbeats, recording after recording; of whole
                               recordings (N, 1, 12), sample after sample
    cache/KEY/index.json       recordings, their signals in brief, first windows, skipped recordings, fingerprint

KEY is a hash of what is read, known before a signal is opened: listing, sizes and times of the files, segmentation and
package versions; of a simulated dataset its settings. The fingerprint is a hash of the outcome, and results depend on
it alone: data that were copied or touched are prepared once more, and recognised as equal.

Limb leads come from three electrodes, so each of III, aVR, aVL and aVF is a sum of I and II with known signs (Einthoven
1913, Goldberger 1942). A lead that is exchanged, inverted or of another place breaks this. Some publishers scale each
lead by itself, which does not.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, lru_cache, partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Entry, Listing, Unusable
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.machine.process import shared_map
from benchmark.results.files import csv_text, naming, temporary_name, write_atomic
from benchmark.results.names import SKIPPED_COLUMNS
from benchmark.results.schema import KEY_LENGTH, digest

PIPELINE_VERSION = 1
"""Raised with every change that can move a value of a window or pseudo-trial; old caches are then rebuilt."""
INDEX_FORMAT = 10
"""Raised with every change of the index's content; old caches are then rebuilt."""
PACKAGES = ("numpy", "scipy", "wfdb", "pandas")
"""Packages that process samples between file and window: filters and readers."""
OUTLINE_PARTS = 200
CHUNK = 16
"""Recordings a worker takes at a time."""
WORTH_A_WORKER = 512
"""Least recordings per process: starting one takes as long as some 300 recordings."""

LIMB_LEADS = "limb leads that break Einthoven's laws"
IDENTICAL, FLAT = "all leads identical", "half of the leads or more flat"
FLAT_BELOW_MV = 0.005
"""A lead that varies by no more is flat, and leads that differ by no more are equal: one step of a coarse file."""
SIGNS = {"III": (-1, 1), "aVR": (-1, -1), "aVL": (1, -1), "aVF": (-1, 1)}
"""Limb lead -> signs with which I and II enter it."""
LARGEST_ERROR = 0.1
"""Root mean square of what I and II leave unexplained, as a share of the limb leads'; real files have 0.02."""


def lead_problem(signal: NDArray[np.float32]) -> str:
    """Say what is doubtful about the leads of (n, 12) mV; '' for nothing."""
    from scipy.optimize import nnls  # here, because it loads slowly and prepared data need none

    varies = np.ptp(signal, axis=0) > FLAT_BELOW_MV  # (12,)
    if varies.sum() <= len(LEADS) / 2:
        return FLAT
    moving = signal[:, varies]
    if np.abs(moving - moving[:, :1]).max() <= FLAT_BELOW_MV:
        return IDENTICAL
    limbs = signal[:, :6].astype(np.float64)  # (n, 6)
    reduced = np.asarray(np.linalg.qr(limbs - limbs.mean(axis=0), mode="r"))  # (6, 6) of equal norms and angles
    fits = {
        lead: nnls(reduced[:, :2] * signs, reduced[:, LEADS.index(lead)])
        for lead, signs in SIGNS.items()
        if varies[LEADS.index(lead)]
    }
    errors = [error for _, error in fits.values()]
    broken = np.linalg.norm(errors) / 2 > LARGEST_ERROR * np.linalg.norm(reduced) / np.sqrt(6)
    if {"III", "aVF"} <= fits.keys():  # whatever the leads' scales, I enters III with twice its share in aVF
        (of_one, of_two), (half_one, half_two) = fits["III"][0], fits["aVF"][0]
        broken |= of_one * half_two < 0.75 * half_one * of_two
    return LIMB_LEADS if broken and varies[:2].all() else ""


class SignalFacts(NamedTuple):
    """Facts of a recording's signal besides its windows."""

    fs: float
    """Sampling rate in Hz."""
    samples: int
    """Per lead."""
    digest: str
    """Hash of the samples in whole microvolts: equal for copies, whatever their names and on-disk forms."""
    warning: str = ""
    """What is doubtful about its leads."""
    outline: Sequence[int] = ()
    """Of `outline_of`."""


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
    rows = (
        (dataset, skip.recording, skip.patient, skip.reason)
        for dataset, recordings in skipped.items()
        for skip in recordings
    )
    write_atomic(path, csv_text(SKIPPED_COLUMNS, rows).encode())


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
    signals: tuple[SignalFacts, ...]
    """Of the R usable recordings."""
    skipped: tuple[Skipped, ...]
    fingerprint: str
    """16 hex digits of the SHA-256 of windows and index; no path, time or number of workers enters."""
    folder: Path
    """Its folder in the cache."""
    warnings: tuple[str, ...] = ()
    """Of the listing."""
    segmentation: Segmentation = HEARTBEATS
    """Kind and length of the windows."""
    first_label_counts: bool = False
    """Whether the first label stands for a recording in a single-label task (`datasets.base`)."""
    how_to_get: str = ""
    """One line: source of the real data."""
    dataset: str = ""
    """Where this is a named task of a dataset (benchmark.data.splits): the dataset's name."""
    members: tuple[tuple[Prepared, NDArray[np.int64]], ...] = ()
    """Of several datasets as one (benchmark.data.joined): these, in whose files its windows lie, and numbers of their
    recordings, ascending."""

    @property
    def dataset_name(self) -> str:
        """Name of the dataset, also where this is a named task of it."""
        return self.dataset or self.name

    def trials_of_each(self, per_trial: int) -> NDArray[np.int64]:
        """Count the pseudo-trials of `per_trial` windows of each recording, (R,); of one window: its windows."""
        return self.segmentation.trials_in(np.diff(self.first_window), per_trial)

    def windows_of(self, recording: int) -> NDArray[np.float16]:
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


def prepare(
    dataset: Dataset,
    cache: Path,
    *,
    workers: int,
    segmentation: Segmentation = HEARTBEATS,
    prefix: str = "",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Prepared:
    """Prepare a dataset, or load it from the cache where its listing and files have not changed.

    With a `prefix`, only the recordings whose path in the dataset begins with it, e.g. 'files/p10'.
    Up to `workers` processes share the recordings; a small dataset or one worker is done in this process.
    `on_progress(done, total)` is called after each recording, and not at all on a cache hit. A dataset without a usable
    recording is returned empty, with the reasons in `skipped`. Raises DatasetError if the folder is not the dataset's
    or the prefix matches nothing.
    """
    listing = key_listing(dataset, prefix)
    if prepared := cached(dataset, cache, listing, segmentation):
        return prepared
    folder = cache / cache_key(dataset, listing, segmentation)
    unfinished = temporary_name(folder)
    try:
        with naming(folder):
            unfinished.mkdir(parents=True)
            _write(unfinished, dataset, listing or dataset.listing(), segmentation, workers, on_progress)
        if load_prepared(folder) is None:  # else another process was faster
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    if prepared := load_prepared(folder):
        return prepared
    raise DatasetError(f"{dataset.title}: {folder} is damaged right after it was written: is the disk full?")


def cached(
    dataset: Dataset, cache: Path, listing: Listing | None, segmentation: Segmentation = HEARTBEATS
) -> Prepared | None:
    """Load the cached preparation of a dataset with its `key_listing`; None if missing or its files have changed.

    It bears the dataset's title of today, which is no part of what it is made of.
    """
    prepared = load_prepared(cache / cache_key(dataset, listing, segmentation))
    return None if prepared is None else replace(prepared, title=dataset.title)


def key_listing(dataset: Dataset, prefix: str = "") -> Listing | None:
    """Return the listing that the key of a dataset depends on: None of a simulated one, whose settings say all."""
    return None if dataset.drawn_from else list_part(dataset, prefix)


def list_part(dataset: Dataset, prefix: str) -> Listing:
    """List a dataset, or its part whose paths begin with a prefix. Raises DatasetError where none does."""
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
    if listing is None:
        return digest([dataset.name, dataset.drawn_from, versions, segmentation.content()])
    content = hashlib.sha256(json.dumps([dataset.name, versions, segmentation.content()]).encode())
    content.update(json.dumps(asdict(replace(listing, entries=()))).encode())
    for entry in listing.entries:
        files = [(path.name, _size_and_time(path)) for path in dataset.files(entry)]
        content.update(json.dumps([asdict(entry), files]).encode())
    return content.hexdigest()[:KEY_LENGTH]


def _size_and_time(path: Path) -> tuple[int, int] | None:
    """Size and time of the last change, in ns, of a file; None where it cannot be opened."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a zero byte in a name
        return None
    return status.st_size, status.st_mtime_ns


Outcome = tuple[NDArray[np.float16], SignalFacts, str] | str
"""Of an entry its windows (n, S, 12) or samples (n, 1, 12), its signal and the report made with it, or the reason why
it cannot be used."""


def prepare_entries(dataset: Dataset, segmentation: Segmentation, entries: Sequence[Entry]) -> list[Outcome]:
    """Read and cut some recordings."""
    outcomes: list[Outcome] = []
    for entry in entries:
        try:
            recording = dataset.read(entry)
            windows = segmentation.cut(recording.signal, recording.fs).astype(np.float16)  # (n, S, 12)
        except Unusable as reason:
            outcomes.append(str(reason))
        else:
            signal = recording.signal
            facts = SignalFacts(recording.fs, len(signal), signal_digest(signal))
            if not dataset.drawn_from:  # drawn leads obey the laws, and no drawn recording is another's copy
                facts = facts._replace(warning=lead_problem(signal), outline=outline_of(signal))
            outcomes.append((windows, facts, recording.report))
    return outcomes


def signal_digest(signal: NDArray[np.float32]) -> str:
    """Hash (n, 12) in mV as whole microvolts, so that gain and number format of a file do not matter."""
    microvolts = np.rint(signal.T * 1000) + 0.0  # (12, n); the sum makes -0.0 a 0.0
    return hashlib.sha256(np.ascontiguousarray(microvolts).data).hexdigest()[:KEY_LENGTH]


def outline_of(signal: NDArray[np.float32]) -> list[int]:
    """Return three numbers of (n, 12), of which near copies share one: other gain, coarser steps or another rate.

    The bits of each are signs of 64 random sums over the leads' means in each part of the time.
    """
    if len(signal) < OUTLINE_PARTS:
        return []
    edges = np.minimum(np.linspace(0, len(signal), OUTLINE_PARTS + 1), len(signal) - 1)  # in samples
    before = np.minimum(edges.astype(int), len(signal) - 2)
    until = np.cumsum(signal, axis=0, dtype=np.float64)[before] - signal[before] / 2  # integral up to a sample
    until += (edges - before)[:, None] * (signal[before] + signal[before + 1]) / 2  # (parts + 1, 12)
    parts = np.diff(until, axis=0)  # (parts, 12)
    return np.packbits((parts - parts.mean(axis=0)).reshape(-1) @ outline_factors() > 0).view(">u8").tolist()


@cache
def outline_factors() -> NDArray[np.float64]:
    """Return the factors of the sums of an outline, -1 or 1: (parts * 12, 192)."""
    return np.random.default_rng(0).choice([-1.0, 1.0], (OUTLINE_PARTS * len(LEADS), 3 * 64))


def _write(
    folder: Path,
    dataset: Dataset,
    listing: Listing,
    segmentation: Segmentation,
    workers: int,
    on_progress: Callable[[int, int], None],
) -> None:
    """Write windows and index of a listing into an empty folder."""
    entries: list[Entry] = []
    signals: list[SignalFacts] = []
    first_window = [0]
    skipped = [Skipped(recording, recording, (), reason) for recording, reason in listing.skipped]
    content = hashlib.sha256()
    chunks = [listing.entries[start : start + CHUNK] for start in range(0, len(listing.entries), CHUNK)]
    processes = min(workers, len(listing.entries) // WORTH_A_WORKER)
    mapped = shared_map(partial(prepare_entries, dataset, segmentation), chunks, processes)
    with open(folder / "windows.f16", "wb") as file, closing(mapped):
        outcomes = zip(listing.entries, chain.from_iterable(mapped), strict=True)
        for done, (entry, outcome) in enumerate(outcomes, start=1):
            if isinstance(outcome, str):
                skipped.append(Skipped(entry.recording, entry.patient, entry.labels, outcome, entry.statements))
            else:
                windows, facts, report = outcome
                data = windows.tobytes()
                content.update(data)
                file.write(data)
                entries.append(replace(entry, report=report or entry.report))
                signals.append(facts)
                first_window.append(first_window[-1] + len(windows))
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
    about = {
        "title": dataset.title,
        "form": listing.form,
        "simulated": bool(dataset.drawn_from),
        "signals": signals,
        "how_to_get": dataset.how_to_get,
        "fingerprint": _fingerprint(index, content.hexdigest()),
        "warnings": listing.warnings,
    }
    (folder / "index.json").write_text(json.dumps(index | about, separators=(",", ":")))


def _fingerprint(index: dict[str, Any], windows_digest: str) -> str:
    """Hash the prepared content without what no result depends on: the files' paths.

    Without the statements too: a named task's labels have a fingerprint of their own (benchmark.data.splits).
    """
    unused = ("path", "statements")
    parts = {
        part: [{name: value for name, value in one.items() if name not in unused} for one in index[part]]
        for part in ("entries", "skipped")
    }
    content = json.dumps([windows_digest, index | parts], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:KEY_LENGTH]


@lru_cache(maxsize=4)
def open_prepared(folder: Path) -> Prepared:
    """Open the prepared dataset in a folder, once per process. Raises FileNotFoundError."""
    if prepared := load_prepared(folder):
        return prepared
    raise FileNotFoundError(f"the prepared data in {folder} are gone or damaged; the same command makes them again")


def load_prepared(folder: Path) -> Prepared | None:
    """Load the prepared dataset in a folder of the cache; None if it is missing or a file is cut off."""
    path = folder / "windows.f16"
    try:
        index = json.loads((folder / "index.json").read_bytes())
        members = tuple((open_prepared(folder.parent / name), np.array(r)) for name, r in index.get("members", ()))
        size = 0 if members else path.stat().st_size
    except (OSError, ValueError):
        return None
    segmentation = Segmentation(**index["segmentation"])
    first_window = np.array(index["first_window"], np.int64)  # (R + 1,)
    shape = (0 if members else int(first_window[-1]), segmentation.samples_per_item, len(LEADS))  # N, S, L
    if size != 2 * np.prod(shape):
        return None
    read: dict[str, Any] = {
        "windows": memory_map(path, shape),
        "members": members,
        "first_window": first_window,
        "entries": tuple(Entry(**_with_tuples(entry)) for entry in index["entries"]),
        "signals": tuple(SignalFacts(*facts) for facts in index["signals"]),
        "skipped": tuple(Skipped(**_with_tuples(skip)) for skip in index["skipped"]),
        "folder": folder,
        "segmentation": segmentation,
    }
    names = {field.name for field in fields(Prepared)} & index.keys() - read.keys()
    return Prepared(**read, **{name: _tuple_of(index[name]) for name in names})


def _with_tuples(listed: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the index with its lists as tuples."""
    return {name: _tuple_of(value) for name, value in listed.items()}


def _tuple_of(value: Any) -> Any:
    """Return a list as a tuple, anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


def memory_map(path: Path, shape: tuple[int, ...]) -> NDArray[np.float16]:
    """Map a file of float16 numbers as a read-only array; an empty file cannot be mapped, but is an empty array."""
    return np.memmap(path, np.float16, "r", shape=shape) if shape[0] else np.empty(shape, np.float16)
