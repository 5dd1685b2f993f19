"""The sections of a config: keys, types, bounds and meanings; `benchmark.config.config` joins them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
)

from benchmark.config.errors import LARGEST_SEED
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS, About, Source
from benchmark.data.datasets.card import Card
from benchmark.data.datasets.registry import source_of
from benchmark.data.heartbeats import FS, WINDOW, Beats
from benchmark.data.joined import JOIN
from benchmark.data.segments import IN_MILLIVOLTS, TYPICAL_SECONDS, Kind, Rate, Segmentation, leads_named
from benchmark.data.splits import DatasetTask, Labels, Standardise, columns_of
from benchmark.data.transport import is_transport, transport_of
from benchmark.results.names import DEFAULT_TASK, Pool, Preset
from methods.base import PretrainMethod, Recipe

Overrides = dict[str, Any]
"""A method's knob -> its value."""


def share_not_percent(ratio: float) -> float:
    """A ratio as given. Raises ValueError above 1, where a percentage was probably meant."""
    if ratio > 1:
        meant = f" (did you mean {ratio / 100:g}?)" if ratio <= 100 else ""
        raise ValueError(f"input should be a share of the labels, less than or equal to 1{meant}")
    return ratio


def number_of_epochs(value: Any) -> float:
    """A number of epochs as given; an int where it is whole, so that 3 and 3.0 have one key. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError("input should be a valid number of epochs, greater than 0")
    return int(value) if value == int(value) else value


Ratio = Annotated[float, Field(gt=0), AfterValidator(share_not_percent)]


Epochs = Annotated[float, PlainValidator(number_of_epochs)]


Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


Count = Annotated[int, Field(ge=1)]


def joined_names(value: Any) -> Any:
    """Names of datasets in a list as one: 'ptb-xl+chapman'."""
    return JOIN.join(value) if isinstance(value, list) and all(isinstance(name, str) for name in value) else value


class Section(BaseModel):
    """A frozen, strictly typed part of a config that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


SIZED_LIKE = {"ningbo": "chapman"}
"""Simulated cohort -> the one whose number of patients it has where none is given."""


class Simulation(Section):
    """Simulated cohorts in place of the real datasets (dials: docs/SIMULATOR.md)."""

    seed: Seed = 1
    """Of the simulator; cohorts of another seed share no patient."""
    patients: dict[str, Count]
    """Patients per cohort, by dataset name; where ningbo is absent, as many as chapman has."""
    test_patients: dict[str, Count] = {}
    """Further patients, by dataset name, who are tested alone: the other parts stay as `patients` makes them."""
    recordings_per_patient: Annotated[float, Field(ge=1)] = 3.0
    """Mean number of ECGs per patient of the pretraining cohort."""
    noise: Annotated[float, Field(ge=0)] = 1.0
    """Scale of all noise: 0 none, 1 a routine hospital recording."""
    anatomy: Annotated[float, Field(ge=0)] = 1.0
    """Scale of the differences between patients."""
    severity: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Scale of disease changes relative to anatomy."""
    persistence: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of a patient's later recordings that show conditions of his own; the others show newly drawn ones."""
    report_errors: Annotated[float, Field(ge=0)] = 1.0
    """Scale of the error and hedging rates in the pretraining cohort's machine reports."""

    def sizes(self) -> dict[str, int]:
        """Patients of every cohort that can be simulated."""
        return {name: self.patients[like] for name, like in SIZED_LIKE.items() if like in self.patients} | self.patients


