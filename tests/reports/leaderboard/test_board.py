"""Ranks are those that no significant difference rules out, and runs are paired by seed where they can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reports.leaderboard.board import ranks_of, replace_rows, slots


@pytest.mark.parametrize(
    ("seeds", "places"),
    [
        ({41, 42, 43}, {41: 0, 42: 1, 43: 2}),
        ({42, 43, 44}, {42: 1, 43: 2, 44: 0}),
        ({1, 2, 3, 4}, {1: 0, 2: 1, 3: 2, 4: 3}),
        ({43}, {43: 2}),
    ],
)
def test_a_shared_seed_keeps_its_place(seeds: set[int], places: dict[int, int]) -> None:
    assert slots(seeds, (41, 42, 43)) == places


def test_a_row_that_is_ahead_of_all_is_first_and_the_equal_others_share_the_rest(
    simulate_columns: Callable[..., list[Any]], scatter: Callable[..., Any]
) -> None:
    design = {"methods": 3, "seeds": 4, "patients": 150, "scatter": scatter(run=0.2), "advantage": 3.0}
    first, *_ = simulate_columns(np.random.default_rng(3), resamples=200, **design)
    ranks, pairs, told = ranks_of([first])
    assert (ranks, pairs, told) == ({"m0": (1, 1), "m1": (2, 3), "m2": (2, 3)}, 3, 2)
    turned = replace_rows(first, ["m2", "m0"])
    assert np.array_equal(turned.scores[1], first.scores[0])
    assert ranks_of([turned])[0] == {"m0": (1, 1), "m2": (2, 2)}


def test_rows_that_do_not_differ_have_no_rank(
    simulate_columns: Callable[..., list[Any]], scatter: Callable[..., Any]
) -> None:
    design = {"methods": 3, "seeds": 4, "patients": 150, "scatter": scatter()}
    first, *_ = simulate_columns(np.random.default_rng(3), resamples=200, **design)
    assert ranks_of([first]) == ({}, 3, 0)


def test_one_row_is_not_ranked(simulate_columns: Callable[..., list[Any]], scatter: Callable[..., Any]) -> None:
    design = {"methods": 2, "seeds": 2, "patients": 20, "scatter": scatter()}
    first, *_ = simulate_columns(np.random.default_rng(3), resamples=20, **design)
    assert ranks_of([replace_rows(first, ["m0"])]) == ({}, 0, 0)
