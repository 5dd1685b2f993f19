"""Two measurements of docs/evidence/SPEED.md: python docs/evidence/speed/make.py [--device cuda]

Updates on a corpus that is read from disk against the same updates on one in memory. Two processes take turns, round
after round. The one that streams begins with a cold file and, on a CPU under Linux, may take no more memory than half
of the corpus.

Tasks per hour of a small grid with 1, 2 and 4 workers: whole runs, each with a store of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import StringIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmark.cli.run import GridRequest, run_grid
from benchmark.config.command_line import OK
from benchmark.config.config import Config, load_config
from benchmark.config.flags import Folders
from benchmark.data.batches import MappedSignal, PairSource, batches_ahead, bytes_of_batch
from benchmark.data.trials import Trials
from benchmark.extras.speed import FULL, Setting, base_setting, build, ratio, ratio_text
from benchmark.machine.device import seed_torch, stream
from benchmark.machine.processes import PROCESS_STATUS, keep_freed_memory
from benchmark.machine.ranks import Machine
from benchmark.run.estimate import synchronise
from benchmark.screen import open_console
from benchmark.training.health import count_positives
from benchmark.training.pretrain import make_optimiser, train_step
from methods.pmq import PMQConfig

WORKERS = (1, 2, 4)
SPEED_GRID = {
    "methods": ["random", "moco", "pmq"],
    "data.datasets": ["chapman"],
    "data.simulation.patients": {"mimic-iv-ecg": 100, "chapman": 200},
    "gates": [],
    "ratios": [0.3],
    "seeds": [41, 42, 43, 44],
    "evaluate": ["finetune"],
}
"""Of the config `demo`: six encoders, four of them untrained, and twelve fine-tunings, seconds each."""


def tasks_per_hour(machine: Machine, workers: Sequence[int] = WORKERS) -> dict[int, float]:
    """Number of workers -> tasks per hour of the small grid on the machine's device."""
    config = load_config("demo", SPEED_GRID)
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        return {count: timed(config, replace(machine, jobs=count, compiled=False), Path(folder)) for count in workers}


def timed(config: Config, machine: Machine, folder: Path) -> float:
    """Tasks per hour of a run of the grid in a folder, whose data are shared by the runs.

    A run is timed by its files, from the plan, which is written before the first task begins, to the last row. Raises
    RuntimeError if a task fails.
    """
    own = folder / str(machine.jobs)
    place = Folders(None, {}, folder / "cache", simulated=folder / "simulated")
    quiet = open_console(StringIO())
    if run_grid(GridRequest(config, place, machine, own / "runs", own / "out"), quiet) != OK:
        raise RuntimeError("a task of the small grid has failed")
    begun = min(path.stat().st_mtime for path in (own / "runs" / "plans").glob("*.json"))
    cells = [path.stat().st_mtime for path in (own / "runs" / "cells").glob("*.json")]
    encoders = sum(path.is_dir() for path in (own / "runs" / "pretrained").iterdir())
    return 3600 * (len(cells) + encoders) / (max(cells) - begun)


PER_TRIAL, LEADS = 10, 12
UPDATES = 8
"""Of a round, whose windows are a block."""
TILE = 64
"""Pseudo-trials of noise, which the file repeats."""
LIMIT_SHARE, LEAST_LIMIT = 0.5, 64 * 2**20
"""Of the corpus, and at least in bytes: what the streaming process may take beyond what its first update took."""
MEMORY, DISK = "memory", "disk"


@dataclass(frozen=True)
class Corpus:
    """A file of pseudo-trials of noise; picklable."""

    file: Path
    trials: int
    samples: int
    """S, of a window."""

    @property
    def bytes(self) -> int:
        """Of the file."""
        return self.trials * PER_TRIAL * self.samples * LEADS * 2


