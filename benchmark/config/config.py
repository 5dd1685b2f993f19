"""The config of a run, read from YAML and overrides: validated, frozen and hashable.

Read a YAML file and dotted overrides into a `Config`. A wrong key or value raises `ConfigError`.

The file is in `configs/` or given by path; flags and `--set dotted.key=value` override it. `methods` lists the compared
methods and `knobs` the overrides of their knobs; the dotted key `methods.pmq.momentum` is `knobs.pmq.momentum`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from benchmark.config.errors import ConfigError, built, config_names, is_code, one_line, unknown
from benchmark.config.refuse import is_knob, refuse, with_settings, without_idle
from benchmark.config.sections import (
    Attention,
    Boosting,
    Data,
    Finetune,
    Knn,
    Linear,
    MiniRocket,
    Overrides,
    Pretrain,
    Ratio,
    Section,
    Seed,
    Supervised,
)
from benchmark.config.words import dotted, laid_over, parsed, sized, values_of, whole_encoder
from benchmark.data.segments import HEARTBEATS
from benchmark.data.splits import VALIDATION_LABELS, Protocol, TaskSpec, ValidationLabels
from benchmark.results.names import EVALUATIONS, FINETUNE, Gate, command
from benchmark.results.printed import sources
from methods import get_method
from methods.base import MethodConfig, PretrainMethod, Recipe
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder, EncoderConfig
from methods.encoders.pretrained import PretrainedConfig

PAPER_ABLATIONS: dict[str, dict[str, Overrides]] = {
    "pmq": {
        "w/o mask_t": {"time_mask": 0.0},
        "w/o mask_f": {"frequency_mask": 0.0},
        "w/o neighbor": {"pairing": "same"},
        "w/o queue": {"queue_size": 0},
    }
}
"""Table 2 of the PMQ paper. "w/o neighbor" shows one heartbeat in both views, as many pairs per epoch."""


ALL_ABLATIONS = "all"
"""Selects every ablation of the compared methods."""

T = TypeVar("T")


def known_evaluation(name: str) -> str:
    """The name of an evaluation as given. Raises ValueError for an unknown one."""
    if name not in EVALUATIONS:
        raise ValueError(unknown("evaluation", name, EVALUATIONS))
    return name


Evaluation = Annotated[str, AfterValidator(known_evaluation)]


class Config(Section):
    """Every setting that affects results; folders and process counts are not part of it."""

    name: str
    """Shown in plans and lists."""
    caption: str = ""
    """Sentence of the tables' captions."""
    methods: Annotated[list[str], Field(min_length=1)]
    """Compared methods, in row order."""
    knobs: dict[str, dict[str, Any]] = {}
    """Method name (or path of its file) -> overrides of its knobs. Fields of `recipe` override the preset's. The dotted
    key `methods.NAME.KNOB` sets them too (benchmark.config.config)."""
    ablations: dict[str, dict[str, Overrides]] = PAPER_ABLATIONS
    """Defined ablations: method -> name -> overrides of its knobs."""
    ablate: list[str] = []
    """Ablations to run: 'w/o queue' (of every compared method that has it), 'pmq:w/o queue', or 'all'."""
    sweeps: dict[str, dict[str, list[Any]]] = {}
    """Method -> knob (e.g. queue_size, recipe.lr) or config key (e.g. pretrain.epochs, encoder.hidden, finetune.lr) ->
    values, each run at the smallest label ratio."""
    gates: list[Gate] = ["random", "frozen", "features", "full-labels"]
    """Baselines: untrained encoder, fine-tuned and frozen; boosted hand-crafted features; these with all labels; on
    demand `supervised`, trained from scratch on all labels by a recipe of its own, and `minirocket`, MiniRocket's
    random convolutions under a ridge regression."""
    data: Data = Data()
    encoder: dict[str, Any] = {}
    """`name` (or file) of the shared encoder, the default one if absent, and all its knobs."""
    encoders: list[dict[str, Any]] = []
    """Further encoders, each a section like `encoder`: all rows are made with each of them too."""
    pretrain: Pretrain = Pretrain()
    finetune: Finetune = Finetune()
    linear: Linear = Linear()
    attention: Attention = Attention()
    boosting: Boosting = Boosting()
    minirocket: MiniRocket = MiniRocket()
    knn: Knn = Knn()
    supervised: Supervised = Supervised()
    evaluate: Annotated[list[Evaluation], Field(min_length=1)] = [FINETUNE]
    """finetune: encoder and head; linear, knn, attention: a frozen encoder (docs/PROTOCOLS.md). A table each."""
    ratios: Annotated[list[Ratio], Field(min_length=1)] = [0.3, 0.1, 0.01]
    """Shares of the training labels, in (0, 1]."""
    seeds: Annotated[list[Seed], Field(min_length=1)] = [41, 42, 43, 44, 45]
    """What a seed varies: `protocol`."""
    subsets: Annotated[int, Field(ge=1, le=100)] | None = None
    """Labelled subsets per seed on which a frozen encoder is judged; a seed's score is their mean. By default 5 under
    `strict`, and the one that all seeds share under `paper`."""
    finetuned_subsets: Annotated[int, Field(ge=1, le=100)] = 1
    """Labelled subsets per seed on which an encoder is fine-tuned (`protocol: strict`); a seed's score is the mean."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    """Fine-tunings on each labelled subset of a seed, which differ in their new layers and the order of their batches.
    Tells what a fine-tuning's seed moves from what the labelled patients move."""
    validation_labels: ValidationLabels | None = None
    """Whose labels choose the strength of a probe, the epoch of fine-tuning and the like. share: of the validation
    patients the share that is labelled for training too, at least one per class; whole: of all. By default share under
    `strict` and whole under `paper`, as the papers' codes do."""
    protocol: Protocol = "paper"
    """paper or strict: how labelled subsets are drawn, what a seed varies, what is scored (docs/PROTOCOLS.md).
    By default strict for data of a card that states patients (docs/OWN_DATA.md), else paper."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """auto: bf16 where the device multiplies it natively, else float32."""
    printed: list[str] = []
    """Sources of printed numbers that are rows in italics (benchmark/results/printed/sources.csv)."""

    @field_validator("sweeps", mode="before")
    @classmethod
    def _swept_fields(cls, sweeps: Any) -> Any:
        """Accept `--set sweeps.pmq.recipe.lr=[1e-3,1e-4]` as a sweep of 'recipe.lr'."""
        if not isinstance(sweeps, Mapping):
            return sweeps
        return {name: dict(dotted(knobs)) if isinstance(knobs, Mapping) else knobs for name, knobs in sweeps.items()}

    @field_validator("printed")
    @classmethod
    def _known_sources(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in sources():
                raise ValueError(unknown("source of printed numbers", name, list(sources())))
        return names

    @model_validator(mode="before")
    @classmethod
    def _beats_of_protocol(cls, values: dict[str, Any]) -> dict[str, Any]:
        data = values.get("data", {})
        if values.get("protocol") != "strict" or not isinstance(data, dict):
            return values
        of_heartbeats = data.get("segmentation", HEARTBEATS.kind) == HEARTBEATS.kind
        return values | {"data": {"beats": "fused"} | data} if of_heartbeats else values

    @model_validator(mode="before")
    @classmethod
    def _whole_encoder(cls, values: dict[str, Any]) -> dict[str, Any]:
        whole = values | {"encoder": whole_encoder(values.get("encoder", {}))}
        if isinstance(further := values.get("encoders"), list):
            whole["encoders"] = [whole_encoder(section, f"encoders.{n}") for n, section in enumerate(further)]
        return whole

    @model_validator(mode="after")
    def _fits_together(self) -> Config:
        refuse(self)
        return self

    def method_class(self, name: str) -> type[PretrainMethod]:
        """The class of a method given by name or file; a compared file may also be given by its method's name."""
        files = {get_method(path).name: path for path in self.methods if is_code(path)}
        return get_method(files.get(name, name))

    def compared(self) -> list[str]:
        """Names of the compared methods, in row order."""
        return [self.method_class(name).name for name in self.methods]

    def ablations_of(self, asked: str) -> list[tuple[str, str]]:
        """(method, ablation) pairs of the compared methods that an entry of `ablate` selects."""
        return [
            (method, name)
            for method in self.compared()
            for name in self.ablations.get(method, {})
            if asked in (ALL_ABLATIONS, name, f"{method}:{name}")
        ]

    def method_config(self, name: str, overrides: Mapping[str, Any] | None = None) -> MethodConfig:
        """A method's config: the preset's recipe, then this config's overrides, then `overrides` (an ablation's).

        Raises ValueError in one line for an unknown knob or a bad value.
        """
        method = self.method_class(name)
        files = [path for path in self.knobs if is_code(path) and get_method(path) is method]
        values: dict[str, Any] = {"recipe": asdict(self.preset_recipe(method))}
        for own in (*(self.knobs.get(key, {}) for key in (*files, method.name)), overrides or {}):
            values = laid_over(values, own)
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
        if method.external_encoder is not None:
            return method.external_encoder, PretrainedConfig(output=method.external_encoder.features)
        return self.encoder_class(), self.encoder_config()

    def task_spec(self, stage: Pretrain | Finetune, column: str = "") -> TaskSpec:
        """Segments per pseudo-trial, labels, split and standardisation of a stage; without a column, of task `default`.

        Of fine-tuning also its leads and how windows vote: pretraining has all leads.
        """
        data = self.data
        per_trial = stage.beats_per_trial
        if data.segmentation == "recordings":
            per_trial = data.crops_of_typical() if isinstance(stage, Pretrain) else 1
        spec = TaskSpec(per_trial, data.labels, self.protocol, standardise=data.standardise)
        if named := data.column(column).named if column else None:
            spec = replace(spec, labels="multi", sides=named.sides)
        if isinstance(stage, Pretrain):
            return spec
        labels = self.validation_labels or VALIDATION_LABELS[self.protocol]
        folds = data.folds or 0
        return replace(spec, leads=tuple(data.leads), pool=data.pool, validation_labels=labels, folds=folds)

    def finetuning(self, method: type[PretrainMethod]) -> Finetune:
        """The settings of a method's fine-tuning, with its dropout on the encoder's output."""
        if self.finetune.encoder_dropout is not None:
            return self.finetune
        own = method.finetune_dropout if self.pretrain.preset == "paper" else 0.0
        return self.finetune.model_copy(update={"encoder_dropout": own})

    def preset_recipe(self, method: type[PretrainMethod]) -> Recipe:
        """A method's recipe before overrides: the shared one, or that of its paper under `preset: paper`."""
        return self.pretrain.recipe or method.Config().recipe

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


