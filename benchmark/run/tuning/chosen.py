"""Find what `tune` chose for a config, and lay it over the methods' knobs, or those of their rows `tuned`.

A tuning is valid for the settings that its key holds: the method with its knobs as the config gives them, encoder,
budget, data, probe. It says for which data, label ratio and seed it was judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import validate
from benchmark.config.overrides import laid_over
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.results.keys import digest
from benchmark.results.tuned import TUNED, Tuning, load_tuning
from benchmark.run.grid.keys import pretrain_content
from benchmark.run.tuning.draw import tuned_methods
from benchmark.training.linear import LINEAR_VERSION

PRESET = "tuned"


def tuning_content(config: Config, name: str) -> dict[str, Any]:
    """Content of the key of a method's tuning: all that its scores depend on besides draws, seeds, ratio and bits."""
    spec = config.task_spec(config.finetune)
    return {
        "pretraining": pretrain_content(config, config.method_class(name), config.method_config(name), 0, "", {}),
        "data": config.data.model_dump(mode="json"),
        "linear": config.linear.model_dump(mode="json"),
        "probe": [LINEAR_VERSION, SPLIT_VERSION, spec.per_trial, *spec.rules()],
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
