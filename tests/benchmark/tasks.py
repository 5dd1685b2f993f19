"""The task of a single cell, for tests."""

from __future__ import annotations

import torch

from benchmark.data.column import Column
from benchmark.data.prepare import Prepared
from benchmark.data.splits import TaskSpec
from benchmark.data.task import Task, sides_for_tasks, task_on


def make_task(
    prepared: Prepared, spec: TaskSpec, *, ratio: float, seed: int, device: torch.device, tested: bool = True
) -> Task:
    """`task_on` sides of its own."""
    return task_on(sides_for_tasks(Column(prepared, spec), device=device, tested=tested), ratio=ratio, seed=seed)
