"""The config of a run, frozen and hashable, with what follows from its keys; the keys are in `schema`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, model_validator

from benchmark.config.errors import ConfigError, built, names_of, one_line
from benchmark.config.schema import Finetune, Recordings, Settings
from benchmark.data.splits import VALIDATION_LABELS, TaskSpec
from benchmark.results.names import unknown
from methods import get_method
from methods.encoders import DEFAULT, get_encoder
from methods.parts.hyperparameters import Recipe

if TYPE_CHECKING:
    from methods.base import MethodConfig, PretrainMethod
    from methods.encoders.base import Encoder, EncoderConfig

ALL_ABLATIONS = "all"
"""Selects every ablation of the compared methods."""
SET_ELSEWHERE = ("leads", "dropout")
"""Fields of an encoder's config that its section may not set: the data set `leads`, each method sets `dropout`."""
SWEPT = ("pretrain", "finetune", "linear", "encoder")
"""Sections whose keys a sweep may name; the others decide which data and cells there are."""
AUTHORS_DROPOUT = {"pmq-released": 0.1}
"""Method -> dropout on the encoder's output in its authors' fine-tuning; acts under `preset: paper` alone."""

RATES = {
    "finetune": [1e-4, 3e-4, 1e-3, 5e-3],
    "attention": [3e-4, 1e-3, 3e-3, 1e-2],
    "supervised": [1e-3, 3e-3, 1e-2, 3e-2],
}
"""Section -> candidate learning rates under `protocol: strict`, since a rate that nobody chose decides which row is
better: from the paper's 1e-4 to fifty times it, and one and a half decades around the single rate of the others."""


class Config(Settings):
    """A config. `benchmark.config.load` makes one of a YAML file and overrides, and checks that its parts fit."""

    @model_validator(mode="after")
    def _filled_in(self) -> Config:
        """Fill in the recipe of the preset, encoders with all hyperparameters, and what the protocol decides."""
        filled: dict[str, Any] = {"encoder": whole_encoder(self.encoder)}
        filled["encoders"] = [whole_encoder(section, f"encoders.{n}") for n, section in enumerate(self.encoders)]
        if self.pretrain.preset != "paper" and self.pretrain.recipe is None:
            filled["pretrain"] = self.pretrain.model_copy(update={"recipe": Recipe()})
        if self.protocol == "strict":
            segmentation = self.data.segmentation
            if segmentation.kind == "heartbeats" and "beats" not in segmentation.model_fields_set:
                fused = segmentation.model_copy(update={"beats": "fused"})
                filled["data"] = self.data.model_copy(update={"segmentation": fused})
            for name, rates in RATES.items():
                section = getattr(self, name)
                if "lr" not in section.model_fields_set:
                    filled[name] = section.model_copy(update={"lr": rates})
        return self.model_copy(update=filled)

    def method_class(self, name: str) -> type[PretrainMethod]:
        """Return the class of a method by name or file; a compared file also has the name of its method."""
        files = {get_method(path).name: path for path in self.methods if path.endswith(".py")}
        return get_method(files.get(name, name))

    def compared(self) -> list[str]:
        """List the names of the compared methods, in row order."""
        return [self.method_class(name).name for name in self.methods]

    def ablations_of(self, entry: str) -> list[tuple[str, str]]:
        """List the (method, ablation) pairs of the compared methods that an entry of `ablate` selects."""
        return [
            (method, name)
            for method in self.compared()
            for name in self.ablations.get(method, {})
            if entry in (ALL_ABLATIONS, name, f"{method}:{name}")
        ]

    def method_config(self, name: str, overrides: Mapping[str, Any] | None = None) -> MethodConfig:
        """Make a method's config: the preset's recipe, this config's hyperparameters, overrides. Raises ValueError."""
        method = self.method_class(name)
        files = [path for path in self.hyperparameters if path.endswith(".py") and get_method(path) is method]
        values: dict[str, Any] = {"recipe": asdict(self.pretrain.recipe or method.Config().recipe)}
        for hyperparameters in (*(self.hyperparameters.get(key, {}) for key in (*files, method.name)), overrides or {}):
            values = laid_over(values, hyperparameters)
        config: MethodConfig = built(method.Config, values, f"methods.{name}.")
        return config

    def swept(self, name: str, hyperparameter: str, value: Any) -> tuple[dict[str, Any], MethodConfig]:
        """Return the config keys that a value of a sweep sets, and the method's config then. Raises ValueError."""
        if is_hyperparameter(self.method_class(name), hyperparameter):
            return {}, self.method_config(name, {hyperparameter: value})
        return {hyperparameter: value}, with_settings(self, {hyperparameter: value}).method_config(name)

    def new_encoder(self) -> Encoder:
        """Build the shared encoder with new weights, without dropout, which each method sets."""
        encoder_class, config = sized(self.encoder)
        return encoder_class(config)

    def encoder_of(self, method: type[PretrainMethod]) -> tuple[type[Encoder], EncoderConfig]:
        """Return the encoder of a method's row and its config: the one that it brings, else the shared one."""
        from methods.base import External  # here, because torch loads slowly
        from methods.encoders.pretrained import PretrainedConfig

        if issubclass(method, External):
            return method.encoder_class, PretrainedConfig(output=method.encoder_class.features)
        return sized(self.encoder)

    def corpus_spec(self) -> TaskSpec:
        """Return how the corpus is cut, split and standardised; pretraining has all leads."""
        data, per_trial = self.data, self.pretrain.beats_per_trial
        if isinstance(data.segmentation, Recordings):
            per_trial = data.segmentation.crops_of_typical()
        return TaskSpec(per_trial, data.labels, self.protocol, standardise=data.standardise)

    def column_spec(self, column: str = "") -> TaskSpec:
        """Return how a column is cut, split, standardised and judged; by default one of the task `default`."""
        data = self.data
        named = self.data.column(column).named
        return TaskSpec(
            per_trial=1 if isinstance(data.segmentation, Recordings) else self.finetune.beats_per_trial,
            labels="multi" if named else data.labels,
            protocol=self.protocol,
            standardise=data.standardise,
            leads=tuple(data.leads),
            pool=data.pool,
            sides=named.sides if named else "protocol",
            validation_labels=self.validation_labels or VALIDATION_LABELS[self.protocol],
            folds=data.folds or 0,
        )

    def finetuning(self, method: type[PretrainMethod]) -> Finetune:
        """Return the settings of a method's fine-tuning, with its dropout on the encoder's output."""
        if self.finetune.encoder_dropout is not None:
            return self.finetune
        dropout = AUTHORS_DROPOUT.get(method.name, 0.0) if self.pretrain.preset == "paper" else 0.0
        return self.finetune.model_copy(update={"encoder_dropout": dropout})


