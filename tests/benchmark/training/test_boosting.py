"""The boosted features: what they learn, choose by and predict, and what they do with few labels and few classes.

Features of waves that are known, and what must not change them.

Beats in windows: padding, place, edges and rhythm of waves that are known.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_info, threadpool_limits

from benchmark.config.schema import Boosting
from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.ptb_xl import PTBXL
from benchmark.data.heartbeats import heartbeats
from benchmark.data.segments import Kind
from benchmark.data.task import Task, Windows
from benchmark.training import boosting
from benchmark.training.boosting import (
    BEFORE,
    Stages,
    at_250_hz,
    beat_features,
    boost,
    feature_names,
    fit,
    limb_scales,
    lone_beats,
    median_beats,
)
from benchmark.training.finetune import Outcome

THREE = [[0], [1], [2]]
FAST = Boosting(iterations=12, leaf_windows=[2], l2=0.0, feature_share=0.1)


def windows(labels: Sequence[Sequence[int]], classes: int, seed: int) -> Windows:
    """A beat in noise; one of class c has its T wave upside down in the leads c and c + 6."""
    random = np.random.default_rng(seed)
    target = np.zeros((len(labels), classes), np.float32)
    sign = np.ones((len(labels), 12))
    for row, signs, own in zip(target, sign, labels, strict=True):
        row[list(own)] = 1
        signs[[lead for c in own for lead in (c, c + 6)]] = -1
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
    return boost(task, settings, kind="heartbeats", seed=seed)


def whole(x: Any, target: Any, settings: Boosting, leaf: int, *, multi: bool = False, seed: int = 41) -> Stages:
    """The model after its last round."""
    return list(fit(x, target, settings, leaf, multi=multi, seed=seed))[-1]


def test_windows_of_another_rate_are_interpolated_between_their_samples() -> None:
    line = np.arange(5, dtype=np.float16)[None, :, None] * np.array([1, -2], np.float16)  # (1, 5, 2) at 100 Hz
    found = at_250_hz(line, 100)
    assert found.shape == (1, 12, 2)
    np.testing.assert_allclose(found[0, :, 0], np.linspace(0, 4, 12), rtol=1e-6)
    np.testing.assert_allclose(found[0, :, 1], np.linspace(0, -8, 12), rtol=1e-6)
    assert at_250_hz(line, 250) is line


def test_it_learns_what_the_features_show() -> None:
    started = time.perf_counter()
    task = task_of(THREE * 10, THREE * 3, THREE * 5)
    outcome = run(task)
    np.testing.assert_array_equal(outcome.probability.argmax(axis=1), [0, 1, 2] * 5)
    np.testing.assert_allclose(outcome.probability.sum(axis=1), 1.0, rtol=1e-5)
    assert outcome.probability.dtype == np.float32
    assert max(outcome.training["validation_f1"]) == 1.0
    assert 0 < outcome.training["seconds"] < time.perf_counter() - started
    for multi in (False, True):
        assert run(task_of(THREE * 4, THREE, [], multi=multi)).probability.shape == (0, 3)


def test_several_labels_are_a_model_each() -> None:
    labels = [[0, 1], [1], [], [0]]
    task = task_of(labels * 8, labels * 2, labels, classes=4, multi=True)  # class 2 and 3 never
    probability = run(task).probability
    np.testing.assert_array_equal(probability > 0.5, task.test.target.numpy() > 0)
    np.testing.assert_array_equal(probability[:, 2:], 0.0)
    everywhere = task_of([[0]] * 4, [[0]], [[0], [1]], classes=2, multi=True)
    np.testing.assert_array_equal(run(everywhere).probability, [[1.0, 0.0], [1.0, 0.0]])


def test_a_class_without_labelled_windows_has_probability_zero_and_one_alone_one() -> None:
    probability = run(task_of([[0], [2]] * 10, THREE, THREE)).probability
    np.testing.assert_array_equal(probability[:, 1], 0.0)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-5)
    assert probability.argmax(axis=1)[[0, 2]].tolist() == [0, 2]
    for labelled in (1, 5):
        alone = run(task_of([[1]] * labelled, THREE, THREE)).probability
        np.testing.assert_array_equal(alone, [[0.0, 1.0, 0.0]] * 3)
        assert alone.dtype == np.float32


def test_the_seed_decides_and_nothing_else() -> None:
    """The test windows have no say either."""
    task = task_of(THREE * 10, THREE * 3, THREE * 3)
    task.train.target[:] = task.train.target[torch.randperm(30, generator=torch.Generator().manual_seed(0))]
    first, again, other = run(task), run(task), run(task, seed=42)
    np.testing.assert_array_equal(first.probability, again.probability)
    assert (first.probability != other.probability).any()
    elsewhere = run(replace(task, test=windows([[2]] * 6, 3, 7)))
    chosen = [{**own.training, "seconds": 0} for own in (first, again, elsewhere)]
    assert chosen[0] == chosen[1] == chosen[2]


@pytest.mark.parametrize(
    ("knob", "value"),
    [("learning_rate", 0.5), ("leaves", 2), ("leaf_windows", [12]), ("l2", 50.0), ("feature_share", 0.5)],
)
def test_a_setting_acts(knob: str, value: object) -> None:
    random = np.random.default_rng(0)
    x, target = random.normal(size=(60, 8)).astype(np.float32), np.eye(3, dtype=np.int64)[random.integers(3, size=60)]
    one, other = (
        list(whole(x, target, settings, settings.leaf_windows[0])(x))[-1]
        for settings in (FAST, FAST.model_copy(update={knob: value}))
    )
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("multi", [False, True])
def test_rounds_give_the_bits_of_a_model_fitted_at_once(multi: bool) -> None:
    random = np.random.default_rng(0)
    x, target = random.normal(size=(60, 8)).astype(np.float32), np.eye(3, dtype=np.int64)[random.integers(3, size=60)]
    target[:, 2] |= int(multi)  # a class that all have
    one, other = (
        [(len(list(stages(x[:0]))), list(stages(x))) for stages in fit(x, target, settings, 2, multi=multi, seed=41)]
        for settings in (FAST.model_copy(update={"patience": patience}) for patience in (5, 12))
    )
    assert [empty for empty, _ in one] == [len(found) for _, found in one] == [5, 10, 12]
    assert [len(found) for _, found in other] == [12]
    np.testing.assert_array_equal(one[-1][1], other[0][1])


@pytest.mark.parametrize(
    ("scores", "done", "best"),
    [
        ([0.1, 0.3, 0.2, 0.3], 4, 2),  # the second round only comes up to the first
        ([0.1, 0.3, 0.2, 0.31, 0.3, 0.3, 0.9], 6, 4),
        ([0.1, 0.3, 0.4, 0.3, 0.3, 0.5, 0.5], 7, 6),  # the first of a round is better
        ([0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.5], 7, 7),  # the last round is shorter
    ],
)
def test_a_round_without_a_better_score_is_the_last(
    scores: list[float], done: int, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming = iter(scores)
    monkeypatch.setattr(boosting, "validation_score", lambda probability, task: next(coming))
    task = task_of(THREE * 10, THREE, THREE * 2)
    outcome = run(task, FAST.model_copy(update={"iterations": 7, "patience": 2}))
    assert outcome.training["validation_f1"] == scores[:done]
    assert outcome.training["best_iteration"] == best
    x, target = beat_features(task.train.signal.numpy()), task.train.target.numpy().astype(np.int64)
    stages = list(whole(x, target, FAST, 2)(beat_features(task.test.signal.numpy())))
    np.testing.assert_array_equal(outcome.probability, stages[best - 1])


def test_the_first_of_the_best_iterations_and_leaves_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(THREE * 10, THREE, THREE * 2)
    outcomes = []
    for scores, leaves in (([0.1, 0.2, 0.2, 0.2, 0.5, 0.5], [9, 2]), ([0.1, 0.2], [2])):
        coming = iter(scores)
        monkeypatch.setattr(boosting, "validation_score", lambda probability, task, coming=coming: next(coming))
        iterations = len(scores) // len(leaves)
        outcomes.append(run(task, Boosting(iterations=iterations, leaf_windows=leaves, feature_share=0.1)))
    chosen = [outcomes[0].training[name] for name in ("leaf_windows", "best_iteration", "validation_f1")]
    assert chosen == [2, 2, [0.2, 0.5, 0.5]]
    np.testing.assert_array_equal(outcomes[0].probability, outcomes[1].probability)


def test_boosting_takes_the_threads_of_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its library is loaded after the threads of the cell were set, and so is not bound by them."""
    counts: list[int] = []

    def counted(*given: Any, **settings: Any) -> Any:
        counts.extend(found["num_threads"] for found in threadpool_info() if found["user_api"] == "openmp")
        return fit(*given, **settings)

    monkeypatch.setattr(boosting, "fit", counted)
    task = task_of(THREE * 10, THREE * 3, THREE * 5)
    run(task)  # loads the library
    counts.clear()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    with threadpool_limits(2, user_api="openmp"):
        run(task)
    assert len(counts) > 1
    assert set(counts) == {1}


