"""The verb `run`, the default. Implemented in `grid`, and in `dry_run` for --dry-run."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import COMPUTE, CONFIG, DATA, ENGINE, GRID, HOW, shared
from benchmark.config.command_line.values import place_of, trackers_of
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.screen.console import Console


def run(arguments: Namespace, console: Console) -> int:
    """Run the missing part of the grid and report, or print its estimated cost (--dry-run)."""
    from benchmark.verbs.run.finished import Command, asked, told_before

    command = Command(arguments, asked(arguments))
    if not arguments.dry_run and (ended := told_before(command)):
        from benchmark.verbs.report import show_again

        show_again(ended.lines, ended.sheets, ended.health, arguments.out, console)
        return OK
    from benchmark.run.data.own import refuse_unusable  # here, because torch loads slowly
    from benchmark.run.grid.variants import refuse_lone_windows, refuse_uneven_batches, variants_of
    from benchmark.verbs.run.dry_run import print_dry_run
    from benchmark.verbs.run.grid import GridRequest, run_grid
    from benchmark.verbs.run.machine import engine_of, machine_of
    from benchmark.verbs.run.tuned import tuned_config
    from benchmark.verbs.speed.record import SPEED_FILE

    config, tunings = tuned_config(arguments, console)
    refuse_lone_windows(config, variants_of(config))  # before the data are prepared
    refuse_unusable(config)
    place = place_of(arguments)
    machine = machine_of(arguments, config)
    refuse_uneven_batches(variants_of(config), machine.ranks)
    results, out = arguments.results, arguments.out
    if arguments.dry_run:
        print_dry_run(console, config, place, machine, results, out / SPEED_FILE)
        return OK
    engine = engine_of(arguments, config, machine)
    request = GridRequest(
        config,
        place,
        machine,
        results,
        out,
        allow_leak=arguments.allow_leak,
        unit=arguments.unit,
        further=tuple(arguments.scores),
        landscape=arguments.latex_landscape,
        tunings=tunings,
        trackers=trackers_of(arguments.track, out),
        command=command,
        engine=engine,
    )
    return run_grid(request, console)


RUN = Verb(
    "do what is missing of the grid, then print and write its tables",
    run,
    {
        **shared(*CONFIG, *GRID, *DATA, "--results", "--out", "--cache", *COMPUTE, *ENGINE, "--detach", "--workers"),
        **shared("--dry-run"),
        "--allow-leak": Flag(
            HOW, "run on data that the audit refuses; every table will say so", how={"action": "store_true"}
        ),
        **shared("--unit", "--scores", "--latex-landscape", "--track"),
    },
    examples={
        "": "simulated cohorts, minutes on a laptop",
        "--methods pmq moco --ratios 0.3 0.1 0.01": "choose methods and label ratios",
        "--config laptop --dry-run": "what it would do, in hours and disk",
        "--config paper --data-root /data": "the paper's grid on the real datasets",
        "--encoder resnet1d --evaluate linear": "all methods around another encoder",
        "--ablations": "the ablation table: PMQ without each of its parts",
        "--queue-sizes 256 1024 4096": "the queue-size figure",
        "--preset tuned": "every method with the knobs that `tune` chose",
        "--set methods.pmq.momentum=0.99": "any knob of any method",
        "--devices 0 1 --jobs-per-device 2": "two GPUs, two tasks at a time on each",
        "--engine slurm --detach": "hand the work to a cluster and return; `status` shows it",
        "--track tensorboard": "training curves too, also of what is done already",
    },
)
