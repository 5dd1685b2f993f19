"""Run one pretraining of the grid: build the method, train it, measure its health, store the encoder."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.config.config import Config
from benchmark.data.corpus.pairs import PairSource, pairs_of, source_facts
from benchmark.data.corpus.sampling import epoch_shape
from benchmark.data.corpus.source import corpus_trials, pretraining_source
from benchmark.data.prepared.load import Prepared, opened
from benchmark.data.tasks.probe_windows import ProbeWindows, probe_windows
from benchmark.data.tasks.relabelled import opened_for
from benchmark.data.tasks.spec import TaskSpec
from benchmark.machine.device import device_facts
from benchmark.machine.memory import begin_peak_memory, peak_memory_gib
from benchmark.machine.seeds import seed_torch
from benchmark.machine.versions import git_state, versions
from benchmark.results.failures import End, Failure
from benchmark.results.health import measured_elsewhere
from benchmark.results.names import ERROR
from benchmark.results.store import Store
from benchmark.run.estimate import multiplications
from benchmark.run.grid import Grid, Pretraining
from benchmark.run.variants import source_of
from benchmark.training.checkpoint import Stem
from benchmark.training.compiled import compile_encoders
from benchmark.training.health import EpochHealth, health_warnings, measure, read_health, sample_facts
from benchmark.training.illustrate import illustrate, write_illustration
from benchmark.training.pretrain import OnEpoch, OnStep, pretrain
from benchmark.training.remedies import lower_rate
from benchmark.training.schedule import epochs_bought, stem_updates, updates_of
from benchmark.training.weights import CHECKPOINT, read_card, save_encoder
from methods.base import PretrainMethod
from methods.from_file import sources_of

STEMS = "stems"
"""Folder of a store with a checkpoint of each stem at each length; it may be deleted."""


@dataclass(frozen=True)
class PretrainingJob:
    """Input of `run_pretraining`; picklable."""

    task: Pretraining
    config: Config
    """That of the pretraining's row."""
    prepared: Mapping[str, Path]
    """Dataset -> folder of its prepared data."""
    folder: Path
    """Output folder of the encoder."""
    device: str
    precision: str
    compiled: bool = False


def run_to_end(job: PretrainingJob, on_step: OnStep, on_epoch: OnEpoch | None = None) -> End:
    """Run a pretraining; an error is its outcome."""
    started, failure = time.perf_counter(), None
    try:
        run_pretraining(job, on_step, on_epoch)
    except Exception as error:
        failure = Failure.of(error)
    return End(job.task.key, time.perf_counter() - started, failure)


def run_pretraining(job: PretrainingJob, on_step: OnStep, on_epoch: OnEpoch | None = None) -> None:
    """Pretrain one encoder and store its weights; an untrained one is stored as initialised.

    Raises ValueError if the method's file is not what the key says, FileNotFoundError if the prepared data are missing,
    TrainingStopped as `pretrain`.
    """
    refuse_edited(job.task)
    method = new_method(job)
    probe = probe_windows_of(job)
    if method.trains:
        found = train(job, method, probe, on_step, on_epoch)
    else:
        found = {"health": [vars(measure(0, method.exported(), probe))]}
    facts = {
        "method": method.name,
        "seed": job.task.seed,
        "key_content": job.task.content,
        "parameters": sum(p.numel() for p in method.parameters() if p.requires_grad),
        **encoder_costs(job.config),
        "versions": versions(),
        "git": git_state(),
        "device": device_facts(torch.device(job.device)),
        "precision": job.precision,
        "compiled": job.compiled,
        "health_sample": sample_facts(probe),
    }
    save_encoder(job.folder, method.exported(), facts | found)
    for leftover in (CHECKPOINT, ERROR):
        (job.folder / leftover).unlink(missing_ok=True)


def encoder_costs(config: Config) -> dict[str, int]:
    """Parameters of a config's encoder, and its multiplications for a window."""
    with torch.random.fork_rng(devices=[]):
        encoder = config.encoder_class()(config.encoder_config())
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    counted = round(multiplications(encoder, config.data.cut().samples))
    return {"encoder_parameters": parameters, "encoder_multiplications": counted}


def refuse_edited(task: Pretraining) -> None:
    """Raise ValueError if a method's file has been edited since the grid was made, and its key with it."""
    if sources_of(task.method) != task.content.get("file", {}):
        file = source_of(task.method)
        raise ValueError(f"{file} has been edited since this run began; the same command runs it as it is now")


