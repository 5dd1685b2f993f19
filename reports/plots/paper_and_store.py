"""A store's scores beside the paper's: a panel per dataset and label ratio, a line per row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from reports.claims import title_of
from reports.paper import DATASETS, METRICS, RATIOS
from reports.plots.style import new_figure, save, small_print, styled
from reports.replication import Beside

PAPER_MARK, STORE_MARK = ("o", "#D55E00", "paper"), ("D", "#0072B2", "store")
"""Shape, colour and name of the two sources of a score."""
NAMES_WIDTH, PANEL_WIDTH, LINE_HEIGHT, HEAD_HEIGHT = 1.2, 2.0, 0.18, 0.6
"""Inches of the rows' names, of a panel, of one of its lines, and of what stands above and below them."""
APART = 0.16
"""How far each of the two stands from the middle of its line, in lines."""


def paper_and_store(pairs: Sequence[Beside], stem: Path, *, simulated: bool) -> tuple[Path, Path]:
    """Draw one metric of the paper and of a store as PNG and PDF: a panel per dataset and ratio, a line per row.

    Each mean stands with its standard deviation over seeds, the paper's above the store's, and a grey line joins them.
    `pairs` holds one metric and is not empty; `stem` is the path without its ending; of simulated ECGs the figure says
    so. Returns the two files.
    """
    ratios = [ratio for ratio in RATIOS if any(pair.place.ratio == ratio for pair in pairs)]
    datasets = [name for name in DATASETS if any(pair.place.dataset == name for pair in pairs)]
    variants = list(dict.fromkeys(pair.place.variant for pair in pairs))
    height = len(ratios) * (HEAD_HEIGHT + LINE_HEIGHT * len(variants)) + HEAD_HEIGHT / 2
    with styled():
        figure = new_figure(NAMES_WIDTH + PANEL_WIDTH * len(datasets), height)
        grid = figure.subplots(len(ratios), len(datasets), squeeze=False, sharey=True)
        for row, ratio in enumerate(ratios):
            for column, dataset in enumerate(datasets):
                axes = grid[row, column]
                draw_pairs(axes, [p for p in pairs if (p.place.ratio, p.place.dataset) == (ratio, dataset)], variants)
                axes.set_title(f"{DATASETS[dataset]}, {100 * ratio:g} %")
        grid[0, 0].set_ylim(len(variants) - 0.5, -0.5)
        score = f"{METRICS[pairs[0].place.metric]} in percent, mean ± standard deviation over seeds"
        small_print(figure, f"{score}{'; the store holds simulated ECGs' if simulated else ''}.")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        return save(figure, stem)


def draw_pairs(axes: Axes, pairs: Sequence[Beside], variants: Sequence[str]) -> None:
    """Both scores of each variant on its line; a variant without a cell here keeps its empty line."""
    lines = np.array([variants.index(pair.place.variant) for pair in pairs], np.float64)  # (pairs,)
    both = ((PAPER_MARK, "white", [p.paper for p in pairs], -APART), (STORE_MARK, None, [p.ours for p in pairs], APART))
    means = np.array([[score.mean for score in scores] for _, _, scores, _ in both])  # (2, pairs)
    axes.plot(means, np.stack([lines - APART, lines + APART]), color="#999999", linewidth=0.8, zorder=1)
    for (mark, colour, name), face, scores, shift in both:
        axes.errorbar(
            [score.mean for score in scores], lines + shift, xerr=[score.std or 0.0 for score in scores],
            fmt=mark, color=colour, markerfacecolor=face or colour, linewidth=0.8, label=name,
        )  # fmt: skip
    axes.set_yticks(range(len(variants)), [title_of(variant) for variant in variants])
    axes.grid(axis="x")
