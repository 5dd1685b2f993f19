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

from benchmark.cli.speed import new_method, pretraining_update
from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from methods import METHODS
from methods.encoders.dilated import Dilated, DilatedConfig
from tests.speed.plain_steps import PLAIN, PlainDilated, PlainReleased, plain_heartbeats, released_knobs

ROUNDS = 7
MOST_PAIRS = {"comet": 64}
"""Largest batch of methods whose plain form exceeds 24 GiB at 256 pairs."""


def in_turns(jobs: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Seconds of each job in each round, after an uncounted round."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(ROUNDS + 1):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def print_ratio(name: str, jobs: dict[str, Callable[[], object]]) -> None:
    """Print the milliseconds of both forms, and plain / ours [lowest-highest]."""
    seconds = in_turns(jobs)
    ratios = [plain / ours for plain, ours in zip(seconds["plain"], seconds["ours"], strict=True)]
    ours, plain = (1000 * median(seconds[form]) for form in ("ours", "plain"))
    print(f"{name:14} {ours:10.1f} {plain:10.1f}   {median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]")


def update_of(name: str, batch: int, *, plain: bool) -> Callable[[], object]:
    """The update of a method or of its plain form, on the paper's encoder in float32."""
    kind, knobs = METHODS[name], METHODS[name].Config()
    if hasattr(knobs, "queue_size"):  # the plain queue needs a multiple of the batch
        known: Any = knobs
        knobs = replace(known, queue_size=max(known.queue_size // batch, 1) * batch)
    if plain:
        kind = PLAIN[name]
        knobs = released_knobs(knobs) if kind is PlainReleased else knobs
    method = new_method(kind, knobs, PlainDilated if plain else Dilated, DilatedConfig())
    return pretraining_update(method, knobs, 300, batch, "float32")


def main(batch: int) -> None:
    """Print a row per method, and one of preparation."""
    print(f"{torch.get_num_threads()} threads, {batch} pairs at most")
    print(f"{'':14} {'ours ms':>10} {'plain ms':>10}   plain / ours")
    for name in PLAIN:
        size = min(batch, MOST_PAIRS.get(name, batch))
        print_ratio(name, {form: update_of(name, size, plain=form == "plain") for form in ("plain", "ours")})
    signal = simulate("NORM", seed=0, seconds=10.0, fs=500.0)
    print_ratio(
        "preparation", {"plain": lambda: plain_heartbeats(signal, 500.0), "ours": lambda: heartbeats(signal, 500.0)}
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 32)
