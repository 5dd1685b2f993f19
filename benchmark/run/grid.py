"""The grid of a config: rows, the pretrainings and cells of each, and what the keys of their results are digests of.

    pretrain_key = hash(method config and recipe, encoder, epochs, data fingerprint, precision, seed, results versions)
    cell_key     = hash(pretrain_key, dataset fingerprint, task, ratio, seed, subset, settings, results version)

Keys hash content, never paths, times or numbers of threads. A results version is raised with any change that can alter
results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmark.config.config import Config, with_settings
from benchmark.data.prepare import Prepared
from benchmark.data.report_text import embedder_identity
from benchmark.data.splits import TaskSpec
from benchmark.machine import Machine, stream
from benchmark.results.files import digest
from benchmark.results.names import (
    COMBINED,
    EVALUATION_FACTS,
    FINETUNE,
    FROZEN,
    RETRIEVAL,
    SUPERVISED,
    UNTRAINED,
    VALIDATION,
    evaluation_of,
    is_frozen,
    name_on,
)
from benchmark.results.store import Store
from benchmark.run.crossfit import DEALT_BY, Columns, crossfitted, dealt_by
from benchmark.run.rows import Variant, refuse_lone_windows, variants_of
from benchmark.training.evaluations import settings_of, version_of
from benchmark.training.pretrain import PRETRAIN_VERSION, has_statistics
from methods import sources_of
from methods.base import PretrainMethod
from methods.encoders import identity

ALL_LABELS = 1.0
STATISTICS = "statistics"
"""Entry of the content of an untrained encoder whose batch normalisation is estimated: of which windows."""
SUBSETS = {"paper": 1, "strict": 5}
"""Labelled subsets per seed by default: a probe costs next to nothing beside the pretraining that it judges."""


@dataclass(frozen=True)
class Pretraining:
    """One pretrained encoder, shared by all cells that start from it."""

    key: str
    variant: Variant
    seed: int
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what `key` is the digest of
    part: int | None = None  # of a cross-fitting, whose patients it does not see
    external_windows: Path | None = field(default=None, compare=False)
    """Folder of the corpus as windows of an external encoder, whose batch normalisation is estimated; None: no need."""

    @property
    def method(self) -> type[PretrainMethod]:
        """The variant's method."""
        assert self.variant.method is not None, f"{self.variant.name}: nothing is pretrained"
        return self.variant.method

    @property
    def name(self) -> str:
        """Name in the progress display and in messages."""
        name = f"{self.variant.name} pretrain seed {self.seed}"
        return name if self.part is None else f"{name} part {self.part + 1}"

    @property
    def reads_corpus(self) -> bool:
        """True where windows of the corpus move it: by training, or by the statistics of batch normalisation."""
        return self.method.trains or STATISTICS in self.content

    @property
    def passes(self) -> float:
        """Encoder passes of each window pair over all epochs, as long as it takes; 0 where nothing is trained."""
        epochs: int = self.content.get("epochs", 0)
        return epochs * self.method.encoder_passes

    @property
    def trained_name(self) -> str:
        """Name of the method, with its encoder where there are several: what the time of an update depends on."""
        return name_on(self.method.name, self.variant.encoder)


@dataclass(frozen=True)
class Cell:
    """One evaluation: an encoder (or none) on one dataset, label ratio and seed."""

    key: str
    variant: Variant
    pretraining: Pretraining | None
    evaluation: str  # one of `VERSIONS`
    table: str  # the evaluation whose table shows it; a baseline may be in several tables, 'validation' in none
    dataset: str  # the column's name: that of a dataset, and of its task where it is not `default`
    ratio: float  # share of the labels
    seed: int
    subset: int = 0  # number of its labelled subset among those of the seed
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what `key` is the digest of
    external_windows: Path | None = field(default=None, compare=False)
    """Folder of the column's recordings as windows of an external encoder (docs/METHODS.md); None for any other."""
    parts: tuple[Pretraining, ...] = ()
    """Pretrainings of the parts of a cross-fitting, `pretraining` first; () where one encoder is evaluated."""

    @property
    def pretrain_key(self) -> str:
        """Key of the pretraining; '' for none."""
        return self.pretraining.key if self.pretraining else ""

    @property
    def pretrainings(self) -> tuple[Pretraining, ...]:
        """All pretrainings that it evaluates."""
        return self.parts or ((self.pretraining,) if self.pretraining else ())

    @property
    def draw_seed(self) -> int:
        """Seed by which the labelled subset is drawn and learned on, equal for all rows; the first has the cell's
        seed."""
        return stream("labelled subset", self.seed, self.subset) if self.subset else self.seed

    @property
    def name(self) -> str:
        """Name in the progress display and in messages."""
        name = f"{self.variant.name} {self.evaluation} {self.dataset} {self.ratio:g} seed {self.seed}"
        return f"{name} subset {self.subset}" if self.subset else name


