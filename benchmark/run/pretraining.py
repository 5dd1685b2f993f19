"""Run one pretraining of the grid: build the method, train it, measure its health, store the encoder."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.config.config import Config
from benchmark.config.refuse import with_settings
from benchmark.data.batches import PairSource, pairs_of, source_facts
from benchmark.data.corpus import corpus_trials, pretraining_source, shape_of
from benchmark.data.prepare import Prepared, opened
from benchmark.data.splits import TaskSpec
from benchmark.data.task import ProbeWindows, open_task_view, probe_windows
from benchmark.data.transport import is_transport
from benchmark.elsewhere import segmentation_of
from benchmark.machine.device import device_facts, git_state, seed_torch, versions
from benchmark.machine.processes import begin_peak_memory, peak_memory_gib
from benchmark.results.files import is_read_only, write_atomic
from benchmark.results.names import CARD, ERROR, MEASURES, TRAINING_HEALTH, UNTRAINED_EPOCH
from benchmark.results.store import End, Failure, Store, card_bytes
from benchmark.run.estimate import multiplications, seconds_per_window
from benchmark.run.grid import Grid, Pretraining, task_name
from benchmark.run.rows import source_of
from benchmark.training.checkpoint import CHECKPOINT, History, load_encoder, load_external, read_card, save_encoder
from benchmark.training.health import measure, sample_facts
from benchmark.training.pretrain import (
    OnEpoch,
    OnStep,
    epochs_bought,
    pretrain,
)
from methods.base import PretrainMethod
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder
from methods.from_file import file_digest, sources_of


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
    events: Path | None = None
    """Folder for a folder of TensorBoard events; None: none are written."""


def run_to_end(job: PretrainingJob, on_step: OnStep) -> End:
    """Run a pretraining; an error is its outcome."""
    started, failure = time.perf_counter(), None
    try:
        run_pretraining(job, on_step)
    except Exception as error:
        failure = Failure.of(error)
    return End(job.task.key, time.perf_counter() - started, failure)


def run_pretraining(job: PretrainingJob, on_step: OnStep) -> None:
    """Pretrain one encoder and store its weights; an untrained one is stored as initialised.

    Raises ValueError if the method's file is not what the key says, FileNotFoundError if the prepared data are missing,
    TrainingStopped as `pretrain`.
    """
    refuse_edited(job.task)
    method = new_method(job.task, job.config, torch.device(job.device))
    found = external_facts(job, method) if method.external_encoder else learned_facts(job, method, on_step)
    facts = {
        "method": method.name,
        "method_sha256": file_digest(job.task.method),
        "seed": job.task.seed,
        "key_content": job.task.content,
        "parameters": sum(p.numel() for p in method.parameters() if p.requires_grad),
        **encoder_costs(method.exported(), job.config),
        "versions": versions(),
        "git": git_state(),
        "device": device_facts(torch.device(job.device)),
        "precision": job.precision,
    }
    save_encoder(job.folder, method.exported(), facts | found)
    for leftover in (CHECKPOINT, ERROR):
        (job.folder / leftover).unlink(missing_ok=True)


def learned_facts(job: PretrainingJob, method: PretrainMethod, on_step: OnStep) -> dict[str, Any]:
    """Train a method and measure its health; only measure it for a method without training."""
    columns = {column.name: open_task_view(job.prepared[column.name], column) for column in job.config.data.columns()}
    probe = probe_windows_of(job.config, columns, torch.device(job.device))
    if method.trains:
        found = train(job, method, probe, on_step)
    else:
        found = {"health": [vars(measure(UNTRAINED_EPOCH, method.exported(), probe))]}
    return {"health_sample": sample_facts(probe)} | found


def external_facts(job: PretrainingJob, method: PretrainMethod) -> dict[str, Any]:
    """Costs of an external encoder: no training, and seconds to embed 1,000 recordings of 10 s."""
    encoder = method.exported()
    assert isinstance(encoder, PretrainedEncoder)
    windows = segmentation_of(encoder.signals).windows_of_typical()
    seconds = seconds_per_window(encoder, torch.device(job.device))
    return {"health": [], "embedding": {"windows": windows, "seconds": 1000 * windows * seconds}}


def encoder_costs(encoder: Encoder, config: Config) -> dict[str, int]:
    """Parameters of a new encoder, and its multiplications for a window; of weights from elsewhere where known."""
    own = isinstance(encoder, PretrainedEncoder)
    if not own:
        with torch.random.fork_rng(devices=[]):
            encoder = config.encoder_class()(config.encoder_config())
    samples = encoder.signals.samples if isinstance(encoder, PretrainedEncoder) else config.data.cut().samples
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    counted = round(multiplications(encoder, samples))
    found = {"encoder_parameters": parameters, "encoder_multiplications": counted}
    return {name: value for name, value in found.items() if value or not own}


def refuse_edited(task: Pretraining) -> None:
    """Raise ValueError if a method's file has been edited since the grid was made, and its key with it."""
    if sources_of(task.method) != task.content.get("file", {}):
        file = source_of(task.method)
        raise ValueError(f"{file} has been edited since this run began; the same command runs it as it is now")


