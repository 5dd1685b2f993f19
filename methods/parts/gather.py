"""Distributed training: keys and ids of all processes, so that each holds the same queue."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor


def join_processes(rank: int, processes: int, meeting: Path) -> None:
    """Make this process number `rank` of several on the CPUs of one machine.

    `meeting` is the rendezvous file: the same path for all, which must not exist yet.
    """
    dist.init_process_group("gloo", init_method=f"file://{meeting.absolute()}", rank=rank, world_size=processes)


@torch.no_grad()
def gather(x: Tensor) -> Tensor:
    """Concatenate a tensor of equal shape from all ranks, in rank order: (B, ...) -> (ranks * B, ...).

    Without gradient. On one process it is the tensor itself.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return x
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.contiguous())
    return torch.cat(parts)
