"""What runs in a job: its tasks one by one. Near its time limit, or pre-empted, it saves and goes back to the queue.

submitit asks `checkpoint` what to requeue; it is the same job again, since all that was done stands in the store.
SIGUSR2 comes before the time limit. SIGTERM comes before a pre-emption and a cancellation: then the job saves and waits
for its end, because which of the two it is only the cluster knows.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from benchmark.machine.ranks import follow, leading, read_ranks
from benchmark.machine.stop import SIGNALS, Stopped, stops_on_signals
from benchmark.run.engines.engine import Not, Task, Tell

AGAIN_SECONDS = 5.0
"""Between two looks at tasks that another runner holds."""
PATIENCE_SECONDS = 240.0
"""Most that a job waits for those; longer than a claim of a killed process holds (benchmark.run.work.claims)."""
END_SECONDS = 600
"""Most that a job that was asked to end waits for its end."""
TOLD_SECONDS = 60.0
"""Between two lines about a running task in the log."""
LOWEST_PORT, PORTS = 20_000, 12_000
"""Below those that Linux gives to outgoing connections, 32,768 and above."""


@dataclass(frozen=True)
class SlurmJob:
    """A function and its tasks; called in the job, by submitit."""

    payload: bytes
    """Pickled (function, tasks). Pickled apart, since submitit's own pickle takes code of a method's file along."""
    grace: float
    """Seconds that it may take to save."""

    @classmethod
    def of(cls, function: Callable[[Any, Tell], Any], tasks: Sequence[Task[Any]], grace: float) -> SlurmJob:
        """The job of some tasks."""
        return cls(pickle.dumps((function, list(tasks))), grace)

    def __call__(self) -> list[str]:
        """Run the tasks; returns the keys of those that other runners hold. Of several processes the first leads."""
        os.environ |= rank_variables(os.environ)
        ranks = read_ranks()
        requeue = signal.getsignal(signal.SIGUSR2)
        heard: list[int] = []
        try:
            with stops_on_signals(lambda: None, (*SIGNALS, signal.SIGUSR2), self.grace), heard_once(heard):
                if ranks.rank > 0:
                    follow(ranks)
                    return []
                with leading(ranks):
                    return run_in_turn(*pickle.loads(self.payload))
        except Stopped as stop:
            print(
                f"asked to stop by signal {heard[0] if heard else '?'}; {stop.saved or 'nothing to save'}", flush=True
            )
            if signal.SIGUSR2 not in heard:
                time.sleep(END_SECONDS)  # until the cluster ends it, or SIGUSR2 comes after all
            if callable(requeue):
                requeue(signal.SIGUSR2, None)
            raise

    def checkpoint(self) -> Any:
        """What submitit puts back into the queue: the job as it is."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


@contextmanager
def heard_once(heard: list[int]) -> Iterator[None]:
    """Within, the first signal that stops is passed on, and all are noted: a second does not end the saving."""
    numbers = (*SIGNALS, signal.SIGUSR2)
    inner = {number: signal.getsignal(number) for number in numbers}

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        handler = inner[signal.Signals(number)]
        if len(heard) == 1 and callable(handler):
            handler(number, frame)

    for number in numbers:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in inner.items():
            signal.signal(number, handler)


def run_in_turn(function: Callable[[Any, Tell], Any], tasks: Sequence[Task[Any]]) -> list[str]:
    """Run tasks one by one, those that other runners hold again later; returns the keys of what is left to them."""
    left, until = list(tasks), time.monotonic() + PATIENCE_SECONDS
    while left:
        before, left = left, [task for task in left if run_one(function, task) is Not.YET]
        if len(left) < len(before):
            until = time.monotonic() + PATIENCE_SECONDS
        if left and time.monotonic() > until:
            break
        time.sleep(AGAIN_SECONDS if left else 0.0)
    return [task.key for task in left]


def run_one(function: Callable[[Any, Tell], Any], task: Task[Any]) -> Any:
    """Run a task and tell of it in the log; its progress once a minute."""
    print(f"{task.name} begins", flush=True)
    spoke = started = time.monotonic()

    def tell(news: Any) -> None:
        nonlocal spoke
        if isinstance(news, tuple) and time.monotonic() - spoke >= TOLD_SECONDS:
            spoke = time.monotonic()
            print(*news, flush=True)

    answer = function(task.work, tell)
    how = "is held by another runner" if answer is Not.YET else f"ended after {time.monotonic() - started:.0f} s"
    print(f"{task.name} {how}", flush=True)
    return answer


def rank_variables(given: Any) -> dict[str, str]:
    """The variables by which torchrun tells a process its rank, for a job of several processes; {} for one.

    The port comes from the job's id, so that two jobs on a node do not share one.
    """
    world = int(given.get("SLURM_NTASKS", "1"))
    if world <= 1:
        return {}
    return {
        "RANK": given["SLURM_PROCID"],
        "WORLD_SIZE": str(world),
        "LOCAL_RANK": given["SLURM_LOCALID"],
        "LOCAL_WORLD_SIZE": str(world // int(given.get("SLURM_JOB_NUM_NODES", "1"))),
        "MASTER_ADDR": given.get("SLURM_LAUNCH_NODE_IPADDR") or given["SLURMD_NODENAME"],
        "MASTER_PORT": str(LOWEST_PORT + int(given["SLURM_JOB_ID"]) % PORTS),
    }


def log_of(folder: Path, job: str) -> Path:
    """The log of a job."""
    return folder / f"{job}_0_log.out"
