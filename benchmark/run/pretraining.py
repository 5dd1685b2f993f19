"""One pretraining of the grid: its method, training, health, and the encoder that is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.config.config import Config, with_settings
from benchmark.data.column import Column, column_of
from benchmark.data.corpus import Corpus, corpus_of, epoch_shape, pairs_of, pretrained_recordings
from benchmark.data.joined import is_transport
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.task import ProbeWindows, probe_windows
from benchmark.external import ExternalWindows
from benchmark.machine import computer, stream
from benchmark.results.files import Damaged, write_atomic
from benchmark.results.names import ERROR, HEALTH_AGAIN, RECORD_FILE, WINDOWS_SHA256
from benchmark.results.store import Store, record_bytes
from benchmark.run.costs import encoder_costs
from benchmark.run.crossfit import SEEN, corpus_of_part, names_seen, opened_columns, opened_views, parts_of
from benchmark.run.grid import STATISTICS, Context, Grid, Pretraining
from benchmark.run.progress import progress_file
from benchmark.run.rows import source_of
from benchmark.training.checkpoint import CHECKPOINT, History, load_encoder, load_external, save_encoder
from benchmark.training.health import measure
from benchmark.training.pretrain import OnEpoch, batches_of, epochs_bought, estimate_statistics, pretrain
from methods import sources_of
from methods.base import PretrainMethod
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder

OF_TRAINING = ("positives", "beyond_pair")  # facts of health that come from training, not from windows


def run_pretraining(pretraining: Pretraining, context: Context) -> None:
    """Pretrain one encoder and store its weights; an untrained one is stored as initialised.

    Raises ValueError if the method's file is not what the key says, FileNotFoundError if the prepared data are missing,
    TrainingStopped and Stopped as `pretrain`.
    """
    if sources_of(pretraining.method) != pretraining.content.get("file", {}):
        raise ValueError(
            f"{source_of(pretraining.method)} has been edited since this run began; the same command runs it as it is"
        )
    config = with_settings(context.config, pretraining.variant.settings)
    device = context.device
    folder = context.store.pretrained / pretraining.key
    method = new_method(pretraining, config, device)
    learned: dict[str, Any] = {"health": []}
    is_twin = STATISTICS in pretraining.content and pretraining.variant.external is not None
    if is_twin:
        windows, learned = windows_of_twin(pretraining, config, context)
        estimate_statistics(method.exported(), windows)
    elif not pretraining.variant.external:
        probe = probe_windows_of(config, opened_views(config, context.folders), device)
        if method.trains:
            learned = train(pretraining, method, probe, config, context)
        else:
            seen: dict[str, Any] = {}
            if STATISTICS in pretraining.content:
                corpus, _, seen = corpus_for(pretraining, method, config, context)
                windows = batches_of(corpus.chosen, corpus.trials.take, device)
                estimate_statistics(method.exported(), windows)
            learned = {"health": [measure(0, method.exported(), probe)]} | seen
        learned["health_sample"] = {WINDOWS_SHA256: probe.source}
    facts = {
        "method": method.name,
        "seed": pretraining.seed,
        "key_content": pretraining.content,
        "parameters": sum(p.numel() for p in method.parameters() if p.requires_grad),
        **encoder_costs(method.exported(), config),
        **computer(device, context.precision),
    }
    save_encoder(folder, method.exported(), facts | learned)
    for leftover in (CHECKPOINT, ERROR):
        (folder / leftover).unlink(missing_ok=True)


def new_method(pretraining: Pretraining, config: Config, device: torch.device) -> PretrainMethod:
    """Build the method around a new encoder, whose weights depend on the seed alone; config: that of its row."""
    torch.manual_seed(stream("encoder", pretraining.seed))
    encoder_class, sizes = config.encoder_of(pretraining.method)
    stored = pretraining.content["encoder"]
    if issubclass(encoder_class, PretrainedEncoder):
        encoder: Encoder = load_external(encoder_class, stored)
    else:
        encoder = encoder_class(sizes)
    torch.manual_seed(stream("method", pretraining.seed))
    return pretraining.method(encoder, pretraining.variant.config).to(device)


def corpus_for(
    pretraining: Pretraining, method: PretrainMethod, config: Config, context: Context
) -> tuple[Corpus, int, dict[str, Any]]:
    """Return the corpus of an encoder, its pairs with recordings that have no report, and whom a part has seen."""
    column = column_of(open_prepared(context.folders[config.data.pretrain]), config.corpus_spec())
    recordings = None
    data, per_trial = column.data, column.spec.per_trial
    if pretraining.part is not None:
        columns = opened_columns(config, context.folders)
        recordings = corpus_of_part(data, columns, parts_of(columns, pretraining.seed)[pretraining.part])
    embedder = config.pretrain.text_embedder if method.needs_text else None
    corpus = corpus_of(column, context.device, embedder, recordings)
    trials = data.trials_of_each(per_trial)[pretrained_recordings(column, recordings)]
    pairs = int(trials.sum()) * pairs_of(per_trial)
    seen = {} if recordings is None else {SEEN: names_seen(data, corpus.recording.tolist())}
    return corpus, pairs, seen


def windows_of_twin(
    pretraining: Pretraining, config: Config, context: Context
) -> tuple[Iterator[Tensor], dict[str, Any]]:
    """Return the corpus in batches of an untrained twin's windows, and whom a part has seen."""
    assert pretraining.external_windows is not None, f"{pretraining.name}: its windows were not prepared"
    prepared = open_prepared(context.folders[config.data.pretrain])
    seen: dict[str, Any] = {"health": []}
    used = pretrained_recordings(column_of(prepared, config.corpus_spec()))
    if pretraining.part is not None:
        columns = opened_columns(config, context.folders)
        used = corpus_of_part(prepared, columns, parts_of(columns, pretraining.seed)[pretraining.part])
        seen[SEEN] = names_seen(prepared, used.tolist())
    table = prepared.recordings
    names = {(table.recording[number], table.patient[number]) for number in used}
    form = open_prepared(pretraining.external_windows)
    pairs = zip(form.recordings.recording, form.recordings.patient, strict=True)
    recordings = [number for number, pair in enumerate(pairs) if pair in names]
    windows = ExternalWindows(form, config.column_spec().leads)
    return batches_of(np.array(recordings, np.int64), windows.signals, context.device), seen


