"""Heartbeat windows and pseudo-trials: the preprocessing of PMQ and COMET, to the authors' values.

Resample to 250 Hz, standardise per recording and lead, find the R peaks of each lead by the method "neurokit" of
neurokit2 (Makowski et al. 2021), all leads in one pass, and cut one window of a median RR interval around every beat,
zero-padded to 300 samples; at another rate, from the recording at that rate. The authors take the median of the i-th
peaks of all leads, so that a peak missed in one lead moves all later ones, and leave out hearts slower than 50/min,
whose interval does not fit the window; `fused` searches the mean slope of all leads once, takes the median of a
complex's peaks, and crops the interval of a slow heart (docs/evidence/STUDIES.md).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import zip_longest
from typing import Literal, NamedTuple

import numpy as np

from benchmark.data.datasets.base import Unusable
from benchmark.results.arrays import AnyFloats, Doubles, Floats, Ints, Positions

FS = 250
"""Hz after resampling."""
WINDOW = 300
"""Samples per heartbeat window, 1.2 s; a longer median RR interval (a rate under 50/min) does not fit."""
Beats = Literal["authors", "fused"]
"""authors: R peaks lead by lead, and no heart under 50/min; fused: R peaks of all leads together, and every rate."""
PERIOD = FS // 50
"""Samples of one period of 50 Hz mains."""
MIN_DEVIATION = 1e-8
"""Divisor in place of a pseudo-trial's standard deviation of zero."""
SLOPE_WINDOW, AVERAGE_WINDOW = 25, 188
"""Samples, 0.1 s and 0.75 s, over which the slope is smoothed, and the smoothed slope averaged for the threshold."""
THRESHOLD = 1.5
SHORTEST = 0.4
"""Complexes shorter than this share of their lead's mean complex length are dropped."""
REFRACTORY = 75
"""Samples, 0.3 s; a peak that follows the last one within this time is dropped."""


def find_r_peaks(cleaned: Doubles) -> list[Positions]:
    """Find the samples of the R peaks of each lead of (L, n), a filtered ECG at 250 Hz; a lead may have none.

    A QRS complex is where the smoothed slope exceeds 1.5 times its own average, its R peak its most prominent maximum.
    """
    lead, begin, end = complexes(np.abs(np.gradient(cleaned, axis=1)))
    peaks = most_prominent(cleaned, lead, begin, end)  # (Q,), -1 where a complex has no maximum
    return [spaced(peaks[(lead == number) & (peaks >= 0)]) for number in range(len(cleaned))]


def fused_r_peaks(cleaned: Doubles) -> Positions:
    """Find the samples (n,) of the R peaks of (L, n) at 250 Hz: medians over the leads within each complex."""
    _, begin, end = complexes(np.abs(np.gradient(cleaned, axis=1)).mean(axis=0, keepdims=True))  # (Q,)
    leads = len(cleaned)
    lead = np.repeat(np.arange(leads), len(begin))  # (L * Q,)
    peaks = most_prominent(cleaned, lead, np.tile(begin, leads), np.tile(end, leads)).reshape(leads, -1)
    centres = _medians(np.where(peaks < 0, np.nan, peaks).T)  # (Q,)
    return spaced(centres[np.isfinite(centres)].astype(np.intp))


def complexes(slope: Doubles) -> tuple[Positions, Positions, Positions]:
    """Find lead, first sample and end of every QRS complex of (L, n), (Q,) each, lead by lead.

    They are long enough, and not cut off at the ends of the recording.
    """
    from scipy.ndimage import uniform_filter1d  # here, because it loads slowly

    smooth = uniform_filter1d(slope, SLOPE_WINDOW, mode="nearest")  # (L, n)
    steep = smooth > THRESHOLD * uniform_filter1d(smooth, AVERAGE_WINDOW, mode="nearest")  # (L, n)
    lead, change = np.nonzero(steep[:, :-1] != steep[:, 1:])  # (C,) begins and ends in turn, lead by lead
    paired = steep[lead, change + 1][:-1] & (lead[:-1] == lead[1:])  # (C - 1,) a begin before an end of the same lead
    lead, begin, end = lead[:-1][paired], change[:-1][paired], change[1:][paired]
    mean = np.bincount(lead, end - begin) / np.maximum(np.bincount(lead), 1)  # up to the last lead that has a stretch
    enough = end - begin >= SHORTEST * mean[lead]
    return lead[enough], begin[enough], end[enough]


