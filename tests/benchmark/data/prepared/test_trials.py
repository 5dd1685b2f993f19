"""Pseudo-trials of prepared recordings: which beats they hold, whose they are, and their cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmark.data.prepared import trials as trials_module
from benchmark.data.prepared.beats import normalise_trials
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.data.readers.base import Entry

BEATS = (7, 2, 3, 9)
PATIENTS = ("b", "c", "a", "b")


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    """Four recordings of three patients, with 7, 2, 3 and 9 random beats."""
    beats = np.random.default_rng(0).normal(size=(sum(BEATS), 300, 12)).astype(np.float16)
    entries = tuple(Entry(f"r{index}", patient, "") for index, patient in enumerate(PATIENTS))
    first_window = np.cumsum((0, *BEATS))
    return Prepared("x", "X", (), "", False, beats, first_window, entries, (), (), "", tmp_path)


def test_consecutive_beats_of_one_recording_make_a_trial(prepared: Prepared, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trials_module, "CHUNK", 2)
    made = trials(prepared, 3)
    assert made.signal.shape == (6, 900, 12)
    np.testing.assert_array_equal(made.recording, [0, 0, 2, 3, 3, 3])
    for trial, first in enumerate([0, 3, 9, 12, 15, 18]):
        expected = normalise_trials(prepared.windows[first : first + 3], 3)[0]
        np.testing.assert_array_equal(made.signal[trial], expected.astype(np.float16))


def test_patients_are_numbered_by_first_appearance(prepared: Prepared):
    np.testing.assert_array_equal(trials(prepared, 3).patient, [0, 0, 2, 0, 0, 0])


def test_recordings_with_too_few_beats_are_listed(prepared: Prepared):
    assert trials(prepared, 3).too_short == ("r1",)
    assert trials(prepared, 8).too_short == ("r0", "r1", "r2")
    nothing = trials(prepared, 10)
    assert nothing.signal.shape == (0, 3000, 12)
    assert len(nothing.too_short) == 4


def test_the_cache_is_used_and_a_damaged_one_replaced(prepared: Prepared, monkeypatch: pytest.MonkeyPatch):
    first = np.array(trials(prepared, 3).signal)
    (file,) = prepared.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-2])
    np.testing.assert_array_equal(trials(prepared, 3).signal, first)
    monkeypatch.delattr(trials_module, "normalise_trials")
    np.testing.assert_array_equal(trials(prepared, 3).signal, first)
    assert list(prepared.folder.iterdir()) == [file]
