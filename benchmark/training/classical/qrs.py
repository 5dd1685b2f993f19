"""Detect the beats of a window: one beat aligned on its QRS centre, QRS onset and offset, and rhythm measures.

The QRS complex is the maximum of the absolute slope, averaged over leads and `COMPLEX` samples; this needs neither a
choice of lead nor a threshold in mV, which normalised windows do not have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from benchmark.data.prepared.beats import FS

BEFORE, AFTER = int(0.3 * FS), int(0.5 * FS)
"""Samples of an aligned beat before, and from, its QRS centre."""
COMPLEX = int(0.04 * FS)
"""Samples over which the slope is averaged to find a complex."""
EDGE_SMOOTHING = int(0.02 * FS)
"""Samples over which the slope is averaged to find QRS onset and offset."""
EDGE = 0.15
"""QRS threshold of the slope, as a share of the way from its level at rest to its peak."""
REACH = int(0.12 * FS)
"""Maximum samples from the QRS centre to onset or offset."""
AROUND = int(0.2 * FS)
"""Samples around the QRS centre for the slope at rest; of the same beat up to 150/min."""
REFRACTORY = int(0.24 * FS)
"""Minimum samples between two beats of a plain window."""
TINY = 1e-12
"""Added to weights, so that a flat segment has a centroid."""
BEAT = 0.4
"""Detection threshold in a plain window, as a share of its maximum averaged slope."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Measures = dict[str, NDArray[Any]]
"""Name -> (n,), or (n, L) for measures of each lead."""


class Beats(NamedTuple):
    """One aligned beat for each of n windows."""

    signal: Floats  # (n, BEFORE + AFTER, L), the middle of its QRS complex at BEFORE
    rhythm: Measures


def milliseconds(samples: NDArray[Any]) -> NDArray[np.float64]:
    """Samples at 250 Hz -> ms, same shape."""
    return np.asarray(samples * (1000 / FS), np.float64)


def lone_beats(windows: Floats) -> Beats:
    """The beat of each heartbeat window (n, S, L): the maximum slope, weighted by nearness to the centre.

    The unpadded width gives the rate; windows at a recording's ends are truncated, with the beat off centre.
    """
    time = np.arange(windows.shape[1])
    first, last = unpadded(windows)  # (n,), (n,)
    middle, half = (first + last) / 2, np.maximum((last - first) / 2, 1)  # (n,), (n,)
    nearness = 1 - 0.5 * np.abs(time - middle[:, None]) / half[:, None]  # (n, S)
    # Exclude the step from padding to signal.
    inside = (time > first[:, None]) & (time <= last[:, None])  # (n, S)
    slope = np.where(inside, _slope(windows), 0)  # (n, S)
    steepest = (uniform_filter1d(slope, COMPLEX) * np.clip(nearness, 0, 1)).argmax(axis=1)  # (n,)
    peak = _middles(slope, np.arange(len(windows)), steepest)  # (n,)
    rhythm = {
        "RR": milliseconds(last - first + 1),
        "window before QRS": milliseconds(peak - first),
        "window after QRS": milliseconds(last - peak),
    }
    return Beats(_cut(windows, peak, first, last), rhythm)


def unpadded(windows: Floats) -> tuple[Ints, Ints]:
    """First and last unpadded sample (n,) of (n, S, L); padding repeats the window's first or last sample.

    A constant window counts as unpadded.
    """
    left = _run_length(windows)  # (n,)
    right = _run_length(windows[:, ::-1])  # (n,)
    constant = left == windows.shape[1]
    first, last = np.where(constant, 0, left), windows.shape[1] - 1 - np.where(constant, 0, right)
    return first, last


def _run_length(windows: Floats) -> Ints:
    """Number (n,) of leading samples of (n, S, L) that equal the first in all leads; 0 for the first alone."""
    equal = (windows == windows[:, :1]).all(axis=2)  # (n, S)
    length = np.where(equal.all(axis=1), equal.shape[1], equal.argmin(axis=1))  # (n,)
    return np.where(length == 1, 0, length)