def most_prominent(cleaned: Doubles, lead: Positions, begin: Positions, end: Positions) -> Positions:
    """Find the most prominent local maximum between begin and end of each of Q stretches, -1 where it has none.

    The stretches come in order and do not touch. Prominence is that of the stretch alone; of equal ones the first
    counts.
    """
    from scipy.signal import find_peaks  # here, because it loads slowly

    samples = cleaned.shape[1]
    first = lead * samples + begin  # (Q,) of the leads one after the other
    edges = np.zeros(cleaned.size, np.int8)
    edges[first], edges[first + end - begin] = 1, -1
    inside = np.cumsum(edges, dtype=np.int8)  # (L * n,) 1 in a stretch
    alone = np.where(inside, cleaned.ravel(), np.nan)  # no peak holds NaN, and a prominence ends at it
    peaks, properties = find_peaks(alone, prominence=(None, None))  # (P,)
    order = np.lexsort((-peaks, properties["prominences"]))  # the best of a stretch is the last to be written
    best = np.full(len(lead), -1, np.intp)  # (Q,)
    best[np.searchsorted(first, peaks[order], side="right") - 1] = peaks[order] % samples
    return best


def spaced(peaks: Positions) -> Positions:
    """Return those of the peaks (k,) that come more than 0.3 s after the last one, or after sample 0."""
    accepted = [0]
    for peak in peaks.tolist():
        if peak - accepted[-1] > REFRACTORY:
            accepted.append(peak)
    return np.array(accepted[1:], np.intp)


class BeatWindows(NamedTuple):
    """The beats of one recording."""

    windows: Floats
    """(n, S, L), standardised per recording and lead unless raw, zero-padded on both sides; S is 300 at 250 Hz."""
    r_peaks: Ints
    """(n,) samples at 250 Hz, the median over leads."""
    median_rr: float
    """Median RR interval, of the authors the median over leads of a lead's, in samples at 250 Hz."""


