"""The config of a run: validated, frozen, hashable. Every key is checked against the methods and datasets there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, create_model, model_validator

from benchmark.config.errors import one_line, refuse_truth_values, unknown
from benchmark.config.sections import (
    Boosting,
    Data,
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
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.split import Protocol
from methods import get_method
from methods.base import MethodConfig, PretrainMethod, Recipe
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder, EncoderConfig

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
NOT_ASKED = ("leads", "dropout")
"""Of an encoder's config: the windows decide the one, each method the other."""

T = TypeVar("T")


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
    encoder: dict[str, Any] = {}
    """`name` of the encoder that all methods share, or its file, and all its own knobs; no name is the default one."""
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

    @model_validator(mode="before")
    @classmethod
    def _whole_encoder(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"encoder": whole_encoder(values.get("encoder", {}))}

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
        return knobs_of(kind, {**values, **(overrides or {})}, f"methods.{name}.")

    def encoder_class(self) -> type[Encoder]:
        """The encoder that all methods share."""
        return get_encoder(self.encoder.get("name", DEFAULT))

    def encoder_config(self) -> EncoderConfig:
        """Its config, without dropout: each method sets its own."""
        return self.encoder_class().Config(**{key: value for key, value in self.encoder.items() if key != "name"})

    def per_trial(self, stage: Pretrain | Finetune) -> int:
        """Heartbeats, or plain windows, of a pseudo-trial in a stage."""
        return stage.beats_per_trial if self.data.segmentation == "heartbeats" else stage.windows_per_trial

    def recipe(self, method: MethodConfig) -> Recipe:
        """Optimiser settings of a method under the chosen preset."""
        return method.recipe if self.pretrain.preset == "paper" else self.pretrain.recipe

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


def whole_encoder(given: Any) -> dict[str, Any]:
    """The section `encoder` with all knobs of the encoder it names, checked. Raises ValueError in one line."""
    if not isinstance(given, Mapping) or not isinstance(given.get("name", DEFAULT), str):
        raise ValueError(f"encoder: {{name: {DEFAULT}}} was expected, with knobs of that encoder, got {given!r}")
    name = given.get("name", DEFAULT)
    kind = get_encoder(name).Config
    own = [knob.name for knob in fields(kind) if knob.name not in NOT_ASKED]
    values = {key: value for key, value in given.items() if key != "name"}
    for key in values:
        if key not in own:
            raise ValueError(unknown("config key", f"encoder.{key}", [f"encoder.{knob}" for knob in ("name", *own)]))
    knobs = asdict(knobs_of(kind, values, "encoder."))
    return ({} if name == DEFAULT else {"name": name}) | {knob: knobs[knob] for knob in own}


def knobs_of(kind: type[T], values: Mapping[str, Any], place: str) -> T:
    """A dataclass of knobs from plain values. Raises ValueError in one line, with the place in front of the knob."""
    # A dataclass of its own would ignore unknown keys; as a field it is as strict as the section that holds it.
    holder = create_model("Holder", __base__=Section, knobs=(kind, ...))
    try:
        knobs: T = holder.model_validate({"knobs": values}).knobs  # type: ignore[attr-defined]
    except ValidationError as error:
        raise ValueError(one_line(error, place, holder, inside=("knobs",))) from None
    refuse_truth_values(values, asdict(knobs), place)  # type: ignore[call-overload]
    return knobs