@dataclass(frozen=True)
class Grid:
    """All pretrainings and cells of a config."""

    variants: tuple[Variant, ...]
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]  # one for each place in a table: several may have one key, and share a row of the store

    def distinct_cells(self) -> tuple[Cell, ...]:
        """Return the first cell of each key."""
        distinct: dict[str, Cell] = {}
        for cell in self.cells:
            distinct.setdefault(cell.key, cell)
        return tuple(distinct.values())


@dataclass(frozen=True)
class Context:
    """Settings, folders and facts that all tasks of a run share; picklable."""

    config: Config
    folders: Mapping[str, Path]  # name of the corpus or of a column -> folder of its prepared data
    corpus: Mapping[str, Any]  # name and fingerprint of the corpus, and whether it is simulated
    store: Store
    device: torch.device
    precision: str
    threads: int | None = None  # CPU threads of a pretraining; None for those that its worker was started with
    code: str = ""  # digest of the code that the run was started with
    releases: Mapping[str, str] = field(default_factory=dict)  # of Python and packages there (`machine.releases`)
    events: Path | None = None  # folder for a folder of TensorBoard events per pretraining; None: none are written


def pretraining_of(
    config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mapping[str, str]
) -> Pretraining | None:
    """Return the pretraining of a variant at a seed, None without an encoder; config: that of its row.

    Under `paper` all seeds share one trained encoder, and under any protocol they share weights from elsewhere. The
    content is all that determines the weights; for an untrained encoder: its config and seed.
    """
    method = variant.method
    spec = config.corpus_spec()
    if method is None:
        return None
    if variant.external and not variant.external.is_twin:
        seed = 0  # no seed of a run moves its weights
    elif config.protocol == "paper" and method.trains:
        seed = config.pretrain.seed
    content: dict[str, Any] = {
        "method": method.name,
        "method_version": method.version,
        "encoder": identity(*config.encoder_of(method)),
        "seed": seed,
    }
    if sources := sources_of(method):
        content["file"] = sources
    corpora = config.data.corpora
    is_labelled = len(corpora) == 1 and config.data.source(*corpora).classes  # else it is pretrained on whole
    task = spec.content() if is_labelled else {"per_trial": spec.per_trial, "standardise": spec.standardise}
    if is_estimated(config, variant):
        content[STATISTICS] = {"task": task, "data": fingerprint, "mode": dict(mode)}
    if method.trains:
        content |= {
            "version": PRETRAIN_VERSION,
            "config": asdict(variant.config),
            "epochs": config.pretrain.epochs,
            "budget": config.pretrain.budget,
            "task": task,
            "data": fingerprint,
            "mode": dict(mode),
        }
        if config.pretrain.budget == "passes":
            content["pair_costs"] = list(config.pretrain.pair_costs(method))
        if method.needs_text:
            content["text"] = embedder_identity(config.pretrain.text_embedder)
    return Pretraining(digest(content), variant, seed, content)


def is_estimated(config: Config, variant: Variant) -> bool:
    """Tell whether an untrained encoder's batch normalisation is estimated on the corpus. config: that of its row."""
    has_weights = variant.external is not None and not variant.external.is_twin
    if config.protocol == "paper" or has_weights or variant.method is None or variant.method.trains:
        return False
    encoder: Any = config.encoder_of(variant.method)
    return has_statistics(*encoder)


def pretrainings_of(
    config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mapping[str, str], columns: Columns
) -> list[Pretraining]:
    """List the pretrainings of a variant at a seed: one for each part where columns are cross-fitted."""
    whole = pretraining_of(config, variant, seed, fingerprint, mode)
    if whole is None or not columns or not whole.reads_corpus:
        return [whole] if whole else []
    pretrainings = []
    for part in range(config.data.folds or 0):
        content = whole.content | {"part": [part, *dealt_by(columns, seed)]}
        pretrainings.append(replace(whole, key=digest(content), content=content, part=part))
    return pretrainings


def spec_of(config: Config, evaluation: str, column: str) -> TaskSpec:
    """Return an evaluation's task settings; a search is judged on all validation patients, and sees their labels."""
    spec = config.column_spec(column)
    return replace(spec, validation_labels="whole") if evaluation == VALIDATION else spec


