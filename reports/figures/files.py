"""What a drawing of a run's figures leaves: their files, and what could not be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = "figures"


@dataclass(frozen=True)
class Figures:
    """The figures' files."""

    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """One line per figure that could not be drawn."""
