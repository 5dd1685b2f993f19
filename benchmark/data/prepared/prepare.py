"""A dataset's recordings as one memory-mapped array of windows with an index, made in parallel and kept in a cache.

    cache/KEY/windows.f16      (N, S, 12) float16, heartbeats or plain windows, recording after recording; of whole
                               recordings (N, 1, 12), sample after sample
    cache/KEY/index.json       key, entries, their signals in brief, first windows, skipped recordings, fingerprint,
                               digest of the windows
    cache/KEY/index.sha256     digest of the index
    cache/KEY/trials-K.f16     pseudo-trials of K windows (benchmark.data.prepared.trials)

Windows are used only if their content has the index's digest, and an index only in the folder of its key; else the
recordings are prepared again. KEY is a hash of the inputs, known before a signal is read (`cache_key`). The fingerprint
is a hash of the outcome, and results depend on it alone, so equal data prepared in different places or by other
versions are recognised as equal.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmark.data.prepared.cache_key import cache_key
from benchmark.data.prepared.cutting import Signal, outcomes
from benchmark.data.prepared.load import INDEX_FORMAT, Prepared, load_prepared, read_folder
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation
from benchmark.data.readers.base import Dataset, DatasetError, Entry, Listing
from benchmark.data.readers.registry import DATASETS
from benchmark.data.readers.simulated import is_marked, is_simulated
from benchmark.results.files.write import naming, temporary_name
from benchmark.results.keys import KEY_LENGTH


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
    """Prepare a dataset, or load it from the cache if the contents of its files have not changed.

    With a `prefix`, only the recordings whose path in the dataset begins with it, e.g. 'files/p10'.
    Up to `workers` processes share the recordings; a small dataset or one worker is done in this process.
    `on_progress(done, total)` is called after each recording, and not at all on a cache hit; `on_reading(done, total)`
    while new and touched files are read for the cache's key. A dataset without a usable
    recording is returned empty, with the reasons in `skipped`. Raises DatasetError if the folder is not the dataset's
    or the prefix matches nothing.
    """
    listing = list_part(dataset, prefix)
    folder = cache / cache_key(dataset, listing, segmentation, cache, on_reading=on_reading)
    prepared, marked = load_prepared(folder), is_marked(dataset)
    if prepared is not None and prepared.simulated >= marked:  # not what was made while the mark was away
        return prepared
    unfinished = temporary_name(folder)
    try:
        with naming(folder):
            unfinished.mkdir(parents=True)
            _build(unfinished, folder.name, dataset, listing, segmentation, workers, on_progress)
        found = read_folder(folder)
        if isinstance(found, str) or found.simulated < marked:  # else another process has finished the same meanwhile
            shutil.rmtree(folder, ignore_errors=True)
            try:
                unfinished.rename(folder)
            except OSError:
                if load_prepared(folder) is None:
                    raise  # else another process was faster
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    prepared = load_prepared(folder)
    if prepared is None:
        raise DatasetError(f"{dataset.title}: {folder} is damaged right after it was written: is the disk full?")
    return prepared


def cached(
    dataset: Dataset,
    cache: Path,
    listing: Listing,
    segmentation: Segmentation = HEARTBEATS,
    *,
    read: bool = True,
    on_reading: Callable[[int, int], None] | None = None,
) -> Prepared | None:
    """The cached preparation of a listed dataset; None if it is missing or its files' contents have changed.

    Without `read`, also if files are new or touched; else these are read, unless the cache holds no dataset at all.
    """
    if next(cache.glob("*/index.json"), None) is None:
        return None
    return load_prepared(cache / cache_key(dataset, listing, segmentation, cache, read=read, on_reading=on_reading))


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
                windows, signal = outcome
                data = windows.tobytes()
                content.update(data)
                file.write(data)
                entries.append(entry)
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
    }
    if dataset.name not in DATASETS and dataset.first_label_counts:  # a built-in dataset's rule goes by its name
        index["first_label_counts"] = True
    simulated = is_simulated(dataset, listing.entries)
    shown = {"title": dataset.title, "form": listing.form, "simulated": simulated, "signals": signals}
    shown |= {"first_label_counts": dataset.first_label_counts, "how_to_get": dataset.how_to_get}
    fingerprint = _fingerprint(index, content.hexdigest())
    about = {"format": INDEX_FORMAT, "key": key, "fingerprint": fingerprint, "others": listing.others}
    about |= {"warnings": listing.warnings, "windows_sha256": content.hexdigest()}
    _write_index(folder, index | shown | about)


def _fingerprint(index: dict[str, Any], windows_digest: str) -> str:
    """Hash of the prepared content, without what no result depends on: the files' paths, sex and age.

    Without the statements too: a named task's labels have a fingerprint of their own (benchmark.data.tasks.columns).
    """
    told = ("path", "sex", "age", "statements")
    listed = {
        part: [{name: value for name, value in one.items() if name not in told} for one in index[part]]
        for part in ("entries", "skipped")
    }
    content = json.dumps([windows_digest, index | listed], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:KEY_LENGTH]


def _write_index(folder: Path, index: dict[str, Any]) -> None:
    content = json.dumps(index, separators=(",", ":")).encode()
    (folder / "index.json").write_bytes(content)
    (folder / "index.sha256").write_text(hashlib.sha256(content).hexdigest())
