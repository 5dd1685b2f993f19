"""R peaks of all leads in one pass: the method "neurokit" of neurokit2 (Makowski et al. 2021), to the same peaks.

A QRS complex is where the smoothed slope exceeds 1.5 times its own average; its R peak is its most prominent maximum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

SLOPE_WINDOW = 0.1
"""Seconds over which the slope is smoothed."""
AVERAGE_WINDOW = 0.75
"""Seconds over which the smoothed slope is averaged for the threshold."""
THRESHOLD = 1.5
SHORTEST = 0.4
"""Complexes shorter than this share of their lead's mean complex length are dropped."""
REFRACTORY = 0.3
"""Seconds; a peak that follows the last one within this time is dropped."""

Whole = NDArray[np.intp]


def find_r_peaks(cleaned: NDArray[np.float64], fs: int) -> list[Whole]:
    """Samples of the R peaks of each lead of (L, n), a filtered ECG at fs Hz; a lead may have none."""
    lead, begin, end = complexes(cleaned, fs)
    found = most_prominent(cleaned, lead, begin, end)  # (Q,), -1 where a complex has no maximum
    there = found >= 0  # (Q,)
    lead, found = lead[there], found[there]
    of_leads = np.split(found, np.searchsorted(lead, range(1, len(cleaned))))  # lead by lead
    return [spaced(peaks, int(np.rint(REFRACTORY * fs))) for peaks in of_leads]


def complexes(cleaned: NDArray[np.float64], fs: int) -> tuple[Whole, Whole, Whole]:
    """Lead, first sample and the sample after the last of every QRS complex, (Q,) each, lead by lead."""
    slope = np.abs(np.gradient(cleaned, axis=1))  # (L, n)
    smooth = uniform_filter1d(slope, int(np.rint(SLOPE_WINDOW * fs)), mode="nearest")  # (L, n)
    average = uniform_filter1d(smooth, int(np.rint(AVERAGE_WINDOW * fs)), mode="nearest")  # (L, n)
    steep = smooth > THRESHOLD * average  # (L, n)
    return long_stretches(steep)


def long_stretches(steep: NDArray[np.bool_]) -> tuple[Whole, Whole, Whole]:
    """Lead, begin and end (Q,) of the stretches of (L, n) that are long enough; one that is cut off is left out."""
    lead, change = np.nonzero(steep[:, :-1] != steep[:, 1:])  # (C,) begins and ends in turn, lead by lead
    paired = steep[lead, change + 1][:-1] & (lead[:-1] == lead[1:])  # (C - 1,) a begin before an end of the same lead
    lead, begin, end = lead[:-1][paired], change[:-1][paired], change[1:][paired]
    long = end - begin  # (Q,)
    mean = np.bincount(lead, long) / np.maximum(np.bincount(lead), 1)  # up to the last lead that has a stretch
    enough = long >= SHORTEST * mean[lead]
    return lead[enough], begin[enough], end[enough]


def most_prominent(cleaned: NDArray[np.float64], lead: Whole, begin: Whole, end: Whole) -> Whole:
    """Sample of the most prominent local maximum between begin and end of each of Q stretches, -1 where it has none.

    Prominence as in `scipy.signal.find_peaks` on the stretch alone; of equal ones the first counts.
    """
    best = np.full(len(lead), -1, np.intp)  # (Q,)
    if len(lead) == 0:
        return best
    long = end - begin  # (Q,)
    column = np.arange(long.max())  # (W,)
    inside = column < long[:, None]  # (Q, W)
    values = cleaned[lead[:, None], np.minimum(begin[:, None] + column, cleaned.shape[1] - 1)]  # (Q, W)
    values = np.where(inside, values, np.inf)  # so no maximum lies at or beyond the end
    rising = values[:, 1:] > values[:, :-1]  # (Q, W - 1)
    stretch, place = np.nonzero(rising[:, :-1] & (values[:, 1:-1] > values[:, 2:]))  # (P,) maxima, in order
    best[stretch] = begin[stretch] + 1 + place
    rivals = np.bincount(stretch)[stretch] > 1  # (P,) prominence decides among these alone
    stretch, place = stretch[rivals], place[rivals]
    prominence = _prominences(values[stretch], place + 1, column)  # (P,)
    order = np.lexsort((place, -prominence, stretch))  # (P,) a stretch's best comes first among its own
    winner = order[np.r_[True, np.diff(stretch[order]) > 0]] if len(order) else order
    best[stretch[winner]] = begin[stretch[winner]] + 1 + place[winner]
    level = (values[:, 1:] == values[:, :-1]) & inside[:, 1:]  # (Q, W - 1)
    for number in np.flatnonzero(level.any(axis=1)):
        best[number] = _with_plateaus(cleaned[lead[number]], int(begin[number]), int(end[number]))
    return best


def _prominences(values: NDArray[np.float64], peak: Whole, column: Whole) -> NDArray[np.float64]:
    """Height of each of P maxima above the higher of the lowest values on its two sides, up to where one is higher.

    values: (P, W), the stretch of each maximum, infinite beyond its end. peak: (P,) its column.
    """
    height = values[np.arange(len(peak)), peak]  # (P,)
    higher = values > height[:, None]  # (P, W)
    before, after = column < peak[:, None], column > peak[:, None]  # (P, W)
    left = np.where(higher & before, column, -1).max(axis=1)  # (P,)
    right = np.where(higher & after, column, len(column)).min(axis=1)  # (P,)
    lowest_left = np.where(before & (column > left[:, None]), values, height[:, None]).min(axis=1)  # (P,)
    lowest_right = np.where(after & (column < right[:, None]), values, height[:, None]).min(axis=1)  # (P,)
    return np.asarray(height - np.maximum(lowest_left, lowest_right))


def _with_plateaus(lead: NDArray[np.float64], begin: int, end: int) -> int:
    """`most_prominent` of one stretch with equal neighbours, whose maxima may be several samples wide."""
    from scipy.signal import find_peaks  # here, because it loads slowly

    places, properties = find_peaks(lead[begin:end], prominence=(None, None))
    return begin + int(places[np.argmax(properties["prominences"])]) if len(places) else -1


def spaced(peaks: Whole, delay: int) -> Whole:
    """Those of the peaks (k,) of a lead that come more than `delay` samples after the last one, or after sample 0."""
    kept, last = [], 0
    for peak in peaks.tolist():
        if peak - last > delay:
            kept.append(peak)
            last = peak
    return np.array(kept, np.intp)
