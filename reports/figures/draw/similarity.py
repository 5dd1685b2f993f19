"""What the queries of a batch resemble: cosines with the batch's keys and the queue's, and which of these attract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmark.results.names import ATTRACTS, KEY_KINDS, OTHER, OWN, SAME
from reports.figures.draw.style import (
    COSINES,
    SMALL,
    SOLID,
    TWO_COLUMNS,
    Dash,
    draw_cells,
    new_figure,
    save,
    small_print,
    styled,
    words_height,
)
from reports.figures.illustrations import Similarity

ROW_HEIGHT, HEAD_AND_AXIS = 1.65, 0.4
SHAPES = {OWN: "s", ATTRACTS: "o", SAME: "x"}
"""What marks a key that is not of another patient."""
LINES: dict[int, tuple[str, Dash]] = {
    OTHER: ("#0072B2", SOLID),
    OWN: ("#000000", (0, (4, 1.5))),
    ATTRACTS: ("#D55E00", SOLID),
    SAME: ("#009E73", (0, (1, 1))),
}


def plot_similarity(shown: Sequence[Similarity], rows: Mapping[str, str], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw a matrix and the spread of all cosines per row. rows: variant -> title. note: the small print."""
    with styled():
        figure = new_figure(TWO_COLUMNS, ROW_HEIGHT * len(shown) + HEAD_AND_AXIS + words_height({}, note, TWO_COLUMNS))
        grid = figure.subplots(len(shown), 2, squeeze=False, width_ratios=(3.2, 1))
        reach = max(float(np.abs(found.cosine).max()) for found in shown)
        widest = widest_cosine(shown)
        for (matrix, spread), found in zip(grid, shown, strict=True):
            draw_matrix(matrix, found, reach)
            matrix.set_title(f"{rows[found.variant]}: queries of a batch against its keys and the queue's")
            draw_spread(spread, found)
            spread.set_xlim(-widest, widest)
        grid[-1, 0].set_xlabel("keys of the batch | keys of the queue")
        grid[-1, 1].set_xlabel("cosine")
        names = [number for number in LINES if any(found.spread[number].any() for found in shown)]
        figure.legend(handles=[handle(number) for number in names], loc="outside upper center", ncols=len(names))
        small_print(figure, note)
        return save(figure, stem)


def widest_cosine(shown: Sequence[Similarity]) -> float:
    """The end of the outermost bin that holds a cosine, on either side of 0."""
    edges = np.linspace(-1, 1, shown[0].spread.shape[1] + 1)  # (bins + 1,)
    held = np.sum([found.spread for found in shown], axis=(0, 1)) > 0  # (bins,)
    return float(np.maximum(-edges[:-1], edges[1:])[held].max(initial=0.0)) or 1.0


def handle(number: int) -> Line2D:
    """How a kind of key stands in the legend: its line, and its mark in the matrix."""
    colour, dash = LINES[number]
    return Line2D(
        [], [], color=colour, linestyle=dash, marker=SHAPES.get(number, ""), markersize=3.5, label=KEY_KINDS[number]
    )


def draw_matrix(axes: Axes, found: Similarity, reach: float) -> None:
    """Cosines (Q, C) up to `reach`, a mark on every key of the query's patient, a line between batch and queue."""
    cells = draw_cells(axes, found.cosine, cmap=COSINES, vmin=-reach, vmax=reach, linewidths=0, rasterized=True)
    axes.set(xticks=[], yticks=[])
    scale = axes.figure.colorbar(cells, ax=axes, pad=0.01, aspect=15)
    scale.ax.set_title("cosine", fontsize=SMALL)  # beside the scale it would read as the next panel's axis
    for number, shape in SHAPES.items():
        queries, keys = np.nonzero(found.kind == number)
        axes.plot(
            keys + 0.5, queries + 0.5, shape, color="white", markersize=1.1, markeredgewidth=0.5, linestyle="none"
        )
    axes.axvline(int(np.count_nonzero(~found.key_queued)), color="white", linewidth=1.5)
    axes.set_ylabel("query")


def draw_spread(axes: Axes, found: Similarity) -> None:
    """Density of the cosines of all queries of the batch with all keys, by what the key is to the query."""
    edges = np.linspace(-1, 1, found.spread.shape[1] + 1)  # (bins + 1,)
    for number, (colour, dash) in LINES.items():
        total = found.spread[number].sum()
        if total:
            density = found.spread[number] / total / np.diff(edges)  # (bins,)
            axes.stairs(density, edges, color=colour, linestyle=dash, linewidth=1.0)
    axes.set_title("all keys, density")
    axes.set_yticks([])
