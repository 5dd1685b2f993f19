"""The figures of sweeps: a method's scores over the values of a hyperparameter, and all methods over their updates.

The first shows the other methods as dashed lines (PMQ, Fig. 4). The second stands in place of the first where several
methods sweep `pretrain.epochs`, and shows whether their order persists as they learn for longer; baselines and the
untrained encoder are dashed, and bands are 95 % intervals over patients and seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from benchmark.results.metrics import METRICS
from benchmark.results.names import BASELINE, METHOD, OVERALL, SWEEP, is_untrained
from benchmark.results.store import Plan
from reports.comparison import RowComparison
from reports.figures import (
    SETTINGS,
    Figure,
    FigureStyle,
    around,
    entries_of,
    errors,
    panels,
    save,
    style_of,
    unit_and_seeds,
)
from reports.gains import BUDGET
from reports.layouts import role_of
from reports.looks import Look
from reports.results import Record, Run, mean_over_subsets
from reports.words import labels_text

BUDGET_COLUMNS = ["ratio", "variant", "method", "updates", "mean", "low", "high"]
WIDE = 50
"""Ratio of the most updates to the fewest from which on an axis has a tick at the powers of ten alone."""
LETTERS_OF_TICKS = 16
"""Letters of the ticks of a panel from which on they are slanted."""


def draw_swept(
    results: Run,
    folder: Path,
    comparisons: Mapping[tuple[str, str], RowComparison],
    intervals: pd.DataFrame,
) -> Iterator[Figure]:
    """Draw the sweeps of each evaluation and unit, and the budget where several methods sweep it.

    comparisons: evaluation and unit -> the compared rows. intervals: of all tables, by the name of the table.
    """
    plan = results.plan
    style = style_of(plan)
    scores = mean_over_subsets(results.scores).dropna(subset=["value"])
    with plt.style.context(SETTINGS):
        for (evaluation, unit), comparison in comparisons.items():
            stem = folder / f"{evaluation}-{unit}"
            words = unit_and_seeds(plan, evaluation, unit)
            shown = scores.query("evaluation == @evaluation and unit == @unit and metric == @plan.headline.curve")
            is_swept = intervals["table"].str.startswith(f"{evaluation}-{unit}-")
            points = budget_points(intervals[is_swept], results.pretrainings, plan)
            if points["method"].nunique() > 1:
                shown = shown[~shown["variant"].isin(points["variant"])]
                canvas = budget_panels(points, comparison.intervals, style)
                metric = METRICS[plan.headline.curve]
                caption = (
                    f"M{metric.words[1:]}, mean over the datasets, over the updates of the pretraining, {words}. "
                    "Bands: 95 % intervals. Dashed: rows that the budget does not change."
                )
                yield save(canvas, stem.with_name(f"{stem.name}-budget"), caption)
            yield from draw_sweeps(shown, style, stem, words)


def draw_sweeps(frame: pd.DataFrame, style: FigureStyle, stem: Path, words: str) -> Iterator[Figure]:
    """Draw the headline's curve over each swept hyperparameter, the other methods as lines; a file each."""
    sweeps: dict[tuple[str, str], dict[str, Any]] = {}  # method and hyperparameter -> row -> value
    for variant in style.plan.variants:
        role = role_of(style.plan, variant)
        if role["role"] == SWEEP:
            sweeps.setdefault((role["of"], role["hyperparameter"]), {})[variant] = role["value"]
    for (method, hyperparameter), values in sweeps.items():
        points = frame[frame["variant"].isin(values)]
        if points.empty:
            continue
        spelled = hyperparameter.replace("_", " ")
        canvas = sweep_panels(frame, points, values, style, method, spelled)
        metric = METRICS[style.plan.headline.curve]
        title = style.rows.get(method, method).replace("\n", " ")
        caption = (
            f"M{metric.words[1:]} of {title} over {spelled}, {words}. Lines: "
            "standard deviation over seeds. Dashed: the other methods as they are, where they lie within the panel."
        )
        file = f"{stem.name}-{method}-{hyperparameter}".replace("_", "-")
        yield save(canvas, stem.with_name(file), caption)


