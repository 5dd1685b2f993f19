"""The row `features`: gradient boosting on hand-crafted beat features, the classical baseline.

It uses the same windows (at 250 Hz), labels and splits as the encoders, and minimises the same unweighted
cross-entropy.

Hand-crafted features of a window: clinical measures of a beat, from the same input as the encoders'.

Input of the classical baseline (`boosting`). Windows are normalised per lead, so amplitudes are in units of the lead's
standard deviation; only the ratios between limb leads can be recovered, from Einthoven's law (`limb_scales`).

Detect the beats of a window: one beat aligned on its QRS centre, QRS onset and offset, and rhythm measures.

The QRS complex is the maximum of the absolute slope, averaged over leads and `COMPLEX` samples; this needs neither a
choice of lead nor a threshold in mV, which normalised windows do not have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, uniform_filter1d
from threadpoolctl import threadpool_limits

from benchmark.config.schema import Boosting
from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import FS
from benchmark.data.segments import Kind
from benchmark.data.task import Task, Windows
from benchmark.machine.device import stream
from benchmark.training.finetune import Outcome, validation_score

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
"""Minimum samples between two beats of a crop."""
TINY_WEIGHT = 1e-12
"""Added to weights, so that a flat segment has a centroid."""
BEAT = 0.4
"""Detection threshold in a crop, as a share of its maximum averaged slope."""
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
    """Sample-wise median beat of each crop (n, S, L), and its rhythm measures."""
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
    weight = slope[row[:, None], near].astype(np.float64) ** 2 + TINY_WEIGHT  # (m, 2 REACH + 1)
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


FEATURES_VERSION = 3
"""Results version: raised with any change here, in `qrs` or in `boosting` that can alter results."""
CHUNK = 128
"""Windows measured at a time."""
TINY = 1e-6
"""Added to divisors that are 0 in a flat lead."""
PR_SEGMENT = (int(-0.048 * FS), int(-0.008 * FS))
"""Range of the isoelectric level, samples from QRS onset."""
P_WAVE = (int(-0.2 * FS), int(-0.056 * FS))
"""Search range of the P wave, samples from QRS onset."""
T_WAVE = (int(0.08 * FS), int(0.36 * FS))
"""Search range of the T wave, samples from QRS offset."""
SHAPE = (-40, -20, -10, -5, 0, 5, 10, 30, 50, 70)
"""Samples relative to the QRS centre whose values are features, -160 to 280 ms."""
NO_WAVE = 0.1
"""Minimum amplitude of a Q, R or S wave, as a share of the QRS height in the lead."""
LIMB = [LEADS.index(lead) for lead in ("I", "II", "III")]


class Wave(NamedTuple):
    """An interval of each aligned beat: the W samples that hold all, a mask of each one's own, and their number."""

    span: slice
    inside: NDArray[np.bool_]  # (n, W, 1)
    samples: NDArray[np.int64]  # (n, 1)


def beat_features(windows: NDArray[np.floating[Any]], kind: Kind = "heartbeats") -> Floats:
    """Features (n, F) of normalised windows (n, S, 12) at 250 Hz, in the order of `feature_names`; always finite.

    Of `heartbeats`, one padded beat each, the unpadded width gives the rate. Of `windows`, the beats give the rhythm
    and their median is measured. Times are in ms, amplitudes in the window's unit, slopes in that unit per sample.
    Non-finite samples count as 0. Raises ValueError for another shape.
    """
    if windows.ndim != 3 or windows.shape[2] != len(LEADS) or not windows.shape[1]:
        raise ValueError(f"windows of shape {windows.shape} cannot be measured: give (n, S, {len(LEADS)})")
    if not len(windows):
        return np.zeros((0, len(feature_names(kind))), np.float32)
    chunks = (windows[start : start + CHUNK] for start in range(0, len(windows), CHUNK))
    return np.concatenate([_table(_measures(chunk, kind)) for chunk in chunks])


def feature_names(kind: Kind = "heartbeats") -> tuple[str, ...]:
    """Names of the F features, e.g. 'QRS width', or 'R V1' for one measured in each lead."""
    names: list[str] = []
    for name, values in _measures(np.zeros((1, BEFORE + AFTER, len(LEADS)), np.float32), kind).items():
        names += [name] if values.ndim == 1 else [f"{name} {lead}" for lead in LEADS]
    return tuple(names)


def _table(measures: Measures) -> Floats:
    """Measures concatenated, (n, F)."""
    columns = [values.reshape(len(values), -1) for values in measures.values()]
    return np.asarray(np.concatenate(columns, axis=1), np.float32)  # (n, F)


