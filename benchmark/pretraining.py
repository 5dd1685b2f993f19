"""One pretraining of the grid from start to encoder: build the method, train it, look at what it learned, store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.compiled import compile_encoders
from benchmark.config import Config
from benchmark.data.held_out import HeldOut, held_out_windows
from benchmark.data.pairs import source_facts
from benchmark.data.prepare import Prepared
from benchmark.data.task import pretraining_source
from benchmark.grid import Grid, Pretraining, encoder_config
from benchmark.health import EpochHealth, measure, read_health, sample_facts
from benchmark.illustrate import illustrate, write_illustration
from benchmark.pretrain import OnStep, pretrain
from benchmark.provenance import begin_peak_memory, device_facts, git_state, peak_memory_gib, seed_torch, versions
from benchmark.store import Store
from benchmark.weights import CHECKPOINT, read_card, save_encoder
from methods.base import PretrainMethod
from methods.parts.encoder import Encoder


@dataclass(frozen=True)
class PretrainingJob:
    """All that a pretraining needs."""

    task: Pretraining
    config: Config
    prepared: Mapping[str, Prepared]
    folder: Path
    """Where the encoder goes."""
    device: torch.device
    precision: str
    compiled: bool = False


def run_pretraining(job: PretrainingJob, on_step: OnStep) -> None:
    """Pretrain one encoder and put its weights in the store; an untrained one is only drawn."""
    method = new_method(job)
    held_out = held_out_of(job)
    if method.trains:
        found = train(job, method, held_out, on_step)
    else:
        found = {"health": [vars(measure(0, method.exported(), held_out))]}
    facts = {
        "method": method.name,
        "seed": job.task.seed,
        "parameters": sum(p.numel() for p in method.parameters() if p.requires_grad),
        "versions": versions(),
        "git": git_state(),
        "device": device_facts(job.device),
        "precision": job.precision,
        "compiled": job.compiled,
        "health_sample": sample_facts(held_out),
    }
    save_encoder(job.folder, method.exported(), facts | found)
    (job.folder / CHECKPOINT).unlink(missing_ok=True)


def new_method(job: PretrainingJob) -> PretrainMethod:
    """The method around a new encoder; the encoder's first weights depend on the seed, never on the method."""
    task = job.task
    seed_torch("encoder", task.seed)
    encoder = Encoder(encoder_config(job.config, task.variant.config))
    seed_torch("method", task.seed)
    return task.method(encoder, task.variant.config).to(job.device)


def train(job: PretrainingJob, method: PretrainMethod, held_out: HeldOut, on_step: OnStep) -> dict[str, Any]:
    """Train a method on the corpus and leave its pictures beside where its weights will be; returns what it did."""
    config, knobs = job.config, job.task.variant.config
    source = pretraining_source(
        job.prepared[config.data.pretrain],
        config.per_trial(config.pretrain),
        config.data.labels,
        config.protocol,
        job.device,
        config.pretrain.text_embedder if method.needs_text else None,
    )
    begin_peak_memory(job.device)
    if job.compiled:
        compile_encoders(method)
    recipe, epochs, seed = config.recipe(knobs), config.pretrain.epochs, job.task.seed
    history = pretrain(
        method,
        knobs,
        source,
        recipe,
        epochs=epochs,
        seed=seed,
        precision=job.precision,
        checkpoint=job.folder / CHECKPOINT,
        held_out=held_out,
        on_step=on_step,
    )
    write_illustration(job.folder, illustrate(method, knobs, source, recipe, epochs=epochs, seed=seed))
    spent = {
        "peak_memory_gib": peak_memory_gib(job.device),
        "encoder_passes": method.encoder_passes * history.updates * history.batch_size,
    }
    return vars(history) | spent | source_facts(source, knobs.pairing)


def held_out_of(job: PretrainingJob) -> HeldOut:
    """Windows that no pretraining of a config learns from and no cell is tested on."""
    config = job.config
    return held_out_windows(
        [job.prepared[name] for name in config.data.datasets],
        config.data.pretrain,
        config.per_trial(config.finetune),
        config.data.labels,
        config.protocol,
        job.device,
    )


def health_of(grid: Grid, store: Store) -> dict[str, list[EpochHealth]]:
    """What the finished pretrainings of a grid learned, epoch by epoch."""
    cards = {f"{p.variant.name} seed {p.seed}": read_card(store.pretrained / p.key) for p in grid.pretrainings}
    health = {name: read_health(card) for name, card in cards.items() if card}
    return {name: epochs for name, epochs in health.items() if epochs}
