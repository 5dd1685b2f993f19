"""The engines by name: a new engine is a file and a line in `ENGINES`, and is imported where it is opened."""

from __future__ import annotations

from typing import NamedTuple


class EngineKind(NamedTuple):
    """What is known of an engine before it is opened."""

    opens: str
    """`module:function` of a `benchmark.run.local.EngineRequest` -> engine."""
    cluster: bool = False
    """Whether tasks become jobs of other hosts: device and room are then those of the section `engine`."""
    queue: str = ""
    """`module:function` of a store's folder -> its jobs that wait or run; '' for an engine without a queue."""


ENGINES = {
    "local": EngineKind("benchmark.run.local:open_local"),
    "slurm": EngineKind("benchmark.extras.slurm:open_slurm", cluster=True, queue="benchmark.extras.slurm:in_queue"),
}