Floats = NDArray[np.float32]
CHEST = np.array([-0.8, -0.3, 0.4, 1.0, 0.9, 0.7])
KINDS: list[Kind] = ["heartbeats", "recordings"]


def limb(axis: float) -> NDArray[np.float64]:
    """Projections of a unit vector at an angle in degrees on I, II, III, aVR, aVL and aVF."""
    one, foot = np.cos(np.radians(axis)), np.sin(np.radians(axis)) * np.sqrt(3) / 2
    two, three = foot + one / 2, foot - one / 2
    return np.array([one, two, three, -(one + two) / 2, (one - three) / 2, (two + three) / 2])


def beat(samples: int = 300, middle: float = 150, axis: float = 40, t_axis: float = 20, st: float = 0.0) -> Floats:
    """(S, 12) with a P wave of 0.1, a QRS complex of 1 and a T wave of 0.3 mV, each times the lead's projection."""
    time = np.arange(samples)[:, None]

    def wave(centre: float, width: float) -> NDArray[np.float64]:
        return np.asarray(np.exp(-0.5 * ((time - middle - centre) / width) ** 2))

    plateau = ((time > middle + 9) & (time < middle + 40)) * st
    qrs, t = np.concatenate([limb(axis), CHEST]), np.concatenate([limb(t_axis), np.abs(CHEST)])
    return np.asarray(0.1 * wave(-42, 5) * t + wave(0, 3) * qrs + 0.3 * wave(75, 12) * t + plateau, np.float32)


