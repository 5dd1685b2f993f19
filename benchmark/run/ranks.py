"""The work of several ranks of torchrun: all pretrain together, and then each is a runner for the cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmark.config.config import Config
from benchmark.data.prepared.load import opened
from benchmark.machine.ranks import lead, own_device, read_ranks
from benchmark.results.store import Store
from benchmark.run.engines.local import Local
from benchmark.run.loop import First, work_off
from benchmark.run.machine import Machine
from benchmark.run.order import at_once
from benchmark.run.pretraining import in_step
from benchmark.run.work.jobs import configs_of, name_of, pretraining_job, run_job
from benchmark.run.work.left import Left, is_free, settle
from benchmark.run.work.missing import Work
from benchmark.run.work.setup import Setup, folders_of
from benchmark.run.work.watch import QUIET


def together(work: Work, setup: Setup) -> First:
    """What the first of several ranks does first in each round, with the others: pretrain, and hand out the cells."""
    handed_out: set[str] = set()

    def first(left: Left) -> None:
        pretrain_in_step(left, setup)
        hand_out_cells(left, handed_out, work, setup)

    return first


def nothing(left: Left) -> None:
    """What a runner of one process does first."""


def pretrain_in_step(left: Left, setup: Setup) -> None:
    """Do the pretrainings that are free, each in all ranks at once."""
    tasks = list(left.pretrainings.values())
    configs = configs_of(setup.config, tasks)
    for job in [pretraining_job(task, configs, setup) for task in tasks]:
        if is_free(job.task, left, setup):
            setup.watch.started(name_of(job))
            if job.ranks > 1:
                lead(in_step, job)
            for end in run_job(job, setup.watch.told):
                settle(end, left, setup, stored=False)


def hand_out_cells(left: Left, handed_out: set[str], work: Work, setup: Setup) -> None:
    """Make every other rank a runner for the cells whose encoder is there, and which were not handed out before."""
    cells = [cell for cell in left.ready() if cell.key not in handed_out]
    if cells:
        handed_out.update(cell.key for cell in cells)
        own = replace(work, pretrainings=(), cells=tuple(cells))
        lead(do_cells, own, setup.config, folders_of(setup), setup.store.root, setup.machine)


def do_cells(work: Work, config: Config, folders: Mapping[str, Path], results: Path, machine: Machine) -> None:
    """Share cells with the other ranks, without a word: what fails is stored, and the first rank tells."""
    prepared = {name: opened(folder) for name, folder in folders.items()}
    own = replace(machine, device=own_device(machine.device, read_ranks()), ranks=1)
    work_off(work, Setup(config, prepared, Store(results), own, QUIET), Local(own.jobs), at_once, nothing)