KNOB = re.compile(r"^methods[.]")
"""Prefix of a knob's dotted key, replaced by the section `knobs`."""


def parse_value(text: str) -> Any:
    """A value of `--set`: YAML scalar or flow list. Raises ConfigError if it is not YAML."""
    try:
        return parsed(text)
    except ValueError:
        raise ConfigError(f"--set: {text!r} is not a YAML value") from None


def config_values(name_or_file: str) -> Any:
    """What the YAML of a config holds, given by name or file. Raises ConfigError if there is none."""
    if name_or_file in config_names():
        packaged = resources.files("benchmark.config") / "configs" / f"{name_or_file}.yaml"
        return parsed(packaged.read_text(encoding="utf-8"))
    path = Path(name_or_file)
    if path.suffix in (".yaml", ".yml") and path.exists():
        return values_of(path, f"config {name_or_file!r}")
    raise ConfigError(unknown("config", name_or_file, config_names()) + ", or a .yaml file that exists")


def load_config(name_or_file: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """A config with dotted overrides applied, including `methods.NAME.KNOB`.

    Raises ConfigError, also for keys without effect (`benchmark.config.refuse`).
    """
    return validate(values_of_config(name_or_file, overrides))


def values_of_config(name_or_file: str, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `load_config` makes a config of, which a YAML file can hold.

    Without a protocol it is `strict` where the user's own data state their patients. Raises ConfigError.
    """
    values = config_values(name_or_file)
    if not isinstance(values, dict):
        raise ConfigError(f"config {name_or_file!r} holds no keys; see `{command()} list` for ones that do")
    values.setdefault("name", Path(name_or_file).stem)
    laid = {KNOB.sub("knobs.", key): value for key, value in (overrides or {}).items()}
    _choose_encoders(values, laid)
    for key, value in laid.items():
        _lay(values, key, copy.deepcopy(value))
    complete = without_idle(values, laid)
    if "protocol" not in values and validate(complete).data.with_patients():
        by_patient = {"protocol": "strict"}
        return without_idle(values | by_patient, laid | by_patient)
    return complete


def validate(values: Mapping[str, Any]) -> Config:
    """A config from plain values, e.g. those stored in a plan. Raises ConfigError in one line."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(one_line(error, "", Config)) from None


def _choose_encoders(values: dict[str, Any], laid: dict[str, Any]) -> None:
    """Where the overrides name encoders, these take the place of the file's; each has the knobs that the file gives it.

    Both mappings are changed.
    """
    section, further = values.get("encoder", {}), values.get("encoders", [])
    if "encoder.name" not in laid or not isinstance(section, dict) or not isinstance(further, list):
        return
    known = {own.get("name", DEFAULT): own for own in (*further, section) if isinstance(own, dict)}
    values |= {"encoder": known.get(laid["encoder.name"], {}), "encoders": []}
    if isinstance(asked := laid.get("encoders"), list):
        laid["encoders"] = [
            known.get(own.get("name", DEFAULT), {}) | own if isinstance(own, dict) else own for own in asked
        ]


def _lay(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted key in nested dicts, creating sections. Raises ConfigError if a section is a value."""
    *sections, last = dotted.split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"config key {dotted!r}: {section!r} is a value, not a section")
        values = inner
    values[last] = value
