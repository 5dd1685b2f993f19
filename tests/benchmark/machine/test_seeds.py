"""Seeds that depend on their purpose alone."""

from __future__ import annotations

from itertools import pairwise

import torch

from benchmark.machine.seeds import seed_torch, stream


def test_streams_differ_with_every_part_and_their_order() -> None:
    parts: list[tuple[int | str, ...]] = [
        ("pretrain", 42, 0, 1),
        ("pretrain", 42, 1, 0),
        ("pretrain", 42, 0, 0),
        ("pretrain", 43, 0, 1),
        ("finetune", 42, 0, 1),
    ]
    assert len({stream(*part) for part in parts}) == len(parts)
    assert all(0 <= stream("any", seed) < 2**63 for seed in (0, 1, 2**31, 2**40))


def test_streams_stay_the_same_over_versions_and_machines() -> None:
    assert stream("pretrain", 42, 0, 1) == 2092258958159058694
    assert stream("a") == 7445998342446840882


def test_neighbouring_seeds_do_not_share_their_draws() -> None:
    draws = []
    for seed in range(20):
        seed_torch("head", seed)
        draws.append(torch.rand(100))
    assert all(abs(float(torch.corrcoef(torch.stack(two))[0, 1])) < 0.5 for two in pairwise(draws))


def test_seeding_is_the_same_each_time() -> None:
    seed_torch("head", 41)
    first = torch.randn(5)
    torch.randn(3)
    seed_torch("head", 41)
    assert torch.equal(torch.randn(5), first)
