"""Random search over the knobs of each method, judged on validation patients alone.

Find what `tune` chose for a config, and lay it over the methods' knobs, or those of their rows `tuned`.

A tuning is valid for the settings that its key holds: the method with its knobs as the config gives them, encoder,
budget, data, probe. It says for which data, label ratio and seed it was judged.

A draw depends on the search seed, the number of the trial and the knob's name alone. So methods that share a knob get
the same values of it, and a search with more trials begins with the trials of a shorter one.

A trial's score is the validation macro-F1 of the probe, at the best of its strengths C, averaged over the datasets.
C is chosen on the same patients, which favours every trial of every method alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmark.config.config import Config, validate
from benchmark.config.errors import ConfigError
from benchmark.config.words import laid_over
from benchmark.data.prepare import Prepared
from benchmark.results.names import LINEAR, TRIAL
from benchmark.results.schema import digest
from benchmark.results.store import CorruptRow, Store
from benchmark.results.tuned import TUNED, Space, Trial, Tuning, best_of, load_tuning
from benchmark.run.cell import stored_row
from benchmark.run.grid import Cell, Grid, pretrain_content
from benchmark.run.rows import Variant
from benchmark.training.probes import LINEAR_VERSION
from methods.base import MethodConfig
from methods.parts.knobs import Log, spaces_of

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
    """Tuned knob of a method's config -> its space in stored form."""
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


PRESET = "tuned"


def tuning_content(config: Config, name: str) -> dict[str, Any]:
    """Content of the key of a method's tuning: all that moves its scores but draws, seeds, ratio and rounding."""
    spec = config.task_spec(config.finetune)
    return {
        "pretraining": pretrain_content(config, config.method_class(name), config.method_config(name), 0, "", {}),
        "data": config.data.model_dump(mode="json"),
        "linear": config.linear.model_dump(mode="json"),
        "probe": [LINEAR_VERSION, spec.content()],
    }


def tuning_key(config: Config, name: str) -> str:
    """Key of a method's tuning."""
    return digest(tuning_content(config, name))


def found_tunings(config: Config, results: Path, command: str) -> list[Tuning]:
    """The tunings of the compared methods that train, for `preset: tuned`.

    command: what makes them. Raises ConfigError if one is missing or if they are of unequal searches.
    """
    found = {name: load_tuning(results, tuning_key(config, name)) for name in tuned_methods(config)}
    missing = [name for name, tuning in found.items() if tuning is None]
    remedy = f"make it with `{command}`"
    if missing:
        raise ConfigError(
            f"preset tuned: {results / TUNED} holds nothing for {', '.join(missing)} under these settings; {remedy}"
        )
    tunings = [tuning for tuning in found.values() if tuning is not None]
    searches = {name: search_words(tuning) for name, tuning in found.items() if tuning is not None}
    if len(set(searches.values())) > 1:
        told = "; ".join(f"{name} {words}" for name, words in searches.items())
        raise ConfigError(f"preset tuned: the methods were not searched alike ({told}); {remedy}")
    return tunings


def search_words(tuning: Tuning) -> str:
    """'8 trials at ratio 0.1, seeds 41 (pretraining), 41 (labels) and 1 (search)'."""
    counted = f"{len(tuning.trials)} trials at ratio {tuning.ratio:g}"
    seeds = f"{tuning.pretrain_seed} (pretraining), {tuning.seed} (labels) and {tuning.search_seed} (search)"
    return f"{counted}, seeds {seeds}"


def changes(tuning: Tuning) -> str:
    """'temperature 0.2, recipe.lr 0.003': the chosen values that are not the config's own."""
    own = tuning.trials[0].knobs
    changed = [f"{knob} {value:g}" for knob, value in tuning.chosen.knobs.items() if value != own[knob]]
    return ", ".join(changed) or "the config's own setting"


