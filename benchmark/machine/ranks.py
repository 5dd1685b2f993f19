"""Ranks: processes that pretrain one encoder together; and the machine of a run, as result keys hold it.

    RANK, WORLD_SIZE                this process among all, and their number
    LOCAL_RANK, LOCAL_WORLD_SIZE    the same on this machine
    MASTER_ADDR, MASTER_PORT        where they meet

Without WORLD_SIZE, or with 1, a process is alone. Rank 0 runs the command and lets the other ranks call functions
(`first_rank_calls`, `call_on_other_ranks`, `serve_calls`). An engine may as well start one task in every rank.

Device, precision and concurrency of a run, and which of them result keys hold.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch

NUMBERS = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
PLACES = ("MASTER_ADDR", "MASTER_PORT")
MEETING_SECONDS = 600
"""Most that ranks wait for each other at first."""
POLL_SECONDS = 0.1
"""Between two looks for what the leader says."""
AGREEMENT_SECONDS = 10.0
"""Most that a failed rank waits for the others to fail alike."""


class Ranks(NamedTuple):
    """A process among those that pretrain together."""

    rank: int = 0
    size: int = 1
    """Of all, over all machines."""
    local: int = 0
    """Its number on its machine."""
    on_machine: int = 1


class RankFailed(BaseException):
    """A rank failed where others did not, so that all end. The message is empty where another rank tells."""


@dataclass
class _Meeting:
    """What this process shares with the other ranks; torch keeps the rest."""

    store: Any = None
    told: int = 0
    """Tasks that the leader has handed out."""


_meeting = _Meeting()


def is_alone(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an environment describes one process."""
    return environment.get("WORLD_SIZE", "1") == "1"


def read_ranks(environment: Mapping[str, str] = os.environ) -> Ranks:
    """The ranks that an environment describes. Raises ValueError where it describes them in part or wrongly."""
    if is_alone(environment):
        return Ranks()
    size = environment["WORLD_SIZE"]
    for name in (*NUMBERS, *PLACES):
        value = environment.get(name, "")
        if not (value.isdecimal() if name in NUMBERS else value):
            found = repr(value) if value else "not set"
            raise ValueError(
                f"WORLD_SIZE is {size!r}, and {name} is {found}: start the processes with torchrun, or unset WORLD_SIZE"
            )
    count, rank, local, on_machine = (int(environment[name]) for name in NUMBERS)
    if not (rank < count and local < on_machine <= count):
        raise ValueError(
            f"RANK {rank} of WORLD_SIZE {count}, LOCAL_RANK {local} of LOCAL_WORLD_SIZE {on_machine}: ranks count from "
            "0, and a machine has no more of them than there are; start the processes with torchrun"
        )
    return Ranks(rank, count, local, on_machine)


def own_device(device: torch.device, ranks: Ranks) -> torch.device:
    """The device of this rank: of several GPUs the one of its number. Raises ValueError where that is not there."""
    import torch  # here, because it loads slowly and every command reads the ranks

    if device.type != "cuda" or ranks.size == 1:
        return device
    there = torch.cuda.device_count()
    if there == 1:  # a cluster may show each process a GPU of its own
        return torch.device("cuda", 0)
    if ranks.local >= there:
        raise ValueError(
            f"LOCAL_RANK {ranks.local} has no GPU: torch sees {there} CUDA devices; start at most {there} processes "
            f"on this machine (--nproc-per-node {there})"
        )
    return torch.device("cuda", ranks.local)


