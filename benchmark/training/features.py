"""Hand-crafted features of a window: clinical measures of each lead's median beat, and the rhythm.

Input of the row `features`: the windows that the encoders see. These are normalised per lead, so that amplitudes are in
standard deviations; only the ratios between limb leads can be recovered, from Einthoven's law (`axes`). QRS complexes
are the maxima of the absolute slope, averaged over leads and 40 ms, which needs neither a choice of lead nor a
threshold in mV. A window of one heartbeat has its rate in its unpadded width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import FS
from benchmark.results.arrays import AnyFloats, Floats, Ints
from benchmark.results.names import HEART_RATE, QRS_AMPLITUDE

BEFORE, AFTER = int(0.3 * FS), int(0.5 * FS)
"""Samples of an aligned beat before, and from, its QRS centre."""
COMPLEX = int(0.04 * FS)
"""Samples over which the slope is averaged to find a complex."""
REACH = int(0.12 * FS)
"""Maximum samples from the QRS centre to its edges."""
AROUND = np.arange(-REACH, REACH + 1)
REFRACTORY = int(0.24 * FS)
"""Minimum samples between two beats."""
THRESHOLD, EDGE = 0.4, 0.15
"""Shares of the slope: of a complex in a window, of its highest; of the edges of a QRS complex, above its rest."""
NO_WAVE = 0.1
"""Minimum amplitude of a Q or R wave, as a share of the QRS height in the lead."""
PR, P_WAVE, ST, T_WAVE = (-12, -2), (-50, -14), (0, 21), (20, 90)
"""Samples of the PR segment and the P wave from the onset, and of ST segment and T wave from the end of the QRS."""
SHAPE = (-40, -20, -10, -5, 0, 5, 10, 30, 50, 70)
"""Samples from the QRS centre whose values are features, -160 to 280 ms."""
LIMB = [LEADS.index(lead) for lead in ("I", "II", "III")]
AREA = 7  # position of the mean over the QRS complex in `qrs_measures`
TINY = 1e-6


def beat_features(windows: AnyFloats) -> Floats:
    """Compute features (n, F) of windows (n, S, 12) at 250 Hz, always finite. Non-finite samples count as 0."""
    signal = np.nan_to_num(windows.astype(np.float32), posinf=0.0, neginf=0.0)  # (n, S, L)
    medians, spreads, rhythms = (np.array(part) for part in zip(*map(beats_of, signal), strict=True))
    onset, end = qrs_edges(medians)  # (n, 1), (n, 1)
    beat = medians - cut(medians, onset, PR).mean(1, keepdims=True)  # (n, T, L)
    qrs, t_wave, st = qrs_measures(beat, onset, end), cut(beat, end, T_WAVE), cut(beat, end, ST)
    j, j60, j80 = st[:, 0], st[:, 15], st[:, 20]  # (n, L) at the J point, 60 and 80 ms later
    columns = (
        rhythms, onset, end, end - onset, spreads, *qrs, j, j60, j80, j80 - j, *wave_measures(t_wave),
        *wave_measures(cut(beat, onset, P_WAVE)), *axes(beat, qrs[AREA], t_wave.mean(1)), next_lead_correlation(beat),
        *uniform_filter1d(beat, 5, axis=1)[:, np.add(BEFORE, SHAPE)].swapaxes(0, 1),
    )  # fmt: skip
    return np.concatenate(columns, axis=1).astype(np.float32)  # (n, F)


HEIGHTS = slice(94, 106)
"""Features that are the height of the QRS complex in each lead."""


def read_by(row: str, features: Floats) -> Floats:
    """Take from features (n, F) those that a row reads: all, or one measure (n, 1).

    The heart rate is the median interval of a window's beats or, of one beat, its unpadded width; the QRS amplitude is
    the mean height over the leads, in mV where windows are not normalised.
    """
    if row == HEART_RATE:
        width, interval = features[:, :1], features[:, 4:5]  # (n, 1), (n, 1)
        return np.where(interval > 0, interval, width)
    return features[:, HEIGHTS].mean(1, keepdims=True) if row == QRS_AMPLITUDE else features


def beats_of(window: Floats) -> tuple[Floats, Floats, tuple[float, ...]]:
    """Give median beat (T, L), spread (L,) and rhythm of the beats of a window (S, L), aligned at their QRS centres.

    Padding repeats the first or last sample of the window's signal.
    """
    from scipy.signal import find_peaks  # here, because it loads slowly

    moves = np.flatnonzero((window[1:] != window[:-1]).any(1))
    first, last = (moves[0], moves[-1] + 1) if len(moves) else (0, len(window) - 1)
    slope = np.abs(np.diff(window, axis=0, prepend=window[:1])).mean(1)  # (S,)
    slope[: first + 2] = slope[last:] = 0  # the steps from padding to signal
    average = uniform_filter1d(slope, COMPLEX)  # (S,)
    peaks = find_peaks(average, height=THRESHOLD * average.max(), distance=REFRACTORY)[0]  # (P,)
    peaks = peaks if len(peaks) else np.array([average.argmax()])
    near = np.clip(peaks[:, None] + AROUND, 0, len(slope) - 1)  # (P, W)
    weight = slope[near].astype(np.float64) ** 2 + 1e-12  # (P, W)
    centres = np.rint((near * weight).sum(1) / weight.sum(1)).astype(int)  # (P,)
    beats = window[np.clip(centres[:, None] + np.arange(-BEFORE, AFTER), first, last)]  # (P, T, L)
    rr = np.diff(centres)  # (P - 1,)
    intervals = (np.median(rr), rr.std() / rr.mean(), rr.min() / rr.max()) if len(rr) else (-1, -1, -1)
    rhythm = (last - first, centres[0] - first, last - centres[-1], len(centres), *intervals)
    return np.median(beats, axis=0), beats.std(0).mean(0), rhythm


def qrs_edges(beat: Floats) -> tuple[Ints, Ints]:
    """Find the first and last sample (n, 1) of the QRS complexes of aligned beats (n, T, L)."""
    slope = uniform_filter1d(np.abs(np.diff(beat, axis=1, prepend=beat[:, :1])).mean(2), 5, axis=1)  # (n, T)
    peak = slope[:, BEFORE - COMPLEX : BEFORE + COMPLEX + 1].max(1, keepdims=True)  # (n, 1)
    rest = np.median(slope[:, BEFORE - 50 : BEFORE + 50], axis=1, keepdims=True)  # (n, 1)
    quiet = slope <= rest + EDGE * (peak - rest)  # (n, T)
    # Search outside the steepest part: from the centre the search would stop at the flat top of the R wave.
    quiet[:, BEFORE - COMPLEX // 2 : BEFORE + COMPLEX // 2 + 1] = False
    quiet[:, [BEFORE - REACH, BEFORE + REACH]] = True  # where the search ends
    onset = BEFORE - quiet[:, BEFORE::-1].argmax(1, keepdims=True)  # (n, 1)
    return onset, BEFORE + quiet[:, BEFORE:].argmax(1, keepdims=True)


def cut(beat: Floats, edge: Ints, stretch: tuple[int, int]) -> Floats:
    """Cut a stretch of samples from an edge (n, 1) of aligned beats (n, T, L): (n, W, L)."""
    index = np.clip(edge + np.arange(*stretch), 0, beat.shape[1] - 1)  # (n, W)
    return np.take_along_axis(beat, index[..., None], axis=1)


def qrs_measures(beat: Floats, onset: Ints, end: Ints) -> list[NDArray[Any]]:
    """Measure Q, R and S waves, areas, slopes and fragmentation (total variation) of each lead: (n, L) each.

    onset, end: (n, 1) of the complexes of aligned beats (n, T, L).
    """
    time = BEFORE + AROUND[:, None]  # (W, 1)
    near = beat[:, BEFORE + AROUND]  # (n, W, L)
    inside = (time >= onset[..., None]) & (time <= end[..., None])  # (n, W, 1)
    crests, troughs = np.where(inside, near, -np.inf), np.where(inside, near, np.inf)  # (n, W, L)
    r, peak = crests.max(1), crests.argmax(1) + BEFORE - REACH  # (n, L), (n, L)
    # Without an R wave the trough is a Q wave (QS complex); the maximum is noise.
    peak = np.where(r < NO_WAVE * (r - troughs.min(1)), end, peak)  # (n, L)
    before = time <= peak[:, None]  # (n, W, L)
    q = np.where(before, troughs, np.inf).min(1)  # (n, L)
    s = np.where(time >= peak[:, None], troughs, np.inf).min(1)  # (n, L)
    height = r - np.minimum(q, s) + TINY  # (n, L)
    step = np.diff(near, axis=1, prepend=near[:, :1]) * inside  # (n, W, L)
    q_width = ((troughs < -NO_WAVE * height[:, None]) & before).sum(1)  # (n, L)
    area, size = ((x * inside).sum(1) / inside.sum(1) for x in (near, np.abs(near)))  # (n, L), (n, L)
    variation = np.abs(step).sum(1) / height  # (n, L)
    return [q, r, s, r / height, q_width, peak - onset, height, area, size, step.max(1), step.min(1), variation]


def wave_measures(wave: Floats) -> list[NDArray[Any]]:
    """Measure a P or T wave (n, W, L): maximum, minimum, signed peak and its time, mean, deviation: (n, L) each."""
    peak = np.abs(wave).argmax(1)  # (n, L)
    amplitude = np.take_along_axis(wave, peak[:, None], axis=1)[:, 0]  # (n, L)
    return [wave.max(1), wave.min(1), amplitude, peak, wave.mean(1), wave.std(1)]


def axes(beat: Floats, *means: Floats) -> list[NDArray[Any]]:
    """Measure the electrical axes in degrees of the mean QRS and T, the angle between them, the limb leads' scales.

    means: (n, L) each. The scales (n, 3) bring the normalised leads I, II and III to one unit: as I - II + III = 0 in
    mV, the normalised leads have one vanishing combination, whose weights are the leads' standard deviations: the
    eigenvector of the covariance with the smallest eigenvalue.
    """
    limb = beat[:, :, LIMB].astype(np.float64)  # (n, T, 3)
    limb -= limb.mean(1, keepdims=True)
    scale = np.abs(np.linalg.eigh(limb.transpose(0, 2, 1) @ limb).eigenvectors[:, :, 0])  # (n, 3) of length 1
    angles = []
    for mean in means:
        one, two, three = (mean[:, LIMB] * scale).T  # (n,) each
        # aVF = (II + III) / 2; augmented leads are scaled by 2 / sqrt(3) to compare with I.
        angles.append(np.degrees(np.arctan2((two + three) / np.sqrt(3), one))[:, None])  # (n, 1)
    between = np.abs(angles[0] - angles[1])  # (n, 1)
    return [*angles, np.minimum(between, 360 - between), scale]


def next_lead_correlation(beat: Floats) -> NDArray[Any]:
    """Correlate each lead of beats (n, T, L) with the next one over time: (n, L); 0 where one is flat."""
    beat = beat - beat.mean(1, keepdims=True)  # (n, T, L)
    energy, products = (beat**2).sum(1), beat * np.roll(beat, -1, axis=2)  # (n, L), (n, T, L)
    return np.asarray(products.sum(1) / (np.sqrt(energy * np.roll(energy, -1, axis=1)) + TINY))