def with_chosen(config: Config, tunings: Sequence[Tuning]) -> Config:
    """The config with the chosen knobs of each method laid over its own; those of its further row under `unified`.

    Raises ConfigError for a refused value.
    """
    values = config.model_dump() | {"engine": config.engine.model_dump()}
    if PRESET in config.pretrain.presets:
        values["pretrain"] |= {"tuned": {tuning.method: dict(tuning.chosen.knobs) for tuning in tunings}}
        return validate(values)
    knobs = dict(config.knobs)
    for tuning in tunings:
        knobs[tuning.method] = laid_over(knobs.get(tuning.method, {}), tuning.chosen.knobs)
    return validate(values | {"knobs": knobs})


def changed_data(tunings: Sequence[Tuning], fingerprints: Mapping[str, str]) -> list[str]:
    """A warning on the datasets that are not those that the tunings were judged on."""
    names = [name for name, own in fingerprints.items() if any(tuning.data.get(name, own) != own for tuning in tunings)]
    return [f"the methods were tuned on other contents of {', '.join(names)}"] if names else []


NOT_RUN = "not run"


def middle_ratio(config: Config) -> float:
    """The middle one of a config's label ratios; of an even number, the lower of the two."""
    return sorted(config.ratios, reverse=True)[len(config.ratios) // 2]


def search_config(config: Config, ratio: float) -> Config:
    """The config of the trials' cells: one label ratio, and the first seed."""
    return config.model_copy(
        update={
            "ratios": [ratio],
            "seeds": config.seeds[:1],
            "evaluate": [LINEAR],
            "gates": [],
            "ablate": [],
            "sweeps": {},
            "pretrain": config.pretrain.model_copy(update={"presets": []}),
        }
    )


def tunings_of(
    config: Config,
    draws: Mapping[str, Sequence[Knobs]],
    grid: Grid,
    store: Store,
    *,
    search_seed: int,
    data: Mapping[str, Prepared],
) -> tuple[list[Tuning], list[str]]:
    """The tunings of the methods with a finished trial, and the names of the other methods.

    config: `search_config`. data: the datasets and the corpus by name.
    """
    cells: dict[str, list[Cell]] = {}
    for cell in grid.cells:
        cells.setdefault(cell.variant.name, []).append(cell)
    tunings, without = [], []
    for name, settings in draws.items():
        trials = [judged(cells[trial_name(name, number)], knobs, store) for number, knobs in enumerate(settings)]
        best = best_of(trials)
        if best is None:
            without.append(name)
            continue
        tunings.append(
            Tuning(
                key=tuning_key(config, name),
                content=tuning_content(config, name),
                method=name,
                title=config.method_class(name).title,
                ratio=config.ratios[0],
                seed=config.seeds[0],
                pretrain_seed=pretrain_seed_of(cells[trial_name(name, 0)]),
                search_seed=search_seed,
                data={own: found.fingerprint for own, found in data.items()},
                simulated=any(found.simulated for found in data.values()),
                spaces=spaces_told(config.method_class(name).Config),
                trials=trials,
                best=best,
            )
        )
    return tunings, without


def pretrain_seed_of(cells: Sequence[Cell]) -> int:
    """The seed of the pretraining that a trial's cells share."""
    (seed,) = {cell.pretraining.seed for cell in cells if cell.pretraining}
    return seed


def judged(cells: Sequence[Cell], knobs: Knobs, store: Store) -> Trial:
    """A trial from its cells, one per dataset; failed if one of them is missing, or if none has a score.

    A dataset that cannot be scored, for instance without validation patients, is left out; it is for every trial.
    """
    scores: dict[str, float] = {}
    for cell in cells:
        try:
            row = stored_row(cell, store)
        except CorruptRow as error:
            return Trial(knobs, {}, None, str(error))
        if row is None:
            keys = [cell.key, cell.pretrain_key]
            failures = store.failures(keys)
            return Trial(knobs, {}, None, next((failures[key].line for key in keys if key in failures), NOT_RUN))
        if reached := row.training.get("validation_f1"):
            scores[cell.dataset] = float(max(reached))
    if not scores:
        return Trial(knobs, {}, None, "no dataset can be scored on its validation patients")
    return Trial(knobs, scores, float(np.mean(list(scores.values()))))
