"""A config refuses what its types rule out, by the field's name and with what to give instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from methods.parts.fields import Range, Share, check_fields


@dataclass(frozen=True)
class Config:
    colour: Literal["red", "blue"] = "red"
    share: Share = 0.5
    size: Annotated[int, Range(least=1)] = 1
    temperature: Annotated[float, Range(above=0.0)] = 1.0
    anything: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"colour": "green"}, "Config.colour = 'green': give one of 'red', 'blue'"),
        ({"share": 1.01}, "Config.share = 1.01: give a number at least 0 and at most 1"),
        ({"share": float("nan")}, "Config.share = nan: give a number at least 0 and at most 1"),
        ({"size": 0}, "Config.size = 0: give a number at least 1"),
        ({"size": True}, "Config.size = True: give a number at least 1"),
        ({"temperature": 0}, "Config.temperature = 0: give a number above 0"),
        ({"temperature": "0.1"}, "Config.temperature = '0.1': give a number above 0"),
    ],
)
def test_bad_values_are_refused(changes: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole line is compared
        Config(**changes)  # type: ignore[arg-type]
    assert str(caught.value) == line


def test_good_values_pass() -> None:
    assert Config(colour="blue", share=0, size=7, temperature=1e-9).size == 7
    assert Config(share=1.0).share == 1
