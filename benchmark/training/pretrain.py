"""The training loop of all methods: length, schedule, precision, checkpoints.

`method.begin(updates)`, then per update `loss_terms`, backward, step, schedule, `after_step`. Torch is seeded from
(seed, epoch, step) before each step and the order of an epoch from (seed, epoch), so a run resumed from any step on
the same kind of machine is bit-identical. A checkpoint is written after each epoch, within one every
`CHECKPOINT_SECONDS`, and at a stop.
`pretrain.budget` says what is equal among methods: epochs of their own batches, windows seen or encoder passes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from benchmark.config.schema import Budget
from benchmark.data.corpus import Corpus, EpochShape, epoch_order, epoch_shape
from benchmark.data.task import ProbeWindows
from benchmark.machine import computer, stream
from benchmark.process import Stopped, stop
from benchmark.results.arrays import Halves, Ints
from benchmark.training.checkpoint import Epoch, History, resume, save_checkpoint
from benchmark.training.health import measure
from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.encoders.base import Encoder, EncoderConfig

WARMUP_SHARE = 0.05
"""Share of the updates of `warmup-cosine` in which the rate rises."""
PRETRAIN_VERSION = 3
CHECKPOINT_SECONDS = 120.0
"""Within an epoch. A killed run loses at most this."""
MOST_WINDOWS, WINDOWS_AT_ONCE = 10_000, 250
"""Windows of the corpus, and of a batch, from which an untrained encoder's batch normalisation is estimated."""
OnStep = Callable[[int, int, str], None]
OnEpoch = Callable[[History], None]
"""Called with the history after each epoch."""


class TrainingStopped(RuntimeError):
    """Training cannot continue; the message names the place and the remedy."""


def epochs_bought(budget: Budget, epochs: float, shape: EpochShape, pairs: int, costs: tuple[float, float]) -> float:
    """Compute the epochs of a method for a budget of `epochs` epochs of a corpus of `pairs` pairs.

    Under `epochs` these are the same number. shape: of the method's epoch, which may have fewer pairs than the corpus.
    costs: encoder passes of a pair in the reference of the budget and in the method (`Pretrain.pair_costs`).
    """
    reference, method = costs
    return epochs if budget == "epochs" else epochs * pairs * reference / method / (shape.updates * shape.batch_size)


def learning_rate(recipe: Recipe, step: int, total: int) -> float:
    """Give the rate of update `step` (from 0) of `total`: constant, or linear over 5 % and then half a cosine to 0."""
    if recipe.schedule == "constant":
        return recipe.lr
    warmup = max(1, int(WARMUP_SHARE * total))
    if step < warmup:
        return recipe.lr * (step + 1) / warmup
    return recipe.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def make_optimiser(method: PretrainMethod, recipe: Recipe) -> Optimizer:
    """Make AdamW (decoupled weight decay) or Adam (L2 term) over the parameters that require a gradient."""
    optimiser_class = torch.optim.AdamW if recipe.optimiser == "adamw" else torch.optim.Adam
    learning = [parameter for parameter in method.parameters() if parameter.requires_grad]
    return optimiser_class(learning, lr=recipe.lr, weight_decay=recipe.weight_decay)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Make autocast, bf16 if precision is 'bf16', else disabled; losses, FFT and normalisation are in float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def pretrain(
    method: PretrainMethod,
    config: MethodConfig,
    corpus: Corpus,
    *,
    epochs: float,
    seed: int,
    precision: str,
    checkpoint: Path,
    probe: ProbeWindows | None = None,
    on_step: OnStep | None = None,
    on_epoch: OnEpoch | None = None,
) -> History:
    """Train a method in place on a corpus, resuming from `checkpoint` if it exists.

    epochs: rounded to whole updates, at least one. probe: windows for health, before the first and after each epoch.
    Raises TrainingStopped for a non-finite loss or a full GPU; Stopped, with a checkpoint, where the process must end.
    """
    trial, patient, recipe = corpus.trial_of_pair, corpus.patient_of_pair, config.recipe  # (N,), (N,)
    shape = epoch_shape(patient, config.batching, recipe.batch_size)
    total = max(1, round(epochs * shape.updates))
    last = math.ceil(total / shape.updates)
    optimiser = make_optimiser(method, recipe)
    history = History([], 0.0, total, shape.batch_size)
    epoch = resume(checkpoint, method, optimiser, history)
    if (here := computer(corpus.device, precision)) not in history.computed_on:
        history.computed_on.append(here)
    method.begin(total)
    method.train()
    if not history.health:
        history.health.append(measure(0, method.exported(), probe))
    for number in range(len(history.loss), last):
        done = number * shape.updates
        order = epoch_order(trial, patient, shape, batching=config.batching, seed=seed, epoch=number)[: total - done]
        epoch = epoch or Epoch(torch.zeros(len(order)))  # (n, B) order: the last epoch may end early
        epoch.losses = epoch.losses.to(corpus.device)
        rates = [learning_rate(recipe, step, total) for step in range(done, done + len(order))]
        started = time.perf_counter()
        seed_of = partial(stream, "pretrain", seed, number)
        with closing(corpus.batches(order, config.pairing, seed_of, epoch.step)) as batches:  # each seeds torch
            for _ in updates(method, optimiser, batches, epoch, rates, precision):
                if on_step:
                    loss = f" loss {history.loss[-1]:.4f}" if history.loss else ""
                    on_step(done + epoch.step, total, f"epoch {number + 1}/{last}{loss}")
                if stop.is_set() or time.perf_counter() - started >= CHECKPOINT_SECONDS:
                    refuse_non_finite(epoch.losses[: epoch.step], method.name, recipe, number)
                    history.seconds += time.perf_counter() - started
                    save_checkpoint(checkpoint, method, optimiser, history, epoch)
                    started = time.perf_counter()
                    if stop.is_set():
                        raise Stopped
        refuse_non_finite(epoch.losses, method.name, recipe, number)
        history.seconds += time.perf_counter() - started
        history.loss.append(float(epoch.losses.mean()))
        history.health.append(measure(number + 1, method.exported(), probe, epoch.positives))
        save_checkpoint(checkpoint, method, optimiser, history, None)
        if on_epoch:
            on_epoch(history)
        epoch = None
    return history


