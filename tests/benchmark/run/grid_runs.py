"""Runs of a small config as processes, as a user starts them, in one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.run.progress import PROGRESS

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
methods: [random, moco, pmq]
data:
  datasets: [chapman]
  simulation: {patients: {mimic-iv-ecg: 6, chapman: 40}, recordings_per_patient: 2}
encoder: {hidden: 4, depth: 2, output: 8}
hyperparameters: {moco: {queue_size: 16}, pmq: {queue_size: 16}}
pretrain: {epochs: 60, recipe: {batch_size: 8}}
finetune: {epochs: 1, batch_size: 64}
evaluate: [linear]
ratios: [0.5]
seeds: [41, 42]
baselines: []
precision: float32
"""
ENDLESS = ["--methods", "random", "--evaluate", "finetune", "--set", "finetune.epochs=1000000"]
DASK = (sys.executable, "-m", "dask")
HANGS = 300  # seconds after which a run is taken to hang; a busy machine needs minutes
STOPPED = "error: stopped; what is finished is saved, and the same command goes on from there\n"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}


class Runs:
    """Runs in one folder, each with tables and a log of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        (folder / "tiny.yaml").write_text(CONFIG)

    def start(self, *flags: str) -> subprocess.Popen[bytes]:
        out = f"out{len(self.started)}"
        words = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--out", out, *flags]
        self.started.append(self.process(out, sys.executable, str(ROOT / "run_benchmark.py"), *words))
        return self.started[-1]

    def process(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """A process of a session of its own, with its output in NAME.log and NAME.err."""
        with open(self.folder / f"{name}.log", "wb") as log, open(self.folder / f"{name}.err", "wb") as errors:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **ENVIRONMENT},
                stdout=log,
                stderr=errors,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # as a terminal has it
            )

    def output(self, number: int, end: str = "log") -> str:
        return (self.folder / f"out{number}.{end}").read_text()

    def table(self, number: int) -> list[str]:
        return (self.folder / f"out{number}" / "results.md").read_text().splitlines()

    def in_training(self) -> list[Path]:
        """Progress files of the pretrainings under way."""
        return list((self.folder / "runs").glob(f"pretrained/*/{PROGRESS}"))

    def finish(self, number: int) -> None:
        status = self.started[number].wait(HANGS)
        assert status == 0, self.output(number) + self.output(number, "err")

    def until(self, so: Callable[[], object]) -> None:
        """Wait while the last run goes on."""
        number = len(self.started) - 1

        def is_so() -> object:
            result = so()
            assert result or self.started[number].poll() is None, self.output(number) + self.output(number, "err")
            return result

        until(is_so)


@contextmanager
def runs_in(folder: Path) -> Iterator[Runs]:
    """Runs that are killed at the end."""
    runs = Runs(folder)
    try:
        yield runs
    finally:
        for process in runs.started:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a session."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def group_of(pid: int) -> int:
    """Process group of a process that runs; 0 of one that has ended."""
    try:
        state, _, group = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:3]
    except OSError:
        return 0
    return 0 if state == "Z" else int(group)


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and was not waited for does not."""
    return group_of(pid) != 0


def members(group: int) -> list[int]:
    """The processes of a group that run, the leader first."""
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return sorted((pid for pid in pids if group_of(pid) == group), key=lambda pid: (pid != group, pid))


def workers(group: int) -> list[int]:
    """The processes of a session that multiprocessing has spawned as workers."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in members(group)}
    return [pid for pid, command in commands.items() if b"spawn_main" in command]


@contextmanager
def scheduler(runs: Runs) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """A scheduler with its file in the folder of some runs; the result starts a worker, as docs/MACHINES.md does."""
    file = runs.folder / "scheduler.json"
    processes = [
        runs.process("scheduler", *DASK, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                     "--scheduler-file", str(file))
    ]  # fmt: skip

    def worker(name: str, *flags: str, threads: int = 1) -> subprocess.Popen[bytes]:
        words = ["worker", "--scheduler-file", str(file), "--nthreads", str(threads), "--memory-limit", "0"]
        processes.append(runs.process(name, *DASK, *words, "--no-dashboard", "--death-timeout", "60", *flags))
        return processes[-1]

    until(file.exists)
    try:
        yield worker
    finally:
        for process in reversed(processes):
            kill(process)


def until(so: Callable[[], object]) -> None:
    """Wait until something is so."""
    patience = time.monotonic() + HANGS
    while not so():
        assert time.monotonic() < patience
        time.sleep(0.02)
