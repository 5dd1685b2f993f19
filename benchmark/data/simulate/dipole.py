"""The heart as a moving dipole, and the twelve leads as its projections.

The dipole's three components are sums of Gaussian waves placed relative to every beat (Sameni et al. 2007, EURASIP
J. Adv. Signal Process. 43407, Eq. 3, the 3D form of McSharry et al. 2003, IEEE TBME 50:289, Eq. 1). Leads I, II and
V1-V6 follow from Frank's X, Y, Z by Dower's matrix (Dower et al. 1980, Clin. Cardiol. 3:87); III and the augmented
leads follow from I and II by the laws of Einthoven and Goldberger. Axes: x to the left, y to the feet, z to the back.
"""

from __future__ import annotations

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
    """Rotation matrix of the dipole.

    Args:
        degrees: (3,) angles about the x axis (sagittal plane), the y axis (horizontal) and the z axis (frontal);
            a positive frontal angle turns the electrical axis to the right, as cardiology counts it.

    Returns:
        (3, 3) matrix to multiply a column vector with.
    """
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    sagittal = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    horizontal = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    frontal = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    product: Floats = frontal @ horizontal @ sagittal
    return product


def lead_vectors(across: Floats, down: Floats) -> Floats:
    """Lead vectors of I, II, V1-V6 for displaced chest electrodes.

    Args:
        across: (6,) displacement to the left, in electrode spacings; between electrodes Dower's rows
            are interpolated, beyond V1 and V6 extrapolated.
        down: (6,) displacement downwards, in intercostal spaces.

    Returns:
        (8, 3), mV per mV of dipole.
    """
    place = np.arange(6) + across
    left = np.clip(np.floor(place), 0, 4).astype(int)
    share = (place - left)[:, None]
    chest = (1 - share) * CHEST_VECTORS[left] + share * CHEST_VECTORS[left + 1]  # (6, 3)
    chest[:, 1] += INTERCOSTAL_TILT * down
    return np.vstack([LIMB_VECTORS, chest])  # (8, 3)


def wave_trains(
    centre: Floats, rise: Floats, fall: Floats, height: Floats, order: Floats, samples: int, fs: float
) -> Floats:
    """Time courses of C waves over B beats: exp(-|u|^order / 2), u in widths of its flank.

    Args:
        centre: (C, B) seconds.
        rise: (C, B) width of the ascending flank, seconds.
        fall: (C, B) width of the descending flank, seconds.
        height: (C, B) amplitude factor of a beat; 0 where a wave is absent.
        order: (C,) 2 is a Gaussian, 4 a plateau.
        samples: number of samples n.
        fs: sampling rate in Hz.

    Returns:
        (n, C)
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
    flat: Floats = np.bincount(sample * waves + wave[pair], weights=value, minlength=samples * waves).astype(np.float64)
    return flat.reshape(samples, waves)  # (n, C)


def twelve_leads(eight: NDArray[np.float32]) -> NDArray[np.float32]:
    """All twelve leads, (n, 12) in the order of `benchmark.data.readers.base.LEADS`, from I, II, V1-V6, (n, 8)."""
    return eight @ EIGHT_TO_TWELVE.T.astype(np.float32)  # (n, 12)
