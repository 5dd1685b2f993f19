"""Do what is missing of a grid: pretrain once per key, evaluate, store.

Several runners on one store share the work by claims: each does what is free, and at the end waits for the others.
Under torchrun all ranks pretrain together, one pretraining after the other, and then each is a runner for the cells.
"""

from __future__ import annotations

from benchmark.run.engines.engine import Engine
from benchmark.run.engines.local import Local
from benchmark.run.loop import work_off
from benchmark.run.machine import in_ranks
from benchmark.run.order import Expected, at_once
from benchmark.run.ranks import nothing, together
from benchmark.run.work.missing import Work
from benchmark.run.work.setup import Setup


def do(work: Work, setup: Setup, engine: Engine | None = None, expected: Expected = at_once) -> int:
    """Run the missing work; returns the number of failed tasks. Failures are stored and do not stop the rest.

    Other runners on the store may do part of it; this one ends when all is done, under a detached engine when all is
    handed over. engine: None for this machine, `machine.jobs` jobs at a time.
    """
    first = together(work, setup) if in_ranks(setup.machine) else nothing
    return work_off(work, setup, engine or Local(setup.machine.jobs), expected, first)
