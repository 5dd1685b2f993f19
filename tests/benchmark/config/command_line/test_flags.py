"""The names that flags take, which are refused before the config is read, are those that the config takes."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

from benchmark.config.command_line.flags import FLAGS, NO_GATE
from benchmark.config.config import Config
from benchmark.config.packaged import config_names
from benchmark.config.sections.data import Data
from benchmark.config.sections.pretrain import Pretrain
from benchmark.machine.device import pick_device


def literal_of(section: Any, key: str) -> tuple[Any, ...]:
    """The values of a key, or those of its list."""
    found = get_args(get_type_hints(section)[key])
    return get_args(found[0]) or found


@pytest.mark.parametrize(
    ("flag", "section", "key"),
    [
        ("--protocol", Config, "protocol"),
        ("--precision", Config, "precision"),
        ("--preset", Pretrain, "preset"),
        ("--labels", Data, "labels"),
        ("--segmentation", Data, "segmentation"),
        ("--standardise", Data, "standardise"),
        ("--pool", Data, "pool"),
    ],
)
def test_a_flag_takes_what_its_key_takes(flag: str, section: Any, key: str) -> None:
    known = FLAGS[flag].known
    assert known is not None
    assert set(known.names) == set(literal_of(section, key))


def test_gates_are_those_of_the_config_or_none() -> None:
    known = FLAGS["--gates"].known
    assert known is not None
    assert set(known.names) == {*literal_of(Config, "gates"), NO_GATE}


def test_a_config_is_one_of_the_suite_or_a_file() -> None:
    known = FLAGS["--config"].known
    assert known is not None
    assert list(known.names) == config_names()
    known.refuse("mine.yaml")


@pytest.mark.parametrize("word", ["auto", "cpu"])
def test_a_device_that_is_taken_is_one(word: str) -> None:
    known = FLAGS["--device"].known
    assert known is not None
    known.refuse(word)
    known.refuse("cuda:1")
    assert pick_device(word)
