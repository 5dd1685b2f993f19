"""Hand-crafted features of a window: clinical measures of a beat, from the same input as the encoders'.

Input of the classical baseline (`boosting`). Windows are normalised per lead, so amplitudes are in units of the lead's
standard deviation; only the ratios between limb leads can be recovered, from Einthoven's law (`limb_scales`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from benchmark.data.prepared.beats import FS
from benchmark.data.prepared.windows import Kind
from benchmark.data.readers.base import LEADS
from benchmark.training.classical.qrs import (
    AFTER,
    BEFORE,
    Floats,
    Ints,
    Measures,
    lone_beats,
    median_beats,
    milliseconds,
    qrs_edges,
)

FEATURES_VERSION = 2
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
