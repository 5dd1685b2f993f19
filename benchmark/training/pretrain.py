"""The training loop of all methods: optimiser, schedule, precision, checkpoint, resume.

`method.begin(updates)`, then per update `loss = method(batch); backward; step; schedule; method.after_step()`. Torch is
seeded from (seed, epoch, step) before each step and the order of an epoch from (seed, epoch), so a run resumed from its
last epoch is bit-identical.
"""

from __future__ import annotations

import io
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmark.data.tasks.pairs import PairSource, make_batch
from benchmark.data.tasks.probe_windows import ProbeWindows
from benchmark.data.tasks.sampling import epoch_batches, epoch_shape
from benchmark.machine.energy import Meter, open_meter
from benchmark.machine.seeds import seed_torch
from benchmark.results.files import write_atomic
from benchmark.results.seals import seal, unseal
from benchmark.training.health import count_positives, measure
from benchmark.training.remedies import lower_rate, smaller_batch
from methods.base import MethodConfig, PretrainMethod, Recipe

PRETRAIN_VERSION = 2
WARMUP_SHARE = 0.05

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
    Raises TrainingStopped on a non-finite loss or if GPU memory runs out.
    """
    device = source.signal.device
    trial, patient = source.trial_of_pair, source.patient_of_pair  # (N,), (N,)
    shape = epoch_shape(patient, config.batching, config.recipe.batch_size)
    per_epoch, total = shape.updates, shape.updates * epochs
    optimiser = make_optimiser(method, config.recipe)
    history = History([], 0.0, per_epoch * shape.batch_size, total, shape.batch_size)
    done = resume(checkpoint, method, optimiser, history)
    history.threads = list(dict.fromkeys([*history.threads, torch.get_num_threads()]))
    method.begin(total)
    method.train()
    if not history.health:
        history.health.append(vars(measure(0, method.exported(), probe)))
    for epoch in range(done, epochs):
        started, meter = time.perf_counter(), open_meter(device)
        batches = epoch_batches(trial, patient, shape, batching=config.batching, seed=seed, epoch=epoch)  # (n, B)
        batches = batches.to(device)
        losses = torch.zeros(per_epoch, device=device)  # (n,)
        positives = torch.zeros(per_epoch, 3, device=device)  # (n, 3)
        for step in range(per_epoch):
            rate = learning_rate(config.recipe, epoch * per_epoch + step, total)
            seed_torch("pretrain", seed, epoch, step)
            batch = make_batch(source, batches[step], config.pairing)
            positives[step] = count_positives(method.positives(batch), device)
            losses[step] = train_step(method, optimiser, batch, rate, precision)
            if meter:
                meter.look()
            if on_step:
                text = f"loss {history.loss[-1]:.4f}" if history.loss else ""
                on_step(epoch * per_epoch + step + 1, total, f"epoch {epoch + 1}/{epochs} {text}".strip())
        history.loss.append(finite_mean(losses, method.name, config.recipe, epoch))
        history.seconds += time.perf_counter() - started
        history.joules = added_energy(history.joules, meter)
        history.health.append(vars(measure(epoch + 1, method.exported(), probe, positives.mean(0))))
        save_checkpoint(checkpoint, method, optimiser, history)
    return history


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


def added_energy(before: float | None, meter: Meter | None) -> float | None:
    """Joules including those of the epoch; None if either is unknown."""
    return None if meter is None or before is None else before + meter.total()


def finite_mean(losses: torch.Tensor, name: str, recipe: Recipe, epoch: int) -> float:
    """Mean loss of an epoch, with one device synchronisation. Raises TrainingStopped on a non-finite loss."""
    bad = torch.nonzero(~torch.isfinite(losses)).flatten()
    if len(bad):
        raise TrainingStopped(
            f"{name}: the loss was {losses[bad[0]].item()} at update {int(bad[0]) + 1} of epoch {epoch + 1}; lower the "
            f"learning rate ({lower_rate(name, recipe)}) or use --precision float32"
        )
    return float(losses.mean())


def save_checkpoint(path: Path, method: PretrainMethod, optimiser: torch.optim.Optimizer, history: History) -> None:
    """Write all state after an epoch atomically, sealed with the name of its folder, the pretraining's key."""
    buffer = io.BytesIO()
    torch.save({"method": method.state_dict(), "optimiser": optimiser.state_dict(), "history": vars(history)}, buffer)
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


def resume(path: Path, method: PretrainMethod, optimiser: torch.optim.Optimizer, history: History) -> int:
    """Restore a checkpoint's state; returns its number of epochs, 0 without a usable checkpoint."""
    state = load_checkpoint(path)
    if state is None:
        return 0
    method.load_state_dict(state["method"])
    optimiser.load_state_dict(state["optimiser"])
    vars(history).update(state["history"])
    return len(history.loss)
