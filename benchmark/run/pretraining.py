"""One pretraining of the grid from start to encoder: build the method, train it, look at what it learned, store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.config.config import Config
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.tasks.pairs import source_facts
from benchmark.data.tasks.probe_windows import ProbeWindows, probe_windows
from benchmark.data.tasks.task import pretraining_source
from benchmark.machine.device import device_facts
from benchmark.machine.memory import begin_peak_memory, peak_memory_gib
from benchmark.machine.seeds import seed_torch
from benchmark.machine.versions import git_state, versions
from benchmark.results.names import ERROR
from benchmark.results.store import Store
from benchmark.run.grid import Grid, Pretraining, encoder_config
from benchmark.training.compiled import compile_encoders
from benchmark.training.health import EpochHealth, health_warnings, measure, read_health, sample_facts
from benchmark.training.illustrate import illustrate, write_illustration
from benchmark.training.pretrain import OnStep, pretrain
from benchmark.training.remedies import lower_rate
from benchmark.training.weights import CHECKPOINT, read_card, save_encoder
from methods.base import PretrainMethod
from methods.encoders.dilated import Encoder


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
    probe = probe_windows_of(job)
    if method.trains:
        found = train(job, method, probe, on_step)
    else:
        found = {"health": [vars(measure(0, method.exported(), probe))]}
    facts = {
        "method": method.name,
        "seed": job.task.seed,
        "parameters": sum(p.numel() for p in method.parameters() if p.requires_grad),
        "versions": versions(),
        "git": git_state(),
        "device": device_facts(job.device),
        "precision": job.precision,
        "compiled": job.compiled,
        "health_sample": sample_facts(probe),
    }
    save_encoder(job.folder, method.exported(), facts | found)
    for leftover in (CHECKPOINT, ERROR):
        (job.folder / leftover).unlink(missing_ok=True)


def new_method(job: PretrainingJob) -> PretrainMethod:
    """The method around a new encoder; the encoder's first weights depend on the seed, never on the method."""
    task = job.task
    seed_torch("encoder", task.seed)
    encoder = Encoder(encoder_config(job.config, task.variant.config))
    seed_torch("method", task.seed)
    return task.method(encoder, task.variant.config).to(job.device)


def train(job: PretrainingJob, method: PretrainMethod, probe: ProbeWindows, on_step: OnStep) -> dict[str, Any]:
    """Train a method on the corpus and leave its pictures beside where its weights will be; returns what it did."""
    config, knobs = job.config, job.task.variant.config
    source = pretraining_source(
        job.prepared[config.data.pretrain],
        config.task_spec(config.pretrain),
        job.device,
        config.pretrain.text_embedder if method.needs_text else None,
    )
    begin_peak_memory(job.device)
    if job.compiled:
        compile_encoders(method)
    epochs, seed = config.pretrain.epochs, job.task.seed
    history = pretrain(
        method,
        knobs,
        source,
        epochs=epochs,
        seed=seed,
        precision=job.precision,
        checkpoint=job.folder / CHECKPOINT,
        probe=probe,
        on_step=on_step,
    )
    write_illustration(job.folder, illustrate(method, knobs, source, epochs=epochs, seed=seed))
    spent = {
        "peak_memory_gib": peak_memory_gib(job.device),
        "encoder_passes": method.encoder_passes * history.updates * history.batch_size,
    }
    return vars(history) | spent | source_facts(source, knobs.pairing)


def probe_windows_of(job: PretrainingJob) -> ProbeWindows:
    """Windows that no pretraining of a config learns from and no cell is tested on."""
    config = job.config
    datasets = [job.prepared[name] for name in config.data.datasets]
    return probe_windows(datasets, config.data.pretrain, config.task_spec(config.finetune), job.device)


def health_of(grid: Grid, store: Store) -> dict[str, list[EpochHealth]]:
    """What the finished pretrainings of a grid learned, epoch by epoch."""
    cards = {name: read_card(store.pretrained / p.key) for name, p in named(grid).items()}
    health = {name: read_health(card) for name, card in cards.items() if card}
    return {name: epochs for name, epochs in health.items() if epochs}


def warnings_of(grid: Grid, health: Mapping[str, Sequence[EpochHealth]]) -> list[str]:
    """What went wrong with those pretrainings, one line each, with the setting that acts on it."""
    lines, pretrainings = [], named(grid)
    for name, epochs in health.items():
        task = pretrainings[name]
        lines += health_warnings(name, epochs, lower_rate(task.method.name, task.variant.config.recipe))
    return lines


def named(grid: Grid) -> dict[str, Pretraining]:
    """The pretrainings of a grid as a person would name them, 'pmq seed 42'."""
    return {f"{p.variant.name} seed {p.seed}": p for p in grid.pretrainings}
