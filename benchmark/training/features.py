"""Hand-crafted features of a window: clinical measures of each lead's median beat, and the rhythm.

Input of the row `features`: the windows that the encoders see. These are normalised per lead, so that amplitudes are in
standard deviations; only the ratios between limb leads can be recovered, from Einthoven's law (`axes`). QRS complexes
are the maxima of the absolute slope, averaged over leads and 40 ms, which needs neither a choice of lead nor a
threshold in mV. A window of one heartbeat has its rate in its unpadded width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import FS
from benchmark.results.arrays import AnyFloats, Doubles, Floats, Ints
from benchmark.results.names import HEART_RATE, QRS_AMPLITUDE

BEFORE = int(0.3 * FS)
AFTER = int(0.5 * FS)
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
TINY = 1e-6


class Rhythm(NamedTuple):
    """The rhythm of a window, in samples; intervals are -1 where there is a single beat."""

    width: int
    """Samples without padding."""
    before: int
    """Samples between the first one without padding and the first QRS centre."""
    after: int
    """Samples between the last QRS centre and the last one without padding."""
    beats: int
    interval: float
    """Median interval between beats."""
    variation: float
    """Standard deviation of the intervals over their mean."""
    evenness: float
    """Shortest interval over the longest."""


class AlignedBeats(NamedTuple):
    """The beats of a window, aligned at their QRS centres."""

    median: Floats
    """(T, L) over the beats."""
    spread: Floats
    """(L,) standard deviation over the beats, mean over time."""
    rhythm: Rhythm


class QRS(NamedTuple):
    """Measures of the QRS complexes, (n, L) each; their order is that of the features."""

    q: Floats
    r: Floats
    s: Floats
    r_share: Floats
    """Amplitude of the R wave as a share of the height."""
    q_width: Floats
    r_time: Doubles
    """Samples from the onset to the R peak."""
    height: Floats
    area: Floats
    """Mean over the complex."""
    size: Floats
    """Mean of the absolute values over the complex."""
    upstroke: Floats
    downstroke: Floats
    fragmentation: Floats
    """Total variation over the height."""


def beat_features(windows: AnyFloats) -> Floats:
    """Compute features (n, F) of windows (n, S, 12) at 250 Hz, always finite. Non-finite samples count as 0."""
    signal = np.nan_to_num(windows.astype(np.float32), posinf=0.0, neginf=0.0)  # (n, S, L)
    aligned = [beats_of(window) for window in signal]
    medians = np.array([beats.median for beats in aligned])  # (n, T, L)
    spreads = np.array([beats.spread for beats in aligned])  # (n, L)
    rhythms = np.array([beats.rhythm for beats in aligned])  # (n, 7)
    onset, end = qrs_edges(medians)  # (n, 1), (n, 1)
    baseline = cut(medians, onset, PR).mean(1, keepdims=True)  # (n, 1, L)
    beat = medians - baseline  # (n, T, L)
    qrs = qrs_measures(beat, onset, end)
    p_wave = cut(beat, onset, P_WAVE)  # (n, W, L)
    t_wave = cut(beat, end, T_WAVE)  # (n, W, L)
    st = cut(beat, end, ST)  # (n, W, L)
    j, j60, j80 = st[:, 0], st[:, 15], st[:, 20]  # (n, L) at the J point, 60 and 80 ms later
    smooth = uniform_filter1d(beat, 5, axis=1)  # (n, T, L)
    shape = smooth[:, np.add(BEFORE, SHAPE)]  # (n, 10, L)
    columns = [rhythms, onset, end, end - onset, spreads, *qrs]
    columns += [j, j60, j80, j80 - j]
    columns += wave_measures(t_wave)
    columns += wave_measures(p_wave)
    columns += axes(beat, qrs.area, t_wave.mean(1))
    columns += [next_lead_correlation(beat), *shape.swapaxes(0, 1)]
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
    if row == QRS_AMPLITUDE:
        return features[:, HEIGHTS].mean(1, keepdims=True)
    return features


def beats_of(window: Floats) -> AlignedBeats:
    """Find and align the beats of a window (S, L)."""
    first, last = unpadded(window)
    centres = qrs_centres(window, first, last)  # (P,)
    samples = centres[:, None] + np.arange(-BEFORE, AFTER)  # (P, T)
    beats = window[np.clip(samples, first, last)]  # (P, T, L)
    rhythm = rhythm_of(centres, first, last)
    return AlignedBeats(np.median(beats, axis=0), beats.std(0).mean(0), rhythm)


def unpadded(window: Floats) -> tuple[int, int]:
    """Find the first and last sample of the signal of a window (S, L), whose padding repeats them."""
    moves = np.flatnonzero((window[1:] != window[:-1]).any(1))
    if len(moves) == 0:
        return 0, len(window) - 1
    return moves[0], moves[-1] + 1


def qrs_centres(window: Floats, first: int, last: int) -> Ints:
    """Find the samples (P,) of the QRS centres of a window (S, L) between two samples; at least one."""
    from scipy.signal import find_peaks  # here, because it loads slowly

    slope = np.abs(np.diff(window, axis=0, prepend=window[:1])).mean(1)  # (S,)
    slope[: first + 2] = slope[last:] = 0  # the steps from padding to signal
    average = uniform_filter1d(slope, COMPLEX)  # (S,)
    peaks, _ = find_peaks(average, height=THRESHOLD * average.max(), distance=REFRACTORY)  # (P,)
    if len(peaks) == 0:
        peaks = np.array([average.argmax()])
    near = np.clip(peaks[:, None] + AROUND, 0, len(slope) - 1)  # (P, W)
    weight = slope[near].astype(np.float64) ** 2 + 1e-12  # (P, W)
    centre = (near * weight).sum(1) / weight.sum(1)  # (P,)
    return np.rint(centre).astype(int)


def rhythm_of(centres: Ints, first: int, last: int) -> Rhythm:
    """Measure the rhythm of QRS centres (P,) in a signal from its first to its last sample."""
    edges = (last - first, centres[0] - first, last - centres[-1])
    rr = np.diff(centres)  # (P - 1,)
    if len(rr) == 0:
        return Rhythm(*edges, len(centres), -1, -1, -1)
    variation = rr.std() / rr.mean()
    evenness = rr.min() / rr.max()
    return Rhythm(*edges, len(centres), float(np.median(rr)), float(variation), float(evenness))


def qrs_edges(beat: Floats) -> tuple[Ints, Ints]:
    """Find the first and last sample (n, 1) of the QRS complexes of aligned beats (n, T, L)."""
    steps = np.abs(np.diff(beat, axis=1, prepend=beat[:, :1])).mean(2)  # (n, T)
    slope = uniform_filter1d(steps, 5, axis=1)  # (n, T)
    peak = slope[:, BEFORE - COMPLEX : BEFORE + COMPLEX + 1].max(1, keepdims=True)  # (n, 1)
    rest = np.median(slope[:, BEFORE - 50 : BEFORE + 50], axis=1, keepdims=True)  # (n, 1)
    quiet = slope <= rest + EDGE * (peak - rest)  # (n, T)
    # Search outside the steepest part: from the centre the search would stop at the flat top of the R wave.
    quiet[:, BEFORE - COMPLEX // 2 : BEFORE + COMPLEX // 2 + 1] = False
    quiet[:, [BEFORE - REACH, BEFORE + REACH]] = True  # the search ends there
    backwards = quiet[:, BEFORE::-1].argmax(1, keepdims=True)  # (n, 1)
    forwards = quiet[:, BEFORE:].argmax(1, keepdims=True)  # (n, 1)
    return BEFORE - backwards, BEFORE + forwards


def cut(beat: Floats, edge: Ints, stretch: tuple[int, int]) -> Floats:
    """Cut a stretch of samples from an edge (n, 1) of aligned beats (n, T, L): (n, W, L)."""
    index = np.clip(edge + np.arange(*stretch), 0, beat.shape[1] - 1)  # (n, W)
    return np.take_along_axis(beat, index[..., None], axis=1)


def qrs_measures(beat: Floats, onset: Ints, end: Ints) -> QRS:
    """Measure Q, R and S waves, areas, slopes and fragmentation of each lead.

    onset, end: (n, 1) of the complexes of aligned beats (n, T, L).
    """
    time = BEFORE + AROUND[:, None]  # (W, 1)
    near = beat[:, BEFORE + AROUND]  # (n, W, L)
    inside = (time >= onset[..., None]) & (time <= end[..., None])  # (n, W, 1)
    crests = np.where(inside, near, -np.inf)  # (n, W, L)
    troughs = np.where(inside, near, np.inf)  # (n, W, L)
    r = crests.max(1)  # (n, L)
    peak = crests.argmax(1) + BEFORE - REACH  # (n, L)
    # Without an R wave the trough is a Q wave (QS complex); the maximum is noise.
    has_no_r = r < NO_WAVE * (r - troughs.min(1))  # (n, L)
    peak = np.where(has_no_r, end, peak)  # (n, L)
    before = time <= peak[:, None]  # (n, W, L)
    after = time >= peak[:, None]  # (n, W, L)
    q = np.where(before, troughs, np.inf).min(1)  # (n, L)
    s = np.where(after, troughs, np.inf).min(1)  # (n, L)
    height = r - np.minimum(q, s) + TINY  # (n, L)
    is_q = (troughs < -NO_WAVE * height[:, None]) & before  # (n, W, L)
    samples = inside.sum(1)  # (n, 1)
    step = np.diff(near, axis=1, prepend=near[:, :1]) * inside  # (n, W, L)
    return QRS(
        q=q,
        r=r,
        s=s,
        r_share=r / height,
        q_width=is_q.sum(1),
        r_time=peak - onset,
        height=height,
        area=(near * inside).sum(1) / samples,
        size=(np.abs(near) * inside).sum(1) / samples,
        upstroke=step.max(1),
        downstroke=step.min(1),
        fragmentation=np.abs(step).sum(1) / height,
    )


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
    covariance = limb.transpose(0, 2, 1) @ limb  # (n, 3, 3)
    smallest = np.linalg.eigh(covariance).eigenvectors[:, :, 0]  # (n, 3) of length 1
    scale = np.abs(smallest)
    angles = []
    for mean in means:
        lead_i, lead_ii, lead_iii = (mean[:, LIMB] * scale).T  # (n,) each
        # aVF = (II + III) / 2; augmented leads are scaled by 2 / sqrt(3) to compare with I.
        vertical = (lead_ii + lead_iii) / np.sqrt(3)  # (n,)
        angle = np.degrees(np.arctan2(vertical, lead_i))  # (n,)
        angles.append(angle[:, None])
    between = np.abs(angles[0] - angles[1])  # (n, 1)
    return [*angles, np.minimum(between, 360 - between), scale]


def next_lead_correlation(beat: Floats) -> NDArray[Any]:
    """Correlate each lead of beats (n, T, L) with the next one over time: (n, L); 0 where one is flat."""
    beat = beat - beat.mean(1, keepdims=True)  # (n, T, L)
    products = (beat * np.roll(beat, -1, axis=2)).sum(1)  # (n, L)
    energy = (beat**2).sum(1)  # (n, L)
    scale = np.sqrt(energy * np.roll(energy, -1, axis=1))  # (n, L)
    return np.asarray(products / (scale + TINY))
