"""Train methods in two processes, each with half of every batch, by the steps of the trainer, and compare the states.

Gradients are averaged, batch normalisation is over both halves, and queue entries pass through `gather`, so parameters
and buffers stay equal.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any

import torch
from torch import Tensor

from benchmark.machine.seeds import seed_torch
from benchmark.training.batch_norm import over_ranks
from benchmark.training.pretrain import train_step
from benchmark.verbs.contract.tryout import RATE, SHARED, small_method, small_optimiser, training_batch
from methods import METHODS, get_method
from methods.base import Batch, PretrainMethod
from methods.encoders import ENCODERS, get_encoder
from methods.encoders.base import Encoder
from methods.parts.gather import gather, join_processes

PROCESSES = 2
UPDATES = 4
LIMIT = 120.0
"""Time limit in seconds, in case the processes wait for each other."""
MESSAGE_WIDTH = 200

Knobs = dict[str, Any]
State = dict[str, Tensor]


def train_together(
    methods: Sequence[tuple[type[PretrainMethod], Knobs]], encoder: type[Encoder] = SHARED
) -> list[tuple[State, State]]:
    """Train each (method, knobs) in two processes; returns the state of both for each method.

    Raises RuntimeError if a process fails or `LIMIT` is exceeded.
    """
    tasks = [(source_of(kind, METHODS), knobs) for kind, knobs in methods]
    source = source_of(encoder, ENCODERS)
    context = get_context("spawn")
    with TemporaryDirectory() as name:
        folder = Path(name)
        workers: list[BaseProcess] = [
            context.Process(target=train_as, args=(rank, folder, tasks, source), daemon=True)
            for rank in range(PROCESSES)
        ]
        for worker in workers:
            worker.start()
        try:
            wait_for(workers, folder)
        finally:
            for worker in workers:
                worker.kill()
                worker.join()
        first, second = (torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(PROCESSES))
    return list(zip(first, second, strict=True))


def source_of(kind: type[PretrainMethod] | type[Encoder], table: Mapping[str, type]) -> str:
    """Name or file by which another process can load a class. Raises ValueError if there is neither."""
    if table.get(getattr(kind, "name", "")) is kind:
        return kind.name
    if kind.__module__.endswith(".py"):
        return kind.__module__
    raise ValueError(
        f"{kind.__name__} is none of {', '.join(table)}: put it into a file of its own, which another process can load"
    )


def wait_for(workers: Sequence[BaseProcess], folder: Path) -> None:
    """Wait until all have exited. Raises RuntimeError when one fails or after `LIMIT` seconds."""
    deadline = time.monotonic() + LIMIT
    while True:
        codes = [worker.exitcode for worker in workers]
        if any(codes):
            # The first failure is the cause; the other may be its consequence.
            reasons = sorted(folder.glob("*.txt"), key=lambda file: file.stat().st_mtime_ns)
            raise RuntimeError(reasons[0].read_text(encoding="utf-8") if reasons else "a process was killed")
        running = [worker.sentinel for worker, code in zip(workers, codes, strict=True) if code is None]
        if not running:
            return
        if not connection.wait(running, timeout=max(0.0, deadline - time.monotonic())):
            raise RuntimeError(f"not done after {LIMIT:g} s: does every process call `gather` equally often?")


def train_as(rank: int, folder: Path, tasks: Sequence[tuple[str, Knobs]], encoder: str) -> None:
    """Main function of a process: join the group, train, write the state to the folder, exit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the parent acts
    torch.set_num_threads(1)
    doing = "joining the other process"
    try:
        join_processes(rank, PROCESSES, folder / "meeting")
        held = []
        for doing, knobs in tasks:
            held.append(train_half(get_method(doing), get_encoder(encoder), knobs, rank))
        torch.save(held, folder / f"{rank}.pt")
        gather(torch.zeros(1))  # a process that leaves early would fail the other's last exchange
    except Exception as error:
        (folder / f"{rank}.txt").write_text(f"{doing}: {in_one_line(error)}", encoding="utf-8")
        os._exit(1)
    os._exit(0)  # gloo's threads may abort the interpreter's own exit


def train_half(kind: type[PretrainMethod], encoder: type[Encoder], knobs: Knobs, rank: int) -> State:
    """The state of a small method trained on this process's half of the batches."""
    method = small_method(kind, encoder, **knobs)
    method.begin(UPDATES)
    optimiser = small_optimiser(method)
    with over_ranks(method, "synchronised"):
        for update in range(UPDATES):
            batch = half_of(training_batch(kind, update), rank)
            seed_torch("two processes", update, rank)  # masks differ between processes
            train_step(method, optimiser, batch, RATE, "float32")
    return method.state_dict()


def in_one_line(error: Exception) -> str:
    """Type of an error and the first line of its message, truncated."""
    first_line = next(iter(str(error).splitlines()), "without a message")
    return f"{type(error).__name__}: {shorten(first_line, MESSAGE_WIDTH, placeholder=' ...')}"


def half_of(batch: Batch, rank: int) -> Batch:
    """A process's share of a batch, whose size is a multiple of `PROCESSES`."""
    return Batch(*(None if part is None else part.chunk(PROCESSES)[rank] for part in batch))  # type: ignore[arg-type]
