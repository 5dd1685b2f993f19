"""Pretraining epoch by epoch: the loss of each row on an axis of its own, and its health beside that of the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from seaborn import lineplot

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
from reports.runs.cards import LOSS

HEALTH = {
    "effective_rank": "effective rank",
    "mean_cosine": "mean cosine of two windows",
    "retrieval": "retrieval@1 (grey: chance)",
    "alignment": "alignment",
    "uniformity": "uniformity",
    "positives": "positives per query",
}
"""Measure -> title of its panel."""
CHANCE = "retrieval_chance"
LOSSES_ABREAST, HEALTH_ABREAST = 4, 3
ROW_HEIGHT, FOOT = 1.25, 0.15


def plot_training(courses: pd.DataFrame, rows: Mapping[str, str], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw `reports.runs.cards.courses`; a row with several pretrainings is their mean, in the band of all of them.

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
            axes.set_title(rows[variant])
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


def _span(number: int, abreast: int) -> slice:
    """Columns of the grid that a panel takes, where so many stand in a row."""
    width = LOSSES_ABREAST * HEALTH_ABREAST // abreast
    first = number % abreast * width
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
