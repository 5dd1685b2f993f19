"""Whole recordings: judged by crops at a stride, learned from by crops that begin anywhere, labelled as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.data.corpus import Scale, corpus_of, scale_of
from benchmark.data.prepare import Prepared
from benchmark.data.segments import Segmentation
from benchmark.data.splits import TaskSpec
from benchmark.data.task import Task
from tests.benchmark.tasks import make_task

CPU = torch.device("cpu")
CROPS = Segmentation("recordings", 250, 100, 125)
LENGTHS = (1000, 700, 1000, 249, 1000, 1000)
PATIENTS = ("p1", "p2", "p2", "p3", "p4", "p5")
FOLDS = (1, 2, 3, 4, 9, 10)
SPEC = TaskSpec(1, "single", "paper")
Whole = Callable[..., Prepared]


@pytest.fixture
def whole(make_prepared: Callable[..., Prepared]) -> Whole:
    """Six recordings of PTB-XL kept whole at 100 Hz, the fourth shorter than a crop."""

    def make(segmentation: Segmentation = CROPS) -> Prepared:
        listed = [(patient, (n % 5,), 1, fold) for n, (patient, fold) in enumerate(zip(PATIENTS, FOLDS, strict=True))]
        samples = np.random.default_rng(1).normal(0.3, 2.0, size=(sum(LENGTHS), 1, 12)).astype(np.float16)
        first = np.cumsum((0, *LENGTHS))
        return replace(make_prepared("ptb-xl", listed), windows=samples, first_window=first, segmentation=segmentation)

    return make


def task_of(prepared: Prepared, spec: TaskSpec = SPEC, ratio: float = 1.0) -> Task:
    return make_task(prepared, spec, ratio=ratio, seed=41, device=CPU)


def test_what_is_judged_are_the_crops_at_the_stride(whole: Whole) -> None:
    prepared = whole()
    task = task_of(prepared)
    assert prepared.window_count == 4 * 7 + 4
    assert task.counts()["test_windows"] == 7
    first = prepared.first_window[5]
    for crop, start in zip(task.test.signal.numpy(), range(0, 751, 125), strict=True):
        np.testing.assert_array_equal(crop, prepared.windows[first + start : first + start + 250, 0])
    assert not list(prepared.folder.glob("trials-*"))  # read from the windows' own file


def test_what_is_learned_from_begins_anywhere_in_a_labelled_recording(whole: Whole) -> None:
    prepared = whole()
    task = task_of(prepared)
    assert task.crops is not None
    assert len(task.crops) == 3
    assert task.crops.starts.tolist() == [1000 - 249, 700 - 249, 1000 - 249]
    torch.manual_seed(0)
    every = prepared.windows[:, 0]
    starts: dict[int, set[int]] = {}
    for _ in range(40):
        signal, target = task.crops.draw(torch.arange(3))
        for crop, item in zip(signal.numpy(), target, strict=True):
            (position,) = np.flatnonzero((every[:, 0] == crop[0, 0]) & (every[:, 5] == crop[0, 5]))
            np.testing.assert_array_equal(crop, every[position : position + 250])
            recording = int(np.searchsorted(prepared.first_window, position, side="right")) - 1
            assert item.argmax() == prepared.entries[recording].labels[0]
            assert position + 250 <= prepared.first_window[recording + 1]
            starts.setdefault(recording, set()).add(position)
    assert set(starts) == {0, 1, 2}
    assert all(len(item) > 25 for item in starts.values())


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_recordings_are_labelled_as_a_whole(whole: Whole, protocol: str) -> None:
    task = task_of(whole(), replace(SPEC, protocol=protocol), ratio=0.4)  # type: ignore[arg-type]
    assert task.crops is not None
    assert len(task.crops) == len(task.train.recordings)
    assert len(task.train) in (4, 7, 11)
    if protocol == "paper":
        assert len(task.crops) == int(3 * 0.4)


def test_a_dataset_is_standardised_by_its_training_part_and_a_corpus_by_itself(whole: Whole) -> None:
    prepared = whole(replace(CROPS, raw=True))
    spec = replace(SPEC, standardise="dataset")
    task = task_of(prepared, spec)
    train = prepared.windows[: prepared.first_window[4]].astype(np.float64)  # folds 1 to 4
    expected = Scale(float(train.mean()), float(train.std()))
    np.testing.assert_allclose(scale_of(prepared, np.arange(4)), expected, rtol=1e-9)
    first = prepared.first_window[5]
    by_hand = (prepared.windows[first : first + 250, 0].astype(np.float32) - expected.mean) / expected.deviation
    np.testing.assert_allclose(task.test.signal[0].numpy(), by_hand, atol=2e-3)
    assert task.crops is not None
    np.testing.assert_allclose(task.crops.signal.float().std(), 1.0, atol=0.02)
    corpus = corpus_of(replace(prepared, classes=()), replace(spec, per_trial=4), CPU)
    used = np.concatenate([prepared.windows[a : a + 1000] for a in prepared.first_window[[0, 2, 4, 5]]])
    np.testing.assert_allclose(corpus.trials.scale, (used.astype(float).mean(), used.astype(float).std()), rtol=1e-9)
    np.testing.assert_allclose(corpus.trials.take(corpus.chosen, windows=4).mean(dtype=float), 0.0, atol=1e-3)


def test_absent_leads_are_zero_in_all_that_is_learned_from_and_judged(whole: Whole) -> None:
    task = task_of(whole(), replace(SPEC, leads=("I", "II")))
    assert task.crops is not None
    for signal in (*(side.signal for side in task.sides().values()), task.crops.signal):
        assert not signal[..., 2:].any()
        assert signal[..., :2].any()
    corpus = corpus_of(replace(whole(), classes=()), replace(SPEC, per_trial=4), CPU)
    assert corpus.trials.take(corpus.chosen)[..., 2:].any()
