"""The words below a table follow from its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.rows import Predictions
from reports.runs.run import open_run
from reports.statistics.columns import ScoreColumn, score_columns
from reports.statistics.limits import method, reach
from reports.statistics.pairwise import pairwise


@pytest.fixture
def words(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Callable[..., str]:
    """All sentences on a store of two methods with some seeds; `alter` changes their columns on the way."""

    def say(
        seeds: int,
        protocol: str = "paper",
        *,
        details: bool = False,
        alter: Callable[[list[ScoreColumn]], list[ScoreColumn]] = lambda columns: columns,
    ) -> str:
        design = {"methods": 2, "seeds": seeds, "patients": 40, "scatter": scatter()}
        found = simulate_predictions(np.random.default_rng(0), **design)
        places = {(f"m{method}", "ptb-xl", 0.1, 41 + seed): run for (method, seed), run in found.items()}
        root = write_predictions(places, protocol=protocol)
        run = open_run(root)
        columns = alter(score_columns(run, run.plan.cells, "recording", resamples=60))
        return " ".join(method(run, columns) if details else reach(run, columns, pairwise(columns)))

    return say


def test_five_seeds_under_the_paper_protocol(words: Callable[..., str]) -> None:
    said = words(5)
    assert "Test patients: PTB-XL 40." in said
    assert "over 1 pair of rows per column" in said
    assert "5 seeds of fine-tuning on one pretraining per method and one labelled subset" in said
    assert "the intervals do not cover the variation between pretrainings or subsets" in said
    assert "Detectable difference in points (power 80 %, without Holm's correction, median of the pairs): F1 " in said
    told = words(5, details=True)
    assert "60 resamples of the test patients" in told
    assert "need not hold for the methods" in told
    assert "5 seeds leave 4 degrees of freedom" in told
    assert "significant from 2.8 standard errors, instead of 2.0" in told


def test_two_seeds_are_said_to_be_few(words: Callable[..., str]) -> None:
    assert "use three or more" in words(2)
    assert "use three or more" not in words(3)
    told = words(2, details=True)
    assert "need not hold for the methods" in told
    assert "2 seeds leave 1 degree of freedom" in told
    assert "12.7 standard errors" in told
    assert "13 %" in told
    assert "13 %" not in words(3, details=True)


def test_one_seed_covers_the_patients_alone(words: Callable[..., str]) -> None:
    assert "One seed: the intervals cover the test patients alone" in words(1)
    told = words(1, details=True)
    assert "degree" not in told
    assert "need not hold for the methods" not in told


def test_strict_says_what_its_seeds_hold_together(words: Callable[..., str]) -> None:
    said = words(3, protocol="strict")
    assert "its own pretraining, labelled subset and fine-tuning" in said
    assert "seeds of fine-tuning" not in said
    assert "between these encoders" not in words(3, protocol="strict", details=True)


def test_the_pairs_are_counted_where_most_rows_compete(words: Callable[..., str]) -> None:
    def with_a_single_row(columns: list[ScoreColumn]) -> list[ScoreColumn]:
        first = columns[0]
        return [*columns, replace(first, variants=("m0",), scores=first.scores[:1], encoders=first.encoders[:1])]

    assert "over 1 pair of rows per column" in words(3, alter=with_a_single_row)


def test_a_row_with_a_pretraining_per_seed_is_named(words: Callable[..., str]) -> None:
    """The second row has one pretraining, and a seed that was not run."""

    def per_seed(columns: list[ScoreColumn]) -> list[ScoreColumn]:
        encoders = np.array([["a", "b", "c"], ["d", "d", ""]])
        return [replace(column, encoders=encoders) for column in columns]

    assert "one pretraining per method (M0: one per seed) and one labelled subset" in words(3, alter=per_seed)
