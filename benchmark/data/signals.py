"""What a signal says besides its windows: copies, near copies, and leads that break the laws of the limb leads.

Limb leads come from three electrodes, so each of III, aVR, aVL and aVF is a sum of I and II with known signs (Einthoven
1913, Goldberger 1942). A lead that is exchanged, inverted or of another place breaks this. Some publishers scale each
lead by itself, which does not.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS
from benchmark.results.files import KEY_LENGTH

LIMB_LEADS = "limb leads that break Einthoven's laws"
IDENTICAL, FLAT = "all leads identical", "half of the leads or more flat"
FLAT_BELOW_MV = 0.005
"""A lead that varies by no more is flat, and leads that differ by no more are equal: one step of a coarse file."""
SIGNS = {2: (-1, 1), 3: (-1, -1), 4: (1, -1), 5: (-1, 1)}
"""Column of III, aVR, aVL and aVF -> signs with which I and II enter it."""
LARGEST_ERROR = 0.1
"""Root mean square of what I and II leave unexplained, as a share of the limb leads'; real files have 0.02."""
PARTS = 200
"""Of a recording's time, in an outline."""


def lead_problem(signal: NDArray[np.float32]) -> str:
    """Say what is doubtful about the leads of (n, 12) mV; '' for nothing."""
    from scipy.optimize import nnls  # here, because it loads slowly and prepared data need none

    varies = np.ptp(signal, axis=0) > FLAT_BELOW_MV  # (12,)
    if varies.sum() <= len(LEADS) / 2:
        return FLAT
    moving = signal[:, varies]
    if np.abs(moving - moving[:, :1]).max() <= FLAT_BELOW_MV:
        return IDENTICAL
    if not varies[:2].all():
        return ""
    limbs = signal[:, :6].astype(np.float64)  # (n, 6)
    reduced = np.asarray(np.linalg.qr(limbs - limbs.mean(axis=0), mode="r"))  # (6, 6) of equal norms and angles
    fits = {lead: nnls(reduced[:, :2] * SIGNS[lead], reduced[:, lead]) for lead in SIGNS if varies[lead]}
    broken = (
        np.linalg.norm([error for _, error in fits.values()]) / 2 > LARGEST_ERROR * np.linalg.norm(reduced) / 6**0.5
    )
    if {2, 5} <= fits.keys():  # whatever the leads' scales, I enters III with twice its share in aVF
        (of_one, of_two), (half_one, half_two) = fits[2][0], fits[5][0]
        broken |= of_one * half_two < 0.75 * half_one * of_two
    return LIMB_LEADS if broken else ""


def signal_digest(signal: NDArray[np.float32]) -> str:
    """Hash (n, 12) in mV as whole microvolts, so that gain and number format of a file do not matter."""
    microvolts = np.rint(signal.T * 1000) + 0.0  # (12, n); the sum makes -0.0 a 0.0
    return hashlib.sha256(np.ascontiguousarray(microvolts).data).hexdigest()[:KEY_LENGTH]


def outline_of(signal: NDArray[np.float32]) -> list[int]:
    """Return three numbers of (n, 12), of which near copies share one: other gain, coarser steps or another rate.

    The bits of each are signs of 64 random sums over the leads' means in each part of the time.
    """
    if len(signal) < PARTS:
        return []
    edges = np.minimum(np.linspace(0, len(signal), PARTS + 1), len(signal) - 1)  # in samples
    before = np.minimum(edges.astype(int), len(signal) - 2)
    until = np.cumsum(signal, axis=0, dtype=np.float64)[before] - signal[before] / 2  # integral up to a sample
    until += (edges - before)[:, None] * (signal[before] + signal[before + 1]) / 2  # (parts + 1, 12)
    means = np.diff(until, axis=0)  # (parts, 12)
    sums = (means - means.mean(axis=0)).ravel() @ factors()  # (192,)
    return np.packbits(sums > 0).view(">u8").tolist()


@cache
def factors() -> NDArray[np.float64]:
    """Draw the factors of the sums of an outline, -1 or 1: (parts * 12, 192)."""
    return np.random.default_rng(0).choice([-1.0, 1.0], (PARTS * len(LEADS), 3 * 64))
