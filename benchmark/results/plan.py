"""The plan of a run: its config, rows, datasets and cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Required

from pydantic import Field, with_config
from typing_extensions import TypedDict

from benchmark.results.keys import digest
from benchmark.results.names import ROLES, Pool
from benchmark.results.schema import (
    OPEN,
    Count,
    Evaluated,
    Key,
    Labelled,
    Labels,
    Line,
    Name,
    NameOrNone,
    Number,
    Protocol,
    Ratio,
    check_amount,
    one_of,
    shaped,
)

Answer = Literal["yes", "no", "not known"]
RENAMED = {"compare": "methods", "methods": "knobs"}
"""Old config key -> current one, for stored configs that have a `compare` key."""


@with_config(OPEN)
class DataConfig(TypedDict, total=False):
    """The section `data` of a plan's config."""

    labels: Required[Labels]
    segmentation: Line
    window_seconds: Number
    window_stride: Number | None
    rate: Count
    standardise: Line
    leads: list[Line]
    pool: Pool
    datasets: list[Name]


@with_config(OPEN)
class PretrainConfig(TypedDict, total=False):
    """The section `pretrain` of a plan's config."""

    preset: Line
    text_embedder: Line | None


@with_config(OPEN)
class PlanConfig(TypedDict, total=False):
    """What reports read of a plan's config."""

    name: Line | None
    caption: Line | None
    protocol: Required[Protocol]
    data: Required[DataConfig]
    pretrain: PretrainConfig
    methods: list[Line]
    ablations: dict[Line, dict[Line, Any]]
    ablate: list[Line]
    gates: list[Line]
    evaluate: list[Line]
    ratios: list[Ratio]
    seeds: list[Count]


class Facts(TypedDict, total=False):
    """What is known of a dataset or of the pretraining corpus."""

    classes: Annotated[list[Line], Field(max_length=1000)]
    form: Line
    simulated: bool
    fingerprint: Line
    recordings: Required[Count]
    patients: Required[Count]
    skipped: Count | dict[Line, Count]
    without_report: Count


@with_config(OPEN)
class DatasetFacts(Facts):
    """A dataset of a plan."""

    title: Line


@with_config(OPEN)
class CorpusFacts(Facts, total=False):
    """The pretraining corpus of a plan."""

    name: Required[Name]
    title: Line


@with_config(OPEN)
class Elsewhere(TypedDict, total=False):
    """What is known of weights from elsewhere."""

    pretrained_on: Required[Line]
    saw: Required[dict[Name, Answer]]
    """Column -> whether they saw its test patients."""
    licence: Required[Line]
    signals: Required[Line]
    """What the encoder reads, in words."""
    features: Count
    unserved: Required[dict[Name, Line]]
    """Evaluation -> why the row has no cells there."""


@with_config(OPEN)
class Role(TypedDict, total=False):
    """What a row of a table is."""

    role: Required[Annotated[str, one_of(*ROLES)]]
    of: Required[NameOrNone]
    knob: Required[NameOrNone]
    value: Required[Any]
    reads_reports: bool
    elsewhere: Elsewhere


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a plan; its finished row is stored under `key`."""

    key: Key
    variant: Line
    evaluation: Evaluated
    dataset: Name
    ratio: Labelled
    seed: Count


@dataclass(frozen=True)
class Plan:
    """Plan of a run, with all that a report needs besides the rows."""

    key: Key
    config: Annotated[dict[str, Any], shaped(PlanConfig)]
    variants: dict[Line, Line]
    """Variant -> title printed in a table, in the order of the rows."""
    datasets: dict[Name, Annotated[dict[str, Any], shaped(DatasetFacts)]]
    """Dataset -> title, classes, simulated (bool), fingerprint, recordings, patients, skipped, in column order."""
    pretraining: Annotated[dict[str, Any], shaped(CorpusFacts)]
    """The same facts of the pretraining corpus, with its name."""
    roles: dict[Line, Annotated[dict[str, Any], shaped(Role)]] = field(default_factory=dict)
    """Variant -> role (`ROLES`), what it is a change of (of, knob, value), and whether
    it reads reports."""
    warnings: list[Line] = field(default_factory=list)
    """Warnings for every table, e.g. that test recordings were trained on; one sentence each, without full stop."""
    cells: list[PlannedCell] = field(default_factory=list)
    tunings: list[Key] = field(default_factory=list)
    """Keys of the searches that knobs are from (benchmark.results.tuned)."""

    @property
    def pool(self) -> Pool:
        """How the windows of a recording vote."""
        found: Pool = self.config["data"].get("pool", "mean")
        return found


def labels_of(plan: Plan) -> str:
    """'single', 'multi' or 'single and multi': the labels of a plan's columns; those of a named task are multi."""
    own = str(plan.config["data"]["labels"])
    kinds = {"multi" if facts.get("task") else own for facts in plan.datasets.values()}
    return " and ".join(sorted(kinds, reverse=True)) or own


def with_todays_keys(config: dict[str, Any]) -> dict[str, Any]:
    """A stored config of a plan or row, with old keys renamed to current ones."""
    if "compare" not in config:
        return config
    return {RENAMED.get(key, key): value for key, value in config.items()}


def check_plan(plan: Plan, key: str) -> None:
    """Raise ValueError for another key, an unlisted variant or dataset of a cell, or a number that cannot be."""
    if plan.key != key:
        raise ValueError(f"this is the plan {plan.key}, not {key}")
    for cell in plan.cells:
        if cell.variant not in plan.variants or cell.dataset not in plan.datasets:
            raise ValueError(f"a cell of {cell.variant!r} on {cell.dataset!r}, which the plan does not list")
        check_amount(cell.evaluation, cell.ratio)
    digest(plan.config)
