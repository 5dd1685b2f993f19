"""argv and YAML -> one validated, frozen, hashable config.

A config is data: a YAML file in `configs/` (or anywhere), with `--set dotted.key=value` and the flags laid over it.
Every key is checked; a wrong one ends in `ConfigError`, one line that names the value, the place and what is allowed.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, create_model, model_validator

from benchmark.data.registry import DATASETS
from benchmark.data.split import Protocol
from benchmark.sections import (
    Boosting,
    Data,
    EncoderSize,
    Evaluation,
    Finetune,
    Gate,
    Linear,
    Overrides,
    Pretrain,
    Ratio,
    Section,
    Seed,
)
from methods import get_method
from methods.base import MethodConfig, PretrainMethod, Recipe

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
"""Stands for every ablation of the compared methods."""


class ConfigError(ValueError):
    """A config cannot be used. The message is one line naming the bad value, its place and the allowed ones."""


class Config(Section):
    """All that can move a number. Where results lie and how many processes run is not in here."""

    name: str
    caption: str = ""
    compare: Annotated[list[str], Field(min_length=1)]
    """Methods of the table, in the order of its rows."""
    methods: dict[str, dict[str, Any]] = {}
    """Overrides of methods' own knobs, by method; one from a file goes by its own name or its path."""
    ablations: dict[str, dict[str, Overrides]] = PAPER_ABLATIONS
    """Ablations there are: method -> name -> overrides of its knobs."""
    ablate: list[str] = []
    """Ablations that are run: 'w/o queue' (of every compared method that has it), 'pmq:w/o queue', or 'all'."""
    sweeps: dict[str, dict[str, list[Any]]] = {}
    """Method -> knob -> values it is run with at the smallest ratio, e.g. queue sizes."""
    gates: list[Gate] = ["random", "frozen", "features", "full-labels"]
    """Rows every table is read against: the untrained encoder, fine-tuned and frozen, boosted hand-crafted features,
    and these with all labels."""
    data: Data = Data()
    encoder: EncoderSize = EncoderSize()
    pretrain: Pretrain = Pretrain()
    finetune: Finetune = Finetune()
    linear: Linear = Linear()
    boosting: Boosting = Boosting()
    evaluate: Annotated[list[Evaluation], Field(min_length=1)] = ["finetune"]
    ratios: Annotated[list[Ratio], Field(min_length=1)] = [0.3, 0.1, 0.01]
    seeds: Annotated[list[Seed], Field(min_length=1)] = [41, 42, 43, 44, 45]
    protocol: Protocol = "paper"
    precision: Literal["auto", "float32", "bf16"] = "auto"
    compile: bool = False
    """Pretrain through torch.compile, equal up to rounding; docs/SPEED.md says where that is faster."""

    @model_validator(mode="after")
    def _known_names(self) -> Config:
        for name in (*self.compare, *self.methods, *self.ablations, *self.sweeps):
            self.method_class(name)
        simulated = self.data.simulation.patients if self.data.simulation else {}
        for name in (self.data.pretrain, *self.data.datasets, *simulated):
            if name not in DATASETS:
                raise ValueError(unknown("dataset", name, DATASETS))
        unsized = {self.data.pretrain, *self.data.datasets} - simulated.keys()
        if self.data.simulation and unsized:
            raise ValueError(f"data.simulation.patients: give the number of patients of {min(unsized)!r}")
        for name in self.methods:
            self.method_config(name)
        for method, named in self.ablations.items():
            for overrides in named.values():
                self.method_config(method, overrides)
        for method, knobs in self.sweeps.items():
            for knob, values in knobs.items():
                for value in values:
                    self.method_config(method, {knob: value})
        for name in self.ablate:
            if not self.ablations_of(name):
                known = [f"{method}:{own}" for method in self.compared() for own in self.ablations.get(method, {})]
                if not known:
                    raise ValueError(
                        f"ablate: no compared method has an ablation; compare {', '.join(self.ablations)} too"
                    )
                raise ValueError(unknown("ablation", name, known))
        lists = {what: getattr(self, what) for what in ("compare", "ratios", "seeds", "evaluate")}
        for what, values in {**lists, "data.datasets": self.data.datasets}.items():
            if len(set(values)) < len(values):
                raise ValueError(f"{what}: {values} names a value twice")
        unlabelled = [name for name in self.data.datasets if not DATASETS[name].classes]
        if unlabelled:
            raise ValueError(f"data.datasets: {unlabelled[0]!r} has no labels, so it can only be pretrained on")
        return self

    def method_class(self, name: str) -> type[PretrainMethod]:
        """A method by its name or file; one of a compared file goes by its own name too."""
        files = {get_method(path).name: path for path in self.compare if path.endswith(".py")}
        return get_method(files.get(name, name))

    def compared(self) -> list[str]:
        """The compared methods by their own names, in order."""
        return [self.method_class(name).name for name in self.compare]

    def ablations_of(self, asked: str) -> list[tuple[str, str]]:
        """(method, ablation) of the compared methods that a name in `ablate` stands for."""
        return [
            (method, name)
            for method in self.compared()
            for name in self.ablations.get(method, {})
            if asked in (ALL_ABLATIONS, name, f"{method}:{name}")
        ]

    def method_config(self, name: str, overrides: Mapping[str, Any] | None = None) -> MethodConfig:
        """A method's config under this config's overrides, and further ones (an ablation's) over those."""
        method = self.method_class(name)
        kind = method.Config
        files = [path for path in self.methods if path.endswith(".py") and get_method(path) is method]
        values = {key: value for own in (*files, method.name) for key, value in self.methods.get(own, {}).items()}
        values |= overrides or {}
        # A dataclass of its own would ignore unknown keys; as a field it is as strict as the section that holds it.
        holder = create_model("Holder", __base__=Section, knobs=(kind, ...))
        try:
            knobs: MethodConfig = holder.model_validate({"knobs": values}).knobs  # type: ignore[attr-defined]
        except ValidationError as error:
            raise ValueError(_one_line(error, f"methods.{name}.", holder, inside=("knobs",))) from None
        _refuse_truth_values(values, asdict(knobs), f"methods.{name}.")
        return knobs

    def per_trial(self, stage: Pretrain | Finetune) -> int:
        """Heartbeats, or plain windows, of a pseudo-trial in a stage."""
        return stage.beats_per_trial if self.data.segmentation == "heartbeats" else stage.windows_per_trial

    def recipe(self, method: MethodConfig) -> Recipe:
        """Optimiser settings of a method under the chosen preset."""
        return method.recipe if self.pretrain.preset == "paper" else self.pretrain.recipe

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


