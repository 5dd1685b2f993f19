"""The engines by name: one file, or folder, and one line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.config.sections.engine import EngineSection
from benchmark.run.engines.engine import Engine
from benchmark.run.engines.local import Local
from benchmark.run.engines.slurm.open import open_slurm


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


ENGINES: dict[str, Callable[[Asked], Engine]] = {
    "local": lambda asked: Local(asked.jobs, asked.devices),
    "slurm": lambda asked: open_slurm(asked.settings, asked.results, asked.folders, detach=asked.detach),
}
