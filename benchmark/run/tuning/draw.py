"""The settings that a search tries: the config's own, then random draws, as many for every method.

A draw depends on the search seed, the number of the trial and the knob's name alone. So methods that share a knob get
the same values of it, and a search with more trials begins with the trials of a shorter one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from benchmark.config.config import Config
from benchmark.results.names import TRIAL
from benchmark.results.tuned import Space
from benchmark.run.grid.variants import Variant
from methods.base import MethodConfig
from methods.parts.spaces import Log, spaces_of

Knobs = dict[str, Any]
"""Tuned knob -> value; a field of the recipe is named 'recipe.lr'."""


def draws_of(config: Config, trials: int, seed: int) -> dict[str, list[Knobs]]:
    """Compared method that trains -> the knobs of each trial; those of the first are the config's own."""
    draws = {}
    for name in tuned_methods(config):
        spaces = spaces_of(config.method_class(name).Config)
        drawn = [
            {knob: space.draw(Random(f"{seed} {number} {knob}")) for knob, space in spaces.items()}
            for number in range(1, trials)
        ]
        draws[name] = [own_values(config.method_config(name), list(spaces)), *drawn]
    return draws


def spaces_told(config: type[MethodConfig]) -> dict[str, Space]:
    """Tuned knob -> its space as it is stored, of a method's config."""
    return {
        knob: {"scale": "log", "values": [space.low, space.high]}
        if isinstance(space, Log)
        else {"scale": "choice", "values": list(space.values)}
        for knob, space in spaces_of(config).items()
    }


def tuned_methods(config: Config) -> list[str]:
    """The compared methods that train."""
    return [name for name in config.compared() if config.method_class(name).trains]


def own_values(config: MethodConfig, knobs: Sequence[str]) -> Knobs:
    """The values of some knobs in a method's config."""
    found = {}
    for knob in knobs:
        value: Any = config
        for part in knob.split("."):
            value = getattr(value, part)
        found[knob] = value
    return found


def variants_of_draws(config: Config, draws: Mapping[str, Sequence[Knobs]]) -> tuple[Variant, ...]:
    """One row per method and trial, named 'pmq#0', 'pmq#1', ... Raises ValueError for a value the method refuses."""
    return tuple(
        Variant(
            trial_name(name, number),
            f"{kind.title}, trial {number}",
            kind,
            config.method_config(name, knobs),
            TRIAL,
            name,
        )
        for name, kind in ((name, config.method_class(name)) for name in draws)
        for number, knobs in enumerate(draws[name])
    )


def trial_name(method: str, number: int) -> str:
    """Name of a trial's row."""
    return f"{method}#{number}"
