"""What a config is refused for, and a config with other values of some keys.

Refuse config keys that have no effect under the other settings, e.g. `pretrain.recipe` under `preset: paper`.

A config with other values of some keys: the config of a sweep's row, or of a further encoder.

A sweep names a knob of its method or, with a dot, a key of one of the sections `SECTIONS`. The other sections decide
which data are prepared and which cells there are, and are the same for all rows.

What a whole config is refused for: names that nobody knows, and sections that do not fit each other.

Each function raises ValueError in one line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from pydantic import ValidationError

from benchmark.config.errors import ConfigError, names_of, one_line, unknown
from benchmark.config.sections import Finetune, Linear, Pretrain
from benchmark.config.words import knobs_of, labels_of, refuse_unfit, sized
from benchmark.data.transport import datasets_in
from methods import METHODS
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import EncoderConfig

if TYPE_CHECKING:
    from benchmark.config.config import Config


class Idle(NamedTuple):
    """A config key that has no effect while the key `decided_by` has one of the values `where`."""

    key: str
    decided_by: str
    """'': the key never has an effect."""
    where: tuple[str | None, ...]
    """None: the deciding key is absent."""
    why: str
    """The reason and the remedy."""


_RECIPE = "each method has its own under preset: paper; set e.g. methods.pmq.recipe.lr, or use --preset unified"
_SEED = "protocol: strict pretrains once per fine-tuning seed; leave it out, or use --protocol paper"
_HEARTBEATS = "it is of heartbeats; leave it out, or set data.segmentation=heartbeats"
_ONE_SPLIT = "protocol: paper has the authors' one split; leave it out, or use --protocol strict"
_CROPS = "it is of crops of whole recordings; leave it out, or set data.segmentation=recordings"
_UNTRAINED = "this method trains nothing; leave it out"
IDLE = (
    Idle("pretrain.recipe", "pretrain.preset", ("paper",), _RECIPE),
    Idle("pretrain.seed", "protocol", ("strict",), _SEED),
    Idle("data.window_seconds", "data.segmentation", ("heartbeats", None), _CROPS),
    Idle("data.window_stride", "data.segmentation", ("heartbeats", None), _CROPS),
    Idle("data.short", "data.segmentation", ("heartbeats", None), _CROPS),
    Idle("data.beats", "data.segmentation", ("recordings",), _HEARTBEATS),
    Idle("data.folds", "protocol", ("paper", None), _ONE_SPLIT),
    Idle("pretrain.beats_per_trial", "data.segmentation", ("recordings",), _HEARTBEATS),
    Idle("finetune.beats_per_trial", "data.segmentation", ("recordings",), _HEARTBEATS),
    *(
        Idle(f"{section}.{name}", "", (None,), _UNTRAINED)
        for section in ("knobs", "ablations")
        for name, method in METHODS.items()
        if not method.trains
    ),
)


def without_idle(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Config values (nested; `overrides` already applied) without the keys that have no effect.

    A key of the file is dropped if an override disables it: `--preset paper` drops `pretrain.recipe`. Raises
    ConfigError for any other key without effect.
    """
    kept = deepcopy(dict(values))
    for idle in IDLE:
        section, _, last = idle.key.rpartition(".")
        holder = value_at(kept, section)
        if not isinstance(holder, dict) or last not in holder or value_at(kept, idle.decided_by) not in idle.where:
            continue
        if is_named(idle.key, overrides) or not is_named(idle.decided_by, overrides):
            raise ConfigError(f"{as_set(idle.key)} cannot act: {idle.why}")
        del holder[last]
    return kept


def as_set(key: str) -> str:
    """A key as `--set` takes it: `methods.pmq` for the knobs of PMQ."""
    return re.sub(r"^knobs[.]", "methods.", key)


def value_at(values: Any, key: str) -> Any:
    """The value of a dotted key in nested dicts; None where there is none."""
    for part in key.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def is_named(key: str, overrides: Mapping[str, Any]) -> bool:
    """Whether an override sets a key, a part of it, or a section containing it."""
    return any(given == key or given.startswith(f"{key}.") or key.startswith(f"{given}.") for given in overrides)


