"""How long a run takes from start to end on N devices, told by `--dry-run`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from benchmark.config.config import Config
from benchmark.run.engines.engine import Task
from benchmark.run.engines.makespan import Makespan
from benchmark.run.engines.registry import ENGINES, Devices
from benchmark.run.machine import Machine
from benchmark.run.order import as_engine_task
from benchmark.run.work.jobs import groups_of
from benchmark.run.work.missing import Work
from benchmark.screen.tally import duration
from benchmark.verbs.run.costs import Seconds, abreast_of

DEVICES = (1, 2, 4, 8)


def planned_tasks(work: Work, seconds: Seconds) -> list[Task[None]]:
    """The tasks that an engine is given for the missing work, with the seconds that each is expected to take."""
    alone = [as_engine_task([own], None, seconds) for own in work.pretrainings]
    return alone + [as_engine_task(group, None, seconds) for group in groups_of(work.cells)]


def makespan_lines(config: Config, work: Work, seconds: Seconds, machine: Machine) -> Iterator[str]:
    """'from start to end: 3 h on 1 device, 1 h 40 min on 2', and what bounds it; none for ranks under torchrun."""
    cluster = ENGINES[config.engine.name].cluster
    if not work.cells or (machine.ranks > 1 and not cluster):
        return
    tasks = planned_tasks(work, seconds)
    found = {count: of_devices(config, tasks, machine, work, count) for count in counts(config, machine)}
    (least, first), *more = found.items()
    unit = "device" if cluster or machine.device.type != "cpu" else "machine like this"
    each = [f"{duration(first.seconds)} on {least} {unit if least == 1 else unit.replace('device', 'devices')}"]
    each += [f"{duration(own.seconds)} on {count}" for count, own in more]
    yield f"  from start to end, simulated with the engine's own rules: {', '.join(each)}"
    last = list(found.values())[-1]
    chain = ", then ".join(name for name, _ in groupby(last.chain))
    if chain:
        yield f"  never less than {duration(last.chain_seconds)}, the longest chain: {chain}"


def counts(config: Config, machine: Machine) -> list[int]:
    """Numbers of devices to tell of: powers of two that a pretraining fits on, and what the command asks for."""
    least = max(1, config.engine.gpus) if ENGINES[config.engine.name].cluster else 1
    return sorted({max(count, least) for count in (*DEVICES, machine.devices)})


def of_devices(config: Config, tasks: list[Task[None]], machine: Machine, work: Work, count: int) -> Makespan:
    """The makespan on `count` devices under the config's engine; each has as many tasks at a time as the machine's."""
    jobs, abreast = max(1, machine.jobs // machine.devices), machine.abreast_on_a_device(abreast_of(work, machine))
    return ENGINES[config.engine.name].makespan(tasks, Devices(count, jobs, abreast, config.engine))