def new_method(task: Pretraining, config: Config, device: torch.device) -> PretrainMethod:
    """The method around a new encoder, whose initial weights depend on the seed alone; config: that of its row."""
    seed_torch("encoder", task.seed)
    encoder: Encoder
    if task.method.external_encoder is not None:
        encoder = load_external(task.method.external_encoder, task.content["encoder"])
    else:
        encoder = config.encoder_class()(config.encoder_config())
    seed_torch("method", task.seed)
    return task.method(encoder, task.variant.config).to(device)


def train(job: PretrainingJob, method: PretrainMethod, probe: ProbeWindows, on_step: OnStep) -> dict[str, Any]:
    """Train a method on the corpus; returns history, memory and source facts."""
    config, knobs, device = job.config, job.task.variant.config, torch.device(job.device)
    source = pretraining_source(
        opened(job.prepared[config.data.pretrain]),
        config.task_spec(config.pretrain),
        device,
        config.pretrain.text_embedder if method.needs_text else None,
        config.pretrain.streaming,
    )
    begin_peak_memory(device)
    epochs, seed = epochs_of(job, source), job.task.seed
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
        on_epoch=events_of(job.task, job.events) if job.events else None,
    )
    spent = {
        "peak_memory_gib": peak_memory_gib(device),
        "encoder_passes": method.encoder_passes * history.updates * history.batch_size,
        **({"scale": list(source.scale)} if source.scale else {}),
        **({} if isinstance(source.signal, torch.Tensor) else {"streamed": True}),
    }
    return vars(history) | spent | source_facts(source, knobs.pairing)


def events_of(task: Pretraining, folder: Path) -> OnEpoch:
    """A function that writes loss and health of the last epoch as TensorBoard events of a pretraining."""
    from torch.utils.tensorboard import SummaryWriter  # here, because it needs the extra `tensorboard`

    name = f"{task_name(task)} {task.key}".replace("/", "-").replace(" ", "_")
    writer = SummaryWriter(str(folder / name))

    def write(history: History) -> None:
        epoch = len(history.loss)
        writer.add_scalar("loss", history.loss[-1], epoch)
        for fact, value in history.health[-1].items():
            if fact != "epoch" and value is not None:
                writer.add_scalar(f"health/{fact}", value, epoch)
        writer.flush()

    return write


def epochs_of(job: PretrainingJob, source: PairSource) -> float:
    """Epochs of the job's method that the budget buys (`epochs_bought`)."""
    config, knobs = job.config, job.task.variant.config
    spec = config.task_spec(config.pretrain)
    pairs = len(corpus_trials(opened(job.prepared[config.data.pretrain]), spec)) * pairs_of(spec.per_trial)
    shape = shape_of(source, knobs.batching, knobs.recipe.batch_size)
    budget = config.pretrain
    return epochs_bought(budget.budget, budget.epochs, shape, pairs, budget.pair_costs(job.task.method))


def probe_windows_of(config: Config, columns: Mapping[str, Prepared], device: torch.device) -> ProbeWindows:
    """Held-out windows for health: in no pretraining and no test set of the config."""
    tasks: dict[str, list[tuple[Prepared, TaskSpec]]] = {}
    for column in [own for own in config.data.columns() if not is_transport(own.dataset)]:
        own = columns[column.name], config.task_spec(config.finetune, column.name)
        tasks.setdefault(column.dataset, []).append(own)
    return probe_windows(list(tasks.values()), config.data.corpora, device)


def measure_again(probe: ProbeWindows, config: Config, grid: Grid, store: Store) -> None:
    """Measure encoders whose stored health is that of another run's windows, if the store can be written to.

    Runs on different data share encoders, and health belongs to the windows of a run. Of a trained one the first epoch,
    drawn again from its seed, and the last are measured. What its training measured stays in the card as
    `TRAINING_HEALTH`, and a run on those windows takes it back.
    """
    sample = sample_facts(probe)
    for task in grid.pretrainings:
        folder = store.pretrained / task.key
        card = read_card(folder) or {}
        if not card.get("health") or card.get("health_sample") == sample:
            continue
        stored = {name: card[name] for name in ("health", "health_sample") if name in card}
        first = card.get(TRAINING_HEALTH, stored)
        health = first
        if first.get("health_sample") != sample:
            measured = health_again(task, folder, config, probe, first["health"])
            health = {"health": measured, "health_sample": sample}
        if task.method.trains:
            health = health | {TRAINING_HEALTH: first}
        try:
            write_atomic(folder / CARD, card_bytes(card | health))
        except OSError as error:
            if not is_read_only(error):
                raise


def health_again(
    task: Pretraining, folder: Path, config: Config, probe: ProbeWindows, epochs: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Stored health of each epoch with the features of other windows; None between the first epoch and the last."""
    own = with_settings(config, task.variant.settings)
    kind, _ = own.encoder_of(task.method)
    encoders = {epochs[-1]["epoch"]: load_encoder(folder, kind)}
    if task.method.trains:
        with torch.random.fork_rng(devices=[]):
            encoders[UNTRAINED_EPOCH] = new_method(task, own, torch.device("cpu")).exported()
    measured = {epoch: vars(measure(epoch, encoder, probe)) for epoch, encoder in encoders.items()}
    features = (*MEASURES, "retrieval_chance")
    return [{**epoch, **{name: measured.get(epoch["epoch"], {}).get(name) for name in features}} for epoch in epochs]
