"""What `--dry-run` says of the time from start to end: for the tasks that the engine would be given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from benchmark.config.config import Config
from benchmark.run.grid.cells import Cell
from benchmark.run.grid.expand import expand
from benchmark.run.machine import Machine
from benchmark.run.work.missing import Work
from benchmark.verbs.run.makespan import makespan_lines, planned_tasks

CPU, GPUS = Machine(torch.device("cpu"), "float32", 2), Machine(torch.device("cuda"), "bf16", 2, devices=2)
SmallConfig = Callable[..., Config]
FEW = {"evaluate": ["finetune", "linear"], "ratios": [0.5, 0.1], "seeds": [1, 2]}


def seconds(task: object) -> float:
    """A cell takes a minute, a pretraining an hour."""
    return 60.0 if isinstance(task, Cell) else 3600.0


def work_of(config: Config) -> Work:
    mode = {"device": "cpu", "precision": "float32"}
    grid = expand(config, corpus="corpus", fingerprints={"chapman": "data"}, mode=mode)
    return Work(grid, grid.pretrainings, grid.cells, ())


def test_probes_of_an_encoder_are_one_task_and_each_waits_for_its_own_encoder(small_config: SmallConfig) -> None:
    work = work_of(small_config(FEW))
    tasks = planned_tasks(work, seconds)
    whole = [task for task in tasks if task.whole]
    assert [task.key for task in whole] == [own.key for own in work.pretrainings]
    assert {task.after for task in tasks if not task.whole} == {task.key for task in whole}
    assert sorted(key for task in tasks if not task.whole for key in task.keys) == sorted(c.key for c in work.cells)
    probes = [task for task in tasks if len(task.keys) > 1]
    assert len(probes) == len(work.pretrainings)
    assert sum(task.seconds for task in tasks) == sum(map(seconds, (*work.pretrainings, *work.cells)))


def test_machines_devices_and_jobs_of_a_cluster(small_config: SmallConfig) -> None:
    config = small_config({"methods": ["moco", "pmq"], "evaluate": ["finetune"], "ratios": [0.5], "seeds": [1]})
    work = work_of(config)
    chain = (
        "  never less than 1 h 1 min, the longest chain: moco pretrain seed 42, then moco finetune chapman 0.5 seed 1"
    )
    begins = "  from start to end, simulated with the engine's own rules: "
    ends = ", 1 h 1 min on 2, 1 h 1 min on 4, 1 h 1 min on 8"
    assert list(makespan_lines(config, work, seconds, CPU)) == [
        f"{begins}1 h 1 min on 1 machine like this{ends}",
        chain,
    ]
    assert next(iter(makespan_lines(config, work, seconds, GPUS))) == f"{begins}2 h 2 min on 1 device{ends}"
    slurm = config.model_copy(update={"engine": config.engine.model_copy(update={"name": "slurm", "gpus": 2})})
    said = next(iter(makespan_lines(slurm, work, seconds, replace(GPUS, jobs=1, ranks=2, devices=1))))
    assert said == f"{begins}2 h 2 min on 2 devices, 1 h 1 min on 4, 1 h 1 min on 8"


def test_nothing_is_said_of_nothing_and_of_ranks_that_pretrain_in_step(small_config: SmallConfig) -> None:
    work = work_of(config := small_config(FEW))
    assert list(makespan_lines(config, replace(work, pretrainings=(), cells=()), seconds, CPU)) == []
    assert list(makespan_lines(config, work, seconds, replace(CPU, ranks=2))) == []


@pytest.mark.parametrize("devices", [1, 3])
def test_the_number_of_devices_of_the_command_is_told(small_config: SmallConfig, devices: int) -> None:
    said = next(iter(makespan_lines(c := small_config(FEW), work_of(c), seconds, replace(GPUS, devices=devices))))
    assert (" on 3," in said) == (devices == 3)
