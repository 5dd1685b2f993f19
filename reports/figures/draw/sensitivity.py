"""Validation score of the trials of a search, a panel per knob over its values, a colour and shape per method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from reports.figures.draw.style import (
    SETTINGS,
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
from reports.figures.sensitivity import KnobPanel, TrialPoint

ABREAST, LINE_HEIGHT = 4, 1.55
"""Panels in a line, and inches of a line."""
SPREAD, LOG_SPREAD = 0.75, 0.05
"""Width that the methods share: of a category, and of a logarithmic axis."""
MARGIN = 1.35
"""Factor beyond the lowest and the highest value of a logarithmic axis."""
MOST_TICKS = 5
PALE = 0.55
"""Opacity of a trial that is neither the method's own setting nor the chosen one."""


def plot_sensitivity(panels: Sequence[KnobPanel], rows: Mapping[str, str], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw the trials by knob. rows: method -> title. note: the small print.

    Hollow: a method's own setting; with a black edge: the chosen one.
    """
    with styled():
        abreast = min(ABREAST, len(panels))
        lines = -(-len(panels) // abreast)
        width = width_of(abreast)
        figure = new_figure(width, LINE_HEIGHT * lines + words_height(rows, note, width))
        grid = figure.subplots(lines, abreast, squeeze=False, sharey=True)
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
        first, last = panel.values[0] / MARGIN, panel.values[-1] * MARGIN
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
    return panel.values.index(point.value) + SPREAD * aside


def draw_trial(axes: Axes, where: float, point: TrialPoint, mark: Mark) -> None:
    """One trial: hollow for the method's own setting, with a black edge for the chosen one, else small and pale."""
    told = point.own or point.chosen
    axes.plot(
        [where], [point.score], mark.shape, color=mark.colour, markersize=5 if told else 3.6,
        alpha=1.0 if told else PALE, markerfacecolor="white" if point.own else mark.colour,
        markeredgecolor="black" if point.chosen else mark.colour, markeredgewidth=0.9 if told else 0.0,
    )  # fmt: skip