class _Loader(yaml.SafeLoader):
    """YAML with the scalars people mean: 1e-3 is a number, `on` and `010` are text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag == "tag:yaml.org,2002:null"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


def parse_value(text: str) -> Any:
    """One YAML scalar or flow list, as `--set` takes it. Raises ConfigError where it is not YAML."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError:
        raise ConfigError(f"--set: {text!r} is not a YAML value") from None


def config_names() -> list[str]:
    """Names of the configs that come with the suite."""
    folder = resources.files("benchmark") / "configs"
    return sorted(path.name.removesuffix(".yaml") for path in folder.iterdir() if path.name.endswith(".yaml"))


def config_text(name_or_file: str) -> str:
    """The YAML text of a config by name or file. Raises ConfigError where there is none."""
    packaged = resources.files("benchmark") / "configs" / f"{name_or_file}.yaml"
    if name_or_file in config_names():
        return packaged.read_text(encoding="utf-8")
    path = Path(name_or_file)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return path.read_text(encoding="utf-8")
    raise ConfigError(unknown("config", name_or_file, config_names()) + ", or a .yaml file that exists")


def load_config(name_or_file: str, overrides: Mapping[str, Any] | None = None) -> Config:
    """A config with dotted overrides laid over it. Raises ConfigError in one line."""
    try:
        values = yaml.load(config_text(name_or_file), Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"config {name_or_file!r} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"config {name_or_file!r} holds no keys; see `run_benchmark.py list` for ones that do")
    values.setdefault("name", Path(name_or_file).stem)
    for key, value in (overrides or {}).items():
        _lay(values, key, copy.deepcopy(value))
    return validate(values)


def validate(values: Mapping[str, Any]) -> Config:
    """A config from plain values, e.g. those kept in a plan. Raises ConfigError in one line."""
    try:
        config = Config.model_validate(values)
        _refuse_truth_values(values, config.model_dump(), "")
    except ValidationError as error:
        raise ConfigError(_one_line(error, "", Config)) from None
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config


def _refuse_truth_values(given: Mapping[str, Any], understood: Mapping[str, Any], prefix: str) -> None:
    """Raise ValueError where true or false was given for a number, which pydantic takes for 1 or 0."""
    for key, value in given.items():
        if isinstance(value, Mapping) and isinstance(understood.get(key), Mapping):
            _refuse_truth_values(value, understood[key], f"{prefix}{key}.")
        elif isinstance(value, bool) and not isinstance(understood.get(key), bool):
            raise ValueError(f"{prefix}{key}: a number was expected, got {str(value).lower()}")


def _lay(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set one dotted key in nested dicts, making the sections it passes."""
    *sections, last = dotted.split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"config key {dotted!r}: {section!r} is a value, not a section")
        values = inner
    values[last] = value


def unknown(what: str, name: str, allowed: Collection[str]) -> str:
    """The line for a name that is none of the allowed ones, with the nearest of them."""
    near = difflib.get_close_matches(name, list(allowed), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {what} {name!r}{hint}; there are: {', '.join(allowed)}"


def _fields_at(kind: Any, path: Sequence[str | int]) -> list[str]:
    """Names of the keys allowed at a place of a config, empty where it is no section."""
    for part in path:
        fields = getattr(kind, "model_fields", None)
        if not fields or part not in fields:
            return []
        kind = fields[part].annotation
        kind = next((k for k in getattr(kind, "__args__", ()) if hasattr(k, "model_fields")), kind)
    names: Iterable[str] = getattr(kind, "model_fields", None) or getattr(kind, "__dataclass_fields__", {})
    return list(names)


_CLASS_NAME = re.compile(r"^[A-Z]\w*[.]")
"""Ahead of a field's name in the messages of a dataclass."""


def _one_line(error: ValidationError, prefix: str, kind: Any, inside: tuple[str, ...] = ()) -> str:
    """The first problem of a validation as one line: place, value, what is allowed. `inside` is left unsaid."""
    first = error.errors()[0]
    path = first["loc"]
    shown = [str(part) for part in path[len(inside) :] if part != getattr(kind, "__name__", None)]
    place = prefix + ".".join(shown)
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        allowed = _fields_at(kind, path[:-1])
        return unknown("config key", place, [prefix + ".".join([*shown[:-1], name]) for name in allowed])
    message = first["msg"].removeprefix("Value error, ")
    if not place:
        return message
    if isinstance(first["input"], Mapping):  # the check of a whole section, which names the key and value itself
        return f"{place.rstrip('.')}: {_CLASS_NAME.sub('', message)}"
    return f"{place}: {message[0].lower()}{message[1:]}, got {first['input']!r}"
