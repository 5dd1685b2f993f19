"""Random search over the knobs of each method, judged on validation patients alone.

A draw depends on the search seed, the number of the trial and the knob's name alone. So methods that share a knob get
the same values of it, and a search with more trials begins with the trials of a shorter one.

A trial's score is the validation macro-F1 of the probe, at the best of its strengths C, averaged over the datasets.
C is chosen on the same patients, which favours every trial of every method alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from random import Random
from typing import Any

import numpy as np

from benchmark.config.config import Config
from benchmark.results.names import LINEAR, TRIAL
from benchmark.results.store import CorruptRow, Store
from benchmark.run.grid import Cell, Grid, Variant
from methods.parts.knobs import spaces_of

Knobs = dict[str, Any]
"""Tuned knob -> value; a field of the recipe is named 'recipe.lr'."""


@dataclass(frozen=True)
class Trial:
    """One setting of a method's tuned knobs and how it did."""

    knobs: Knobs
    scores: dict[str, float]
    """Dataset -> validation macro-F1 of the linear probe, at the best of its strengths C."""
    mean: float | None
    """Mean of `scores`; None for a trial that failed."""
    error: str = ""


@dataclass(frozen=True)
class Tuning:
    """The trials of one method; the first is the config's own setting."""

    method: str
    title: str
    trials: list[Trial]
    best: int
    """Number of the trial with the highest mean, from 0; of equal ones the earliest."""

    @property
    def chosen(self) -> Trial:
        """The best trial."""
        return self.trials[self.best]


def tuned_methods(config: Config) -> list[str]:
    """The compared methods that train."""
    return [name for name in config.compared() if config.method_class(name).trains]


def draws_of(config: Config, trials: int, seed: int) -> dict[str, list[Knobs]]:
    """Compared method that trains -> the knobs of each trial; those of the first are the config's own."""
    draws = {}
    for name in tuned_methods(config):
        spaces = spaces_of(config.method_class(name).Config)
        drawn = [
            {knob: space.draw(Random(f"{seed} {number} {knob}")) for knob, space in spaces.items()}
            for number in range(1, trials)
        ]
        draws[name] = [{knob: attrgetter(knob)(config.method_config(name)) for knob in spaces}, *drawn]
    return draws


def variants_of_draws(config: Config, draws: Mapping[str, Sequence[Knobs]]) -> tuple[Variant, ...]:
    """One row per method and trial, named 'pmq#0', 'pmq#1', ... Raises ValueError for a value the method refuses."""
    variants = []
    for name, settings in draws.items():
        kind = config.method_class(name)
        for number, knobs in enumerate(settings):
            title, method_config = f"{kind.title}, trial {number}", config.method_config(name, knobs)
            variants.append(Variant(f"{name}#{number}", title, kind, method_config, TRIAL, name))
    return tuple(variants)


def changes(tuning: Tuning) -> str:
    """'temperature 0.2, recipe.lr 0.003': the chosen values that are not the config's own."""
    first = tuning.trials[0].knobs
    changed = [f"{knob} {value:g}" for knob, value in tuning.chosen.knobs.items() if value != first[knob]]
    return ", ".join(changed) or "the config's own setting"


def middle_ratio(config: Config) -> float:
    """The middle one of a config's label ratios; of an even number, the lower of the two."""
    return sorted(config.ratios, reverse=True)[len(config.ratios) // 2]


def search_config(config: Config, ratio: float) -> Config:
    """The config of the trials' cells: one label ratio, and the first seed."""
    rows = {"evaluate": [LINEAR], "gates": [], "ablate": [], "sweeps": {}}
    return config.model_copy(update={"ratios": [ratio], "seeds": config.seeds[:1], **rows})


def tunings_of(
    config: Config, draws: Mapping[str, Sequence[Knobs]], grid: Grid, store: Store
) -> tuple[list[Tuning], list[str]]:
    """The tunings of the methods with a finished trial, and the names of the other methods."""
    cells: dict[str, list[Cell]] = {}
    for cell in grid.cells:
        cells.setdefault(cell.variant.name, []).append(cell)
    tunings, without = [], []
    for name, settings in draws.items():
        trials = [judged(cells[f"{name}#{number}"], knobs, store) for number, knobs in enumerate(settings)]
        means = [-1.0 if trial.mean is None else trial.mean for trial in trials]
        if max(means) < 0:
            without.append(name)
        else:
            tunings.append(Tuning(name, config.method_class(name).title, trials, means.index(max(means))))
    return tunings, without


def judged(cells: Sequence[Cell], knobs: Knobs, store: Store) -> Trial:
    """A trial from its cells, one per dataset; failed if one of them is missing, or if none has a score.

    A dataset that cannot be scored, for instance without validation patients, is left out; it is for every trial.
    """
    scores: dict[str, float] = {}
    for cell in cells:
        try:
            row = store.load_row(cell.key)
        except CorruptRow as error:
            return Trial(knobs, {}, None, str(error))
        if row is None:
            failures = store.failures([cell.key, cell.pretrain_key])
            return Trial(knobs, {}, None, next((failure.line for failure in failures.values()), "not run"))
        if validation_f1 := row.training.get("validation_f1"):
            scores[cell.dataset] = float(max(validation_f1))
    if not scores:
        return Trial(knobs, {}, None, "no dataset can be scored on its validation patients")
    return Trial(knobs, scores, float(np.mean(list(scores.values()))))
