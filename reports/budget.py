"""The figure of a budget: mean scores of methods over their updates, with the rows that do not depend on it as levels.

It is drawn where several methods sweep `pretrain.epochs`, and shows whether their order persists as they learn for
longer. Baselines and the untrained encoder are dashed; bands are 95 % intervals over patients and seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullLocator

from benchmark.results.metrics import METRICS
from benchmark.results.names import BASELINE, OVERALL, is_untrained
from benchmark.results.store import Plan
from reports.comparison import RowComparison
from reports.figures import SETTINGS, Figure, FigureStyle, entries_of, errors, level_entries, panels, save, style_of
from reports.layouts import role_of
from reports.results import Record, Run
from reports.words import labels_text, seeds_text, unit_text

BUDGET = "pretrain.epochs"


def draw_budgets(
    results: Run,
    folder: Path,
    comparisons: Mapping[tuple[str, str], RowComparison],
    swept: Mapping[tuple[str, str], pd.DataFrame],
) -> Iterator[Figure]:
    """Draw the figure of each evaluation and unit in which several methods sweep the budget.

    comparisons, swept: evaluation and unit -> the compared rows, and the intervals of the rows of sweeps.
    """
    plan = results.plan
    with plt.style.context(SETTINGS):
        for (evaluation, unit), intervals in swept.items():
            points = budget_points(intervals, results.pretrainings, plan)
            if points["method"].nunique() > 1:
                seeds = {cell.seed for cell in plan.cells if cell.evaluation == evaluation}
                levels = comparisons[evaluation, unit].intervals
                canvas, caption = budget_panels(points, levels, style_of(plan))
                words = f"per {unit_text(plan, unit)}, {seeds_text(seeds)}"
                yield save(canvas, folder / f"{evaluation}-{unit}-budget", caption.format(words=words))


def budget_panels(points: pd.DataFrame, levels: pd.DataFrame, style: FigureStyle) -> tuple[Canvas, str]:
    """Draw mean scores over updates, a panel per label share and a line per method; return them with a caption.

    points: as of `budget_points`. levels: lines of `intervals` of the compared rows.
    """
    methods = [name for name in style.looks if name in set(points["method"])]
    shown = levels[levels["metric"] == OVERALL].dropna(subset=["mean"])
    levels = shown[[is_level(style, row) for row in shown["variant"]]]
    metric = METRICS[style.plan.headline.curve]
    shares = points["ratio"].unique().tolist()
    entries = [*entries_of(methods, style, "-"), *level_entries(levels["variant"], style)]
    labels = ("updates of the pretraining", f"{metric.title}, mean over the datasets (%)")
    canvas, axes = panels(len(shares), 2.6, entries, labels)
    for share, panel in zip(shares, axes, strict=True):
        draw_levels(panel, levels[levels["ratio"] == share], style)
        draw_lines(panel, points[points["ratio"] == share], methods, style)
        panel.set_title(labels_text(share))
    caption = (
        f"M{metric.words[1:]}, mean over the datasets, over the updates of the pretraining, {{words}}. Bands: 95 % "
        "intervals. Dashed: rows that the budget does not change."
    )
    return canvas, caption


def budget_points(swept: pd.DataFrame, pretrainings: Mapping[str, Mapping[str, Record]], plan: Plan) -> pd.DataFrame:
    """Return the mean scores of the rows that sweep the budget: ratio, method, updates, mean, low, high."""
    lines = []
    for line in swept[swept["metric"] == OVERALL].to_dict("records"):
        role = role_of(plan, line["variant"])
        records = pretrainings.get(line["variant"], {})
        if role.get("hyperparameter") == BUDGET and records:
            updates = fmean(record["updates"] for record in records.values())
            ends = {name: line[name] for name in ("ratio", "mean", "low", "high")}
            lines.append({"method": role["of"], "updates": updates, **ends})
    return pd.DataFrame(lines, columns=["ratio", "method", "updates", "mean", "low", "high"]).drop_duplicates()


def is_level(style: FigureStyle, row: str) -> bool:
    """Tell whether the budget does not change a row."""
    return is_untrained(row) or role_of(style.plan, row)["role"] == BASELINE


def draw_levels(panel: Axes, levels: pd.DataFrame, style: FigureStyle) -> None:
    """Draw the rows that the budget does not change as dashed lines."""
    for row in levels.to_dict("records"):
        panel.axhline(100 * row["mean"], color=style.looks[row["variant"]].hue, linestyle="--", zorder=1)


def draw_lines(panel: Axes, points: pd.DataFrame, methods: Sequence[str], style: FigureStyle) -> None:
    """Draw the scores of each method over its updates, which double from tick to tick or more."""
    for method in methods:
        lines = points[points["method"] == method].sort_values("updates")
        look = style.looks[method]
        middle, (below, above) = 100 * lines["mean"], errors(lines)
        panel.fill_between(lines["updates"], middle - below, middle + above, color=look.hue, alpha=0.15, linewidth=0)
        panel.plot(lines["updates"], middle, color=look.hue, marker=look.marker)
    panel.set_xscale("log")
    panel.xaxis.set_minor_locator(NullLocator())
    low = points["updates"].min()
    high = points["updates"].max()
    panel.set_xlim(low / 1.2, high * 1.2)
