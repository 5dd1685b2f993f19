"""The batches of an epoch, one by one; of a streamed corpus their windows are read ahead, in blocks.

A block is some batches that follow each other in the epoch's shuffled order. While the updates of one block are made,
a thread reads the windows of the next from the memory map, in the order of the file. Which windows these are is drawn
from the seed of each step by a generator beside torch's own, which then makes the same draws: batches, and what a
method draws after them, are those of a corpus in memory to the bit, and a run can be resumed from any step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.data.corpus.mapped import MappedSignal
from benchmark.data.corpus.pairs import WHOLE, PairSource, Views, batch_of, draw_views, make_batch
from methods.base import Batch, Pairing

BLOCK_BYTES = 64 * 2**20
"""Of the windows of a block. Two blocks are in memory at a time."""


class Block(NamedTuple):
    """Windows of the batches of some steps, in float16 on the host; pinned where they go to a GPU."""

    first: int
    """Its first step."""
    x1: Tensor  # (G, B, S, L)
    x2: Tensor  # (G, B, S, L)


@contextmanager
def batches_ahead(
    source: PairSource,
    pairs: Tensor,
    pairing: Pairing,
    seed_of: Callable[[int], int],
    first: int = 0,
    block_bytes: int = BLOCK_BYTES,
    share: tuple[int, int] = WHOLE,
) -> Iterator[Callable[[int], Batch]]:
    """Within, the batch of each step from `first` on, to be asked for in order; pairs: (n, B) of an epoch.

    seed_of: step -> the seed that torch has when the step's batch is asked for; share: as of `draw_views`.
    """
    signal = source.signal
    if isinstance(signal, Tensor):
        yield lambda step: make_batch(source, pairs[step], pairing, share)
        return
    if pairing == "patient":
        _ = source.kinship  # found once, before two threads ask for it
    _, _, samples, leads = signal.shape
    each = max(1, block_bytes // bytes_of_batch(samples, leads, pairs.shape[1] // share[1], pairing))
    marks = [first, *range(first + 1, len(pairs), each), len(pairs)]  # the first step waits for itself alone
    ranges = iter(pairwise(marks if first < len(pairs) else []))
    with ThreadPoolExecutor(1, thread_name_prefix="corpus") as reader:

        def begin() -> Future[Block] | None:
            steps = next(ranges, None)
            return reader.submit(read_block, source, pairs, pairing, seed_of, range(*steps), share) if steps else None

        now, ahead = None, begin()

        def batch(step: int) -> Batch:
            nonlocal now, ahead
            if now is None or step >= now.first + len(now.x1):
                assert ahead is not None, f"step {step} is beyond the epoch"
                now, ahead = ahead.result(), begin()
            views = draw_views(source, pairs[step], pairing, share=share)  # those that were read: the seed is the same
            return batch_of(source, views, *on_device(now, step, pairing, signal.device))

        yield batch


def bytes_of_batch(samples: int, leads: int, size: int, pairing: Pairing) -> int:
    """Of the windows (S, L) of a batch of `size` pairs, in float16."""
    return size * samples * leads * 2 * (1 if pairing == "same" else 2)


def read_block(
    source: PairSource,
    pairs: Tensor,
    pairing: Pairing,
    seed_of: Callable[[int], int],
    steps: range,
    share: tuple[int, int],
) -> Block:
    """The windows of the batches of some steps, all read at once."""
    signal = source.signal
    assert isinstance(signal, MappedSignal)
    generator = torch.Generator(pairs.device)
    drawn: list[Views] = []
    for step in steps:
        generator.manual_seed(seed_of(step))
        drawn.append(draw_views(source, pairs[step], pairing, generator, share))
    sides = [(views.trial, views.first) for views in drawn]
    if pairing != "same":
        sides += [(views.partner, views.second) for views in drawn]
    trial, start = (torch.cat(own).cpu().numpy() for own in zip(*sides, strict=True))  # (n,), (n,)
    read = torch.from_numpy(signal.read(trial, start))  # (n, S, L)
    read = read.view(-1, len(steps), pairs.shape[1] // share[1], *read.shape[1:])  # (1 or 2, G, B, S, L)
    read = read.pin_memory() if signal.device.type == "cuda" else read
    return Block(steps.start, read[0], read[-1])


def on_device(block: Block, step: int, pairing: Pairing, device: torch.device) -> tuple[Tensor, Tensor]:
    """Both views (B, S, L) of a step in float32 on the device, which is not waited for."""
    x1 = block.x1[step - block.first].to(device, non_blocking=True).float()  # (B, S, L)
    if pairing == "same":
        return x1, x1
    return x1, block.x2[step - block.first].to(device, non_blocking=True).float()  # (B, S, L)
