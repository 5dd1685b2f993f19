"""The training loop of all methods: optimiser, schedule, precision, checkpoint, resume.

`method.begin(updates)`, then per update `loss = method(batch); backward; step; schedule; method.after_step()`. Torch is
seeded from (seed, epoch, step) before each step and the order of an epoch from (seed, epoch), so a run resumed from any
step is bit-identical. A checkpoint is written after each epoch, within one every `CHECKPOINT_SECONDS`, and at a stop.
"""

from __future__ import annotations

import io
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmark.data.tasks.pairs import PairSource, make_batch
from benchmark.data.tasks.probe_windows import ProbeWindows
from benchmark.data.tasks.sampling import epoch_batches, epoch_shape
from benchmark.machine.energy import Meter, open_meter
from benchmark.machine.seeds import seed_torch
from benchmark.machine.stop import postponed, stopped
from benchmark.results.files.seals import seal, unseal
from benchmark.results.files.write import write_atomic
from benchmark.training.health import count_positives, measure
from benchmark.training.remedies import lower_rate, smaller_batch
from methods.base import MethodConfig, PretrainMethod, Recipe

PRETRAIN_VERSION = 2
WARMUP_SHARE = 0.05
CHECKPOINT_SECONDS = 120.0
"""Within an epoch. A killed run loses at most this."""

log = logging.getLogger(__name__)

OnStep = Callable[[int, int, str], None]


class TrainingStopped(RuntimeError):
    """Training cannot continue; the message names the place and the remedy."""


@dataclass
class History:
    """Record of a pretraining: `loss` per epoch, wall time in seconds, sizes, energy, health."""

    loss: list[float]
    seconds: float
    windows_per_epoch: int
    updates: int
    batch_size: int
    joules: float | None = 0.0
    """Energy of the whole device, other processes included; None if part of it could not be read."""
    health: list[dict[str, Any]] = field(default_factory=list)
    """Fields of `EpochHealth`, before the first epoch and after each."""
    threads: list[int] = field(default_factory=list)
    """Numbers of CPU threads it was trained on; several if it was resumed on another number."""


@dataclass
class Epoch:
    """An epoch under way: its sums over n updates, of which `step` are done."""

    losses: torch.Tensor  # (n,)
    positives: torch.Tensor  # (n, 3)
    step: int = 0


@dataclass(frozen=True)
class Training:
    """What the updates of a pretraining share."""

    method: PretrainMethod
    config: MethodConfig
    source: PairSource
    optimiser: torch.optim.Optimizer
    history: History
    epochs: int
    seed: int
    precision: str
    checkpoint: Path
    on_step: OnStep | None


def learning_rate(recipe: Recipe, step: int, total: int) -> float:
    """Learning rate of update `step` (from 0) of `total`: constant, or linear warm-up over 5 %, then cosine to 0."""
    if recipe.schedule == "constant":
        return recipe.lr
    warmup = max(1, int(WARMUP_SHARE * total))
    if step < warmup:
        return recipe.lr * (step + 1) / warmup
    return recipe.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


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
    epochs: int,
    seed: int,
    precision: str,
    checkpoint: Path,
    probe: ProbeWindows | None = None,
    on_step: OnStep | None = None,
) -> History:
    """Train a method in place on a corpus, resuming from `checkpoint` if it exists.

    `probe`: held-out windows for health, measured before the first epoch and after each.
    Raises TrainingStopped on a non-finite loss or if GPU memory runs out, Stopped, with a checkpoint, where the process
    is asked to stop.
    """
    device = source.signal.device
    trial, patient = source.trial_of_pair, source.patient_of_pair  # (N,), (N,)
    shape = epoch_shape(patient, config.batching, config.recipe.batch_size)
    n = shape.updates
    optimiser = make_optimiser(method, config.recipe)
    history = History([], 0.0, n * shape.batch_size, n * epochs, shape.batch_size)
    run = Training(method, config, source, optimiser, history, epochs, seed, precision, checkpoint, on_step)
    epoch = resume(checkpoint, method, optimiser, history)
    history.threads = list(dict.fromkeys([*history.threads, torch.get_num_threads()]))
    method.begin(history.updates)
    method.train()
    if not history.health:
        history.health.append(vars(measure(0, method.exported(), probe)))
    for number in range(len(history.loss), epochs):
        batches = epoch_batches(trial, patient, shape, batching=config.batching, seed=seed, epoch=number)  # (n, B)
        epoch = epoch or Epoch(torch.zeros(n), torch.zeros(n, 3))
        epoch = replace(epoch, losses=epoch.losses.to(device), positives=epoch.positives.to(device))
        train_epoch(run, epoch, number, batches.to(device))
        history.loss.append(float(epoch.losses.mean()))
        history.health.append(vars(measure(number + 1, method.exported(), probe, epoch.positives.mean(0))))
        save_checkpoint(checkpoint, method, optimiser, history, None)
        epoch = None
    return history


