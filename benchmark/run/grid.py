"""What there is to do: variants, pretrainings and cells of a config, with their content keys. Pure.

A variant is a row: a compared method, a change of one (ablation, sweep of a knob) or a gate. All of it is data.

    pretrain_key = hash(method config, encoder, recipe, epochs, data fingerprint, precision, seed, results versions)
    cell_key     = hash(pretrain_key, dataset fingerprint, task, ratio, seed, settings, results version)

Keys hold content, never paths or times. A results version is raised with any change that can move a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmark.config.config import Config
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.data.tasks.text import embedder_identity
from benchmark.results.keys import digest
from benchmark.training.classical.features import FEATURES_VERSION
from benchmark.training.finetune import FINETUNE_VERSION
from benchmark.training.linear import LINEAR_VERSION
from benchmark.training.pretrain import PRETRAIN_VERSION
from methods import get_method
from methods.base import MethodConfig, PretrainMethod
from methods.encoders import identity

Role = Literal["method", "ablation", "sweep", "gate"]
"""What a row is for: the comparison, Table 2, the figure over a knob's values, or to read the others against."""
UNTRAINED, FROZEN, FEATURES = "random", "random-frozen", "features"
"""Names of the gates that are rows."""
ALL_LABELS = 1.0


@dataclass(frozen=True)
class Variant:
    """One row of a table: a method with its config, or a gate."""

    name: str
    title: str
    method: type[PretrainMethod] | None
    """None: nothing is pretrained."""
    config: MethodConfig
    role: Role = "method"
    of: str = ""
    """The method that an ablation or sweep is a change of."""
    knob: str = ""
    value: Any = None
    """What a sweep sets, and to what."""

    def facts(self) -> dict[str, Any]:
        """What a report must know of it besides its title."""
        reads = self.method is not None and self.method.needs_text
        return {"role": self.role, "of": self.of, "knob": self.knob, "value": self.value, "reads_reports": reads}


@dataclass(frozen=True)
class Pretraining:
    """One encoder to be pretrained, shared by all cells that start from it."""

    key: str
    variant: Variant
    method: type[PretrainMethod]
    seed: int


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
    """Rows of the tables: the compared methods, the gates, ablations, then sweeps, each in the config's order."""
    return (*methods_of(config), *gates_of(config), *ablations_of(config), *sweeps_of(config))


def methods_of(config: Config) -> Iterator[Variant]:
    """The compared methods."""
    for name in config.compare:
        kind = config.method_class(name)
        yield Variant(kind.name, kind.title, kind, config.method_config(name))


def gates_of(config: Config) -> Iterator[Variant]:
    """The gates that are rows; the one of all labels is a further ratio of rows there are (`planned`)."""
    untrained, knobs = get_method(UNTRAINED), config.method_config(UNTRAINED)
    if "random" in config.gates and UNTRAINED not in config.compared():
        yield Variant(UNTRAINED, untrained.title, untrained, knobs, "gate")
    if "frozen" in config.gates:
        yield Variant(FROZEN, f"{untrained.title}, frozen", untrained, knobs, "gate", of=UNTRAINED)
    if "features" in config.gates:
        yield Variant(FEATURES, "Beat features, boosted", None, MethodConfig(), "gate")


def ablations_of(config: Config) -> Iterator[Variant]:
    """The ablations that are asked for."""
    asked = dict.fromkeys(found for name in config.ablate for found in config.ablations_of(name))
    for method, name in asked:
        kind = config.method_class(method)
        knobs = config.method_config(method, config.ablations[method][name])
        yield Variant(f"{method}:{name}", f"{kind.title} {name}", kind, knobs, "ablation", of=method)


def sweeps_of(config: Config) -> Iterator[Variant]:
    """One variant per value of a knob."""
    for method, knobs in config.sweeps.items():
        kind = config.method_class(method)
        for knob, values in knobs.items():
            for value in values:
                name, title = f"{kind.name}:{knob}={value}", f"{kind.title} {knob} {value}"
                swept = config.method_config(method, {knob: value})
                yield Variant(name, title, kind, swept, "sweep", kind.name, knob, value)


def pretrain_content(
    config: Config,
    method: type[PretrainMethod],
    knobs: MethodConfig,
    seed: int,
    fingerprint: str,
    mode: Mapping[str, str | int],
) -> Any:
    """All that decides the bits of a pretrained encoder; an untrained one depends on what it is and its seed alone."""
    content: dict[str, Any] = {
        "method": method.name,
        "method_version": method.version,
        "encoder": identity(config.encoder_class(), config.encoder_config()),
        "seed": seed,
    }
    if method.trains:
        content |= {
            "version": PRETRAIN_VERSION,
            "config": asdict(knobs),
            "recipe": asdict(config.recipe(knobs)),
            "epochs": config.pretrain.epochs,
            "per_trial": config.per_trial(config.pretrain),
            "data": fingerprint,
            "mode": dict(mode),
        }
        if DATASETS[config.data.pretrain].classes:  # else all of the corpus is pretrained on, whatever the labels
            content["task"] = [SPLIT_VERSION, config.data.labels, config.protocol]
        if method.needs_text:
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


def features_content(config: Config, fingerprint: str) -> Any:
    """All that decides a cell of the boosted features but for its ratio and seed; the device does not."""
    return {
        "version": FEATURES_VERSION,
        "evaluation": FEATURES,
        "settings": config.boosting.model_dump(),
        "segmentation": config.data.segmentation,
        "per_trial": config.per_trial(config.finetune),
        "data": fingerprint,
        "task": [SPLIT_VERSION, config.data.labels, config.protocol],
    }


def planned(config: Config, variant: Variant) -> Iterator[tuple[str, str, float]]:
    """(table, evaluation, ratio) of a variant's cells for one dataset and seed."""
    ratios = config.ratios if variant.role != "sweep" else [min(config.ratios)]
    gate_ratio = "full-labels" in config.gates and ALL_LABELS not in config.ratios
    for table in config.evaluate:
        if variant.name == FROZEN and table == "linear":
            continue  # there it is the row of the untrained encoder itself
        evaluation = {FROZEN: "linear", FEATURES: FEATURES}.get(variant.name, table)
        yield from ((table, evaluation, ratio) for ratio in ratios)
        if gate_ratio and (variant.role == "gate" or variant.name == UNTRAINED):
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
    return Pretraining(key, variant, variant.method, own)


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
