"""What a grid will cost, before it runs: encoder passes, hours and disk, from sizes alone and one short measurement."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from benchmark.config.config import Config
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.windows import Segmentation
from benchmark.results.names import FEATURES, LINEAR
from benchmark.run.grid import Cell, Pretraining
from benchmark.training.pretrain import autocast
from methods.encoders.dilated import Encoder, EncoderConfig

BEATS_PER_RECORDING = 11
"""Typical of a 10 s ECG at 70 beats a minute, for recordings that have not been prepared yet."""
TYPICAL_SAMPLES = 2500
"""Of a 10 s ECG at 250 Hz, cut into plain windows."""
TRAINING_SHARE = 0.8
HELD_OUT_SHARE = 0.1
PROBE_PASSES = 1.5
"""What fitting the probes costs, as passes over the labelled windows."""
BOOSTING_PASSES = 2.0
"""What boosting the features costs, likewise, besides measuring them."""
ROW_BYTES = 20_000
SAMPLE_BYTES = 12 * 2
MEASURED_BATCH = 64
MEASURED_STEPS = 8
PASSES_PER_STEP = 3.0
"""One forward, and one backward that counts as two."""


@dataclass(frozen=True)
class Size:
    """How much there is of a dataset."""

    recordings: int
    windows: int
    exact: bool
    """Counted after preparation; else estimated from the number of recordings."""


def estimated_size(recordings: int, segmentation: Segmentation) -> Size:
    """Size of a dataset that has not been prepared."""
    plain = segmentation.kind == "windows"
    each = TYPICAL_SAMPLES // segmentation.samples if plain else BEATS_PER_RECORDING
    return Size(recordings, recordings * each, exact=False)


def exact_size(prepared: Prepared) -> Size:
    """Size of a prepared dataset."""
    return Size(len(prepared.entries), len(prepared.windows), exact=True)


def passes(task: Pretraining | Cell, config: Config, sizes: Mapping[str, Size]) -> float:
    """Encoder passes over one window that a task takes."""
    if isinstance(task, Pretraining):
        if not task.method.trains:
            return 1.0
        pairs = sizes[config.data.pretrain].windows / 2
        return task.method.encoder_passes * config.pretrain.epochs * pairs
    windows = sizes[task.dataset].windows
    labelled, held_out = TRAINING_SHARE * windows * task.ratio, HELD_OUT_SHARE * windows
    if task.evaluation == LINEAR:
        return labelled * (1 + PROBE_PASSES) + 2 * held_out
    if task.evaluation == FEATURES:
        return labelled * (1 + BOOSTING_PASSES) + 2 * held_out
    seen = max(labelled, config.finetune.least_updates * min(config.finetune.batch_size, labelled))  # in an epoch
    return config.finetune.epochs * (3 * seen + held_out) + held_out


def seconds_per_pass(size: EncoderConfig, samples: int, device: torch.device, precision: str, *, threads: int) -> float:
    """Time of one encoder pass over one window on so many threads: the fastest of a few training steps made now."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        encoder = Encoder(size).to(device)
        x = torch.randn(MEASURED_BATCH, samples, size.leads, device=device)  # (B, S, L)
        seconds = [_step_seconds(encoder, x, precision) for _ in range(MEASURED_STEPS)]
    finally:
        torch.set_num_threads(before)
    return min(seconds) / MEASURED_BATCH / PASSES_PER_STEP


def _step_seconds(encoder: Encoder, x: torch.Tensor, precision: str) -> float:
    started = time.perf_counter()
    with autocast(x.device, precision):
        pooled = encoder.pooled(x)  # (B, K)
    pooled.float().square().mean().backward()  # type: ignore[no-untyped-call]
    if x.device.type == "cuda":
        torch.cuda.synchronize(x.device)
    return time.perf_counter() - started


def disk_bytes(config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: int, parameters: int) -> int:
    """Prepared windows and pseudo-trials, encoders with one checkpoint, rows and predictions."""
    samples = config.data.cut().samples
    prepared = sum(2 * size.windows * samples * SAMPLE_BYTES for size in sizes.values())
    held_out = max(HELD_OUT_SHARE * sizes[name].windows for name in config.data.datasets)
    return int(prepared + 4 * parameters * (pretrainings + 4) + cells * (ROW_BYTES + 40 * held_out))
