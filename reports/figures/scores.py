"""Figures of scores: differences, label efficiency, sweeps, classes, pairs of sources.

Each function draws one figure as PNG and PDF and returns the two files. Its arguments end with `rows`, variant ->
title; `note`, the small print; and `stem`, the path without its ending.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reports.figures.data import Sweep
from reports.figures.style import (
    FAINT,
    TWO_COLUMNS,
    Mark,
    Panel,
    marks,
    plot_panels,
)
from reports.statistics.table import Differences
from reports.tables.words import labels_text

ROW_HEIGHT, DIFFERENCES_AROUND = 0.19, 0.62
"""Inches of a row, and of title and axis together."""
LABEL_EFFICIENCY_HEIGHT, SWEEP_HEIGHT = 2.15, 1.95
"""Inches of a line of panels."""


def plot_differences(
    found: Sequence[Differences],
    rows: Mapping[str, str],
    reference: str,
    note: str,
    stem: Path,
) -> tuple[Path, Path]:
    """Differences in Overall from the row titled `reference`: a line per row, a panel per label ratio.

    Filled marks are significant differences; a mark without a line has no interval. rows: from the top.
    """
    places = {variant: place for place, variant in enumerate(rows)}
    drawn = marks(rows)

    def draw(axes: Axes, own: Differences) -> None:
        axes.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
        for row in own.rows:
            colour, shape, *_ = drawn[row.variant]
            place = places[row.variant]
            if not np.isnan(row.low):
                axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.2, zorder=2)
            axes.plot(
                [row.mean], [place], marker=shape, color=colour, markersize=5,
                markerfacecolor=colour if row.told else "white",
            )  # fmt: skip
        axes.tick_params(axis="y", length=0)

    panels = [Panel(partial(draw, own=own), labels_text(own.ratio), f"points from {reference}") for own in found]
    height = DIFFERENCES_AROUND + ROW_HEIGHT * len(rows)
    return plot_panels(panels, {}, note, stem, height=height, names=list(rows.values()), share="xy")


def plot_label_efficiency(
    curves: pd.DataFrame,
    panels: Mapping[str, str],
    rows: Mapping[str, str],
    note: str,
    stem: Path,
) -> tuple[Path, Path]:
    """F1 (`BAND`) against the share of the labels: a line per row in its deviation, a panel per dataset."""
    ratios = sorted(curves["ratio"].unique())
    drawn = marks(rows)

    def draw(axes: Axes, dataset: str) -> None:
        there = curves[curves["dataset"] == dataset]
        for variant, mark in drawn.items():
            draw_band(axes, there[there["variant"] == variant].sort_values("ratio"), "ratio", mark)
        log_axis(axes, ratios, lambda ratio: f"{100 * ratio:g}")

    shown = [Panel(partial(draw, dataset=dataset), title, "labels (%)") for dataset, title in panels.items()]
    return plot_panels(shown, rows, note, stem, height=LABEL_EFFICIENCY_HEIGHT, ylabel="F1 (%)")


def draw_band(axes: Axes, own: pd.DataFrame, places: str, mark: Mark) -> None:
    """A line through means in the band of the deviation over seeds, a whisker for a lone one; places: a column."""
    where, mean, std = own[places], own["mean"], own["std"].fillna(0.0)
    if len(own) > 1:
        axes.fill_between(where, mean - std, mean + std, color=mark.colour, alpha=0.12, linewidth=0)
    axes.errorbar(
        where, mean, yerr=std if len(own) == 1 else None, color=mark.colour, marker=mark.shape, linestyle=mark.dash,
        linewidth=1.0, elinewidth=0.7, markersize=3.5,
    )  # fmt: skip


def log_axis(axes: Axes, ticks: Sequence[float], text: Callable[[Any], str]) -> None:
    """A logarithmic axis with labels at these ticks alone."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [text(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


SWEEP_AXIS_NAMES = {"queue_size": "queue size $M$"}
WHISKER_STEP = 0.16
"""How far the whiskers of two lines stand apart, in steps of the axis."""
THOUSAND = 1024


