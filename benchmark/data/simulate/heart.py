"""A heartbeat as a moving dipole, and the twelve leads as its projections.

The dipole's three components are sums of Gaussian waves placed relative to every beat (Sameni et al. 2007, EURASIP
J. Adv. Signal Process. 43407, Eq. 3, the 3D form of McSharry et al. 2003, IEEE TBME 50:289, Eq. 1): the septum
depolarises to the right and the front, the free walls to the left, the feet and the back, the base last and backwards;
repolarisation is parallel to the main QRS vector. Leads I, II and V1-V6 follow from Frank's X, Y, Z by Dower's matrix
(Dower et al. 1980, Clin. Cardiol. 3:87); III and the augmented leads from I and II by the laws of Einthoven and
Goldberger. Axes: x to the left, y to the feet, z to the back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LIMB_VECTORS = np.array([[0.632, -0.235, 0.059], [0.235, 1.066, -0.132]])  # (2, 3) I, II
CHEST_VECTORS = np.array(
    [
        [-0.515, 0.157, -0.917],
        [0.044, 0.164, -1.387],
        [0.882, 0.098, -1.277],
        [1.213, 0.127, -0.601],
        [1.125, 0.127, -0.086],
        [0.831, 0.076, 0.230],
    ]
)  # (6, 3) V1-V6
INTERCOSTAL_TILT = 0.35
"""Change of a chest lead's y component per intercostal space of downward displacement."""

EIGHT_TO_TWELVE = np.vstack(
    [
        np.eye(2, 8),  # I, II
        [[-1.0, 1.0, 0, 0, 0, 0, 0, 0]],  # III = II - I
        [[-0.5, -0.5, 0, 0, 0, 0, 0, 0]],  # aVR = -(I + II) / 2
        [[1.0, -0.5, 0, 0, 0, 0, 0, 0]],  # aVL = I - II / 2
        [[-0.5, 1.0, 0, 0, 0, 0, 0, 0]],  # aVF = II - I / 2
        np.eye(6, 8, k=2),  # V1-V6
    ]
)  # (12, 8)


def rotation(degrees: Floats) -> Floats:
    """Make a rotation matrix (3, 3) of the dipole, for a column vector.

    degrees: (3,) about the x axis (sagittal plane), the y axis (horizontal) and the z axis (frontal; a positive angle
    turns the electrical axis to the right, as cardiology counts it).
    """
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    sagittal = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    horizontal = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    frontal = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(frontal @ horizontal @ sagittal)


def lead_vectors(across: Floats, down: Floats) -> Floats:
    """Compute the lead vectors of I, II, V1-V6 for displaced chest electrodes, (8, 3) in mV per mV of dipole.

    across: (6,) to the left, in electrode spacings; between electrodes Dower's rows are interpolated, beyond V1 and V6
    extrapolated. down: (6,) in intercostal spaces.
    """
    position = np.arange(6) + across
    lower = np.clip(np.floor(position), 0, 4).astype(int)
    share = (position - lower)[:, None]
    chest = (1 - share) * CHEST_VECTORS[lower] + share * CHEST_VECTORS[lower + 1]  # (6, 3)
    chest[:, 1] += INTERCOSTAL_TILT * down
    return np.vstack([LIMB_VECTORS, chest])  # (8, 3)


def wave_trains(
    centre: Floats, rise: Floats, fall: Floats, height: Floats, order: Floats, samples: int, fs: float
) -> Floats:
    """Compute the time courses (n, C) of C waves over B beats: exp(-|u|^order / 2), u in widths of its flank.

    centre, rise, fall: (C, B) seconds. height: (C, B) factor of a beat, 0 where a wave is absent. order: (C,) 2 is a
    Gaussian, 4 a plateau.
    """
    # All (wave, beat) pairs are concatenated in flat arrays of unequal windows, without loops over waves or beats.
    wave, beat = np.nonzero(height)
    at, up, down, tall = centre[wave, beat], rise[wave, beat], fall[wave, beat], height[wave, beat]  # (P,)
    reach = np.where(order[wave] > 2, 1.9, 4.0)
    first = np.ceil((at - reach * up) * fs).astype(np.int64)
    length = np.maximum(np.floor((at + reach * down) * fs).astype(np.int64) - first + 1, 0)
    pair = np.repeat(np.arange(len(wave)), length)  # (K,)
    sample = np.arange(len(pair)) - np.repeat(np.cumsum(length) - length - first, length)  # (K,)
    inside = (sample >= 0) & (sample < samples)
    pair, sample = pair[inside], sample[inside]
    offset = sample / fs - at[pair]
    squared = (offset / np.where(offset < 0, up[pair], down[pair])) ** 2
    power = np.where(order[wave][pair] > 2, squared**2, squared)
    value = tall[pair] * np.exp(-0.5 * power)
    waves = len(centre)
    flat = np.bincount(sample * waves + wave[pair], weights=value, minlength=samples * waves).astype(np.float64)
    return flat.reshape(samples, waves)  # (n, C)


