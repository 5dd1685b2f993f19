"""Estimate the cost of a grid: encoder passes, time and disk, from dataset sizes and one short measurement."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.data.corpus.pairs import pairs_of
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.windows import TYPICAL_SECONDS, Segmentation
from benchmark.results.names import FEATURES, FINETUNE, SUPERVISED
from benchmark.run.grid.cells import Cell, Pretraining
from benchmark.training.evaluations.contract import Amounts, Pool
from benchmark.training.evaluations.registry import evaluation_named
from benchmark.training.pretrain import autocast
from benchmark.training.schedule import DECAY_SHARE, pairs_bought
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder

TRAINING_SHARE = 0.8
HELD_OUT_SHARE = 0.1
BOOSTING_PASSES = 2.0
"""Cost of boosting in the same unit, without measuring the features."""
TREE_SECONDS, TREE_WINDOW_SECONDS = 1e-2, 4e-6
"""Seconds of one core per tree of the boosting, and per tree and labelled window; measured on 28 to 12,000 windows."""
BOOSTING_ROUNDS = 2.5
"""Rounds of a boosting until one brings no better score, on average; measured on 45 cells."""
ROW_BYTES = 20_000
SAMPLE_BYTES = 12 * 2
MEASURED_BATCH = 64
MEASURED_STEPS = 8
EMBEDDED_BATCHES = 3
PASSES_PER_STEP = 3.0
"""One forward pass, and a backward pass that counts as two."""


@dataclass(frozen=True)
class Size:
    """Size of a dataset."""

    recordings: int
    windows: int
    exact: bool
    """True: counted after preparation; False: estimated from the number of recordings."""


def estimated_size(recordings: int, segmentation: Segmentation) -> Size:
    """Estimated size of an unprepared dataset of recordings of 10 s."""
    return Size(recordings, recordings * segmentation.windows_of_typical(), exact=False)


def exact_size(prepared: Prepared) -> Size:
    """Size of a prepared dataset."""
    return Size(len(prepared.entries), prepared.window_count, exact=True)


def passes(task: Pretraining | Cell, config: Config, sizes: Mapping[str, Size]) -> float:
    """Cost of a task in encoder passes over one window."""
    if isinstance(task, Pretraining):
        if not task.method.trains:
            return 1.0
        return task.method.encoder_passes * pairs_trained(task, config, sizes)
    config = with_settings(config, task.variant.settings)
    column = config.data.column(task.dataset)
    size = sizes[column.dataset]
    training, held_out = TRAINING_SHARE * size.windows, HELD_OUT_SHARE * size.windows
    if task.evaluation == FEATURES:
        return training * task.ratio * (1 + BOOSTING_PASSES) + 2 * held_out
    evaluation = evaluation_named(task.evaluation)
    classes = len(column.named.classes if column.named else config.data.source(column.dataset).classes)
    pool = Pool(training, TRAINING_SHARE * size.recordings, classes)
    if config.data.segmentation == "recordings" and task.evaluation in (
        FINETUNE,
        SUPERVISED,
    ):  # a crop of each an epoch
        pool = pool._replace(windows=pool.recordings)
    return evaluation.passes(config, Amounts(evaluation.labelled(pool, task.ratio), held_out))


def pairs_trained(task: Pretraining, config: Config, sizes: Mapping[str, Size]) -> float:
    """Pairs of windows that a pretraining goes through, without a stem that a longer one of the grid trains."""
    own, size = with_settings(config, task.variant.settings).pretrain, sizes[config.data.pretrain]
    there = size.windows / 2
    if config.data.segmentation == "recordings":
        there = size.recordings * pairs_of(config.task_spec(config.pretrain).per_trial)
    pairs = pairs_bought(own.epochs * there, own.pair_costs(task.method))
    return DECAY_SHARE * pairs if task.stem and own.epochs < task.lengths[-1] else pairs


def cell_seconds(cell: Cell, config: Config, sizes: Mapping[str, Size], a_pass: float) -> float:
    """Seconds of a cell, from those of an encoder pass over one window; boosting uses no encoder."""
    if cell.evaluation != FEATURES:
        return passes(cell, config, sizes) * a_pass
    boosting = config.boosting
    column = config.data.column(cell.dataset)
    classes = column.named.classes if column.named else config.data.source(column.dataset).classes
    iterations = min(boosting.iterations, BOOSTING_ROUNDS * boosting.patience)
    trees = iterations * len(boosting.leaf_windows) * len(classes)
    labelled = TRAINING_SHARE * sizes[column.dataset].windows * cell.ratio
    return trees * (TREE_SECONDS + TREE_WINDOW_SECONDS * labelled)


def multiplications(encoder: Encoder, samples: int) -> float:
    """Multiplications in convolutions and matrix products of `pooled` on one window of `samples` time steps.

    The encoder is put into evaluation. Fourier transforms are not counted.
    """
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.eval().pooled(torch.zeros(1, samples, encoder.config.leads))
    return float(counter.get_total_flops()) / 2  # the counter counts a multiplication and an addition


def seconds_per_pass(
    encoder: Encoder,
    samples: int,
    device: torch.device,
    precision: str,
    *,
    threads: int,
    batch: int = MEASURED_BATCH,
    steps: int = MEASURED_STEPS,
) -> float:
    """Seconds per encoder pass over one window, from the fastest of a few training steps on `threads` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        encoder = encoder.to(device)
        x = torch.randn(batch, samples, encoder.config.leads, device=device)  # (B, S, L)
        seconds = [_step_seconds(encoder, x, precision) for _ in range(steps)]
    finally:
        torch.set_num_threads(before)
    return min(seconds) / batch / PASSES_PER_STEP


def seconds_per_window(encoder: PretrainedEncoder, device: torch.device) -> float:
    """Seconds in which weights from elsewhere embed a window, from the fastest of a few batches."""
    encoder = encoder.to(device)
    x = torch.randn(MEASURED_BATCH, encoder.signals.samples, encoder.config.leads, generator=torch.Generator())
    x, seconds = x.to(device), []  # (B, S, L)
    for _ in range(EMBEDDED_BATCHES):
        started = time.perf_counter()
        with torch.no_grad():
            encoder.eval().pooled(x)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - started)
    return min(seconds) / MEASURED_BATCH


def _step_seconds(encoder: Encoder, x: torch.Tensor, precision: str) -> float:
    started = time.perf_counter()
    with autocast(x.device, precision):
        pooled = encoder.pooled(x)  # (B, K)
    pooled.float().square().mean().backward()  # type: ignore[no-untyped-call]
    if x.device.type == "cuda":
        torch.cuda.synchronize(x.device)
    return time.perf_counter() - started


def disk_bytes(config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: int, parameters: int) -> int:
    """Bytes of prepared windows and pseudo-trials, encoders, one checkpoint, rows and predictions."""
    cut = config.data.cut()
    if cut.kind == "recordings":
        prepared = sum(size.recordings * TYPICAL_SECONDS * cut.rate * SAMPLE_BYTES for size in sizes.values())
    else:
        prepared = sum((1 + cut.joined_scale) * size.windows * cut.samples * SAMPLE_BYTES for size in sizes.values())
    held_out = max(HELD_OUT_SHARE * sizes[name].windows for name in config.data.datasets)
    return int(prepared + 4 * parameters * (pretrainings + 4) + cells * (ROW_BYTES + 40 * held_out))
