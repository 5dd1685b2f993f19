"""Enumerate the pretrainings and cells of a config, with their content keys. Pure functions.

    pretrain_key = hash(method config and recipe, encoder, epochs, data fingerprint, precision, seed, results versions)
    stem_key     = the same without the number of epochs, of the schedule `stable`
    cell_key     = hash(pretrain_key, dataset fingerprint, task, ratio, seed, settings, results version)

Keys hash content, never paths, times or numbers of threads. A results version is raised with any change that can alter
results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.data.corpus.text import embedder_identity
from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.results.keys import digest
from benchmark.results.names import (
    EVALUATION_FACTS,
    FEATURES,
    FROZEN,
    GATE,
    SNAPSHOT,
    SUPERVISED,
    SWEEP,
    TRIAL,
    UNTRAINED,
    VALIDATION,
    evaluation_of,
)
from benchmark.run.variants import Variant, refuse_lone_windows, variants_of
from benchmark.training.classical.features import FEATURES_VERSION
from benchmark.training.evaluations.registry import evaluation_named
from benchmark.training.pretrain import PRETRAIN_VERSION
from benchmark.training.schedule import DECAY_SHARE, WARMUP_EPOCHS
from methods.base import MethodConfig, PretrainMethod
from methods.encoders import identity
from methods.from_file import sources_of

Mode = Mapping[str, str | int]
Form = Callable[[dict[str, Any]], dict[str, Any]]
NONE: Mapping[tuple[str, str], Prepared] = {}
ALL_LABELS = 1.0
FULL_LABELS = "full-labels"
"""The gate of rows that are there anyway, with all labels."""
BROUGHT_SEED = 0
"""Of weights from elsewhere, which no seed of a run changes."""
GATE_OF_ROW = {UNTRAINED: "random", FROZEN: "frozen", FEATURES: "features", SUPERVISED: "supervised"}
"""Name of a gate's row -> the gate, as `--gates` names it."""


@dataclass(frozen=True)
class Pretraining:
    """One pretrained encoder, shared by all cells that start from it."""

    key: str
    variant: Variant
    seed: int
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What `key` is the digest of."""
    stem: str = ""
    """Key of the part that pretrainings of different length share; '' for none."""
    lengths: tuple[float, ...] = field(default=(), compare=False, repr=False)
    """Epochs of all pretrainings of the grid with this stem, ascending."""

    @property
    def method(self) -> type[PretrainMethod]:
        """The variant's method."""
        assert self.variant.method is not None, f"{self.variant.name}: nothing is pretrained"
        return self.variant.method


@dataclass(frozen=True)
class Cell:
    """One evaluation: an encoder (or none) on one dataset, label ratio and seed."""

    key: str
    variant: Variant
    pretraining: Pretraining | None
    evaluation: str
    """One of `EVALUATIONS`, 'features', 'supervised' or 'validation'."""
    table: str
    """The evaluation whose table shows it; a gate may be in several tables, 'validation' in none."""
    dataset: str
    """The column's name: that of a dataset, and of its task where it is not `default`."""
    ratio: float
    """Share of the labels, or labelled patients per class where the evaluation takes shots."""
    seed: int
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """`key` is the digest of [content, ratio, seed]."""
    simulated: tuple[str, ...] = ()
    """Entries of a row's provenance, of 'data' and 'corpus', whose data are marked as simulated on this machine."""
    own: Path | None = field(default=None, compare=False)
    """Of an encoder with signals of its own: folder of the column's recordings, cut to these."""
    gate: str = ""
    """The gate that it belongs to, as `--gates` names it; '' for a compared row at a compared ratio."""

    @property
    def pretrain_key(self) -> str:
        """Key of the pretraining; '' for none."""
        return self.pretraining.key if self.pretraining else ""

    def describe(self) -> str:
        """Name in progress display and messages."""
        return f"{self.variant.name} {self.evaluation} {self.dataset} {self.ratio:g} seed {self.seed}"


