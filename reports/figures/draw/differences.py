"""Differences in Overall from one reference row with their intervals: a line per row, a panel per label ratio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from reports.figures.draw.style import (
    FAINT,
    Mark,
    marks,
    new_figure,
    save,
    small_print,
    styled,
    width_of,
    words_height,
)
from reports.statistics.differences import Differences
from reports.tables.captions import labels_text

ROW_HEIGHT, AROUND = 0.19, 0.62
"""Inches of a row, and of title and axis together."""


def plot_differences(
    found: Sequence[Differences],
    rows: Mapping[str, str],
    reference: str,
    note: str,
    stem: Path,
    evaluation: str = "",
) -> tuple[Path, Path]:
    """Draw the differences from the row titled `reference`. rows: variant -> title, from the top. note: small print.

    Filled marks are significant differences; a mark without a line has no interval.
    """
    with styled():
        width = width_of(len(found))
        figure = new_figure(width, AROUND + ROW_HEIGHT * len(rows) + words_height({}, note, width))
        grid = figure.subplots(1, len(found), squeeze=False, sharex=True, sharey=True)[0]
        places = {variant: place for place, variant in enumerate(rows)}
        for axes, own in zip(grid, found, strict=True):
            draw_rows(axes, own, places, marks(rows))
            axes.set_title(labels_text(own.ratio, evaluation))
            axes.set_xlabel(f"points from {reference}")
            axes.grid(axis="x")
        grid[0].set_yticks(list(places.values()), list(rows.values()))
        grid[0].set_ylim(len(rows) - 0.5, -0.5)
        small_print(figure, note)
        return save(figure, stem)


def draw_rows(axes: Axes, found: Differences, places: Mapping[str, int], drawn: Mapping[str, Mark]) -> None:
    """A mark per row at its difference, and a line over its interval."""
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
    for row in found.rows:
        colour, shape, *_ = drawn[row.variant]
        place = places[row.variant]
        if not np.isnan(row.low):
            axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.2, zorder=2)
        axes.plot(
            [row.mean], [place], marker=shape, color=colour, markersize=5,
            markerfacecolor=colour if row.told else "white",
        )  # fmt: skip
    axes.tick_params(axis="y", length=0)
