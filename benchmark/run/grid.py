"""The grid of a config: its pretrainings, its cells, and what the keys of their results are digests of.

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

from benchmark.config.config import Config, with_settings
from benchmark.config.errors import ConfigError
from benchmark.data.prepare import Prepared
from benchmark.data.report_text import embedder_identity
from benchmark.data.splits import TaskSpec
from benchmark.machine.device import Machine, stream
from benchmark.results.names import (
    CLASSICAL_TITLES,
    EVALUATION_FACTS,
    FROZEN,
    GATE,
    SUPERVISED,
    SWEEP,
    TRIAL,
    UNTRAINED,
    VALIDATION,
    evaluation_of,
    is_frozen,
)
from benchmark.results.schema import digest
from benchmark.results.store import Store, cell_key
from benchmark.run.rows import Variant, refuse_lone_windows, variants_of
from benchmark.training.evaluations import CLASSICAL, EVALUATIONS
from benchmark.training.pretrain import PRETRAIN_VERSION
from methods.base import MethodConfig, PretrainMethod
from methods.encoders import identity
from methods.from_file import sources_of


@dataclass(frozen=True)
class Pretraining:
    """One pretrained encoder, shared by all cells that start from it."""

    key: str
    variant: Variant
    seed: int
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What `key` is the digest of."""

    @property
    def method(self) -> type[PretrainMethod]:
        """The variant's method."""
        assert self.variant.method is not None, f"{self.variant.name}: nothing is pretrained"
        return self.variant.method

    @property
    def name(self) -> str:
        """Name in the progress display and in messages."""
        return f"{self.variant.name} pretrain seed {self.seed}"


@dataclass(frozen=True)
class Cell:
    """One evaluation: an encoder (or none) on one dataset, label ratio and seed."""

    key: str
    variant: Variant
    pretraining: Pretraining | None
    evaluation: str
    """One of `EVALUATIONS` or `CLASSICAL`, 'supervised' or 'validation'."""
    table: str
    """The evaluation whose table shows it; a gate may be in several tables, 'validation' in none."""
    dataset: str
    """The column's name: that of a dataset, and of its task where it is not `default`."""
    ratio: float
    """Share of the labels."""
    seed: int
    subset: int = 0
    """Number of its labelled subset among those of the seed."""
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What `cell_key` makes `key` of, with ratio, seed and subset."""
    external_windows: Path | None = field(default=None, compare=False)
    """Folder of the column's recordings as windows of an external encoder (docs/METHODS.md); None for any other."""
    gate: str = ""
    """Gate to which the cell belongs, as `--gates` names it; '' for a compared row at a compared ratio."""

    @property
    def pretrain_key(self) -> str:
        """Key of the pretraining; '' for none."""
        return self.pretraining.key if self.pretraining else ""

    @property
    def draw_seed(self) -> int:
        """What the labelled subset is drawn, and learned on, with; the same for all rows, the seed for the first."""
        return stream("labelled subset", self.seed, self.subset) if self.subset else self.seed

    @property
    def name(self) -> str:
        """Name in the progress display and in messages."""
        name = f"{self.variant.name} {self.evaluation} {self.dataset} {self.ratio:g} seed {self.seed}"
        return f"{name} subset {self.subset}" if self.subset else name


@dataclass(frozen=True)
class Grid:
    """All pretrainings and cells of a config, in order of execution."""

    variants: tuple[Variant, ...]
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Context:
    """What all tasks of a run share; picklable."""

    config: Config
    folders: Mapping[str, Path]
    """Name of the corpus or of a column -> folder of its prepared data."""
    corpus: Mapping[str, Any]
    """Name and fingerprint of the corpus, and whether it is simulated."""
    store: Store
    device: str
    precision: str
    threads: int | None = None
    """CPU threads of a pretraining; None for those that its worker was started with."""
    code: str = ""
    """Digest of the code that the run was started with."""
    events: Path | None = None
    """Folder for a folder of TensorBoard events per pretraining; None: none are written."""


Mode = Mapping[str, str]
"""`Machine.mode()`."""
Forms = Mapping[tuple[str, str], Prepared]
"""(method, column) -> the column's recordings, cut to the windows of the method's external encoder."""
NONE: Forms = {}


