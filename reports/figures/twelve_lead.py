"""The standard 12-lead sheet, drawn true to scale as on paper."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmark.results.files import write_atomic
from reports.figures.style import DPI

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
COLUMNS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
"""Leads of each column of the sheet, from the top."""
RHYTHM_LEAD = 1
GRID, GRID_BOLD, TRACE, MARK = "#f6cfcf", "#e79a9a", "#000000", "#0072B2"
MM_PER_INCH = 25.4
MM_PER_S = 25.0
GAINS = (10.0, 5.0, 2.5)
"""mm per mV: the largest at which the traces keep to their rows, as on a cardiograph; the last where none does."""
COLUMN_S = 2.5
STRIP_S = 10.0
MOST_STRIPS = 6
"""Rows of the rhythm lead, so that a minute is shown and a longer recording is cut."""
LEFT, RIGHT, TOP, BOTTOM = 15.0, 5.0, 20.0, 10.0
"""Margins in mm; the calibration pulse stands in the left one."""
ROW, STRIP, STRIP_BASE = 30.0, 25.0, 15.0
"""Height in mm of a row of leads and of a rhythm strip, and how far below a strip's top its base line is."""
REACH = 25.0
"""mm that a trace may leave its base line by: it may enter the neighbouring row, not cross it."""


class Page(NamedTuple):
    """Measures of a sheet in mm, its origin at the lower left."""

    width: float
    height: float
    strips: int
    gain: float
    """mm per mV."""


def twelve_lead_sheet(
    signal_mv: NDArray[np.floating[Any]], fs: float, title: str, r_peaks: NDArray[np.integer[Any]], path: Path
) -> None:
    """Draw a recording as a PNG at 25 mm/s and 10 mm/mV (less where it would not fit; the sheet says which).

    Four columns of three leads with 2.5 s each, then lead II as long as the recording is, up to a minute, with every
    heartbeat marked. A lead's base line is its median. Columns overlap in time where there are less than 10 s.

    Args:
        signal_mv: (n, 12) in mV, leads I, II, III, aVR, aVL, aVF, V1 to V6.
        fs: Hz.
        title: up to two lines; the first is set in bold.
        r_peaks: (k,) samples at `fs`.
        path: file to write, whole or not at all.

    Raises:
        ValueError: a signal that is not (n, 12) or is empty.
    """
    if signal_mv.ndim != 2 or signal_mv.shape[1] != len(LEADS) or len(signal_mv) == 0:
        raise ValueError(f"signal of shape {signal_mv.shape} is not (n, {len(LEADS)}) with n above 0")
    levelled = np.asarray(signal_mv - np.median(signal_mv, axis=0), np.float64)  # (n, 12)
    seconds = len(levelled) / fs
    strips = min(MOST_STRIPS, max(1, int(np.ceil(seconds / STRIP_S - 1e-6))))
    page = Page(
        width=LEFT + STRIP_S * MM_PER_S + RIGHT,
        height=TOP + 3 * ROW + strips * STRIP + BOTTOM,
        strips=strips,
        gain=gain_of(levelled),
    )
    figure = Figure(figsize=(page.width / MM_PER_INCH, page.height / MM_PER_INCH), dpi=DPI)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, page.width), ylim=(0, page.height))
    axes.set_axis_off()
    draw_grid(axes, page)
    draw_columns(axes, page, levelled, fs)
    draw_strips(axes, page, levelled[:, RHYTHM_LEAD], fs, np.asarray(r_peaks))
    draw_words(axes, page, title, seconds)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    write_atomic(path, buffer.getvalue())


def gain_of(levelled: NDArray[np.float64]) -> float:
    """mm per mV at which all but the rarest samples of (n, 12) in mV stay within reach of their base line."""
    highest = float(np.quantile(np.abs(levelled), 0.999, axis=0).max())
    return next((gain for gain in GAINS if highest * gain <= REACH), GAINS[-1])


def draw_grid(axes: Axes, page: Page) -> None:
    """Fine lines every mm and bold ones every 5 mm."""
    for step, colour, width in ((1.0, GRID, 0.3), (5.0, GRID_BOLD, 0.5)):
        across, up = np.arange(0, page.width + 0.1, step), np.arange(0, page.height + 0.1, step)
        axes.vlines(across, 0, page.height, colors=colour, linewidths=width, zorder=0)
        axes.hlines(up, 0, page.width, colors=colour, linewidths=width, zorder=0)


