"""The rounds of a runner: do what is free of a grid's missing work, wait for what other runners hold, begin again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing

from benchmark.data.prepared.trials import trials
from benchmark.run.engines.engine import Engine
from benchmark.run.grid.cells import Cell, Pretraining
from benchmark.run.order import Expected, order_of
from benchmark.run.work.claims import CLAIMS, POLL_SECONDS, Claims
from benchmark.run.work.jobs import configs_of, killed
from benchmark.run.work.left import Left, claimed, left_of, settle
from benchmark.run.work.missing import Work
from benchmark.run.work.setup import Setup
from benchmark.run.work.watch import Watch

First = Callable[[Left], None]
"""What is done first in each round."""


def work_off(work: Work, setup: Setup, engine: Engine, expected: Expected, first: First) -> int:
    """Run the missing work; returns the number of failed tasks. Ends under a detached engine when all is handed over.

    first: in several ranks, the work that they do together.
    """
    claims = Claims(setup.store.root / CLAIMS)
    left = left_of(work, setup.store, claims)
    make_trials(work, setup)
    for doubt in engine.doubts if left.cells else ():
        setup.watch.note(f"warning: {doubt}")
    unshared = ""
    with claims:
        while left.cells:
            before = left.count()
            first(left)
            run_free(left, setup, engine, expected)
            if engine.detached:
                break
            if claims.unshared and not unshared:
                unshared = claims.unshared
                setup.watch.note(f"warning: no claims ({unshared}): another runner on this store may do the same tasks")
            if left.cells and left.count() == before:
                wait(left, setup.watch)
    return left.failures


def make_trials(work: Work, setup: Setup) -> None:
    """Make and verify the pseudo-trials that the work needs here, so that its processes need not."""
    config = setup.config
    configs = configs_of(config, [*work.pretrainings, *work.cells])
    lengths = {(cell.dataset, config.task_spec(configs[cell.variant.name].finetune).per_trial) for cell in work.cells}
    if work.pretrainings:
        lengths.add((config.data.pretrain, config.task_spec(config.pretrain).per_trial))
    for name, per_trial in lengths:
        trials(setup.prepared[name], per_trial)


def run_free(left: Left, setup: Setup, engine: Engine, expected: Expected) -> None:
    """Run what is free."""
    with closing(engine.run(order_of(left, setup, expected, apart=engine.apart, detached=engine.detached))) as ends:
        for ended in ends:
            outcomes = killed(ended.task.work, ended.error, setup.store) if ended.error else ended.result or []
            for end in outcomes:
                settle(end, left, setup, stored=engine.apart and not ended.error)


def wait(left: Left, watch: Watch) -> None:
    """Say who holds what is left, and wait a moment."""
    open_tasks: list[Pretraining | Cell] = [*left.pretrainings.values(), *left.ready()]
    keys = {key for task in open_tasks for key in claimed(task)}
    watch.waiting(waiting_line(Counter(map(left.claims.holder, keys))))
    time.sleep(POLL_SECONDS)


def waiting_line(holders: Mapping[str, int]) -> str:
    """'waiting for 2 tasks of host:pid, 1 of host:pid', from the number of tasks by holder."""
    words = ", ".join(f"{count} of {holder}" for holder, count in sorted(holders.items()) if holder)
    return f"waiting for the tasks of other runners: {words}"
