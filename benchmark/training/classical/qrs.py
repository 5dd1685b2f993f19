"""Where the beats of a window are: a window -> one beat with its QRS complex in the middle, its edges, and the rhythm.

The QRS complex is where all leads together are steepest: the absolute slope, averaged over leads and a few samples,
needs no lead to be chosen and no threshold in mV, which a normalised window could not have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from benchmark.data.prepared.beats import FS

BEFORE, AFTER = int(0.3 * FS), int(0.5 * FS)
"""Samples of a beat before and from the middle of its QRS complex on."""
COMPLEX = int(0.04 * FS)
"""Samples over which the slope is averaged to find a complex."""
EDGE_SMOOTHING = int(0.02 * FS)
"""Samples over which it is averaged to find the edges of a complex."""
EDGE = 0.15
"""A complex lasts while the slope is above that at rest by this share of what its peak is above it."""
REACH = int(0.12 * FS)
"""An edge is at most this many samples from the middle."""
AROUND = int(0.2 * FS)
"""Samples before and after the middle that belong to the same beat up to 150/min, and tell the slope at rest."""
REFRACTORY = int(0.24 * FS)
"""Two beats of a plain window are at least this many samples apart."""
TINY = 1e-12
"""Added to a weight, so that a flat stretch has a middle."""
BEAT = 0.4
"""A beat of a plain window has at least this share of the window's steepest averaged slope."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Measures = dict[str, NDArray[Any]]
"""Name -> (n,), or (n, L) for what is measured in each lead."""


class Beats(NamedTuple):
    """One beat for each of n windows."""

    signal: Floats  # (n, BEFORE + AFTER, L), the middle of its QRS complex at BEFORE
    rhythm: Measures


def milliseconds(samples: NDArray[Any]) -> NDArray[np.float64]:
    """Samples at 250 Hz as a time."""
    return np.asarray(samples * (1000 / FS), np.float64)


def lone_beats(windows: Floats) -> Beats:
    """The beat of each heartbeat window (n, S, L): the steepest place, the nearer to the middle the better.

    The rate is told by the width between the padding; at a recording's ends a window is cut, and its beat off centre.
    """
    time = np.arange(windows.shape[1])
    first, last = unpadded(windows)  # (n,), (n,)
    middle, half = (first + last) / 2, np.maximum((last - first) / 2, 1)  # (n,), (n,)
    nearness = 1 - 0.5 * np.abs(time - middle[:, None]) / half[:, None]  # (n, S)
    # The step from the padding to the signal is no slope of the heart's.
    inside = (time > first[:, None]) & (time <= last[:, None])  # (n, S)
    slope = np.where(inside, _slope(windows), 0)  # (n, S)
    steepest = (uniform_filter1d(slope, COMPLEX, axis=1) * np.clip(nearness, 0, 1)).argmax(axis=1)  # (n,)
    peak = _middles(slope, np.arange(len(windows)), steepest)  # (n,)
    rhythm = {
        "RR": milliseconds(last - first + 1),
        "window before QRS": milliseconds(peak - first),
        "window after QRS": milliseconds(last - peak),
    }
    return Beats(_cut(windows, peak, first, last), rhythm)


def unpadded(windows: Floats) -> tuple[Ints, Ints]:
    """First and last sample (n,) that is no padding, of (n, S, L): padding repeats the window's first or last sample.

    A window that is constant throughout counts as unpadded.
    """
    left = _run_length(windows)  # (n,)
    right = _run_length(windows[:, ::-1])  # (n,)
    constant = left == windows.shape[1]
    first, last = np.where(constant, 0, left), windows.shape[1] - 1 - np.where(constant, 0, right)
    return first, last


def _run_length(windows: Floats) -> Ints:
    """How many samples of (n, S, L), from the first on, equal the first in all leads; 0 for the first alone."""
    equal = (windows == windows[:, :1]).all(axis=2)  # (n, S)
    length = np.where(equal.all(axis=1), equal.shape[1], equal.argmin(axis=1))  # (n,)
    return np.where(length == 1, 0, length)