def is_hyperparameter(method: type[PretrainMethod], name: str) -> bool:
    """Tell whether a sweep's name is a hyperparameter of the method; else it is a config key."""
    return name.partition(".")[0] in names_of(method.Config)


def parsed(values: Mapping[str, Any]) -> Config:
    """Make a config whose values are valid one by one. Raises ConfigError in one line."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(one_line(error, "", Config)) from None


def laid_over(hyperparameters: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters with overrides, the recipe (`recipe: {lr: 1e-4}` or `recipe.lr: 1e-4`) field by field."""
    whole = dict(hyperparameters)
    for name, value in overrides.items():
        hyperparameter, _, field = name.partition(".")
        fields = {field: value} if field else value
        below = whole.get(hyperparameter)
        whole[hyperparameter] = (
            {**below, **fields} if isinstance(below, Mapping) and isinstance(fields, Mapping) else fields
        )
    return whole


def whole_encoder(given: Mapping[str, Any], key: str = "encoder") -> dict[str, Any]:
    """Return the validated section `key` of an encoder with defaults filled in. Raises ValueError in one line."""
    from methods.encoders.pretrained import PretrainedEncoder  # here, because torch loads slowly

    name = str(given.get("name", DEFAULT))
    encoder_class = get_encoder(name)
    if issubclass(encoder_class, PretrainedEncoder):
        raise ValueError(
            f"{key}: {encoder_class.name} brings weights of its own and is not pretrained; use --methods {name}"
        )
    allowed = [field.name for field in fields(encoder_class.Config) if field.name not in SET_ELSEWHERE]
    values = {field: value for field, value in given.items() if field != "name"}
    for field in values:
        if field not in allowed:
            known = [f"{key}.{other}" for other in ("name", *allowed)]
            raise ValueError(unknown("config key", f"{key}.{field}", known))
    content = built(encoder_class.Config, values, f"{key}.").content()
    return {"name": name} | {field: content[field] for field in allowed}


def sized(section: Mapping[str, Any]) -> tuple[type[Encoder], EncoderConfig]:
    """Return the encoder of a section and its config, without dropout, which each method sets."""
    sizes = dict(section)
    encoder_class = get_encoder(sizes.pop("name"))
    return encoder_class, encoder_class.Config(**sizes)


def labels_of(sections: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the encoders' names, with the hyperparameters that tell apart those of one name. Raises ValueError."""
    labels = []
    for section in sections:
        label = get_encoder(section["name"]).name
        alike = [other for other in sections if other["name"] == section["name"]]
        for field, value in section.items():
            if any(other.get(field) != value for other in alike):
                label += f" {field} {value}"
        labels.append(label)
    if twice := [label for label in labels if labels.count(label) > 1]:
        words = sorted({section["name"] for section, label in zip(sections, labels, strict=True) if label == twice[0]})
        raise ValueError(
            f"encoders: {twice[0]!r} is named twice, by {' and '.join(words)}; name it once, or give one of them "
            "another `name` or other hyperparameters"
        )
    return labels


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """Return the config of a row, with dotted keys of `SWEPT` or the whole `encoder` set. Raises ValueError."""
    if not settings:
        return config
    values = config.model_dump() | {"encoders": []}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        renamed = key == "encoder.name" and value != config.encoder["name"]
        values[section] = ({} if renamed else values[section]) | {name: value} if name else value
    return parsed(values)


def by_encoder(config: Config) -> dict[str, Config]:
    """Return the label of each encoder -> the config with it alone; '' -> the config where there is one encoder."""
    if not config.encoders:
        return {"": config}
    first, *further = labels_of([config.encoder, *config.encoders])
    changed = [with_settings(config, {"encoder": section}) for section in config.encoders]
    return {first: config, **dict(zip(further, changed, strict=True))}
