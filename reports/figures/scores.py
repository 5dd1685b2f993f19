"""Figures of scores.

Differences in Overall from one reference row with their intervals: a line per row, a panel per label ratio.

F1 against the share of the labels, a line per row of the table and a panel per dataset.

F1 against the values of a swept knob, with its band, and the methods it is held against as lines (PMQ, Fig. 4).

F1 against what pretraining cost, a line per method through its snapshots and a panel per kind of cost.

F1 against the time that pretraining took, a point per row of the table and a panel per label ratio.

Scores from two sources beside each other: a grid of panels, a line per row.

Validation score of the trials of a search, a panel per knob over its values, a colour and shape per method.

Scores by class: a line per class, a panel per score, and a mark with its interval per row of the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmark.results.names import takes_shots
from reports.figures.data import KnobPanel, Sweep, TrialPoint
from reports.figures.style import (
    FAINT,
    SETTINGS,
    TWO_COLUMNS,
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
from reports.statistics.estimates import PASSES, SECONDS, WINDOWS
from reports.statistics.table import Differences
from reports.tables.words import labels_text

ROW_HEIGHT, DIFFERENCES_AROUND = 0.19, 0.62
"""Inches of a row, and of title and axis together."""


def plot_differences(
    found: Sequence[Differences],
    rows: Mapping[str, str],
    reference: str,
    note: str,
    stem: Path,
    evaluation: str = "",
) -> tuple[Path, Path]:
    """Draw the differences from the row titled `reference`. rows: variant -> title, from the top. note: small print.

    Filled marks are significant differences; a mark without a line has no interval.
    """
    with styled():
        width = width_of(len(found))
        figure = new_figure(width, DIFFERENCES_AROUND + ROW_HEIGHT * len(rows) + words_height({}, note, width))
        grid = figure.subplots(1, len(found), squeeze=False, sharex=True, sharey=True)[0]
        places = {variant: place for place, variant in enumerate(rows)}
        for axes, own in zip(grid, found, strict=True):
            draw_rows(axes, own, places, marks(rows))
            axes.set_title(labels_text(own.ratio, evaluation))
            axes.set_xlabel(f"points from {reference}")
            axes.grid(axis="x")
        grid[0].set_yticks(list(places.values()), list(rows.values()))
        grid[0].set_ylim(len(rows) - 0.5, -0.5)
        small_print(figure, note)
        return save(figure, stem)


def draw_rows(axes: Axes, found: Differences, places: Mapping[str, int], drawn: Mapping[str, Mark]) -> None:
    """A mark per row at its difference, and a line over its interval."""
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
    for row in found.rows:
        colour, shape, *_ = drawn[row.variant]
        place = places[row.variant]
        if not np.isnan(row.low):
            axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.2, zorder=2)
        axes.plot(
            [row.mean], [place], marker=shape, color=colour, markersize=5,
            markerfacecolor=colour if row.told else "white",
        )  # fmt: skip
    axes.tick_params(axis="y", length=0)


LABEL_EFFICIENCY_HEIGHT = 2.15
LABEL_EFFICIENCY_SPREAD = 1.35
"""Factor between the places of the first and the last row at one ratio, so that their whiskers stand side by side."""


def plot_label_efficiency(
    curves: pd.DataFrame,
    panels: Mapping[str, str],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
    evaluation: str = "",
) -> tuple[Path, Path]:
    """Draw bands (`reports.figures.data.BAND`) over label ratios.

    panels: dataset -> title. rows: variant -> title. note: the small print.
    """
    with styled():
        width = width_of(len(panels))
        figure = new_figure(width, LABEL_EFFICIENCY_HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        drawn = marks(rows)
        ratios = sorted(curves["ratio"].unique())
        scale, what = (1, "patients per class") if takes_shots(evaluation) else (100, "labels (%)")
        for axes, (dataset, title) in zip(grid, panels.items(), strict=True):
            draw_label_efficiency(axes, curves[curves["dataset"] == dataset], drawn)
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


def draw_label_efficiency(axes: Axes, curves: pd.DataFrame, drawn: Mapping[str, Mark]) -> None:
    """A line per row, with the deviation over seeds as whiskers."""
    for number, (variant, mark) in enumerate(drawn.items()):
        own = curves[curves["variant"] == variant].sort_values("ratio")
        shift = LABEL_EFFICIENCY_SPREAD ** (number / max(1, len(drawn) - 1) - 0.5)
        axes.errorbar(
            own["ratio"] * shift, own["mean"], yerr=own["std"].fillna(0.0), color=mark.colour, marker=mark.shape,
            linestyle=mark.dash, linewidth=1.0, elinewidth=0.7, markersize=3.5,
        )  # fmt: skip


SWEEP_AXIS_NAMES = {"queue_size": "queue size $M$"}
SWEEP_HEIGHT = 1.95
WHISKER_STEP = 0.16
"""How far the whiskers of two lines stand apart, in steps of the axis."""
THOUSAND = 1024


def plot_sweep(
    sweep: Sweep, panels: Mapping[str, str], rows: Mapping[str, str], note: str, stem: Path
) -> tuple[Path, Path]:
    """Draw a sweep, a panel per dataset.

    panels: dataset -> title. rows: the swept method and those it is held against -> title. note: the small print.
    """
    with styled():
        width = width_of(len(panels))
        figure = new_figure(width, SWEEP_HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        drawn = marks(rows)
        for axes, (dataset, title) in zip(grid, panels.items(), strict=True):
            draw_sweep(axes, sweep, dataset, drawn[sweep.of])
            draw_rivals(axes, sweep, dataset, drawn)
            axes.set_title(title)
            axes.set_xticks(sweep.positions, [tick_text(value) for value in sweep.values])
            axes.set_xlabel(SWEEP_AXIS_NAMES.get(sweep.knob, sweep.knob))
            axes.grid(axis="y")
        grid[0].set_ylabel("F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_sweep(axes: Axes, sweep: Sweep, dataset: str, mark: Mark) -> None:
    """The swept method: its means, their band, and a ring around its own value."""
    points = sweep.points[sweep.points["dataset"] == dataset]
    where, mean, std = points["position"], points["mean"], points["std"].fillna(0.0)
    axes.fill_between(where, mean - std, mean + std, color=mark.colour, alpha=0.2, linewidth=0)
    axes.plot(where, mean, color=mark.colour, marker=mark.shape, linestyle=mark.dash, zorder=3)
    own = points[[value == sweep.own for value in values_of(sweep, points)]]
    axes.plot(
        own["position"], own["mean"], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=0.8
    )


def values_of(sweep: Sweep, points: pd.DataFrame) -> list[Any]:
    """The value that each point stands for."""
    at = dict(zip(sweep.positions, sweep.values, strict=True))
    return [at[position] for position in points["position"]]


def draw_rivals(axes: Axes, sweep: Sweep, dataset: str, drawn: Mapping[str, Mark]) -> None:
    """A line across the panel for each, with its deviation as a whisker at the right."""
    lines = sweep.lines[sweep.lines["dataset"] == dataset]
    for number, (variant, mean, std) in enumerate(zip(lines["variant"], lines["mean"], lines["std"], strict=True)):
        colour, shape, dash, _ = drawn[variant]
        axes.axhline(mean, color=colour, linestyle=dash, linewidth=1.0, zorder=2)
        where = max(sweep.positions) + WHISKER_STEP * (number + 2)
        axes.errorbar([where], [mean], [std], fmt=shape, color=colour, elinewidth=0.8, markersize=3.5)


def tick_text(value: Any) -> str:
    """16384 -> '16k', 0.1 -> '0.1', 'patient' -> 'patient'."""
    if type(value) is int and value >= THOUSAND and value % THOUSAND == 0:
        return f"{value // THOUSAND}k"
    return f"{value:g}" if isinstance(value, float) else str(value)


COMPUTE_HEIGHT = 2.05
COMPUTE_MARGIN = 1.6
"""Factor of free room to the left of the cheapest and the right of the dearest."""
CLOCK = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
    *(60 * minutes for minutes in (1, 2, 5, 10, 20)),
    *(3600 * hours for hours in (1, 2, 5, 12, 24, 48, 120, 240)),
)
"""Seconds that may be marked on the axis."""
MOST_TICKS = 5


def plot_compute(
    scores: pd.DataFrame,
    name: str,
    seconds: Mapping[str, float],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
    evaluation: str = "",
) -> tuple[Path, Path]:
    """Draw the scores of one dataset or of Overall (`score_bands.BAND`), called `name`, over pretraining seconds.

    A row without seconds was not pretrained and is a line. rows: variant -> title. note: the small print.
    """
    with styled():
        ratios = sorted(scores["ratio"].unique(), reverse=True)
        width = width_of(len(ratios))
        figure = new_figure(width, COMPUTE_HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(ratios), squeeze=False)[0]
        drawn = marks(rows)
        for axes, ratio in zip(grid, ratios, strict=True):
            draw_points(axes, scores[scores["ratio"] == ratio], seconds, drawn)
            axes.set_title(labels_text(ratio, evaluation))
            set_time_axis(axes, min(seconds.values()) / COMPUTE_MARGIN, max(seconds.values()) * COMPUTE_MARGIN)
            axes.grid(axis="y")
        grid[0].set_ylabel(f"{name}, F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_points(axes: Axes, scores: pd.DataFrame, seconds: Mapping[str, float], drawn: Mapping[str, Mark]) -> None:
    """A point with its deviation for what was pretrained, a line for what was not."""
    for variant, mean, std in zip(scores["variant"], scores["mean"], scores["std"], strict=True):
        colour, shape, dash, _ = drawn[variant]
        if variant in seconds:
            axes.errorbar([seconds[variant]], [mean], [std], fmt=shape, color=colour, elinewidth=0.8, markersize=5)
        else:
            axes.axhline(mean, color=colour, linestyle=dash, linewidth=1.0, zorder=1)


def set_time_axis(axes: Axes, first: float, last: float) -> None:
    """A logarithmic axis of seconds, marked as a clock would be."""
    within = [seconds for seconds in CLOCK if first <= seconds <= last]
    thinned = within[:: -(-len(within) // MOST_TICKS) or 1]
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    axes.set_xticks(thinned, [clock_text(seconds) for seconds in thinned])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("pretraining time")


def clock_text(seconds: float) -> str:
    """0.5 -> '0.5 s', 120 -> '2 min', 7200 -> '2 h'."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