def twelve_leads(eight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute all twelve leads, (n, 12) in the order of `datasets.base.LEADS`, from I, II, V1-V6, (n, 8)."""
    return eight @ EIGHT_TO_TWELVE.T.astype(np.float32)  # (n, 12)


SINUS, ATRIAL, VENTRICULAR, BLOCKED, ESCAPE = range(5)
"""Kinds of beats: in the basic rhythm (sinus, fibrillation, ...), premature atrial, premature ventricular, sinus
without conduction, and junctional escape."""
KINDS = 5

Clock = Literal["P", "R", "J"]
"""Origin of a wave's time: onset of P, peak of R, or the J point (whose times scale with the RR interval)."""
CLOCKS: tuple[Clock, ...] = ("P", "R", "J")


class Wave(NamedTuple):
    """One wave of the heart's dipole."""

    clock: Clock
    centre: float
    """Seconds after the clock's origin, at 60 beats a minute."""
    rise: float
    """Width (standard deviation) of the ascending flank, seconds."""
    fall: float
    """Width of the descending flank, seconds."""
    dipole: Floats  # (3,) mV at the peak
    order: int = 2
    """2: Gaussian; 4: plateau."""
    beats: tuple[int, ...] = (SINUS, ATRIAL, ESCAPE)
    """Kinds of beats that have this wave."""


@dataclass(frozen=True)
class Heart:
    """Waves and intervals of a heart's beats."""

    waves: Mapping[str, Wave]
    pr: float
    """Onset of P to onset of QRS, seconds, at 60 beats a minute."""
    onset: float
    """Onset of QRS relative to the peak of R, seconds (negative)."""
    j_point: float
    """End of QRS relative to the peak of R, seconds."""


def vector(x: float, y: float, z: float) -> Floats:
    """Make a dipole in mV: x to the left, y to the feet, z to the back; (3,)."""
    return np.array([x, y, z])


def scaled(wave: Wave, factor: float | Floats) -> Wave:
    """Return the wave with its dipole multiplied, by a number or per axis."""
    return wave._replace(dipole=wave.dipole * factor)


def with_waves(heart: Heart, **waves: Wave | None) -> Heart:
    """Return the heart with waves added or replaced; None removes a wave."""
    merged = {**heart.waves, **waves}
    return replace(heart, waves={name: wave for name, wave in merged.items() if wave is not None})


def without_atrial_waves(heart: Heart) -> Heart:
    """Return the heart without P waves of any kind."""
    return replace(heart, waves={name: wave for name, wave in heart.waves.items() if wave.clock != "P"})


def interpolate(heart: Heart, other: Heart, share: float) -> Heart:
    """Interpolate to another heart: share 0 is this heart, 1 the other, 2 extrapolates to twice the difference.

    Times and dipoles are interpolated linearly, widths geometrically, so they stay positive. A wave that only the other
    has grows from zero; one that only this heart has is gone at 1.
    """
    waves = {}
    for name in dict.fromkeys((*heart.waves, *other.waves)):
        here, there = heart.waves.get(name), other.waves.get(name)
        if here is not None and there is not None:
            waves[name] = _between(here, there, share)
        elif there is not None and share > 0:
            waves[name] = scaled(there, share)
        elif here is not None and share < 1:
            waves[name] = scaled(here, 1 - share)
    return Heart(
        waves=waves,
        pr=heart.pr + share * (other.pr - heart.pr),
        onset=heart.onset + share * (other.onset - heart.onset),
        j_point=heart.j_point + share * (other.j_point - heart.j_point),
    )


def _between(here: Wave, there: Wave, share: float) -> Wave:
    return there._replace(
        centre=here.centre + share * (there.centre - here.centre),
        rise=here.rise * (there.rise / here.rise) ** share,
        fall=here.fall * (there.fall / here.fall) ** share,
        dipole=here.dipole + share * (there.dipole - here.dipole),
    )


HEALTHY = Heart(
    waves={
        "p_right": Wave("P", 0.034, 0.017, 0.017, vector(0.07, 0.09, -0.055), beats=(SINUS, BLOCKED)),
        "p_left": Wave("P", 0.066, 0.018, 0.020, vector(0.09, 0.05, 0.050), beats=(SINUS, BLOCKED)),
        "septum": Wave("R", -0.022, 0.008, 0.008, vector(-0.14, -0.05, -0.24)),
        "wall": Wave("R", 0.000, 0.0105, 0.010, vector(1.05, 0.85, 0.30)),
        "base": Wave("R", 0.024, 0.009, 0.010, vector(-0.22, -0.22, 0.62)),
        "st": Wave("J", 0.090, 0.045, 0.060, vector(0.03, 0.02, -0.030)),
        "t": Wave("J", 0.215, 0.052, 0.034, vector(0.30, 0.22, -0.16)),
        "u": Wave("J", 0.360, 0.040, 0.040, vector(0.01, 0.01, -0.015)),
    },
    pr=0.155,
    onset=-0.041,
    j_point=0.047,
)