def train_epoch(run: Training, epoch: Epoch, number: int, batches: torch.Tensor) -> None:
    """Do the updates that are left of epoch `number`; `batches`: (n, B) pairs. Raises as `pretrain`."""
    method, recipe, history, n = run.method, run.config.recipe, run.history, len(batches)
    started, meter = time.perf_counter(), open_meter(batches.device)
    with postponed() as asked_to_stop:
        for step in range(epoch.step, n):
            done = number * n + step + 1
            seed_torch("pretrain", run.seed, number, step)
            batch = make_batch(run.source, batches[step], run.config.pairing)
            rate = learning_rate(recipe, done - 1, history.updates)
            epoch.positives[step] = count_positives(method.positives(batch), batches.device)
            epoch.losses[step] = train_step(method, run.optimiser, batch, rate, run.precision)
            epoch.step = step + 1
            if meter:
                meter.look()
            if run.on_step:
                text = f"loss {history.loss[-1]:.4f}" if history.loss else ""
                run.on_step(done, history.updates, f"epoch {number + 1}/{run.epochs} {text}".strip())
            if asked_to_stop() or time.perf_counter() - started >= CHECKPOINT_SECONDS:
                refuse_non_finite(epoch.losses[: step + 1], method.name, recipe, number)
                spend(history, started, meter)
                save_checkpoint(run.checkpoint, method, run.optimiser, history, epoch)
                if asked_to_stop():
                    raise stopped(f"the pretraining of {method.name} is saved at update {done} of {history.updates}")
                started, meter = time.perf_counter(), open_meter(batches.device)
    refuse_non_finite(epoch.losses, method.name, recipe, number)
    spend(history, started, meter)


def train_step(
    method: PretrainMethod, optimiser: torch.optim.Optimizer, batch: Any, rate: float, precision: str
) -> torch.Tensor:
    """One update; returns the loss (0-d) without synchronising. Raises TrainingStopped if GPU memory runs out."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    try:
        with autocast(batch.x1.device, precision):
            loss: torch.Tensor = method(batch)  # ()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        method.after_step()
    except torch.OutOfMemoryError:
        raise TrainingStopped(
            f"{method.name}: the GPU is full at batch size {len(batch.x1)}; use a smaller one "
            f"({smaller_batch(method.name, len(batch.x1))}), a smaller queue or --precision bf16"
        ) from None
    return loss.detach()


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


def save_checkpoint(
    path: Path,
    method: PretrainMethod,
    optimiser: torch.optim.Optimizer,
    history: History,
    epoch: Epoch | None,
) -> None:
    """Write all state atomically, sealed with the name of its folder, the pretraining's key.

    `epoch`: the one under way, None between two.
    """
    state = {
        "method": method.state_dict(),
        "optimiser": optimiser.state_dict(),
        "history": vars(history),
        "epoch": vars(epoch) if epoch else None,
    }
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_atomic(path, seal(path.parent.name, buffer.getvalue()))


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state in a checkpoint file; None if it is missing, or damaged or of another pretraining, told in a line."""
    if not path.is_file():
        return None
    body = unseal(path.parent.name, path.read_bytes())
    if body is None:
        log.warning("%s is damaged or of another pretraining; training begins with the first epoch", path)
        return None
    state: dict[str, Any] = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    return state


def resume(path: Path, method: PretrainMethod, optimiser: torch.optim.Optimizer, history: History) -> Epoch | None:
    """Restore a checkpoint's state, if it is usable; returns the epoch under way, None between two."""
    state = load_checkpoint(path)
    if state is None:
        return None
    method.load_state_dict(state["method"])
    optimiser.load_state_dict(state["optimiser"])
    vars(history).update(state["history"])
    return Epoch(**state["epoch"]) if state["epoch"] else None
