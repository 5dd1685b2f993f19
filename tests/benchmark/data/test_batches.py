"""Batches hold what their pairing says: two neighbouring beats, one beat twice, or two recordings of a patient.

A corpus is streamed where it does not fit, and then needs no memory of its size.

A streamed corpus gives the batches of one in memory, to the bit, from any step and with any size of block.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.data import batches
from benchmark.data.batches import (
    BLOCK_BYTES,
    SHARE,
    PairSource,
    ask_for,
    batches_ahead,
    is_streamed,
    make_batch,
    source_facts,
)
from benchmark.data.corpus import epoch_batches, epoch_shape
from benchmark.data.trials import Scale, Trials
from methods.base import Batch
from tests.benchmark.data.corpora import streamed

BEATS = 6
PATIENT = [1, 1, 1, 2, 3, 3, 3]
RECORDING = [10, 10, 11, 20, 30, 31, 32]
"""Patient 1 has two recordings, 2 has one of one pseudo-trial, 3 has three."""


def number_of(trial: int, beat: int) -> int:
    return 100 * trial + beat


@pytest.fixture
def source() -> PairSource:
    """Every sample of a beat holds the beat's number, 100 * pseudo-trial + beat."""
    trials = len(PATIENT)
    numbers = 100 * torch.arange(trials)[:, None] + torch.arange(BEATS)  # (T, P)
    beats = numbers[:, :, None, None].expand(trials, BEATS, 4, 12)
    return PairSource(beats.to(torch.float16), torch.tensor(RECORDING), torch.tensor(PATIENT))


def drawn(x: Tensor) -> list[int]:
    """Numbers of the beats in a batch (B, S, L)."""
    assert bool((x == x[:, :1, :1]).all())
    return x[:, 0, 0].int().tolist()


def all_windows(source: PairSource) -> Tensor:
    return torch.arange(source.pairs)


def test_a_pseudo_trial_gives_half_as_many_windows_as_beats(source: PairSource) -> None:
    assert source.pairs == len(PATIENT) * BEATS // 2
    assert source.trial_of_pair.tolist() == [trial for trial in range(len(PATIENT)) for _ in range(3)]
    assert source.patient_of_pair.tolist() == [patient for patient in PATIENT for _ in range(3)]
    assert replace(source, signal=source.signal[:, :5]).pairs == len(PATIENT) * 2  # the odd beat is left over


def test_neighbors_are_consecutive_beats_of_one_pseudo_trial(source: PairSource) -> None:
    batch = make_batch(source, all_windows(source), "neighbor")
    expected = [number_of(trial, 2 * pair) for trial in range(len(PATIENT)) for pair in range(3)]
    assert drawn(batch.x1) == expected
    assert drawn(batch.x2) == [number + 1 for number in expected]
    assert batch.x1.dtype == batch.x2.dtype == torch.float32


