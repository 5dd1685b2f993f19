"""The config of a run: frozen, hashable, and what the rest of the suite asks it; its keys are in `schema`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, field_validator, model_validator

from benchmark.config.errors import built, names_of, one_line, unknown
from benchmark.config.schema import Finetune, Linear, Pretrain, Recordings, Settings
from benchmark.data.splits import VALIDATION_LABELS, TaskSpec
from methods import get_method
from methods.encoders import DEFAULT, get_encoder
from methods.parts.knobs import Recipe

if TYPE_CHECKING:
    from methods.base import MethodConfig, PretrainMethod
    from methods.encoders.base import Encoder, EncoderConfig

ALL_ABLATIONS = "all"
"""Selects every ablation of the compared methods."""
SET_ELSEWHERE = ("leads", "dropout")
"""Fields of an encoder's config that its section may not set: the data set `leads`, each method sets `dropout`."""
SWEPT = {"pretrain": Pretrain, "finetune": Finetune, "linear": Linear}
"""Sections whose keys a sweep may name, and `encoder`; the others decide which data and cells there are."""
NOT_SWEPT = ("pretrain.preset", "pretrain.recipe")
ROWS: dict[str, Any] = {"ablate": [], "sweeps": {}, "encoders": []}
"""What a config with other values of some keys does not have: it is that of one row."""


class Config(Settings):
    """A config. `benchmark.config.load` makes one of a YAML file and overrides, and checks that its parts fit."""

    @field_validator("sweeps", mode="before")
    @classmethod
    def _dotted_recipe(cls, sweeps: Any) -> Any:
        """Accept `--set sweeps.pmq.recipe.lr=[1e-3,1e-4]` as a sweep of 'recipe.lr'."""
        if not isinstance(sweeps, Mapping):
            return sweeps
        return {name: dict(dotted(knobs)) if isinstance(knobs, Mapping) else knobs for name, knobs in sweeps.items()}

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The encoders' knobs, and the heartbeats of the protocol."""
        whole = values | {"encoder": whole_encoder(values.get("encoder", {}))}
        if isinstance(further := values.get("encoders"), list):
            whole["encoders"] = [whole_encoder(section, f"encoders.{n}") for n, section in enumerate(further)]
        data = values.get("data", {})
        how = data.get("segmentation", {}) if isinstance(data, dict) else None
        if (
            isinstance(how, dict)
            and how.get("kind", "heartbeats") == "heartbeats"
            and values.get("protocol") == "strict"
        ):
            whole["data"] = data | {"segmentation": {"beats": "fused"} | how}
        return whole

    def method_class(self, name: str) -> type[PretrainMethod]:
        """The class of a method given by name or file; a compared file may also be given by its method's name."""
        files = {get_method(path).name: path for path in self.methods if is_code(path)}
        return get_method(files.get(name, name))

    def compared(self) -> list[str]:
        """Names of the compared methods, in row order."""
        return [self.method_class(name).name for name in self.methods]

    def ablations_of(self, entry: str) -> list[tuple[str, str]]:
        """(method, ablation) pairs of the compared methods that an entry of `ablate` selects."""
        return [
            (method, name)
            for method in self.compared()
            for name in self.ablations.get(method, {})
            if entry in (ALL_ABLATIONS, name, f"{method}:{name}")
        ]

    def method_config(self, name: str, overrides: Mapping[str, Any] | None = None) -> MethodConfig:
        """A method's config: the preset's recipe, then this config's overrides, then `overrides` (an ablation's).

        Raises ValueError in one line for an unknown knob or a bad value.
        """
        method = self.method_class(name)
        files = [path for path in self.knobs if is_code(path) and get_method(path) is method]
        values: dict[str, Any] = {"recipe": asdict(self.preset_recipe(method))}
        for laid in (*(self.knobs.get(key, {}) for key in (*files, method.name)), overrides or {}):
            values = laid_over(values, laid)
        return built(method.Config, values, f"methods.{name}.")

    def swept(self, name: str, knob: str, value: Any) -> tuple[dict[str, Any], MethodConfig]:
        """What a value of a sweep sets: config keys (`with_settings`), and the method's config under them.

        Raises ValueError in one line for a bad value.
        """
        if is_knob(self.method_class(name), knob):
            return {}, self.method_config(name, {knob: value})
        settings = {knob: value}
        return settings, with_settings(self, settings).method_config(name)

    def encoder_class(self) -> type[Encoder]:
        """The encoder that all methods share."""
        return get_encoder(self.encoder["name"])

    def encoder_config(self) -> EncoderConfig:
        """The encoder's config, without dropout, which each method sets."""
        return sized(self.encoder)[1]

    def encoder_of(self, method: type[PretrainMethod]) -> tuple[type[Encoder], EncoderConfig]:
        """The encoder of a method's row and its config: the one that it brings, else the shared one."""
        from methods.encoders.pretrained import PretrainedConfig  # here, because torch loads slowly

        if method.external_encoder is not None:
            return method.external_encoder, PretrainedConfig(output=method.external_encoder.features)
        return self.encoder_class(), self.encoder_config()

    def task_spec(self, stage: Pretrain | Finetune, column: str = "") -> TaskSpec:
        """Segments per pseudo-trial, labels, split and standardisation of a stage; without a column, of task `default`.

        Of fine-tuning also its leads and how windows vote: pretraining has all leads.
        """
        data = self.data
        per_trial = stage.beats_per_trial
        if isinstance(data.segmentation, Recordings):
            per_trial = data.segmentation.crops_of_typical() if isinstance(stage, Pretrain) else 1
        spec = TaskSpec(per_trial, data.labels, self.protocol, standardise=data.standardise)
        if named := data.column(column).named if column else None:
            spec = replace(spec, labels="multi", sides=named.sides)
        if isinstance(stage, Pretrain):
            return spec
        labels = self.validation_labels or VALIDATION_LABELS[self.protocol]
        return replace(spec, leads=tuple(data.leads), pool=data.pool, validation_labels=labels, folds=data.folds or 0)

    def finetuning(self, method: type[PretrainMethod]) -> Finetune:
        """The settings of a method's fine-tuning, with its dropout on the encoder's output."""
        if self.finetune.encoder_dropout is not None:
            return self.finetune
        dropout = method.finetune_dropout if self.pretrain.preset == "paper" else 0.0
        return self.finetune.model_copy(update={"encoder_dropout": dropout})

    def preset_recipe(self, method: type[PretrainMethod]) -> Recipe:
        """A method's recipe before overrides: the shared one, or that of its paper under `preset: paper`."""
        return self.pretrain.recipe or method.Config().recipe

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


