"""Run an arm as a user would: simulate, plant, prepare, audit, run the grid, keep the store. Finished arms are not run.

WORK/runs                  the results store of all arms
WORK/arms/KEY.json         a finished arm: the key of its plan, its leaks, its CPU time
WORK/data/KEY              cohorts and prepared recordings of an arm, removed when it is finished
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmark.config.command_line.values import Place
from benchmark.config.config import Config
from benchmark.config.load import load_config, validate
from benchmark.data.prepared.cache_key import PIPELINE_VERSION
from benchmark.data.readers.base import DatasetError
from benchmark.data.simulate import SIMULATOR_VERSION
from benchmark.data.tasks.split import SPLIT_VERSION
from benchmark.results.files.write import write_atomic
from benchmark.results.keys import digest
from benchmark.results.store import Store
from benchmark.run.data.cohorts import locate, names_of
from benchmark.run.data.datasets import gate, with_columns
from benchmark.run.grid.make import make_grid
from benchmark.run.machine import Machine
from benchmark.run.plan import make_plan
from benchmark.run.work.missing import missing
from benchmark.screen.console import open_console
from benchmark.training.classical.features import FEATURES_VERSION
from benchmark.training.finetune import FINETUNE_VERSION
from benchmark.training.linear import LINEAR_VERSION
from benchmark.training.pretrain import PRETRAIN_VERSION
from benchmark.verbs.answers.answer import BASE, Arm, Ran
from benchmark.verbs.run.grid import GridRequest, open_all, prepare_all, work_off
from reports.runs.run import open_run

VERSIONS = (
    *(SIMULATOR_VERSION, PIPELINE_VERSION, SPLIT_VERSION, PRETRAIN_VERSION),
    *(FINETUNE_VERSION, LINEAR_VERSION, FEATURES_VERSION),
)
MACHINE = Machine(torch.device("cpu"), "float32", jobs=1)


class ArmFailed(Exception):
    """An arm has cells that failed; the message names the first."""


def config_of(arm: Arm) -> Config:
    """The config of an arm, with simulated cohorts. Raises ConfigError."""
    return load_config("demo", {**BASE, **arm.overrides})


def key_of(arm: Arm) -> str:
    """Key of an arm: a hash of its config, its plants and the results versions; no path of a method's file enters."""
    config = config_of(arm)
    values = config.model_dump(mode="json") | {"methods": config.compared()}
    methods = [config.method_class(name).version for name in config.methods]
    plants = {name: plant.__name__ for name, plant in arm.plants.items()}
    return digest([values, plants, arm.allow_leak, VERSIONS, methods])


def finished(arm: Arm, work: Path) -> Ran | None:
    """A finished arm from the store, None if it is still to be run."""
    file = work / "arms" / f"{key_of(arm)}.json"
    if not file.is_file():
        return None
    kept = json.loads(file.read_bytes())
    return Ran(open_run(work / "runs", kept["plan"]), tuple(kept["leaks"]), kept["seconds"])


def run_arm(arm: Arm, work: Path) -> Ran:
    """Run what is missing of an arm on one core. Raises ArmFailed, DatasetError."""
    torch.set_num_threads(1)
    key, before = key_of(arm), cpu_seconds()
    data = work / "data" / key
    place = Place(None, {}, data / "cache", workers=1, simulated=data / "simulated")
    config, paths = plant(arm, config_of(arm), place)
    asked = GridRequest(config, replace(place, paths=paths), MACHINE, work / "runs", data / "out")
    console = open_console(io.StringIO())
    prepared = with_columns(asked.config, prepare_all(asked, open_all(asked, console), console))
    found = gate(config, prepared)
    if found.leaks and not arm.allow_leak:
        raise DatasetError("; ".join(found.leaks))
    store = Store(asked.results)
    grid = make_grid(config, prepared, MACHINE, store)
    plan = make_plan(config, prepared, grid, [*found.leaks, *found.unscored, *found.doubts])
    store.save_plan(plan)
    todo = missing(grid, store)
    if todo.cells and work_off(todo, prepared, store, asked, console):
        failure = next(iter(store.failures([*(cell.key for cell in todo.cells)]).values()))
        raise ArmFailed(f"{failure.line}; the same command tries it again")
    ran = Ran(open_run(store.root, plan.key), tuple(found.leaks), cpu_seconds() - before)
    kept = {"plan": plan.key, "leaks": ran.leaks, "seconds": ran.seconds}
    write_atomic(work / "arms" / f"{key}.json", json.dumps(kept).encode())
    shutil.rmtree(data)
    return ran


def plant(arm: Arm, config: Config, place: Place) -> tuple[Config, dict[str, Path]]:
    """The config that reads the altered cohorts, and their folders; both as they were for an arm without plants.

    An unaltered cohort beside an altered one is read from its folder too, since real and simulated data do not mix.
    """
    if not arm.plants:
        return config, {}
    paths = {}
    for name in names_of(config):
        cohort = locate(config, name, simulated=place.simulated, data_root=None, paths={}).root
        paths[name] = cohort
        if name in arm.plants:
            paths[name] = place.simulated.parent / "planted" / name
            shutil.rmtree(paths[name], ignore_errors=True)
            arm.plants[name](cohort, paths[name])
    return validate(without_simulation(config.model_dump(mode="json"))), paths


def without_simulation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Config values that read the datasets from folders."""
    return {**values, "data": {**values["data"], "simulation": None}}


def cpu_seconds() -> float:
    """CPU time of this process and its finished children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
