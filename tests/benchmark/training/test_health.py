"""Measures against plain sums; looking moves no bit."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import pytest
import torch
from torch import Tensor

from benchmark.data.task import ProbeWindows
from benchmark.training.health import (
    alignment,
    effective_rank,
    health_warnings,
    hit_rate,
    mean_cosine,
    nearest,
    retrieval_pairs,
    uniformity,
)
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
    z = [row / row.norm() for row in features]
    pairs = list(combinations(range(8), 2))
    cosines = [float(z[i] @ z[j]) for i, j in pairs]
    squares = {(i, j): float((z[i] - z[j]).square().sum()) for i, j in pairs}
    near = [squares[i, j] for i, j in pairs if recording[i] == recording[j]]
    assert len(near) == 5
    assert mean_cosine(features) == pytest.approx(sum(cosines) / len(pairs))
    assert alignment(features, recording) == pytest.approx(sum(near) / len(near))
    mean = sum(math.exp(-2 * square) for square in squares.values()) / len(pairs)
    assert uniformity(features) == pytest.approx(math.log(mean))
    point = torch.ones(6, 4, dtype=torch.float64)
    assert mean_cosine(point) == pytest.approx(1)
    assert alignment(point, torch.arange(3).repeat_interleave(2)) == uniformity(point) == pytest.approx(0)
    assert mean_cosine(0 * point) == uniformity(0 * point) == pytest.approx(0)


def retrieved(features: Tensor, recording: Tensor, patient: Tensor) -> tuple[float, float]:
    """One window at a time: the share whose nearest is right, and what chance would give."""
    several = any(len(set(recording[patient == p].tolist())) > 1 for p in patient)
    hits, chances = [], []
    for i in range(len(features)):
        compete = [j for j in range(len(features)) if (recording[j] != recording[i] if several else j != i)]
        right = [j for j in compete if patient[j] == patient[i]]
        if right:
            cosine = torch.cosine_similarity(features[i], features[compete])
            hits.append(compete[int(cosine.argmax())] in right)
            chances.append(len(right) / len(compete))
    return sum(hits) / len(hits), sum(chances) / len(chances)


@pytest.mark.parametrize("recordings_of", [[1, 2, 3, 2], [1, 1, 1, 1, 1]])
def test_retrieval_is_that_of_one_window_at_a_time(recordings_of: list[int]) -> None:
    patient = torch.arange(len(recordings_of)).repeat_interleave(torch.tensor(recordings_of)).repeat_interleave(2)
    recording = torch.arange(sum(recordings_of)).repeat_interleave(2)
    candidates, correct = retrieval_pairs(recording, patient)
    rates = set()
    for seed in range(5):
        features = features_of(len(patient), 2, seed)
        hit, chance = retrieved(features, recording, patient)
        assert hit_rate(nearest(features, candidates), correct) == pytest.approx(hit)
        assert hit_rate(candidates, correct) == pytest.approx(chance)
        rates.add(hit)
    assert len(rates) > 1
    assert hit_rate(nearest(torch.nn.functional.one_hot(patient).double(), candidates), correct) == pytest.approx(1)


@pytest.mark.parametrize("name", ["pmq", "comet", "byol"])
def test_looking_moves_no_bit(name: str, probe: ProbeWindows, tmp_path: Path) -> None:
    watched, unwatched = build(name), build(name)
    history = train(watched, tmp_path / "watched", epochs=1, probe=probe)
    assert train(unwatched, tmp_path / "unwatched", epochs=1).loss == history.loss
    other = unwatched.state_dict()
    assert all(torch.equal(value, other[key]) for key, value in watched.state_dict().items())
    assert [epoch["epoch"] for epoch in history.health] == [0, 1]
    assert all(epoch["effective_rank"] > 1 for epoch in history.health)


def test_a_collapse_is_warned_of() -> None:
    first, collapsed, sound = (
        {"epoch": epoch, "effective_rank": rank, "mean_cosine": cosine}
        for epoch, rank, cosine in ((0, 1.9, 0.995), (3, 1.9, 0.995), (3, 9.0, 0.5))
    )
    (line,) = health_warnings("pmq", {"health": [first, collapsed]}, "--set x=1")
    assert "(effective rank 1.90, mean cosine 0.99); use a lower learning rate (--set x=1)" in line
    for health in ([collapsed, sound], [first], []):
        assert health_warnings("pmq", {"health": health}, "--set x=1") == []
