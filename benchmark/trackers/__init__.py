"""Where training curves go besides the store: TensorBoard, Weights & Biases, MLflow. Only where asked for.

In: a curve's name, key and config, and its points. benchmark.run.curves says which. Libraries are imported where a
tracker is opened. A new tracker is its file and a line in `TRACKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmark.trackers.mlflow import MLflow
from benchmark.trackers.tensorboard import TensorBoard
from benchmark.trackers.tracker import Tracker
from benchmark.trackers.wandb import WeightsAndBiases

TRACKERS: dict[str, Callable[[Path], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}
"""Name, as `--track` and the extra of pyproject.toml have it -> what opens it with the folder of its local files."""


def open_trackers(names: list[str], out: Path) -> list[Tracker]:
    """The named trackers, each once, with local files in OUT/NAME. Raises ModuleNotFoundError where one is missing."""
    return [TRACKERS[name](out / name) for name in dict.fromkeys(names)]
