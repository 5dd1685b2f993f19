"""Figures of what is inside a pretraining and a task: training curves, confusion.

Pretraining epoch by epoch: the loss of each row on an axis of its own, and its health beside that of the others.

Confusion matrices of a task: a panel per row of the table, true class by decision, in percent of the true class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.ticker import MaxNLocator
from seaborn import lineplot

from reports.figures.data import Confusion
from reports.figures.style import (
    ONE_COLUMN,
    SHARES,
    TINY,
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
from reports.results import LOSS

HEALTH = {
    "effective_rank": "effective rank",
    "mean_cosine": "mean cosine of two windows",
    "retrieval": "retrieval@1 (grey: chance)",
    "alignment": "alignment",
    "uniformity": "uniformity",
}
"""Measure -> title of its panel."""
CHANCE = "retrieval_chance"
LOSSES_ABREAST, HEALTH_ABREAST = 4, 3
ROW_HEIGHT, FOOT = 1.25, 0.15


def plot_training(courses: pd.DataFrame, rows: Mapping[str, str], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw `learning_curves`; a row with several pretrainings is their mean, in the band of all of them.

    rows: variant -> title, of those that have a course. note: the small print.
    """
    with styled():
        drawn, there = marks(rows), set(courses["measure"])
        losses = [variant for variant in rows if ((courses["variant"] == variant) & (courses["measure"] == LOSS)).any()]
        health = [measure for measure in HEALTH if measure in there]
        heights = [-(-len(losses) // LOSSES_ABREAST), -(-len(health) // HEALTH_ABREAST)]
        words = words_height(rows, note, TWO_COLUMNS)
        figure = new_figure(TWO_COLUMNS, ROW_HEIGHT * sum(heights) + FOOT + words)
        grid = figure.add_gridspec(sum(heights), LOSSES_ABREAST * HEALTH_ABREAST)
        for number, variant in enumerate(losses):
            axes = figure.add_subplot(grid[number // LOSSES_ABREAST, _span(number, LOSSES_ABREAST)])
            draw_course(axes, courses, LOSS, {variant: drawn[variant]})
            lone = courses[(courses["variant"] == variant) & (courses["measure"] == LOSS)]["epoch"].nunique() == 1
            axes.set_title(f"{rows[variant]} (1 epoch)" if lone else rows[variant])
            if number % LOSSES_ABREAST == 0:
                axes.set_ylabel("loss")
        for number, measure in enumerate(health):
            axes = figure.add_subplot(grid[heights[0] + number // HEALTH_ABREAST, _span(number, HEALTH_ABREAST)])
            draw_course(axes, courses, measure, drawn)
            axes.set_title(HEALTH[measure])
        last = max(1, courses["epoch"].max())
        for axes in figure.axes:
            axes.set_xlim(-0.03 * last, 1.03 * last)
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        for axes in figure.axes[-HEALTH_ABREAST:]:
            axes.set_xlabel("epoch")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def _span(number: int, concurrent: int) -> slice:
    """Columns of the grid that a panel takes, where so many stand in a row."""
    width = LOSSES_ABREAST * HEALTH_ABREAST // concurrent
    first = number % concurrent * width
    return slice(first, first + width)


def draw_course(axes: Axes, courses: pd.DataFrame, measure: str, drawn: Mapping[str, Mark]) -> None:
    """One measure of some rows over the epochs: the mean of a row's pretrainings, in the band from least to most."""
    own = courses[courses["variant"].isin(list(drawn)) & (courses["measure"] == measure)]
    lineplot(
        own, x="epoch", y="value", errorbar=("pi", 100), ax=axes, legend=False, markevery=[-1], markeredgewidth=0.3,
        hue="variant", hue_order=list(drawn), palette={name: mark.colour for name, mark in drawn.items()},
        style="variant", style_order=list(drawn), markers={name: mark.shape for name, mark in drawn.items()},
        dashes={name: mark.dash[1] for name, mark in drawn.items()},
    )  # fmt: skip
    axes.set(xlabel="", ylabel="")
    if measure == "retrieval":
        chance = courses.loc[courses["measure"] == CHANCE, "value"]
        axes.axhline(chance.mean(), color="#bbbbbb", linewidth=2, zorder=0)
    axes.grid(axis="y")


MANY_CLASSES, MANY_ROWS = 6, 8
"""Three panels stand abreast from so many classes on, else four, and five beyond so many rows of the table."""
DARK = 65
"""Percent beyond which a number is written in white."""
SIDE, HEAD, BAR = 0.15, 0.5, 0.45
"""Inches beside the matrix of a panel, above and below it, and of the colour bar: what is left makes its cells about
square.

The layout makes no room around panels that are held to an exact square.
"""


def plot_confusion(
    found: Sequence[Confusion], classes: Sequence[str], rows: Mapping[str, str], note: str, stem: Path
) -> tuple[Path, Path]:
    """Draw the matrices of one dataset. rows: variant -> title; classes: names; note: the small print."""
    concurrent = 3 if len(classes) >= MANY_CLASSES else 4 if len(found) <= MANY_ROWS else 5
    columns = min(concurrent, len(found))
    lines = -(-len(found) // concurrent)
    width = ONE_COLUMN if 2 * columns <= concurrent else TWO_COLUMNS
    with styled():
        figure = new_figure(width, lines * ((width - BAR) / columns - SIDE + HEAD) + words_height({}, note, width))
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for number, axes in enumerate(grid.flat):
            if number < len(found):
                cells = draw_confusion(axes, found[number], classes)
                axes.set_title(rows[found[number].variant])
            else:
                axes.set_axis_off()
        scale = figure.colorbar(cells, ax=list(grid.flat), pad=0.01, aspect=30 * lines, label="% of the true class")
        scale.outline.set_visible(False)
        small_print(figure, note)
        return save(figure, stem)


def draw_confusion(axes: Axes, found: Confusion, classes: Sequence[str]) -> QuadMesh:
    """Shares in percent, below 1 left blank; a class that the test set lacks is a line of dashes."""
    shares = np.nan_to_num(found.shares)
    axes.spines[:].set_visible(False)
    cells = axes.pcolormesh(shares, cmap=SHARES, vmin=0, vmax=100, linewidths=0.3, edgecolors="white")
    axes.set(xlim=(0, len(classes)), ylim=(len(classes), 0))
    for (line, column), share in np.ndenumerate(found.shares):
        words = axes.text(
            column + 0.5, line + 0.5, _written(share), color="white" if share > DARK else "black",
            fontsize=TINY, ha="center", va="center",
        )  # fmt: skip
        words.set_in_layout(False)  # a hundred numbers inside the axes need no room of their own
    places = np.arange(len(classes)) + 0.5
    axes.set_xticks(places, classes, rotation=90)
    axes.set_yticks(places, classes, va="center")
    axes.tick_params(length=0, labelsize=TINY)
    return cells


def _written(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:z.0f}" if share >= 1 else ""
