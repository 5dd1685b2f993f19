"""Scores from two sources beside each other: a grid of panels, a line per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from reports.figures.draw.style import new_figure, save, small_print, styled

MARKS = (("o", "#D55E00", "white"), ("D", "#0072B2", "#0072B2"))
"""Shape, colour and filling of the two sources."""
NAMES_WIDTH, PANEL_WIDTH, LINE_HEIGHT, HEAD_HEIGHT = 1.2, 2.0, 0.18, 0.6
"""Inches of the rows' names, of a panel, of one of its lines, and of what stands above and below them."""
APART = 0.16
"""How far each of the two stands from the middle of its line, in lines."""


@dataclass(frozen=True)
class ScorePair:
    """The two scores of a row in a panel, in percent."""

    row: str
    means: tuple[float, float]
    stds: tuple[float | None, float | None]


@dataclass(frozen=True)
class PairPanel:
    """One panel; a row without a pair keeps its empty line."""

    title: str
    pairs: tuple[ScorePair, ...]


def plot_score_pairs(
    panels: Sequence[Sequence[PairPanel]], rows: Sequence[str], sources: tuple[str, str], note: str, stem: Path
) -> tuple[Path, Path]:
    """Draw a grid of panels (lines of equally many) as PNG and PDF; returns the two files.

    Each mean stands with its standard deviation, the first source's above the second's, and a grey line joins them.
    `stem` is the path without its ending, note: the small print.
    """
    height = len(panels) * (HEAD_HEIGHT + LINE_HEIGHT * len(rows)) + HEAD_HEIGHT / 2
    with styled():
        figure = new_figure(NAMES_WIDTH + PANEL_WIDTH * len(panels[0]), height)
        grid = figure.subplots(len(panels), len(panels[0]), squeeze=False, sharey=True)
        for axes, panel in zip(grid.flat, [panel for line in panels for panel in line], strict=True):
            draw_pairs(axes, panel.pairs, rows, sources)
            axes.set_title(panel.title)
        grid[0, 0].set_ylim(len(rows) - 0.5, -0.5)
        small_print(figure, note)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        return save(figure, stem)


def draw_pairs(axes: Axes, pairs: Sequence[ScorePair], rows: Sequence[str], sources: tuple[str, str]) -> None:
    """Both scores of each row on its line."""
    lines = np.array([rows.index(pair.row) for pair in pairs], np.float64)  # (pairs,)
    means = np.array([pair.means for pair in pairs], np.float64).reshape(-1, 2).T  # (2, pairs)
    axes.plot(means, np.stack([lines - APART, lines + APART]), color="#999999", linewidth=0.8, zorder=1)
    for source, (mark, colour, face) in enumerate(MARKS):
        axes.errorbar(
            means[source], lines + (-APART, APART)[source], xerr=[pair.stds[source] or 0.0 for pair in pairs],
            fmt=mark, color=colour, markerfacecolor=face, linewidth=0.8, label=sources[source],
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(axis="x")
