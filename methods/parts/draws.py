"""Random boolean masks for dropout and masking, cheap on CPUs, where one draw per element would dominate the cost.

On CPUs a 64-bit draw serves four elements with 16 bits each, so the share lost is a multiple of 1 / 65,536.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

LEVELS = 2**16


def survivors(shape: Sequence[int], lost: float, device: torch.device) -> Tensor:
    """True with probability 1 - `lost`, elements independent, from torch's default generator: `shape`, bool."""
    if device.type != "cpu":
        return torch.rand(*shape, device=device) >= lost
    if lost == 1:
        return torch.zeros(*shape, dtype=torch.bool)
    count, levels = prod(shape), min(round(lost * LEVELS), LEVELS - 1)
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return draws.view(torch.int16)[:count].view(*shape) >= levels - LEVELS // 2