BUDGET_HEIGHT = 2.05
BUDGET_AXIS_NAMES = {WINDOWS: "pairs of windows", PASSES: "encoder passes"}


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
        figure = new_figure(width, BUDGET_HEIGHT + words_height(rows, note, width))
        grid = figure.subplots(1, len(costs), squeeze=False, sharey=True)[0]
        drawn = marks(rows)
        for axes, cost in zip(grid, costs, strict=True):
            draw_budget(axes, points, cost, drawn)
            for variant, mean in zip(lines["variant"], lines["mean"], strict=True):
                axes.axhline(mean, color=drawn[variant].colour, linestyle=drawn[variant].dash, linewidth=1.0, zorder=1)
            first, last = points[cost].min() / COMPUTE_MARGIN, points[cost].max() * COMPUTE_MARGIN
            if cost == SECONDS:
                set_time_axis(axes, first, last)
            else:
                set_count_axis(axes, first, last)
                axes.set_xlabel(BUDGET_AXIS_NAMES[cost])
            axes.grid(axis="y")
        grid[0].set_ylabel(f"{name}, F1 (%)")
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_budget(axes: Axes, points: pd.DataFrame, cost: str, drawn: Mapping[str, Mark]) -> None:
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


ABREAST, SENSITIVITY_LINE_HEIGHT = 4, 1.55
"""Panels in a line, and inches of a line."""
SENSITIVITY_SPREAD, LOG_SPREAD = 0.75, 0.05
"""Width that the methods share: of a category, and of a logarithmic axis."""
SENSITIVITY_MARGIN = 1.35
"""Factor beyond the lowest and the highest value of a logarithmic axis."""
PALE = 0.55
"""Opacity of a trial that is neither the method's own setting nor the chosen one."""


