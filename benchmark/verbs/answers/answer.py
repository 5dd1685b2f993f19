"""What a known answer is: a planted truth, what must come out, the runs that ask for it, and the check of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.runs.run import Run

Plant = Callable[[Path, Path], None]
"""(folder of a simulated cohort, folder to write) -> an altered copy. The function's name enters the arm's key."""

BASE: dict[str, Any] = {
    "methods": ["random"],
    "gates": [],
    "data.datasets": ["ptb-xl"],
    "data.labels": "multi",
    "encoder": {"hidden": 16, "depth": 6, "output": 64, "pool": 1},
    "pretrain": {"epochs": 2, "budget": "epochs", "recipe": {"batch_size": 64, "lr": 1e-3}},
    "finetune": {"epochs": 2, "lr": 1e-3, "batch_size": 32},
    "linear": {"strengths": [0.01, 0.1, 1.0, 10.0]},
    "boosting": {"iterations": 40},
    "evaluate": ["linear"],
    "ratios": [0.3],
    "seeds": [41, 42, 43],
    "protocol": "strict",
    "precision": "float32",
}
"""Dotted config keys of every arm, laid over the config demo: all that the page says of the runs stands here."""

TRAINED_OUT: dict[str, Any] = {
    "encoder.pool": 3,
    "pretrain.epochs": 12,
    "pretrain.recipe.lr": 3e-3,
    "seeds": [41, 42, 43, 44, 45],
}
"""Config keys of arms whose answer is a difference between encoders: five of each, trained out at 83 Hz."""


def cohorts(seed: int = 1, *, mimic: int = 100, ptb_xl: int = 600, **dials: float) -> dict[str, Any]:
    """The override that sets the simulation: its seed, patients per cohort, and dials that are not at 1."""
    return {"data.simulation": {"seed": seed, "patients": {"mimic-iv-ecg": mimic, "ptb-xl": ptb_xl}, **dials}}


@dataclass(frozen=True)
class Arm:
    """One run of a known answer: a config, and what is planted in its cohorts."""

    overrides: Mapping[str, Any]
    """Dotted config keys, laid over `BASE`."""
    plants: Mapping[str, Plant] = field(default_factory=dict)
    """Dataset -> alteration of its simulated cohort."""
    allow_leak: bool = True
    """Run although the audit found leaks, as `--allow-leak` does; the leaks are kept in `Ran`."""


@dataclass(frozen=True)
class Ran:
    """A finished arm."""

    run: Run
    leaks: tuple[str, ...]
    """Reasons for which a run without `--allow-leak` is refused."""
    seconds: float
    """CPU time of this process and its children, data included."""


@dataclass(frozen=True)
class Finding:
    """One number or fact of a known answer beside what was wanted."""

    what: str
    found: str
    """The value, with its interval where it has one."""
    wanted: str
    passed: bool


@dataclass(frozen=True)
class Answer:
    """One known answer."""

    name: str
    """As `--only` takes it."""
    planted: str
    """What is true of the data, and why."""
    expected: str
    """What must come out. It is written before the run, and stays as it was if the run disagrees."""
    arms: Mapping[str, Arm]
    check: Callable[[Mapping[str, Ran]], Sequence[Finding]]
    """Finished arms by name -> findings."""
    by_default: bool = True
    """Runs where `--only` names no answer; the others run where it names them."""
    changed: str = ""
    """What was changed after an earlier run, and why."""
    conclusion: str = ""
    """What a reader may and may not conclude; written after the run."""
