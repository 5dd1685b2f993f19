"""F1 against the time that pretraining took, a point per row of the table and a panel per label ratio."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from reports.figures.draw.style import (
    Mark,
    legend,
    marks,
    new_figure,
    save,
    small_print,
    styled,
    width_of,
    words_height,
)
from reports.tables.captions import labels_text

HEIGHT = 2.05
MARGIN = 1.6
"""Factor of free room to the left of the cheapest and the right of the dearest."""
CLOCK = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
    *(60 * minutes for minutes in (1, 2, 5, 10, 20)),
    *(3600 * hours for hours in (1, 2, 5, 12, 24, 48, 120, 240)),
)
"""Seconds that may be marked on the axis."""
MOST_TICKS = 5


def plot_compute(
    scores: pd.DataFrame,
    name: str,
    seconds: Mapping[str, float],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
    evaluation: str = "",
) -> tuple[Path, Path]:
    """Draw the scores of one dataset or of Overall (`score_bands.BAND`), called `name`, over pretraining seconds.

    A row without seconds was not pretrained and is a line. rows: variant -> title. note: the small print.
    """
    with styled():
        ratios = sorted(scores["ratio"].unique(), reverse=True)
        width = width_of(len(ratios))
        figure = new_figure(width, HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(ratios), squeeze=False)[0]
        drawn = marks(rows)
        for axes, ratio in zip(grid, ratios, strict=True):
            draw_points(axes, scores[scores["ratio"] == ratio], seconds, drawn)
            axes.set_title(labels_text(ratio, evaluation))
            set_time_axis(axes, min(seconds.values()) / MARGIN, max(seconds.values()) * MARGIN)
            axes.grid(axis="y")
        grid[0].set_ylabel(f"{name}, F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_points(axes: Axes, scores: pd.DataFrame, seconds: Mapping[str, float], drawn: Mapping[str, Mark]) -> None:
    """A point with its deviation for what was pretrained, a line for what was not."""
    for variant, mean, std in zip(scores["variant"], scores["mean"], scores["std"], strict=True):
        colour, shape, dash, _ = drawn[variant]
        if variant in seconds:
            axes.errorbar([seconds[variant]], [mean], [std], fmt=shape, color=colour, elinewidth=0.8, markersize=5)
        else:
            axes.axhline(mean, color=colour, linestyle=dash, linewidth=1.0, zorder=1)


def set_time_axis(axes: Axes, first: float, last: float) -> None:
    """A logarithmic axis of seconds, marked as a clock would be."""
    within = [seconds for seconds in CLOCK if first <= seconds <= last]
    thinned = within[:: -(-len(within) // MOST_TICKS) or 1]
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    axes.set_xticks(thinned, [clock_text(seconds) for seconds in thinned])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("pretraining time")


def clock_text(seconds: float) -> str:
    """0.5 -> '0.5 s', 120 -> '2 min', 7200 -> '2 h'."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
