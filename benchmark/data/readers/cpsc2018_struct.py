"""The form in which CPSC2018 was first published: TrainingSet/Annnn.mat, one MATLAB struct each, without headers.

A struct `ECG` holds `sex`, `age` and `data`: 12 leads in the usual order, in millivolts at 500 Hz.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark.data.readers.base import LEADS, Recording, Unusable
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_file, checked_recording

FS = 500.0


def structs_at(root: Path, pattern: str) -> dict[str, list[Path]]:
    """Structs that a glob pattern (without extension) finds, by name, in the paths' order.

    Folders with headers are left out: their .mat files are WFDB signals.
    """
    with_headers = {header.parent for header in root.glob(f"{pattern}.hea")}
    structs: dict[str, list[Path]] = {}
    for path in sorted(root.glob(f"{pattern}.mat")):
        if path.parent not in with_headers:
            structs.setdefault(path.stem, []).append(path)
    return structs


def read_struct(path: Path) -> Recording:
    """One struct in mV; raises Unusable."""
    from scipy.io import loadmat  # here, because it loads slowly

    check_file(path, LARGEST_SIGNAL)
    try:
        leads = np.array(loadmat(path)["ECG"]["data"][0, 0], np.float64)  # (12, n)
    except Exception as error:  # scipy raises any kind of error on a damaged file
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    if leads.ndim != 2 or len(leads) != len(LEADS):
        raise Unusable(f"not {len(LEADS)} leads: data of shape {leads.shape}")
    return checked_recording(leads.T, FS)
