"""The queue keeps the newest M keys in a ring, for any batch size, and its snapshots are left alone."""

from __future__ import annotations

import pytest
import torch

from methods.parts.queue import EMPTY, KeyQueue


def push_numbers(queue: KeyQueue, first: int, count: int) -> None:
    """Push keys whose value and patient are first, first + 1, ..., and whose recording is ten times that."""
    numbers = torch.arange(first, first + count)
    queue.push(numbers[:, None].repeat(1, queue.keys.shape[1]).float(), numbers, numbers * 10)


@pytest.mark.parametrize("size", [1, 4, 6, 7, 64])
@pytest.mark.parametrize("batches", [[2], [3, 3, 3], [1, 2, 3, 4, 5, 6, 7, 8], [20], [64, 1], [7, 7]])
def test_holds_the_newest_keys(size: int, batches: list[int]) -> None:
    queue = KeyQueue(size, 2)
    pushed = 0
    for count in batches:
        push_numbers(queue, pushed, count)
        pushed += count
        held = sorted(queue.patient[queue.patient != EMPTY].tolist())
        assert held == list(range(max(0, pushed - size), pushed))
        filled = queue.patient != EMPTY
        assert torch.equal(queue.keys[filled, 0], queue.patient[filled].float())
        assert torch.equal(queue.recording[filled], queue.patient[filled] * 10)
        assert queue.pointer.item() == pushed % size


def test_overwrites_the_oldest_slot_first() -> None:
    queue = KeyQueue(4, 1)
    push_numbers(queue, 0, 3)
    push_numbers(queue, 3, 3)
    assert queue.patient.tolist() == [4, 5, 2, 3]


def test_starts_empty_and_of_size_zero_stays_empty() -> None:
    assert KeyQueue(3, 2).patient.tolist() == [EMPTY] * 3
    queue = KeyQueue(0, 2)
    push_numbers(queue, 0, 5)
    assert queue.snapshot().keys.shape == (0, 2)
    assert queue.pointer.item() == 0


def test_a_snapshot_survives_a_push_before_backward() -> None:
    queue = KeyQueue(4, 2)
    push_numbers(queue, 0, 4)
    held = queue.snapshot()
    q = torch.ones(1, 2, requires_grad=True)
    loss = (q @ held.keys.T).sum()
    push_numbers(queue, 4, 4)
    loss.backward()
    assert held.patient.tolist() == [0, 1, 2, 3]
    assert torch.equal(q.grad, torch.full((1, 2), 6.0))


def test_large_ids_are_exact() -> None:
    queue = KeyQueue(2, 1)
    ids = torch.tensor([2**24 + 1, 2**40 + 1])
    queue.push(torch.zeros(2, 1), ids, ids)
    assert torch.equal(queue.patient, ids)


def test_its_state_is_in_the_checkpoint() -> None:
    queue, other = KeyQueue(4, 2), KeyQueue(4, 2)
    push_numbers(queue, 0, 3)
    other.load_state_dict(queue.state_dict())
    push_numbers(queue, 3, 2)
    push_numbers(other, 3, 2)
    assert all(torch.equal(a, b) for a, b in zip(queue.buffers(), other.buffers(), strict=True))
