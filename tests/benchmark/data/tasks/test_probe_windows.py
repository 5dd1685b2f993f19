"""Windows to look at: never pretrained on, never tested on, patients with several recordings first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import benchmark.data.tasks.probe_windows as module
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.data.tasks.probe_windows import ProbeWindows, probe_windows
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import split_of

MakePrepared = Callable[..., Prepared]
CPU = torch.device("cpu")
BEATS = 6
SPEC = TaskSpec(BEATS, "single", "paper")


def look(*datasets: Prepared, corpus: str = "mimic-iv-ecg") -> ProbeWindows:
    return probe_windows([[(own, SPEC)] for own in datasets], corpus, CPU)


def windows_of(prepared: Prepared, recordings: NDArray[np.int64]) -> set[bytes]:
    """The windows of some recordings, by content."""
    table = trials(prepared, BEATS)
    chosen = table.signal[np.isin(table.recording, recordings)]
    return {window.tobytes() for window in chosen.reshape(-1, 300, 12)}


def test_no_window_is_tested_on_or_pretrained_on(cohorts: dict[str, Prepared]) -> None:
    for name in ("ptb-xl", "chapman"):
        prepared = cohorts[name]
        split = split_of(prepared, SPEC)
        unseen = {window.numpy().tobytes() for window in look(prepared).signal}
        assert unseen <= windows_of(prepared, np.concatenate([split.train, split.validation]))
        assert not unseen & windows_of(prepared, split.test)
        held = {window.numpy().tobytes() for window in look(prepared, corpus=name).signal}
        assert 0 < len(held) < len(unseen)
        assert held <= windows_of(prepared, split.validation)


def fold_of(index: int) -> int:
    """A training, a validation and a test fold, the first by far the most."""
    return {1: 9, 2: 10}.get(index % 10, 1)


def test_two_windows_of_each_recording_away_from_its_ends(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [(f"p{i}", (i % 2,), 13 + i % 5, fold_of(i)) for i in range(20)])
    found = look(prepared)
    assert found.signal.shape == (36, 300, 12)
    assert found.signal.dtype == torch.float16
    assert found.recording.tolist() == [r for r in range(18) for _ in range(2)]
    table = trials(prepared, BEATS)
    of_first = table.signal[table.recording == 0].reshape(-1, 300, 12)  # (12, S, L)
    for window, expected in zip(found.signal[:2].numpy(), of_first[[3, 8]], strict=True):
        np.testing.assert_array_equal(window, expected)


def test_patients_with_several_recordings_come_first(
    make_prepared: MakePrepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = [(owner, (i % 2,), 12, fold_of(i + 3)) for i, owner in enumerate("abcadcefghij")]  # h is tested on
    first, second = make_prepared("ptb-xl", recordings), make_prepared("ptb-xl", recordings)
    second = replace(second, windows=-second.windows)
    found = look(first, second)
    owners = [int(patient) for patient in found.patient[::2]]  # one per recording
    assert len(owners) == 2 * 11
    assert len(set(owners)) == 2 * 9  # an equal name in two datasets is two patients
    several = owners[:8]  # a and c of both
    assert [several.count(owner) for owner in several] == [2] * 8
    assert not set(several) & set(owners[8:])
    shown = [{window.tobytes() for window in found.signal[at : at + 4].numpy()} for at in (0, 4, 8, 12)]
    expected = [windows_of(prepared, np.array(own)) for prepared in (first, second) for own in ((0, 3), (2, 5))]
    assert all(one <= other for one, other in zip(shown, expected, strict=True))  # in the order of datasets and names
    monkeypatch.setattr(module, "RECORDINGS", 6)
    cut = look(first, second)
    assert torch.equal(cut.signal, found.signal[:12])
    assert len(cut.recording) == len(cut.patient) == 12


def test_a_recording_needs_two_windows(make_prepared: MakePrepared) -> None:
    few = {0: 1, 3: 0, 4: 2}
    prepared = make_prepared("ptb-xl", [(f"p{i}", (i % 2,), few.get(i, 12), fold_of(i)) for i in range(20)])
    found = probe_windows([[(prepared, replace(SPEC, per_trial=1))]], "mimic-iv-ecg", CPU)
    assert len(found.recording) == 2 * 16


def test_a_dataset_without_windows_gives_none(make_prepared: MakePrepared) -> None:
    recordings = [(f"p{i}", (i % 2,), 12, fold_of(i)) for i in range(20)]
    short = make_prepared("ptb-xl", [(*recording[:2], BEATS - 1, recording[3]) for recording in recordings])
    fine = make_prepared("ptb-xl", recordings)
    assert torch.equal(look(short, fine).signal, look(fine).signal)
    nothing = look(short)
    assert nothing.signal.shape == (0, 0, 0)
    assert len(nothing.recording) == len(nothing.patient) == 0
    assert nothing.recording.dtype == nothing.patient.dtype == torch.int64


def test_a_measurement_takes_at_most_256_recordings(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [(f"p{i}", (0,), 2, fold_of(i)) for i in range(300)])
    found = probe_windows([[(prepared, replace(SPEC, per_trial=1))]], "mimic-iv-ecg", CPU)
    assert len(found.signal) == len(found.recording) == len(found.patient) == 2 * 256


def test_a_dataset_that_cannot_be_split_gives_none_and_the_others_theirs(make_prepared: MakePrepared) -> None:
    recordings = [(f"p{i}", (i % 2,), 12, fold_of(i)) for i in range(20)]
    fine = make_prepared("ptb-xl", recordings)
    without_a_fold = make_prepared("ptb-xl", [("p0", (0,), 12, None), *recordings])
    assert torch.equal(look(without_a_fold, fine).signal, look(fine).signal)
    assert len(look(without_a_fold).signal) == 0
