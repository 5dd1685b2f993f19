"""Differences on axes that Python code holds: of rows of a run, or of pairs of models.

They look as the figures of a report do (`reports.figures`), and leave the backend of pyplot as it is.
"""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from reports.comparison import RowComparison
from reports.figures import COLUMN, SETTINGS, FigureStyle, draw_difference_panel
from reports.words import and_text, labels_text


def axes_of_pairs(pairs: pd.DataFrame, label: str, axes: Axes | None) -> Axes:
    """Draw the differences of pairs of models with their intervals on axes, by default of a new pyplot figure."""
    with plt.style.context(SETTINGS):
        if axes is None:
            _, axes = plt.subplots(figsize=(COLUMN + 1.5, 0.8 + 0.25 * len(pairs)), layout="constrained")
        for number, pair in enumerate(pairs.to_dict("records")):
            middle, low, high = (100 * pair[name] for name in ("difference", "low_holm", "high_holm"))
            axes.errorbar(
                middle, number, xerr=[[middle - low], [high - middle]], fmt="o", color="0.3",
                markerfacecolor="0.3" if pair["significant"] else "white",
            )  # fmt: skip
        axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.set_yticks(range(len(pairs)), pairs["first"] + " − " + pairs["second"])
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_xlabel(label)
    return axes


def axes_of_differences(comparison: RowComparison, style: FigureStyle, axes: Axes | None) -> Axes:
    """Draw the differences at the one label share of a comparison on axes, by default of a new pyplot figure."""
    frame = comparison.differences
    order = frame.sort_values("difference", ascending=False)["variant"].tolist()
    reference = and_text([style.plan.variants[name] for name in frame["reference"].unique()])
    share = frame["ratio"].iloc[0]
    with plt.style.context(SETTINGS):
        if axes is None:
            _, axes = plt.subplots(figsize=(COLUMN + 1.5, 0.8 + 0.25 * len(order)), layout="constrained")
        draw_difference_panel(axes, comparison, share, order, style)
    axes.set_yticks(range(len(order)), [style.rows[row] for row in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel(f"{style.plan.headline.title}, row − {reference} (points); filled: significant (Holm)")
    beside = [style.plan.variants[name] for name in comparison.baseline["variant"].unique()]
    axes.set_title("; dashed: ".join([labels_text(share), *beside]))
    return axes
