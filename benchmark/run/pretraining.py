"""Run one pretraining of the grid: build the method, train it, measure its health, store the encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmark.config.config import Config
from benchmark.config.refuse import with_settings
from benchmark.data.corpus import Corpus, corpus_of, corpus_trials, epoch_shape, pairs_of
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.splits import TaskSpec
from benchmark.data.task import ProbeWindows, open_task_view, probe_windows
from benchmark.data.transport import is_transport
from benchmark.elsewhere import segmentation_of
from benchmark.machine.device import device_facts, git_state, seed_torch, versions
from benchmark.machine.process import begin_peak_memory, peak_memory_gib
from benchmark.results.files import is_read_only, write_atomic
from benchmark.results.names import CARD, ERROR, MEASURES, TRAINING_HEALTH, UNTRAINED_EPOCH
from benchmark.results.store import Store, card_bytes
from benchmark.run.estimate import fastest, multiplications
from benchmark.run.grid import Context, Grid, Pretraining
from benchmark.run.progress import ProgressFile
from benchmark.run.rows import source_of
from benchmark.training.checkpoint import CHECKPOINT, History, load_encoder, load_external, read_card, save_encoder
from benchmark.training.health import measure, sample_facts
from benchmark.training.pretrain import OnEpoch, epochs_bought, pretrain
from methods.base import PretrainMethod
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder
from methods.from_file import file_digest, sources_of

EMBEDDED, EMBEDDED_BATCHES = 64, 3
"""Windows of a batch, and batches, by which weights from elsewhere are timed."""


def run_pretraining(task: Pretraining, context: Context) -> None:
    """Pretrain one encoder and store its weights; an untrained one is stored as initialised.

    Raises ValueError if the method's file is not what the key says, FileNotFoundError if the prepared data are missing,
    TrainingStopped and Stopped as `pretrain`.
    """
    refuse_edited(task)
    config, device = with_settings(context.config, task.variant.settings), torch.device(context.device)
    folder = context.store.pretrained / task.key
    method = new_method(task, config, device)
    learned = (
        external_facts(method, device) if method.external_encoder else learned_facts(task, method, config, context)
    )
    facts = {
        "method": method.name,
        "method_sha256": file_digest(task.method),
        "seed": task.seed,
        "key_content": task.content,
        "parameters": sum(p.numel() for p in method.parameters() if p.requires_grad),
        **encoder_costs(method.exported(), config),
        "versions": versions(),
        "git": git_state(),
        "device": device_facts(device),
        "precision": context.precision,
    }
    save_encoder(folder, method.exported(), facts | learned)
    for leftover in (CHECKPOINT, ERROR):
        (folder / leftover).unlink(missing_ok=True)


def learned_facts(task: Pretraining, method: PretrainMethod, config: Config, context: Context) -> dict[str, Any]:
    """Train a method and measure its health; only measure it for a method without training."""
    columns = {column.name: open_task_view(context.folders[column.name], column) for column in config.data.columns()}
    probe = probe_windows_of(config, columns, torch.device(context.device))
    if method.trains:
        learned = train(task, method, probe, config, context)
    else:
        learned = {"health": [vars(measure(UNTRAINED_EPOCH, method.exported(), probe))]}
    return {"health_sample": sample_facts(probe)} | learned


def external_facts(method: PretrainMethod, device: torch.device) -> dict[str, Any]:
    """Costs of an external encoder: no training, and seconds to embed 1,000 recordings of 10 s."""
    encoder = method.exported()
    assert isinstance(encoder, PretrainedEncoder)
    windows = segmentation_of(encoder.signals).windows_of_typical()
    shape = EMBEDDED, encoder.signals.samples, encoder.config.leads
    x = torch.randn(shape, generator=torch.Generator()).to(device)  # (B, S, L)
    encoder = encoder.to(device).eval()
    with torch.no_grad():
        seconds = fastest(lambda: encoder.pooled(x), EMBEDDED_BATCHES, device) / EMBEDDED
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


def train(
    task: Pretraining, method: PretrainMethod, probe: ProbeWindows, config: Config, context: Context
) -> dict[str, Any]:
    """Train a method on the corpus; returns history, memory and facts of the corpus."""
    knobs, device, folder = task.variant.config, torch.device(context.device), context.store.pretrained / task.key
    prepared = open_prepared(context.folders[config.data.pretrain])
    corpus = corpus_of(
        prepared,
        config.task_spec(config.pretrain),
        device,
        config.pretrain.text_embedder if method.needs_text else None,
    )
    begin_peak_memory(device)
    epochs, seed = epochs_of(task, corpus, config, prepared), task.seed
    with ProgressFile(folder, task.name) as progress:
        history = pretrain(
            method,
            knobs,
            corpus,
            epochs=epochs,
            seed=seed,
            precision=context.precision,
            checkpoint=folder / CHECKPOINT,
            probe=probe,
            on_step=progress.write,
            on_epoch=events_of(task, context.events) if context.events else None,
        )
    spent = {
        "peak_memory_gib": peak_memory_gib(device),
        "encoder_passes": method.encoder_passes * history.updates * history.batch_size,
        **({"scale": list(corpus.trials.scale)} if corpus.trials.scale else {}),
    }
    return vars(history) | spent | corpus.facts(knobs.pairing)


def events_of(task: Pretraining, folder: Path) -> OnEpoch:
    """A function that writes loss and health of the last epoch as TensorBoard events of a pretraining."""
    from torch.utils.tensorboard import SummaryWriter  # here, because it needs the extra `tensorboard`

    name = f"{task.name} {task.key}".replace("/", "-").replace(" ", "_")
    writer = SummaryWriter(str(folder / name))

    def write(history: History) -> None:
        epoch = len(history.loss)
        writer.add_scalar("loss", history.loss[-1], epoch)
        for fact, value in history.health[-1].items():
            if fact != "epoch" and value is not None:
                writer.add_scalar(f"health/{fact}", value, epoch)
        writer.flush()

    return write


def epochs_of(task: Pretraining, corpus: Corpus, config: Config, prepared: Prepared) -> float:
    """Epochs of the method that a budget of `pretrain.epochs` epochs buys (`epochs_bought`)."""
    knobs, spec = task.variant.config, config.task_spec(config.pretrain)
    pairs = len(corpus_trials(prepared, spec)) * pairs_of(spec.per_trial)
    shape = epoch_shape(corpus.patient_of_pair, knobs.batching, knobs.recipe.batch_size)
    costs = config.pretrain.pair_costs(task.method)
    return epochs_bought(config.pretrain.budget, config.pretrain.epochs, shape, pairs, costs)


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