def draw_columns(axes: Axes, page: Page, levelled: NDArray[np.float64], fs: float) -> None:
    """Three rows of four leads."""
    last = max(0.0, len(levelled) / fs - COLUMN_S)
    for column, leads in enumerate(COLUMNS):
        start = min(column * COLUMN_S, last * column / (len(COLUMNS) - 1))
        shown = slice(round(start * fs), round((start + COLUMN_S) * fs))
        left = LEFT + column * COLUMN_S * MM_PER_S
        for row, lead in enumerate(leads):
            base = page.height - TOP - (row + 0.5) * ROW
            draw_trace(axes, page, levelled[shown, lead], fs, left, base)
            name_lead(axes, LEADS[lead], left, base + ROW / 2 - 3)
            if column == 0:
                draw_pulse(axes, page, base)
            else:
                axes.vlines(left, base - 3, base + 3, colors=TRACE, linewidths=0.6)


def draw_strips(
    axes: Axes, page: Page, lead: NDArray[np.float64], fs: float, r_peaks: NDArray[np.integer[Any]]
) -> None:
    """The rhythm lead (n,) in rows of 10 s, with a triangle over every beat."""
    for strip in range(page.strips):
        first, end = round(strip * STRIP_S * fs), round((strip + 1) * STRIP_S * fs)
        top = page.height - TOP - 3 * ROW - strip * STRIP
        base = top - STRIP_BASE
        draw_trace(axes, page, lead[first:end], fs, LEFT, base)
        name_lead(axes, LEADS[RHYTHM_LEAD], LEFT, top - 3)
        draw_pulse(axes, page, base)
        beats = r_peaks[(r_peaks >= first) & (r_peaks < end)]
        across = LEFT + (beats - first) / fs * MM_PER_S
        axes.plot(across, np.full(len(across), top - 1), "v", color=MARK, markersize=4, zorder=3)
        if strip:
            axes.text(2, base - 6, f"{strip * STRIP_S:g} s", fontsize=7)


def draw_trace(axes: Axes, page: Page, mv: NDArray[np.float64], fs: float, left: float, base: float) -> None:
    """A piece of a lead (n,) from the left end of its place on."""
    across = left + np.arange(len(mv)) / fs * MM_PER_S
    axes.plot(across, base + mv * page.gain, color=TRACE, linewidth=0.7, solid_joinstyle="round", zorder=2)


def draw_pulse(axes: Axes, page: Page, base: float) -> None:
    """1 mV for 0.2 s."""
    left, top = LEFT - 10, base + page.gain
    across = [left, left + 2, left + 2, left + 7, left + 7, left + 9]
    axes.plot(across, [base, base, top, top, base, base], color=TRACE, linewidth=0.7, zorder=2)


def name_lead(axes: Axes, name: str, left: float, height: float) -> None:
    """A lead's name at the upper left of its trace."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}
    axes.text(left + 1.5, height, name, fontsize=9, fontweight="bold", va="center", bbox=box, zorder=4)


def draw_words(axes: Axes, page: Page, title: str, seconds: float) -> None:
    """Title at the top; scale, marks and what is not shown at the bottom."""
    for line, (text, weight) in enumerate(title_lines(title)):
        axes.text(LEFT, page.height - 6 - 6 * line, text, fontsize=11 - 2 * line, fontweight=weight, va="center")
    words = [f"{MM_PER_S:g} mm/s", f"{page.gain:g} mm/mV", "base line: median of each lead"]
    if seconds > page.strips * STRIP_S:
        words.append(f"first {page.strips * STRIP_S:g} s of {seconds:g} s")
    if seconds < STRIP_S:
        words.append("columns overlap in time")
    axes.text(LEFT, 4, "     ".join(words), fontsize=8, va="center")
    axes.plot([page.width - 45], [4], "v", color=MARK, markersize=4)
    axes.text(page.width - 43, 4, "heartbeat found", fontsize=8, va="center")


def title_lines(title: str) -> Iterator[tuple[str, str]]:
    """Text and weight of the title's lines."""
    for number, text in enumerate(title.splitlines()[:2]):
        yield text, "normal" if number else "bold"
