"""Seeds of named purposes, and torch's generators seeded from them."""

from __future__ import annotations

import hashlib

import numpy as np
import torch

LARGE = 2**62
"""Bound of integer draws: modulo a small n nearly uniform and below n, which a float times n could round up to."""


def stream(*parts: int | str) -> int:
    """A 63-bit seed for a named purpose, e.g. stream('pretrain', seed, epoch, step)."""
    words = [int.from_bytes(hashlib.sha256(p.encode()).digest()[:4], "big") if isinstance(p, str) else p for p in parts]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> np.uint64(1))


def seed_torch(*parts: int | str) -> None:
    """Seed torch's default generators (CPU and GPU) for a named purpose."""
    torch.manual_seed(stream(*parts))
