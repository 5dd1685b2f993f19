"""The plan of a run: its config, rows, datasets and cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmark.results.keys import KEY
from benchmark.results.names import UNIT_OF_PROTOCOL

RENAMED = {"compare": "methods", "methods": "knobs"}
"""Old config key -> current one, for stored configs that have a `compare` key."""


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a plan; its finished row is stored under `key`."""

    key: str
    variant: str
    evaluation: str
    dataset: str
    ratio: float
    seed: int


@dataclass(frozen=True)
class Plan:
    """Plan of a run, with all that a report needs besides the rows."""

    key: str
    config: dict[str, Any]
    variants: dict[str, str]
    """Variant -> title printed in a table, in the order of the rows."""
    datasets: dict[str, dict[str, Any]]
    """Dataset -> title, classes, simulated (bool), fingerprint, recordings, patients, skipped, in column order."""
    pretraining: dict[str, Any]
    """The same facts of the pretraining corpus, with its name."""
    roles: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Variant -> role ('method', 'ablation', 'sweep' or 'gate'), what it is a change of (of, knob, value), and whether
    it reads reports."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for every table, e.g. that test recordings were trained on; one sentence each, without full stop."""
    cells: list[PlannedCell] = field(default_factory=list)


def with_todays_keys(config: dict[str, Any]) -> dict[str, Any]:
    """A stored config of a plan or row, with old keys renamed to current ones."""
    if "compare" not in config:
        return config
    return {RENAMED.get(key, key): value for key, value in config.items()}


def check_plan(plan: Plan) -> None:
    """Raise ValueError for an unknown protocol, an unlisted variant or dataset of a cell, or an invalid key."""
    if plan.config["protocol"] not in UNIT_OF_PROTOCOL:
        raise ValueError(f"unknown protocol {plan.config['protocol']!r}")
    for cell in plan.cells:
        if cell.variant not in plan.variants or cell.dataset not in plan.datasets:
            raise ValueError(f"a cell of {cell.variant!r} on {cell.dataset!r}, which the plan does not list")
    for key in (plan.key, *(cell.key for cell in plan.cells)):
        if not KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key")
