"""What there is to do: pretrainings and cells of a config's rows, with their content keys. Pure.

    pretrain_key = hash(method config and recipe, encoder, epochs, data fingerprint, precision, seed, results versions)
    cell_key     = hash(pretrain_key, dataset fingerprint, task, ratio, seed, settings, results version)

Keys hold content, never paths or times. A results version is raised with any change that can move a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmark.config.config import Config
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.data.tasks.text import embedder_identity
from benchmark.results.keys import digest
from benchmark.results.names import FEATURES, FINETUNE, FROZEN, GATE, LINEAR, SWEEP, UNTRAINED
from benchmark.run.variants import Variant, variants_of
from benchmark.training.classical.features import FEATURES_VERSION
from benchmark.training.finetune import FINETUNE_VERSION
from benchmark.training.linear import LINEAR_VERSION
from benchmark.training.pretrain import PRETRAIN_VERSION
from methods.base import MethodConfig, PretrainMethod
from methods.encoders.dilated import EncoderConfig

ALL_LABELS = 1.0


@dataclass(frozen=True)
class Pretraining:
    """One encoder to be pretrained, shared by all cells that start from it."""

    key: str
    variant: Variant
    seed: int

    @property
    def method(self) -> type[PretrainMethod]:
        """Its variant's."""
        assert self.variant.method is not None, f"{self.variant.name}: nothing is pretrained"
        return self.variant.method


@dataclass(frozen=True)
class Cell:
    """One number of a table: an encoder (or none) on one dataset, label ratio and seed."""

    key: str
    variant: Variant
    pretraining: Pretraining | None
    evaluation: str
    """How the number comes about: 'finetune', 'linear', or 'features'."""
    table: str
    """The evaluation in whose table it stands; a gate may stand in several."""
    dataset: str
    ratio: float
    seed: int

    @property
    def pretrain_key(self) -> str:
        """Key of its encoder, '' where it has none."""
        return self.pretraining.key if self.pretraining else ""

    def describe(self) -> str:
        """As a person would name it."""
        return f"{self.variant.name} {self.evaluation} {self.dataset} {self.ratio:g} seed {self.seed}"


@dataclass(frozen=True)
class Grid:
    """All there is to do, in the order it is done."""

    variants: tuple[Variant, ...]
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]


def encoder_config(config: Config, method: MethodConfig) -> EncoderConfig:
    """The shared encoder, with the output dropout a method pretrains with."""
    size = config.encoder
    return EncoderConfig(hidden=size.hidden, depth=size.depth, output=size.output, dropout=method.encoder_dropout)


def pretrain_content(
    config: Config,
    method: type[PretrainMethod],
    knobs: MethodConfig,
    seed: int,
    fingerprint: str,
    mode: Mapping[str, str | int],
) -> Any:
    """All that decides the bits of a pretrained encoder; an untrained one depends on its size and seed alone."""
    spec = config.task_spec(config.pretrain)
    content: dict[str, Any] = {
        "method": method.name,
        "method_version": method.version,
        "encoder": asdict(replace(encoder_config(config, knobs), dropout=0.0)),
        "seed": seed,
    }
    if method.trains:
        content |= {
            "version": PRETRAIN_VERSION,
            "config": asdict(knobs),
            "epochs": config.pretrain.epochs,
            "per_trial": spec.per_trial,
            "data": fingerprint,
            "mode": dict(mode),
        }
        if DATASETS[config.data.pretrain].classes:  # else all of the corpus is pretrained on, whatever the labels
            content["task"] = [SPLIT_VERSION, *spec.rules()]
        if method.needs_text:
            content["text"] = embedder_identity(config.pretrain.text_embedder)
    return content


def cell_content(
    config: Config, pretrain_key: str, evaluation: str, fingerprint: str, mode: Mapping[str, str | int]
) -> Any:
    """All that decides a cell's scores but for its ratio and seed."""
    spec = config.task_spec(config.finetune)
    settings = config.finetune if evaluation == FINETUNE else config.linear
    return {
        "version": FINETUNE_VERSION if evaluation == FINETUNE else LINEAR_VERSION,
        "pretrain": pretrain_key,
        "evaluation": evaluation,
        "settings": settings.model_dump(exclude={"beats_per_trial", "windows_per_trial"}),
        "per_trial": spec.per_trial,
        "data": fingerprint,
        "task": [SPLIT_VERSION, *spec.rules()],
        "mode": {name: mode[name] for name in ("device", "precision")},
    }


def features_content(config: Config, fingerprint: str) -> Any:
    """All that decides a cell of the boosted features but for its ratio and seed; the device does not."""
    spec = config.task_spec(config.finetune)
    return {
        "version": FEATURES_VERSION,
        "evaluation": FEATURES,
        "settings": config.boosting.model_dump(),
        "segmentation": config.data.segmentation,
        "per_trial": spec.per_trial,
        "data": fingerprint,
        "task": [SPLIT_VERSION, *spec.rules()],
    }


def planned(config: Config, variant: Variant) -> Iterator[tuple[str, str, float]]:
    """(table, evaluation, ratio) of a variant's cells for one dataset and seed."""
    ratios = config.ratios if variant.role != SWEEP else [min(config.ratios)]
    gate_ratio = "full-labels" in config.gates and ALL_LABELS not in config.ratios
    for table in config.evaluate:
        if variant.name == FROZEN and table == LINEAR:
            continue  # there it is the row of the untrained encoder itself
        evaluation = {FROZEN: LINEAR, FEATURES: FEATURES}.get(variant.name, table)
        yield from ((table, evaluation, ratio) for ratio in ratios)
        if gate_ratio and (variant.role == GATE or variant.name == UNTRAINED):
            yield table, evaluation, ALL_LABELS


def pretraining_of(
    config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mapping[str, str | int]
) -> Pretraining | None:
    """The encoder that a variant's cells of a seed start from; under `paper` one for all seeds, if it is trained."""
    if variant.method is None:
        return None
    shared = config.protocol == "paper" and variant.method.trains
    own = config.pretrain.seed if shared else seed
    key = digest(pretrain_content(config, variant.method, variant.config, own, fingerprint, mode))
    return Pretraining(key, variant, own)


def expand(config: Config, *, corpus: str, fingerprints: Mapping[str, str], mode: Mapping[str, str | int]) -> Grid:
    """The grid of a config; `corpus` and `fingerprints` identify the data, `mode` what computes."""
    variants = variants_of(config)
    pretrainings: dict[str, Pretraining] = {}
    cells: list[Cell] = []
    for variant in variants:
        for seed in config.seeds:
            pretraining = pretraining_of(config, variant, seed, corpus, mode)
            if pretraining is not None:
                pretraining = pretrainings.setdefault(pretraining.key, pretraining)
            for table, evaluation, ratio in planned(config, variant):
                for dataset, fingerprint in fingerprints.items():
                    if pretraining is None:
                        content = features_content(config, fingerprint)
                    else:
                        content = cell_content(config, pretraining.key, evaluation, fingerprint, mode)
                    key = digest([content, ratio, seed])
                    cells.append(Cell(key, variant, pretraining, evaluation, table, dataset, ratio, seed))
    return Grid(variants, tuple(pretrainings.values()), tuple(cells))
