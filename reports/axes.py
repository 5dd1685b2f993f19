"""Differences on axes that Python code holds: of rows of a run, or of pairs of models.

They look as the figures of a report do (`reports.figures`), and leave the backend of pyplot as it is.
"""

from __future__ import annotations

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from reports.comparison import RowComparison
from reports.figures import COLUMN, SETTINGS, FigureStyle, draw_difference_panel
from reports.words import and_text


def axes_of_differences(comparison: RowComparison, style: FigureStyle, title: str, axes: Axes | None) -> Axes:
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
    axes.set_title("; dashed: ".join([title, *beside]))
    return axes
