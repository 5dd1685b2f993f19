"""What is doubtful about the leads of a recording that can be read: flat, identical, exchanged or inverted leads.

The six limb leads come from three electrodes, so every sample obeys four laws (Einthoven 1913, Goldberger 1942):

    III = II - I    aVR = -(I + II) / 2    aVL = I - II / 2    aVF = II - I / 2

A limb lead that is exchanged with another lead, or inverted, breaks them, and undoing it restores them. Exchanged
electrodes keep the laws: they are not seen here. Nor is anything said where the laws are broken otherwise, as by leads
that were scaled one by one.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import LEADS

EXCHANGED, INVERTED = "leads exchanged", "lead inverted"
IDENTICAL, FLAT = "all leads identical", "half of the leads or more flat"
STEP = 0.005
"""mV; a lead that varies by no more is flat, and leads that differ by no more are equal: one step of a coarse file."""
SOME = 50
"""Leads that differ mostly do so in every fiftieth sample."""
LIMB = 6
"""The first of `LEADS` are the limb leads."""
BROKEN, KEPT = 0.1, 0.05
"""Root mean square of the laws' errors, as a share of the limb leads', from which they are broken, and up to which they
are kept. Real files have at most 0.02."""
LAWS = np.zeros((4, len(LEADS)))  # (4, 12): each row times the leads is 0
LAWS[0, [2, 1, 0]] = 1, -1, 1
LAWS[1, [3, 0, 1]] = 1, 0.5, 0.5
LAWS[2, [4, 0, 1]] = 1, -1, 0.5
LAWS[3, [5, 1, 0]] = 1, -1, 0.5


def _repairs() -> dict[str, NDArray[np.float64]]:
    """Doubt -> the laws (4, 12) on the leads as they stand if it is true."""
    repaired = {}
    for first, second in combinations(range(len(LEADS)), 2):
        if first < LIMB:
            laws = LAWS.copy()
            laws[:, [first, second]] = LAWS[:, [second, first]]
            repaired[f"{EXCHANGED}: {LEADS[first]} and {LEADS[second]}"] = laws
    for lead in range(LIMB):
        laws = LAWS.copy()
        laws[:, lead] = -LAWS[:, lead]
        repaired[f"{INVERTED}: {LEADS[lead]}"] = laws
    return repaired


REPAIRS = _repairs()


def doubt_about(signal: NDArray[np.float32]) -> str:
    """The doubt about the leads of (n, 12) mV, as kind or 'kind: leads'; '' for none."""
    varies = np.ptp(signal, axis=0) > STEP  # (12,)
    if varies.sum() <= len(LEADS) / 2:
        return FLAT
    moving = signal if varies.all() else signal[:, varies]
    if _equal(moving[::SOME]) and _equal(moving):
        return IDENTICAL
    return _against_the_laws(signal) if varies[:LIMB].all() else ""


def _equal(leads: NDArray[np.float32]) -> bool:
    """Whether the leads (n, L) differ by at most a step."""
    return bool(np.abs(leads - leads[:, :1]).max() <= STEP)


def _against_the_laws(signal: NDArray[np.float32]) -> str:
    centred = signal - signal.mean(axis=0, dtype=np.float64)  # (n, 12)
    power = centred.T @ centred  # (12, 12)
    size = np.sqrt(np.trace(power[:LIMB, :LIMB]) / LIMB)
    if _error(LAWS, power) < BROKEN * size:
        return ""
    errors = {doubt: _error(laws, power) for doubt, laws in REPAIRS.items()}
    likeliest = min(errors, key=errors.__getitem__)
    return likeliest if errors[likeliest] <= KEPT * size else ""


def _error(laws: NDArray[np.float64], power: NDArray[np.float64]) -> float:
    """Root mean square over the laws and samples, times the root of the number of samples."""
    squares = ((laws @ power) * laws).sum(axis=1)  # (4,)
    return float(np.sqrt(max(0.0, squares.mean())))
