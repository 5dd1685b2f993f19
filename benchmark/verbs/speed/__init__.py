"""The verb `speed`: time the suite on this machine against plain implementations."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import COMPUTE, CONFIG, DATA, GRID, HOW, shared
from benchmark.config.command_line.values import config_of, place_of
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.screen.console import Console, note


def speed(arguments: Namespace, console: Console) -> int:
    """Measure, print and write speed.json, which --dry-run reads."""
    from benchmark.screen.progress import step  # here, because --help has no use for it and torch loads slowly
    from benchmark.verbs.run.dry_run import sizes_of, unkeyed_grid
    from benchmark.verbs.run.machine import machine_of
    from benchmark.verbs.speed.measure import FULL, QUICK, measure_speed
    from benchmark.verbs.speed.record import SPEED_FILE, save_speed
    from benchmark.verbs.speed.report import hours_line, print_speed

    config = config_of(arguments)
    machine = machine_of(arguments, config)
    sizes, _ = sizes_of(config, place_of(arguments), console)
    with step(console, "measuring") as progress:
        found = measure_speed(config, machine, QUICK if arguments.quick else FULL, progress)
    print_speed(console, found)
    file = arguments.out / SPEED_FILE
    save_speed(found, file)
    grid = unkeyed_grid(config, machine)
    note(console, hours_line(config, [*grid.pretrainings, *grid.cells], sizes, found, machine.jobs))
    note(console, f"wrote {file}")
    return OK


SPEED = Verb(
    "how fast this machine is against plain forms of the same, and the hours of the grid",
    speed,
    {
        **shared(*CONFIG, *GRID, *DATA, "--cache", "--out", *COMPUTE),
        "--quick": Flag(HOW, "measure at small sizes: a minute instead of many", how={"action": "store_true"}),
    },
    examples={"speed --config laptop": "how fast this machine is"},
)
