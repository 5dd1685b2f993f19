"""The sections of a config: which keys there are, what they may be, and what they mean.

All are frozen and refuse unknown keys; `benchmark.config.config` reads them from YAML and the command line.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from benchmark.data.prepared.windows import HEARTBEATS, Kind, Segmentation, plain_seconds
from benchmark.data.tasks.spec import Labels
from methods.base import Recipe

Gate = Literal["random", "frozen", "features", "full-labels"]
Overrides = dict[str, Any]
"""A method's knob -> its value."""
Ratio = Annotated[float, Field(gt=0, le=1)]
Seed = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A frozen part of a config that refuses unknown keys, and true, text or 1.5 where a count is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Simulation(Section):
    """Simulated cohorts, written in the real on-disk layouts and read by the real readers."""

    seed: Seed = 1
    patients: dict[str, Count]
    """Patients per cohort, by dataset name."""
    recordings_per_patient: Annotated[float, Field(ge=1)] = 3.0
    """Mean number of ECGs per patient of the pretraining cohort."""
    noise: Annotated[float, Field(ge=0)] = 1.0
    anatomy: Annotated[float, Field(ge=0)] = 1.0
    """How far patients lie apart (docs/SIMULATOR.md tells what each of these dials does)."""
    severity: Annotated[float, Field(ge=0, le=2)] = 1.0
    """How far disease goes against anatomy."""
    report_errors: Annotated[float, Field(ge=0)] = 1.0
    """How often the machine reports of the pretraining cohort omit, hedge and invent."""


class Data(Section):
    """Which data, and where they are."""

    pretrain: str = "mimic-iv-ecg"
    pretrain_prefix: str = ""
    """Pretrain only on recordings whose path begins so, e.g. 'files/p10', the paper's tenth of MIMIC-IV-ECG."""
    datasets: Annotated[list[str], Field(min_length=1)] = ["ptb-xl", "chapman", "cpsc2018"]
    labels: Labels = "single"
    segmentation: Kind = "heartbeats"
    """heartbeats: the paper's, centred and padded; windows: plain ones, which keep the rhythm."""
    window_seconds: Annotated[float, Field(ge=0.25, le=10)] = 2.5
    """Length of a plain window."""
    simulation: Simulation | None = None
    """None: real data are looked for under --data-root or --data."""

    def cut(self) -> Segmentation:
        """What recordings are cut into."""
        return HEARTBEATS if self.segmentation == "heartbeats" else plain_seconds(self.window_seconds)

    def prefix_of(self, name: str) -> str:
        """Which part of a dataset is read; a corpus that is also a column of the table is read whole."""
        return self.pretrain_prefix if name == self.pretrain and name not in self.datasets else ""


class EncoderSize(Section):
    """Width and depth of the encoder that all methods share (METHODS: 64, 10, 320)."""

    hidden: Count = 64
    depth: Count = 10
    output: Count = 320


class Pretrain(Section):
    """Pretraining, the same for all methods but for their recipes.

    The recipe that a method is trained by: `methods.NAME.recipe`, field by field as far as it is set, before that of
    the preset, before the defaults.
    """

    epochs: Count = 100
    seed: Seed = 42
    """Seed of the one pretraining of `protocol: paper`; `strict` pretrains once per fine-tuning seed."""
    preset: Literal["unified", "paper"] = "unified"
    """unified: `recipe` for all; paper: the recipe of each method's own paper."""
    recipe: Annotated[Recipe | None, Field(validate_default=True)] = None
    """Of `preset: unified`, a `Recipe()` where it is not set; None under `paper`, where it cannot act."""
    beats_per_trial: Annotated[int, Field(ge=2)] = 10
    windows_per_trial: Annotated[int, Field(ge=3)] = 4
    """Of plain windows, in place of the heartbeats; a pair of them lies anywhere in the pseudo-trial."""
    text_embedder: str = "tfidf"
    """Report embedding of the methods that need text: tfidf, or a language model's folder or hub name."""

    @field_validator("recipe")
    @classmethod
    def _of_the_preset(cls, recipe: Recipe | None, given: ValidationInfo) -> Recipe | None:
        return None if given.data.get("preset") == "paper" else recipe or Recipe()


class Finetune(Section):
    """Encoder and head trained together on the labelled subset; best epoch by validation macro-F1."""

    epochs: Count = 50
    lr: Annotated[float, Field(gt=0)] = 1e-4
    weight_decay: Annotated[float, Field(ge=0)] = 1e-2
    batch_size: Annotated[int, Field(ge=2)] = 256
    least_updates: Count = 1
    """Of an epoch: a subset with fewer batches is passed over again, so that few labels need no more epochs."""
    head_hidden: Count = 128
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """On the logits, as the paper has it."""
    beats_per_trial: Count = 6
    windows_per_trial: Count = 1
    """Of plain windows, in place of the heartbeats."""


class Linear(Section):
    """Logistic regression on frozen features."""

    strengths: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = [0.01, 0.1, 1.0, 10.0]
    """Inverse regularisation strengths C, chosen by validation macro-F1."""


class Boosting(Section):
    """Gradient-boosted trees on hand-crafted features."""

    iterations: Count = 150
    """The most there are; how many count is chosen by validation macro-F1, together with the leaves' size."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    leaves: Annotated[int, Field(ge=2)] = 15
    leaf_windows: Annotated[list[Count], Field(min_length=1)] = [5, 20]
    """Fewest windows of a leaf, to choose from."""
    l2: Annotated[float, Field(ge=0)] = 10.0
    feature_share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Share of the features that a split may use, drawn anew each time."""