def streaming_speed(setting: Setting, mebibytes: int, rounds: int) -> list[str]:
    """Lines of what was measured with a corpus of so many MiB, in the folder for temporary files."""
    each = PER_TRIAL * setting.samples * LEADS * 2
    least = setting.batch * (UPDATES * (rounds + 1) + 2) * 2 // PER_TRIAL + 1
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        corpus = Corpus(Path(folder) / "corpus.f16", max(mebibytes * 2**20 // each, least), setting.samples)
        write(corpus)
        limited = setting.device == "cpu" and sys.platform.startswith("linux")
        limit = max(int(LIMIT_SHARE * corpus.bytes), LEAST_LIMIT) if limited else None
        sides = {MEMORY: side(corpus, setting, False, None), DISK: side(corpus, setting, True, limit)}
        wall: dict[str, list[float]] = {name: [] for name in sides}
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        with sides[MEMORY] as memory, sides[DISK] as disk:
            for number in range(rounds + 1):
                for name, run in ((MEMORY, memory), (DISK, disk)):
                    taken = run()
                    if number > 0:
                        wall[name].append(taken[0])
                        cpu[name].append(taken[1])
    limited_to = "" if limit is None else f", a process that may take {limit / 2**30:.2f} GiB more"
    each = ", ".join(f"{name} {1000 * median(times) / UPDATES:.1f} ms" for name, times in wall.items())
    return [
        f"a corpus of {corpus.bytes / 2**30:.2f} GiB read from disk{limited_to}: "
        f"an update of {setting.batch} pairs, {each}",
        f"memory / disk {ratio_text(ratio(wall[MEMORY], wall[DISK]))}, of processor time "
        f"{ratio_text(ratio(cpu[MEMORY], cpu[DISK]))}",
    ]


def write(corpus: Corpus) -> None:
    """Write the file and let the system forget it, so that it is read from the disk."""
    tile = np.random.default_rng(0).standard_normal((TILE * PER_TRIAL * corpus.samples, LEADS), np.float32)
    content = tile.astype(np.float16).tobytes()
    with open(corpus.file, "wb") as file:
        for written in range(0, corpus.bytes, len(content)):
            file.write(content[: corpus.bytes - written])
        file.flush()
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def side(
    corpus: Corpus, setting: Setting, streamed: bool, limit: int | None
) -> Iterator[Callable[[], tuple[float, float]]]:
    """A process that makes updates; within, a function that does a round in it: wall and CPU seconds.

    Raises EOFError if the process ends, e.g. for want of memory.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (theirs, corpus, setting, streamed, limit, torch.get_num_threads())
    process = context.Process(target=serve, args=arguments, daemon=True)
    process.start()
    theirs.close()

    def run() -> tuple[float, float]:
        ours.send(True)
        found: tuple[float, float] = ours.recv()
        return found

    try:
        ours.recv()  # it is ready
        yield run
    finally:
        ours.close()
        process.join(1)
        process.terminate()


def serve(
    connection: Connection, corpus: Corpus, setting: Setting, streamed: bool, limit: int | None, threads: int
) -> None:
    """Do a round for each message until the other end is closed."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    with updates(corpus, setting, streamed) as update:
        update()
        if limit is not None:
            limit_data(limit)
        connection.send(True)
        while True:
            try:
                connection.recv()
            except EOFError:
                return
            synchronise(torch.device(setting.device))
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(UPDATES):
                update()
            synchronise(torch.device(setting.device))
            connection.send((time.perf_counter() - wall, time.process_time() - cpu))


def limit_data(further: int) -> None:
    """Refuse this process more memory than it has and so many bytes; file maps do not count (Linux)."""
    import resource

    lines = (line.split() for line in PROCESS_STATUS.read_text().splitlines())
    used = next(1024 * int(words[1]) for words in lines if words[0] == "VmData:")
    resource.setrlimit(resource.RLIMIT_DATA, (used + further, resource.RLIM_INFINITY))


@contextmanager
def updates(corpus: Corpus, setting: Setting, streamed: bool) -> Iterator[Callable[[], object]]:
    """Within, a function that makes the next update of an epoch, its batch included."""
    device = torch.device(setting.device)
    source, method = source_of(corpus, device, streamed), build(setting).to(device)
    method.train()
    optimiser, pairing = make_optimiser(method, setting.config.recipe), setting.config.pairing
    pairs = torch.randperm(source.pairs, generator=torch.Generator().manual_seed(0))
    pairs = pairs[: len(pairs) // setting.batch * setting.batch].view(-1, setting.batch).to(device)  # (n, B)
    block = UPDATES * bytes_of_batch(corpus.samples, LEADS, setting.batch, pairing)
    steps = iter(range(len(pairs)))
    with batches_ahead(source, pairs, pairing, lambda step: stream("speed", step), block_bytes=block) as batch_at:

        def update() -> object:
            step = next(steps)
            seed_torch("speed", step)
            batch = batch_at(step)
            count_positives(method.positives(batch), device)
            return train_step(method, optimiser, batch, setting.config.recipe.lr, setting.precision)

        yield update


def source_of(corpus: Corpus, device: torch.device, streamed: bool) -> PairSource:
    """The corpus on disk or, as a run holds it, in memory; two recordings of one pseudo-trial to a patient."""
    every = np.arange(corpus.trials)
    samples = np.memmap(corpus.file, np.float16, "r", shape=(corpus.trials * PER_TRIAL * corpus.samples, LEADS))
    trials = Trials(samples, every * PER_TRIAL * corpus.samples, corpus.samples, every, every, PER_TRIAL, ())
    mapped = MappedSignal(trials, every, device)
    signal = mapped if streamed else torch.from_numpy(trials.take(every)).view(mapped.shape).to(device)
    return PairSource(signal, torch.from_numpy(every + 1).to(device), torch.from_numpy(every // 2 + 1).to(device))


def main() -> None:
    """Measure both and print the lines."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--device", default="cpu", help="cpu or cuda (cpu)")
    asked.add_argument("--precision", default="float32", help="float32 or bf16 (float32)")
    asked.add_argument("--mebibytes", type=int, default=1024, help="size of the corpus (1024)")
    given = asked.parse_args()
    machine = Machine(torch.device(given.device), given.precision, 1)
    base = base_setting(load_config("laptop"), machine.device, FULL)
    pmq = replace(base, method="pmq", config=PMQConfig(queue_size=FULL.queue), precision=machine.precision)
    print(*streaming_speed(pmq, given.mebibytes, FULL.rounds), sep="\n")
    for workers, tasks in tasks_per_hour(machine).items():
        print(f"a small grid with {workers} worker{'' if workers == 1 else 's'}: {tasks:.0f} tasks per hour")


if __name__ == "__main__":
    main()