def padded(signal: Floats, width: int = 200) -> Floats:
    """The middle of (S, 12) as a heartbeat window (1, S, 12): what is more than width / 2 away is -0.1."""
    window = np.full_like(signal, -0.1)
    start = (len(signal) - width) // 2
    window[start : start + width] = signal[start : start + width]
    return window[None]


def standard(signal: Floats) -> Floats:
    """Each lead of (S, 12) with mean 0 and deviation 1, as preparation leaves it."""
    return np.asarray((signal - signal.mean(axis=0)) / signal.std(axis=0), np.float32)


def named(windows: NDArray[np.floating], kind: Kind = "heartbeats") -> dict[str, Floats]:
    return dict(zip(feature_names(kind), beat_features(windows, kind).T, strict=True))


def test_waves_have_the_amplitudes_and_times_they_were_given() -> None:
    found = named(padded(beat()))
    assert found["RR"][0] == 800
    assert found["QRS width"][0] == pytest.approx(2 * 2.6 * 3 * 4, abs=16)
    for lead, projection in zip(LEADS[6:], CHEST, strict=True):
        assert found[f"R {lead}"][0] == pytest.approx(max(projection, 0), abs=0.05)
        assert found[f"Q {lead}"][0] == pytest.approx(min(projection, 0), abs=0.05)  # a QS complex where negative
        assert found[f"T amplitude {lead}"][0] == pytest.approx(0.3 * abs(projection), abs=0.02)
        assert found[f"T time {lead}"][0] == pytest.approx(75 * 4, abs=8)
        assert found[f"P amplitude {lead}"][0] == pytest.approx(0.1 * abs(projection), abs=0.02)
        assert found[f"P time {lead}"][0] == pytest.approx(-42 * 4, abs=8)
        assert found[f"+0 ms {lead}"][0] == pytest.approx(0.88 * projection, abs=0.1)
    assert found["R time V4"][0] == pytest.approx(4 * 2.6 * 3, abs=12)