def plot_sensitivity(panels: Sequence[KnobPanel], rows: Mapping[str, str], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw the trials by knob. rows: method -> title. note: the small print.

    Hollow: a method's own setting; with a black edge: the chosen one.
    """
    with styled():
        concurrent = min(ABREAST, len(panels))
        lines = -(-len(panels) // concurrent)
        width = width_of(concurrent)
        figure = new_figure(width, SENSITIVITY_LINE_HEIGHT * lines + words_height(rows, note, width))
        grid = figure.subplots(lines, concurrent, squeeze=False, sharey=True)
        drawn = marks(rows)
        for axes, panel in zip(grid.flat, panels, strict=False):
            draw_trials(axes, panel, drawn)
            axes.set_xlabel(panel.knob.removeprefix("recipe."))
            axes.grid(axis="y")
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        for axes in grid[:, 0]:
            axes.set_ylabel("validation F1 (%)")
        legend(figure, rows, lines=False)
        small_print(figure, note)
        return save(figure, stem)


def draw_trials(axes: Axes, panel: KnobPanel, drawn: Mapping[str, Mark]) -> None:
    """The trials of each method; methods stand side by side, since they share the drawn values."""
    there = [method for method in drawn if any(point.method == method for point in panel.points)]
    for point in sorted(panel.points, key=lambda point: (point.chosen, point.own)):
        draw_trial(axes, place_of(panel, point, there), point, drawn[point.method])
    if panel.scale == "log":
        first, last = panel.values[0] / SENSITIVITY_MARGIN, panel.values[-1] * SENSITIVITY_MARGIN
        ticks = log_ticks(first, last)
        axes.set_xscale("log")
        axes.set_xlim(first, last)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    else:
        axes.set_xticks(range(len(panel.values)), [f"{value:g}" for value in panel.values])
        axes.set_xlim(-0.5, len(panel.values) - 0.5)
        for border in range(1, len(panel.values)):
            axes.axvline(border - 0.5, color=SETTINGS["grid.color"], linewidth=0.5, zorder=0)


def log_ticks(first: float, last: float) -> list[float]:
    """1, 2, 5, 10, ... within the limits; powers of ten alone where these are too many."""
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    for steps in ((1, 2, 5), (1,)):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        within = [tick for tick in ticks if first <= tick <= last]
        if len(within) <= MOST_TICKS:
            break
    return within


def place_of(panel: KnobPanel, point: TrialPoint, methods: Sequence[str]) -> float:
    """Where a trial stands on the axis, its method's place beside the value."""
    aside = (methods.index(point.method) + 0.5) / len(methods) - 0.5
    if panel.scale == "log":
        return float(point.value * (panel.values[-1] / panel.values[0]) ** (LOG_SPREAD * aside))
    return panel.values.index(point.value) + SENSITIVITY_SPREAD * aside


def draw_trial(axes: Axes, where: float, point: TrialPoint, mark: Mark) -> None:
    """One trial: hollow for the method's own setting, with a black edge for the chosen one, else small and pale."""
    told = point.own or point.chosen
    axes.plot(
        [where], [point.score], mark.shape, color=mark.colour, markersize=5 if told else 3.6,
        alpha=1.0 if told else PALE, markerfacecolor="white" if point.own else mark.colour,
        markeredgecolor="black" if point.chosen else mark.colour, markeredgewidth=0.9 if told else 0.0,
    )  # fmt: skip


MARK_HEIGHT, CLASS_HEIGHT, CLASSES_AROUND = 0.065, 0.16, 0.6
"""Inches of a mark with its interval, the least of a class, and of title and axis together."""
MOST_INTERVALS = 120
"""Marks of a panel beyond which the intervals are left out and a class takes one line."""


@dataclass(frozen=True)
class ClassMark:
    """The score of one row of the table on one class, in percent; NaN for an unknown bound."""

    variant: str
    name: str
    """Of the class."""
    mean: float
    low: float
    high: float


def plot_class_scores(
    panels: Mapping[str, Sequence[ClassMark]],
    classes: Mapping[str, str],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
) -> tuple[Path, Path]:
    """Draw the scores by class. panels: title -> marks; classes: name -> label; rows: variant -> title.

    `stem` is the path without its ending, note: the small print.
    """
    spread = len(classes) * len(rows) <= MOST_INTERVALS
    each = max(CLASS_HEIGHT, MARK_HEIGHT * (len(rows) + 2)) if spread else CLASS_HEIGHT
    with styled():
        height = CLASSES_AROUND + each * len(classes) + words_height(rows, note, TWO_COLUMNS)
        figure = new_figure(TWO_COLUMNS, height)
        grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (title, found) in zip(grid, panels.items(), strict=True):
            draw_marks(axes, found, list(classes), marks(rows), spread=spread)
            axes.set_title(title)
            axes.set_xlabel("%")
            axes.grid(axis="x")
        grid[0].set_yticks(range(len(classes)), list(classes.values()))
        grid[0].set_ylim(len(classes) - 0.5, -0.5)
        legend(figure, rows, lines=False)
        small_print(figure, note)
        return save(figure, stem)


def draw_marks(
    axes: Axes, found: Sequence[ClassMark], classes: Sequence[str], drawn: Mapping[str, Mark], *, spread: bool
) -> None:
    """A mark per row and class; with its interval, and one below the other, where there is room (`spread`)."""
    for number, (variant, mark) in enumerate(drawn.items()):
        shift = (number - (len(drawn) - 1) / 2) / (len(drawn) + 2) if spread else 0.0
        for own in found:
            if own.variant != variant or math.isnan(own.mean):
                continue
            place = classes.index(own.name) + shift
            if spread and not math.isnan(own.low):
                axes.plot([own.low, own.high], [place, place], color=mark.colour, linewidth=0.9, zorder=2)
            axes.plot(
                [own.mean], [place], marker=mark.shape, color=mark.colour, fillstyle=mark.fill,
                markerfacecoloralt="white", markersize=3.2, linestyle="", zorder=3,
            )  # fmt: skip
    for line in range(1, len(classes)):
        axes.axhline(line - 0.5, color="#e2e2e2", linewidth=0.5, zorder=1)
    axes.tick_params(axis="y", length=0)
