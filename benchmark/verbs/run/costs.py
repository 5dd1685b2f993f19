"""Expected seconds of the tasks of a run, for `--dry-run` and the time left: from `speed`, else from a timed pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from benchmark.config.change import by_encoder
from benchmark.config.config import Config
from benchmark.machine.device import device_facts
from benchmark.results.cards import BadCard
from benchmark.results.names import EVALUATION_FACTS
from benchmark.results.store import CorruptRow, Store
from benchmark.run.cell import stored_row
from benchmark.run.estimate import Size, cell_seconds, passes, seconds_per_pass
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.run.machine import Machine
from benchmark.run.work.missing import Work
from benchmark.screen.tally import Cost
from benchmark.verbs.speed.record import Speed, load_speed
from benchmark.verbs.speed.report import grid_seconds
from methods.encoders import identity
from methods.encoders.base import Encoder

PRETRAINING = "pretraining"
"""Kind of the pretrainings; that of a cell is its evaluation."""
PROBED_ONCE = {name for name, facts in EVALUATION_FACTS.items() if facts.frozen and not facts.shots}
"""Evaluations whose outcome cells of equal encoder and labels share; shots are drawn anew for each seed."""
MOST_READ = 20
"""Stored results of a kind that its earlier speed is taken from."""

Task = Pretraining | Cell
Seconds = Callable[[Task], float]


def seconds_of(
    config: Config, speed_file: Path, machine: Machine, sizes: Mapping[str, Size], abreast: int
) -> tuple[str, Seconds]:
    """Source of the estimate, and the expected seconds of a task; of a pretraining beside `abreast` - 1 others.

    Several ranks are taken to share the work of a pretraining evenly and to exchange at no cost.
    """
    found = {label: seconds_on(own, speed_file, machine, sizes, abreast) for label, own in by_encoder(config).items()}
    of_label = {label: seconds for label, (_, seconds) in found.items()}
    of_label.setdefault("", next(iter(of_label.values())))  # of rows without an encoder
    sources = dict.fromkeys(source for source, _ in found.values())
    shared = f", a pretraining {machine.ranks} times as fast on its {machine.ranks} ranks (assumed)"
    source = " and ".join(sources) + (shared if machine.ranks > 1 else "")
    return source, lambda task: of_label[task.variant.encoder](task) / ranks_of(task, machine)


def ranks_of(task: Task, machine: Machine) -> int:
    """Processes that share a task."""
    return machine.ranks if isinstance(task, Pretraining) and task.method.trains else 1


def seconds_on(
    config: Config, speed_file: Path, machine: Machine, sizes: Mapping[str, Size], abreast: int
) -> tuple[str, Seconds]:
    """`seconds_of` on the config's first encoder."""
    if machine.device.type == "cuda" and not torch.cuda.is_available():  # it is that of a cluster's jobs
        here = replace(machine, device=torch.device("cpu"))
        source, seconds = seconds_on(config, speed_file, here, sizes, abreast)
        return f"{source}; as long as it would take on this host's CPU", seconds
    with torch.random.fork_rng(devices=[]):
        encoder = config.encoder_class()(config.encoder_config())
    speed, misfit = load_speed(speed_file), ""
    if speed is not None:
        which = identity(type(encoder), encoder.config)
        misfit = speed.misfit(which, config.data.cut().samples, device_facts(machine.device), machine.precision)
        if not misfit:
            return f"from {speed_file}, which `speed` wrote", partial(seconds_at, speed, config, sizes, abreast)
    source = f"since {speed_file} is of another {misfit}" if misfit else "`speed` looks closer"
    timed = timed_passes(encoder, config, machine, abreast)
    return f"from an encoder pass timed just now{',' if misfit else ';'} {source}", partial(
        from_a_pass, timed, config, sizes
    )