def join(ranks: Ranks, device: torch.device) -> None:
    """Meet the other ranks, once per process: gloo between CPUs, nccl between GPUs. Raises RankFailed after a while.

    On CPUs the ranks of a machine share its cores.
    """
    import torch
    import torch.distributed as dist

    from benchmark.machine.device import cores

    if ranks.size == 1 or dist.is_initialized():
        return
    store = _meet(ranks)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    elif torch.get_num_threads() * ranks.on_machine > cores():
        torch.set_num_threads(max(1, cores() // ranks.on_machine))
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=ranks.rank, world_size=ranks.size)


def _meet(ranks: Ranks) -> Any:
    """The store of keys that all ranks share. Raises RankFailed where they do not meet."""
    if _meeting.store is None:
        from torch.distributed.rendezvous import rendezvous

        place = ":".join(os.environ[name] for name in PLACES)
        try:
            patience = timedelta(seconds=MEETING_SECONDS)
            _meeting.store = next(rendezvous("env://", ranks.rank, ranks.size, timeout=patience))[0]
        except (RuntimeError, OSError, ValueError) as error:
            raise RankFailed(
                f"rank {ranks.rank} of {ranks.size} met no others at {place} ({str(error).splitlines()[0]}): start as "
                "many processes as WORLD_SIZE says, with a port that is free"
            ) from None
    return _meeting.store


def all_reduce_max(value: int) -> int:
    """The largest of the ranks' values; waits for all ranks, and for no device."""
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        return value
    shared = torch.tensor(value)  # ()
    dist.all_reduce(shared, dist.ReduceOp.MAX)
    return int(shared)


def broadcast(value: Any) -> Any:
    """The first rank's value, on all."""
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        return value
    values = [value]
    dist.broadcast_object_list(values, 0, device=torch.device("cpu"))
    return values[0]


@contextmanager
def first_rank_calls(ranks: Ranks) -> Iterator[None]:
    """Context in which this process, the first rank, can call functions on the other ranks; they end with it."""
    if ranks.size == 1:
        yield
        return
    store = _meet(ranks)
    try:
        yield
    finally:
        with suppress(RuntimeError):
            _hand_out(None, ())
    until = time.monotonic() + AGREEMENT_SECONDS
    while store.add("ended", 0) < ranks.size - 1 and time.monotonic() < until:
        time.sleep(POLL_SECONDS)  # this process may hold the store


def call_on_other_ranks(function: Callable[..., object], *arguments: Any) -> None:
    """Let every other rank call a function; it and its arguments are picklable."""
    _hand_out(function, arguments)


def _hand_out(function: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    _meeting.store.set(f"task/{_meeting.told}", pickle.dumps((function, arguments)))
    _meeting.told += 1


def serve_calls(ranks: Ranks) -> None:
    """Call the functions that the first rank asks for until it ends. Raises RankFailed if it is killed."""
    store = _meet(ranks)
    while True:
        try:
            key = f"task/{_meeting.told}"
            while not store.check([key]):
                time.sleep(POLL_SECONDS)
            function, arguments = pickle.loads(store.get(key))
            if function is None:
                store.add("ended", 1)
                return
        except RuntimeError:  # the process that held the store has ended
            raise RankFailed from None
        _meeting.told += 1
        function(*arguments)


def fail_alike(ranks: Ranks, task: str, why: str) -> None:
    """Return where every rank fails at a task for the same reason. Raises RankFailed where one fails alone."""
    if ranks.size == 1:
        return
    store, counter = _meet(ranks), f"failed/{task}"
    try:
        place = store.add(counter, 1)
        store.set(f"{counter}/{place}", why)
        alike = place == 1 or store.get(f"{counter}/1").decode() == why
        until = time.monotonic() + AGREEMENT_SECONDS
        while alike and time.monotonic() < until:
            if store.add(counter, 0) == ranks.size:
                if all(store.get(f"{counter}/{n}").decode() == why for n in range(1, ranks.size + 1)):
                    return
                break
            time.sleep(POLL_SECONDS)
    except RuntimeError:  # the process that held the store has ended
        raise RankFailed from None
    if place > 1:
        raise RankFailed
    raise RankFailed(f"rank {ranks.rank} of {ranks.size} on {socket.gethostname()} failed, so all end: {task}: {why}")


@dataclass(frozen=True)
class Machine:
    """Device, precision and concurrency of a run."""

    device: torch.device
    precision: str
    jobs: int
    """Concurrent cells, on a CPU pretrainings too."""
    compiled: bool = False
    """Pretrain with torch.compile."""
    ranks: int = 1
    """Processes that pretrain one encoder together."""
    devices: int = 1
    """Devices that share the jobs."""

    def mode(self) -> dict[str, str | int]:
        """Properties of the machine that enter result keys: bits are equal within one mode, for equal threads."""
        mode: dict[str, str | int] = {"device": self.device.type, "precision": self.precision}
        return mode | ({"compiled": True} if self.compiled else {}) | ({"ranks": self.ranks} if self.ranks > 1 else {})

    def concurrent(self, pretrainings: int) -> int:
        """Concurrent pretrainings of so many: `jobs` on a CPU, one on each GPU, one of several ranks."""
        if self.ranks > 1:
            return 1
        return max(1, min(self.jobs if self.device.type == "cpu" else self.devices, pretrainings))

    def concurrent_on_a_device(self, concurrent: int) -> int:
        """Most of so many concurrent pretrainings on one device."""
        return -(-concurrent // self.devices)

    def pretraining_threads(self, concurrent: int) -> int:
        """Threads of each of so many concurrent pretrainings."""
        import torch  # here, because it loads slowly and every command reads the ranks

        return max(1, torch.get_num_threads() // concurrent)

    def cell_threads(self) -> int:
        """Threads per cell process: one on a CPU, so that results do not depend on the number of cores."""
        import torch  # here, because it loads slowly and every command reads the ranks

        return 1 if self.device.type == "cpu" else torch.get_num_threads()


def in_ranks(machine: Machine) -> bool:
    """Whether this process is the first of the ranks that pretrain together, which do what it hands out."""
    return machine.ranks > 1 and not is_alone()