@dataclass(frozen=True)
class Grid:
    """All pretrainings and cells of a config, in order of execution."""

    variants: tuple[Variant, ...]
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]


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
        content |= {
            "version": PRETRAIN_VERSION,
            # The recipe in use is a separate entry, so that keys of earlier results stay valid.
            "config": asdict(replace(knobs, recipe=method.Config().recipe)),
            "recipe": asdict(knobs.recipe),
            "epochs": config.pretrain.epochs,
            "per_trial": spec.per_trial,
            "data": fingerprint,
            "mode": dict(mode),
        }
        if knobs.recipe.schedule == "stable":
            content["stable"] = {"warmup_epochs": WARMUP_EPOCHS, "decay_share": DECAY_SHARE}
        if config.pretrain.budget != "epochs":  # absent by default, so that keys of earlier results stay valid
            content["budget"] = {"equal": config.pretrain.budget}
            content["budget"] |= {"passes": method.encoder_passes} if config.pretrain.budget == "passes" else {}
        if mode.get("ranks") and config.pretrain.batch_norm != "synchronised":
            content["batch_norm"] = config.pretrain.batch_norm
        if config.data.source(config.data.pretrain).classes:  # an unlabelled corpus is pretrained on whole
            content["task"] = [SPLIT_VERSION, *spec.rules()]
        if config.data.standardise == "dataset":  # else the data tell
            content["standardise"] = "dataset"
        if method.needs_text:
            content["text"] = embedder_identity(config.pretrain.text_embedder)
    return content


def cell_content(
    config: Config, pretraining: Pretraining, evaluation: str, fingerprint: str, mode: Mode, column: str = ""
) -> dict[str, Any]:
    """Content of a cell key, without ratio and seed."""
    spec = config.task_spec(config.finetune, column)
    how = evaluation_named(evaluation)
    return {
        "version": how.version,
        "pretrain": pretraining.key,
        "evaluation": evaluation,
        "settings": dict(how.settings(config)),
        "per_trial": spec.per_trial,
        "data": fingerprint,
        "task": [SPLIT_VERSION, *spec.rules()],
        "mode": {name: mode[name] for name in ("device", "precision")},
        **how.further(config, pretraining.method),
    }


def features_content(config: Config, fingerprint: str, column: str = "") -> dict[str, Any]:
    """Content of the key of a boosted-features cell, without ratio and seed; independent of the device."""
    spec = config.task_spec(config.finetune, column)
    return {
        "version": FEATURES_VERSION,
        "evaluation": FEATURES,
        "settings": config.boosting.model_dump(),
        "segmentation": config.data.segmentation,
        "per_trial": spec.per_trial,
        "data": fingerprint,
        "task": [SPLIT_VERSION, *spec.rules()],
    }


def planned(config: Config, variant: Variant) -> Iterator[tuple[str, str, float, str]]:
    """(table, evaluation, ratio, gate) of a variant's cells for one dataset and seed."""
    unserved = unserved_by(variant, config.evaluate)
    if variant.role == TRIAL:
        yield from ((VALIDATION, VALIDATION, ratio, "") for ratio in config.ratios)
        return
    own = GATE_OF_ROW[variant.on_any] if variant.role == GATE else ""
    gate_ratio = FULL_LABELS in config.gates and ALL_LABELS not in config.ratios
    for table in config.evaluate:
        facts = EVALUATION_FACTS[table]
        if variant.on_any == FROZEN and facts.frozen:
            continue  # same as the untrained row of that table
        if table in unserved:
            continue
        evaluation = evaluation_of(variant.on_any, table)
        if facts.shots:
            if evaluation == table:  # the other gates are judged on shares of the labels
                yield from ((table, evaluation, shots, own) for shots in amounts_of(variant, config.few_shot.shots))
            continue
        if variant.on_any == SUPERVISED:
            yield table, evaluation, ALL_LABELS, own
            continue
        yield from ((table, evaluation, ratio, own) for ratio in amounts_of(variant, config.ratios))
        if gate_ratio and (variant.role == GATE or variant.on_any == UNTRAINED):
            yield table, evaluation, ALL_LABELS, FULL_LABELS


def unserved_by(variant: Variant, tables: Sequence[str]) -> dict[str, str]:
    """Evaluation -> why a row has no cells there: fine-tuning of an encoder whose weights get no gradients."""
    kind = variant.method.brings if variant.method else None
    learned = [table for table in tables if not EVALUATION_FACTS[table].frozen]
    if kind is None or not learned or not (why := kind.why_frozen()):
        return {}
    return dict.fromkeys(learned, f"it cannot be fine-tuned: {why}")


