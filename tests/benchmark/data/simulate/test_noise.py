"""Noise: its dial, its mains line, its laws."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.simulate.noise import EIGHT_FROM_ELECTRODES, electrode_noise
from benchmark.data.simulate.rhythm import Breath

BREATH = Breath(0.25, 0.0)


def _noise(level: float, mains_hz: float = 50.0, seed: int = 3) -> np.ndarray:
    return electrode_noise(np.random.default_rng(seed), 5000, 500.0, level, mains_hz, BREATH)


def test_the_dial_scales_and_silences() -> None:
    assert not _noise(0.0).any()
    np.testing.assert_allclose(_noise(2.0), 2 * _noise(1.0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mains_hz", [50.0, 60.0])
def test_mains_stand_at_their_frequency(mains_hz: float) -> None:
    power = np.mean(
        [np.abs(np.fft.rfft(_noise(1.0, mains_hz, seed), axis=0)).mean(axis=1) ** 2 for seed in range(10)], axis=0
    )
    line = round(mains_hz * 10)
    around = np.r_[power[line - 30 : line - 5], power[line + 5 : line + 30]]
    assert power[line] > 5 * around.mean()


def test_chest_leads_count_from_wilsons_terminal() -> None:
    same_everywhere = EIGHT_FROM_ELECTRODES @ np.ones(9)
    np.testing.assert_allclose(same_everywhere, 0, atol=1e-12)


def test_routine_noise_is_tens_of_microvolts() -> None:
    rough = [np.diff(_noise(1.0, seed=seed), axis=0).std() for seed in range(20)]
    assert 0.003 < np.median(rough) < 0.03
    assert np.median([np.ptp(_noise(1.0, seed=seed), axis=0).mean() for seed in range(20)]) < 0.6
