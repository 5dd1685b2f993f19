"""Random search over the hyperparameters of each method, judged on validation patients alone.

A draw depends on the search seed, the number of the trial and the hyperparameter's name alone. So methods that share
one get the same values of it, and a search with more trials begins with the trials of a shorter one.

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
from benchmark.results.store import Store
from benchmark.run.grid import Cell, Grid, Variant
from methods.parts.knobs import spaces_of

Values = dict[str, Any]
"""Tuned hyperparameter -> value; a field of the recipe is named 'recipe.lr'."""


@dataclass(frozen=True)
class Trial:
    """One setting of a method's tuned hyperparameters and how it did."""

    knobs: Values
    scores: dict[str, float]
    """Dataset -> validation macro-F1 of the linear probe, at the best of its strengths C; none for a failed trial."""
    error: str = ""

    @property
    def mean(self) -> float | None:
        """Mean of `scores`; None for a trial that failed."""
        return float(np.mean(list(self.scores.values()))) if self.scores else None


@dataclass(frozen=True)
class Tuning:
    """The trials of one method; the first is the config's setting."""

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
    """List the compared methods that train."""
    return [name for name in config.compared() if config.method_class(name).trains]


def draws_of(config: Config, trials: int, seed: int) -> dict[str, list[Values]]:
    """Draw the values of each trial by compared method that trains; those of the first are the config's."""
    draws = {}
    for name in tuned_methods(config):
        spaces = spaces_of(config.method_class(name).Config)
        drawn = [
            {knob: space.draw(Random(f"{seed} {number} {knob}")) for knob, space in spaces.items()}
            for number in range(1, trials)
        ]
        draws[name] = [{knob: attrgetter(knob)(config.method_config(name)) for knob in spaces}, *drawn]
    return draws


def variants_of_draws(config: Config, draws: Mapping[str, Sequence[Values]]) -> tuple[Variant, ...]:
    """Make a row per method and trial, 'pmq#0', 'pmq#1', ... Raises ValueError for a value the method refuses."""
    variants = []
    for name, settings in draws.items():
        kind = config.method_class(name)
        for number, values in enumerate(settings):
            title, method_config = f"{kind.title}, trial {number}", config.method_config(name, values)
            variants.append(Variant(f"{name}#{number}", title, kind, method_config, TRIAL, name))
    return tuple(variants)


def changes(tuning: Tuning) -> str:
    """Return the chosen values that are not the config's: 'temperature 0.2, recipe.lr 0.003'."""
    first = tuning.trials[0].knobs
    changed = [f"{knob} {value:g}" for knob, value in tuning.chosen.knobs.items() if value != first[knob]]
    return ", ".join(changed) or "the config's own setting"


def middle_ratio(config: Config) -> float:
    """Return the middle one of a config's label ratios; of an even number, the lower of the two."""
    return sorted(config.ratios, reverse=True)[len(config.ratios) // 2]


def search_config(config: Config, ratio: float) -> Config:
    """Return the config of the trials' cells: one label ratio, and the first seed."""
    rows = {"evaluate": [LINEAR], "gates": [], "ablate": [], "sweeps": {}}
    return config.model_copy(update={"ratios": [ratio], "seeds": config.seeds[:1], **rows})


def tunings_of(
    config: Config, draws: Mapping[str, Sequence[Values]], grid: Grid, store: Store
) -> tuple[list[Tuning], list[str]]:
    """Judge the methods with a finished trial; returns also the names of the other methods."""
    tunings, without = [], []
    for name, settings in draws.items():
        trials = []
        for number, values in enumerate(settings):
            cells = [cell for cell in grid.cells if cell.variant.name == f"{name}#{number}"]
            trials.append(judged(cells, values, store))
        means = [-1.0 if trial.mean is None else trial.mean for trial in trials]
        if max(means) < 0:
            without.append(name)
        else:
            tunings.append(Tuning(name, config.method_class(name).title, trials, means.index(max(means))))
    return tunings, without


def judged(cells: Sequence[Cell], values: Values, store: Store) -> Trial:
    """Judge a trial by its cells, one per dataset; it failed if one of them is missing, or if none has a score.

    A dataset that cannot be scored, for instance without validation patients, is left out; it is for every trial.
    """
    scores: dict[str, float] = {}
    for cell in cells:
        row = store.load_row(cell.key)
        if row is None:
            failures = store.failures([cell.key, cell.pretrain_key])
            return Trial(values, {}, next((failure.line for failure in failures.values()), "not run"))
        if validation_f1 := row.training.get("validation_f1"):
            scores[cell.dataset] = float(max(validation_f1))
    return Trial(values, scores, "" if scores else "no dataset can be scored on its validation patients")
