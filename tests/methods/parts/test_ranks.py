"""Gathering is the identity on one process and a concatenation in rank order on several."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from methods.parts import ranks as parts_gather
from methods.parts.ranks import average, gather, gather_with_gradient, join_processes, of_first_rank


def test_is_the_identity_on_one_process() -> None:
    x = torch.randn(3, 2)
    assert gather(x) is x


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process as the second of two ranks, whose first has ten times its tensors."""

    def all_gather(parts: list[torch.Tensor], x: torch.Tensor) -> None:
        assert all(own.is_contiguous() for own in (*parts, x))  # as gloo and NCCL want them
        for part, factor in zip(parts, (10, 1), strict=True):
            part.copy_(factor * x)

    def all_reduce(x: torch.Tensor) -> None:
        assert x.is_contiguous()
        x.mul_(11)

    def broadcast(x: torch.Tensor, source: int) -> None:
        assert (source, x.is_contiguous()) == (0, True)
        x.mul_(10)

    monkeypatch.setattr(parts_gather, "rank_and_ranks", lambda: (1, 2))
    for function in (all_gather, all_reduce, broadcast):
        monkeypatch.setattr(dist, function.__name__, function)


def test_keys_of_all_ranks_stand_in_their_order(second_of_two: None) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    found = gather(x)
    assert (found.tolist(), found.requires_grad) == ([[10.0, 20.0], [30.0, 40.0], [1.0, 2.0], [3.0, 4.0]], False)
    assert gather(x.mT).tolist() == [[10.0, 30.0], [20.0, 40.0], [1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize("dim", [0, 1])
def test_outputs_get_the_sum_of_all_ranks_gradients(second_of_two: None, dim: int) -> None:
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    found = gather_with_gradient(x, dim) if dim else gather_with_gradient(x)
    assert found.tolist() == ([[10.0, 20.0, 1.0, 2.0]] if dim else [[10.0, 20.0], [1.0, 2.0]])
    weights = torch.arange(1.0, 5.0).view_as(found)
    (weights * found).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[33.0, 44.0]]  # of its own half, summed over both ranks


def test_a_gradient_in_another_order_is_exchanged_in_one_piece(second_of_two: None) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    weights = torch.arange(8.0).view(2, 4).mT  # (4, 2), column by column in memory
    (weights * gather_with_gradient(x)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == (11 * weights[2:]).tolist()


def test_a_draw_is_that_of_the_first_rank_and_leaves_its_own(second_of_two: None) -> None:
    own = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert of_first_rank(own.mT).tolist() == [[10.0, 30.0], [20.0, 40.0]]
    assert own.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_means_replace_tensors_of_any_shape(second_of_two: None) -> None:
    tensors = [torch.tensor([2.0]), torch.tensor([[4.0, 6.0], [8.0, 10.0]])]
    average(tensors)
    assert [own.tolist() for own in tensors] == [[11.0], [[22.0, 33.0], [44.0, 55.0]]]


def test_a_process_joins_under_its_own_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **given: joined.append((backend, given)))
    joined: list[tuple[str, dict[str, object]]] = []
    join_processes(1, 3, tmp_path / "meeting")
    meeting = f"file://{tmp_path}/meeting"
    assert joined == [("gloo", {"init_method": meeting, "rank": 1, "world_size": 3})]


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
