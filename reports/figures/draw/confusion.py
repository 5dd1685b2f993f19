"""Confusion matrices of a task: a panel per row of the table, true class by decision, in percent of the true class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from reports.figures.confusion import Confusion
from reports.figures.draw.style import (
    ONE_COLUMN,
    SHARES,
    TINY,
    TWO_COLUMNS,
    draw_cells,
    new_figure,
    save,
    small_print,
    styled,
    words_height,
)

MANY_CLASSES, MANY_ROWS = 6, 8
"""Three panels stand abreast from so many classes on, else four, and five beyond so many rows of the table."""
DARK = 65
"""Percent beyond which a number is written in white."""
SIDE, HEAD = 0.15, 0.5
"""Inches beside the matrix of a panel, and above and below it: what is left makes its cells about square.

The layout makes no room around panels that are held to an exact square.
"""


def plot_confusion(
    found: Sequence[Confusion], classes: Sequence[str], rows: Mapping[str, str], note: str, stem: Path
) -> tuple[Path, Path]:
    """Draw the matrices of one dataset. rows: variant -> title; classes: names; note: the small print."""
    abreast = 3 if len(classes) >= MANY_CLASSES else 4 if len(found) <= MANY_ROWS else 5
    columns = min(abreast, len(found))
    lines = -(-len(found) // abreast)
    width = ONE_COLUMN if 2 * columns <= abreast else TWO_COLUMNS
    with styled():
        figure = new_figure(width, lines * (width / columns - SIDE + HEAD) + words_height({}, note, width))
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for number, axes in enumerate(grid.flat):
            if number < len(found):
                draw_matrix(axes, found[number], classes)
                axes.set_title(rows[found[number].variant])
            else:
                axes.set_axis_off()
        small_print(figure, note)
        return save(figure, stem)


def draw_matrix(axes: Axes, found: Confusion, classes: Sequence[str]) -> None:
    """Shares in percent, below 1 left blank; a class that the test set lacks is a line of dashes."""
    draw_cells(axes, np.nan_to_num(found.shares), cmap=SHARES, vmin=0, vmax=100, linewidths=0.3, edgecolors="white")
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


def _written(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:.0f}" if share >= 1 else ""
