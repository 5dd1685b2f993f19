"""Training curves for those who watch them elsewhere: TensorBoard, Weights & Biases, MLflow. Only where asked for.

The process that runs the grid writes them, never one that trains: while a pretraining runs from what its process tells
after each epoch, and at its end from what the store holds. So curves move no number and no key, and what was stored
without a tracker, or by another runner, can be written later. A new tracker is its file and a line in `TRACKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmark.run.trackers.mlflow import MLflow
from benchmark.run.trackers.tensorboard import TensorBoard
from benchmark.run.trackers.tracker import Tracker
from benchmark.run.trackers.wandb import WeightsAndBiases

TRACKERS: dict[str, Callable[[Path], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}
"""Name, as `--track` and the extra of pyproject.toml have it -> what opens it with the folder of its local files."""


def open_trackers(names: list[str], out: Path) -> list[Tracker]:
    """The named trackers, each once, with local files in OUT/NAME. Raises ModuleNotFoundError where one is missing."""
    return [TRACKERS[name](out / name) for name in dict.fromkeys(names)]
