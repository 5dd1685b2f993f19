"""Time the suite's updates and preparation against their plain forms: `python -m tests.speed.compare [BATCH]`.

Both forms take turns, as other load slows the forms of a round alike; a ratio is the median over rounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import torch

from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from benchmark.run.costs import update_of as update_on_noise
from methods import METHODS
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.pmq_released import PMQReleasedConfig
from tests.gpu import new_method
from tests.speed.plain import PLAIN, PlainDilated, PlainReleased, plain_heartbeats

ROUNDS = 7
NAMES = ("moco", "byol", "clocs", "pclr", "comet", "etp", "pmq", "pmq-released")
MOST_PAIRS = {"comet": 64}
"""Largest batch of methods whose plain form exceeds 24 GiB at 256 pairs."""


def print_ratio(name: str, ours: Callable[[], object], plain: Callable[[], object]) -> None:
    """Print the milliseconds of both forms, and plain / ours [lowest-highest], after an uncounted round."""
    seconds: list[list[float]] = []
    for _ in range(ROUNDS + 1):
        seconds.append([])
        for job in (ours, plain):
            started = time.perf_counter()
            job()
            seconds[-1].append(time.perf_counter() - started)
    ratios = [plain / ours for ours, plain in seconds[1:]]
    of_ours, of_plain = (1000 * median(column) for column in zip(*seconds[1:], strict=True))
    print(f"{name:14} {of_ours:10.1f} {of_plain:10.1f}   {median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]")


def update_of(name: str, batch: int, *, plain: bool) -> Callable[[], object]:
    """The update of a method or of its plain form, on the paper's encoder in float32 without dropout but COMET's."""
    kind, config = METHODS[name], METHODS[name].Config()
    if hasattr(config, "queue_size"):  # the plain queue needs a multiple of the batch
        known: Any = config
        config = replace(known, queue_size=max(known.queue_size // batch, 1) * batch, encoder_dropout=0.0)
    if plain and name in PLAIN:
        kind = PLAIN[name]
        if kind is PlainReleased:
            config = PMQReleasedConfig(encoder_dropout=0.0, queue_size=config.queue_size)  # type: ignore[attr-defined]
    method = new_method(kind, config, PlainDilated if plain else Dilated, DilatedConfig())
    return update_on_noise(method, config, batch, 300, "float32")


def main(batch: int) -> None:
    """Print a row per method, and one of preparation."""
    print(f"{torch.get_num_threads()} threads, {batch} pairs at most")
    print(f"{'':14} {'ours ms':>10} {'plain ms':>10}   plain / ours")
    for name in NAMES:
        size = min(batch, MOST_PAIRS.get(name, batch))
        print_ratio(name, update_of(name, size, plain=False), update_of(name, size, plain=True))
    signal = simulate("NORM", seed=0, seconds=10.0, fs=500.0)
    print_ratio("preparation", lambda: heartbeats(signal, 500.0), lambda: plain_heartbeats(signal, 500.0))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 32)
