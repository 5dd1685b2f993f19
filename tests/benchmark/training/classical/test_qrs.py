"""Beats in windows: padding, place, edges and rhythm of waves that are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.training.classical.qrs import (
    AFTER,
    BEFORE,
    COMPLEX,
    REACH,
    REFRACTORY,
    _peaks,
    lone_beats,
    median_beats,
    qrs_edges,
    unpadded,
)

LEADS = 12
Floats = NDArray[np.float32]


def beats_at(samples: int, times: list[int], *, sigma: float = 3.0, t_wave: float = 0.4) -> Floats:
    """(1, S, 12): bell-shaped QRS complexes and, 75 samples later, T waves, in all leads alike but for their size."""
    time = np.arange(samples)[:, None] - np.array(times)  # (S, P)
    waves = np.exp(-0.5 * (time / sigma) ** 2) + t_wave * np.exp(-0.5 * ((time - 75) / 14) ** 2)  # (S, P)
    return np.asarray(waves.sum(axis=1)[:, None] * np.linspace(0.5, 1.5, LEADS), np.float32)[None]


def noise(*shape: int) -> Floats:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(0, 0, (0, 299)), (40, 0, (40, 299)), (0, 41, (0, 258)), (30, 31, (30, 268)), (2, 2, (2, 297))],
)
def test_padding_is_what_repeats_an_end(left: int, right: int, expected: tuple[int, int]) -> None:
    window = noise(1, 300, LEADS)
    window[:, :left] = 0.25
    window[:, 300 - right :] = 0.25
    first, last = unpadded(window)
    assert (first[0], last[0]) == expected


def test_padding_is_that_of_all_leads_and_a_constant_window_has_none() -> None:
    window = noise(2, 300, LEADS)
    window[0, :50, 1:] = 0.0  # lead I goes on
    window[1] = 3.0
    first, last = unpadded(window)
    assert (first.tolist(), last.tolist()) == ([0, 0], [299, 299])


@pytest.mark.parametrize("place", [110, 150, 185])
def test_a_lone_beat_is_its_qrs_complex_not_its_taller_t_wave(place: int) -> None:
    window = beats_at(300, [place], t_wave=1.2)
    window[:, :50] = window[:, 250:] = -0.5
    beats = lone_beats(window)
    assert abs(int(beats.signal[0, BEFORE - 10 : BEFORE + 11, 0].argmax()) - 10) <= 2
    assert beats.rhythm["RR"].tolist() == [800.0]
    assert beats.rhythm["window before QRS"][0] == pytest.approx((place - 50) * 4, abs=8)
    assert beats.rhythm["window after QRS"][0] == pytest.approx((249 - place) * 4, abs=8)


@pytest.mark.parametrize("place", [100, 150, 200])
def test_the_steps_between_padding_and_signal_are_no_complex(place: int) -> None:
    window = beats_at(300, [place])
    window[:, :50] = window[:, 250:] = 9.0
    rhythm = lone_beats(window).rhythm
    assert rhythm["window before QRS"][0] == pytest.approx((place - 50) * 4, abs=8)


def test_the_slope_into_the_last_unpadded_sample_counts() -> None:
    window = np.repeat(np.linspace(0, 0.1, 300, dtype=np.float32)[None, :, None], LEADS, axis=2)
    window[:, 249] = 5.0
    window[:, 250:] = 1.0
    rhythm = lone_beats(window).rhythm
    assert (rhythm["window before QRS"].tolist(), rhythm["window after QRS"].tolist()) == ([249 * 4.0], [0.0])


def test_of_two_complexes_the_one_nearer_to_the_middle_counts() -> None:
    beats = lone_beats(beats_at(300, [20, 140]))
    assert beats.rhythm["window before QRS"][0] == pytest.approx(140 * 4, abs=8)


@pytest.mark.parametrize(("height", "found"), [(1.5, 150), (2.2, 20)])
def test_a_complex_at_the_end_counts_half_as_much_as_one_in_the_middle(height: float, found: int) -> None:
    window = height * beats_at(300, [20], t_wave=0) + beats_at(300, [150], t_wave=0)
    window += np.linspace(0, 1e-3, 300, dtype=np.float32)[:, None]  # nothing repeats the end
    assert lone_beats(window).rhythm["window before QRS"][0] == pytest.approx(found * 4, abs=8)


@pytest.mark.parametrize("sigma", [3.0, 6.0, 9.0])
def test_edges_lie_where_a_bell_has_all_but_ended(sigma: float) -> None:
    onset, offset = qrs_edges(lone_beats(beats_at(300, [150], sigma=sigma)).signal)
    assert BEFORE - onset[0] == pytest.approx(2.6 * sigma, abs=3)
    assert offset[0] - BEFORE == pytest.approx(2.6 * sigma, abs=3)


@pytest.mark.parametrize("half", [4, 6, 7])
def test_the_flat_top_of_a_complex_is_not_its_end(half: int) -> None:
    """A complex rises in 4 samples, stays for twice `half`, and falls in 4."""
    distance = np.abs(np.arange(BEFORE + AFTER) - BEFORE)
    complex_ = np.clip((half + 4 - distance) / 4, 0, 1).astype(np.float32)
    onset, offset = qrs_edges(np.repeat(complex_[None, :, None], LEADS, axis=2))
    assert (BEFORE - onset[0], offset[0] - BEFORE) == (half + 6, half + 7)


def of_slopes(slope: NDArray[np.floating]) -> Floats:
    """An aligned beat (1, T, 12) that rises by the slopes (T,)."""
    return np.repeat(slope.cumsum().astype(np.float32)[None, :, None], LEADS, axis=2)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_slope_that_goes_on_beyond_the_reach_ends_there(side: int) -> None:
    distance = side * (np.arange(BEFORE + AFTER) - BEFORE)
    onset, offset = qrs_edges(of_slopes(0.01 * ((distance >= 0) & (distance < REACH + 5))))
    assert (onset[0] if side < 0 else offset[0]) == BEFORE + side * REACH


@pytest.mark.parametrize("side", [-1, 1])
def test_the_peak_of_the_slope_is_sought_as_far_as_a_complex_from_the_centre(side: int) -> None:
    """Smoothed over five samples, a step two samples beyond still reaches there: the gentle slope within is quiet."""
    distance = np.arange(BEFORE + AFTER) - BEFORE
    slope = 0.02 * (np.abs(distance) <= 20)
    for beyond, quiet in ((2, True), (3, False)):
        stepped = np.where(distance == side * (COMPLEX + beyond), 1.0, slope)
        onset, offset = qrs_edges(of_slopes(stepped))
        nearest = COMPLEX // 2 + 1
        assert (BEFORE - onset[0] == nearest, offset[0] - BEFORE == nearest) == (quiet, quiet)


def test_edges_of_noise_stay_in_reach() -> None:
    onset, offset = qrs_edges(noise(50, BEFORE + AFTER, LEADS))
    assert (onset >= BEFORE - 30).all()
    assert (onset < BEFORE).all()
    assert (offset > BEFORE).all()
    assert (offset <= BEFORE + 30).all()


@pytest.mark.parametrize("sizes", [(1.0, 0.8), (0.8, 1.0)])
def test_a_smaller_complex_is_a_beat_from_the_refractory_time_on_before_and_after_a_larger_one(
    sizes: tuple[float, float],
) -> None:
    for apart, beats in ((REFRACTORY, 1), (REFRACTORY + 3, 2)):
        places = (200, 200 + apart)
        window = sum(size * beats_at(500, [place], t_wave=0) for size, place in zip(sizes, places, strict=True))
        assert median_beats(np.asarray(window, np.float32)).rhythm["beats"].tolist() == [beats]


def test_rhythm_of_a_plain_window() -> None:
    window = np.concatenate([beats_at(2500, [100, 300, 520, 660, 900]), beats_at(2500, [100, 300, 500, 700, 900])])
    rhythm = median_beats(window).rhythm
    irregular = np.array([200, 220, 140, 240]) * 4
    assert rhythm["beats"].tolist() == [5, 5]
    assert rhythm["RR"].tolist() == [800, 800]
    assert rhythm["RR deviation"] == pytest.approx([irregular.std(), 0], abs=6)
    assert rhythm["RR successive difference"] == pytest.approx([np.sqrt((np.diff(irregular) ** 2).mean()), 0], abs=12)
    assert rhythm["RR shortest"] == pytest.approx([560, 800], abs=8)
    assert rhythm["RR longest"] == pytest.approx([960, 800], abs=8)


def test_the_one_interval_of_two_beats_is_the_shortest_and_the_longest() -> None:
    rhythm = median_beats(beats_at(1000, [400, 600])).rhythm
    assert rhythm["beats"].tolist() == [2]
    assert [rhythm[name][0] for name in ("RR", "RR shortest", "RR longest")] == [800, 800, 800]
    assert [rhythm[name][0] for name in ("RR deviation", "RR successive difference")] == [0, 0]


def test_windows_with_fewer_beats_than_others_in_the_batch() -> None:
    windows = np.concatenate([beats_at(1000, [200, 400, 600, 800]), beats_at(1000, [500]), np.zeros((1, 1000, LEADS))])
    together = median_beats(windows.astype(np.float32))
    assert together.rhythm["beats"].tolist() == [4, 1, 1]
    for name in ("RR", "RR deviation", "RR successive difference", "RR shortest", "RR longest"):
        assert together.rhythm[name].tolist()[1:] == [0, 0]
    np.testing.assert_array_equal(together.signal[1:2], median_beats(windows[1:2].astype(np.float32)).signal)
    np.testing.assert_array_equal(together.signal[2], 0.0)


def test_the_median_beat_forgets_one_that_is_different() -> None:
    regular = beats_at(1250, [125, 375, 625, 875, 1125])
    odd = regular.copy()
    odd[:, 575:675] *= -2
    np.testing.assert_allclose(median_beats(odd).signal, median_beats(regular).signal, atol=1e-3)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_the_median_beat_and_the_spread_are_those_of_sorted_beats(count: int) -> None:
    """Beats of 1.0, 1.1, ...: the median of their heights, and the distance of the fourths of the sorted beats."""
    heights = 1 + 0.1 * np.arange(count)
    times = 250 * np.arange(1, count + 1)
    windows = sum(height * beats_at(1750, [time]) for height, time in zip(heights, times, strict=True))
    beats = median_beats(np.asarray(windows, np.float32))
    unit = median_beats(beats_at(1750, [250])).signal
    np.testing.assert_allclose(beats.signal, np.median(heights) * unit, atol=1e-3)
    width = heights[3 * count // 4] - heights[count // 4]
    np.testing.assert_allclose(beats.rhythm["beat spread"], width * unit.mean(axis=1), atol=1e-3)


@pytest.mark.parametrize("samples", [10, 20, 40])
def test_equal_neighbours_are_one_beat(samples: int) -> None:
    window = np.zeros((1, 500, LEADS), np.float32)
    window[:, 245 : 245 + samples] = np.arange(samples, dtype=np.float32)[:, None]
    assert median_beats(window).rhythm["beats"].tolist() == [1]


def test_a_window_has_its_beats_beside_a_larger_one() -> None:
    window = beats_at(500, [100, 300], t_wave=0)[0]
    assert _peaks(np.stack([0.01 * window, window])).tolist() == 2 * _peaks(window[None]).tolist() == 2 * [[101, 301]]


def test_a_flat_window_has_its_beat_in_the_middle() -> None:
    windows = np.stack([np.zeros((600, LEADS), np.float32), beats_at(600, [100, 300, 500])[0]])
    assert _peaks(windows)[0].tolist() == [300, -1, -1]
    assert np.isfinite(median_beats(windows).signal).all()
