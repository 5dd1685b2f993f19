"""What the keys of pretrainings and cells are digests of. Pure functions.

    pretrain_key = hash(method config and recipe, encoder, epochs, data fingerprint, precision, seed, results versions)
    stem_key     = the same without the number of epochs, of the schedule `stable`
    cell_key     = hash(pretrain_key, dataset fingerprint, task, ratio, seed, settings, results version)

Keys hash content, never paths, times or numbers of threads. A results version is raised with any change that can alter
results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from benchmark.config.config import Config
from benchmark.data.corpus.text import embedder_identity
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.results.keys import digest
from benchmark.results.names import FEATURES
from benchmark.run.grid.cells import Pretraining
from benchmark.training.classical.features import FEATURES_VERSION
from benchmark.training.evaluations.registry import evaluation_named
from benchmark.training.pretrain import PRETRAIN_VERSION
from benchmark.training.schedule import DECAY_SHARE, WARMUP_EPOCHS
from methods.base import MethodConfig, PretrainMethod
from methods.encoders import identity
from methods.external.from_file import sources_of

Mode = Mapping[str, str | int]
"""`Machine.mode()`."""


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
            if config.pretrain.budget == "seconds":
                content["budget"]["pair_milliseconds"] = config.pretrain.pair_costs(method)
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


def stem_key(content: Mapping[str, Any]) -> str:
    """Key of a pretraining's stem, from the pretraining's content; '' under another schedule than `stable`."""
    if "stable" not in content:
        return ""
    return digest({name: value for name, value in content.items() if name not in ("epochs", "budget")} | {"stem": True})