def plot_sweep(
    sweep: Sweep, panels: Mapping[str, str], rows: Mapping[str, str], note: str, stem: Path
) -> tuple[Path, Path]:
    """F1 against the values of a swept knob with its band, and other methods as lines (PMQ, Fig. 4).

    panels: dataset -> title. rows: the swept method and those it is held against.
    """
    drawn = marks(rows)

    def draw(axes: Axes, dataset: str) -> None:
        _draw_swept(axes, sweep, dataset, drawn[sweep.of])
        lines = sweep.lines[sweep.lines["dataset"] == dataset]
        for number, (variant, mean, std) in enumerate(zip(lines["variant"], lines["mean"], lines["std"], strict=True)):
            colour, shape, dash, _ = drawn[variant]
            axes.axhline(mean, color=colour, linestyle=dash, linewidth=1.0, zorder=2)
            where = max(sweep.positions) + WHISKER_STEP * (number + 2)
            axes.errorbar([where], [mean], [std], fmt=shape, color=colour, elinewidth=0.8, markersize=3.5)
        axes.set_xticks(sweep.positions, [tick_text(value) for value in sweep.values])

    knob = SWEEP_AXIS_NAMES.get(sweep.knob, sweep.knob)
    shown = [Panel(partial(draw, dataset=dataset), title, knob) for dataset, title in panels.items()]
    return plot_panels(shown, rows, note, stem, height=SWEEP_HEIGHT, ylabel="F1 (%)")


def _draw_swept(axes: Axes, sweep: Sweep, dataset: str, mark: Mark) -> None:
    """The swept method: its means, their band, and a ring around its own value."""
    points = sweep.points[sweep.points["dataset"] == dataset]
    where, mean, std = points["position"], points["mean"], points["std"].fillna(0.0)
    axes.fill_between(where, mean - std, mean + std, color=mark.colour, alpha=0.2, linewidth=0)
    axes.plot(where, mean, color=mark.colour, marker=mark.shape, linestyle=mark.dash, zorder=3)
    at = dict(zip(sweep.positions, sweep.values, strict=True))
    own = points[[at[position] == sweep.own for position in where]]
    axes.plot(
        own["position"], own["mean"], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=0.8
    )


def tick_text(value: Any) -> str:
    """16384 -> '16k', 0.1 -> '0.1', 'patient' -> 'patient'."""
    if type(value) is int and value >= THOUSAND and value % THOUSAND == 0:
        return f"{value // THOUSAND}k"
    return f"{value:g}" if isinstance(value, float) else str(value)


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
    """Scores by class: a line per class, a panel per score (title -> marks), and a mark with its interval per row.

    classes: name -> label. Marks stand one below the other, with their intervals, where there is room.
    """
    spread = len(classes) * len(rows) <= MOST_INTERVALS
    names, drawn = list(classes), marks(rows)

    def draw(axes: Axes, found: Sequence[ClassMark]) -> None:
        for number, (variant, mark) in enumerate(drawn.items()):
            shift = (number - (len(drawn) - 1) / 2) / (len(drawn) + 2) if spread else 0.0
            for own in found:
                if own.variant != variant or math.isnan(own.mean):
                    continue
                place = names.index(own.name) + shift
                if spread and not math.isnan(own.low):
                    axes.plot([own.low, own.high], [place, place], color=mark.colour, linewidth=0.9, zorder=2)
                axes.plot(
                    [own.mean], [place], marker=mark.shape, color=mark.colour, fillstyle=mark.fill,
                    markerfacecoloralt="white", markersize=3.2, linestyle="", zorder=3,
                )  # fmt: skip
        for line in range(1, len(names)):
            axes.axhline(line - 0.5, color="#e2e2e2", linewidth=0.5, zorder=1)
        axes.tick_params(axis="y", length=0)

    each = max(CLASS_HEIGHT, MARK_HEIGHT * (len(rows) + 2)) if spread else CLASS_HEIGHT
    shown = [Panel(partial(draw, found=found), title, "%") for title, found in panels.items()]
    return plot_panels(
        shown, rows, note, stem, height=CLASSES_AROUND + each * len(classes), lines=False,
        names=list(classes.values()), share="y", width=TWO_COLUMNS,
    )  # fmt: skip
