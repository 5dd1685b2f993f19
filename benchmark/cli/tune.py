"""The verb `tune`: random search over the knobs of each method, as many trials for each, on validation patients."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark import screen as terminal
from benchmark.cli.dry_run import print_dry_run
from benchmark.cli.run import GridRequest, engine_of, machine_of, open_all, prepare_all, sweep_all, work_off
from benchmark.config.command_line import FAILED, OK
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.flags import config_of, place_of, trackers_of
from benchmark.results.store import Store
from benchmark.results.tuned import Tuning, save_tuning
from benchmark.run.datasets import audit_run, with_columns
from benchmark.run.grid import make_grid
from benchmark.run.jobs import missing
from benchmark.run.rows import Variant
from benchmark.run.tuning import (
    Knobs,
    changes,
    draws_of,
    middle_ratio,
    search_config,
    tuned_methods,
    tunings_of,
    variants_of_draws,
)
from benchmark.screen import Console, note, print_table
from reports.build import write_search


@dataclass(frozen=True)
class Search:
    """The trials of all methods."""

    draws: Mapping[str, Sequence[Knobs]]
    """Method -> the knobs of each trial."""
    variants: tuple[Variant, ...]
    """A row per method and trial."""
    seed: int
    """Of the draws."""


def tune(arguments: Namespace, console: Console) -> int:
    """Do what is missing of the trials, choose per method, store and print the choice; or print the cost (--dry-run).

    Raises ConfigError for flags that cannot be meant, DatasetError if data are missing.
    """

    trials = arguments.trials
    config = searchable(config_of(arguments), arguments.search_seed)
    machine = machine_of(arguments, config)
    engine = None if arguments.dry_run else engine_of(arguments, config, machine)
    draws = draws_of(config, trials, arguments.search_seed)
    config = search_config(config, ratio_of(arguments, config))
    variants = variants_of_draws(config, draws)
    asked = GridRequest(
        config,
        place_of(arguments),
        machine,
        arguments.results,
        arguments.out,
        trackers=trackers_of(arguments.track, arguments.out),
        engine=engine,
    )
    if arguments.dry_run:
        note(console, f"{trials} trials of {len(draws)} methods")
        print_dry_run(console, config, asked.place, asked.machine, asked.results, asked.out, variants)
        return OK
    return search(asked, Search(draws, variants, arguments.search_seed), console)


def search(asked: GridRequest, planned: Search, console: Console) -> int:
    """Do what is missing of the trials, choose, store and print; returns the exit status. Raises DatasetError."""

    config, draws = asked.config, planned.draws
    sweep_all(asked, console)
    prepared = with_columns(asked.config, prepare_all(asked, open_all(asked, console), console))
    if leaks := audit_run(config, prepared).leaks:
        terminal.error(f"{'; '.join(leaks)}; `data check` tells more")
        return FAILED
    store = Store(asked.results)
    grid = make_grid(config, prepared, asked.machine, planned.variants)
    work = missing(grid, store)
    trials = max(map(len, draws.values()))
    note(console, f"{trials} trials of {len(draws)} methods: {len(work.cells)} of {len(grid.cells)} cells to do")
    failures = work_off(work, prepared, store, asked, console)
    tunings, without = tunings_of(config, draws, grid, store, search_seed=planned.seed, data=prepared)
    print_tunings(console, tunings)
    for tuning in tunings:
        note(console, f"{tuning.method}: {save_tuning(asked.results, tuning)}")
    for file in write_search(tunings, asked.out):
        note(console, f"wrote {file}")
    if without:
        terminal.error(f"no trial of {', '.join(without)} could be finished; nothing is chosen for them")
    if failures:
        terminal.error(f"{failures} tasks failed; their trials are not chosen, and the same command tries them again")
    return FAILED if without or failures else OK


def searchable(config: Config, seed: int) -> Config:
    """The config, if a search can start from it with this seed. Raises ConfigError."""

    if config.pretrain.preset == "paper":
        raise ConfigError(
            "tune: the search starts from one recipe for all, not from preset paper; add --preset unified"
        )
    if not tuned_methods(config):
        raise ConfigError(f"tune: {', '.join(config.compared())} trains nothing; name methods that do with --methods")
    if config.encoders:
        raise ConfigError("tune: a search is of one encoder, and several are named; name one with --encoder")
    if seed < 0:
        raise ConfigError(f"--search-seed {seed} is not a seed; use 0 or more")
    return config


def ratio_of(arguments: Namespace, config: Config) -> float:
    """The label ratio of the probes: `--ratio`, else the middle one of the config. Raises ConfigError."""

    if arguments.ratio is None:
        return middle_ratio(config)
    if not 0 < arguments.ratio <= 1:
        raise ConfigError(f"--ratio {arguments.ratio:g} is not a share of the labels; use one above 0 and up to 1")
    return float(arguments.ratio)


def print_tunings(console: Console, tunings: Sequence[Tuning]) -> None:
    """Print a row per method: validation score of the config's own setting and of the best trial, and its knobs."""

    if not tunings:
        return
    first = tunings[0]
    note(console, "")
    note(
        console,
        f"validation macro-F1 in percent of linear probes at ratio {first.ratio:g}, pretraining seed "
        f"{first.pretrain_seed}, mean over datasets; C is chosen on the same patients, for every trial alike; no test "
        "patient was scored",
    )
    labels, numbers = ("method", "chosen"), ("own", "best", "trials", "failed")
    columns = [*(("", head, "label") for head in labels), *(("", head, "right") for head in numbers)]
    print_table(console, columns, [list(map(cells_of, tunings))])


def cells_of(tuning: Tuning) -> list[str]:
    """Cells of a method's row; of the knobs those that are not the config's own."""

    own, best = tuning.trials[0], tuning.chosen
    failed = sum(trial.mean is None for trial in tuning.trials)
    return [
        tuning.title,
        changes(tuning),
        percent(own.mean),
        percent(best.mean),
        str(len(tuning.trials)),
        str(failed),
    ]


def percent(score: float | None) -> str:
    """0.5432 -> '54.3'."""
    return "failed" if score is None else f"{100 * score:.1f}"