def cell_content(config: Config, cell: Cell, fingerprint: str, mode: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of a cell key, without ratio and seed; without an encoder independent of the device."""
    content = {
        "version": version_of(cell.evaluation, config.protocol),
        "evaluation": cell.evaluation,
        "settings": settings_of(cell.evaluation, config),
        "data": fingerprint,
        "task": spec_of(config, cell.evaluation, cell.dataset).content(),
    }
    if cell.pretraining is None:
        return content | {"segmentation": config.data.segmentation.kind}
    content |= {"pretrain": [part.key for part in cell.parts] or cell.pretrain_key, "mode": dict(mode)}
    if cell.evaluation == FINETUNE:
        content["encoder_dropout"] = config.finetuning(cell.pretraining.method).encoder_dropout
    return content


def planned(config: Config, variant: Variant) -> Iterator[tuple[str, str, float]]:
    """Yield (table, evaluation, ratio) of a variant's cells for one dataset and seed."""
    if variant.role == "candidate":
        yield from ((VALIDATION, VALIDATION, ratio) for ratio in config.ratios)
        return
    unserved = unserved_by(variant, config.evaluate)
    row = variant.name.removesuffix(f"+{variant.encoder}") if variant.encoder else variant.name  # on the first encoder
    ratios = [min(config.ratios)] if variant.role == "sweep" else config.ratios
    if (
        "full-labels" in config.baselines
        and ALL_LABELS not in ratios
        and (variant.role == "baseline" or row == UNTRAINED)
    ):
        ratios = [*ratios, ALL_LABELS]
    for table in config.evaluate:
        evaluation = evaluation_of(row, table)
        if table in unserved or (row == FROZEN and is_frozen(table)):  # the latter is the untrained row of that table
            continue
        if table != RETRIEVAL or evaluation == RETRIEVAL:  # of rows with an encoder, which reads no label there
            of_row = [ALL_LABELS] if evaluation == SUPERVISED or table == RETRIEVAL else ratios
            yield from ((table, evaluation, ratio) for ratio in of_row)


def subsets_of(config: Config, table: str, ratio: float) -> int:
    """Count the labelled subsets per seed of a table's cells: several for a frozen encoder, one for all labels."""
    if table not in EVALUATION_FACTS or ratio >= ALL_LABELS:
        return 1
    return (config.subsets or SUBSETS[config.protocol]) if is_frozen(table) else config.finetuned_subsets


def unserved_by(variant: Variant, tables: Sequence[str]) -> dict[str, str]:
    """Return why a row of an encoder from outside has no cells, by evaluation."""
    if variant.external is None:
        return {}
    reasons = {}
    for table in tables:
        if table == COMBINED:
            reasons[table] = "it reads other windows than those whose beat features are measured"
        elif variant.external.frozen and not is_frozen(table):
            reasons[table] = f"it cannot be fine-tuned: {variant.external.frozen}"
    return reasons


def make_grid(
    config: Config,
    prepared: Mapping[str, Prepared],
    machine: Machine,
    variants: tuple[Variant, ...] | None = None,
    forms: Mapping[tuple[str, str], Prepared] | None = None,
) -> Grid:
    """Expand a config to its grid on prepared data; the fingerprint of a missing dataset is its name.

    prepared has all columns, if only as they are listed, where they may be cross-fitted.
    variants: rows in place of the config's. forms: (method, column) -> the column's recordings, cut to the windows of
    the method's external encoder. Raises ConfigError as `refuse_lone_windows`.
    """
    variants = variants or variants_of(config)
    mode = {"device": machine.device.type, "precision": machine.precision}  # what of the machine enters keys
    refuse_lone_windows(config, variants)
    names = [config.data.pretrain, *(column.name for column in config.data.columns())]
    columns = crossfitted(config, prepared)
    corpus, *fingerprints = [prepared[name].fingerprint if name in prepared else name for name in names]
    pretrainings: dict[str, Pretraining] = {}
    cells: list[Cell] = []
    for variant in variants:
        row = with_settings(config, variant.settings)
        for seed in config.seeds:
            encoders = pretrainings_of(row, variant, seed, corpus, mode, columns)
            if form := (forms or {}).get((variant.method_name, config.data.pretrain)):
                encoders = [replace(one, external_windows=form.folder) for one in encoders]
            encoders = [pretrainings.setdefault(one.key, one) for one in encoders]
            pretraining = encoders[0] if encoders else None
            for table, evaluation, ratio in planned(config, variant):
                for column, fingerprint in zip(names[1:], fingerprints, strict=True):
                    parts = tuple(encoders) if column in columns and len(encoders) > 1 else ()
                    cell = Cell("", variant, pretraining, evaluation, table, column, ratio, seed, parts=parts)
                    content = cell_content(row, cell, fingerprint, mode)
                    if column in columns:
                        content[DEALT_BY] = dealt_by(columns, seed)
                    if form := (forms or {}).get((variant.method_name, column)):
                        content["external"] = form.fingerprint
                        cell = replace(cell, external_windows=form.folder)
                    for subset in range(subsets_of(config, table, ratio)):
                        further = [subset] if subset else []  # the first subset of a seed is not named
                        key = digest([content, ratio, seed, *further])
                        cells.append(replace(cell, key=key, subset=subset, content=content))
    return Grid(variants, tuple(pretrainings.values()), tuple(cells))


def select(grid: Grid, starts: Sequence[str]) -> Grid:
    """Select the cells whose key, or pretraining's key, begins with one of `starts`."""
    begins = tuple(starts)
    chosen = []
    for cell in grid.cells:
        keys = [cell.key, *(pretraining.key for pretraining in cell.pretrainings)]
        if any(key.startswith(begins) for key in keys):
            chosen.append(cell)
    needed = {pretraining.key for cell in chosen for pretraining in cell.pretrainings}
    rows = {cell.variant.name for cell in chosen}
    return Grid(
        tuple(variant for variant in grid.variants if variant.name in rows),
        tuple(pretraining for pretraining in grid.pretrainings if pretraining.key in needed),
        tuple(chosen),
    )