SECTIONS = {"pretrain": Pretrain, "finetune": Finetune, "linear": Linear}
"""And `encoder`, whose keys depend on its name."""
NOT_SWEPT = ("pretrain.preset", "pretrain.recipe")
"""Rows of their own, and what the knobs `recipe.*` are for."""
ROWS: dict[str, Any] = {"ablate": [], "sweeps": {}}
"""Left out of a changed config while it is checked, since they are checked with the config that they are of."""


def swept_keys(config: Config) -> list[str]:
    """The config keys that a sweep may name, dotted."""
    own = [f"{section}.{name}" for section, kind in SECTIONS.items() for name in names_of(kind)]
    return [
        *(key for key in own if key not in NOT_SWEPT),
        *(f"encoder.{knob}" for knob in ("name", *knobs_of(config.encoder_class()))),
    ]


def is_knob(method: type[PretrainMethod], name: str) -> bool:
    """Whether a sweep's name is a knob of the method; else it is a config key."""
    return name.partition(".")[0] in names_of(method.Config)


def refuse_unswept(config: Config, method: type[PretrainMethod], name: str) -> None:
    """Raise ValueError in one line for a sweep's name that is neither, or that has no effect under the config."""
    place = f"sweeps.{method.name}."
    if not is_knob(method, name) and name not in (keys := swept_keys(config)):
        raise ValueError(
            unknown("config key", f"{place}{name}", [place + own for own in (*names_of(method.Config), *keys)])
        )
    if not method.trains and (is_knob(method, name) or name.startswith("pretrain.")):
        raise ValueError(f"{place}{name} cannot act: this method trains nothing; leave it out")
    for idle in IDLE:
        if idle.key == name and value_at(config.model_dump(), idle.decided_by) in idle.where:
            raise ValueError(f"{place}{name} cannot act: {idle.why}")


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """The config with the values of dotted keys of `SECTIONS` or `encoder`, or `encoder` as a whole, replaced.

    It has no further encoders, since a row has one. Raises ValueError in one line.
    """
    if not settings:
        return config
    values = config.model_dump() | ROWS | {"encoders": []}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        if not name:
            values[section] = value
            continue
        renamed = key == "encoder.name" and value != config.encoder_class().name
        values[section] = ({} if renamed else values[section]) | {name: value}
    try:
        changed = type(config).model_validate(values)
    except ValidationError as error:
        raise ValueError(one_line(error, "", type(config))) from None
    return changed.model_copy(update={name: getattr(config, name) for name in ROWS})


def by_encoder(config: Config) -> dict[str, Config]:
    """Label of each encoder -> the config with it alone, the first as it is; '' -> the config where there is one."""
    if not config.encoders:
        return {"": config}
    first, *further = labels_of([config.encoder, *config.encoders])
    changed = (with_settings(config, {"encoder": section}) for section in config.encoders)
    return {first: config, **dict(zip(further, changed, strict=True))}


def refuse(config: Config) -> None:
    """All of the refusals below, in this order."""
    refuse_encoders(config)
    refuse_methods(config)
    refuse_datasets(config)
    refuse_knobs(config)
    refuse_ablations(config)
    refuse_repeats(config)
    refuse_shared_subsets(config)
    refuse_columns(config)
    refuse_unfit_methods(config)


def refuse_encoders(config: Config) -> None:
    """Two encoders of one label, or one that cannot take the windows."""
    labels_of([config.encoder, *config.encoders])
    for section in (config.encoder, *config.encoders):
        refuse_unfit(section, config.data.cut().samples)


def refuse_methods(config: Config) -> None:
    """A method that is not there."""
    for name in (*config.methods, *config.knobs, *config.ablations, *config.sweeps):
        config.method_class(name)


def refuse_datasets(config: Config) -> None:
    """A dataset that is not there, or that cannot be simulated where all are."""
    data, simulation, known = config.data, config.data.simulation, config.data.known()
    sized = [*simulation.patients, *simulation.test_patients] if simulation else []
    columns = [own for name in data.datasets for own in datasets_in(name)]
    used = {*data.corpora, *columns}
    for name in (*data.corpora, *columns, *sized):
        if name not in known:
            raise ValueError(unknown("dataset", name, known))
    if simulation is None:
        return
    if unsimulated := config.data.cards.keys() & {*used, *sized}:
        raise ValueError(f"data.simulation: {min(unsimulated)!r} is the dataset of a card; set data.simulation=null")
    if unsized := used - simulation.sizes().keys():
        raise ValueError(f"data.simulation.patients: give the number of patients of {min(unsized)!r}")
    if data.pretrain_prefix:
        raise ValueError("data.pretrain_prefix: simulated recordings lie in no folder; set data.simulation=null")
    if untested := [name for name in simulation.test_patients if not config.data.source(name).classes]:
        raise ValueError(f"data.simulation.test_patients: {untested[0]!r} has no labels and no test part")


