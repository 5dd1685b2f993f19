"""F1 against the share of the labels, a line per row of the table and a panel per dataset."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from benchmark.results.names import takes_shots
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

HEIGHT = 2.15
SPREAD = 1.35
"""Factor between the places of the first and the last row at one ratio, so that their whiskers stand side by side."""


def plot_label_efficiency(
    curves: pd.DataFrame,
    panels: Mapping[str, str],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
    evaluation: str = "",
) -> tuple[Path, Path]:
    """Draw bands (`reports.figures.score_bands.BAND`) over label ratios.

    panels: dataset -> title. rows: variant -> title. note: the small print.
    """
    with styled():
        width = width_of(len(panels))
        figure = new_figure(width, HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        drawn = marks(rows)
        ratios = sorted(curves["ratio"].unique())
        scale, what = (1, "patients per class") if takes_shots(evaluation) else (100, "labels (%)")
        for axes, (dataset, title) in zip(grid, panels.items(), strict=True):
            draw_curves(axes, curves[curves["dataset"] == dataset], drawn)
            axes.set_xscale("log")
            axes.set_xticks(ratios, [f"{scale * ratio:g}" for ratio in ratios])
            axes.set_xticks([], minor=True)
            axes.set_title(title)
            axes.set_xlabel(what)
            axes.grid(axis="y")
        grid[0].set_ylabel("F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_curves(axes: Axes, curves: pd.DataFrame, drawn: Mapping[str, Mark]) -> None:
    """A line per row, with the deviation over seeds as whiskers."""
    for number, (variant, mark) in enumerate(drawn.items()):
        own = curves[curves["variant"] == variant].sort_values("ratio")
        shift = SPREAD ** (number / max(1, len(drawn) - 1) - 0.5)
        axes.errorbar(
            own["ratio"] * shift, own["mean"], yerr=own["std"].fillna(0.0), color=mark.colour, marker=mark.shape,
            linestyle=mark.dash, linewidth=1.0, elinewidth=0.7, markersize=3.5,
        )  # fmt: skip
