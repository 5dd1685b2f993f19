"""What is kept of a signal besides its windows, and how many processes share the recordings.

The cutting itself is tested through `prepare`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.prepared import cutting
from benchmark.data.prepared.cutting import WORTH_A_WORKER, outcomes, signal_digest
from benchmark.data.prepared.windows import HEARTBEATS
from benchmark.data.readers.base import Entry
from benchmark.data.readers.cpsc2018 import CPSC2018


def test_a_digest_is_of_whole_microvolts(make_ecg):
    signal = make_ecg().astype(np.float32)
    signal[0] = 0.0
    rounded = np.asfortranarray(np.rint(signal * 1000) / 1000)
    rounded[0] = -0.0
    assert signal_digest(rounded) == signal_digest(signal)
    assert signal_digest(-signal) != signal_digest(signal)
    changed = signal.copy()
    changed[17, 3] += 1e-3
    assert signal_digest(changed) != signal_digest(signal)


def test_a_digest_is_that_of_the_leads_one_after_the_other() -> None:
    signal = np.array([[0.5, -1.25], [0.0004, 2.0]], np.float32)  # two leads of two samples, mV
    microvolts = struct.pack("<4f", 500, 0, -1250, 2000)
    assert signal_digest(signal) == hashlib.sha256(microvolts).hexdigest()[:16]


@pytest.mark.parametrize(
    ("recordings", "workers", "processes"),
    [(WORTH_A_WORKER - 1, 4, 0), (2 * WORTH_A_WORKER, 4, 2), (4 * WORTH_A_WORKER, 3, 3)],
)
def test_a_process_is_started_where_it_is_worth_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recordings: int, workers: int, processes: int
) -> None:
    def shared_map(work: object, chunks: Iterable[Sequence[Entry]], asked: int, begin: object) -> Iterator[Any]:
        assert asked == processes
        yield from chunks

    monkeypatch.setattr(cutting, "shared_map", shared_map)
    entries = [Entry(f"r{number}", "p", "") for number in range(recordings)]
    assert list(outcomes(CPSC2018(tmp_path), entries, HEARTBEATS, workers)) == entries