def test_an_inverted_t_wave_and_a_raised_st_segment_are_seen() -> None:
    plain, raised, inverted = (named(padded(beat(t_axis=a, st=s))) for a, s in ((20, 0.0), (20, 0.2), (200, 0.0)))
    for lead in ("V2", "II"):
        assert raised[f"ST 60 {lead}"][0] - plain[f"ST 60 {lead}"][0] == pytest.approx(0.2, abs=0.01)
        assert raised[f"J {lead}"][0] - plain[f"J {lead}"][0] == pytest.approx(0.2, abs=0.05)
    assert inverted["T amplitude II"][0] == pytest.approx(-plain["T amplitude II"][0], abs=0.02)
    assert inverted["T lowest II"][0] < -0.2 < -0.05 < plain["T lowest II"][0]


@pytest.mark.parametrize(("axis", "t_axis"), [(-75, -125), (-20, -70), (40, -10), (100, 50), (170, 120), (170, -150)])
def test_axes_survive_the_normalisation_of_each_lead(axis: float, t_axis: float) -> None:
    signal = beat(axis=axis, t_axis=t_axis)
    found = named(padded(standard(signal)))
    assert found["QRS axis"][0] == pytest.approx(axis, abs=6)
    assert found["T axis"][0] == pytest.approx(t_axis, abs=6)
    assert found["QRS-T angle"][0] == pytest.approx(min(axis - t_axis, 360 - axis + t_axis), abs=8)
    deviation = signal[:, :3].std(axis=0)
    expected = deviation / np.linalg.norm(deviation)
    np.testing.assert_allclose(limb_scales(standard(signal)[None])[0], expected, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_is_measured_alike_in_any_company(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, size=(7, 500, 12))
    windows = np.asarray(beat(500, 200) + beat(500, 400) + noise, np.float32)
    together = beat_features(windows, kind)
    alone = np.concatenate([beat_features(window[None], kind) for window in windows])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(beat_features(windows[::-1], kind), together[::-1])
    monkeypatch.setattr(boosting, "CHUNK", 3)
    np.testing.assert_array_equal(beat_features(windows, kind), together)


@pytest.mark.parametrize("kind", KINDS)
def test_names_belong_to_the_columns_and_another_shape_is_refused(kind: Kind) -> None:
    names = feature_names(kind)
    assert len(set(names)) == len(names)
    for count in (0, 2):
        assert beat_features(np.ones((count, 300, 12), np.float32), kind).shape == (count, len(names))
    for shape in ((3, 300), (3, 300, 8), (3, 0, 12)):
        with pytest.raises(ValueError, match=r"cannot be measured: give \(n, S, 12\)"):
            beat_features(np.zeros(shape, np.float32), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_finite_whatever_the_window(kind: Kind) -> None:
    """A sample that is no number counts as none."""
    for samples in (1, 2, 40, 64, 300, 2500):
        windows = np.random.default_rng(0).normal(size=(6, samples, 12)).astype(np.float16)
        windows[0] = 0
        windows[1, :, 3] = 2  # a flat lead
        windows[2, 0] = np.nan
        windows[3, samples // 2, 5] = np.inf
        windows[4, :, :3] = 0  # no frontal plane
        found = beat_features(windows, kind)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()
    windows = np.repeat(padded(beat()), 4, axis=0)
    windows[:, 130, 5] = [np.nan, np.inf, -np.inf, 0.0]
    found = beat_features(windows, kind)
    np.testing.assert_array_equal(found[:3], found[[3, 3, 3]])


def test_real_beats_measure_as_people_do(real_ptb_xl: Path) -> None:
    dataset = PTBXL(real_ptb_xl)
    windows = []
    for entry in dataset.listing().entries[:20]:
        try:
            recording = dataset.read(entry)
            windows.append(heartbeats(recording.signal, recording.fs).windows)
        except Unusable:
            continue
    found = named(np.concatenate(windows))
    assert 600 < np.median(found["RR"]) < 1000
    assert 60 < np.median(found["QRS width"]) < 110
    assert -10 < np.median(found["QRS axis"]) < 70
    assert np.median(found["R share V1"]) < 0.4 < 0.6 < np.median(found["R share V5"])
    assert np.median(found["T amplitude aVR"]) < 0 < np.median(found["T amplitude II"])
    assert np.median(found["P amplitude II"]) > 0


KNOWN: dict[Kind, dict[str, float]] = {
    "heartbeats": {
        "RR": 2322.0, "window before QRS": 944.143, "window after QRS": 1368.86, "QRS onset": 117.643,
        "QRS width": 242.25, "Q": -1.07227, "R": 1.26831, "S": 0.268341, "R share": 1.16558, "Q width": 85.1867,
        "R time": 154.719, "QRS height": 2.34169, "QRS area": 0.103341, "QRS size": 0.666568,
        "QRS steepest rise": 0.419636, "QRS steepest fall": -0.33612, "QRS fragmentation": 4.61921, "J": 0.282923,
        "ST 60": 0.271931, "ST 80": 0.270723, "ST rise": -0.0122002, "T highest": 0.466968, "T lowest": -0.0787609,
        "T amplitude": 0.402099, "T time": 557.106, "T mean": 0.160121, "T deviation": 0.162362,
        "P highest": 0.153634, "P lowest": -0.0504894, "P amplitude": 0.124772, "P time": -377.909,
        "P mean": 0.0387092, "P deviation": 0.0565485, "QRS axis": 59.1264, "T axis": 84.785, "QRS-T angle": 39.0281,
        "scale I": 0.997299, "scale II": 1.42003, "scale III": 1.09422, "correlation with the next lead": 1.32059,
        "-160 ms": 0.101016, "-80 ms": 0.0037321, "-40 ms": -0.505761, "-20 ms": -0.45515, "+0 ms": 0.44359,
        "+20 ms": 0.347218, "+40 ms": 0.566544, "+120 ms": 0.271701, "+200 ms": 0.0327362, "+280 ms": 0.271467,
    },
    "recordings": {
        "beats": 6.75, "RR": 1493.68, "RR deviation": 246.214, "RR successive difference": 492.429,
        "RR shortest": 1247.46, "RR longest": 1739.89, "beat spread": 0.217262, "QRS onset": 89.25,
        "QRS width": 180.429, "Q": -0.390484, "R": 1.08803, "S": 0.236817, "R share": 1.62353, "Q width": 35.6829,
        "R time": 106.274, "QRS height": 1.4799, "QRS area": 0.298682, "QRS size": 0.606854,
        "QRS steepest rise": 0.341831, "QRS steepest fall": -0.294885, "QRS fragmentation": 4.69038, "J": 0.259633,
        "ST 60": 0.266606, "ST 80": 0.266204, "ST rise": 0.00657142, "T highest": 0.447096, "T lowest": -0.0660105,
        "T amplitude": 0.396455, "T time": 522.957, "T mean": 0.159517, "T deviation": 0.152995,
        "P highest": 0.148313, "P lowest": -0.0397626, "P amplitude": 0.120142, "P time": -392.547,
        "P mean": 0.0464455, "P deviation": 0.0555392, "QRS axis": 56.986, "T axis": 80.3689, "QRS-T angle": 26.4854,
        "scale I": 1.01755, "scale II": 1.38137, "scale III": 1.13392, "correlation with the next lead": 0.965131,
        "-160 ms": 0.0961462, "-80 ms": 0.00197932, "-40 ms": 0.0165761, "-20 ms": 0.332768, "+0 ms": 0.424597,
        "+20 ms": 0.336494, "+40 ms": 0.257239, "+120 ms": 0.26761, "+200 ms": 0.0400814, "+280 ms": 0.271191,
    },
}  # fmt: skip
"""Measure -> its weighted mean over `known_windows`."""


def known_windows(kind: Kind) -> Floats:
    """(8, 500, 12) beats that differ in place, width, axis, ST level and noise; Q waves, notches and flat leads too."""
    random, windows = np.random.default_rng(3), []
    time = np.arange(500)[:, None]
    for number in range(8):
        places = [60 + 9 * number, 215 + 4 * number, 380 + 11 * number] if kind == "recordings" else [180 + 12 * number]
        signal = np.sum([beat(500, p, 30 * number - 90, 25 * number - 60, 0.03 * number) for p in places], axis=0)
        signal -= (0.1 * number * np.exp(-0.5 * ((time - places[0] + 9) / 2.5) ** 2)).astype(np.float32)
        signal += (0.08 * number * np.exp(-0.5 * ((time - places[-1] - 8) / 1.5) ** 2)).astype(np.float32)
        signal += random.normal(0, 0.002 * (1 + number), size=signal.shape).astype(np.float32)
        signal[:, 3 + number] *= number % 3
        first, last = (0, 500) if kind == "recordings" else (70 + 13 * number, 260 + 30 * number)
        signal[:first], signal[last:] = -0.1, -0.1
        windows.append(signal)
    return np.asarray(windows, np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_known_windows_stay(kind: Kind) -> None:
    # Other features are other results: where these have to change, FEATURES_VERSION has to be raised.
    windows = known_windows(kind)
    weight = np.linspace(1, 2, len(windows))[:, None] * np.linspace(1, 2, 12)
    found = {}
    for name, values in boosting._measures(windows, kind).items():
        columns = np.broadcast_to(values.reshape(len(values), -1), weight.shape)
        found[name] = float(f"{(columns * weight).mean():.6g}")
    assert found == pytest.approx(KNOWN[kind], rel=2e-4, abs=2e-4), found


QRS_LEADS = 12


def beats_at(samples: int, times: list[int], *, sigma: float = 3.0, t_wave: float = 0.4) -> Floats:
    """(1, S, 12): bell-shaped QRS complexes and, 75 samples later, T waves, in all leads alike but for their size."""
    time = np.arange(samples)[:, None] - np.array(times)  # (S, P)
    waves = np.exp(-0.5 * (time / sigma) ** 2) + t_wave * np.exp(-0.5 * ((time - 75) / 14) ** 2)  # (S, P)
    return np.asarray(waves.sum(axis=1)[:, None] * np.linspace(0.5, 1.5, QRS_LEADS), np.float32)[None]


def noise(*shape: int) -> Floats:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("place", [110, 150, 185])
def test_a_lone_beat_is_its_qrs_complex_not_its_taller_t_wave(place: int) -> None:
    window = beats_at(300, [place], t_wave=1.2)
    window[:, :50] = window[:, 250:] = -0.5
    beats = lone_beats(window)
    assert abs(int(beats.signal[0, BEFORE - 10 : BEFORE + 11, 0].argmax()) - 10) <= 2
    assert beats.rhythm["RR"].tolist() == [800.0]
    assert beats.rhythm["window before QRS"][0] == pytest.approx((place - 50) * 4, abs=8)
    assert beats.rhythm["window after QRS"][0] == pytest.approx((249 - place) * 4, abs=8)


def test_rhythm_of_a_plain_window() -> None:
    places = [[100, 300, 520, 660, 900], [100, 300, 500, 700, 900], [400, 600]]
    rhythm = median_beats(np.concatenate([beats_at(2500, own) for own in places])).rhythm
    irregular = np.array([200, 220, 140, 240]) * 4
    successive = np.sqrt((np.diff(irregular) ** 2).mean())
    assert rhythm["beats"].tolist() == [5, 5, 2]
    assert rhythm["RR"].tolist() == [800, 800, 800]
    assert rhythm["RR deviation"] == pytest.approx([irregular.std(), 0, 0], abs=6)
    assert rhythm["RR successive difference"] == pytest.approx([successive, 0, 0], abs=12)
    assert rhythm["RR shortest"] == pytest.approx([560, 800, 800], abs=8)
    assert rhythm["RR longest"] == pytest.approx([960, 800, 800], abs=8)


def test_test_windows_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def counted(windows: NDArray[np.float16], kind: Kind) -> NDArray[np.float32]:
        measured.append(len(windows))
        return beat_features(windows, kind)

    monkeypatch.setattr(boosting, "beat_features", counted)
    monkeypatch.setattr(boosting, "MEASURED", {})
    monkeypatch.setattr(boosting, "MOST_MEASURED", 1)
    task, other = task_of(THREE * 4, THREE, THREE * 2), task_of(THREE * 4, THREE, THREE * 3)
    first, again, _, last = (run(own) for own in (task, task, other, task))
    np.testing.assert_array_equal(first.probability, again.probability)
    np.testing.assert_array_equal(first.probability, last.probability)
    assert measured == [12, 3, 6, 12, 3, 12, 3, 9, 12, 3, 6]
