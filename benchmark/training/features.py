"""Hand-crafted features of a window: clinical measures of each lead's median beat, and the rhythm.

Input of the row `features`: the windows that the encoders see. These are normalised per lead, so that amplitudes are in
standard deviations; only the ratios between limb leads can be recovered, from Einthoven's law (`limb_scales`). QRS
complexes are the maxima of the absolute slope, averaged over leads and 40 ms, which needs neither a choice of lead nor
a threshold in mV. A window of one heartbeat has its rate in its unpadded width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import FS

BEFORE, AFTER = int(0.3 * FS), int(0.5 * FS)
"""Samples of an aligned beat before, and from, its QRS centre."""
COMPLEX = int(0.04 * FS)
"""Samples over which the slope is averaged to find a complex."""
REACH = int(0.12 * FS)
"""Maximum samples from the QRS centre to its edges."""
REFRACTORY = int(0.24 * FS)
"""Minimum samples between two beats."""
THRESHOLD, EDGE = 0.4, 0.15
"""Shares of the slope: of a complex in a window, of its highest; of the edges of a QRS complex, above its rest."""
NO_WAVE = 0.1
"""Minimum amplitude of a Q or R wave, as a share of the QRS height in the lead."""
PR, P_WAVE, T_WAVE = (-12, -2), (-50, -14), (20, 90)
"""Samples of the PR segment and the P wave from the onset, and of the T wave from the end of the QRS complex."""
SHAPE = (-40, -20, -10, -5, 0, 5, 10, 30, 50, 70)
"""Samples from the QRS centre whose values are features, -160 to 280 ms."""
LIMB = [LEADS.index(lead) for lead in ("I", "II", "III")]
TINY = 1e-6
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class AlignedBeats(NamedTuple):
    """The beats of a window, aligned at their QRS centres."""

    median: Floats  # (BEFORE + AFTER, L)
    spread: Floats  # (L,) mean deviation of the beats from their mean
    rhythm: tuple[float, ...]


def beat_features(windows: NDArray[np.floating[Any]]) -> Floats:
    """Compute features (n, F) of windows (n, S, 12) at 250 Hz, always finite. Non-finite samples count as 0."""
    signal = np.nan_to_num(windows.astype(np.float32), posinf=0.0, neginf=0.0)  # (n, S, L)
    per_window = [beats_of(window) for window in signal]
    beat = np.stack([beats.median for beats in per_window])  # (n, T, L)
    onset, end = qrs_edges(beat)  # (n,), (n,)
    beat = beat - at(beat, onset, *PR).mean(axis=1, keepdims=True)  # (n, T, L)
    t_wave = at(beat, end, *T_WAVE)  # (n, W, L)
    columns = (
        np.array([beats.rhythm for beats in per_window]), np.stack([onset, end, end - onset], 1),
        np.stack([beats.spread for beats in per_window]), *qrs_measures(beat, onset, end), *st_measures(beat, end),
        *wave_measures(t_wave), *wave_measures(at(beat, onset, *P_WAVE)), *axes(beat, onset, end, t_wave),
        correlation(beat, np.roll(beat, -1, axis=2)),
        *(uniform_filter1d(beat, 5, axis=1)[:, BEFORE + sample] for sample in SHAPE),
    )  # fmt: skip
    return np.concatenate(columns, axis=1).astype(np.float32)  # (n, F)


def beats_of(window: Floats) -> AlignedBeats:
    """Find the beats of a window (S, L); padding repeats its first or last sample."""
    from scipy.signal import find_peaks  # here, because it loads slowly

    moves = np.flatnonzero((window[1:] != window[:-1]).any(axis=1))
    first, last = (int(moves[0]), int(moves[-1]) + 1) if len(moves) else (0, len(window) - 1)
    slope = np.abs(np.diff(window, axis=0, prepend=window[:1])).mean(axis=1)  # (S,)
    slope[: first + 2] = slope[last:] = 0  # the steps from padding to signal
    average = uniform_filter1d(slope, COMPLEX)  # (S,)
    peaks = find_peaks(average, height=THRESHOLD * average.max(), distance=REFRACTORY)[0]  # (P,)
    peaks = peaks if len(peaks) else np.array([average.argmax()])
    near = np.clip(peaks[:, None] + np.arange(-REACH, REACH + 1), 0, len(slope) - 1)  # (P, 2 REACH + 1)
    weight = slope[near].astype(np.float64) ** 2 + 1e-12  # (P, 2 REACH + 1)
    centres = np.rint((near * weight).sum(1) / weight.sum(1)).astype(int)  # (P,)
    beats = window[np.clip(centres[:, None] + np.arange(-BEFORE, AFTER), first, last)]  # (P, T, L)
    intervals = np.diff(centres)  # (P - 1,)
    rr: tuple[float, ...] = (-1, -1, -1)  # a single beat
    if len(intervals):
        rr = (np.median(intervals), intervals.std() / intervals.mean(), intervals.min() / intervals.max())
    rhythm = (last - first, centres[0] - first, last - centres[-1], len(centres), *rr)
    return AlignedBeats(np.median(beats, axis=0), beats.std(axis=0).mean(axis=0), rhythm)


def qrs_edges(beat: Floats) -> tuple[Ints, Ints]:
    """Find the first and last sample (n,) of the QRS complexes of aligned beats (n, T, L)."""
    slope = uniform_filter1d(np.abs(np.diff(beat, axis=1, prepend=beat[:, :1])).mean(axis=2), 5, axis=1)  # (n, T)
    peak = slope[:, BEFORE - COMPLEX : BEFORE + COMPLEX + 1].max(axis=1)  # (n,)
    rest = np.median(slope[:, BEFORE - 50 : BEFORE + 50], axis=1)  # (n,)
    quiet = slope <= (rest + EDGE * (peak - rest))[:, None]  # (n, T)
    # Search outside the steepest part: from the centre the search would stop at the flat top of the R wave.
    quiet[:, BEFORE - COMPLEX // 2 : BEFORE + COMPLEX // 2 + 1] = False
    before, after = quiet[:, BEFORE - REACH : BEFORE][:, ::-1], quiet[:, BEFORE + 1 : BEFORE + 1 + REACH]  # (n, REACH)
    onset = BEFORE - 1 - np.where(before.any(axis=1), before.argmax(axis=1), REACH - 1)  # (n,)
    end = BEFORE + 1 + np.where(after.any(axis=1), after.argmax(axis=1), REACH - 1)  # (n,)
    return onset, end


def at(beat: Floats, edge: Ints, first: int, stop: int) -> Floats:
    """Cut samples from an edge (n,) of aligned beats (n, T, L): (n, W, L)."""
    index = np.clip(edge[:, None] + np.arange(first, stop), 0, beat.shape[1] - 1)  # (n, W)
    return np.take_along_axis(beat, index[:, :, None], axis=1)


def qrs_measures(beat: Floats, onset: Ints, end: Ints) -> list[NDArray[Any]]:
    """Measure Q, R and S waves, areas, slopes and fragmentation (total variation) of each lead: (n, L) each."""
    time = np.arange(BEFORE - REACH, BEFORE + REACH + 1)[None, :, None]  # (1, W, 1)
    near = beat[:, BEFORE - REACH : BEFORE + REACH + 1]  # (n, W, L)
    inside = (time >= onset[:, None, None]) & (time <= end[:, None, None])  # (n, W, 1)
    crests, troughs = np.where(inside, near, -np.inf), np.where(inside, near, np.inf)  # (n, W, L)
    r, peak = crests.max(axis=1), crests.argmax(axis=1) + BEFORE - REACH  # (n, L), (n, L)
    # Without an R wave the trough is a Q wave (QS complex); the maximum is noise.
    peak = np.where(r < NO_WAVE * (r - troughs.min(axis=1)), end[:, None], peak)  # (n, L)
    before = time <= peak[:, None]  # (n, W, L)
    q = np.where(before, troughs, np.inf).min(axis=1)  # (n, L)
    s = np.where(time >= peak[:, None], troughs, np.inf).min(axis=1)  # (n, L)
    height = r - np.minimum(q, s) + TINY  # (n, L)
    step = np.diff(near, axis=1, prepend=near[:, :1]) * inside  # (n, W, L)
    q_width = ((troughs < -NO_WAVE * height[:, None]) & before).sum(axis=1)  # (n, L)
    count = inside.sum(axis=1)  # (n, 1)
    area, size = (near * inside).sum(axis=1) / count, (np.abs(near) * inside).sum(axis=1) / count  # (n, L), (n, L)
    variation = np.abs(step).sum(axis=1) / height  # (n, L)
    delay = peak - onset[:, None]  # (n, L)
    return [q, r, s, r / height, q_width, delay, height, area, size, step.max(axis=1), step.min(axis=1), variation]


def st_measures(beat: Floats, end: Ints) -> list[Floats]:
    """Measure the level at the J point and 60 and 80 ms later, and the rise from J to 80 ms: (n, L) each."""
    j, j60, j80 = (at(beat, end, sample, sample + 1)[:, 0] for sample in (0, 15, 20))  # (n, L)
    return [j, j60, j80, j80 - j]


def wave_measures(wave: Floats) -> list[NDArray[Any]]:
    """Measure a P or T wave (n, W, L): maximum, minimum, signed peak and its time, mean, deviation: (n, L) each."""
    peak = np.abs(wave).argmax(axis=1)  # (n, L)
    amplitude = np.take_along_axis(wave, peak[:, None], axis=1)[:, 0]  # (n, L)
    return [wave.max(axis=1), wave.min(axis=1), amplitude, peak, wave.mean(axis=1), wave.std(axis=1)]


def axes(beat: Floats, onset: Ints, end: Ints, t_wave: Floats) -> list[NDArray[Any]]:
    """Measure the electrical axes of QRS and T in degrees, the angle between them, and the limb leads' scales."""
    scale = limb_scales(beat)  # (n, 3)
    time = np.arange(beat.shape[1])[None, :, None]  # (1, T, 1)
    inside = (time >= onset[:, None, None]) & (time <= end[:, None, None])  # (n, T, 1)
    angles = []
    for mean in ((beat * inside).sum(axis=1) / inside.sum(axis=1), t_wave.mean(axis=1)):  # (n, L)
        one, two, three = (mean[:, LIMB] * scale).T  # (n,) each
        # aVF = (II + III) / 2; augmented leads are scaled by 2 / sqrt(3) to compare with I.
        angles.append(np.degrees(np.arctan2((two + three) / np.sqrt(3), one))[:, None])  # (n, 1)
    between = np.abs(angles[0] - angles[1])  # (n, 1)
    return [*angles, np.minimum(between, 360 - between), scale]


def limb_scales(beat: Floats) -> NDArray[np.float64]:
    """Compute factors (n, 3), of length 1, that bring the normalised leads I, II and III of (n, T, L) to one unit.

    I - II + III = 0 in mV, so the normalised leads have one vanishing combination, and its weights are the leads'
    standard deviations: the eigenvector of their covariance with the smallest eigenvalue.
    """
    limb = beat[:, :, LIMB].astype(np.float64)  # (n, T, 3)
    limb -= limb.mean(axis=1, keepdims=True)
    vanishing = np.linalg.eigh(limb.transpose(0, 2, 1) @ limb).eigenvectors[:, :, 0]  # (n, 3)
    return np.asarray(np.abs(vanishing), np.float64)


def correlation(a: Floats, b: Floats) -> NDArray[Any]:
    """Correlate (n, T, L) with (n, T, L) over time: (n, L); 0 where one is flat."""
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return np.asarray((a * b).sum(axis=1) / (np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)) + TINY))