def new_method(job: PretrainingJob) -> PretrainMethod:
    """The method around a new encoder, whose initial weights depend on the seed alone."""
    task = job.task
    seed_torch("encoder", task.seed)
    encoder = job.config.encoder_class()(job.config.encoder_config())
    seed_torch("method", task.seed)
    return task.method(encoder, task.variant.config).to(job.device)


def train(
    job: PretrainingJob, method: PretrainMethod, probe: ProbeWindows, on_step: OnStep, on_epoch: OnEpoch | None = None
) -> dict[str, Any]:
    """Train a method on the corpus and write its illustration; returns history, memory and source facts."""
    config, knobs, device = job.config, job.task.variant.config, torch.device(job.device)
    source = pretraining_source(
        opened(job.prepared[config.data.pretrain]),
        config.task_spec(config.pretrain),
        device,
        config.pretrain.text_embedder if method.needs_text else None,
    )
    begin_peak_memory(device)
    if job.compiled:
        compile_encoders(method)
    epochs, seed = epochs_of(job, source, config.pretrain.epochs), job.task.seed
    history = pretrain(
        method,
        knobs,
        source,
        epochs=epochs,
        seed=seed,
        precision=job.precision,
        checkpoint=job.folder / CHECKPOINT,
        stem=stem_of(job, source),
        probe=probe,
        on_step=on_step,
        on_epoch=on_epoch,
    )
    next_epoch = len(history.loss)
    illustration = write_illustration(job.folder, illustrate(method, knobs, source, epochs=next_epoch, seed=seed))
    spent = {
        "illustration_sha256": illustration,
        "peak_memory_gib": peak_memory_gib(device),
        "encoder_passes": method.encoder_passes * history.updates * history.batch_size,
        **({"scale": list(source.scale)} if source.scale else {}),
    }
    return vars(history) | spent | source_facts(source, knobs.pairing)


def epochs_of(job: PretrainingJob, source: PairSource, epochs: float) -> float:
    """Epochs of the job's method that a budget of `epochs` epochs buys (`epochs_bought`)."""
    config, knobs = job.config, job.task.variant.config
    spec = config.task_spec(config.pretrain)
    pairs = len(corpus_trials(opened(job.prepared[config.data.pretrain]), spec)) * pairs_of(spec.per_trial)
    shape = epoch_shape(source.patient_of_pair, knobs.batching, knobs.recipe.batch_size)
    return epochs_bought(config.pretrain.budget, epochs, shape, pairs, job.task.method.encoder_passes)


def stem_of(job: PretrainingJob, source: PairSource) -> Stem | None:
    """The stem that the job shares with those of other lengths, in `stems/` beside the pretrainings; None for none."""
    if not job.task.stem:
        return None
    knobs = job.task.variant.config
    shape = epoch_shape(source.patient_of_pair, knobs.batching, knobs.recipe.batch_size)
    totals = [updates_of(epochs_of(job, source, epochs), shape.updates) for epochs in job.task.lengths]
    return Stem(job.folder.parents[1] / STEMS / job.task.stem, frozenset(map(stem_updates, totals)))


def probe_windows_of(job: PretrainingJob) -> ProbeWindows:
    """Held-out windows for health: in no pretraining and no test set of the config."""
    config = job.config
    tasks: dict[str, list[tuple[Prepared, TaskSpec]]] = {}
    for column in config.data.columns():
        own = opened_for(job.prepared[column.name], column), config.task_spec(config.finetune, column.name)
        tasks.setdefault(column.dataset, []).append(own)
    return probe_windows(list(tasks.values()), config.data.pretrain, torch.device(job.device))


def health_of(grid: Grid, store: Store) -> dict[str, list[EpochHealth]]:
    """Name of each finished pretraining -> its health per epoch; without that of other windows than most."""
    read = {name: read_card(store.pretrained / p.key) for name, p in named(grid).items()}
    cards = {name: card for name, card in read.items() if card}
    elsewhere = measured_elsewhere(cards)
    health = {name: read_health(card) for name, card in cards.items() if name not in elsewhere}
    return {name: epochs for name, epochs in health.items() if epochs}


def warnings_of(grid: Grid, health: Mapping[str, Sequence[EpochHealth]]) -> list[str]:
    """Health warnings of the pretrainings, one line each, with the setting to change."""
    lines, pretrainings = [], named(grid)
    for name, epochs in health.items():
        task = pretrainings[name]
        lines += health_warnings(name, epochs, lower_rate(task.method.name, task.variant.config.recipe))
    return lines


def named(grid: Grid) -> dict[str, Pretraining]:
    """Display name ('pmq seed 42') -> pretraining of a grid."""
    return {f"{p.variant.name} seed {p.seed}": p for p in grid.pretrainings}