class Data(Section):
    """Datasets, labels and segmentation."""

    pretrain: Annotated[str, BeforeValidator(joined_names)] = "mimic-iv-ecg"
    """Corpus to pretrain on: whole where it has no labels, else its training part. Of several, in a list or joined by
    '+', all recordings that no column tests or chooses on."""
    pretrain_prefix: str = ""
    """Path prefix of the pretraining recordings, e.g. 'files/p10', the paper's tenth of MIMIC-IV-ECG."""
    datasets: Annotated[list[str], Field(min_length=1)] = ["ptb-xl", "chapman", "cpsc2018"]
    """Columns of the table; A@B is learned on A and tested on B (benchmark.data.transport)."""
    task: Annotated[list[str], Field(min_length=1)] = [DEFAULT_TASK]
    """Tasks; a column is a dataset under one that it has (docs/PROTOCOLS.md). default: the dataset's own classes."""
    labels: Labels = "single"
    """Of the task `default`. single: one class a recording, softmax; multi: all its labels, sigmoid, as other tasks."""
    segmentation: Kind = "heartbeats"
    """heartbeats: the paper's, centred and padded; recordings: kept whole, which keeps the rhythm, judged by crops at a
    stride and trained on by crops that begin anywhere."""
    beats: Beats = "authors"
    """How heartbeats are found. authors: R peaks lead by lead, and no heart slower than 50/min, as PMQ's and COMET's
    code does; fused: R peaks of all leads together, and the 1.2 s around them of a slower heart. By default fused under
    `protocol: strict` (docs/evidence/REAL.md)."""
    window_seconds: Annotated[float, Field(ge=0.25, le=10)] = float(TYPICAL_SECONDS)
    """Length of a crop, seconds; by default a whole recording."""
    window_stride: Annotated[float, Field(gt=0, le=10)] | None = None
    """Seconds from the beginning of a crop to that of the next; None: half a crop."""
    short: Literal["skip", "pad"] = "skip"
    """What becomes of recordings shorter than a crop: left out, or lengthened by zeros."""
    rate: Rate = 250
    """Hz that recordings are resampled to: 100, 250 (the paper's) or 500. Heartbeats have 1.2 s at any."""
    standardise: Standardise = "recording"
    """recording: z-score per recording and lead (heartbeats: per pseudo-trial too, as in the paper);
    dataset: one mean and deviation over the training part, for pretraining over the corpus; none: mV."""
    pool: Pool = "mean"
    """A recording's probabilities: the mean of those of its windows, or each class's maximum."""
    folds: Annotated[int, Field(ge=2, le=20)] | None = None
    """Parts of a cross-validation of the datasets that have no folds of their own: every patient is tested by what was
    learned without him, in parts that are drawn anew per seed and labelled subset (`protocol: strict`). None: one
    split."""
    leads: Annotated[list[str], PlainValidator(leads_named)] = list(LEADS)
    """Leads that there are downstream, by name or as one of the numbers 12, 8, 6, 3, 2, 1; the others are zero there.
    Pretraining always has 12."""
    simulation: Simulation | None = None
    """None: real data under --data-root or --data."""
    cards: dict[str, Card] = {}
    """Name -> card of a dataset that is not built in (docs/OWN_DATA.md); `--datasets FILE.yaml` fills it in."""

    @field_validator("cards")
    @classmethod
    def _by_their_names(cls, cards: dict[str, Card]) -> dict[str, Card]:
        for name, card in cards.items():
            if name != card.name:
                raise ValueError(f"the card {name!r} is named {card.name!r}")
            if name in DATASETS:
                raise ValueError(f"{name!r} is a built-in dataset; give the card another name")
        return cards

    @field_validator("window_stride")
    @classmethod
    def _without_gaps(cls, stride: float | None, given: ValidationInfo) -> float | None:
        seconds = given.data.get("window_seconds", 0.0)
        if stride and seconds and stride > seconds:
            raise ValueError(f"it would leave gaps between crops of {seconds:g} s (data.window_seconds)")
        return stride

    @property
    def corpora(self) -> list[str]:
        """Names of the datasets that are pretrained on."""
        return self.pretrain.split(JOIN)

    def about(self, name: str) -> About:
        """What a dataset or a transport is. Raises ValueError for an unknown one."""
        return transport_of(name, self.source) if is_transport(name) else self.source(name)

    def known(self) -> list[str]:
        """Names of the datasets that there are: the built-in ones and those of the cards."""
        return [*DATASETS, *self.cards]

    def source(self, name: str) -> Source:
        """The dataset of a name. Raises ValueError for an unknown one."""
        return source_of(name, self.cards)

    def with_patients(self) -> list[str]:
        """Titles of the user's datasets, among those used, whose cards say which recordings are of one patient."""
        used = [self.cards[name] for name in dict.fromkeys([*self.corpora, *self.datasets]) if name in self.cards]
        return [card.title for card in used if isinstance(card, Card) and card.states_patients]

    def columns(self) -> tuple[DatasetTask, ...]:
        """The columns of the table. Raises ValueError where a dataset or a task makes none."""
        return columns_of(self.datasets, self.task)

    def column(self, name: str) -> DatasetTask:
        """The column of a name; for the name of a dataset that is none, the dataset under `default`."""
        return next((column for column in self.columns() if column.name == name), DatasetTask(name))

    def cut(self) -> Segmentation:
        """The segmentation of recordings."""
        raw, pad = self.standardise != "recording", self.short == "pad"
        if self.segmentation == "heartbeats":
            return Segmentation(samples=WINDOW * self.rate // FS, rate=self.rate, raw=raw, beats=self.beats)
        samples = round(self.window_seconds * self.rate)
        stride = round(self.window_stride * self.rate) if self.window_stride else samples // 2
        return Segmentation("recordings", samples, self.rate, stride, raw, pad)

    def crops_of_typical(self) -> int:
        """Whole windows that follow each other in a recording of 10 s: the pseudo-trial that is pretrained on."""
        return max(1, int(TYPICAL_SECONDS / self.window_seconds))

    def words(self) -> str:
        """What differs from the paper's signals, in words; '' for nothing."""
        words = [word for word in self.cut().words() if word != IN_MILLIVOLTS]
        words += {"dataset": ["one mean and deviation per dataset"], "none": [IN_MILLIVOLTS]}.get(self.standardise, [])
        words += [f"downstream with {' '.join(self.leads)} alone"] if len(self.leads) < len(LEADS) else []
        return ", ".join([*words, *(["a recording is the maximum of its windows"] if self.pool == "max" else [])])

    def prefix_of(self, name: str) -> str:
        """Path prefix of the recordings to read; '' (all) for a dataset that is a column of the table."""
        return self.pretrain_prefix if name in self.corpora and name not in self.datasets else ""


class Finetune(Section):
    """Encoder and head trained together on the labelled subset; best epoch by validation macro-F1."""

    epochs: Count = 50
    """Passes over the labelled subset."""
    lr: Annotated[float, Field(gt=0)] = 1e-4
    """Of AdamW, constant."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-2
    """Of AdamW."""
    batch_size: Annotated[int, Field(ge=2)] = 256
    """Windows."""
    least_updates: Count = 1
    """Minimum updates per epoch; a smaller subset is passed over repeatedly."""
    head_hidden: Count = 128
    """Width of the head's hidden layer."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """On the logits (PMQ, Implementation Details)."""
    encoder_dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    """On the encoder's output, before pooling. None: none, or under `pretrain.preset: paper` that of the method's
    authors (0.1 for pmq-released)."""
    beats_per_trial: Count = 6
    """Heartbeats of a pseudo-trial, the unit of `protocol: paper`'s labelled subset."""


class Linear(Section):
    """Logistic regression on frozen features."""

    strengths: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = [0.01, 0.1, 1.0, 10.0]
    """Candidate inverse regularisation strengths C; the best by validation macro-F1 is used."""


class Attention(Section):
    """An attention head on the steps of a frozen encoder; best epoch by validation macro-F1."""

    epochs: Count = 20
    """Passes over the labelled subset."""
    lr: Annotated[float, Field(gt=0)] = 1e-3
    """Of AdamW, constant."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-2
    """Of AdamW."""
    batch_size: Annotated[int, Field(ge=2)] = 128
    """Windows."""
    least_updates: Count = 20
    """Minimum updates per epoch; a smaller subset is passed over repeatedly."""


class Boosting(Section):
    """Gradient-boosted trees on hand-crafted features."""

    iterations: Count = 150
    """Maximum; the number used is chosen with `leaf_windows` by validation macro-F1."""
    patience: Count = 20
    """Iterations of a round; the first round without a better validation macro-F1 is the last."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Shrinkage of each tree."""
    leaves: Annotated[int, Field(ge=2)] = 15
    """Maximum leaves of a tree."""
    leaf_windows: Annotated[list[Count], Field(min_length=1)] = [5, 20]
    """Candidate minimum windows per leaf."""
    l2: Annotated[float, Field(ge=0)] = 10.0
    """L2 regularisation of the leaves' values."""
    feature_share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Share of the features available to a split, drawn anew for each."""


class MiniRocket(Section):
    """MiniRocket's convolutions of windows and a ridge regression on them."""

    features: Annotated[int, Field(ge=84)] = 9996
    """Rounded down to a multiple of 84, the number of kernels."""
    dilations: Count = 32
    """Maximum dilations per kernel."""
    penalties: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = [
        *(1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001),
    ]
    """Candidate L2 penalties per labelled window; the first best by validation macro-F1 is used."""


class Knn(Section):
    """Nearest neighbours of frozen features; a neighbour's vote is exp(cosine / temperature)."""

    neighbours: Annotated[list[Count], Field(min_length=1)] = [1, 5, 20, 100]
    """Candidate numbers k of neighbours; the first best by validation macro-F1 is used."""
    temperature: Annotated[float, Field(gt=0)] = 0.07
    """Of the votes: the lower, the more the nearest count (0.07: Wu et al. 2018, "Instance discrimination")."""


class Supervised(Section):
    """Training from scratch on all labels, as the PTB-XL benchmark does (Strodthoff et al. 2020); the last epoch is
    used."""

    epochs: Count = 50
    """Passes over the labelled windows."""
    lr: Annotated[float, Field(gt=0)] = 1e-2
    """Highest of the one-cycle schedule (AdamW)."""
    weight_decay: Annotated[float, Field(ge=0)] = 1e-2
    """Of AdamW, on all parameters."""
    batch_size: Annotated[int, Field(ge=2)] = 128
    """Windows."""
    head_hidden: Count = 128
    """Width of the head's hidden layer."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Before the head's last layer; before its first, half as much."""


Budget = Literal["epochs", "windows", "passes"]


class Pretrain(Section):
    """Pretraining, the same for all methods except their recipes.

    Precedence of recipe fields: `methods.NAME.recipe`, the preset's recipe, the defaults.
    """

    epochs: Epochs = 100
    """Need not be whole."""
    budget: Budget = "epochs"
    """What is equal among methods: epochs of their own batches; windows: so many epochs of the whole corpus; passes:
    encoder passes, as many as these windows cost PMQ (docs/PROTOCOLS.md)."""
    seed: Seed = 42
    """Seed of the single pretraining of `protocol: paper`; `strict` pretrains once per fine-tuning seed."""
    preset: Preset = "unified"
    """unified: `recipe` for all; paper: the recipe of each method's own paper."""
    recipe: Annotated[Recipe | None, Field(validate_default=True)] = None
    """Recipe of `preset: unified`, by default `Recipe()`; None under `paper`."""
    beats_per_trial: Annotated[int, Field(ge=2)] = 10
    """Heartbeats of a pseudo-trial; `pairing: neighbor` takes two in succession of them."""
    text_embedder: str = "tfidf"
    """Report embedding for methods that need text: tfidf, or a language model's folder or hub name."""

    @field_validator("recipe")
    @classmethod
    def _of_the_preset(cls, recipe: Recipe | None, given: ValidationInfo) -> Recipe | None:
        return None if given.data.get("preset") == "paper" else recipe or Recipe()

    def pair_costs(self, method: type[PretrainMethod]) -> tuple[float, float]:
        """Encoder passes of a pair of windows in PMQ and in a method; equal where pairs count."""
        if self.budget == "passes":
            return PretrainMethod.encoder_passes, method.encoder_passes
        return 1.0, 1.0