def sweep_panels(
    frame: pd.DataFrame,
    points: pd.DataFrame,
    values: Mapping[str, Any],
    style: FigureStyle,
    method: str,
    hyperparameter: str,
) -> Canvas:
    """Draw the scores of the rows of a sweep of a method, a panel per label share and dataset. values: row -> value.

    A panel shows what is near the swept scores, so that a row far above does not press them into a line.
    """
    order = list(values)
    look = style.looks[method]
    groups = list(points.groupby(["ratio", "dataset"], sort=False))
    is_other = [role_of(style.plan, row)["role"] == METHOD and row != method for row in frame["variant"]]
    others = frame[is_other]
    swept_entry = Line2D([], [], color=look.hue, marker=look.marker, label=style.rows.get(method, method))
    labels = (hyperparameter, f"{METRICS[style.plan.headline.curve].title} (%; higher: better)")
    canvas, axes = panels(len(groups), 1.8, [swept_entry, *entries_of(others["variant"], style, "--")], labels)
    for (identity, group), panel in zip(groups, axes, strict=True):
        ratio, dataset = cast(tuple[float, str], identity)
        beside = others[(others["ratio"] == ratio) & (others["dataset"] == dataset)]
        for row, mean in beside.groupby("variant", sort=False)["value"].mean().items():
            draw_level(panel, 100 * mean, style.looks[str(row)])
        swept = 100 * group.groupby("variant")["value"].agg(["mean", "std"]).reindex(order)
        deviation = swept["std"].fillna(0)
        panel.errorbar(range(len(order)), swept["mean"], yerr=deviation, color=look.hue, marker=look.marker)
        ends = pd.concat([swept["mean"] - deviation, swept["mean"] + deviation])
        panel.set_ylim(*around(ends / 100))
        panel.set_title(f"{style.datasets[str(dataset)]},\n{labels_text(ratio)}")
        texts = [str(value) for value in values.values()]
        panel.set_xticks(range(len(order)), texts, rotation=0 if sum(map(len, texts)) < LETTERS_OF_TICKS else 45)
    return canvas


def budget_panels(points: pd.DataFrame, levels: pd.DataFrame, style: FigureStyle) -> Canvas:
    """Draw mean scores over updates, a panel per label share and a line per method.

    points: as of `budget_points`. levels: lines of `intervals` of the compared rows.
    """
    methods = [name for name in style.looks if name in set(points["method"])]
    levels = levels[levels["metric"] == OVERALL].dropna(subset=["mean"])
    is_level = [is_untrained(row) or role_of(style.plan, row)["role"] == BASELINE for row in levels["variant"]]
    levels = levels[is_level]
    metric = METRICS[style.plan.headline.curve]
    shares = points["ratio"].unique().tolist()
    entries = [*entries_of(methods, style, "-"), *entries_of(levels["variant"], style, "--")]
    labels = ("updates of the pretraining", f"{metric.title}, mean over the datasets (%)")
    canvas, axes = panels(len(shares), 2.6, entries, labels)
    for share, panel in zip(shares, axes, strict=True):
        for row in levels[levels["ratio"] == share].to_dict("records"):
            draw_level(panel, 100 * row["mean"], style.looks[row["variant"]])
        draw_lines(panel, points[points["ratio"] == share], methods, style)
        panel.set_title(labels_text(share))
    return canvas


def draw_level(panel: Axes, score: float, look: Look) -> None:
    """Draw a score (%) that does not vary along the axis as a dashed line with the marker of its row at the right."""
    panel.axhline(score, xmax=0.97, linestyle="--", color=look.hue, marker=look.marker, markevery=[1], zorder=1)


def budget_points(swept: pd.DataFrame, pretrainings: Mapping[str, Mapping[str, Record]], plan: Plan) -> pd.DataFrame:
    """Return the mean scores of the rows that sweep the budget: ratio, variant, method, updates, mean, low, high."""
    lines = []
    for line in swept[swept["metric"] == OVERALL].to_dict("records"):
        role = role_of(plan, line["variant"])
        records = pretrainings.get(line["variant"], {})
        if role.get("hyperparameter") == BUDGET and records:
            updates = fmean(record["updates"] for record in records.values())
            lines.append(line | {"method": role["of"], "updates": updates})
    return pd.DataFrame(lines, columns=BUDGET_COLUMNS).drop_duplicates()


def draw_lines(panel: Axes, points: pd.DataFrame, methods: Sequence[str], style: FigureStyle) -> None:
    """Draw the scores of each method over its updates, on a logarithmic axis."""
    for method in methods:
        lines = points[points["method"] == method].sort_values("updates")
        look = style.looks[method]
        middle, (below, above) = 100 * lines["mean"], errors(lines)
        panel.fill_between(lines["updates"], middle - below, middle + above, color=look.hue, alpha=0.15, linewidth=0)
        panel.plot(lines["updates"], middle, color=look.hue, marker=look.marker)
    low = points["updates"].min()
    high = points["updates"].max()
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high > WIDE * low else (1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlim(low / 1.2, high * 1.2)
