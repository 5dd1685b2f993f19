"""Evaluations of an encoder, which they leave as it is; probes with few labels and few classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmark.config.config import Config
from benchmark.config.schema import Knn
from benchmark.data.task import Task
from benchmark.results.names import EVALUATION_FACTS, RETRIEVAL, SUPERVISED, VALIDATION
from benchmark.training import probes
from benchmark.training.evaluations import evaluate
from benchmark.training.finetune import Outcome
from benchmark.training.probes import (
    EvaluationCache,
    erased_probe,
    features,
    fit_regression,
    identity_directions,
    knn_probe,
    linear_probe,
    principal_components,
    votes,
)
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import RandomInit

MakeTask = Callable[..., Task]
THREE = [[0], [1], [2]]


@pytest.fixture
def encoder() -> Dilated:
    torch.manual_seed(0)
    return Dilated(DilatedConfig(hidden=8, depth=2, output=16, dropout=0.5))


def linear_probe_(encoder: Dilated, task: Task, *strengths: float) -> Outcome:
    return linear_probe(encoder, task, strengths or (1.0,), EvaluationCache("float32"))


@pytest.mark.parametrize("name", [*(name for name in EVALUATION_FACTS if name != RETRIEVAL), SUPERVISED, VALIDATION])
def test_an_evaluation_leaves_the_encoder_as_it_is(
    name: str, encoder: Dilated, make_task: MakeTask, small_config: Callable[..., Config]
) -> None:
    config = small_config({"finetune.epochs": 2, "supervised.epochs": 2, "supervised.batch_size": 8})
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    task, cache = make_task(THREE * 8, THREE * 2, THREE * 4, noise=2.0), EvaluationCache("float32")
    outcome = evaluate(name, encoder, task, config, method=RandomInit, seed=41, cache=cache)
    assert outcome.probability.shape == (12, 3)
    np.testing.assert_allclose(outcome.probability.sum(1), 1, rtol=1e-4)
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())


def test_erased_directions_are_those_in_which_patients_of_equal_labels_differ(make_task: MakeTask) -> None:
    random = np.random.default_rng(0)
    train = make_task(THREE * 40, THREE, THREE).train
    patient = np.arange(120) // 4  # two recordings of two windows each
    train = replace(train, recording=np.char.add("r", (np.arange(120) // 2).astype(str)), patient=patient.astype(str))
    truth = np.zeros((120, 3), np.float32)
    truth[np.arange(120), patient % 3] = 1
    train = replace(train, target=torch.from_numpy(truth))
    anatomy = random.normal(0, 5, 30)[patient]
    x = random.normal(0, 0.1, (120, 6))
    x[:, 2] += anatomy
    x[:, 4] += 50 * truth[:, 1]  # what a class is known by is no identity
    directions = identity_directions(x.astype(np.float32), train)
    assert directions.shape == (6, 6)
    np.testing.assert_allclose(directions.T @ directions, np.eye(6), atol=1e-5)
    assert abs(directions[2, 0]) > 0.99
    assert abs(directions[4, 0]) < 0.05


def test_one_recording_per_patient_leaves_nothing_to_erase_which_a_note_says(
    encoder: Dilated, make_task: MakeTask
) -> None:
    task, cache = make_task(THREE * 4, THREE, THREE * 2, noise=2.0), EvaluationCache("float32")
    outcome = erased_probe(encoder, task, [0.1], cache, None)
    assert outcome.notes == ["0 of 8 directions erased: few patients"]
    np.testing.assert_allclose(outcome.probability, linear_probe_(encoder, task, 0.1).probability, atol=1e-4)


def test_principal_components_are_those_of_the_labelled_windows(encoder: Dilated, make_task: MakeTask) -> None:
    task = make_task(THREE * 8, THREE, THREE * 2, noise=2.0)
    train, validation, test = principal_components(encoder, task, EvaluationCache("float32"))
    assert (train.shape, validation.shape, test.shape) == ((24, 16), (3, 16), (6, 16))
    covariance = np.cov(train.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-3)
    assert (np.diff(np.diag(covariance)) < 1e-6).all()


def test_the_first_best_number_of_neighbours_is_taken(
    encoder: Dilated, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming = iter([0.2, 0.6, 0.6])  # of 1, 3, and 24 in place of 50 and 100
    monkeypatch.setattr(probes, "validation_score", lambda *given: next(coming))
    task, settings = make_task(THREE * 8, THREE, THREE), Knn(neighbours=[1, 3, 50, 100])
    outcome = knn_probe(encoder, task, settings, EvaluationCache("float32"))
    assert (outcome.training["neighbours"], outcome.training["validation_f1"]) == (3, [0.2, 0.6, 0.6])


def test_it_is_a_logistic_regression_on_standardised_features(encoder: Dilated, make_task: MakeTask) -> None:
    task = make_task(THREE * 4, THREE, THREE * 2, noise=2.0)
    train, test = (features(encoder, side.signal, "float32") for side in (task.train, task.test))
    train, test = train.astype(np.float64), test.astype(np.float64)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, tol=1e-8)).fit(train, [0, 1, 2] * 4)
    expected = model.predict_proba(test)
    first, again = (linear_probe_(encoder, task, 0.1) for _ in range(2))
    np.testing.assert_allclose(first.probability, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(again.probability, first.probability)
    assert linear_probe_(encoder, make_task(THREE * 4, THREE, [])).probability.shape == (0, 3)


@pytest.mark.parametrize("multi", [True, False])
def test_a_probe_of_correlated_features_is_at_its_optimum(multi: bool) -> None:
    random = np.random.default_rng(0)
    causes = random.normal(size=(400, 4))
    x = (causes @ random.normal(size=(4, 16)) + 0.1 * random.normal(size=(400, 16))).astype(np.float32)
    target = (causes[:, :3] + random.normal(size=(400, 3)) > 0.5).astype(int)
    if not multi:
        target = np.eye(3, dtype=int)[target @ [1, 1, 0]]
    probability = fit_regression(x, target, 10.0, multi)(x)
    standardised = StandardScaler().fit_transform(x.astype(np.float64))
    regression = LogisticRegression(C=10.0, tol=1e-9, max_iter=100_000)  # by L-BFGS, to its end
    if multi:
        expected = OneVsRestClassifier(regression).fit(standardised, target).predict_proba(standardised)
    else:
        expected = regression.fit(standardised, target.argmax(axis=1)).predict_proba(standardised)
    np.testing.assert_allclose(probability, expected, atol=2e-3)
    stopped_early = LogisticRegression(C=10.0).fit(standardised, target[:, 0]).predict_proba(standardised)[:, 1]
    if multi:
        assert np.abs(stopped_early - expected[:, 0]).max() > 4e-3


def test_the_first_of_the_best_strengths_is_taken(
    encoder: Dilated, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task(THREE * 4, THREE, THREE, noise=2.0)
    coming = iter([0.1, 0.7, 0.7])
    monkeypatch.setattr(probes, "validation_score", lambda *given: next(coming))
    outcome = linear_probe_(encoder, task, 0.01, 1.0, 100.0)
    assert (outcome.training["C"], outcome.training["validation_f1"]) == (1.0, [0.1, 0.7, 0.7])
    monkeypatch.undo()
    np.testing.assert_array_equal(outcome.probability, linear_probe_(encoder, task, 1.0).probability)


def test_several_labels_are_one_regression_each(encoder: Dilated, make_task: MakeTask) -> None:
    labels = [[0, 1], [1], [], [0]]
    task = make_task(labels * 5, labels, labels, classes=4, multi=True)  # class 2 and 3 never
    probability = linear_probe_(encoder, task, 10.0).probability
    np.testing.assert_array_equal(probability > 0.5, task.test.target.numpy() > 0)
    np.testing.assert_array_equal(probability[:, 2:], 0.0)
    everywhere = make_task([[0]] * 4, [[0]], [[0], [1]], classes=2, multi=True)
    np.testing.assert_array_equal(linear_probe_(encoder, everywhere).probability, [[1.0, 0.0], [1.0, 0.0]])


def test_a_class_without_labelled_windows_has_probability_zero(encoder: Dilated, make_task: MakeTask) -> None:
    probability = linear_probe_(encoder, make_task([[0], [2]] * 5, THREE, THREE)).probability
    np.testing.assert_array_equal(probability[:, 1], 0.0)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-6)
    assert probability.argmax(axis=1)[[0, 2]].tolist() == [0, 2]


def test_a_class_with_all_labelled_windows_has_probability_one(encoder: Dilated, make_task: MakeTask) -> None:
    for windows in (1, 5):
        alone = linear_probe_(encoder, make_task([[1]] * windows, THREE, THREE), 0.1, 1.0)
        np.testing.assert_array_equal(alone.probability, [[0.0, 1.0, 0.0]] * 3)


def test_the_same_task_is_probed_once(encoder: Dilated, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    task, cache = make_task(THREE * 4, THREE, THREE * 2, noise=2.0), EvaluationCache("float32")
    turned = replace(task, train=replace(task.train, target=task.train.target.roll(1, dims=1)))
    for labelled, strength in ((task, 1.0), (task, 0.01), (turned, 1.0)):
        shared = linear_probe(encoder, labelled, (strength,), cache)
        np.testing.assert_array_equal(shared.probability, linear_probe_(encoder, labelled, strength).probability)
    assert (len(cache.outcomes), len(cache.features)) == (3, 3)
    monkeypatch.setattr(probes, "fit_regression", lambda *_, **__: pytest.fail("fitted again"))
    again = linear_probe(encoder, turned, (1.0,), cache)
    np.testing.assert_array_equal(again.probability, shared.probability)


TRAIN = np.array([[1, 0], [2, 2], [0, 3], [-1, 0]], np.float32)
TARGET = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], np.float32)


def test_votes_are_those_of_the_nearest_by_angle() -> None:
    (one, two) = votes(TRAIN, TARGET, np.array([[5, 1]], np.float32), [1, 2], 0.5)
    near, next_near = 5 / np.sqrt(26), 6 / np.sqrt(26) / np.sqrt(2)
    a, b = np.exp(near / 0.5), np.exp(next_near / 0.5)
    np.testing.assert_allclose(one, [[1, 0, 0]])
    np.testing.assert_allclose(two, [[a / (a + b), b / (a + b), 0]], rtol=1e-5)
    (several,) = votes(TRAIN, TARGET, np.array([[0, 1]], np.float32), [4], 1.0)
    weight = np.exp([0.0, np.sqrt(0.5), 1.0, 0.0])
    np.testing.assert_allclose(several, (weight / weight.sum() @ TARGET)[None], rtol=1e-5)
    (zeros,) = votes(np.zeros((2, 3), np.float32), TARGET[:2], np.zeros((1, 3), np.float32), [2], 0.07)
    np.testing.assert_allclose(zeros, [[0.5, 0.5, 0]])
