"""All processes' keys and ids, so that under distributed training every rank holds the same queue."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor


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
