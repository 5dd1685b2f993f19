"""The flag `--track`: training curves also for TensorBoard, Weights & Biases or MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark.config.command_line import NAMES, REPORTED
from benchmark.config.errors import ConfigError
from benchmark.config.verb import Flag, Known
from benchmark.run.trackers import TRACKERS, open_trackers
from benchmark.run.trackers.tracker import Tracker

TRACK = Flag(
    REPORTED,
    f"training curves also to {', '.join(TRACKERS)} (local files in --out; nothing is sent without this flag)",
    how=NAMES,
    known=Known("tracker", tuple(TRACKERS), files=False),
)


def trackers_of(names: Sequence[str] | None, out: Path) -> tuple[Tracker, ...]:
    """The trackers of `--track`, with local files under `out`. Raises ConfigError where a library is missing."""
    try:
        return tuple(open_trackers(list(names or ()), out))
    except ModuleNotFoundError as error:
        raise ConfigError(str(error)) from None
