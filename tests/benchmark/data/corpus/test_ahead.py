"""A streamed corpus gives the batches of one in memory, to the bit, from any step and with any size of block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmark.data.corpus import ahead
from benchmark.data.corpus.ahead import BLOCK_BYTES, batches_ahead
from benchmark.data.corpus.pairs import PairSource, make_batch
from benchmark.data.corpus.sampling import epoch_batches, epoch_shape
from benchmark.data.prepared.scale import Scale
from benchmark.data.prepared.trials import Trials
from methods.base import Batch
from tests.benchmark.data.corpus.corpora import streamed

TRIALS, STEPS, SIZE = 12, 5, 4
PATIENT = torch.tensor([1, 1, 1, 2, 3, 3, 3, 3, 4, 4, 5, 6])
RECORDING = torch.tensor([1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10])
PAIRINGS = ("neighbor", "same", "patient")


def resident(windows: int, *, anywhere: bool = False) -> PairSource:
    """A corpus of noise in memory."""
    generator = torch.Generator().manual_seed(windows)
    signal = torch.randn(TRIALS, windows, STEPS, 12, generator=generator).half()
    text = torch.randn(TRIALS, 3, generator=generator)
    return PairSource(signal, RECORDING, PATIENT, text, anywhere=anywhere)


def seed_of(step: int) -> int:
    return 1000 + step


def walked(source: PairSource, pairs: Tensor, pairing: Any, **given: Any) -> Iterator[tuple[Batch, Tensor]]:
    """The batch of each step, and what torch draws after it."""
    first = given.get("first", 0)
    with batches_ahead(source, pairs, pairing, seed_of, **given) as batch_at:
        for step in range(first, len(pairs)):
            torch.manual_seed(seed_of(step))
            yield batch_at(step), torch.rand(3)


def assert_equal(one: Batch, other: Batch) -> None:
    for own, another in zip(one, other, strict=True):
        assert own.dtype == another.dtype
        assert torch.equal(own, another)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize(("windows", "anywhere"), [(6, False), (5, True), (1, True)])
@pytest.mark.parametrize("block_bytes", [1, 3 * SIZE * 2 * STEPS * 12 * 2, BLOCK_BYTES])
def test_batches_and_what_is_drawn_after_them_have_the_bits_of_a_corpus_in_memory(
    pairing: Any, windows: int, anywhere: bool, block_bytes: int
) -> None:
    if windows == 1 and pairing == "neighbor":
        pytest.skip("a whole recording has no neighbour")
    source = resident(windows, anywhere=anywhere)
    shape = epoch_shape(source.patient_of_pair, "shuffled", SIZE)
    pairs = epoch_batches(
        source.trial_of_pair, source.patient_of_pair, shape, batching="shuffled", seed=7, epoch=2
    )  # (n, B)
    assert pairs.flatten().unique().numel() == pairs.numel()  # each pair once
    expected = list(walked(source, pairs, pairing))
    found = list(walked(streamed(source), pairs, pairing, block_bytes=block_bytes))
    assert len(found) == len(expected) == shape.updates
    for (batch, after), (own, own_after) in zip(found, expected, strict=True):
        assert_equal(batch, own)
        assert torch.equal(after, own_after)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("share", [(0, 2), (1, 2), (3, 4)])
def test_a_rank_gets_its_share_of_every_batch(pairing: Any, share: tuple[int, int]) -> None:
    source = resident(6)
    pairs = torch.randperm(source.pairs)[:36].view(9, SIZE)
    expected = walked(source, pairs, pairing, share=share)
    found = walked(streamed(source), pairs, pairing, share=share, block_bytes=1500)
    for (batch, after), (own, own_after) in zip(found, expected, strict=True):
        assert len(batch.x1) == len(batch.patient) == SIZE // share[1]
        assert_equal(batch, own)
        assert torch.equal(after, own_after)


@pytest.mark.parametrize("first", [0, 1, 4, 8, 9])
def test_an_epoch_goes_on_from_any_step(first: int) -> None:
    source = resident(6)
    pairs = torch.randperm(source.pairs)[:36].view(9, SIZE)
    whole = [batch for batch, _ in walked(source, pairs, "patient")]
    rest = [batch for batch, _ in walked(streamed(source), pairs, "patient", first=first, block_bytes=1500)]
    assert len(rest) == 9 - first
    for batch, own in zip(rest, whole[first:], strict=True):
        assert_equal(batch, own)


def test_a_block_is_read_while_another_is_used_and_no_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[range] = []
    made = ahead.read_block
    monkeypatch.setattr(ahead, "read_block", lambda *given: [read.append(given[4]), made(*given)][1])
    source = streamed(resident(6))
    pairs = torch.arange(36).view(9, SIZE)
    for step, _ in enumerate(walked(source, pairs, "neighbor", block_bytes=3 * SIZE * 2 * STEPS * 12 * 2)):
        assert len(read) <= {0: 2, 1: 3, 2: 3, 3: 3}.get(step, 4)
    assert read == [range(1), range(1, 4), range(4, 7), range(7, 9)]


def test_one_mean_and_deviation_are_applied_as_in_memory() -> None:
    scale, source = Scale(0.3, 1.7), resident(4)
    assert isinstance(source.signal, Tensor)
    scaled = replace(source, signal=torch.from_numpy(scale.applied(source.signal.numpy())))
    pairs = torch.arange(16).view(4, SIZE)
    found = list(walked(streamed(source, scale), pairs, "neighbor"))
    for (batch, _), (own, _) in zip(found, walked(scaled, pairs, "neighbor"), strict=True):
        assert_equal(batch, own)


def test_a_single_batch_is_read_when_it_is_asked_for() -> None:
    source, pairs = resident(6), torch.tensor([5, 0, 33, 5])
    for pairing in PAIRINGS:
        torch.manual_seed(3)
        own = make_batch(source, pairs, pairing)  # type: ignore[arg-type]
        torch.manual_seed(3)
        assert_equal(make_batch(streamed(source), pairs, pairing), own)  # type: ignore[arg-type]


def test_an_error_of_the_disk_is_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Trials, "cut", broken)
    with pytest.raises(OSError, match="Input/output error"):
        list(walked(streamed(resident(6)), torch.arange(8).view(2, SIZE), "same"))
