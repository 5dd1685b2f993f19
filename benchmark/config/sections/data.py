"""Section data: datasets, tasks, labels and how recordings are cut; its part `simulation`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from benchmark.config.sections.section import Count, Section, Seed
from benchmark.data.prepared.beats import FS, WINDOW
from benchmark.data.prepared.lead_sets import leads_named
from benchmark.data.prepared.scale import Standardise
from benchmark.data.prepared.windows import IN_MILLIVOLTS, TYPICAL_SECONDS, Kind, Rate, Segmentation
from benchmark.data.readers.base import LEADS, Source
from benchmark.data.readers.cards import AnyCard
from benchmark.data.readers.registry import DATASETS, source_of
from benchmark.data.tasks.columns import Column, columns_of
from benchmark.data.tasks.spec import Labels
from benchmark.results.names import DEFAULT_TASK, Pool

SIZED_LIKE = {"ningbo": "chapman"}
"""Simulated cohort -> the one whose number of patients it has where none is given."""


class Simulation(Section):
    """Simulated cohorts in the on-disk layouts of the real datasets (dials: docs/SIMULATOR.md)."""

    seed: Seed = 1
    """Of the simulator; cohorts of another seed share no patient."""
    patients: dict[str, Count]
    """Patients per cohort, by dataset name; where ningbo is absent, as many as chapman has."""
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

    pretrain: str = "mimic-iv-ecg"
    """Corpus to pretrain on: whole where it has no labels, else its training part."""
    pretrain_prefix: str = ""
    """Path prefix of the pretraining recordings, e.g. 'files/p10', the paper's tenth of MIMIC-IV-ECG."""
    datasets: Annotated[list[str], Field(min_length=1)] = ["ptb-xl", "chapman", "cpsc2018"]
    """Columns of the table."""
    task: Annotated[list[str], Field(min_length=1)] = [DEFAULT_TASK]
    """Tasks; a column is a dataset under one that it has (docs/PROTOCOLS.md). default: the dataset's own classes."""
    labels: Labels = "single"
    """Of the task `default`. single: one class a recording, softmax; multi: all its labels, sigmoid, as other tasks."""
    segmentation: Kind = "heartbeats"
    """heartbeats: the paper's, centred and padded; windows: plain windows, which keep the rhythm; recordings: kept
    whole, judged by crops at a stride and trained on by crops that begin anywhere."""
    window_seconds: Annotated[float, Field(ge=0.25, le=10)] = 2.5
    """Length of a plain window or a crop, seconds; 10 by default for `recordings`, a whole recording."""
    window_stride: Annotated[float, Field(gt=0, le=10)] | None = None
    """Seconds from the beginning of a crop to that of the next; None: half a crop."""
    short: Literal["skip", "pad"] = "skip"
    """What becomes of recordings shorter than a window or crop: left out, or lengthened by zeros."""
    rate: Rate = 250
    """Hz that recordings are resampled to: 100, 250 (the paper's) or 500. Heartbeats have 1.2 s at any."""
    standardise: Standardise = "recording"
    """recording: z-score per recording and lead (heartbeats and windows: per pseudo-trial too, as in the paper);
    dataset: one mean and deviation over the training part, for pretraining over the corpus; none: mV."""
    pool: Pool = "mean"
    """A recording's probabilities: the mean of those of its windows, or each class's maximum."""
    leads: Annotated[list[str], PlainValidator(leads_named)] = list(LEADS)
    """Leads that there are downstream, by name or as one of the numbers 12, 8, 6, 3, 2, 1; the others are zero there.
    Pretraining always has 12."""
    simulation: Simulation | None = None
    """None: real data under --data-root or --data."""
    cards: dict[str, AnyCard] = {}
    """Name -> card of a dataset that is not built in (docs/OWN_DATA.md); `--datasets FILE.yaml` fills it in."""

    @field_validator("cards")
    @classmethod
    def _by_their_names(cls, cards: dict[str, AnyCard]) -> dict[str, AnyCard]:
        for name, card in cards.items():
            if name != card.name:
                raise ValueError(f"the card {name!r} is named {card.name!r}")
            if name in DATASETS:
                raise ValueError(f"{name!r} is a built-in dataset; give the card another name")
        return cards

    @model_validator(mode="before")
    @classmethod
    def _whole_by_default(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("segmentation") == "recordings":
            return {"window_seconds": float(TYPICAL_SECONDS)} | values
        return values

    @field_validator("window_stride")
    @classmethod
    def _without_gaps(cls, stride: float | None, given: ValidationInfo) -> float | None:
        seconds = given.data.get("window_seconds", 0.0)
        if stride and seconds and stride > seconds:
            raise ValueError(f"it would leave gaps between crops of {seconds:g} s (data.window_seconds)")
        return stride

    @model_serializer(mode="wrap")
    def _as_before(self, as_dict: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without later keys at their defaults: stored configs from before there were these are equal."""
        values: dict[str, Any] = as_dict(self)
        later: dict[str, Any] = {"cards": {}, "window_stride": None, "short": "skip", "rate": 250, "pool": "mean"}
        later |= {"standardise": "recording", "leads": list(LEADS), "task": [DEFAULT_TASK]}
        return {name: value for name, value in values.items() if name not in later or value != later[name]}

    def known(self) -> list[str]:
        """Names of the datasets that there are: the built-in ones and those of the cards."""
        return [*DATASETS, *self.cards]

    def source(self, name: str) -> Source:
        """The dataset of a name. Raises ValueError for an unknown one."""
        return source_of(name, self.cards)

    def columns(self) -> tuple[Column, ...]:
        """The columns of the table. Raises ValueError where a dataset or a task makes none."""
        return columns_of(self.datasets, self.task)

    def column(self, name: str) -> Column:
        """The column of a name; for the name of a dataset that is none, the dataset under `default`."""
        return next((column for column in self.columns() if column.name == name), Column(name))

    def cut(self) -> Segmentation:
        """The segmentation of recordings."""
        raw, pad = self.standardise != "recording", self.short == "pad"
        if self.segmentation == "heartbeats":
            return Segmentation(samples=WINDOW * self.rate // FS, rate=self.rate, raw=raw)
        samples, stride = round(self.window_seconds * self.rate), 0
        if self.segmentation == "recordings":
            stride = round(self.window_stride * self.rate) if self.window_stride else samples // 2
        return Segmentation(self.segmentation, samples, self.rate, stride, raw, pad)

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
        return self.pretrain_prefix if name == self.pretrain and name not in self.datasets else ""