@pytest.mark.parametrize("pairing", ["neighbor", "same", "patient"])
def test_ids_are_those_of_the_first_view(source: PairSource, pairing: str) -> None:
    windows = torch.tensor([20, 0, 9, 9])
    batch = make_batch(source, windows, pairing)  # type: ignore[arg-type]
    trial = [number // 100 for number in drawn(batch.x1)]
    assert trial == [6, 0, 3, 3]
    assert batch.trial.tolist() == trial
    assert batch.patient.tolist() == [PATIENT[t] for t in trial]
    assert batch.recording.tolist() == [RECORDING[t] for t in trial]
    assert batch.text is None


def test_the_same_beat_stands_in_both_views_and_either_of_a_window_is_drawn(source: PairSource) -> None:
    seen: set[int] = set()
    for seed in range(20):
        torch.manual_seed(seed)
        batch = make_batch(source, torch.tensor([4]), "same")
        assert torch.equal(batch.x1, batch.x2)
        seen.update(drawn(batch.x1))
    assert seen == {number_of(1, 2), number_of(1, 3)}


def test_patients_pair_with_another_of_their_recordings(source: PairSource) -> None:
    partners: dict[int, set[int]] = {}
    for seed in range(200):
        torch.manual_seed(seed)
        batch = make_batch(source, all_windows(source), "patient")
        for one, other in zip(drawn(batch.x1), drawn(batch.x2), strict=True):
            partners.setdefault(one // 100, set()).add(other)
    every = {trial: {number_of(trial, beat) for beat in range(BEATS)} for trial in range(len(PATIENT))}
    assert partners[0] == partners[1] == every[2]
    assert partners[2] == every[0] | every[1]
    assert partners[4] == every[5] | every[6]
    assert partners[5] == every[4] | every[6]


def test_a_patient_with_one_recording_pairs_with_another_of_its_beats(source: PairSource) -> None:
    partners: dict[int, set[int]] = {}
    for seed in range(200):
        torch.manual_seed(seed)
        batch = make_batch(source, torch.tensor([9, 10, 11]), "patient")
        for one, other in zip(drawn(batch.x1), drawn(batch.x2), strict=True):
            partners.setdefault(one, set()).add(other)
    alone = {number_of(3, beat) for beat in range(BEATS)}
    assert partners == {number: alone - {number} for number in alone}


def test_of_two_windows_of_a_recording_alone_each_is_the_partner_of_the_other() -> None:
    beats = torch.arange(2)[None, :, None, None].expand(1, 2, 4, 12)
    pair = PairSource(beats.to(torch.float16), torch.tensor([1]), torch.tensor([1]))
    batch = make_batch(pair, torch.tensor([0] * 20), "patient")
    assert [a + b for a, b in zip(drawn(batch.x1), drawn(batch.x2), strict=True)] == [1] * 20


def test_partners_are_equally_likely(source: PairSource) -> None:
    torch.manual_seed(0)
    batch = make_batch(source, torch.full((12_000,), 3 * 2), "patient")  # pseudo-trial 2 of patient 1
    counts = Counter(drawn(batch.x2)).values()
    assert len(counts) == 2 * BEATS
    assert min(counts) > 850  # 1000 expected, standard deviation 30
    assert max(counts) < 1150


@pytest.fixture
def plain() -> PairSource:
    """Crops of 4 samples, 6 in each pseudo-trial; a sample holds its place, 100 * pseudo-trial + sample."""
    places = 100 * torch.arange(len(PATIENT))[:, None] + torch.arange(BEATS * 4)  # (T, P * S)
    signal = places[:, :, None].expand(-1, -1, 12).reshape(len(PATIENT), BEATS, 4, 12)
    return PairSource(signal.to(torch.float16), torch.tensor(RECORDING), torch.tensor(PATIENT), anywhere=True)


def first_samples(x: Tensor) -> list[int]:
    """Where the windows (B, S, L) of a batch begin; they must be whole."""
    assert bool((x[:, :, 0] == x[:, :1, 0] + torch.arange(4)).all())
    return x[:, 0, 0].int().tolist()


def draws(source: PairSource, pair: int, pairing: str) -> list[tuple[int, int]]:
    """First samples of both views of 2,000 draws of one pair."""
    torch.manual_seed(0)
    batch = make_batch(source, torch.full((2_000,), pair), pairing)  # type: ignore[arg-type]
    return list(zip(first_samples(batch.x1), first_samples(batch.x2), strict=True))


def test_neighboring_crops_lie_anywhere_one_behind_the_other(plain: PairSource) -> None:
    found = Counter(draws(plain, 4, "neighbor"))  # pseudo-trial 1
    assert found.keys() == {(100 + t, 104 + t) for t in range(4 * BEATS - 8 + 1)}
    assert min(found.values()) > 70  # 118 expected, standard deviation 11
    assert max(found.values()) < 170


def test_the_same_crop_lies_anywhere(plain: PairSource) -> None:
    assert set(draws(plain, 4, "same")) == {(100 + t, 100 + t) for t in range(4 * BEATS - 4 + 1)}


def test_crops_of_a_patient_are_of_other_recordings_or_do_not_overlap(plain: PairSource) -> None:
    several = draws(plain, 6, "patient")  # pseudo-trial 2 of patient 1, the only one of its recording
    assert {second // 100 for _, second in several} == {0, 1}
    for view in zip(*several, strict=True):
        assert {first % 100 for first in view} == set(range(4 * BEATS - 4 + 1))
    alone = draws(plain, 9, "patient")  # pseudo-trial 3 of patient 2
    assert {second // 100 for _, second in alone} == {3}
    assert min(abs(first - second) for first, second in alone) == 4


def test_whole_recordings_pair_with_another_of_the_patient_or_themselves() -> None:
    trials = len(PATIENT)
    signal = torch.arange(trials)[:, None, None, None].expand(trials, 1, 4, 12).to(torch.float16)
    whole = PairSource(signal, torch.tensor(RECORDING), torch.tensor(PATIENT), anywhere=True)
    torch.manual_seed(0)
    batch = make_batch(whole, torch.arange(trials).repeat(200), "patient")
    found: dict[int, set[int]] = {}
    for first, second in zip(drawn(batch.x1), drawn(batch.x2), strict=True):
        found.setdefault(first, set()).add(second)
    assert found == {0: {2}, 1: {2}, 2: {0, 1}, 3: {3}, 4: {5, 6}, 5: {4, 6}, 6: {4, 5}}


@pytest.mark.parametrize("pairing", ["same", "patient"])
def test_what_is_drawn_follows_torchs_seed_alone(source: PairSource, pairing: str) -> None:
    def views(seed: int) -> list[int]:
        torch.manual_seed(seed)
        batch = make_batch(source, all_windows(source), pairing)  # type: ignore[arg-type]
        return drawn(batch.x1) + drawn(batch.x2)

    assert views(1) == views(1)
    assert views(1) != views(2)


def test_text_follows_the_first_view(source: PairSource) -> None:
    told = replace(source, text=torch.arange(len(PATIENT))[:, None].float())
    batch = make_batch(told, torch.tensor([20, 0]), "same")
    assert batch.text is not None
    assert batch.text.tolist() == [[6.0], [0.0]]


def test_windows_of_patients_with_one_recording_are_counted(source: PairSource) -> None:
    counts = {"windows_of_patients_with_one_recording": 3, "windows_of_all_patients": source.pairs}
    assert source_facts(source, "patient") == counts
    assert source_facts(source, "neighbor") == {}
    told = replace(source, text=torch.zeros(len(PATIENT), 1), recordings_without_text=4)
    assert source_facts(told, "same") == {"recordings_without_text": 4}


ROOT = Path(__file__).resolve().parents[3]
CPU = torch.device("cpu")


def test_a_corpus_is_streamed_where_it_takes_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"cpu": 4000, "cuda": 1000}
    monkeypatch.setattr(batches, "free_bytes", lambda device: free[device.type])
    assert SHARE == 0.25
    assert [is_streamed("auto", size, CPU) for size in (1000, 1001)] == [False, True]
    assert [is_streamed("auto", size, torch.device("cuda")) for size in (250, 251)] == [False, True]
    assert [is_streamed(asked, 10**6, CPU) for asked in ("always", "never")] == [True, False]
    assert is_streamed("always", 1, CPU)


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
def test_the_stretches_of_a_file_are_asked_for_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, asked = tmp_path / "samples", list[tuple[int, int, int, int]]()
    file.write_bytes(bytes(48 + 10 * 24))  # a header of 48 bytes, then 10 samples of 12 leads of 2 bytes
    monkeypatch.setattr(os, "posix_fadvise", lambda number, *rest: asked.append((os.fstat(number).st_ino, *rest)))
    start = np.array([0, 5])
    ask_for(np.memmap(file, np.float16, "r", offset=48, shape=(10, 12)), start, 3)
    own = file.stat().st_ino
    assert asked == [(own, 48, 72, os.POSIX_FADV_WILLNEED), (own, 48 + 120, 72, os.POSIX_FADV_WILLNEED)]
    ask_for(np.zeros((10, 12), np.float16), start, 3)
    assert len(asked) == 2, "an array in memory has no file"


TRIALS, STEPS, SIZE = 12, 5, 4
AHEAD_PATIENT = torch.tensor([1, 1, 1, 2, 3, 3, 3, 3, 4, 4, 5, 6])
AHEAD_RECORDING = torch.tensor([1, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10])
PAIRINGS = ("neighbor", "same", "patient")


def resident(windows: int, *, anywhere: bool = False) -> PairSource:
    """A corpus of noise in memory."""
    generator = torch.Generator().manual_seed(windows)
    signal = torch.randn(TRIALS, windows, STEPS, 12, generator=generator).half()
    text = torch.randn(TRIALS, 3, generator=generator)
    return PairSource(signal, AHEAD_RECORDING, AHEAD_PATIENT, text, anywhere=anywhere)


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
    made = batches.read_block
    monkeypatch.setattr(batches, "read_block", lambda *given: [read.append(given[4]), made(*given)][1])
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


def test_an_error_of_the_disk_is_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Trials, "cut", broken)
    with pytest.raises(OSError, match="Input/output error"):
        list(walked(streamed(resident(6)), torch.arange(8).view(2, SIZE), "same"))