def _measures(windows: NDArray[np.floating[Any]], kind: Kind) -> Measures:
    """All measures of windows (n, S, L), amplitudes relative to the PR segment."""
    finite = np.nan_to_num(windows.astype(np.float32), posinf=0.0, neginf=0.0)  # (n, S, L)
    beats = lone_beats(finite) if kind == "heartbeats" else median_beats(finite)
    onset, offset = qrs_edges(beats.signal)  # (n,), (n,)
    level = _mean(beats.signal, _wave(onset + PR_SEGMENT[0], onset + PR_SEGMENT[1]))  # (n, L)
    signal = beats.signal - level[:, None].astype(np.float32)  # (n, T, L)
    qrs, t_wave = _wave(onset, offset), _wave(offset + T_WAVE[0], offset + T_WAVE[1])
    p_wave = _wave(onset + P_WAVE[0], onset + P_WAVE[1])
    return {
        **beats.rhythm,
        "QRS onset": milliseconds(BEFORE - onset),
        "QRS width": milliseconds(offset - onset),
        **_qrs(signal, onset, offset, qrs),
        **_st_segment(signal, offset),
        **_bump("T", signal, t_wave),
        **_bump("P", signal, p_wave),
        **_frontal_plane(signal, qrs, t_wave),
        "correlation with the next lead": _correlation(signal, np.roll(signal, -1, axis=2)),
        **_shape(signal),
    }


def _wave(first: Ints, last: Ints) -> Wave:
    """The interval first to last (n,), inclusive, of aligned beats; of which what lies within the beat counts."""
    span = slice(max(int(first.min()), 0), min(int(last.max()) + 1, BEFORE + AFTER))
    time = np.arange(span.start, span.stop)  # (W,)
    inside = (time >= first[:, None]) & (time <= last[:, None])  # (n, W)
    return Wave(span, inside[:, :, None], inside.sum(axis=1, keepdims=True))


def _mean(signal: Floats, wave: Wave) -> NDArray[np.float64]:
    """Mean over a wave, (n, T, L) -> (n, L)."""
    return np.asarray((signal[:, wave.span] * wave.inside).sum(axis=1) / np.maximum(wave.samples, 1), np.float64)


def _qrs(signal: Floats, onset: Ints, offset: Ints, qrs: Wave) -> Measures:
    """Q, R and S waves, areas, slopes and fragmentation (total variation) of each lead."""
    time = np.arange(signal.shape[1])[qrs.span, None]  # (W, 1)
    crests = np.where(qrs.inside, signal[:, qrs.span], -np.inf)  # (n, W, L)
    troughs = np.where(qrs.inside, signal[:, qrs.span], np.inf)  # (n, W, L)
    r, peak = crests.max(axis=1), time[crests.argmax(axis=1), 0]  # (n, L), (n, L)
    # Without an R wave the trough is a Q wave (QS complex); the maximum is noise.
    peak = np.where(r < NO_WAVE * (r - troughs.min(axis=1)), offset[:, None], peak)  # (n, L)
    before, after = time <= peak[:, None], time >= peak[:, None]  # (n, W, L), (n, W, L)
    q = np.where(before, troughs, np.inf).min(axis=1)  # (n, L)
    s = np.where(after, troughs, np.inf).min(axis=1)  # (n, L)
    height = r - np.minimum(q, s) + TINY  # (n, L)
    step = np.diff(signal, axis=1, prepend=signal[:, :1])[:, qrs.span] * qrs.inside  # (n, W, L)
    below = (troughs < -NO_WAVE * height[:, None]) & before  # (n, W, L)
    return {
        "Q": q,
        "R": r,
        "S": s,
        "R share": r / height,
        "Q width": milliseconds(below.sum(axis=1)),
        "R time": milliseconds(peak - onset[:, None]),
        "QRS height": height,
        "QRS area": _mean(signal, qrs),
        "QRS size": _mean(np.abs(signal), qrs),
        "QRS steepest rise": step.max(axis=1),
        "QRS steepest fall": step.min(axis=1),
        "QRS fragmentation": np.abs(step).sum(axis=1) / height,
    }


def _st_segment(signal: Floats, offset: Ints) -> Measures:
    """Level of each lead at the J point and 60 and 80 ms later, and the rise from J to 80 ms."""
    row = np.arange(len(signal))
    j, j60, j80 = (signal[row, offset + samples] for samples in (0, 15, 20))  # (n, L)
    return {"J": j, "ST 60": j60, "ST 80": j80, "ST rise": j80 - j}


