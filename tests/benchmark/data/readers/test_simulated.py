"""Simulated recordings are known by the mark of their folder or the note in a header, whatever else lies there."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.data.audit.people import people_of
from benchmark.data.readers.base import Dataset, Entry
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.simulated import SIMULATED_MARK, is_marked, is_simulated
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.results.files.read import MEBIBYTE


@pytest.fixture
def dataset(tmp_path: Path) -> Chapman:
    """A simulated Chapman without the mark of its folder."""
    write_cohort("chapman", tmp_path / "chapman", CohortSettings(patients=3), seed=1)
    (tmp_path / "chapman" / SIMULATED_MARK).unlink()
    return Chapman(tmp_path / "chapman")


def header_of(dataset: Dataset, entry: Entry) -> Path:
    return next(path for path in dataset.files(entry) if path.suffix == ".hea")


def huge(header: Path) -> None:
    os.truncate(header, 64 * MEBIBYTE)


def fifo(header: Path) -> None:
    header.unlink()
    os.mkfifo(header)


@pytest.mark.attack("simulated data passed off as real")
def test_a_header_tells_without_the_mark(dataset: Chapman) -> None:
    entries = dataset.listing().entries
    assert not is_marked(dataset)
    assert is_simulated(dataset, entries)
    for entry in entries:
        header = header_of(dataset, entry)
        lines = header.read_text().splitlines(keepends=True)
        header.write_text("".join(line for line in lines if "Simulated" not in line))
    assert not is_simulated(dataset, entries)


@pytest.mark.attack("simulated data passed off as real")
def test_the_mark_alone_or_one_note_alone_tells(dataset: Chapman) -> None:
    entries = dataset.listing().entries
    for entry in entries[1:]:
        header_of(dataset, entry).write_text(f"{entry.recording} 12 500 5000\n")
    assert is_simulated(dataset, entries)
    assert not is_simulated(dataset, entries[1:])
    (dataset.root / "SIMULATED.json").touch()
    assert is_marked(dataset)
    assert is_simulated(dataset, entries[1:])


@pytest.mark.attack("pipes, devices, huge files and deep nesting")
@pytest.mark.parametrize("damage", [huge, fifo, Path.unlink], ids=["huge", "pipe", "gone"])
def test_a_header_that_is_refused_is_not_read(dataset: Chapman, damage: Callable[[Path], None]) -> None:
    entries = dataset.listing().entries
    damage(header_of(dataset, entries[0]))
    tracemalloc.start()
    try:
        assert not is_simulated(dataset, entries[:1])
        assert people_of(dataset, entries).keys() == {entry.recording for entry in entries[1:]}
        assert tracemalloc.get_traced_memory()[1] < 4 * MEBIBYTE
    finally:
        tracemalloc.stop()
    assert is_simulated(dataset, entries)
