"""Several ranks: the processes that train one method together, each on its share of every batch.

The loss of a step is the mean of the ranks' losses, and its gradient the mean of their gradients. A loss that is a mean
over pairs needs no exchange. One that compares the pairs of a batch is computed on every rank, from the outputs and ids
of all ranks: it is then the loss of the whole batch. On one process every function here is the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def join_processes(rank: int, processes: int, meeting: Path) -> None:
    """Make this process number `rank` of several on the CPUs of one machine.

    `meeting` is the rendezvous file: the same path for all, which must not exist yet.
    """
    dist.init_process_group("gloo", init_method=f"file://{meeting.absolute()}", rank=rank, world_size=processes)


def rank_and_ranks() -> tuple[int, int]:
    """Number of this process among the ranks, and how many they are: (0, 1) on one process."""
    if not (dist.is_available() and dist.is_initialized()):
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


@torch.no_grad()
def gather(x: Tensor) -> Tensor:
    """Concatenate keys or ids of equal shape from all ranks, in rank order: (B, ...) -> (ranks * B, ...).

    Without gradient. On one process it is the tensor itself.
    """
    return x if rank_and_ranks()[1] == 1 else torch.cat(of_each_rank(x))


def gather_with_gradient(x: Tensor, dim: int = 0) -> Tensor:
    """Concatenate outputs of equal shape from all ranks along a dimension; on one process the tensor itself.

    Every rank differentiates its own loss; a rank's outputs get the sum of these gradients.
    """
    if rank_and_ranks()[1] == 1:
        return x
    gathered: Tensor = _OfAllRanks.apply(x, dim)  # type: ignore[no-untyped-call]
    return gathered


class _OfAllRanks(torch.autograd.Function):
    """`plain_of_all_ranks`, whose gradient is exchanged too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        ctx.dim = dim
        return torch.cat(of_each_rank(x), dim)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None]:
        rank, ranks = rank_and_ranks()
        summed = outer[0].clone(memory_format=torch.contiguous_format)
        if ranks > 1:
            dist.all_reduce(summed)
        return summed.chunk(ranks, ctx.dim)[rank], None


def plain_of_all_ranks(x: Tensor, dim: int) -> Tensor:
    """y = [x_0, ..., x_(R-1)] along `dim`, for R = 1. With g_s = dL_s/dy on rank s, dL/dx_r = sum over s of g_s[r]."""
    return torch.cat([x], dim)


def of_each_rank(x: Tensor) -> list[Tensor]:
    """The tensors of all ranks, in rank order; of equal shape."""
    ranks = rank_and_ranks()[1]
    if ranks == 1:
        return [x]
    parts = [torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(ranks)]
    dist.all_gather(parts, x.contiguous())
    return parts


@torch.no_grad()
def of_first_rank(x: Tensor) -> Tensor:
    """The first rank's tensor, on all: for a random draw that the pairs of a batch share."""
    if rank_and_ranks()[1] == 1:
        return x
    shared = x.contiguous().clone()
    dist.broadcast(shared, 0)
    return shared


@torch.no_grad()
def average(tensors: Sequence[Tensor]) -> None:
    """Replace tensors by their means over the ranks, in one exchange; all ranks get equal bits."""
    ranks = rank_and_ranks()[1]
    if ranks == 1:
        return
    joined = torch.cat([tensor.reshape(-1) for tensor in tensors])  # (n,)
    dist.all_reduce(joined)
    joined /= ranks
    for tensor, mean in zip(tensors, torch.split(joined, [tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(mean.view_as(tensor))