def train(
    pretraining: Pretraining, method: PretrainMethod, probe: ProbeWindows, config: Config, context: Context
) -> dict[str, Any]:
    """Train a method for the epochs that its budget buys; returns history, memory and facts of the corpus."""
    settings, device = pretraining.variant.config, context.device
    folder = context.store.pretrained / pretraining.key
    corpus, pairs, seen = corpus_for(pretraining, method, config, context)
    shape = epoch_shape(corpus.patient_of_pair, settings.batching, settings.recipe.batch_size)
    costs = config.pretrain.pair_costs(pretraining.method)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with progress_file(folder, pretraining.name) as write_progress:
        history = pretrain(
            method,
            settings,
            corpus,
            epochs=epochs_bought(config.pretrain.budget, config.pretrain.epochs, shape, pairs, costs),
            seed=pretraining.seed,
            precision=context.precision,
            checkpoint=folder / CHECKPOINT,
            probe=probe,
            on_step=write_progress,
            on_epoch=events_of(pretraining, context.events) if context.events else None,
        )
    spent = {
        "peak_memory_gib": torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else None,
        "encoder_passes": method.encoder_passes * history.updates * history.batch_size,
        **({"scale": list(corpus.trials.scale)} if corpus.trials.scale else {}),
        **seen,
    }
    return vars(history) | spent


def events_of(pretraining: Pretraining, folder: Path) -> OnEpoch:
    """Return a function that writes loss and health of the last epoch as TensorBoard events of a pretraining."""
    from torch.utils.tensorboard import SummaryWriter  # here, because it needs the extra `tensorboard`

    writer = SummaryWriter(str(folder / f"{pretraining.name} {pretraining.key}".replace("/", "-").replace(" ", "_")))

    def write(history: History) -> None:
        facts = {f"health/{name}": value for name, value in history.health[-1].items() if name != "epoch"}
        for name, value in {"loss": history.loss[-1], **facts}.items():
            if value is not None:
                writer.add_scalar(name, value, len(history.loss))
        writer.flush()

    return write


def probe_windows_of(config: Config, columns: Mapping[str, Prepared], device: torch.device) -> ProbeWindows:
    """Take held-out windows for health: in no pretraining and no test set of the config."""
    tasks: dict[str, list[Column]] = {}
    for column in config.data.columns():
        if not is_transport(column.dataset):
            spec = config.column_spec(column.name)
            tasks.setdefault(column.dataset, []).append(column_of(columns[column.name], spec))
    return probe_windows(list(tasks.values()), config.data.corpora, device)


def measure_again(probe: ProbeWindows, config: Config, grid: Grid, store: Store) -> None:
    """Measure the last epoch's health on this run's windows, where the stored health is of other windows."""
    for pretraining in grid.pretrainings:
        with suppress(Damaged, FileNotFoundError):  # the run has named it, and could not make it again
            record = store.record(pretraining.key)
            folder = store.pretrained / pretraining.key
            if not record or not record.get("health"):
                continue
            measured = record.get(HEALTH_AGAIN, {})
            if probe.source in (record["health_sample"][WINDOWS_SHA256], *measured):
                continue
            encoder_class, _ = with_settings(config, pretraining.variant.settings).encoder_of(pretraining.method)
            last = record["health"][-1]
            health = measure(last["epoch"], load_encoder(folder, encoder_class), probe)
            health |= {name: last[name] for name in OF_TRAINING}
            measured[probe.source] = [health]
            write_atomic(folder / RECORD_FILE, record_bytes(record | {HEALTH_AGAIN: measured}))
