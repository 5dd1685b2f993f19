"""Gathering is the identity on one process and a concatenation in rank order on several."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from methods.parts.gather import gather, join_processes


def test_is_the_identity_on_one_process() -> None:
    x = torch.randn(3, 2)
    assert gather(x) is x


def gather_and_save(rank: int, folder: str) -> None:
    join_processes(rank, 2, Path(folder) / "meeting")
    keys = torch.full((2, 3), float(rank), requires_grad=True)
    gathered = gather(keys), gather(torch.arange(2) + 2**40 * rank)
    torch.save([x.detach() for x in gathered], Path(folder) / f"{rank}.pt")
    assert not gathered[0].requires_grad
    dist.barrier()
    os._exit(0)  # gloo threads may abort the interpreter's own exit


@pytest.mark.slow
def test_all_ranks_hold_the_same(tmp_path: Path) -> None:
    context = mp.get_context("spawn")
    workers = [context.Process(target=gather_and_save, args=(rank, str(tmp_path))) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    for rank in range(2):
        keys, ids = torch.load(tmp_path / f"{rank}.pt")
        assert keys[:, 0].tolist() == [0, 0, 1, 1]
        assert ids.tolist() == [0, 1, 2**40, 2**40 + 1]