def pretrain_content(
    config: Config,
    method: type[PretrainMethod],
    knobs: MethodConfig,
    seed: int,
    fingerprint: str,
    mode: Mode,
) -> dict[str, Any]:
    """Content of a pretraining key: all that determines the weights. For an untrained encoder: its config and seed."""
    spec = config.task_spec(config.pretrain)
    content: dict[str, Any] = {
        "method": method.name,
        "method_version": method.version,
        "encoder": identity(*config.encoder_of(method)),
        "seed": seed,
    }
    if sources := sources_of(method):
        content["file"] = sources
    if method.trains:
        corpora = config.data.corpora
        labelled = len(corpora) == 1 and bool(config.data.source(*corpora).classes)  # else it is pretrained on whole
        content |= {
            "version": PRETRAIN_VERSION,
            "config": asdict(knobs),
            "epochs": config.pretrain.epochs,
            "budget": config.pretrain.budget,
            "task": spec.content() if labelled else {"per_trial": spec.per_trial, "standardise": spec.standardise},
            "data": fingerprint,
            "mode": dict(mode),
        }
        if config.pretrain.budget == "passes":
            content["pair_costs"] = list(config.pretrain.pair_costs(method))
        if method.needs_text:
            content["text"] = embedder_identity(config.pretrain.text_embedder)
    return content


def spec_of(config: Config, evaluation: str, column: str = "") -> TaskSpec:
    """The task settings of an evaluation; a search is judged on all validation patients, and sees their labels."""
    spec = config.task_spec(config.finetune, column)
    return replace(spec, validation_labels="whole", folds=0) if evaluation == VALIDATION else spec


def cell_content(
    config: Config, pretraining: Pretraining, evaluation: str, fingerprint: str, mode: Mode, column: str = ""
) -> dict[str, Any]:
    """Content of a cell key, without ratio and seed."""
    spec = spec_of(config, evaluation, column)
    how = EVALUATIONS[evaluation]
    return {
        "version": how.version,
        "pretrain": pretraining.key,
        "evaluation": evaluation,
        "settings": dict(how.settings(config)),
        "data": fingerprint,
        "task": spec.content(),
        "mode": dict(mode),
        **how.further(config, pretraining.method),
    }


def classical_content(config: Config, evaluation: str, fingerprint: str, column: str = "") -> dict[str, Any]:
    """Content of the key of a cell without an encoder, without ratio and seed; independent of the device."""
    spec = config.task_spec(config.finetune, column)
    how = CLASSICAL[evaluation]
    return {
        "version": how.version,
        "evaluation": evaluation,
        "settings": dict(how.settings(config)),
        "segmentation": config.data.segmentation.kind,
        "data": fingerprint,
        "task": spec.content(),
    }


ALL_LABELS = 1.0
FULL_LABELS = "full-labels"
"""The gate that repeats the compared rows and gates with all labels (ratio 1.0)."""
SUBSETS = {"paper": 1, "strict": 5}
"""Labelled subsets per seed by default: a probe costs next to nothing beside the pretraining that it judges."""
EXTERNAL_SEED = 0
"""Pretraining seed of an external encoder, whose weights depend on no seed of a run."""
GATE_OF_ROW = {UNTRAINED: "random", FROZEN: "frozen"} | {name: name for name in (*CLASSICAL_TITLES, SUPERVISED)}
"""Name of a gate's row -> the gate, as `--gates` names it."""


def planned(config: Config, variant: Variant) -> Iterator[tuple[str, str, float, str]]:
    """(table, evaluation, ratio, gate) of a variant's cells for one dataset and seed."""
    if variant.role == TRIAL:
        yield from ((VALIDATION, VALIDATION, ratio, "") for ratio in config.ratios)
        return
    row = variant.on_any
    gate = GATE_OF_ROW[row] if variant.role == GATE else ""
    has_full_labels = FULL_LABELS in config.gates and ALL_LABELS not in config.ratios
    for table in config.evaluate:
        if table in unserved_by(variant, config.evaluate):
            continue
        if row == FROZEN and is_frozen(table):
            continue  # same as the untrained row of that table
        evaluation = evaluation_of(row, table)
        if row == SUPERVISED:
            yield table, evaluation, ALL_LABELS, gate
            continue
        ratios = [min(config.ratios)] if variant.role == SWEEP else config.ratios
        yield from ((table, evaluation, ratio, gate) for ratio in ratios)
        if has_full_labels and (variant.role == GATE or row == UNTRAINED):
            yield table, evaluation, ALL_LABELS, FULL_LABELS


