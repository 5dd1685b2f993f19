"""The boosted features: what they learn, choose by and predict, and waves that they measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.config.schema import Boosting
from benchmark.data.task import Task, Windows
from benchmark.training import boosting
from benchmark.training.boosting import at_250_hz, boost
from benchmark.training.features import BEFORE, beat_features, beats_of, read_by
from benchmark.training.finetune import Outcome

THREE = [[0], [1], [2]]
FAST = Boosting(iterations=12, leaf_windows=[2], l2=0.0, feature_share=0.1)


def windows(labels: Sequence[Sequence[int]], classes: int, seed: int) -> Windows:
    """A beat in noise; one of class c has its T wave upside down in the leads c and c + 6."""
    random = np.random.default_rng(seed)
    target = np.zeros((len(labels), classes), np.float32)
    sign = np.ones((len(labels), 12))
    for row, signs, present in zip(target, sign, labels, strict=True):
        row[list(present)] = 1
        signs[[lead for c in present for lead in (c, c + 6)]] = -1
    time = np.arange(300)[:, None]
    qrs, t_wave = np.exp(-0.5 * ((time - 150) / 3) ** 2), 0.4 * np.exp(-0.5 * ((time - 220) / 12) ** 2)
    signal = qrs + t_wave * sign[:, None] + random.normal(0, 0.02, size=(len(labels), 300, 12))
    names = np.array([f"{seed}-{index // 2}" for index in range(len(labels))], dtype=np.str_)
    return Windows(torch.from_numpy(signal).half(), torch.from_numpy(target), names, names)


def task_of(
    train: Sequence[Sequence[int]],
    validation: Sequence[Sequence[int]],
    test: Sequence[Sequence[int]],
    *,
    classes: int = 3,
    multi: bool = False,
) -> Task:
    sides = [windows(labels, classes, seed) for seed, labels in enumerate((train, validation, test))]
    return Task(*sides, multi=multi, unit="heartbeat")


def run(task: Task, settings: Boosting = FAST, *, seed: int = 41) -> Outcome:
    return boost(task, settings, seed=seed)


def test_windows_of_another_rate_are_interpolated_between_their_samples() -> None:
    line = np.arange(5, dtype=np.float16)[None, :, None] * np.array([1, -2], np.float16)  # (1, 5, 2) at 100 Hz
    resampled = at_250_hz(line, 100)
    assert resampled.shape == (1, 12, 2)
    np.testing.assert_allclose(resampled[0, :, 0], np.linspace(0, 4, 12), rtol=1e-6)
    np.testing.assert_allclose(resampled[0, :, 1], np.linspace(0, -8, 12), rtol=1e-6)
    assert at_250_hz(line, 250) is line


def test_it_learns_what_the_features_show() -> None:
    task = task_of(THREE * 10, THREE * 3, THREE * 5)
    outcome = run(task)
    np.testing.assert_array_equal(outcome.probability.argmax(axis=1), [0, 1, 2] * 5)
    np.testing.assert_allclose(outcome.probability.sum(axis=1), 1.0, rtol=1e-5)
    assert max(outcome.training["validation_f1"]) == 1.0


def test_several_labels_are_a_model_each() -> None:
    labels = [[0, 1], [1], [], [0]]
    task = task_of(labels * 8, labels * 2, labels, classes=4, multi=True)  # class 2 and 3 never
    probability = run(task).probability
    np.testing.assert_array_equal(probability > 0.5, task.test.target.numpy() > 0)
    np.testing.assert_array_equal(probability[:, 2:], 0.0)
    everywhere = task_of([[0]] * 4, [[0]], [[0], [1]], classes=2, multi=True)
    np.testing.assert_array_equal(run(everywhere).probability, [[1.0, 0.0], [1.0, 0.0]])


def test_a_class_without_labelled_windows_has_probability_zero() -> None:
    probability = run(task_of([[0], [2]] * 10, THREE, THREE)).probability
    np.testing.assert_array_equal(probability[:, 1], 0.0)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-5)
    assert probability.argmax(axis=1)[[0, 2]].tolist() == [0, 2]


def test_a_class_with_all_labelled_windows_has_probability_one() -> None:
    for labelled in (1, 5):
        alone = run(task_of([[1]] * labelled, THREE, THREE)).probability
        np.testing.assert_array_equal(alone, [[0.0, 1.0, 0.0]] * 3)


def test_the_first_of_equally_good_models_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = iter([0.2, 0.1, 0.3, 0.6, 0.6, 0.5])
    monkeypatch.setattr(boosting, "validation_score", lambda *given: next(coming))
    settings = FAST.model_copy(update={"leaf_windows": [2, 3, 4], "iterations": 2})
    training = run(task_of(THREE * 10, THREE, THREE), settings).training
    assert (training["leaf_windows"], training["best_iteration"], training["validation_f1"]) == (3, 2, [0.3, 0.6])


def test_a_window_of_a_dataset_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[np.ndarray] = []

    def measure(windows: np.ndarray) -> np.ndarray:
        measured.extend(windows)
        return beat_features(windows)

    task = task_of(THREE * 4, THREE * 2, THREE * 3)
    few = replace(task, train=task.train.first(6))
    monkeypatch.setattr(boosting, "beat_features", measure)
    monkeypatch.setattr(boosting, "FEATURES", {})
    shared = [run(one).probability for one in (few, task, few)]
    assert len(measured) == 12 + 6 + 9
    np.testing.assert_array_equal(shared[0], shared[2])
    run(replace(task, test=windows(THREE, 3, seed=7)))
    assert len(boosting.FEATURES) == 12 + 6 + 3  # those of another dataset are forgotten


def crop(*centres: int, samples: int = 625) -> np.ndarray:
    """QRS complexes at some samples of all leads (S, L), each with a T wave."""
    time = np.arange(samples)[:, None]
    signal = sum(
        np.exp(-0.5 * ((time - c) / 3) ** 2) + 0.4 * np.exp(-0.5 * ((time - c - 70) / 12) ** 2) for c in centres
    )
    return (signal * np.linspace(0.5, 1.5, 12)).astype(np.float32)  # (S, L)


def test_the_rhythm_follows_from_the_centres_of_beats() -> None:
    median, spread, rhythm = beats_of(crop(100, 300, 520))
    assert int(median[:, 0].argmax()) == pytest.approx(BEFORE, abs=1)
    _, before, after, count, rr, variation, ratio = rhythm
    assert (count, rr, variation, ratio) == pytest.approx((3, 210, 10 / 210, 200 / 220))
    assert before == pytest.approx(100, abs=1)
    assert after == pytest.approx(624 - 520, abs=2)
    assert spread.max() < 0.05


def test_a_row_of_one_measure_reads_the_rate_or_the_height_of_the_beats_alone() -> None:
    several, one = crop(100, 300, 520), np.pad(crop(100, samples=200), ((50, 50), (0, 0)), mode="edge")
    features = [beat_features(window[None]) for window in (several, one, several * 3)]
    rates, heights = ([float(read_by(row, x)[0, 0]) for x in features] for row in ("heart-rate", "qrs-amplitude"))
    np.testing.assert_allclose(rates, [210, 199, 210], atol=2)
    np.testing.assert_allclose(heights, [1.0, 1.0, 3.0], atol=0.1)
    task = task_of(THREE * 10, THREE * 3, THREE * 5)
    assert all(boost(task, FAST, seed=41, measures=row).probability.shape == (15, 3) for row in ("heart-rate", "all"))


@pytest.mark.parametrize("windows", ["beats", "strips"])
def test_features_are_those_of_the_reported_rows(windows: str) -> None:
    """Padded beats and strips of beats, drawn with QS complexes and inverted T waves, and their features: (n, F)."""
    stored = np.load(Path(__file__).with_name("features.npz"))
    np.testing.assert_allclose(beat_features(stored[windows]), stored[f"{windows}_features"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "window", [np.zeros((300, 12)), np.full((20, 12), np.nan), np.where(np.eye(300, 12), np.inf, 0)]
)
def test_features_are_finite_whatever_the_window(window: np.ndarray) -> None:
    alone, beside = beat_features(window[None]), beat_features(np.stack([np.roll(window, 1, axis=1), window]))
    assert np.isfinite(alone).all()
    np.testing.assert_array_equal(beside[1:], alone)
