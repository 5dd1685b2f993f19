"""What a runner works with: config, data, store and machine, and whom it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.results.store import Store
from benchmark.run.machine import Machine
from benchmark.run.work.watch import Watch


@dataclass(frozen=True)
class Setup:
    """What a runner works with, the same for all of its tasks."""

    config: Config
    prepared: Mapping[str, Prepared]
    """Name of the corpus or of a column -> its prepared data."""
    store: Store
    machine: Machine
    watch: Watch


def folders_of(setup: Setup) -> dict[str, Path]:
    """Name of the corpus or of a column -> folder of its prepared data."""
    return {name: data.folder for name, data in setup.prepared.items()}
