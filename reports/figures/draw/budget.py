"""F1 against what pretraining cost, a line per method through its snapshots and a panel per kind of cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from reports.figures.draw.compute import MARGIN, MOST_TICKS, set_time_axis
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
from reports.statistics.budget_curve import PASSES, SECONDS, WINDOWS

HEIGHT = 2.05
AXIS_NAMES = {WINDOWS: "pairs of windows", PASSES: "encoder passes"}


def plot_budget(
    points: pd.DataFrame,
    lines: pd.DataFrame,
    name: str,
    costs: Sequence[str],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
) -> tuple[Path, Path]:
    """Draw the snapshots (`BudgetCurve.points`) of one dataset or of Overall, called `name`, over each of the costs.

    lines: bands of rows without pretraining. rows: method or such a row -> title. note: the small print.
    """
    with styled():
        width = width_of(len(costs))
        figure = new_figure(width, HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(costs), squeeze=False, sharey=True)[0]
        drawn = marks(rows)
        for axes, cost in zip(grid, costs, strict=True):
            draw_curves(axes, points, cost, drawn)
            for variant, mean in zip(lines["variant"], lines["mean"], strict=True):
                axes.axhline(mean, color=drawn[variant].colour, linestyle=drawn[variant].dash, linewidth=1.0, zorder=1)
            first, last = points[cost].min() / MARGIN, points[cost].max() * MARGIN
            if cost == SECONDS:
                set_time_axis(axes, first, last)
            else:
                set_count_axis(axes, first, last)
                axes.set_xlabel(AXIS_NAMES[cost])
            axes.grid(axis="y")
        grid[0].set_ylabel(f"{name}, F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_curves(axes: Axes, points: pd.DataFrame, cost: str, drawn: Mapping[str, Mark]) -> None:
    """A line per method through its snapshots, with the deviation over seeds as whiskers."""
    for of, own in points.dropna(subset=[cost]).groupby("of", sort=False):
        colour, shape, dash, _ = drawn[str(of)]
        axes.errorbar(
            own[cost], own["mean"], yerr=own["std"].fillna(0.0), color=colour, marker=shape, linestyle=dash,
            linewidth=1.0, elinewidth=0.7, markersize=3.5,
        )  # fmt: skip


def set_count_axis(axes: Axes, first: float, last: float) -> None:
    """A logarithmic axis of counts, marked at 1, 2, 5, 10, ..."""
    within = [step * 10**power for power in range(19) for step in (1, 2, 5) if first <= step * 10**power <= last]
    thinned = within[:: -(-len(within) // MOST_TICKS) or 1]
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    axes.set_xticks(thinned, [count_text(count) for count in thinned])
    axes.set_xticks([], minor=True)


def count_text(count: int) -> str:
    """500 -> '500', 20000 -> '20k', 5000000 -> '5M'."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count // size}{unit}"
    return str(count)
