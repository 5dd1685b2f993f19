"""What a cell learns from and is scored on: the same test windows always, nested subsets, no patient on two sides.

Coverage counts patients per class, once each, whatever side they are on and however they were lost. Windows that are
probed are never pretrained or tested on. Whole recordings are judged by crops at a stride, and learned from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from benchmark.data.column import Column
from benchmark.data.corpus import corpus_of
from benchmark.data.datasets.base import Entry
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation
from benchmark.data.splits import Labels, Protocol, TaskSpec
from benchmark.data.task import ProbeWindows, Task, probe_windows, sides_for_tasks, task_on
from benchmark.data.trials import Scale, scale_of, trials_of
from tests.benchmark.tables import whole_trials, with_cells, with_skipped
from tests.benchmark.tasks import make_task

CPU = torch.device("cpu")
Cohorts = dict[str, Prepared]
MakePrepared = Callable[..., Prepared]


def task_of(
    prepared: Prepared, *, ratio: float = 1.0, seed: int = 41, labels: Labels = "single", protocol: Protocol = "paper"
) -> Task:
    return make_task(prepared, TaskSpec(6, labels, protocol), ratio=ratio, seed=seed, device=CPU)


@pytest.mark.parametrize(("labels", "protocol"), [("single", "paper"), ("multi", "strict"), ("single", "strict")])
@pytest.mark.parametrize("name", ["ptb-xl", "chapman", "cpsc2018"])
def test_held_out_windows_are_the_same_at_every_ratio(
    cohorts: Cohorts, name: str, labels: Labels, protocol: Protocol
) -> None:
    first = task_of(cohorts[name], labels=labels, protocol=protocol)
    sides = [set(side.patient) for side in first.sides().values()]
    assert all(sides)
    assert sum(map(len, sides)) == len(set.union(*sides))
    for ratio, seed in ((0.1, 41), (0.01, 42)):
        task = task_of(cohorts[name], ratio=ratio, seed=seed, labels=labels, protocol=protocol)
        assert (task.test.content, task.validation.content) == (first.test.content, first.validation.content)


def test_windows_are_the_beats_of_the_normalised_pseudo_trials_with_their_recordings_label(cohorts: Cohorts) -> None:
    chapman = cohorts["chapman"]
    task, all_trials = task_of(chapman), trials_of(chapman, 6)
    number = {name: index for index, name in enumerate(chapman.recordings.recording)}
    first = number[task.test.recording[0]]
    expected = all_trials.take(np.flatnonzero(all_trials.recording == first))[0]
    np.testing.assert_array_equal(task.test.signal[0].numpy(), expected)
    assert task.test.signal.dtype == torch.float16
    for recording, patient, target in zip(task.test.recording, task.test.patient, task.test.target, strict=True):
        row = chapman.recordings.row(number[recording])
        assert patient == row.patient
        assert target.nonzero().flatten().tolist() == list(row.labels)


@pytest.mark.parametrize(
    ("recordings", "sizes", "note"),
    [
        (
            [("p1", (0,), 12, 1), ("p2", (1,), 12, 2), ("p3", (0,), 6, 9), ("p4", (1,), 6, 10), ("p5", (0,), 6, 10)],
            [24, 6, 12],
            "no labelled window of class STTC, CD, HYP",
        ),
        ([("p1", (0,), 12, 1), ("p9", (0,), 12, 9)], [12, 12, 0], "no labelled recording for test"),
        ([("p1", (0,), 12, 1), ("p2", (0,), 12, None), ("p3", (0,), 12, 10)], [0, 0, 0], "recording r001 has no off"),
    ],
)
def test_whatever_a_task_lacks_is_noted(
    make_prepared: MakePrepared, recordings: list[Any], sizes: list[int], note: str
) -> None:
    task = task_of(make_prepared("ptb-xl", recordings))
    assert [len(windows) for windows in task.sides().values()] == sizes
    assert task.notes[0].startswith(note)
    assert task.unscored == ("" if all(sizes) else task.notes[0])


LOST = (
    Entry("", "p9", labels=(0,), reason="heart rate below 50/min: median RR 320 samples at 250 Hz"),
    Entry("", "p9", labels=(0,), reason="too short: 1.00 s"),
    Entry("", "p1", labels=(0,), reason="NaN samples"),
    Entry("", "s4", reason="no label: empty"),
    Entry("", "p8", labels=(0, 3), reason="NaN samples"),
)


def test_a_patient_is_lost_where_no_recording_of_the_class_is_left(make_prepared: MakePrepared) -> None:
    recordings = [("p1", (0,), 12, 1), ("p2", (0,), 5, 9), ("p3", (1,), 5, 10), ("p3", (1,), 6, 10), ("p4", (2,), 6, 1)]
    result = Column(with_skipped(make_prepared("ptb-xl", recordings), LOST), TaskSpec(6, "single", "paper")).coverage()
    assert list(result) == ["NORM", "MI", "STTC", "CD", "HYP"]
    assert result["NORM"] == {
        "patients": 3,
        "unscored": {"p2": "fewer than 6 heartbeats", "p9": "heart rate below 50/min"},
    }
    assert result["MI"] == {"patients": 1, "unscored": {}}
    assert result["CD"] == result["HYP"] == {"patients": 0, "unscored": {}}


SPEC = TaskSpec(6, "single", "paper")


def look(prepared: Prepared, corpus: str = "mimic-iv-ecg") -> ProbeWindows:
    return probe_windows([[Column(prepared, SPEC)]], corpus, CPU)


def windows_of(prepared: Prepared, recordings: NDArray[np.int64]) -> list[bytes]:
    """The windows of some recordings, by content."""
    table = trials_of(prepared, 6)
    chosen = whole_trials(table, np.flatnonzero(np.isin(table.recording, recordings)))
    return [window.tobytes() for window in chosen.reshape(-1, 300, 12)]


def test_no_window_is_tested_on_or_pretrained_on(cohorts: dict[str, Prepared]) -> None:
    for name in ("ptb-xl", "chapman"):
        prepared = cohorts[name]
        split = Column(prepared, SPEC).split
        unseen = {window.numpy().tobytes() for window in look(prepared).signal}
        assert unseen <= set(windows_of(prepared, np.concatenate([split.train, split.validation])))
        assert not unseen & set(windows_of(prepared, split.test))
        held = {window.numpy().tobytes() for window in look(prepared, corpus=name).signal}
        assert 0 < len(held) < len(unseen)
        assert held <= set(windows_of(prepared, split.validation))


def test_two_windows_of_each_recording_away_from_its_ends(make_prepared: MakePrepared) -> None:
    recordings = [(f"p{i}", (i % 2,), 13 + i % 5, {1: 9, 2: 10}.get(i % 10, 1)) for i in range(20)]
    prepared = make_prepared("ptb-xl", recordings)
    result = look(prepared)
    assert result.signal.shape == (36, 300, 12)
    assert result.recording.tolist() == [r for r in range(18) for _ in range(2)]
    windows = windows_of(prepared, np.array([0]))  # 12
    assert [window.numpy().tobytes() for window in result.signal[:2]] == [windows[3], windows[8]]


STRICT = TaskSpec(6, "single", "strict")


def test_settings_are_chosen_on_the_labelled_share_of_the_validation_patients_or_on_all(
    make_prepared: MakePrepared,
) -> None:
    recordings = [(f"p{number}", (number // 10 % 4,), 6, 1 + number % 10) for number in range(200)]
    prepared = make_prepared("ptb-xl", recordings)  # 20 patients a fold
    sides = sides_for_tasks(Column(prepared, replace(STRICT, validation_labels="share")), device=CPU)
    first, second = (task_on(sides, ratio=0.2, seed=seed) for seed in (1, 2))
    chosen = set(first.validation.patient)
    assert chosen < set(sides.validation.patient)
    assert chosen != set(second.validation.patient)
    assert first.validation.truth().any(axis=0).sum() == 4
    assert len(chosen) == len(prepared.classes)
    assert first.test.recordings == second.test.recordings == sides.test.recordings
    for spec, ratio in ((replace(STRICT, validation_labels="share"), 1.0), (STRICT, 0.1)):
        sides = sides_for_tasks(Column(prepared, spec), device=CPU)
        assert task_on(sides, ratio=ratio, seed=1).validation.content == sides.validation.content


CROPS = Segmentation("recordings", 250, 100, 125)
LENGTHS = (1000, 700, 1000, 249, 1000, 1000)
PATIENTS = ("p1", "p2", "p2", "p3", "p4", "p5")
FOLDS = (1, 2, 3, 4, 9, 10)
CROPS_SPEC = TaskSpec(1, "single", "paper")


def crops_task(prepared: Prepared, spec: TaskSpec = CROPS_SPEC, ratio: float = 1.0) -> Task:
    return make_task(prepared, spec, ratio=ratio, seed=41, device=CPU)


@pytest.fixture
def whole(make_prepared: MakePrepared) -> Prepared:
    """Six recordings of PTB-XL kept whole at 100 Hz, the fourth shorter than a crop."""
    listed = [(patient, (n % 5,), 1, fold) for n, (patient, fold) in enumerate(zip(PATIENTS, FOLDS, strict=True))]
    samples = np.random.default_rng(1).normal(0.3, 2.0, size=(sum(LENGTHS), 1, 12)).astype(np.float16)
    made = with_cells(make_prepared("ptb-xl", listed), windows=LENGTHS)
    return replace(made, windows=samples, segmentation=CROPS)


def test_what_is_judged_are_the_crops_at_the_stride(whole: Prepared) -> None:
    prepared, task = whole, crops_task(whole)
    assert task.counts()["test_windows"] == 7
    first = prepared.recordings.first_window[5]
    for crop, start in zip(task.test.signal.numpy(), range(0, 751, 125), strict=True):
        np.testing.assert_array_equal(crop, prepared.windows[first + start : first + start + 250, 0])


def test_what_is_learned_from_begins_anywhere_in_a_labelled_recording(whole: Prepared) -> None:
    prepared, crops = whole, crops_task(whole).crops
    assert crops is not None
    assert crops.starts.tolist() == [1000 - 249, 700 - 249, 1000 - 249]
    torch.manual_seed(0)
    starts: list[set[int]] = [set(), set(), set()]
    for _ in range(40):
        for recording, (crop, target) in enumerate(zip(*crops.draw(torch.arange(3)), strict=True)):
            samples = prepared.windows_of(recording)[:, 0]
            (start,) = np.flatnonzero((samples[:, 0] == crop[0, 0].item()) & (samples[:, 5] == crop[0, 5].item()))
            np.testing.assert_array_equal(crop, samples[start : start + 250])
            assert target.argmax() == prepared.recordings.labels[recording][0]
            starts[recording].add(start)
    assert all(len(item) > 25 for item in starts)


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_recordings_are_labelled_as_a_whole(whole: Prepared, protocol: str) -> None:
    task = crops_task(whole, replace(CROPS_SPEC, protocol=protocol), ratio=0.4)  # type: ignore[arg-type]
    assert task.crops is not None
    assert len(task.crops) == len(task.train.recordings)
    assert len(task.train) in (4, 7, 11)
    if protocol == "paper":
        assert len(task.crops) == int(3 * 0.4)


def test_a_dataset_is_standardised_by_its_training_part(whole: Prepared) -> None:
    prepared = replace(whole, segmentation=replace(CROPS, raw=True))
    spec = replace(CROPS_SPEC, standardise="dataset")
    task = crops_task(prepared, spec)
    train = prepared.windows[: prepared.recordings.first_window[4]].astype(np.float64)  # folds 1 to 4
    expected = Scale(float(train.mean()), float(train.std()))
    np.testing.assert_allclose(scale_of(prepared, np.arange(4)), expected, rtol=1e-9)
    first = prepared.recordings.first_window[5]
    by_hand = (prepared.windows[first : first + 250, 0].astype(np.float32) - expected.mean) / expected.deviation
    np.testing.assert_allclose(task.test.signal[0].numpy(), by_hand, atol=2e-3)
    assert task.crops is not None
    np.testing.assert_allclose(task.crops.signal.float().std(), 1.0, atol=0.02)


def test_a_corpus_is_standardised_by_itself(whole: Prepared) -> None:
    prepared = replace(whole, segmentation=replace(CROPS, raw=True))
    spec = replace(CROPS_SPEC, standardise="dataset")
    corpus = corpus_of(Column(replace(prepared, classes=()), replace(spec, per_trial=4)), CPU)
    used = np.concatenate([prepared.windows[a : a + 1000] for a in prepared.recordings.first_window[[0, 2, 4, 5]]])
    np.testing.assert_allclose(corpus.trials.scale, (used.astype(float).mean(), used.astype(float).std()), rtol=1e-9)
    np.testing.assert_allclose(whole_trials(corpus.trials, corpus.chosen).mean(dtype=float), 0.0, atol=1e-3)


def test_absent_leads_are_zero_on_every_side(whole: Prepared) -> None:
    task = crops_task(whole, replace(CROPS_SPEC, leads=("I", "II")))
    assert task.crops is not None
    for signal in (*(side.signal for side in task.sides().values()), task.crops.signal):
        assert not signal[..., 2:].any()
        assert signal[..., :2].any()


def test_a_corpus_has_all_leads(whole: Prepared) -> None:
    corpus = corpus_of(Column(replace(whole, classes=()), replace(CROPS_SPEC, per_trial=4)), CPU)
    assert corpus.trials.take(corpus.chosen)[..., 2:].any()
