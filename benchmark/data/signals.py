"""Facts of a signal besides its windows: digest and outline, by which copies are found, and what is doubtful.

The limb leads obey the laws by which III, aVR, aVL and aVF are sums of I and II with known signs (Einthoven 1913,
Goldberger 1942), unless they are exchanged or inverted. A wrong unit shows in the amplitude, and an offset leaves too
few steps of float16.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from benchmark.data.datasets.base import LEADS, LIMB_SHARES
from benchmark.results.arrays import Doubles, Floats
from benchmark.results.files import KEY_LENGTH

LIMB_LEADS = "limb leads that break Einthoven's laws"
IDENTICAL, FLAT = "all leads identical", "half of the leads or more flat"
COPIED = "chest leads that are copies of another"
FLAT_BELOW_MV = 0.005
"""A lead that varies by no more is flat, and leads that differ by no more are equal: one step of a coarse file."""
SIGNS = {LEADS.index(lead): np.sign(shares) for lead, shares in LIMB_SHARES.items()}
"""Column of III, aVR, aVL and aVF -> signs with which I and II enter it."""
LARGEST_ERROR = 0.1
"""Root mean square of what I and II leave unexplained, as a share of the limb leads'; real files have 0.02."""
PARTS = 200
"""Number of parts of a recording's time in an outline."""
AMPLITUDES = (0.1, 10)
"""mV; a QRS amplitude outside means a wrong unit."""
STRETCH_SECONDS = 2
"""Every such stretch of an ECG of 30/min or more holds a QRS complex."""
LARGEST_OFFSET = 8.0
"""mV; from there on, the steps of float16 are 8 uV and more."""


def signal_digest(signal: Floats) -> str:
    """Hash (n, 12) in mV as whole microvolts, so that gain and number format of a file do not matter.

    The same on every processor for signals as readers return them: divisions and sums of single samples, no filter.
    """
    microvolts = np.rint(signal.T * 1000) + 0.0  # (12, n); the sum makes -0.0 a 0.0
    return hashlib.sha256(np.ascontiguousarray(microvolts).data).hexdigest()[:KEY_LENGTH]


def outline_of(signal: Floats) -> tuple[int, ...]:
    """Return three numbers of (n, 12), of which near copies share one: other gain, coarser steps or another rate.

    The bits of each are signs of 64 random sums over the leads' means in each part of the time.
    """
    integral = np.cumsum(signal, axis=0, dtype=np.float64) - signal / 2  # (n, 12) up to a sample
    edges = np.linspace(0, len(signal), PARTS + 1)  # in samples
    means = np.diff([np.interp(edges, np.arange(len(signal)), lead) for lead in integral.T]).T  # (parts, 12)
    sums = (means - means.mean(axis=0)).ravel() @ outline_factors()  # (192,)
    return tuple(np.packbits(sums > 0).view(">i8").tolist())


@lru_cache
def outline_factors() -> Doubles:
    """Draw the factors of the sums of an outline, -1 or 1: (parts * 12, 192)."""
    return np.random.default_rng(0).choice([-1.0, 1.0], (PARTS * len(LEADS), 3 * 64))


def lead_problem(signal: Floats) -> str:
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


def has_copied_chest_leads(signal: Floats) -> bool:
    """Tell whether two of V1 to V6 of (n, 12) mV are one signal; a flat limb lead makes two of the others equal."""
    chest = signal[:, 6:]
    moving = chest[:, np.ptp(chest, axis=0) > FLAT_BELOW_MV]  # (n, L)
    by_height = moving[:, np.argsort(moving.max(axis=0))]  # copies are neighbours
    between = np.abs(np.diff(by_height, axis=1)).max(axis=0)  # (L - 1,)
    return bool((between <= FLAT_BELOW_MV).any())


def amplitude_of(signal: Floats, fs: float) -> float:
    """Estimate the QRS amplitude, mV, of (n, 12) at fs Hz: the median over leads of the median range of stretches.

    Leads without a range do not count; 0 where none has one.
    """
    length = min(len(signal), round(STRETCH_SECONDS * fs))
    stretches = signal[: len(signal) // length * length].reshape(-1, length, len(LEADS))
    ranges = np.median(np.ptp(stretches, axis=1), axis=0)  # (12,)
    return float(np.median(ranges[ranges > 0])) if ranges.any() else 0.0


def signal_doubts(signal: Floats, fs: float, *, raw: bool) -> Iterator[str]:
    """Say what is doubtful about (n, 12) mV at fs Hz; `raw`: it is kept in float16 without being standardised."""
    problem = lead_problem(signal)
    if problem:
        yield problem
    if problem != IDENTICAL and has_copied_chest_leads(signal):
        yield COPIED
    lowest, highest = AMPLITUDES
    if not lowest <= amplitude_of(signal, fs) <= highest:
        yield f"a QRS amplitude outside {lowest} to {highest} mV, so that its unit or gain is probably wrong"
    if raw and np.abs(np.median(signal, axis=0)).max() >= LARGEST_OFFSET:
        yield f"an electrode offset of {LARGEST_OFFSET:g} mV or more, which float16 keeps in steps of 8 uV and more"
