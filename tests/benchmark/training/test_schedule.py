"""Lengths of pretrainings and learning rates: equal budgets, the three schedules, what a stem may not depend on."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmark.config.sections.pretrain import Budget, Pretrain
from benchmark.data.corpus.sampling import EpochShape
from benchmark.training.schedule import epochs_bought, learning_rate, stem_updates, updates_of
from methods.base import PretrainMethod, Recipe
from methods.byol import BYOL
from methods.pmq import PMQ

STABLE = Recipe(lr=0.5, schedule="stable")


def test_the_learning_rate_warms_up_and_falls_to_nothing() -> None:
    recipe = Recipe(lr=0.5)
    rates = [learning_rate(recipe, step, 100, 10) for step in range(100)]
    assert rates[:5] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert rates[5] == 0.5
    assert rates[52] == pytest.approx(0.25, abs=0.01)  # half of the cosine
    assert 0 < rates[99] < 0.001
    assert all(later < earlier for earlier, later in pairwise(rates[5:]))


def test_a_constant_rate_is_constant_and_a_single_update_has_the_whole_one() -> None:
    constant = Recipe(lr=0.5, schedule="constant")
    assert {learning_rate(constant, step, 10, 10) for step in range(10)} == {0.5}
    assert learning_rate(Recipe(lr=0.5), 0, 1, 1) == 0.5


def test_the_stable_rate_warms_up_stays_and_falls_linearly() -> None:
    rates = [learning_rate(STABLE, step, 100, 40) for step in range(100)]
    assert rates[:10] == pytest.approx([0.05 * n for n in range(1, 11)])
    assert set(rates[9 : stem_updates(100)]) == {0.5}
    assert rates[80:] == pytest.approx([0.5 * n / 21 for n in range(20, 0, -1)])


@pytest.mark.parametrize("longer", [11, 40, 400])
def test_before_the_decay_the_stable_rate_does_not_depend_on_the_total(longer: int) -> None:
    stem = stem_updates(10)
    assert [learning_rate(STABLE, step, 10, 40) for step in range(stem)] == [
        learning_rate(STABLE, step, longer, 40) for step in range(stem)
    ]
    assert stem_updates(longer) >= stem


def test_the_shortest_training_has_an_update_and_it_is_a_decay() -> None:
    assert (updates_of(0.001, 10), stem_updates(1)) == (1, 0)
    assert 0 < learning_rate(STABLE, 0, 1, 1) < STABLE.lr


@pytest.mark.parametrize(
    ("budget", "method", "updates"),
    [
        *(("epochs", method, 3 * 9) for method in (PMQ, BYOL)),
        ("windows", BYOL, 30),
        ("passes", PMQ, 30),
        ("passes", BYOL, 15),
        ("seconds", PMQ, 30),
        ("seconds", BYOL, 12),
    ],
)
def test_a_budget_is_equal_in_what_it_names(budget: Budget, method: type[PretrainMethod], updates: int) -> None:
    """The corpus has 100 pairs, of which an epoch of this method sees 90."""
    shape = EpochShape(9, 10)
    costs = Pretrain(budget=budget, pair_milliseconds={"pmq": 2.0, "byol": 5.0}).pair_costs(method)
    assert updates_of(epochs_bought(budget, 3, shape, 100, costs), shape.updates) == updates