def updates(
    method: PretrainMethod,
    optimiser: Optimizer,
    batches: Iterable[Batch],
    epoch: Epoch,
    rates: Sequence[float],
    precision: str,
) -> Iterator[None]:
    """Do the updates of the rest of an epoch, and yield after each; rates: learning rates of all its updates."""
    for batch in batches:
        if epoch.step == len(rates) - 1 and (positives := method.positives(batch)) is not None:
            epoch.positives = positives.sum(1)  # (B,)
        epoch.losses[epoch.step] = train_step(method, optimiser, batch, rates[epoch.step], precision)
        epoch.step += 1
        yield


@cache
def has_statistics(encoder_class: type[Encoder], config: EncoderConfig) -> bool:
    """Tell whether an encoder has batch normalisation, whose statistics are 0 and 1 before any window."""
    with torch.random.fork_rng(devices=[]):
        return any(isinstance(layer, _BatchNorm) for layer in encoder_class(config).modules())


def batches_of(numbers: Ints, read: Callable[[Ints], Halves], device: torch.device) -> Iterator[Tensor]:
    """Yield the windows (b, S, 12) of at most `MOST_WINDOWS` of some numbered pseudo-trials or recordings."""
    some = numbers[:: math.ceil(len(numbers) / MOST_WINDOWS)]  # (n',)
    for batch in np.array_split(some, math.ceil(len(some) / WINDOWS_AT_ONCE)):
        yield torch.from_numpy(read(batch)).to(device)


@torch.no_grad()
def estimate_statistics(encoder: Encoder, batches: Iterable[Tensor]) -> None:
    """Estimate batch normalisation from batches of windows (b, S, 12), in one pass.

    An untrained encoder that normalises by 0 and 1 has features of a rank below two, which nobody would evaluate.
    """
    norms = [layer for layer in encoder.modules() if isinstance(layer, _BatchNorm)]
    momenta = [layer.momentum for layer in norms]
    for layer in norms:
        layer.reset_running_stats()
        layer.momentum = None  # the mean over all batches
    encoder.train()
    for windows in batches:
        encoder(windows.float())
    for layer, momentum in zip(norms, momenta, strict=True):
        layer.momentum = momentum
    encoder.eval()


def train_step(method: PretrainMethod, optimiser: Optimizer, batch: Any, rate: float, precision: str) -> Tensor:
    """Do one update; returns the loss (0-d), without synchronising. Raises TrainingStopped if GPU memory runs out."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad()
    device, losses = batch.x1.device, []
    try:
        with autocast(device, precision):
            for loss in method.loss_terms(batch):
                with autocast(device, "float32"):  # a backward pass keeps the types of its forward pass
                    loss.backward()  # type: ignore[no-untyped-call]
                losses.append(loss.detach())
        optimiser.step()
        method.after_step()
    except torch.OutOfMemoryError:
        raise TrainingStopped(
            f"{method.name}: the GPU is full at batch size {len(batch.x1)}; use a smaller one (--set methods."
            f"{method.name}.recipe.batch_size={max(2, len(batch.x1) // 2)}), a smaller queue or --precision bf16"
        ) from None
    return torch.stack(losses).sum()


def refuse_non_finite(losses: Tensor, name: str, recipe: Recipe, epoch: int) -> None:
    """Raise TrainingStopped where one of an epoch's losses (n,) is not finite. Synchronises the device once."""
    bad = torch.nonzero(~torch.isfinite(losses)).flatten()
    if len(bad):
        raise TrainingStopped(
            f"{name}: the loss was {losses[bad[0]].item()} at update {int(bad[0]) + 1} of epoch {epoch + 1}; lower the "
            f"learning rate (--set methods.{name}.recipe.lr={recipe.lr / 10:g}) or use --precision float32"
        )
