"""One recording as a 12-lead sheet, for `data show`."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray

from benchmark.results.arrays import AnyFloats
from benchmark.results.files import write_atomic
from benchmark.results.names import LEADS

DPI = 100


def draw_recording(signal: AnyFloats, rate: float, title: str, r_peaks: NDArray[np.integer[Any]], path: Path) -> None:
    """Draw a recording on ECG paper, a lead below the other, its heartbeats marked on lead II.

    signal: (n, 12) mV, leads I, II, III, aVR, aVL, aVF, V1 to V6. rate: Hz. r_peaks: (k,) samples.
    """
    import wfdb  # here, because reports read no recordings

    none = np.empty(0, np.int64)
    marked = [r_peaks if lead == "II" else none for lead in LEADS]
    plt.switch_backend("agg")
    with plt.rc_context({"text.parse_math": False}):
        canvas = wfdb.plot_items(
            signal=signal, ann_samp=marked, fs=rate, time_units="seconds", sig_name=list(LEADS),
            sig_units=["mV"] * len(LEADS), title=title, ecg_grids="all", return_fig=True, figsize=(10, 14),
            ann_style=["b."],
        )  # fmt: skip
    buffer = BytesIO()
    canvas.savefig(buffer, format="png", dpi=DPI)
    plt.close(canvas)
    write_atomic(path, buffer.getvalue())
