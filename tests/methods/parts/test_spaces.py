"""Spaces: every tuned knob of every method has one, the same for the same knob, of values that the method takes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from methods import METHODS, get_method
from methods.parts.spaces import Choice, Log, Space, spaces_of

TRAINED = [name for name, method in METHODS.items() if method.trains]
MINE = """
from dataclasses import dataclass
from typing import Annotated
import methods.pmq
from methods.parts.spaces import Choice

@dataclass(frozen=True)
class MyConfig(methods.pmq.PMQConfig):
    sharpness: Annotated[float, Choice((1.0, 2.0))] = 1.0

class Mine(methods.pmq.PMQ):
    name = "mine"
    title = "Mine"
    Config = MyConfig
"""


def draws(space: Space, count: int = 200) -> list[float]:
    return [space.draw(Random(number)) for number in range(count)]


@pytest.mark.parametrize("name", TRAINED)
def test_every_drawn_value_is_one_that_the_method_takes(name: str) -> None:
    for knob, space in spaces_of(METHODS[name].Config).items():
        for value in set(draws(space)):
            outer, _, inner = knob.partition(".")
            config = METHODS[name].Config(**({outer: {inner: value}} if inner else {knob: value}))
            assert (config.recipe if inner else config).__dict__[inner or knob] == value


def test_a_knob_has_one_space_in_all_methods() -> None:
    found: dict[str, set[Space]] = {}
    for name in TRAINED:
        for knob, space in spaces_of(METHODS[name].Config).items():
            found.setdefault(knob, set()).add(space)
    assert {knob: len(spaces) for knob, spaces in found.items()} == dict.fromkeys(found, 1)
    assert {"recipe.lr", "recipe.weight_decay", "temperature", "momentum", "time_mask"} <= found.keys()


@pytest.mark.parametrize("name", TRAINED)
def test_rate_and_decay_of_every_method_are_tuned(name: str) -> None:
    assert {"recipe.lr", "recipe.weight_decay"} <= spaces_of(METHODS[name].Config).keys()


def test_draws_lie_in_the_space_and_fill_it() -> None:
    values = draws(Log(0.01, 1.0))
    assert 0.01 <= min(values) < 0.015
    assert 0.7 < max(values) <= 1.0
    assert 60 < sum(value < 0.1 for value in values) < 140  # half of the draws, on a logarithmic axis
    assert set(draws(Choice((0.0, 0.5)))) == {0.0, 0.5}


def test_a_method_in_a_file_has_the_spaces_of_its_own_knobs(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    found = spaces_of(get_method(str(file)).Config)
    assert found["sharpness"] == Choice((1.0, 2.0))
    assert found.keys() - {"sharpness"} == spaces_of(METHODS["pmq"].Config).keys()
