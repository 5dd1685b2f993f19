"""Entries of a dataset -> windows and signal facts, or the reason there are none; in parallel for large datasets."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.leads import doubt_about
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Dataset, Entry, Unusable
from benchmark.machine.memory import keep_freed_memory
from benchmark.machine.workers import shared_map
from benchmark.results.keys import KEY_LENGTH

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
    """What is doubtful about its leads, as kind or 'kind: leads' (benchmark.data.prepared.leads)."""


Outcome = tuple[NDArray[np.float16], Signal] | str
"""What is kept of an entry, windows (n, S, 12) or samples (n, 1, 12), and its signal, or the reason why it cannot be
used."""


def outcomes(
    dataset: Dataset, entries: Sequence[Entry], segmentation: Segmentation, workers: int
) -> Generator[Outcome, None, None]:
    """The outcome of each entry, in order. Up to `workers` processes share them; few are cut in this process."""
    chunks = [entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK)]
    work = partial(_prepare_chunk, dataset, segmentation)
    processes = min(workers, len(entries) // WORTH_A_WORKER)
    with closing(shared_map(work, chunks, processes, keep_freed_memory)) as each:
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
    return windows, Signal(recording.fs, len(signal), signal_digest(signal), doubt_about(signal))


def signal_digest(signal: NDArray[np.float32]) -> str:
    """Hash of (n, 12) in mV as whole microvolts, so that gain and number format of a file do not matter."""
    microvolts = np.rint(signal.T * 1000) + 0.0  # (12, n); the sum makes -0.0 a 0.0
    return hashlib.sha256(np.ascontiguousarray(microvolts).data).hexdigest()[:KEY_LENGTH]