def is_code(word: str) -> bool:
    """Whether a method's word is a file of code."""
    return word.endswith(".py")


def is_knob(method: type[PretrainMethod], name: str) -> bool:
    """Whether a sweep's name is a knob of the method; else it is a config key."""
    return name.partition(".")[0] in names_of(method.Config)


def laid_over(knobs: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Knobs with overrides applied; of the recipe (`recipe: {lr: 1e-4}` or `recipe.lr: 1e-4`) field by field."""
    laid = dict(knobs)
    for key, value in overrides.items():
        knob, dot, field = key.partition(".")
        change, below = {field: value} if dot else value, laid.get(knob)
        laid[knob] = {**below, **change} if isinstance(below, Mapping) and isinstance(change, Mapping) else change
    return laid


def dotted(knobs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(knob, value) pairs; a recipe field is named 'recipe.lr'."""
    for knob, value in knobs.items():
        if isinstance(value, Mapping):
            yield from ((f"{knob}.{field}", inner) for field, inner in value.items())
        else:
            yield knob, value


def knobs_of(kind: type[Encoder]) -> list[str]:
    """Knobs of an encoder that the section may set."""
    return [knob.name for knob in fields(kind.Config) if knob.name not in SET_ELSEWHERE]


def whole_encoder(given: Any, key: str = "encoder") -> dict[str, Any]:
    """The validated section with defaults filled in. Raises ValueError in one line that names its `key`."""
    from methods.encoders.pretrained import PretrainedEncoder  # here, because torch loads slowly

    if not isinstance(given, Mapping) or not isinstance(given.get("name", DEFAULT), str):
        raise ValueError(f"{key}: {{name: {DEFAULT}}} was expected, with knobs of that encoder, got {given!r}")
    name = given.get("name", DEFAULT)
    kind = get_encoder(name)
    if issubclass(kind, PretrainedEncoder):
        raise ValueError(f"{key}: {kind.name} brings weights of its own and is not pretrained; use --methods {name}")
    allowed = knobs_of(kind)
    values = {knob: value for knob, value in given.items() if knob != "name"}
    for knob in values:
        if knob not in allowed:
            keys = [f"{key}.{known}" for known in ("name", *allowed)]
            raise ValueError(unknown("config key", f"{key}.{knob}", keys))
    knobs = built(kind.Config, values, f"{key}.").content()
    return {"name": name} | {knob: knobs[knob] for knob in allowed if knob in knobs}


def sized(section: Mapping[str, Any]) -> tuple[type[Encoder], EncoderConfig]:
    """The encoder of a section and its config, without dropout, which each method sets."""
    kind = get_encoder(section["name"])
    return kind, kind.Config(**{knob: value for knob, value in section.items() if knob != "name"})


def labels_of(sections: Sequence[Mapping[str, Any]]) -> list[str]:
    """The encoders' names; of those with one name, also the knobs in which they differ: 'dilated hidden 8'.

    Raises ValueError for two equal sections.
    """
    names = [get_encoder(section["name"]).name for section in sections]
    labels = []
    for name, section in zip(names, sections, strict=True):
        alike = [other for also, other in zip(names, sections, strict=True) if also == name]
        knobs = {knob: value for knob, value in section.items() if knob != "name"}
        differing = [f"{k} {value}" for k, value in knobs.items() if any(other.get(k) != value for other in alike)]
        labels.append(" ".join([name, *differing]))
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise ValueError(f"encoders: {twice[0]!r} is named twice; name it once, or give one of them other knobs")
    return labels


def swept_keys(config: Config) -> list[str]:
    """The config keys that a sweep may name, dotted."""
    keys = [f"{section}.{name}" for section, kind in SWEPT.items() for name in names_of(kind)]
    return [
        *(key for key in keys if key not in NOT_SWEPT),
        *(f"encoder.{knob}" for knob in ("name", *knobs_of(config.encoder_class()))),
    ]


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """The config of a row: with the values of dotted keys of `SWEPT` or `encoder`, or `encoder` as a whole, replaced.

    Raises ValueError in one line.
    """
    if not settings:
        return config
    values = config.model_dump() | ROWS
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
    return changed.model_copy(update={"ablate": config.ablate, "sweeps": config.sweeps})


def by_encoder(config: Config) -> dict[str, Config]:
    """Label of each encoder -> the config with it alone, the first as it is; '' -> the config where there is one."""
    if not config.encoders:
        return {"": config}
    first, *further = labels_of([config.encoder, *config.encoders])
    changed = (with_settings(config, {"encoder": section}) for section in config.encoders)
    return {first: config, **dict(zip(further, changed, strict=True))}
