"""The training loop of all methods: optimiser, precision, when a checkpoint is written.

`method.begin(updates)`, then per update `loss = method(batch); backward; step; schedule; method.after_step()`. Torch is
seeded from (seed, epoch, step) before each step and the order of an epoch from (seed, epoch), so a run resumed from any
step is bit-identical. A checkpoint is written after each epoch, within one every `CHECKPOINT_SECONDS`, and at a stop.
Under the schedule `stable` another one is kept where the decay of each planned length begins (`Stem`): a pretraining of
another length continues from there, to the same bits as one from the first update.

Several ranks (`benchmark.machine.ranks`) run the loop in step: all draw the same batch and each takes its share of it,
masks and dropout are seeded from (seed, epoch, step, rank), losses and gradients are averaged. The first rank alone
writes, measures and reports.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmark.config.sections.pretrain import BatchNorm
from benchmark.data.corpus.ahead import batches_ahead
from benchmark.data.corpus.pairs import PairSource
from benchmark.data.corpus.sampling import epoch_batches, epoch_shape
from benchmark.data.tasks.probe_windows import ProbeWindows
from benchmark.machine.energy import Meter, open_meter
from benchmark.machine.ranks import highest
from benchmark.machine.seeds import seed_torch, stream
from benchmark.machine.stop import postponed, stopped
from benchmark.training.batch_norm import over_ranks
from benchmark.training.checkpoint import Epoch, History, Stem, resume, save_checkpoint
from benchmark.training.health import count_positives, measure
from benchmark.training.remedies import lower_rate, smaller_batch, uneven_batch
from benchmark.training.schedule import learning_rate, stem_updates, updates_of
from methods.base import MethodConfig, PretrainMethod, Recipe
from methods.parts.gather import average, rank_and_ranks

PRETRAIN_VERSION = 2
CHECKPOINT_SECONDS = 120.0
"""Within an epoch. A killed run loses at most this."""
GO_ON, SAVE, STOP = range(3)
"""After an update, in rising order: what any rank wants, all do."""

OnStep = Callable[[int, int, str], None]


class TrainingStopped(RuntimeError):
    """Training cannot continue; the message names the place and the remedy."""


OnEpoch = Callable[[History], None]
"""Hears of the history after each epoch."""


@dataclass(frozen=True)
class Training:
    """What the updates of a pretraining share."""

    method: PretrainMethod
    config: MethodConfig
    source: PairSource
    optimiser: torch.optim.Optimizer
    history: History
    epochs: int
    """The last one may end early."""
    per_epoch: int
    """Updates of a whole epoch."""
    seed: int
    precision: str
    checkpoint: Path
    stem: Stem | None
    on_step: OnStep | None
    share: tuple[int, int]
    """Rank and number of ranks."""
    batch_norm: BatchNorm

    @property
    def leads(self) -> bool:
        """Whether this rank is the one that writes."""
        return self.share[0] == 0


def make_optimiser(method: PretrainMethod, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW (decoupled weight decay) or Adam (L2 term) over the parameters that require a gradient."""
    kinds: dict[str, type[torch.optim.AdamW | torch.optim.Adam]] = {
        "adamw": torch.optim.AdamW,
        "adam": torch.optim.Adam,
    }
    learning = [p for p in method.parameters() if p.requires_grad]
    return kinds[recipe.optimiser](learning, lr=recipe.lr, weight_decay=recipe.weight_decay)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """bf16 autocast if precision is 'bf16', else disabled; losses, FFT and normalisation cast back to float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def pretrain(
    method: PretrainMethod,
    config: MethodConfig,
    source: PairSource,
    *,
    epochs: float,
    seed: int,
    precision: str,
    checkpoint: Path,
    stem: Stem | None = None,
    batch_norm: BatchNorm = "synchronised",
    probe: ProbeWindows | None = None,
    on_step: OnStep | None = None,
    on_epoch: OnEpoch | None = None,
) -> History:
    """Train a method in place on a corpus, resuming from `checkpoint` if it exists, else from the stem.

    `epochs`: rounded to whole updates. `stem`: of the schedule `stable`, under which a method knows no total.
    `batch_norm`: of several ranks (`over_ranks`). `probe`: held-out windows for health, measured before the first epoch
    and after each. Raises TrainingStopped on a non-finite loss, if GPU memory runs out or if the ranks cannot share a
    batch evenly, Stopped, with a checkpoint, where the process is asked to stop.
    """
    device = source.signal.device
    trial, patient = source.trial_of_pair, source.patient_of_pair  # (N,), (N,)
    shape = epoch_shape(patient, config.batching, config.recipe.batch_size)
    n, total, share = shape.updates, updates_of(epochs, shape.updates), rank_and_ranks()
    if problem := uneven_batch(method.name, shape.batch_size, share[1]):
        raise TrainingStopped(problem)
    optimiser = make_optimiser(method, config.recipe)
    history = History([], 0.0, n * shape.batch_size, total, shape.batch_size)
    last = math.ceil(total / n)
    fixed = last, n, seed, precision, checkpoint, stem, on_step
    run = Training(method, config, source, optimiser, history, *fixed, share, batch_norm)
    shared = stem.longest(stem_updates(total)) if run.leads and stem and not checkpoint.is_file() else None
    epoch = resume(shared or checkpoint, method, optimiser, history)
    history.threads = list(dict.fromkeys([*history.threads, torch.get_num_threads()]))
    method.begin(0 if config.recipe.schedule == "stable" else total)
    method.train()
    if not history.health:
        history.health.append(vars(measure(0, method.exported(), probe)))
    for number in range(len(history.loss), last):
        batches = epoch_batches(trial, patient, shape, batching=config.batching, seed=seed, epoch=number)  # (n, B)
        epoch = epoch or Epoch(torch.zeros(n), torch.zeros(n, 3))
        epoch = replace(epoch, losses=epoch.losses.to(device), positives=epoch.positives.to(device))
        own = min(n, total - number * n)
        train_epoch(run, epoch, number, batches[:own].to(device))
        history.loss.append(float(epoch.losses[:own].mean()))
        positives = epoch.positives[:own].mean(0)  # (3,)
        history.health.append(vars(measure(number + 1, method.exported(), probe, positives)))
        if run.leads:
            save_checkpoint(checkpoint, method, optimiser, history, None)
        if on_epoch:
            on_epoch(history)
        epoch = None
    return history


def train_epoch(run: Training, epoch: Epoch, number: int, batches: torch.Tensor) -> None:
    """Do the updates that are left of epoch `number`; `batches`: (n, B) pairs. Raises as `pretrain`."""
    method, recipe, history, n = run.method, run.config.recipe, run.history, len(batches)
    started, meter = time.perf_counter(), meter_of(run)

    def seed_of(step: int) -> int:
        return stream("pretrain", run.seed, number, step)

    ahead = batches_ahead(run.source, batches, run.config.pairing, seed_of, epoch.step, share=run.share)
    with over_ranks(method, run.batch_norm), postponed() as asked_to_stop, ahead as batch_at:
        for step in range(epoch.step, n):
            done = number * run.per_epoch + step + 1
            torch.manual_seed(seed_of(step))
            batch = batch_at(step)
            if run.share[1] > 1:
                seed_torch("pretrain", run.seed, number, step, run.share[0])
            rate = learning_rate(recipe, done - 1, history.updates, run.per_epoch)
            epoch.positives[step] = count_positives(method.positives(batch.with_all_ids()), batches.device)
            epoch.losses[step] = train_step(method, run.optimiser, batch, rate, run.precision)
            epoch.step = step + 1
            if meter:
                meter.look()
            if run.on_step:
                text = f"loss {history.loss[-1]:.4f}" if history.loss else ""
                run.on_step(done, history.updates, f"epoch {number + 1}/{run.epochs} {text}".strip())
            due = SAVE if time.perf_counter() - started >= CHECKPOINT_SECONDS else GO_ON
            due = highest(STOP if asked_to_stop() else due)
            files = [run.checkpoint] if due else []
            files += [run.stem.file(done)] if run.stem and done in run.stem.at else []
            if files:
                refuse_non_finite(epoch.losses[: step + 1], method.name, recipe, number)
                spend(history, started, meter)
                for file in files if run.leads else []:
                    save_checkpoint(file, method, run.optimiser, history, epoch)
                if due == STOP:
                    raise stopped(f"the pretraining of {method.name} is saved at update {done} of {history.updates}")
                started, meter = time.perf_counter(), meter_of(run)
    refuse_non_finite(epoch.losses[:n], method.name, recipe, number)
    spend(history, started, meter)


def train_step(
    method: PretrainMethod, optimiser: torch.optim.Optimizer, batch: Any, rate: float, precision: str
) -> torch.Tensor:
    """One update; returns the loss (0-d), of all ranks, without synchronising. Raises TrainingStopped if GPU memory
    runs out."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    try:
        with autocast(batch.x1.device, precision):
            loss: torch.Tensor = method(batch)  # ()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        loss = loss.detach()
        average([*(p.grad for p in method.parameters() if p.grad is not None), loss])
        optimiser.step()
        method.after_step()
    except torch.OutOfMemoryError:
        raise TrainingStopped(
            f"{method.name}: the GPU is full at batch size {len(batch.x1)}; use a smaller one "
            f"({smaller_batch(method.name, len(batch.x1))}), a smaller queue or --precision bf16"
        ) from None
    return loss


def meter_of(run: Training) -> Meter | None:
    """A meter of the device; none of several ranks, whose devices may be of several machines."""
    return open_meter(run.source.signal.device) if run.share[1] == 1 else None


def spend(history: History, started: float, meter: Meter | None) -> None:
    """Add the seconds since `started`, and the joules of the meter; these are None if a part of them is unknown."""
    history.seconds += time.perf_counter() - started
    history.joules = None if meter is None or history.joules is None else history.joules + meter.total()


def refuse_non_finite(losses: torch.Tensor, name: str, recipe: Recipe, epoch: int) -> None:
    """Raise TrainingStopped where one of an epoch's losses (n,) is not finite. Synchronises the device once."""
    bad = torch.nonzero(~torch.isfinite(losses)).flatten()
    if len(bad):
        raise TrainingStopped(
            f"{name}: the loss was {losses[bad[0]].item()} at update {int(bad[0]) + 1} of epoch {epoch + 1}; lower the "
            f"learning rate ({lower_rate(name, recipe)}) or use --precision float32"
        )
