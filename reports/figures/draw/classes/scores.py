"""Scores by class: a line per class, a panel per score, and a mark with its interval per row of the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from reports.figures.draw.style import (
    TWO_COLUMNS,
    Mark,
    legend,
    marks,
    new_figure,
    save,
    small_print,
    styled,
    words_height,
)

MARK_HEIGHT, CLASS_HEIGHT, AROUND = 0.065, 0.16, 0.6
"""Inches of a mark with its interval, the least of a class, and of title and axis together."""
MOST_INTERVALS = 120
"""Marks of a panel beyond which the intervals are left out and a class takes one line."""


@dataclass(frozen=True)
class ClassMark:
    """The score of one row of the table on one class, in percent; NaN for an unknown bound."""

    variant: str
    name: str
    """Of the class."""
    mean: float
    low: float
    high: float


def plot_class_scores(
    panels: Mapping[str, Sequence[ClassMark]],
    classes: Mapping[str, str],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
) -> tuple[Path, Path]:
    """Draw the scores by class. panels: title -> marks; classes: name -> label; rows: variant -> title.

    `stem` is the path without its ending, note: the small print.
    """
    spread = len(classes) * len(rows) <= MOST_INTERVALS
    each = max(CLASS_HEIGHT, MARK_HEIGHT * (len(rows) + 2)) if spread else CLASS_HEIGHT
    with styled():
        height = AROUND + each * len(classes) + words_height(rows, note, TWO_COLUMNS)
        figure = new_figure(TWO_COLUMNS, height)
        grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (title, found) in zip(grid, panels.items(), strict=True):
            draw_marks(axes, found, list(classes), marks(rows), spread=spread)
            axes.set_title(title)
            axes.set_xlabel("%")
            axes.grid(axis="x")
        grid[0].set_yticks(range(len(classes)), list(classes.values()))
        grid[0].set_ylim(len(classes) - 0.5, -0.5)
        legend(figure, rows, lines=False)
        small_print(figure, note)
        return save(figure, stem)


def draw_marks(
    axes: Axes, found: Sequence[ClassMark], classes: Sequence[str], drawn: Mapping[str, Mark], *, spread: bool
) -> None:
    """A mark per row and class; with its interval, and one below the other, where there is room (`spread`)."""
    for number, (variant, mark) in enumerate(drawn.items()):
        shift = (number - (len(drawn) - 1) / 2) / (len(drawn) + 2) if spread else 0.0
        for own in found:
            if own.variant != variant or math.isnan(own.mean):
                continue
            place = classes.index(own.name) + shift
            if spread and not math.isnan(own.low):
                axes.plot([own.low, own.high], [place, place], color=mark.colour, linewidth=0.9, zorder=2)
            axes.plot(
                [own.mean], [place], marker=mark.shape, color=mark.colour, fillstyle=mark.fill,
                markerfacecoloralt="white", markersize=3.2, linestyle="", zorder=3,
            )  # fmt: skip
    for line in range(1, len(classes)):
        axes.axhline(line - 0.5, color="#e2e2e2", linewidth=0.5, zorder=1)
    axes.tick_params(axis="y", length=0)
