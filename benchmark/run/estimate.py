"""What a run costs, roughly: multiplications and seconds of encoders and methods, timed now, and disk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.config import Config, with_settings
from benchmark.data.corpus import pairs_of
from benchmark.data.joined import JOIN
from benchmark.data.segments import TYPICAL_SECONDS, Segmentation
from benchmark.run.grid import Pretraining
from benchmark.training.pretrain import make_optimiser, pairs_bought, train_step
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder

TESTED_SHARE = 0.1  # of a dataset's windows
ROW_BYTES, SAMPLE_BYTES = 20_000, 12 * 2
MEASURED_BATCH = 64


class Size(NamedTuple):
    """Size of a dataset."""

    recordings: int
    windows: int


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
    """Time an update of a method on noise, on a part of its batch: the faster of two."""
    recipe, leads = settings.recipe, method.exported().config.leads
    size = min(recipe.batch_size, MEASURED_BATCH)
    x1, x2 = torch.randn(2, size, samples, leads, device=device)  # (B, S, L) each
    ids = torch.arange(size, device=device)  # (B,)
    width = getattr(settings, "text_width", None)
    text = None if width is None else torch.randn(size, width, device=device)  # (B, E)
    batch, optimiser = Batch(x1, x2, ids, ids, ids, text), make_optimiser(method.train(), recipe)
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        float(train_step(method, optimiser, batch, recipe.lr, precision))  # waits for the device
        seconds.append(time.perf_counter() - started)
    return min(seconds) * recipe.batch_size / size


def multiplications(encoder: Encoder, samples: int) -> float:
    """Count multiplications of `pooled` on a window of `samples` time steps, without Fourier transforms."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.eval().pooled(torch.zeros(1, samples, encoder.config.leads))
    return float(counter.get_total_flops()) / 2  # the counter counts a multiplication and an addition


def disk_bytes(config: Config, sizes: Mapping[str, Size], pretrainings: int, cells: int, parameters: int) -> int:
    """Estimate the bytes of prepared windows and pseudo-trials, encoders, checkpoints, rows and predictions."""
    cut = config.data.cut()
    written = [size for name, size in sizes.items() if JOIN not in name]  # a corpus of several has no windows
    samples = sum(size.windows for size in written) * cut.samples * (1 + cut.standardises_trials)
    if cut.kind == "recordings":
        samples = sum(size.recordings for size in written) * TYPICAL_SECONDS * cut.rate
    tested = TESTED_SHARE * max(sizes[column.dataset].windows for column in config.data.columns())
    return int(samples * SAMPLE_BYTES + 4 * parameters * (pretrainings + 4) + cells * (ROW_BYTES + 40 * tested))
