"""The words below a table follow from its runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.rows import Predictions
from reports.runs.run import open_run
from reports.statistics.columns import score_columns
from reports.statistics.limits import reach
from reports.statistics.pairwise import pairwise


@pytest.fixture
def words(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Callable[..., str]:
    """All sentences on a store of two methods with some seeds."""

    def say(seeds: int, protocol: str = "paper") -> str:
        design = {"methods": 2, "seeds": seeds, "patients": 40, "scatter": scatter()}
        found = simulate_predictions(np.random.default_rng(0), **design)
        places = {(f"m{method}", "ptb-xl", 0.1, 41 + seed): run for (method, seed), run in found.items()}
        root = write_predictions(places, protocol=protocol)
        run = open_run(root)
        columns = score_columns(run, run.plan.cells, "recording", resamples=60)
        return " ".join(reach(run, columns, pairwise(columns)))

    return say


def test_five_seeds_under_the_paper_protocol(words: Callable[..., str]) -> None:
    said = words(5)
    assert "60 resamples of the test patients (PTB-XL 40)" in said
    assert "over the 1 pair of rows" in said
    assert "The 5 seeds vary the fine-tuning alone" in said
    assert "another pretraining" in said
    assert "5 seeds leave 4 degrees of freedom" in said
    assert "must reach 2.8 standard errors, not 2.0" in said
    assert "found in four of five such runs (median of the pairs): F1 " in said


def test_two_seeds_are_said_to_be_few(words: Callable[..., str]) -> None:
    said = words(2)
    assert "2 seeds leave 1 degree of freedom" in said
    assert "12.7 standard errors" in said
    assert "Take three or more" in said
    assert "Take three or more" not in words(3)


def test_one_seed_covers_the_patients_alone(words: Callable[..., str]) -> None:
    said = words(1)
    assert "One seed: the intervals cover the test patients alone" in said
    assert "degree" not in said


def test_strict_says_what_its_seeds_hold_together(words: Callable[..., str]) -> None:
    said = words(3, protocol="strict")
    assert "its own pretraining, labelled subset and fine-tuning" in said
    assert "fine-tuning alone" not in said