def amounts_of(variant: Variant, amounts: Sequence[float]) -> list[float]:
    """The label ratios or shots of a row: the smallest of a sweep or a snapshot, else all."""
    return [float(min(amounts))] if variant.role in (SWEEP, SNAPSHOT) else [float(amount) for amount in amounts]


def pretraining_of(
    config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mode, form: Form
) -> Pretraining | None:
    """The pretraining of a variant at a seed, None for features; under `paper` a trained one is shared by all seeds.

    Weights from elsewhere are shared by all seeds under any protocol.
    """
    if variant.method is None:
        return None
    shared = config.protocol == "paper" and variant.method.trains
    own = config.pretrain.seed if shared else BROUGHT_SEED if variant.method.brings else seed
    content = form(pretrain_content(config, variant.method, variant.config, own, fingerprint, mode))
    return Pretraining(digest(content), variant, own, content, stem_key(content))


def stem_key(content: Mapping[str, Any]) -> str:
    """Key of a pretraining's stem, from the pretraining's content; '' under another schedule than `stable`."""
    if "stable" not in content:
        return ""
    return digest({name: value for name, value in content.items() if name not in ("epochs", "budget")} | {"stem": True})


def with_lengths(pretrainings: Mapping[str, Pretraining]) -> dict[str, Pretraining]:
    """The pretrainings, those with a stem with the lengths that it serves."""
    lengths: dict[str, set[float]] = {}
    for own in pretrainings.values():
        if own.stem:
            lengths.setdefault(own.stem, set()).add(own.content["epochs"])
    return {key: replace(own, lengths=tuple(sorted(lengths.get(own.stem, ())))) for key, own in pretrainings.items()}


def expand(
    config: Config,
    *,
    corpus: str,
    fingerprints: Mapping[str, str],
    mode: Mode,
    form: Form = lambda content: content,
    simulated: Collection[str] = (),
    variants: tuple[Variant, ...] | None = None,
    forms: Mapping[tuple[str, str], Prepared] = NONE,
) -> Grid:
    """The grid of a config; `corpus`, `fingerprints`: hashes of the data; `mode`: `Machine.mode()`.

    form: content of a pretraining -> the form of it that the store's key was made from. simulated: names of the
    datasets that are marked as simulated. variants: rows in place of those of the config. forms: (method, column) ->
    its recordings, where the method's encoder has signals of its own. Raises ConfigError for a row that pairs windows
    which a recording does not have (`refuse_lone_windows`).
    """
    variants = variants_of(config) if variants is None else variants
    refuse_lone_windows(config, variants)
    of_row = {variant.name: with_settings(config, variant.settings) for variant in variants}
    made = {
        (variant.name, seed): pretraining_of(of_row[variant.name], variant, seed, corpus, mode, form)
        for variant in variants
        for seed in config.seeds
    }
    first: dict[str, Pretraining] = {}
    for own in made.values():
        if own is not None:
            first.setdefault(own.key, own)
    pretrainings = with_lengths(first)
    cells: list[Cell] = []
    for variant in variants:
        for seed in config.seeds:
            found = made[variant.name, seed]
            pretraining = pretrainings[found.key] if found else None
            for table, evaluation, ratio, gate in planned(config, variant):
                for dataset, fingerprint in fingerprints.items():
                    if pretraining is None:
                        content = features_content(config, fingerprint, dataset)
                    else:
                        row = of_row[variant.name]
                        content = cell_content(row, pretraining, evaluation, fingerprint, mode, dataset)
                    cut = forms.get((variant.method_name, dataset))
                    content |= {"own": cut.fingerprint} if cut else {}
                    key = digest([content, ratio, seed])
                    sources = {"data": dataset, "corpus": config.data.pretrain}
                    marked = tuple(entry for entry, name in sources.items() if name in simulated)
                    place = (evaluation, table, dataset, ratio, seed)
                    folder = cut.folder if cut else None
                    cells.append(Cell(key, variant, pretraining, *place, content, marked, folder, gate))
    return Grid(variants, tuple(pretrainings.values()), tuple(cells))
