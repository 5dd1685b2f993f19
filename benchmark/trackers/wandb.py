"""Weights & Biases: one run per curve, its id the key. Local files in FOLDER.

Sent are the curve, its name and its config; nothing of the machine, the console, the code or its repository but the
versions of Python and wandb and the platform. How far a curve is, stands in FOLDER/steps/KEY, since a run that was
written with WANDB_MODE=offline cannot be asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmark.results.files.write import write_atomic
from benchmark.trackers.tracker import NOTHING, PROJECT, extra

SILENT: dict[str, Any] = {
    "console": "off",
    "host": "",
    "silent": True,
    "save_code": False,
    "disable_code": True,
    "disable_git": True,
    "disable_job_creation": True,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}
"""Settings of a run: what wandb would send besides."""


class WeightsAndBiases:
    """Runs of the project `PROJECT`, or of $WANDB_PROJECT."""

    name = "wandb"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with extra(self.name):  # here, because only who tracks needs it
            import wandb
        self._wandb = wandb

    def last(self, key: str) -> int:
        """The last step that was written from this folder."""
        with suppress(OSError, ValueError):
            return int(self._steps(key).read_text())
        return NOTHING

    def start(self, name: str, key: str, config: Mapping[str, Any]) -> Run:
        """A new run, or the run of the key."""
        self._folder.mkdir(parents=True, exist_ok=True)
        run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=key,
            name=name,
            config=dict(config),
            dir=str(self._folder),
            resume="allow",
            reinit="create_new",
            settings=self._wandb.Settings(**SILENT),
        )
        return Run(run, self._steps(key))

    def _steps(self, key: str) -> Path:
        return self._folder / "steps" / key


class Run:
    """One run."""

    def __init__(self, run: Any, steps: Path) -> None:
        self._run = run
        self._steps = steps

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point."""
        self._run.log(dict(values), step=step)
        write_atomic(self._steps, str(step).encode())

    def finish(self) -> None:
        """End the run and wait until it is written."""
        self._run.finish()
