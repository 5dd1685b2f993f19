"""Random search over the hyperparameters of each method, judged on validation patients alone.

A draw depends on the search seed, the number of the trial and the hyperparameter's name alone, so that methods share
values of one, and a longer search begins as a shorter. A trial's score is the validation macro-F1 of the probe at the
best of its strengths C, which is chosen on the same patients for every trial, averaged over the datasets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from benchmark.config.config import Config
from benchmark.results.names import LINEAR, TRIAL
from benchmark.results.store import Store
from benchmark.run.grid import Cell, Grid, Variant
from methods.parts.hyperparameters import spaces_of

Values = dict[str, Any]  # tuned hyperparameter -> value; a field of the recipe is named 'recipe.lr'
Draws = Mapping[str, Sequence[Values]]  # method -> the values of each trial; those of the first are the config's


def tuned_methods(config: Config) -> list[str]:
    """List the compared methods that train."""
    return [name for name in config.compared() if config.method_class(name).trains]


def draws_of(config: Config, trials: int, seed: int) -> Draws:
    """Draw the values of each trial of the compared methods that train."""
    draws = {}
    for name in tuned_methods(config):
        spaces = spaces_of(config.method_class(name).Config)
        draws[name] = [{knob: attrgetter(knob)(config.method_config(name)) for knob in spaces}]
        for number in range(1, trials):
            draws[name].append({knob: space.draw(Random(f"{seed} {number} {knob}")) for knob, space in spaces.items()})
    return draws


def variants_of_draws(config: Config, draws: Draws) -> tuple[Variant, ...]:
    """Make a row per method and trial, 'pmq#0', 'pmq#1', ... Raises ValueError for a value the method refuses."""
    variants = []
    for name, settings in draws.items():
        kind = config.method_class(name)
        for number, values in enumerate(settings):
            title, method_config = f"{kind.title}, trial {number}", config.method_config(name, values)
            variants.append(Variant(f"{name}#{number}", title, kind, method_config, TRIAL, name))
    return tuple(variants)


def search_config(config: Config, ratio: float | None) -> Config:
    """Return the config of the trials' cells: the first seed, and one label ratio, by default the middle one."""
    middle = sorted(config.ratios, reverse=True)[len(config.ratios) // 2]  # of an even number, the lower of the two
    rows = {"evaluate": [LINEAR], "gates": [], "ablate": [], "sweeps": {}}
    return config.model_copy(update={"ratios": [ratio or middle], "seeds": config.seeds[:1], **rows})


def trials_of(draws: Draws, grid: Grid, store: Store) -> pd.DataFrame:
    """Judge the trials: a row each, with method, trial, own, chosen, mean, scores by dataset, and values.

    own: the config's setting. chosen: of a method's highest means the earliest; none where each trial failed.
    """
    rows: list[dict[str, Any]] = []
    for method, settings in draws.items():
        for number, values in enumerate(settings):
            scores = judged([c for c in grid.cells if c.variant.name == f"{method}#{number}"], store)
            mean = float(np.mean(list(scores.values()))) if scores else None
            facts = {"method": method, "trial": number, "own": int(number == 0), "chosen": 0, "mean": mean}
            rows.append({**facts, **scores, **values})
    trials = pd.DataFrame(rows)
    means = trials["mean"].astype(float)
    trials.loc[means.dropna().groupby(trials["method"]).idxmax(), "chosen"] = 1
    return trials


def judged(cells: Sequence[Cell], store: Store) -> dict[str, float]:
    """Score a trial by its cells, one per dataset: the probe's validation macro-F1 at the best of its strengths.

    A dataset that cannot be scored, for instance without validation patients, is left out; it is for every trial. A
    trial of which a cell is missing has no score.
    """
    rows = {cell.dataset: store.load_row(cell.key) for cell in cells}
    curves = {dataset: row.training.get("validation_f1") for dataset, row in rows.items() if row}
    return {dataset: max(curve) for dataset, curve in curves.items() if curve} if len(curves) == len(cells) else {}