def seconds_at(speed: Speed, config: Config, sizes: Mapping[str, Size], abreast: int, task: Task) -> float:
    """Expected seconds of a task at a measured speed; pretrainings side by side share the device."""
    return sum(grid_seconds(config, [task], sizes, speed, jobs=1)) * (abreast if isinstance(task, Pretraining) else 1)


def timed_passes(encoder: Encoder, config: Config, machine: Machine, abreast: int) -> tuple[float, float]:
    """Seconds of an encoder pass on the threads of a pretraining, and on those of a cell."""
    samples, alone = config.data.cut().samples, machine.cell_threads()
    with torch.random.fork_rng(devices=[]):
        together, single = (
            seconds_per_pass(encoder, samples, machine.device, machine.precision, threads=threads)
            for threads in (machine.pretraining_threads(abreast), alone)
        )
    return together, single


def from_a_pass(timed: tuple[float, float], config: Config, sizes: Mapping[str, Size], task: Task) -> float:
    """Expected seconds of a task from those of an encoder pass."""
    together, alone = timed
    return (
        cell_seconds(task, config, sizes, alone) if isinstance(task, Cell) else passes(task, config, sizes) * together
    )


def equal_probes_once(seconds: Seconds, cells: Iterable[Cell], protocol: str) -> Seconds:
    """The expected seconds with a probe counted in the first of the cells that share its outcome.

    Under `paper` all seeds have the same labelled windows, and a probe of one encoder has no other chance.
    """
    if protocol != "paper":
        return seconds
    probes = [cell for cell in cells if cell.evaluation in PROBED_ONCE]
    first: dict[tuple[str, str, str, float], str] = {}
    for cell in probes:
        first.setdefault((cell.pretrain_key, cell.evaluation, cell.dataset, cell.ratio), cell.key)
    shared = {cell.key for cell in probes} - set(first.values())
    return lambda task: 0.0 if task.key in shared else seconds(task)


def abreast_of(work: Work, machine: Machine) -> int:
    """Concurrent pretrainings of the missing work."""
    return machine.abreast(sum(task.method.trains for task in work.pretrainings))


def summed(work: Work, seconds: Seconds, machine: Machine) -> tuple[float, float]:
    """Seconds of the missing pretrainings and of the missing cells, with as many at once as the machine runs."""
    return sum(map(seconds, work.pretrainings)) / abreast_of(work, machine), sum(
        map(seconds, work.cells)
    ) / machine.jobs


def costs_of(work: Work, seconds: Seconds, machine: Machine) -> dict[str, Cost]:
    """Name of each missing task -> what it is expected to take."""
    abreast, jobs = abreast_of(work, machine), machine.jobs
    pretrainings = {task_name(task): Cost(seconds(task), PRETRAINING, abreast) for task in work.pretrainings}
    return pretrainings | {task_name(cell): Cost(seconds(cell), cell.evaluation, jobs) for cell in work.cells}


def earlier_rates(work: Work, seconds: Seconds, store: Store) -> dict[str, float]:
    """Kind -> seconds per expected second of the stored results of this grid, of the kinds that have some."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    to_do: tuple[Task, ...] = (*work.pretrainings, *work.cells)
    tasks: tuple[Task, ...] = (*work.grid.pretrainings, *work.grid.cells)
    missing = {task.key for task in to_do}
    for task in tasks:
        kind = task.evaluation if isinstance(task, Cell) else PRETRAINING
        if task.key not in missing and len(found[kind]) < MOST_READ and (took := stored_seconds(task, store)):
            found[kind].append((took, seconds(task)))
    return {kind: sum(took for took, _ in own) / sum(cost for _, cost in own) for kind, own in found.items() if own}


def stored_seconds(task: Task, store: Store) -> float | None:
    """Seconds that a stored result took; None if it says nothing of it or is damaged."""
    try:
        if isinstance(task, Pretraining):
            return (store.card(task.key) or {}).get("seconds")
        row = stored_row(task, store)
        return row.training.get("seconds") if row else None
    except (BadCard, CorruptRow):
        return None
