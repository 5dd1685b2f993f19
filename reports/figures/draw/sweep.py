"""F1 against the values of a swept knob, with its band, and the methods it is held against as lines (PMQ, Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from reports.figures.score_bands import Sweep

AXIS_NAMES = {"queue_size": "queue size $M$"}
HEIGHT = 1.95
WHISKER_STEP = 0.16
"""How far the whiskers of two lines stand apart, in steps of the axis."""
THOUSAND = 1024


def plot_sweep(
    sweep: Sweep, panels: Mapping[str, str], rows: Mapping[str, str], note: str, stem: Path
) -> tuple[Path, Path]:
    """Draw a sweep, a panel per dataset.

    panels: dataset -> title. rows: the swept method and those it is held against -> title. note: the small print.
    """
    with styled():
        width = width_of(len(panels))
        figure = new_figure(width, HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        drawn = marks(rows)
        for axes, (dataset, title) in zip(grid, panels.items(), strict=True):
            draw_sweep(axes, sweep, dataset, drawn[sweep.of])
            draw_rivals(axes, sweep, dataset, drawn)
            axes.set_title(title)
            axes.set_xticks(sweep.positions, [tick_text(value) for value in sweep.values])
            axes.set_xlabel(AXIS_NAMES.get(sweep.knob, sweep.knob))
            axes.grid(axis="y")
        grid[0].set_ylabel("F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_sweep(axes: Axes, sweep: Sweep, dataset: str, mark: Mark) -> None:
    """The swept method: its means, their band, and a ring around its own value."""
    points = sweep.points[sweep.points["dataset"] == dataset]
    where, mean, std = points["position"], points["mean"], points["std"].fillna(0.0)
    axes.fill_between(where, mean - std, mean + std, color=mark.colour, alpha=0.2, linewidth=0)
    axes.plot(where, mean, color=mark.colour, marker=mark.shape, linestyle=mark.dash, zorder=3)
    own = points[[value == sweep.own for value in values_of(sweep, points)]]
    axes.plot(
        own["position"], own["mean"], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=0.8
    )


def values_of(sweep: Sweep, points: pd.DataFrame) -> list[Any]:
    """The value that each point stands for."""
    at = dict(zip(sweep.positions, sweep.values, strict=True))
    return [at[position] for position in points["position"]]


def draw_rivals(axes: Axes, sweep: Sweep, dataset: str, drawn: Mapping[str, Mark]) -> None:
    """A line across the panel for each, with its deviation as a whisker at the right."""
    lines = sweep.lines[sweep.lines["dataset"] == dataset]
    for number, (variant, mean, std) in enumerate(zip(lines["variant"], lines["mean"], lines["std"], strict=True)):
        colour, shape, dash, _ = drawn[variant]
        axes.axhline(mean, color=colour, linestyle=dash, linewidth=1.0, zorder=2)
        where = max(sweep.positions) + WHISKER_STEP * (number + 2)
        axes.errorbar([where], [mean], [std], fmt=shape, color=colour, elinewidth=0.8, markersize=3.5)


def tick_text(value: Any) -> str:
    """16384 -> '16k', 0.1 -> '0.1', 'patient' -> 'patient'."""
    if type(value) is int and value >= THOUSAND and value % THOUSAND == 0:
        return f"{value // THOUSAND}k"
    return f"{value:g}" if isinstance(value, float) else str(value)
