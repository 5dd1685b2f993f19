"""The engines by name: a new engine is a file and a line in `ENGINES`, and is imported where it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.config.command_line import function_named
from benchmark.config.sections import EngineSection
from benchmark.run.local import Engine, Submitted


@dataclass(frozen=True)
class EngineRequest:
    """What an engine is opened with."""

    settings: EngineSection
    jobs: int
    devices: tuple[str, ...]
    results: Path
    """The store."""
    folders: Sequence[Path]
    """What tasks read besides."""
    detach: bool


@dataclass(frozen=True)
class EngineKind:
    """What is known of an engine before it is opened."""

    opens: str
    """`module:function` of an EngineRequest -> Engine."""
    cluster: bool = False
    """Whether tasks become jobs of other hosts: device, ranks and room are then those of the section `engine`."""
    queue: str = ""
    """`module:function` of a store's folder -> its jobs that wait or run; '' for an engine without a queue."""

    def open(self, request: EngineRequest) -> Engine:
        """The engine. Raises ConfigError where it is not there."""
        engine: Engine = function_named(self.opens)(request)
        return engine

    def in_queue(self, results: Path) -> Sequence[Submitted]:
        """The jobs of a store that wait or run, for `status`."""
        found: Sequence[Submitted] = function_named(self.queue)(results) if self.queue else ()
        return found


ENGINES = {
    "local": EngineKind("benchmark.run.local:open_local"),
    "slurm": EngineKind("benchmark.extras.slurm:open_slurm", cluster=True, queue="benchmark.extras.slurm:in_queue"),
}
