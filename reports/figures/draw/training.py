"""Pretraining epoch by epoch: the loss of each row on an axis of its own, and its health beside that of the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

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
            axes.set_title(f"{rows[variant]}: loss")
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
    """One measure of some rows over the epochs."""
    for variant, mark in drawn.items():
        own = courses[(courses["variant"] == variant) & (courses["measure"] == measure)]
        by_epoch = own.groupby("epoch")["value"].agg(["mean", "min", "max"])
        epochs = by_epoch.index.to_numpy()
        axes.fill_between(epochs, by_epoch["min"], by_epoch["max"], color=mark.colour, alpha=0.2, linewidth=0)
        axes.plot(epochs, by_epoch["mean"], color=mark.colour, linestyle=mark.dash, marker=mark.shape, markevery=[-1])
    if measure == "retrieval":
        chance = courses.loc[courses["measure"] == CHANCE, "value"]
        axes.axhline(chance.mean(), color="#bbbbbb", linewidth=2, zorder=0)
    axes.grid(axis="y")