def heartbeats(
    signal: AnyFloats, fs: float, rate: int = FS, *, raw: bool = False, beats: Beats = "authors"
) -> BeatWindows:
    """Cut the beats of a recording, given as (n, L) at fs Hz, in windows at `rate` Hz; `raw`: in the recording's unit.

    Raises Unusable if it has NaN or is too short, if there are no two beats, or, as the authors have it, if the rate is
    under 50/min.
    """
    if not np.isfinite(signal).all():
        raise Unusable("NaN samples")
    resampled = resample(signal, fs)  # (n, L)
    if len(resampled) < WINDOW:
        raise Unusable(f"too short: {len(signal) / fs:.2f} s")
    standard = standardise(resampled)  # (n, L)
    centres, median_rr = _as_authors(clean(standard)) if beats == "authors" else _of_all_leads(clean(standard))  # (n,)
    half = min(int(median_rr / 2), WINDOW // 2)
    if rate != FS or raw:
        standard = resample(signal, fs, rate)  # (n', L)
        standard = standard if raw else standardise(standard)
    positions = np.rint(centres * (rate / FS)).astype(np.int64)  # (n,)
    half = int(half * rate / FS)
    samples = WINDOW * rate // FS
    windows = np.zeros((len(positions), samples, signal.shape[1]), np.float32)  # (n, S, L)
    for window, centre in zip(windows, positions, strict=True):
        beat = standard[max(centre - half, 0) : centre + half]  # (s, L), as much as the recording has
        begin = (samples - len(beat)) // 2  # an odd zero is right of it
        window[begin : begin + len(beat)] = beat
    return BeatWindows(windows, centres, median_rr)


def _as_authors(cleaned: Doubles) -> tuple[Ints, float]:
    """Find the R peaks (n,) of (L, n), by index medians over the leads, and the median RR interval. Raises Unusable."""
    peaks = find_r_peaks(cleaned)
    table = np.array([*zip_longest(*peaks, fillvalue=np.nan)], float)  # (n, L) i-th peak of each lead
    if len(table) < 2:
        raise Unusable("no beats found: no lead has two R peaks")
    median_rr = float(_medians(_medians(np.diff(table, axis=0).T)[None])[0])
    if median_rr > WINDOW:
        raise Unusable(f"heart rate below 50/min: median RR {median_rr:g} samples at {FS} Hz")
    return _medians(table).astype(np.int64), median_rr


def _of_all_leads(cleaned: Doubles) -> tuple[Ints, float]:
    """Find the R peaks (n,) of (L, n), of all leads together, and the median RR interval. Raises Unusable."""
    peaks = fused_r_peaks(cleaned).astype(np.int64)  # (n,)
    if len(peaks) < 2:
        raise Unusable("no beats found: fewer than two R peaks")
    return peaks, float(np.median(np.diff(peaks)))


def pseudo_trials(signal: AnyFloats, fs: float, beats_per_trial: int) -> Floats:
    """Make the normalised pseudo-trials of a recording (n, L): (T, beats_per_trial * 300, L), T = 0 if unusable."""
    try:
        windows = heartbeats(signal, fs).windows
    except Unusable:
        windows = np.zeros((0, WINDOW, signal.shape[1]), np.float32)
    return normalise_trials(windows, beats_per_trial)


def normalise_trials(windows: AnyFloats, per_trial: int) -> Floats:
    """Join consecutive windows (n, S, L) to (n // per_trial, per_trial * S, L); the rest is dropped.

    Each pseudo-trial and lead is z-scored over its whole length, zero padding included, as the authors do on loading.
    """
    _, samples, leads = windows.shape
    count = len(windows) // per_trial
    joined = windows[: count * per_trial].astype(np.float64)
    joined = joined.reshape(count, per_trial * samples, leads)  # (T, per_trial * S, L)
    deviation = joined.std(axis=1, keepdims=True)  # (T, 1, L)
    deviation[deviation == 0] = MIN_DEVIATION
    joined -= joined.mean(axis=1, keepdims=True)
    return np.asarray(joined / deviation, np.float32)


def resample(signal: AnyFloats, fs: float, rate: int = FS) -> Doubles:
    """Resample a recording (n, L) to `rate` Hz, int(n * rate / fs) points.

    To 250 Hz as the authors do: linear interpolation from the first sample to the last, no anti-alias filter. To any
    other rate by a polyphase filter, which removes what the lower rate cannot hold.
    """
    n = len(signal)
    if fs == rate:
        return signal.astype(np.float64)
    if rate != FS:
        from scipy.signal import resample_poly  # here, because it loads slowly and prepared data need no filter

        share = (Fraction(rate) / Fraction(fs)).limit_denominator(1000)
        resampled = resample_poly(signal.astype(np.float64), share.numerator, share.denominator, padtype="line")
        return np.asarray(resampled[: int(n * rate / fs)])
    position = np.arange(1, n + 1)  # (n,)
    grid = np.linspace(1, n, int(n * FS / fs))  # (m,)
    return np.stack([np.interp(grid, position, lead) for lead in signal.T], axis=1)  # (m, L)


def standardise(signal: Doubles) -> Doubles:
    """Compute z-scores per lead (ddof 0); a flat lead becomes zero."""
    flat = np.ptp(signal, axis=0) == 0  # (L,)
    centred = np.where(flat, 0.0, signal - signal.mean(axis=0))  # (n, L)
    return centred / np.where(flat, 1, signal.std(axis=0))


def clean(signal: Doubles) -> Doubles:
    """Filter as neurokit2's `ecg_clean` at 250 Hz, all leads at once: (n, L) -> (L, n), the same bits.

    High-pass Butterworth of order 5 at 0.5 Hz, then a moving average over one 50 Hz period, each forward and backward.
    """
    from scipy.signal import filtfilt, sosfiltfilt  # here, because it loads slowly and prepared data need no filter

    drift_free = sosfiltfilt(_highpass(), np.ascontiguousarray(signal.T))  # (L, n)
    return np.asarray(filtfilt(np.ones(PERIOD), [PERIOD], drift_free))


@cache
def _highpass() -> Doubles:
    """Return its second-order sections, (3, 6)."""
    from scipy.signal import butter

    return np.asarray(butter(5, 0.5, btype="highpass", output="sos", fs=FS))


def _medians(values: Doubles) -> Doubles:
    """Return the median of each row (n, m) without NaN; NaN where all is. Faster than nanmedian on short rows."""
    count = np.isfinite(values).sum(axis=1)  # (n,)
    ordered = np.sort(values)  # NaN comes last
    rows = np.arange(len(values))
    return np.asarray((ordered[rows, (count - 1) // 2] + ordered[rows, count // 2]) / 2)  # at count 0, row -1 is NaN
