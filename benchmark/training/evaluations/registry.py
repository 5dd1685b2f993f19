"""The evaluation of a name: that of the tables, and those of gates and of `tune`."""

from __future__ import annotations

from importlib import import_module

from benchmark.training.evaluations.contract import Evaluation


def evaluation_named(name: str) -> Evaluation:
    """`EVALUATION` of the file of the name, with _ for -. Raises ModuleNotFoundError for an unknown name."""
    found = import_module(f"{__package__}.{name.replace('-', '_')}").EVALUATION
    assert isinstance(found, Evaluation), name
    return found
