"""The names that the command line knows without loading the registries are those of the registries."""

from __future__ import annotations

from benchmark.data.readers import registry
from benchmark.results import names
from methods import METHODS
from methods.encoders import ENCODERS


def test_the_names_are_those_of_the_registries() -> None:
    assert tuple(METHODS) == names.METHODS
    assert tuple(ENCODERS) == names.ENCODERS
    assert tuple(registry.DATASETS) == names.DATASETS
