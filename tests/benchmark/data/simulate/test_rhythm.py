"""Rates, regularity and premature beats."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.simulate.heart import ATRIAL, SINUS, VENTRICULAR
from benchmark.data.simulate.rhythm import Beats, Breath, atrial_activity, draw_beats, draw_rate

RATES = {"SR": (60, 100), "SB": (40, 60), "ST": (100, 165), "AFIB": (50, 175), "AFL": (58, 162), "SVT": (149, 211)}


def _beats(rhythm: str, seed: int, premature: tuple[int, ...] = ()) -> tuple[Beats, float]:
    rng = np.random.default_rng(seed)
    rate = draw_rate(rng, rhythm, 74.0)
    return draw_beats(rng, rhythm, rate, premature, 30.0, Breath(0.25, 1.0)), rate


def _variation(beats: Beats) -> float:
    intervals = np.diff(beats.time)
    return float(intervals.std() / intervals.mean())


@pytest.mark.parametrize(("rhythm", "bounds"), RATES.items())
def test_rates_stay_within_the_rhythms_definition(rhythm: str, bounds: tuple[float, float]) -> None:
    for seed in range(30):
        beats, rate = _beats(rhythm, seed)
        measured = 60 / np.diff(beats.time).mean()
        assert bounds[0] <= measured <= bounds[1]
        assert measured == pytest.approx(rate, rel=0.12 if rhythm == "AFIB" else 0.03)


def test_bradycardia_is_mostly_mild() -> None:
    rates = [draw_rate(np.random.default_rng(seed), "SB", 74.0) for seed in range(300)]
    assert 0.75 < np.mean(np.array(rates) >= 50) < 0.95


def test_fibrillation_is_irregular_and_flutter_is_not() -> None:
    variation = {rhythm: np.median([_variation(_beats(rhythm, s)[0]) for s in range(20)]) for rhythm in RATES}
    assert variation["AFIB"] > 0.15
    assert variation["SR"] < 0.06
    assert variation["AFL"] < 0.01
    assert variation["SVT"] < 0.02
    assert np.median([_variation(_beats("SA", s)[0]) for s in range(20)]) > 0.08


@pytest.mark.parametrize("kind", [ATRIAL, VENTRICULAR])
def test_premature_beats_are_early_and_followed_by_a_pause(kind: int) -> None:
    for seed in range(20):
        beats, rate = _beats("SR", seed, (kind,))
        intervals = np.diff(beats.time) * rate / 60
        at = np.flatnonzero(beats.kind[1:-1] == kind) + 1
        assert len(at) >= 1
        assert (intervals[at - 1] < 0.8).all()
        compensatory = intervals[at - 1] + intervals[at]
        if kind == VENTRICULAR:
            np.testing.assert_allclose(compensatory, 2.0, atol=0.25)
        else:
            assert (compensatory < 1.98).all()
        assert (beats.kind == SINUS).sum() > len(at)


def test_f_waves_lie_between_4_and_9_hz() -> None:
    activity = atrial_activity(np.random.default_rng(1), "AFIB", 80.0, 10_000, 500.0)
    assert activity is not None
    spectrum = np.abs(np.fft.rfft(activity[0]))
    assert 4.0 < np.fft.rfftfreq(10_000, 1 / 500)[spectrum.argmax()] < 9.0
    assert atrial_activity(np.random.default_rng(1), "SR", 80.0, 100, 500.0) is None