def _bump(name: str, signal: Floats, wave: Wave) -> Measures:
    """P or T wave of each lead: maximum, minimum, signed peak and its time, mean and standard deviation."""
    near = signal[:, wave.span]  # (n, W, L)
    masked = np.where(wave.inside, near, 0)  # (n, W, L)
    peak = np.abs(masked).argmax(axis=1)  # (n, L)
    time = np.where(masked.any(axis=1), peak + wave.span.start, 0)  # (n, L) 0 without a wave
    mean = _mean(signal, wave)  # (n, L)
    return {
        f"{name} highest": np.where(wave.inside, near, -np.inf).max(axis=1),
        f"{name} lowest": np.where(wave.inside, near, np.inf).min(axis=1),
        f"{name} amplitude": np.take_along_axis(masked, peak[:, None], axis=1)[:, 0],
        f"{name} time": milliseconds(time - BEFORE),
        f"{name} mean": mean,
        f"{name} deviation": np.sqrt(_mean((signal - mean[:, None].astype(np.float32)) ** 2, wave)),
    }


def _frontal_plane(signal: Floats, qrs: Wave, t_wave: Wave) -> Measures:
    """Electrical axes of QRS and T in degrees, and the angle between them (0 to 180)."""
    scale = limb_scales(signal)  # (n, 3)
    angles = {}
    for name, wave in (("QRS", qrs), ("T", t_wave)):
        one, two, three = (_mean(signal, wave)[:, LIMB] * scale).T  # (n,) each
        # aVF = (II + III) / 2; augmented leads are scaled by 2 / sqrt(3) to compare with I.
        angles[name] = np.degrees(np.arctan2((two + three) / np.sqrt(3), one))  # (n,)
    between = np.abs(angles["QRS"] - angles["T"])  # (n,)
    share = {f"scale {LEADS[lead]}": scale[:, column] for column, lead in enumerate(LIMB)}
    return {
        "QRS axis": angles["QRS"],
        "T axis": angles["T"],
        "QRS-T angle": np.minimum(between, 360 - between),
        **share,
    }


def limb_scales(signal: Floats) -> NDArray[np.float64]:
    """Factors (n, 3), of length 1, that bring the normalised leads I, II and III of (n, T, L) to one unit.

    I - II + III = 0 in mV, so the normalised leads have one vanishing combination, and its weights are the leads'
    standard deviations: the eigenvector of their covariance with the smallest eigenvalue.
    """
    limb = signal[:, :, LIMB].astype(np.float64)  # (n, T, 3)
    limb -= limb.mean(axis=1, keepdims=True)
    vanishing = np.linalg.eigh(limb.transpose(0, 2, 1) @ limb).eigenvectors[:, :, 0]  # (n, 3)
    return np.asarray(np.abs(vanishing), np.float64)


