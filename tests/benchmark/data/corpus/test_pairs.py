"""Batches hold what their pairing says: two neighbouring beats, one beat twice, or two recordings of a patient."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from benchmark.data.corpus.pairs import PairSource, make_batch, source_facts

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


def test_a_corpus_says_of_nothing_that_it_was_left_out(source: PairSource) -> None:
    assert (source.recordings_without_text, source.text, source.anywhere, source.scale) == (0, None, False, None)


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
def test_the_shares_of_ranks_make_up_the_batch_of_one_process(source: PairSource, pairing: str) -> None:
    windows = torch.tensor([20, 0, 9, 9, 3, 14])
    batches = []
    for share in [(0, 1), (0, 3), (1, 3), (2, 3)]:
        torch.manual_seed(0)
        batches.append(make_batch(source, windows, pairing, share))  # type: ignore[arg-type]
    whole, *shares = batches
    assert [len(share.x1) for share in shares] == [2, 2, 2]
    for part in range(5):
        assert torch.equal(torch.cat([share[part] for share in shares]), whole[part])


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
    """Plain windows of 4 samples, 6 in each pseudo-trial; a sample holds its place, 100 * pseudo-trial + sample."""
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


def test_plain_neighbors_lie_anywhere_one_behind_the_other(plain: PairSource) -> None:
    found = Counter(draws(plain, 4, "neighbor"))  # pseudo-trial 1
    assert found.keys() == {(100 + t, 104 + t) for t in range(4 * BEATS - 8 + 1)}
    assert min(found.values()) > 70  # 118 expected, standard deviation 11
    assert max(found.values()) < 170


def test_the_same_plain_window_lies_anywhere(plain: PairSource) -> None:
    assert set(draws(plain, 4, "same")) == {(100 + t, 100 + t) for t in range(4 * BEATS - 4 + 1)}


def test_plain_windows_of_a_patient_are_of_other_recordings_or_do_not_overlap(plain: PairSource) -> None:
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
    assert source_facts(source, "patient") == {"windows_of_patients_with_one_recording": 3}
    assert source_facts(source, "neighbor") == {}
    told = replace(source, text=torch.zeros(len(PATIENT), 1), recordings_without_text=4)
    assert source_facts(told, "same") == {"recordings_without_text": 4}
