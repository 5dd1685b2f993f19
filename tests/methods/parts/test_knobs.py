"""Spaces: every tuned knob of every method has one, the same for the same knob, of values that the method takes."""

from __future__ import annotations

from random import Random

import pytest

from methods import METHODS
from methods.parts.knobs import Choice, Log, Space, spaces_of

TRAINED = [name for name, method in METHODS.items() if method.trains]

SPACES: dict[str, Space] = {
    "block_share": Choice((0.1, 0.2, 0.3)),
    "blocks": Choice((2, 4, 6)),
    "covariance": Log(0.1, 10.0),
    "frequency_mask": Choice((0.0, 0.05, 0.1, 0.25)),
    "horizon": Choice((4, 12, 24)),
    "instance_weight": Choice((0.25, 0.5, 0.75)),
    "invariance": Log(1.0, 50.0),
    "latent_dropout": Choice((0.05, 0.1, 0.2)),
    "mask_ratio": Choice((0.5, 0.6, 0.75, 0.85)),
    "mask_span_share": Choice((0.05, 0.1, 0.2)),
    "mask_spans": Choice((0, 2, 5, 10)),
    "momentum": Choice((0.9, 0.99, 0.996, 0.999)),
    "observation_weight": Log(0.05, 1.0),
    "off_diagonal_weight": Log(5e-4, 5e-2),
    "patient_weight": Log(0.05, 1.0),
    "recipe.lr": Log(1e-4, 1e-2),
    "recipe.weight_decay": Choice((0.0, 1e-4, 1e-3, 1e-2, 1e-1)),
    "sample_weight": Log(0.05, 1.0),
    "temperature": Log(0.03, 0.5),
    "time_mask": Choice((0.0, 0.1, 0.25, 0.5)),
    "trial_weight": Log(0.05, 1.0),
    "uma_weight": Log(0.05, 1.0),
    "variance": Log(1.0, 50.0),
}
"""Written down: a space that moves makes earlier trials another search."""


def draws(space: Space, count: int = 200) -> list[float]:
    return [space.draw(Random(number)) for number in range(count)]


@pytest.mark.parametrize("name", TRAINED)
def test_a_knob_has_one_space_in_all_methods_of_values_that_the_method_takes(name: str) -> None:
    spaces = spaces_of(METHODS[name].Config)
    assert spaces == {knob: SPACES[knob] for knob in spaces}
    assert {"recipe.lr", "recipe.weight_decay"} <= spaces.keys()
    for knob, space in spaces.items():
        outer, _, inner = knob.partition(".")
        for value in set(draws(space)):
            config = METHODS[name].Config(**({outer: {inner: value}} if inner else {knob: value}))
            assert (config.recipe if inner else config).__dict__[inner or knob] == value


def test_a_logarithmic_space_draws_two_digits_within_its_ends() -> None:
    source = Random(0)
    drawn = [Log(1e-4, 1e-2).draw(source) for _ in range(400)]
    assert all(value == float(f"{value:.2g}") and 1e-4 <= value <= 1e-2 for value in drawn)
    assert sum(value < 1e-3 for value in drawn) == pytest.approx(200, abs=40)
    assert len(set(drawn)) > 100
