"""The config of a run: validated, frozen, hashable. Every key is checked against the methods and datasets there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from benchmark.config.errors import built, unknown
from benchmark.config.overrides import dotted, laid_over
from benchmark.config.sections import (
    Boosting,
    Data,
    EncoderSize,
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
from benchmark.data.tasks.spec import Protocol, TaskSpec
from benchmark.results.names import FINETUNE, Evaluation
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


class Config(Section):
    """All that can move a number. Where results lie and how many processes run is not in here."""

    name: str
    caption: str = ""
    methods: Annotated[list[str], Field(min_length=1)]
    """Methods of the table, in the order of its rows."""
    knobs: dict[str, dict[str, Any]] = {}
    """Overrides of methods' own knobs, by method; one from a file goes by its own name or its path. Fields of `recipe`
    come before those of the preset. The dotted key `methods.NAME.KNOB` reaches them too (benchmark.config.load)."""
    ablations: dict[str, dict[str, Overrides]] = PAPER_ABLATIONS
    """Ablations there are: method -> name -> overrides of its knobs."""
    ablate: list[str] = []
    """Ablations that are run: 'w/o queue' (of every compared method that has it), 'pmq:w/o queue', or 'all'."""
    sweeps: dict[str, dict[str, list[Any]]] = {}
    """Method -> knob -> values it is run with at the smallest ratio, e.g. of queue_size, or of recipe.lr."""
    gates: list[Gate] = ["random", "frozen", "features", "full-labels"]
    """Rows every table is read against: the untrained encoder, fine-tuned and frozen, boosted hand-crafted features,
    and these with all labels."""
    data: Data = Data()
    encoder: EncoderSize = EncoderSize()
    pretrain: Pretrain = Pretrain()
    finetune: Finetune = Finetune()
    linear: Linear = Linear()
    boosting: Boosting = Boosting()
    evaluate: Annotated[list[Evaluation], Field(min_length=1)] = [FINETUNE]
    ratios: Annotated[list[Ratio], Field(min_length=1)] = [0.3, 0.1, 0.01]
    seeds: Annotated[list[Seed], Field(min_length=1)] = [41, 42, 43, 44, 45]
    protocol: Protocol = "paper"
    precision: Literal["auto", "float32", "bf16"] = "auto"
    compile: bool = False
    """Pretrain through torch.compile, equal up to rounding; docs/SPEED.md says where that is faster."""

    @field_validator("sweeps", mode="before")
    @classmethod
    def _swept_fields(cls, sweeps: Any) -> Any:
        """`--set sweeps.pmq.recipe.lr=[1e-3,1e-4]` sweeps the knob 'recipe.lr'."""
        if not isinstance(sweeps, Mapping):
            return sweeps
        return {name: dict(dotted(knobs)) if isinstance(knobs, Mapping) else knobs for name, knobs in sweeps.items()}

    @model_validator(mode="after")
    def _known_names(self) -> Config:
        for name in (*self.methods, *self.knobs, *self.ablations, *self.sweeps):
            self.method_class(name)
        simulated = self.data.simulation.patients if self.data.simulation else {}
        for name in (self.data.pretrain, *self.data.datasets, *simulated):
            if name not in DATASETS:
                raise ValueError(unknown("dataset", name, DATASETS))
        unsized = {self.data.pretrain, *self.data.datasets} - simulated.keys()
        if self.data.simulation and unsized:
            raise ValueError(f"data.simulation.patients: give the number of patients of {min(unsized)!r}")
        for name in self.knobs:
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
        lists = {what: getattr(self, what) for what in ("methods", "ratios", "seeds", "evaluate")}
        for what, values in {**lists, "data.datasets": self.data.datasets}.items():
            if len(set(values)) < len(values):
                raise ValueError(f"{what}: {values} names a value twice")
        unlabelled = [name for name in self.data.datasets if not DATASETS[name].classes]
        if unlabelled:
            raise ValueError(f"data.datasets: {unlabelled[0]!r} has no labels, so it can only be pretrained on")
        return self

    def method_class(self, name: str) -> type[PretrainMethod]:
        """A method by its name or file; one of a compared file goes by its own name too."""
        files = {get_method(path).name: path for path in self.methods if path.endswith(".py")}
        return get_method(files.get(name, name))

    def compared(self) -> list[str]:
        """The compared methods by their own names, in order."""
        return [self.method_class(name).name for name in self.methods]

    def ablations_of(self, asked: str) -> list[tuple[str, str]]:
        """(method, ablation) of the compared methods that a name in `ablate` stands for."""
        return [
            (method, name)
            for method in self.compared()
            for name in self.ablations.get(method, {})
            if asked in (ALL_ABLATIONS, name, f"{method}:{name}")
        ]

    def method_config(self, name: str, overrides: Mapping[str, Any] | None = None) -> MethodConfig:
        """A method's config: the preset's recipe, this config's overrides, and further ones (an ablation's) over those.

        Its recipe is the one that acts.
        """
        method = self.method_class(name)
        files = [path for path in self.knobs if path.endswith(".py") and get_method(path) is method]
        values: dict[str, Any] = {"recipe": asdict(self.preset_recipe(method))}
        for own in (*(self.knobs.get(key, {}) for key in (*files, method.name)), overrides or {}):
            values = laid_over(values, own)
        return built(method.Config, values, f"methods.{name}.")

    def task_spec(self, stage: Pretrain | Finetune) -> TaskSpec:
        """What a stage asks of a dataset."""
        per_trial = stage.beats_per_trial if self.data.segmentation == "heartbeats" else stage.windows_per_trial
        return TaskSpec(per_trial, self.data.labels, self.protocol)

    def preset_recipe(self, method: type[PretrainMethod]) -> Recipe:
        """What a method is trained by where it is not told otherwise: the recipe of all, or of its own paper."""
        return self.pretrain.recipe or method.Config().recipe

    def __hash__(self) -> int:
        return hash(self.model_dump_json())
