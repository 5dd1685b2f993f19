"""Validation score of the trials of a search, a panel per knob over its values, a colour and shape per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from reports.figures.draw.style import (
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
SPREAD = 0.7
"""How much of a category's width the methods share."""
MARGIN = 1.35
"""Factor beyond the lowest and the highest value of a logarithmic axis."""
PALE = 0.45
"""Opacity of a trial that is neither the method's own setting nor the choice."""


def plot_sensitivity(panels: Sequence[KnobPanel], rows: Mapping[str, str], note: str, stem: Path) -> tuple[Path, Path]:
    """Draw the trials by knob. rows: method -> title. note: the small print.

    A ring marks a method's own setting, a black edge the chosen one.
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
        legend(figure, rows)
        small_print(figure, note)
        return save(figure, stem)


def draw_trials(axes: Axes, panel: KnobPanel, drawn: Mapping[str, Mark]) -> None:
    """The trials of each method; in a category the methods stand side by side."""
    there = [method for method in drawn if any(point.method == method for point in panel.points)]
    for point in sorted(panel.points, key=lambda point: (point.chosen, point.own)):
        draw_trial(axes, place_of(panel, point, there), point, drawn[point.method])
    if panel.scale == "log":
        axes.set_xscale("log")
        axes.set_xlim(panel.values[0] / MARGIN, panel.values[-1] * MARGIN)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_minor_locator(LogLocator(subs="all"))
    else:
        axes.set_xticks(range(len(panel.values)), [f"{value:g}" for value in panel.values])
        axes.set_xlim(-0.5, len(panel.values) - 0.5)


def place_of(panel: KnobPanel, point: TrialPoint, methods: Sequence[str]) -> float:
    """Where a trial stands on the axis."""
    if panel.scale == "log":
        return point.value
    aside = (methods.index(point.method) + 0.5) / len(methods) - 0.5
    return panel.values.index(point.value) + SPREAD * aside


def draw_trial(axes: Axes, where: float, point: TrialPoint, mark: Mark) -> None:
    """One trial, on top of what was drawn before."""
    plain = not (point.own or point.chosen)
    axes.plot(
        [where], [point.score], mark.shape, color=mark.colour, markersize=3.5 if plain else 5,
        alpha=PALE if plain else 1.0, markeredgewidth=0.9 if point.chosen else 0.0,
        markeredgecolor="black" if point.chosen else mark.colour,
    )  # fmt: skip
    if point.own:
        axes.plot([where], [point.score], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=0.8)
