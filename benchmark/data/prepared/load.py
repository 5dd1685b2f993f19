"""A dataset that was prepared, read back from its folder of the cache; its content is verified before it is used."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation
from benchmark.data.readers.base import LEADS, Entry
from benchmark.results.files.verify import intact

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
    """The on-disk form that was read, e.g. 'records500'."""
    simulated: bool
    """Whether its folder had the simulator's mark, or a header its note, when it was prepared."""
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
    """Where this is a named task of a dataset (benchmark.data.tasks.columns): the dataset's name."""
    prepared_as: str = ""
    """Where this is a named task: the fingerprint of the dataset, by which its pseudo-trials are known."""

    @property
    def dataset_name(self) -> str:
        """Name of the dataset, also where this is a named task of it."""
        return self.dataset or self.name

    def trials_of_each(self, per_trial: int) -> NDArray[np.int64]:
        """(R,) pseudo-trials of `per_trial` windows of each recording; of one window: its windows."""
        return self.segmentation.trials_in(np.diff(self.first_window), per_trial)

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
    prepared = load_prepared(folder)
    if prepared is None:
        raise FileNotFoundError(f"the prepared data in {folder} are gone or damaged; the same command makes them again")
    return prepared


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
    segmentation = Segmentation(**index["segmentation"])
    first_window = np.array(index["first_window"], np.int64)  # (R + 1,)
    shape = (int(first_window[-1]), segmentation.unit, len(LEADS))  # N, S, L
    return Prepared(
        name=index["name"],
        title=index["title"],
        classes=tuple(index["classes"]),
        form=index["form"],
        simulated=index["simulated"],
        windows=memory_map(folder / "windows.f16", shape),
        first_window=first_window,
        entries=tuple(Entry(**_with_tuples(entry)) for entry in index["entries"]),
        signals=tuple(Signal(*signal) for signal in index["signals"]),
        skipped=tuple(Skipped(**_with_tuples(skip)) for skip in index["skipped"]),
        fingerprint=index["fingerprint"],
        folder=folder,
        others=tuple(index["others"]),
        warnings=tuple(index["warnings"]),
        segmentation=segmentation,
        first_label_counts=index["first_label_counts"],
        how_to_get=index["how_to_get"],
    )


def _with_tuples(listed: dict[str, Any]) -> dict[str, Any]:
    """An entry of the index with its lists as tuples; an index of an earlier version has no statements."""
    return listed | {name: tuple(listed.get(name, ())) for name in ("labels", "statements")}
