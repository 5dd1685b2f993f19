"""The trials of a search by knob: what the sensitivity figure shows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmark.results.tuned import Tuning

FIGURE = "sensitivity"
"""Name of the figure."""


@dataclass(frozen=True)
class TrialPoint:
    """One finished trial of a method."""

    method: str
    value: float
    """Of the panel's knob."""
    score: float
    """Validation macro-F1 in percent."""
    own: bool
    """The config's own setting."""
    chosen: bool


@dataclass(frozen=True)
class KnobPanel:
    """The finished trials of all methods that have a knob."""

    knob: str
    scale: Literal["log", "choice"]
    values: tuple[float, ...]
    """Of a choice: all values that were drawn from or tried, ascending. Of a logarithmic space: lowest and highest."""
    points: tuple[TrialPoint, ...]


def knob_panels(tunings: Sequence[Tuning]) -> list[KnobPanel]:
    """A panel per knob, those of most methods first; none for a knob without a finished trial."""
    by_knob: dict[str, list[Tuning]] = {}
    for tuning in tunings:
        for knob in tuning.spaces:
            by_knob.setdefault(knob, []).append(tuning)
    panels = [_panel(knob, own) for knob, own in sorted(by_knob.items(), key=lambda item: -len(item[1]))]
    return [panel for panel in panels if panel.points]


def _panel(knob: str, tunings: Sequence[Tuning]) -> KnobPanel:
    points = tuple(
        TrialPoint(tuning.method, trial.knobs[knob], 100 * trial.mean, number == 0, number == tuning.best)
        for tuning in tunings
        for number, trial in enumerate(tuning.trials)
        if trial.mean is not None
    )
    drawn = {value for tuning in tunings for value in tuning.spaces[knob]["values"]}
    tried = {point.value for point in points}
    logarithmic = all(tuning.spaces[knob]["scale"] == "log" for tuning in tunings) and min(drawn | tried) > 0
    values = sorted(drawn | tried)
    return (
        KnobPanel(knob, "log", (values[0], values[-1]), points)
        if logarithmic
        else KnobPanel(knob, "choice", tuple(values), points)
    )
