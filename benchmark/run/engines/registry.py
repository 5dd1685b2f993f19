"""The engines by name, and what is asked of one besides `run`: a new engine is a file, or a folder, and a line here.

Nothing here loads torch before an engine is opened: `status` asks what is in a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.config.sections.engine import EngineSection
from benchmark.run.engines.engine import Engine, Submitted, Task
from benchmark.run.engines.makespan import Makespan, as_local, as_slurm
from benchmark.run.engines.slurm.open import open_slurm
from benchmark.run.engines.slurm.queue import in_queue


@dataclass(frozen=True)
class Asked:
    """What an engine is opened with."""

    settings: EngineSection
    jobs: int
    devices: tuple[str, ...]
    results: Path
    """The store."""
    folders: Sequence[Path]
    """What tasks read besides."""
    detach: bool


class Devices(NamedTuple):
    """What a simulated engine has."""

    number: int
    jobs: int
    """Most tasks at a time on one."""
    abreast: int
    """Of these, most whole ones."""
    settings: EngineSection


@dataclass(frozen=True)
class Kind:
    """What is asked of an engine."""

    open: Callable[[Asked], Engine]
    """Raises ConfigError where it is not there."""
    makespan: Callable[[Sequence[Task[Any]], Devices], Makespan]
    """How long tasks take from start to end, for `--dry-run`."""
    cluster: bool = False
    """Whether tasks become jobs of other hosts: device, ranks and room are then those of the section `engine`."""
    queue: Callable[[Path], Sequence[Submitted]] = lambda results: ()
    """The jobs of a store that wait or run, for `status`."""


def open_local(asked: Asked) -> Engine:
    """The engine `local`."""
    from benchmark.run.engines.local import Local  # here, because torch loads slowly

    return Local(asked.jobs, asked.devices)


ENGINES: dict[str, Kind] = {
    "local": Kind(open_local, lambda tasks, on: as_local(tasks, on.number, jobs=on.jobs, abreast=on.abreast)),
    "slurm": Kind(
        lambda asked: open_slurm(asked.settings, asked.results, asked.folders, detach=asked.detach),
        lambda tasks, on: as_slurm(tasks, on.number, on.settings),
        cluster=True,
        queue=in_queue,
    ),
}