def subsets_of(config: Config, table: str, ratio: float) -> int:
    """Labelled subsets per seed of the cells of a table: by default several of a frozen encoder; one of all labels."""
    if table not in EVALUATION_FACTS or ratio >= ALL_LABELS:
        return 1
    return (config.subsets or SUBSETS[config.protocol]) if is_frozen(table) else config.finetuned_subsets


def unserved_by(variant: Variant, tables: Sequence[str]) -> dict[str, str]:
    """Evaluation -> why a row has no cells there: fine-tuning of an encoder whose weights get no gradients."""
    kind = variant.method.external_encoder if variant.method else None
    learned = [table for table in tables if not is_frozen(table)]
    if kind is None or not learned or not (why := kind.frozen):
        return {}
    return dict.fromkeys(learned, f"it cannot be fine-tuned: {why}")


def pretraining_of(config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mode) -> Pretraining | None:
    """The pretraining of a variant at a seed, None without an encoder; under `paper` all seeds share a trained one.

    Weights from elsewhere are shared by all seeds under any protocol.
    """
    if variant.method is None:
        return None
    if variant.method.external_encoder:
        seed = EXTERNAL_SEED
    elif config.protocol == "paper" and variant.method.trains:
        seed = config.pretrain.seed
    content = pretrain_content(config, variant.method, variant.config, seed, fingerprint, mode)
    return Pretraining(digest(content), variant, seed, content)


def expand(
    config: Config,
    *,
    corpus: str,
    fingerprints: Mapping[str, str],
    mode: Mode,
    variants: tuple[Variant, ...] | None = None,
    forms: Forms = NONE,
) -> Grid:
    """The grid of a config; corpus, fingerprints: hashes of the data; variants: rows in place of the config's.

    Raises ConfigError for a row that pairs windows which a recording does not have (`refuse_lone_windows`).
    """
    variants = variants_of(config) if variants is None else variants
    refuse_lone_windows(config, variants)
    pretrainings: dict[str, Pretraining] = {}
    cells: list[Cell] = []
    for variant in variants:
        row = with_settings(config, variant.settings)
        for seed in config.seeds:
            pretraining = pretraining_of(row, variant, seed, corpus, mode)
            if pretraining:
                pretraining = pretrainings.setdefault(pretraining.key, pretraining)
            for table, evaluation, ratio, gate in planned(config, variant):
                for dataset, fingerprint in fingerprints.items():
                    if pretraining is None:
                        content = classical_content(config, evaluation, fingerprint, dataset)
                    else:
                        content = cell_content(row, pretraining, evaluation, fingerprint, mode, dataset)
                    form = forms.get((variant.method_name, dataset))
                    if form:
                        content["own"] = form.fingerprint
                    for subset in range(subsets_of(config, table, ratio)):
                        key = cell_key(content, ratio, seed, subset)
                        cells.append(
                            Cell(
                                key,
                                variant,
                                pretraining,
                                evaluation,
                                table,
                                dataset,
                                ratio,
                                seed,
                                subset,
                                content,
                                form.folder if form else None,
                                gate,
                            )
                        )
    return Grid(variants, tuple(pretrainings.values()), tuple(cells))


def make_grid(
    config: Config,
    prepared: Mapping[str, Prepared],
    machine: Machine,
    variants: tuple[Variant, ...] | None = None,
    forms: Forms = NONE,
) -> Grid:
    """The grid of a config on prepared data; variants and forms as in `expand`."""
    fingerprints = {column.name: prepared[column.name].fingerprint for column in config.data.columns()}
    corpus = prepared[config.data.pretrain].fingerprint
    mode = machine.mode()
    return expand(config, corpus=corpus, fingerprints=fingerprints, mode=mode, variants=variants, forms=forms)


def select(grid: Grid, starts: Sequence[str]) -> Grid:
    """The cells whose key, or whose pretraining's key, begins with one of `starts`, and the pretrainings they need.

    Raises ConfigError where a start fits no cell.
    """
    for start in starts:
        if not any(key.startswith(start) for cell in grid.cells for key in (cell.key, cell.pretrain_key)):
            raise ConfigError(f"--only {start}: no cell or pretraining of this grid has a key that begins so")
    chosen = tuple(starts)
    cells = [cell for cell in grid.cells if cell.key.startswith(chosen) or cell.pretrain_key.startswith(chosen)]
    keys, rows = {cell.pretrain_key for cell in cells}, {cell.variant.name for cell in cells}
    return Grid(
        tuple(variant for variant in grid.variants if variant.name in rows),
        tuple(pretraining for pretraining in grid.pretrainings if pretraining.key in keys),
        tuple(cells),
    )