def _correlation(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Correlation over time of (n, T, L) with (n, T, L), (n, L); 0 where one is flat."""
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))  # (n, L)
    return np.asarray((a * b).sum(axis=1) / (norm + TINY), np.float64)


def _shape(signal: Floats) -> Measures:
    """Amplitude of each lead at the samples SHAPE, averaged over 20 ms."""
    smooth = uniform_filter1d(signal, 5, axis=1)  # (n, T, L)
    return {f"{round(sample * 1000 / FS):+d} ms": smooth[:, BEFORE + sample] for sample in SHAPE}


Floats = NDArray[np.float32]
Stages = Callable[[Floats], Iterator[Floats]]
"""Features (n, F) -> class probabilities (n, C) after each iteration of the boosting."""
MEASURED: dict[tuple[str, Kind, int], Floats] = {}
"""SHA-256 of test windows, their kind and rate -> their features, of the last datasets in this process."""
MOST_MEASURED = 3


def boost(task: Task, settings: Boosting, *, kind: Kind, rate: int = FS, seed: int) -> Outcome:
    """Boost trees on the features of the labelled windows and predict the test windows with the best iteration.

    A single-label task gets one softmax model, a multi-label one a binary model per class, all stopped at the same
    iteration. Iteration and leaf size maximise validation macro-F1 in the protocol's unit; the first of equals is
    taken. Classes without a labelled window get probability 0. The seed draws the features available to each split.
    """
    import sklearn.ensemble  # noqa: F401  here, because it loads slowly; before the limit, which what is loaded has

    with threadpool_limits(torch.get_num_threads(), user_api="openmp"):
        return _boost(task, settings, kind=kind, rate=rate, seed=seed)


def _boost(task: Task, settings: Boosting, *, kind: Kind, rate: int, seed: int) -> Outcome:
    started = time.perf_counter()
    train, validation = (
        beat_features(at_250_hz(side.signal.cpu().numpy(), rate), kind) for side in (task.train, task.validation)
    )
    test = measured_once(task.test, kind, rate)
    target = task.train.target.cpu().numpy().astype(np.int64)  # (n, C)
    fitted, scores = [], []
    for leaf in settings.leaf_windows:
        rounds = fit(train, target, settings, leaf, multi=task.multi, seed=seed)
        stages, curve = until_no_better(rounds, validation, task)
        fitted.append(stages)
        scores.append(curve)
    chosen = int(np.argmax([max(curve) for curve in scores]))
    last = int(np.argmax(scores[chosen]))
    training = {
        "leaf_windows": settings.leaf_windows[chosen],
        "best_iteration": last + 1,
        "validation_f1": scores[chosen],
        "seconds": time.perf_counter() - started,
    }
    return Outcome(next(islice(fitted[chosen](test), last, None)), training)


def measured_once(side: Windows, kind: Kind, rate: int) -> Floats:
    """The beat features (n, F) of test windows, measured once for all cells of this process that predict them."""
    place = side.content[0], kind, rate
    if place not in MEASURED:
        if len(MEASURED) == MOST_MEASURED:
            del MEASURED[next(iter(MEASURED))]
        MEASURED[place] = beat_features(at_250_hz(side.signal.cpu().numpy(), rate), kind)
    return MEASURED[place]


def until_no_better(rounds: Iterator[Stages], validation: Floats, task: Task) -> tuple[Stages, list[float]]:
    """The model after the first round without a better validation score, or the last, and the score of each iteration.

    validation: (n, F).
    """
    scores: list[float] = []
    for stages in rounds:
        known = len(scores)
        scores += [validation_score(probability, task) for probability in islice(stages(validation), known, None)]
        if int(np.argmax(scores)) < known:
            break
    return stages, scores


def at_250_hz(windows: NDArray[np.float16], rate: int) -> NDArray[Any]:
    """Windows (n, S, L) at `rate` Hz, linearly interpolated to 250 Hz, at which features are measured."""
    samples = windows.shape[1]
    if rate == FS or not samples:
        return windows
    places = np.linspace(0, samples - 1, samples * FS // rate)  # (S',)
    before = places.astype(np.intp)  # (S',)
    after = np.minimum(before + 1, samples - 1)  # (S',)
    share = (places - before).astype(np.float32)[:, None]  # (S', 1)
    return windows[:, before] * (1 - share) + windows[:, after] * share  # (n, S', L)


def fit(
    x: Floats, target: NDArray[np.int64], settings: Boosting, leaf: int, *, multi: bool, seed: int
) -> Iterator[Stages]:
    """One softmax model of features (n, F) and targets (n, C), or one binary model per class, after each round.

    A round is `settings.patience` iterations. Each goes on with the same trees: only the newest `Stages` may be used.
    """
    if not multi:
        yield from _fit(x, target.argmax(axis=1), target.shape[1], settings, leaf, stream("boosting", seed))
        return
    rounds = [_fit(x, y, 2, settings, leaf, stream("boosting", seed, c)) for c, y in enumerate(target.T)]
    for fitted in zip(*rounds, strict=True):
        yield partial(_of_classes, fitted)


def _of_classes(fitted: Sequence[Stages], x: Floats) -> Iterator[Floats]:
    """The probabilities that binary models give for the presence of each class."""
    for of_classes in zip(*(binary(x) for binary in fitted), strict=True):
        yield np.stack([probability[:, 1] for probability in of_classes], axis=1)  # (n, C)


def _fit(x: Floats, y: NDArray[np.int64], classes: int, settings: Boosting, leaf: int, seed: int) -> Iterator[Stages]:
    """A softmax model over the classes present in y; the others get probability 0."""
    present = np.unique(y)
    ends = [*range(settings.patience, settings.iterations, settings.patience), settings.iterations]
    if len(present) == 1:
        certain = np.eye(classes, dtype=np.float32)[present[0]]  # (C,)
        for iterations in ends:
            yield partial(_certain, certain, iterations)
        return
    from sklearn.ensemble import HistGradientBoostingClassifier  # here, because it loads slowly

    model = HistGradientBoostingClassifier(
        learning_rate=settings.learning_rate,
        max_leaf_nodes=settings.leaves,
        min_samples_leaf=leaf,
        l2_regularization=settings.l2,
        max_features=settings.feature_share,
        early_stopping=False,  # it would validate on windows of training recordings
        warm_start=True,
        random_state=seed % 2**32,
    )
    for iterations in ends:
        model.set_params(max_iter=iterations).fit(x, y)
        yield partial(_stages, model, present, classes)


def _certain(probability: Floats, iterations: int, x: Floats) -> Iterator[Floats]:
    """The same probability (C,) for every window, at each iteration."""
    return repeat(np.tile(probability, (len(x), 1)), iterations)


def _stages(model: Any, present: NDArray[np.int64], classes: int, x: Floats) -> Iterator[Floats]:
    """The probabilities of a model of the classes `present`, with those of the other classes."""
    if not len(x):
        yield from repeat(np.zeros((0, classes), np.float32), model.n_iter_)
        return
    for staged in model.staged_predict_proba(x):
        probability = np.zeros((len(x), classes), np.float32)  # (n, C)
        probability[:, present] = staged
        yield probability
