"""What an evaluation is: its labelled windows, what it does with them, what its results depend on, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmark.config.config import Config
from benchmark.data.tasks.task import Draw, Task, drawn_by_protocol
from benchmark.training.finetune import Outcome
from benchmark.training.linear import Known
from methods.base import PretrainMethod
from methods.encoders.base import Encoder

PROBE_PASSES = 1.5
"""Cost of fitting the probes, in encoder passes per labelled window."""


@dataclass(frozen=True)
class Judged:
    """What an evaluation is given."""

    encoder: Encoder
    task: Task
    config: Config
    method: type[PretrainMethod]
    seed: int
    precision: str
    known: Known
    """What it shares with the other cells of its encoder, which it leaves as it is."""


class Amounts(NamedTuple):
    """Windows of a task, as an estimate knows them."""

    labelled: float
    held_out: float
    """Of validation and test each."""


class Pool(NamedTuple):
    """Size of a dataset's training part, as an estimate knows it."""

    windows: float
    recordings: float
    classes: int


def share_of(pool: Pool, ratio: float) -> float:
    """Labelled windows at a label ratio."""
    return pool.windows * ratio


def frozen_passes(config: Config, amounts: Amounts) -> float:
    """Encoder passes of a probe that reads each window once."""
    return amounts.labelled * (1 + PROBE_PASSES) + 2 * amounts.held_out


@dataclass(frozen=True)
class Evaluation:
    """How an encoder is judged on a task."""

    version: int
    """Results version: raised with any change that can move a number."""
    section: str
    """Config section that has its settings; '' for none."""
    run: Callable[[Judged], Outcome]
    """Learn on the labelled windows and predict the test windows. Raises TrainingStopped on a non-finite loss."""
    settings: Callable[[Config], Mapping[str, Any]]
    """The settings that its results depend on, for the key of a cell."""
    draw: Draw = drawn_by_protocol
    """The labelled windows."""
    further: Callable[[Config, type[PretrainMethod]], Mapping[str, Any]] = lambda config, method: {}
    """Further entries of the key, absent at their defaults."""
    labelled: Callable[[Pool, float], float] = share_of
    """(training part, ratio) -> expected labelled windows."""
    passes: Callable[[Config, Amounts], float] = frozen_passes
    """Expected cost in encoder passes over one window."""
