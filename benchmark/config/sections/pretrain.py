"""Section pretrain: the budget, the preset and the recipe of pretrainings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from benchmark.config.sections.section import Epochs, Overrides, Section, Seed
from benchmark.data.corpus.mapped import Streaming
from benchmark.results.names import Preset
from methods.base import PretrainMethod, Recipe

Budget = Literal["epochs", "windows", "passes", "seconds"]
REFERENCE = "pmq"
"""The method whose cost of a window is the unit of the budget `seconds`."""
BatchNorm = Literal["synchronised", "per-rank"]


class Pretrain(Section):
    """Pretraining, the same for all methods except their recipes.

    Precedence of recipe fields: `methods.NAME.recipe`, the preset's recipe, the defaults.
    """

    epochs: Epochs = 100
    """Need not be whole."""
    budget: Budget = "epochs"
    """What is equal among methods: epochs of their own batches; windows: so many epochs of the whole corpus; passes:
    encoder passes, as many as these windows cost PMQ; seconds: as many as these windows cost PMQ by `pair_milliseconds`
    (docs/BUDGETS.md)."""
    pair_milliseconds: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
    """Method -> milliseconds per pair of windows, for `budget: seconds`; `speed` prints them."""
    snapshots: list[Epochs] = []
    """Further values of `epochs`: a row of each per method, at the smallest label ratio. Under `recipe.schedule:
    stable` they share the updates before the decay."""
    seed: Seed = 42
    """Seed of the single pretraining of `protocol: paper`; `strict` pretrains once per fine-tuning seed."""
    preset: Preset = "unified"
    """unified: `recipe` for all; paper: the recipe of each method's own paper; tuned: unified, with the knobs of each
    method that `tune` chose laid over its own (docs/TUNING.md)."""
    presets: list[Literal["paper", "tuned"]] = []
    """Further presets beside `unified`: a row of each per compared method that trains."""
    tuned: dict[str, Overrides] = {}
    """Method -> knobs of its row under the further preset `tuned`; a run fills it in from what `tune` found."""
    recipe: Annotated[Recipe | None, Field(validate_default=True)] = None
    """Recipe of `preset: unified` and `tuned`, by default `Recipe()`; None under `paper`."""
    beats_per_trial: Annotated[int, Field(ge=2)] = 10
    """Heartbeats of a pseudo-trial; `pairing: neighbor` takes two in succession of them."""
    windows_per_trial: Annotated[int, Field(ge=3)] = 4
    """Replaces `beats_per_trial` for plain windows; a pair may be any two of the pseudo-trial."""
    streaming: Streaming = "auto"
    """Whether the corpus is read from disk, ahead of the updates, instead of being held in memory: always, never, or
    auto, if it exceeds a quarter of the free memory of host or device. No number depends on it (docs/GPU.md)."""
    text_embedder: str = "tfidf"
    """Report embedding for methods that need text: tfidf, or a language model's folder or hub name."""
    batch_norm: BatchNorm = "synchronised"
    """Of several ranks (docs/RANKS.md). synchronised: statistics of the whole batch, as on one process; per-rank: those
    of the rank's own share of it, without an exchange."""

    @field_validator("recipe")
    @classmethod
    def _of_the_preset(cls, recipe: Recipe | None, given: ValidationInfo) -> Recipe | None:
        return None if given.data.get("preset") == "paper" else recipe or Recipe()

    @field_validator("snapshots", "presets")
    @classmethod
    def _each_once(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError(f"{values} names a value twice")
        return values

    def pair_costs(self, method: type[PretrainMethod]) -> tuple[float, float]:
        """What a pair of windows costs PMQ, and what it costs a method, in the budget's unit; equal if pairs count."""
        if self.budget == "passes":
            return PretrainMethod.encoder_passes, method.encoder_passes
        if self.budget == "seconds":
            return self.pair_milliseconds[REFERENCE], self.pair_milliseconds[method.name]
        return 1.0, 1.0

    @model_serializer(mode="wrap")
    def _as_before(self, as_dict: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without later keys at their defaults: stored configs from before there were these are equal."""
        values: dict[str, Any] = as_dict(self)
        later: dict[str, Any] = {
            "budget": "epochs",
            "pair_milliseconds": {},
            "snapshots": [],
            "presets": [],
            "tuned": {},
        }
        later |= {"batch_norm": "synchronised", "streaming": "auto"}
        return {name: value for name, value in values.items() if name not in later or value != later[name]}
