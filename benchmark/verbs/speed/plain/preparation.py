"""Heartbeat windows in plain form: each lead in turn through neurokit2, as in the PMQ authors' notebooks.

Same windows as `data.prepared.beats`: resample, standardise, clean, find peaks, cut around the median beat. neurokit2
is used only here and in tests, and may be missing (`is_there`).
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import interp1d
from sklearn.preprocessing import StandardScaler

from benchmark.data.prepared.beats import FS, WINDOW


def is_there() -> bool:
    """Whether neurokit2 is installed."""
    return find_spec("neurokit2") is not None


def plain_heartbeats(signal: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float32]:
    """Beats (n, 300, L) of a recording (T, L) at fs Hz, which must have a rate >= 50/min and a beat in some lead."""
    leads = [resampled(lead, fs) for lead in signal.T]
    standard = StandardScaler().fit_transform(np.stack(leads, axis=1))  # (T, L)
    peaks = [peaks_of(lead) for lead in standard.T]
    median_rr = np.median([np.median(np.diff(lead)) for lead in peaks if len(lead) > 1])
    beats = []
    for number in range(max(len(lead) for lead in peaks)):
        centre = int(np.median([lead[number] for lead in peaks if number < len(lead)]))
        half = int(median_rr / 2)
        beat = standard[max(centre - half, 0) : centre + half]
        before = (WINDOW - len(beat)) // 2
        beats.append(np.pad(beat, ((before, WINDOW - len(beat) - before), (0, 0))))
    return np.asarray(beats, np.float32)


def resampled(lead: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float64]:
    """A lead (T,) at fs Hz, linearly interpolated to 250 Hz."""
    samples = len(lead)
    line = interp1d(np.arange(1, samples + 1), lead, kind="linear")
    return np.asarray(line(np.linspace(1, samples, int(samples * FS / fs))), np.float64)


def peaks_of(lead: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sample indices of the R peaks of a lead (T,) at 250 Hz."""
    import neurokit2  # here, because only the extra [dev] installs it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # mean of an empty slice on a lead without a whole QRS
        _, found = neurokit2.ecg_peaks(neurokit2.ecg_clean(lead, sampling_rate=FS), sampling_rate=FS)
    return np.asarray(found["ECG_R_Peaks"], np.int64)
