"""Time and memory measurements for a busy machine: jobs in turns, median and range."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median
from typing import Any

import torch

from benchmark.machine.memory import peak_memory_gib

Seconds = list[float]
GEMM_SIZE = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the square matrices of `gemm_flops`, by device type."""
GEMM_ROUNDS = 5
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Ratio:
    """Ratio of the times of two jobs over rounds."""

    median: float
    lowest: float
    highest: float


def ratio(slow: Sequence[float], fast: Sequence[float]) -> Ratio:
    """Ratio slow / fast of two jobs of `in_turns`, paired by round."""
    each = [a / b for a, b in zip(slow, fast, strict=True)]
    return Ratio(median(each), min(each), max(each))


def in_turns(
    jobs: Mapping[str, Callable[[], object]],
    rounds: int,
    device: torch.device,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Seconds]:
    """Seconds of each job in each round; every round runs all jobs once, after one uncounted round.

    Other load slows the jobs of a round alike, so their ratio is more reliable than either time.
    """
    seconds: dict[str, Seconds] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            synchronise(device)
            started = clock()
            job()
            synchronise(device)
            if number > 0:
                seconds[name].append(clock() - started)
    return seconds


def synchronise(device: torch.device) -> None:
    """Wait for all queued work of the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def gemm_flops(device: torch.device, precision: str) -> float:
    """Floating-point operations per second of one large matrix product, measured now."""
    size = GEMM_SIZE[device.type]
    a = torch.randn(size, size, device=device).to(DTYPES[precision])
    seconds = in_turns({"gemm": lambda: a @ a}, GEMM_ROUNDS, device)["gemm"]
    return float(2 * size**3 / median(seconds))


def peak_growth(begin: Callable[..., Callable[[], object]], arguments: tuple[Any, ...], device: torch.device) -> float:
    """Growth of peak memory in GiB while `begin(*arguments)()` runs in a new process, without that of `begin` itself.

    Raises BrokenProcessPool if the process is killed, e.g. out of memory.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_growth, begin, arguments, str(device), torch.get_num_threads()).result()


def _growth(begin: Callable[..., Callable[[], object]], arguments: tuple[Any, ...], device: str, threads: int) -> float:
    torch.set_num_threads(threads)
    job = begin(*arguments)
    before = peak_memory_gib(torch.device(device))
    job()
    return peak_memory_gib(torch.device(device)) - before
