"""A hyperparameter has the same space in every method, of values that the method takes."""

from __future__ import annotations

from random import Random

from methods import METHODS
from methods.parts.hyperparameters import Space, spaces_of

TRAINED = [name for name, method in METHODS.items() if method.trains]


def test_a_hyperparameter_has_one_space_in_all_methods_of_values_that_the_method_takes() -> None:
    shared: dict[str, Space] = {}
    for name in TRAINED:
        spaces = spaces_of(METHODS[name].Config)
        assert {"recipe.lr", "recipe.weight_decay"} <= spaces.keys()
        for hyperparameter, space in spaces.items():
            assert shared.setdefault(hyperparameter, space) == space
            outer, _, inner = hyperparameter.partition(".")
            for value in {space.draw(Random(number)) for number in range(200)}:
                config = METHODS[name].Config(**({outer: {inner: value}} if inner else {hyperparameter: value}))
                assert (config.recipe if inner else config).__dict__[inner or hyperparameter] == value
