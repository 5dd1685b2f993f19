"""Noise of a recording: electrode noise, muscle, baseline wander, mains.

Noise is generated at the electrodes and projected to the leads, so it also obeys the laws of Einthoven and Goldberger.
Levels follow the literature (Clifford et al. 2006, Advanced Methods and Tools for ECG Data
Analysis, ch. 3); `level` 1 is a routine hospital recording, 0 is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmark.data.simulate.dipole import Floats
from benchmark.data.simulate.rhythm import Breath

ELECTRODES: tuple[str, ...] = ("RA", "LA", "LL", "V1", "V2", "V3", "V4", "V5", "V6")
EIGHT_FROM_ELECTRODES = np.vstack(
    [
        [[-1, 1, 0, 0, 0, 0, 0, 0, 0]],  # I = LA - RA
        [[-1, 0, 1, 0, 0, 0, 0, 0, 0]],  # II = LL - RA
        np.hstack([np.full((6, 3), -1 / 3), np.eye(6)]),  # V1-V6 against Wilson's central terminal
    ]
)  # (8, 9)

WHITE_MV, MUSCLE_MV, MAINS_MV = 0.003, 0.004, 0.002
"""Medians over recordings, per electrode: root mean square of the first two, amplitude of the third; mV."""
WANDER_MV = 0.035
"""Median amplitude of one component of the baseline wander, mV."""


def electrode_noise(
    rng: np.random.Generator, samples: int, fs: float, level: float, mains_hz: float, breath: Breath
) -> NDArray[np.float32]:
    """Noise of the leads I, II, V1-V6.

    Args:
        rng: the recording's stream; the same number of draws is made whatever the level.
        samples: number of samples n.
        fs: sampling rate in Hz.
        level: factor of all noise.
        mains_hz: 50 or 60 Hz.
        breath: modulates the baseline.

    Returns:
        (n, 8) in mV.
    """
    smooth, loading = _slow_and_mains(rng, samples, fs, mains_hz, breath)  # (n, K), (K, 9)
    rough = _white_and_muscle(rng, samples)  # (n, 9)
    to_leads = EIGHT_FROM_ELECTRODES.T * level  # (9, 8)
    noise: NDArray[np.float32] = smooth @ (loading @ to_leads).astype(np.float32) + rough @ to_leads.astype(np.float32)
    return noise


def _white_and_muscle(rng: np.random.Generator, samples: int) -> NDArray[np.float32]:
    """White noise plus intermittent muscle activity: (n, 9) in mV."""
    count = len(ELECTRODES)
    white = WHITE_MV * np.exp(0.4 * rng.standard_normal(count))  # (9,)
    muscle: Floats = MUSCLE_MV * np.exp(0.6 * rng.standard_normal() + 0.5 * rng.standard_normal(count))  # (9,)
    muscle[3:] *= 0.6  # less on the chest than on the limbs
    knots = np.maximum(0.0, 1 + 0.8 * rng.standard_normal(8))
    swell = np.interp(np.linspace(0, 7, samples), np.arange(8), knots)[:, None]  # (n, 1)
    raw: NDArray[np.float32] = rng.standard_normal((samples + 2, count), dtype=np.float32)  # (n + 2, 9)
    # The difference over two samples lies around fs / 4, where muscle is strongest at 500 Hz.
    tremor: NDArray[np.float32] = (raw[2:] - raw[:-2]) * swell.astype(np.float32)  # (n, 9)
    rough: NDArray[np.float32] = raw[1:-1] * white.astype(np.float32)  # (n, 9)
    rough += tremor * (muscle / np.sqrt(2)).astype(np.float32)
    return rough


def _slow_and_mains(
    rng: np.random.Generator, samples: int, fs: float, mains_hz: float, breath: Breath
) -> tuple[NDArray[np.float32], Floats]:
    """Sources shared by all electrodes, (n, K), and their amplitude at each electrode, (K, 9) in mV."""
    time = np.arange(samples) / fs
    hertz = np.array([rng.uniform(0.03, 0.10), rng.uniform(0.10, 0.25), rng.uniform(0.25, 0.6), mains_hz])
    turns = time[:, None] * hertz + rng.uniform(size=4)  # (n, 4)
    phase = (2 * np.pi * (turns - np.floor(turns))).astype(np.float32)  # (n, 4)
    sources = np.column_stack([np.sin(phase), np.cos(phase), breath.at(time)])  # (n, 9): sines, cosines, breath
    wander = WANDER_MV * np.exp(0.7 * rng.standard_normal())
    mains = MAINS_MV * np.exp(1.0 * rng.standard_normal())
    size = np.array([wander, wander * 0.6, wander * 0.35, mains] * 2 + [wander * 0.4])  # (9,)
    return sources.astype(np.float32), size[:, None] * rng.standard_normal((len(size), len(ELECTRODES)))
