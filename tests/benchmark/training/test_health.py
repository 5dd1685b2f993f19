"""Measures against plain sums; looking moves no bit."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from benchmark.data.task import ProbeWindows
from benchmark.training.health import (
    alignment,
    effective_rank,
    hit_rate,
    mean_cosine,
    measure,
    nearest,
    patient_hits,
    retrieval_pairs,
    uniformity,
)
from methods.parts.losses import unit_length
from tests.benchmark.training.short import build, train

STEPS = 40


@pytest.fixture(scope="module")
def probe() -> ProbeWindows:
    """Two windows of six recordings of four patients."""
    generator = torch.Generator().manual_seed(2)
    signal = torch.randn(12, STEPS, 12, generator=generator).half()
    return ProbeWindows(
        signal, torch.arange(6).repeat_interleave(2), torch.tensor([0, 0, 1, 1, 2, 3]).repeat_interleave(2)
    )


def features_of(n: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(n, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_effective_rank_counts_directions() -> None:
    assert effective_rank(torch.eye(7, dtype=torch.float64)) == pytest.approx(7)
    assert effective_rank(torch.zeros(5, 3)) == 0
    shares = [3 / 6, 2 / 6, 1 / 6]
    entropy = -sum(share * math.log(share) for share in shares)
    assert effective_rank(torch.diag(torch.tensor([2.0, 3.0, 1.0]))) == pytest.approx(math.exp(entropy))
    assert effective_rank(5 * features_of(400, 6)) == pytest.approx(6, abs=0.1)


def test_measures_are_those_of_the_plain_sums() -> None:
    features, recording = features_of(8, 3), torch.tensor([0, 0, 1, 1, 1, 2, 2, 3])
    z = unit_length(features)
    torch.testing.assert_close(z, torch.stack([row / row.norm() for row in features]))
    pairs = list(combinations(range(8), 2))
    cosines = [float(z[i] @ z[j]) for i, j in pairs]
    squares = {(i, j): float((z[i] - z[j]).square().sum()) for i, j in pairs}
    near = [squares[i, j] for i, j in pairs if recording[i] == recording[j]]
    assert len(near) == 5
    assert mean_cosine(z) == pytest.approx(sum(cosines) / len(pairs))
    assert alignment(z, recording) == pytest.approx(sum(near) / len(near))
    mean = sum(math.exp(-2 * square) for square in squares.values()) / len(pairs)
    assert uniformity(z) == pytest.approx(math.log(mean))
    point = unit_length(torch.ones(6, 4, dtype=torch.float64))
    assert mean_cosine(point) == pytest.approx(1)
    assert alignment(point, torch.arange(3).repeat_interleave(2)) == uniformity(point) == pytest.approx(0)
    assert mean_cosine(0 * point) == uniformity(0 * point) == pytest.approx(0)


@pytest.mark.parametrize("recordings_of", [[1, 2, 3, 2], [1, 1, 1, 1, 1]])
def test_retrieval_is_that_of_one_window_at_a_time(recordings_of: list[int]) -> None:
    patient = torch.arange(len(recordings_of)).repeat_interleave(torch.tensor(recordings_of)).repeat_interleave(2)
    recording, several = torch.arange(sum(recordings_of)).repeat_interleave(2), max(recordings_of) > 1
    candidates, correct = retrieval_pairs(recording, patient)
    for seed in range(5):
        hits, chances, z = [], [], unit_length(features_of(len(patient), 2, seed))
        for i in range(len(z)):
            compete = [j for j in range(len(z)) if (recording[j] != recording[i] if several else j != i)]
            if right := [j for j in compete if patient[j] == patient[i]]:
                hits.append(compete[int((z[compete] @ z[i]).argmax())] in right)
                chances.append(len(right) / len(compete))
        assert hit_rate(nearest(z @ z.T, candidates), correct) == pytest.approx(sum(hits) / len(hits))
        assert hit_rate(candidates, correct) == pytest.approx(sum(chances) / len(chances))


def test_a_patient_is_retrieved_from_other_recordings_as_in_a_plain_loop() -> None:
    patient = torch.tensor([4, 0, 1, 1, 2, 2, 2, 2, 3, 3, 0, 4, 5])
    others = [[j for j in range(13) if j != i] for i in range(13)]
    for seed in range(3):
        features = features_of(13, 3, seed)
        probability = patient_hits(features, patient)
        assert probability[-1].isnan().all()
        for i, rest in enumerate(others[:-1]):
            near = sorted(rest, key=lambda j: -float(torch.cosine_similarity(features[i], features[j], dim=0)))
            right = [bool(patient[j] == patient[i]) for j in near]
            wrong = 12 - sum(right)
            chances = [1 - math.comb(wrong, k) / math.comb(12, k) for k in (1, 5)]
            of_patient = [rank for rank, one in enumerate(right) if one]
            of_others = [rank for rank, one in enumerate(right) if not one]
            wins = [rank < other for rank, other in product(of_patient, of_others)]
            expected = [float(right[0]), float(any(right[:5])), sum(wins) / len(wins), *chances]
            assert probability[i].tolist() == pytest.approx(expected)
    collapsed = patient_hits(torch.ones(13, 3), patient)[:-1]  # all are equally near
    torch.testing.assert_close(collapsed[:, :2], collapsed[:, 3:])
    assert (collapsed[:, 2] == 0.5).all()
    assert patient_hits(torch.eye(2), torch.tensor([7, 7]))[:, :2].tolist() == [[1, 1]] * 2
    assert patient_hits(torch.eye(2), torch.tensor([0, 1])).isnan().all()


@pytest.mark.parametrize("name", ["pmq", "comet", "byol"])
def test_looking_moves_no_bit(name: str, probe: ProbeWindows, tmp_path: Path) -> None:
    watched, unwatched = build(name), build(name)
    history = train(watched, tmp_path / "watched", epochs=1, probe=probe)
    assert train(unwatched, tmp_path / "unwatched", epochs=1).loss == history.loss
    other = unwatched.state_dict()
    assert all(torch.equal(value, other[key]) for key, value in watched.state_dict().items())
    assert [epoch["epoch"] for epoch in history.health] == [0, 1]
    assert all(epoch["effective_rank"] > 1 for epoch in history.health)


def test_a_feature_that_is_not_finite_leaves_positives_alone(probe: ProbeWindows) -> None:
    bad = replace(probe, signal=probe.signal.clone())
    bad.signal[3] = float("inf")
    for windows in (bad, None):
        health = measure(2, build("byol").encoder, windows, torch.tensor([1, 1, 2, 4]))
        measured = {name: value for name, value in health.items() if value is not None}
        assert measured == {"epoch": 2, "positives": 2.0, "beyond_pair": 0.5}


def test_finite_features_have_every_measure(probe: ProbeWindows) -> None:
    assert None not in measure(0, build("byol").encoder, probe, torch.ones(2)).values()
