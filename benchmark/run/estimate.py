"""What a run costs, roughly: multiplications and seconds of encoders and methods, timed now, and disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.config import Config, with_settings
from benchmark.data.corpus import pairs_of
from benchmark.data.joined import JOIN
from benchmark.data.prepare import Prepared
from benchmark.data.segments import TYPICAL_SECONDS, Segmentation
from benchmark.results.names import FINETUNE, SUPERVISED
from benchmark.run.grid import Cell, Pretraining
from benchmark.training.pretrain import autocast, make_optimiser, pairs_bought, train_step
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder

TRAINING_SHARE, HELD_OUT_SHARE = 0.8, 0.1  # of a dataset's windows: for training, and for validation and test each
ROW_BYTES, SAMPLE_BYTES = 20_000, 12 * 2
MEASURED_BATCH = 64
PASSES_PER_STEP = 3.0  # one forward pass, and a backward pass that counts as two


class Size(NamedTuple):
    """Size of a dataset."""

    recordings: int
    windows: int


def exact_size(prepared: Prepared) -> Size:
    """Return the size of a prepared dataset."""
    return Size(len(prepared.entries), prepared.window_count)


def estimated_size(recordings: int, cut: Segmentation) -> Size:
    """Estimate the size of an unprepared dataset of recordings of 10 s."""
    return Size(recordings, recordings * cut.windows_of_typical())


def updates_of(task: Pretraining, config: Config, sizes: Mapping[str, Size]) -> float:
    """Estimate the updates of a pretraining."""
    settings, size = with_settings(config, task.variant.settings).pretrain, sizes[config.data.pretrain]
    pairs = size.windows / 2
    if config.data.segmentation.kind == "recordings":
        pairs = size.recordings * pairs_of(config.task_spec(config.pretrain).per_trial)
    trained = pairs_bought(settings.epochs * pairs, settings.pair_costs(task.method))
    return trained / task.variant.config.recipe.batch_size


def seconds_per_update(
    method: PretrainMethod, settings: MethodConfig, samples: int, device: torch.device, precision: str
) -> float:
    """Time an update of a method on noise, on a part of its batch."""
    recipe, leads = settings.recipe, method.exported().config.leads
    size = min(recipe.batch_size, MEASURED_BATCH)
    x1, x2 = torch.randn(2, size, samples, leads, device=device)  # (B, S, L) each
    ids = torch.arange(size, device=device)  # (B,)
    width = getattr(settings, "text_width", None)
    text = None if width is None else torch.randn(size, width, device=device)  # (B, E)
    batch, optimiser = Batch(x1, x2, ids, ids, ids, text), make_optimiser(method.train(), recipe)
    seconds = fastest(lambda: train_step(method, optimiser, batch, recipe.lr, precision), 2, device)
    return seconds * recipe.batch_size / size


def passes_of(cell: Cell, config: Config, sizes: Mapping[str, Size]) -> float | None:
    """Estimate the encoder passes over one window of a cell; None where it has no encoder."""
    if cell.pretraining is None:
        return None
    config = with_settings(config, cell.variant.settings)
    windows = sizes[config.data.column(cell.dataset).dataset].windows
    labelled, held_out = TRAINING_SHARE * cell.ratio * windows, HELD_OUT_SHARE * windows
    if cell.evaluation in (FINETUNE, SUPERVISED, "attention"):
        passes_per_window = 1.0 if cell.evaluation == "attention" else PASSES_PER_STEP
        epochs: int = getattr(config, cell.evaluation).epochs
        return epochs * (passes_per_window * labelled + held_out) + held_out
    return labelled + 2 * held_out


def multiplications(encoder: Encoder, samples: int) -> float:
    """Count the multiplications in convolutions and matrix products of `pooled` on one window of `samples` time steps.

    The encoder is put into evaluation. Fourier transforms are not counted.
    """
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.eval().pooled(torch.zeros(1, samples, encoder.config.leads))
    return float(counter.get_total_flops()) / 2  # the counter counts a multiplication and an addition


def fastest(work: Callable[[], object], rounds: int, device: torch.device) -> float:
    """Time the fastest of some calls, in seconds."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def seconds_per_pass(encoder: Encoder, samples: int, device: torch.device, precision: str) -> float:
    """Time an encoder pass over one window, by training steps."""
    encoder = encoder.to(device)
    x = torch.randn(MEASURED_BATCH, samples, encoder.config.leads, device=device)  # (B, S, L)

    def train() -> None:
        with autocast(device, precision):
            pooled = encoder.pooled(x)  # (B, K)
        pooled.float().square().mean().backward()  # type: ignore[no-untyped-call]

    return fastest(train, 8, device) / MEASURED_BATCH / PASSES_PER_STEP


def disk_bytes(config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: int, parameters: int) -> int:
    """Estimate the bytes of prepared windows and pseudo-trials, encoders, checkpoints, rows and predictions."""
    cut = config.data.cut()
    written = [size for name, size in sizes.items() if JOIN not in name]  # a corpus of several has no windows
    samples = sum(size.windows for size in written) * cut.samples * (1 + cut.standardises_trials)
    if cut.kind == "recordings":
        samples = sum(size.recordings for size in written) * TYPICAL_SECONDS * cut.rate
    tested = HELD_OUT_SHARE * max(sizes[column.dataset].windows for column in config.data.columns())
    return int(samples * SAMPLE_BYTES + 4 * parameters * (pretrainings + 4) + cells * (ROW_BYTES + 40 * tested))