def refuse_knobs(config: Config) -> None:
    """A knob that its method does not have, or a value that it cannot take: of a row, an ablation, a sweep, `tune`."""
    for name in config.knobs:
        config.method_config(name)
    for method, named in config.ablations.items():
        for overrides in named.values():
            config.method_config(method, overrides)
    for own in by_encoder(config).values():
        for method, knobs in config.sweeps.items():
            for knob, values in knobs.items():
                refuse_unswept(own, config.method_class(method), knob)
                for value in values:
                    own.swept(method, knob, value)


def refuse_ablations(config: Config) -> None:
    """An entry of `ablate` that selects nothing."""
    for name in config.ablate:
        if not config.ablations_of(name):
            known = [f"{method}:{own}" for method in config.compared() for own in config.ablations.get(method, {})]
            if not known:
                raise ValueError(
                    f"ablate: no compared method has an ablation; compare {', '.join(config.ablations)} too"
                )
            raise ValueError(unknown("ablation", name, known))


def refuse_repeats(config: Config) -> None:
    """A list that names a value twice."""
    lists = {what: getattr(config, what) for what in ("methods", "ratios", "seeds", "evaluate")}
    lists |= {f"data.{what}": getattr(config.data, what) for what in ("datasets", "task")}
    for what, values in {**lists, "data.pretrain": config.data.corpora}.items():
        if len(set(values)) < len(values):
            raise ValueError(f"{what}: {values} names a value twice")


PER_SEED = {
    "subsets": "labelled subsets per seed",
    "finetuned_subsets": "labelled subsets per seed",
    "repeats": "fine-tunings per labelled subset",
}


def refuse_shared_subsets(config: Config) -> None:
    """Several labelled subsets, or fine-tunings, of a seed under a protocol that has one for all seeds."""
    for name, what in PER_SEED.items():
        count = getattr(config, name) or 1
        if count > 1 and config.protocol != "strict":
            raise ValueError(f"{name}: {count} {what} need protocol strict; under paper all seeds share one subset")


def refuse_columns(config: Config) -> None:
    """A column without labels, or under a task that its dataset does not have."""
    unlabelled = [name for name in config.data.datasets if not config.data.about(name).classes]
    if unlabelled:
        raise ValueError(f"data.datasets: {unlabelled[0]!r} has no labels, so it can only be pretrained on")
    try:
        config.data.columns()
    except ValueError as problem:
        raise ValueError(f"data.task: {problem}") from None


def refuse_unfit_methods(config: Config) -> None:
    """A method that cannot pretrain an encoder: one forward of two zero windows raises its line."""
    samples = config.data.cut().samples
    for section in (config.encoder, *config.encoders):
        kind: Any
        kind, sizes = sized(section)
        for name in (*config.methods, *config.sweeps):
            method: Any = config.method_class(name)
            if why := misfit(method, config.method_config(name), kind, sizes, samples):
                raise ValueError(f"methods: {why}")


@cache
def misfit(method: Any, knobs: MethodConfig, kind: Any, sizes: EncoderConfig, samples: int) -> str:
    """Why a method cannot pretrain an encoder on windows of so many samples; '' where it can. Draws nothing.

    method: a class of `PretrainMethod`; kind: a class of `Encoder`.
    """
    if not method.trains:
        return ""
    x, ids = torch.zeros(2, samples, sizes.leads), torch.zeros(2, dtype=torch.int64)
    text = torch.zeros(2, getattr(knobs, "text_width", 1)) if method.needs_text else None
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            method(kind(sizes), knobs)(Batch(x, x, ids, ids, ids, text))
    except ValueError as error:
        return str(error) if str(error).startswith(f"{method.name}: ") else f"{method.name}: {error}"
    return ""