def median_beats(windows: Floats) -> Beats:
    """The median of the beats of each plain window (n, S, L), sample by sample, and the rhythm they make."""
    peaks = _peaks(windows)  # (n, P)
    row, slot = np.nonzero(peaks >= 0)
    ends = np.zeros_like(row), np.full_like(row, windows.shape[1] - 1)
    shape = (*peaks.shape, BEFORE + AFTER, windows.shape[2])
    every = np.full(shape, np.inf, np.float32)  # (n, P, T, L), empty slots last when sorted
    every[row, slot] = _cut(windows[row], peaks[row, slot], *ends)
    every.sort(axis=1)
    count, window = (peaks >= 0).sum(axis=1), np.arange(len(windows))  # (n,), (n,)
    median = (every[window, (count - 1) // 2] + every[window, count // 2]) / 2  # (n, T, L)
    spread = every[window, 3 * count // 4] - every[window, count // 4]  # (n, T, L) zero for a lone beat
    return Beats(median, {**_rhythm(peaks), "beat spread": spread.mean(axis=1)})


def _peaks(windows: Floats) -> Ints:
    """Middles of the QRS complexes of (n, S, L) in order, (n, P), -1 where there are fewer; a flat window's middle."""
    slope = _slope(windows)  # (n, S)
    average = uniform_filter1d(slope, COMPLEX, axis=1)  # (n, S)
    highest = maximum_filter1d(average, 2 * REFRACTORY + 1, axis=1)  # (n, S)
    found = (average == highest) & (average > BEAT * average.max(axis=1, keepdims=True))  # (n, S)
    found[:, 1:] &= ~found[:, :-1]  # the first of equals
    found[~found.any(axis=1), windows.shape[1] // 2] = True
    count = found.sum(axis=1)  # (n,)
    row, time = np.nonzero(found)
    peaks = np.full((len(windows), count.max()), -1, np.int64)  # (n, P)
    peaks[row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)] = _middles(slope, row, time)
    return peaks


def _middles(slope: Floats, row: Ints, time: Ints) -> Ints:
    """Middle (m,) of each QRS complex, a place in it given by row and time (m,): the centroid of the squared slope."""
    near = np.clip(time[:, None] + np.arange(-REACH, REACH + 1), 0, slope.shape[1] - 1)  # (m, 2 REACH + 1)
    weight = slope[row[:, None], near].astype(np.float64) ** 2 + TINY  # (m, 2 REACH + 1)
    return np.asarray(np.rint((near * weight).sum(axis=1) / weight.sum(axis=1)), np.int64)


def _rhythm(peaks: Ints) -> Measures:
    """Statistics of the RR intervals between peaks (n, P); 0 where a window has too few beats to tell."""
    valid = (peaks[:, 1:] >= 0).astype(np.float64)  # (n, P - 1)
    rr = milliseconds(np.diff(peaks, axis=1)) * valid  # (n, P - 1)
    count = valid.sum(axis=1)  # (n,)
    mean = rr.sum(axis=1) / np.maximum(count, 1)  # (n,)
    deviation = np.sqrt(((rr - mean[:, None]) ** 2 * valid).sum(axis=1) / np.maximum(count, 1))  # (n,)
    step = np.diff(rr, axis=1) * valid[:, 1:]  # (n, P - 2)
    successive = np.sqrt((step**2).sum(axis=1) / np.maximum(count - 1, 1))  # (n,)
    shortest = np.where(valid > 0, rr, np.inf).min(axis=1, initial=np.inf)  # (n,)
    return {
        "beats": count + 1,
        "RR": mean,
        "RR deviation": deviation,
        "RR successive difference": successive,
        "RR shortest": np.where(count > 0, shortest, 0),
        "RR longest": rr.max(axis=1, initial=0),
    }


def qrs_edges(beats: Floats) -> tuple[Ints, Ints]:
    """First and last sample (n,) of the QRS complexes of aligned beats (n, T, L)."""
    slope = uniform_filter1d(_slope(beats), EDGE_SMOOTHING, axis=1)  # (n, T)
    peak = slope[:, BEFORE - COMPLEX : BEFORE + COMPLEX + 1].max(axis=1)  # (n,)
    rest = np.median(slope[:, BEFORE - AROUND : BEFORE + AROUND], axis=1)  # (n,)
    quiet = slope <= (rest + EDGE * (peak - rest))[:, None]  # (n, T)
    # The edges are outside the steepest place: looking from the middle would end in the R wave's own summit.
    quiet &= np.abs(np.arange(quiet.shape[1]) - BEFORE) > COMPLEX // 2
    before = quiet[:, BEFORE - REACH : BEFORE][:, ::-1]  # (n, REACH)
    after = quiet[:, BEFORE + 1 : BEFORE + 1 + REACH]  # (n, REACH)
    onset = BEFORE - 1 - np.where(before.any(axis=1), before.argmax(axis=1), REACH - 1)  # (n,)
    offset = BEFORE + 1 + np.where(after.any(axis=1), after.argmax(axis=1), REACH - 1)  # (n,)
    return onset, offset


def _slope(signal: Floats) -> Floats:
    """Mean over leads of the absolute difference to the sample before, (n, S, L) -> (n, S)."""
    return np.asarray(np.abs(np.diff(signal, axis=1, prepend=signal[:, :1])).mean(axis=2), np.float32)


def _cut(windows: Floats, middle: Ints, first: Ints, last: Ints) -> Floats:
    """Samples from middle - BEFORE on, (n, T, L); the ends of first to last are repeated beyond them."""
    index = np.clip(middle[:, None] + np.arange(-BEFORE, AFTER), first[:, None], last[:, None])  # (n, T)
    return np.take_along_axis(windows, index[:, :, None], axis=1)