def median_beats(windows: Floats) -> Beats:
    """Sample-wise median beat of each plain window (n, S, L), and its rhythm measures."""
    peaks = _peaks(windows)  # (n, P)
    row, slot = np.nonzero(peaks >= 0)
    ends = np.zeros_like(row), np.full_like(row, windows.shape[1] - 1)
    shape = (*peaks.shape, BEFORE + AFTER, windows.shape[2])
    every = np.full(shape, np.inf, np.float32)  # (n, P, T, L), empty slots last when sorted
    every[row, slot] = _cut(windows[row], peaks[row, slot], *ends)
    every.sort(axis=1)
    count, window = (peaks >= 0).sum(axis=1), np.arange(len(windows))  # (n,), (n,)
    median = (every[window, (count - 1) // 2] + every[window, count // 2]) / 2  # (n, T, L)
    spread = every[window, 3 * count // 4] - every[window, count // 4]  # (n, T, L) 0 for a single beat
    return Beats(median, {**_rhythm(peaks), "beat spread": spread.mean(axis=1)})


def _peaks(windows: Floats) -> Ints:
    """QRS centres of (n, S, L) in order, (n, P), padded by -1; a flat window gets its centre."""
    slope = _slope(windows)  # (n, S)
    average = uniform_filter1d(slope, COMPLEX)  # (n, S)
    highest = maximum_filter1d(average, 2 * REFRACTORY + 1)  # (n, S)
    found = (average == highest) & (average > BEAT * average.max(axis=1, keepdims=True))  # (n, S)
    found[:, 1:] &= ~found[:, :-1]  # the first of equals
    found[~found.any(axis=1), windows.shape[1] // 2] = True
    count = found.sum(axis=1)  # (n,)
    row, time = np.nonzero(found)
    peaks = np.full((len(windows), count.max()), -1, np.int64)  # (n, P)
    peaks[row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)] = _middles(slope, row, time)
    return peaks


def _middles(slope: Floats, row: Ints, time: Ints) -> Ints:
    """QRS centres (m,): centroid of the squared slope around time (m,) in row (m,)."""
    near = np.clip(time[:, None] + np.arange(-REACH, REACH + 1), 0, slope.shape[1] - 1)  # (m, 2 REACH + 1)
    weight = slope[row[:, None], near].astype(np.float64) ** 2 + TINY  # (m, 2 REACH + 1)
    return np.asarray(np.rint((near * weight).sum(axis=1) / weight.sum(axis=1)), np.int64)


def _rhythm(peaks: Ints) -> Measures:
    """Statistics of the RR intervals between peaks (n, P), in ms; 0 with too few beats."""
    valid = (peaks[:, 1:] >= 0).astype(np.float64)  # (n, P - 1)
    rr = milliseconds(np.diff(peaks, axis=1)) * valid  # (n, P - 1)
    count = valid.sum(axis=1)  # (n,)
    mean = rr.sum(axis=1) / np.maximum(count, 1)  # (n,)
    deviation = np.sqrt(((rr - mean[:, None]) ** 2 * valid).sum(axis=1) / np.maximum(count, 1))  # (n,)
    step = np.diff(rr) * valid[:, 1:]  # (n, P - 2)
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
    # Search outside the steepest part: from the centre the search would stop at the flat top of the R wave.
    quiet &= np.abs(np.arange(quiet.shape[1]) - BEFORE) > COMPLEX // 2
    before = quiet[:, BEFORE - REACH : BEFORE][:, ::-1]  # (n, REACH)
    after = quiet[:, BEFORE + 1 : BEFORE + 1 + REACH]  # (n, REACH)
    onset = BEFORE - 1 - np.where(before.any(axis=1), before.argmax(axis=1), REACH - 1)  # (n,)
    offset = BEFORE + 1 + np.where(after.any(axis=1), after.argmax(axis=1), REACH - 1)  # (n,)
    return onset, offset


def _slope(signal: Floats) -> Floats:
    """Absolute difference to the previous sample, mean over leads: (n, S, L) -> (n, S)."""
    return np.asarray(np.abs(np.diff(signal, axis=1, prepend=signal[:, :1])).mean(axis=2), np.float32)


def _cut(windows: Floats, middle: Ints, first: Ints, last: Ints) -> Floats:
    """T = BEFORE + AFTER samples from middle - BEFORE on, (n, T, L); samples outside first to last repeat the ends."""
    index = np.clip(middle[:, None] + np.arange(-BEFORE, AFTER), first[:, None], last[:, None])  # (n, T)
    return np.take_along_axis(windows, index[:, :, None], axis=1)
