"""The order of an epoch: every window once, whole pseudo-trials or different patients together, the same everywhere."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
import torch
from torch import Tensor

from benchmark.data.corpus.sampling import epoch_batches, epoch_shape, full_batches

PER_TRIAL = 5
TRIAL = torch.arange(24).repeat_interleave(PER_TRIAL)  # (120,)
PATIENT = torch.tensor([1] * 12 + [2] * 6 + [3, 4, 5, 6, 7, 8]).repeat_interleave(PER_TRIAL)  # (120,) very unequal
OVER_WINDOWS = ["shuffled", "trial", "trial-fixed"]
OVER_PATIENTS = ["patient", "patient-once"]


def batches(batching: str, size: int = 20, *, seed: int = 42, epoch: int = 0, windows: int = len(TRIAL)) -> Tensor:
    """(n, B) window numbers."""
    trial, patient = TRIAL[:windows], PATIENT[:windows]
    shape = epoch_shape(patient, batching, size)  # type: ignore[arg-type]
    drawn = epoch_batches(trial, patient, shape, batching=batching, seed=seed, epoch=epoch)  # type: ignore[arg-type]
    assert tuple(drawn.shape) == (shape.updates, shape.batch_size)
    return drawn


@pytest.mark.parametrize("batching", OVER_WINDOWS)
def test_every_window_stands_in_an_epoch_once(batching: str) -> None:
    for epoch in range(3):
        assert sorted(batches(batching, epoch=epoch).flatten().tolist()) == list(range(len(TRIAL)))


@pytest.mark.parametrize("batching", OVER_WINDOWS)
def test_the_last_smaller_batch_is_left_out_and_no_window_doubled(batching: str) -> None:
    drawn = batches(batching, 50).flatten().tolist()
    assert len(drawn) == len(set(drawn)) == 100


@pytest.mark.parametrize("batching", OVER_WINDOWS)
def test_a_batch_larger_than_the_data_shrinks(batching: str) -> None:
    assert batches(batching, 500).shape == (1, len(TRIAL))
    assert batches(batching, 500, windows=7).shape == (1, 7)


def test_windows_left_out_differ_from_epoch_to_epoch() -> None:
    left = [frozenset(range(120)) - set(batches("shuffled", 50, epoch=epoch).flatten().tolist()) for epoch in range(5)]
    assert len(set(left)) == 5


@pytest.mark.parametrize("batching", ["trial", "trial-fixed"])
def test_a_pseudo_trial_stands_in_one_batch(batching: str) -> None:
    for batch in batches(batching, 4 * PER_TRIAL):
        assert set(Counter(TRIAL[batch].tolist()).values()) == {PER_TRIAL}


def test_shuffled_batches_mix_the_pseudo_trials() -> None:
    assert min(len(set(TRIAL[batch].tolist())) for batch in batches("shuffled", 4 * PER_TRIAL)) > 4


def test_trials_meet_others_in_every_epoch_unless_they_are_fixed() -> None:
    def members(batching: str, epoch: int) -> set[frozenset[int]]:
        return {frozenset(batch.tolist()) for batch in batches(batching, epoch=epoch)}

    assert members("trial-fixed", 0) == members("trial-fixed", 7)
    assert members("trial", 0).isdisjoint(members("trial", 7))
    assert not torch.equal(batches("trial-fixed", epoch=0), batches("trial-fixed", epoch=7))  # permuted inside


@pytest.mark.parametrize("batching", OVER_PATIENTS)
@pytest.mark.parametrize("size", [2, 3, 4, 100])
def test_no_patient_stands_twice_in_a_batch(batching: str, size: int) -> None:
    drawn = batches(batching, size)
    assert len(set(drawn.flatten().tolist())) == drawn.numel()
    for batch in drawn:
        assert len(set(PATIENT[batch].tolist())) == len(batch)


def test_patient_once_takes_one_window_of_each_patient_and_others_later() -> None:
    assert sorted(PATIENT[batches("patient-once", 4).flatten()].tolist()) == [1, 2, 3, 4, 5, 6, 7, 8]
    seen = {w for epoch in range(60) for w in batches("patient-once", 4, epoch=epoch).flatten().tolist()}
    assert len(seen) > 0.5 * len(TRIAL)


def test_patient_batches_are_as_many_as_the_patients_allow() -> None:
    windows = torch.tensor([60, 30, 5, 5, 5, 5, 5, 5])
    assert full_batches(windows, 2) == 60  # of 120 windows
    assert full_batches(windows, 4) == 15  # 15 + 15 + 30 others = 4 * 15
    assert full_batches(windows, 8) == 5  # the fewest windows decide
    assert full_batches(windows, 9) == 0
    assert len(batches("patient", 4)) == 15
    every = {w for epoch in range(60) for w in batches("patient", 4, epoch=epoch).flatten().tolist()}
    assert every == set(range(len(TRIAL)))


@pytest.mark.parametrize("batching", OVER_PATIENTS)
def test_one_patient_is_not_enough_for_batches_of_different_ones(batching: str) -> None:
    with pytest.raises(ValueError, match=r"needs two patients, the corpus has 1; use 'shuffled'"):
        epoch_shape(torch.ones(10, dtype=torch.int64), batching, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("batching", OVER_PATIENTS)
def test_two_patients_are_enough_for_batches_of_two(batching: str) -> None:
    patient = torch.tensor([1, 1, 2, 2, 2])
    updates = 2 if batching == "patient" else 1
    assert epoch_shape(patient, batching, 8) == (updates, 2)  # type: ignore[arg-type]


def test_a_patient_batch_holds_at_most_half_of_the_patients() -> None:
    patient = torch.arange(10).repeat(3)
    assert epoch_shape(patient, "patient", 8) == (6, 5)
    assert epoch_shape(patient, "patient", 4) == (7, 4)
    assert epoch_shape(patient, "patient-once", 4) == (2, 4)


@pytest.mark.parametrize("batching", OVER_WINDOWS + OVER_PATIENTS)
def test_the_order_depends_on_seed_and_epoch_and_nothing_else(batching: str) -> None:
    first = batches(batching, 4)
    torch.manual_seed(1)
    assert torch.equal(batches(batching, 4), first)
    assert not torch.equal(batches(batching, 4, epoch=1), first)
    assert not torch.equal(batches(batching, 4, seed=43), first)
    assert first.device.type == "cpu"


@pytest.mark.parametrize(
    ("batching", "known"),
    [
        ("shuffled", "f33123e82d62"),
        ("trial", "2631ce34ac0b"),
        ("trial-fixed", "d660b5cdfea6"),
        ("patient", "820b3d9112f8"),
        ("patient-once", "5c3863564ad5"),
    ],
)
def test_the_order_is_the_same_on_every_machine(batching: str, known: str) -> None:
    # Another order is another result: where this has to change, PRETRAIN_VERSION has to be raised.
    assert hashlib.sha256(batches(batching, epoch=3).numpy().tobytes()).hexdigest()[:12] == known
