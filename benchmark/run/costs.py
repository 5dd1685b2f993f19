"""The costs of a pretraining: parameters and multiplications of its encoder, its updates, and the time of an update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from timeit import repeat

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmark.config.config import Config, with_settings
from benchmark.data.corpus import pairs_of
from benchmark.run.datasets import Size
from benchmark.run.grid import Pretraining
from benchmark.training.pretrain import make_optimiser, train_step
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder

TIMED_BATCHES, COUNTED_PAIRS = (16, 64), 5
"""Pairs of the updates that are timed on a CPU for a larger batch, and of one whose passes are counted."""


def multiplications(encoder: Encoder, samples: int) -> float:
    """Count multiplications of `pooled` on a window of `samples` time steps, without Fourier transforms."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.eval().pooled(torch.zeros(1, samples, encoder.config.leads))
    return float(counter.get_total_flops()) / 2  # the counter counts a multiplication and an addition


def encoder_costs(encoder: Encoder, config: Config) -> dict[str, int]:
    """Count the parameters of an encoder, and its multiplications for a window; of other groups' where known."""
    samples = config.data.cut().samples
    if isinstance(encoder, PretrainedEncoder) and not encoder.reads_windows_of_run:
        samples = encoder.signals.samples
    costs = {
        "encoder_parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        "encoder_multiplications": round(multiplications(deepcopy(encoder).cpu(), samples)),
    }
    return {name: value for name, value in costs.items() if value}


def estimated_updates(pretraining: Pretraining, config: Config, sizes: Mapping[str, Size]) -> float:
    """Estimate the updates of a pretraining."""
    settings = with_settings(config, pretraining.variant.settings).pretrain
    size = sizes[config.data.pretrain]
    pairs = size.windows / 2
    if config.data.segmentation.kind == "recordings":
        pairs = size.recordings * pairs_of(config.corpus_spec().per_trial)
    reference, cost = settings.pair_costs(pretraining.method)
    return settings.epochs * pairs * reference / cost / pretraining.variant.config.recipe.batch_size


def update_of(
    method: PretrainMethod, settings: MethodConfig, size: int, samples: int, precision: str
) -> Callable[[], Tensor]:
    """Return a function that does an update of a method per call, on `size` pairs of noise, five of a pseudo-trial."""
    device = next(method.parameters()).device
    leads = method.exported().config.leads
    x1, x2 = torch.randn(2, size, samples, leads, device=device)  # (B, S, L) each
    ids = torch.arange(size, device=device) // COUNTED_PAIRS  # (B,)
    width = getattr(settings, "text_width", None)
    text = None if width is None else torch.randn(size, width, device=device)  # (B, E)
    batch = Batch(x1, x2, ids, ids, ids, text)
    optimiser = make_optimiser(method.train(), settings.recipe)
    return lambda: train_step(method, optimiser, batch, settings.recipe.lr, precision)


def counted_passes(method: PretrainMethod, samples: int) -> float:
    """Count the encoder passes of an update per pair of windows, by multiplications: of all it does, over `pooled`."""
    encoder = deepcopy(method.exported())
    with FlopCounterMode(display=False) as counter:
        update_of(method, method.config, COUNTED_PAIRS, samples, "float32")()
    return counter.get_total_flops() / 2 / COUNTED_PAIRS / multiplications(encoder, samples)


def fastest_of_two(update: Callable[[], Tensor]) -> float:
    """Time an update twice: the seconds of the faster."""
    return min(repeat(lambda: float(update()), number=1, repeat=2))  # `float` waits for the device


def seconds_per_update(method: PretrainMethod, settings: MethodConfig, samples: int, precision: str) -> float:
    """Time an update of a method; of a large batch on a CPU by a line through two of its parts.

    A GPU, which may wait for kernels, can take as long for a part as for the whole.
    """
    batch = settings.recipe.batch_size
    is_in_parts = batch > max(TIMED_BATCHES) and next(method.parameters()).device.type == "cpu"
    sizes = TIMED_BATCHES if is_in_parts else (batch,)
    seconds = [fastest_of_two(update_of(method, settings, size, samples, precision)) for size in sizes]
    per_pair = (seconds[-1] - seconds[0]) / max(1, sizes[-1] - sizes[0])
    return seconds[-1] + max(0.0, per_pair) * (batch - sizes[-1])
