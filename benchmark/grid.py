"""What there is to do: variants, pretrainings and cells of a config, with their content keys. Pure.

    pretrain_key = hash(method config, encoder, recipe, epochs, data fingerprint, precision, seed, results versions)
    cell_key     = hash(pretrain_key, dataset fingerprint, task, ratio, seed, settings, results version)

Keys hold content, never paths or times. A results version is raised with any change that can move a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmark.config import Config
from benchmark.data.registry import DATASETS
from benchmark.data.split import SPLIT_VERSION
from benchmark.data.text import embedder_identity
from benchmark.finetune import FINETUNE_VERSION
from benchmark.linear import LINEAR_VERSION
from benchmark.pretrain import PRETRAIN_VERSION
from benchmark.store import digest
from methods import get_method
from methods.base import MethodConfig, PretrainMethod
from methods.parts.encoder import EncoderConfig


@dataclass(frozen=True)
class Variant:
    """One row of the table: a method with its config."""

    name: str
    title: str
    method: type[PretrainMethod]
    config: MethodConfig


@dataclass(frozen=True)
class Pretraining:
    """One encoder to be pretrained, shared by all cells that start from it."""

    key: str
    variant: Variant
    seed: int


@dataclass(frozen=True)
class Cell:
    """One number of the table: a pretrained encoder on one dataset, label ratio and seed."""

    key: str
    variant: Variant
    pretraining: Pretraining
    evaluation: str
    dataset: str
    ratio: float
    seed: int

    def describe(self) -> str:
        """As a person would name it."""
        return f"{self.variant.name} {self.evaluation} {self.dataset} {self.ratio:g} seed {self.seed}"


@dataclass(frozen=True)
class Grid:
    """All there is to do, in the order it is done."""

    variants: tuple[Variant, ...]
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]


def variants_of(config: Config) -> tuple[Variant, ...]:
    """Rows of the table, in order."""
    methods = {name: get_method(name) for name in config.compare}
    return tuple(Variant(kind.name, kind.title, kind, config.method_config(name)) for name, kind in methods.items())


def encoder_config(config: Config, method: MethodConfig) -> EncoderConfig:
    """The shared encoder, with the output dropout a method pretrains with."""
    size = config.encoder
    return EncoderConfig(hidden=size.hidden, depth=size.depth, output=size.output, dropout=method.encoder_dropout)


def pretrain_content(
    config: Config, variant: Variant, seed: int, fingerprint: str, mode: Mapping[str, str | int]
) -> Any:
    """All that decides the bits of a pretrained encoder; an untrained one depends on its size and seed alone."""
    content: dict[str, Any] = {
        "method": variant.method.name,
        "method_version": variant.method.version,
        "encoder": asdict(replace(encoder_config(config, variant.config), dropout=0.0)),
        "seed": seed,
    }
    if variant.method.trains:
        content |= {
            "version": PRETRAIN_VERSION,
            "config": asdict(variant.config),
            "recipe": asdict(config.recipe(variant.config)),
            "epochs": config.pretrain.epochs,
            "per_trial": config.per_trial(config.pretrain),
            "data": fingerprint,
            "mode": dict(mode),
        }
        if DATASETS[config.data.pretrain].classes:  # else all of the corpus is pretrained on, whatever the labels
            content["task"] = [SPLIT_VERSION, config.data.labels, config.protocol]
        if variant.method.needs_text:
            content["text"] = embedder_identity(config.pretrain.text_embedder)
    return content


def cell_content(
    config: Config, pretrain_key: str, evaluation: str, fingerprint: str, mode: Mapping[str, str | int]
) -> Any:
    """All that decides a cell's scores but for its ratio and seed."""
    settings = config.finetune if evaluation == "finetune" else config.linear
    return {
        "version": FINETUNE_VERSION if evaluation == "finetune" else LINEAR_VERSION,
        "pretrain": pretrain_key,
        "evaluation": evaluation,
        "settings": settings.model_dump(exclude={"beats_per_trial", "windows_per_trial"}),
        "per_trial": config.per_trial(config.finetune),
        "data": fingerprint,
        "task": [SPLIT_VERSION, config.data.labels, config.protocol],
        "mode": {name: mode[name] for name in ("device", "precision")},
    }


def expand(config: Config, *, corpus: str, fingerprints: Mapping[str, str], mode: Mapping[str, str | int]) -> Grid:
    """The grid of a config; `corpus` and `fingerprints` identify the data, `mode` what computes."""
    variants = variants_of(config)
    pretrainings: dict[str, Pretraining] = {}
    cells: list[Cell] = []
    for variant in variants:
        for seed in config.seeds:
            shared = config.protocol == "paper" and variant.method.trains
            pretrain_seed = config.pretrain.seed if shared else seed
            key = digest(pretrain_content(config, variant, pretrain_seed, corpus, mode))
            pretraining = pretrainings.setdefault(key, Pretraining(key, variant, pretrain_seed))
            for evaluation in config.evaluate:
                for dataset, fingerprint in fingerprints.items():
                    content = cell_content(config, key, evaluation, fingerprint, mode)
                    cells += [
                        Cell(digest([content, ratio, seed]), variant, pretraining, evaluation, dataset, ratio, seed)
                        for ratio in config.ratios
                    ]
    return Grid(variants, tuple(pretrainings.values()), tuple(cells))
