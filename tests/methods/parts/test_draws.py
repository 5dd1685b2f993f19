"""Survivors of a draw: their share, each element on its own, and the edges."""

from __future__ import annotations

import pytest
import torch

from methods.parts.draws import survivors

CPU = torch.device("cpu")


@pytest.mark.parametrize("lost", [0.1, 0.5, 0.9])
def test_so_many_survive_each_on_its_own(lost: float) -> None:
    torch.manual_seed(0)
    gone = ~survivors((399, 1001), lost, CPU).flatten()  # not a multiple of four
    for quarter in (gone[i::4] for i in range(4)):  # each from its own bits of a draw
        assert float(quarter.double().mean()) == pytest.approx(lost, abs=0.01)
    for distance in (1, 2, 3, 4):
        both = (gone[distance:] & gone[:-distance]).double().mean()
        assert float(both) == pytest.approx(lost**2, abs=0.004)


def test_the_edges_are_exact() -> None:
    assert survivors((1000, 100), 0.0, CPU).all()
    assert not survivors((1000, 100), 1.0, CPU).any()
    assert {survivors((3,), lost, CPU).dtype for lost in (0.0, 0.5, 1.0)} == {torch.bool}
    assert survivors((3, 0), 0.5, CPU).shape == (3, 0)


def test_a_cpu_draws_sixteen_bits_an_element() -> None:
    torch.manual_seed(3)
    found = survivors((2, 5), 0.25, CPU)
    torch.manual_seed(3)
    draws = torch.empty(3, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)[:10]
    assert torch.equal(found, (draws.view(2, 5).int() + 2**15) >= 2**14)


def test_the_seed_decides() -> None:
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(survivors((50, 20), 0.5, CPU))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_a_share_that_all_but_rounds_to_one_leaves_few() -> None:
    torch.manual_seed(0)
    share = survivors((10**6,), 1 - 1e-6, torch.device("cpu")).float().mean()
    assert 0 < share < 1e-4
