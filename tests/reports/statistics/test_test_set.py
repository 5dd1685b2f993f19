"""The bootstrap of test patients: clusters stay whole, and names alone decide the draws."""

from __future__ import annotations

import numpy as np

from benchmark.results.rows import Predictions
from benchmark.results.scoring.pooling import per_recording
from reports.statistics.test_set import by_patient, drawn_beyond_once, pooled, resampled_sums, resampled_test_set


def some_predictions(patients: int = 7, windows: int = 3) -> Predictions:
    generator = np.random.default_rng(0)
    patient = np.repeat([f"p{number}" for number in range(patients)], windows)
    recording = np.array([f"{name}/{k % 2}" for k, name in enumerate(patient)])
    truth = np.eye(2, dtype=np.int64)[(np.arange(patients) % 2).repeat(windows)]
    return Predictions(generator.random(truth.shape, dtype=np.float32), truth, recording, patient)


def test_every_resample_draws_as_many_patients_as_there_are() -> None:
    names = np.array([f"p{number}" for number in range(50)])
    excess = drawn_beyond_once(names, resamples=400, seed=0)
    assert excess.shape == (401, 50)
    assert not excess[0].any()
    times = excess + 1
    assert (times.sum(axis=1) == 50).all()
    assert times.min() == 0
    assert abs(float((times[1:] == 0).mean()) - (1 - 1 / 50) ** 50) < 0.01
    assert abs(float(times[1:].var()) - (1 - 1 / 50)) < 0.03


def test_the_draws_stay_the_same_from_version_to_version() -> None:
    """Intervals of stored results do not move."""
    excess = drawn_beyond_once(np.array(["a", "b", "c", "d"]), resamples=3, seed=0)
    assert excess.tolist() == [[0, 0, 0, 0], [1, -1, 0, 0], [1, 0, -1, 0], [0, 0, 0, 0]]


def test_the_draws_depend_on_the_patients_and_the_seed_alone() -> None:
    shuffled, first = np.random.default_rng(1).permutation(21), some_predictions()
    again = Predictions(*(getattr(first, name)[shuffled] for name in ("probability", "truth", "recording", "patient")))
    one, other = (resampled_test_set(found, "recording", resamples=5) for found in (first, again))
    assert (one.excess == other.excess).all()
    assert (one.excess != resampled_test_set(first, "recording", resamples=5, seed=1).excess).any()
    assert (one.excess == resampled_test_set(first, "heartbeat", resamples=5).excess).all()


def test_recordings_are_pooled_as_the_stored_scores_do() -> None:
    found = some_predictions()
    test = resampled_test_set(found, "recording", resamples=1)
    expected, truth, _ = per_recording(found.probability, found.truth, found.recording)
    assert (pooled(test, found.probability) == expected).all()
    assert (test.truth == truth).all()


def test_sums_of_a_resample_count_a_patient_as_often_as_drawn() -> None:
    found = some_predictions()
    test = resampled_test_set(found, "heartbeat", resamples=20)
    sums = resampled_sums(test, by_patient(test, found.truth))
    times = (test.excess + 1)[:, test.patient]  # (21, n)
    assert (sums == times @ found.truth).all()
