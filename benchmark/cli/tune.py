"""The verb `tune`: random search over the knobs of each method, as many trials for each, on validation patients.

It writes the trials to trials.csv, and to tuned.yaml the config with the chosen knobs, which `--config` takes.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark import screen as terminal
from benchmark.cli.arguments import config_of, folders_of, values_of
from benchmark.cli.dry_run import print_dry_run
from benchmark.cli.main import FAILED, OK
from benchmark.cli.run import GridRequest, machine_of, open_all, prepare_all, sweep_all, work_off
from benchmark.config.config import Config, laid_over
from benchmark.config.errors import ConfigError
from benchmark.config.load import validate, yaml_text
from benchmark.results.files import csv_text, naming, write_atomic
from benchmark.results.store import Store
from benchmark.run.datasets import audit_run, with_columns
from benchmark.run.grid import make_grid
from benchmark.run.rows import Variant
from benchmark.run.tasks import missing
from benchmark.run.tuning import (
    Knobs,
    Tuning,
    changes,
    draws_of,
    middle_ratio,
    search_config,
    tuned_methods,
    tunings_of,
    variants_of_draws,
)
from benchmark.screen import Console, note, print_table


@dataclass(frozen=True)
class Search:
    """The trials of all methods."""

    draws: Mapping[str, Sequence[Knobs]]
    """Method -> the knobs of each trial."""
    variants: tuple[Variant, ...]
    """A row per method and trial."""
    values: Mapping[str, Any]
    """What the config of the flags is made of (`values_of`)."""


def tune(arguments: Namespace, console: Console) -> int:
    """Do what is missing of the trials, choose per method, store and print the choice; or print the cost (--dry-run).

    Raises ConfigError for flags that cannot be meant, DatasetError if data are missing.
    """

    trials = arguments.trials
    config = searchable(config_of(arguments), arguments.search_seed)
    machine = machine_of(arguments, config)
    draws = draws_of(config, trials, arguments.search_seed)
    config = search_config(config, ratio_of(arguments, config))
    variants = variants_of_draws(config, draws)
    request = GridRequest(config, folders_of(arguments), machine, arguments.results, arguments.out)
    if arguments.dry_run:
        note(console, f"{trials} trials of {len(draws)} methods")
        print_dry_run(console, config, request.folders, request.machine, request.results, variants)
        return OK
    values = values_of(arguments)
    return search(request, Search(draws, variants, values), console)


def search(request: GridRequest, planned: Search, console: Console) -> int:
    """Do what is missing of the trials, choose, store and print; returns the exit status. Raises DatasetError."""

    config, draws = request.config, planned.draws
    sweep_all(request, console)
    prepared = with_columns(request.config, prepare_all(request, open_all(request, console), console))
    if leaks := audit_run(config, prepared).leaks:
        terminal.error(f"{'; '.join(leaks)}; `data check` tells more")
        return FAILED
    store = Store(request.results)
    grid = make_grid(config, prepared, request.machine, planned.variants)
    work = missing(grid, store)
    trials = max(map(len, draws.values()))
    note(console, f"{trials} trials of {len(draws)} methods: {len(work.cells)} of {len(grid.cells)} cells to do")
    failures = work_off(work, prepared, store, request, console)
    tunings, without = tunings_of(config, draws, grid, store)
    print_tunings(console, tunings, config)
    for file in write_search(tunings, planned.values, request.out):
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


def with_chosen(values: Mapping[str, Any], tunings: Sequence[Tuning]) -> dict[str, Any]:
    """A config's values with the chosen knobs of each method laid over its own. Raises ConfigError for a bad one."""
    knobs = dict(values.get("knobs", {}))
    for tuning in tunings:
        knobs[tuning.method] = laid_over(knobs.get(tuning.method, {}), tuning.chosen.knobs)
    tuned = {**values, "knobs": knobs}
    validate(tuned)
    return tuned


def trials_csv(tunings: Sequence[Tuning]) -> str:
    """A line per trial, the best of each method first and failed ones last; knobs and datasets are columns."""
    knobs = list(dict.fromkeys(knob for tuning in tunings for knob in tuning.chosen.knobs))
    datasets = list(dict.fromkeys(name for tuning in tunings for trial in tuning.trials for name in trial.scores))
    rows = [
        (
            *(tuning.method, number, int(number == 0), int(number == tuning.best), trial.mean),
            *(*map(trial.scores.get, datasets), *map(trial.knobs.get, knobs), trial.error),
        )
        for tuning in tunings
        for number, trial in sorted(
            enumerate(tuning.trials), key=lambda one: 1.0 if one[1].mean is None else -one[1].mean
        )
    ]
    return csv_text(("method", "trial", "own", "chosen", "mean", *datasets, *knobs, "error"), rows)


def write_search(tunings: Sequence[Tuning], values: Mapping[str, Any], out: Path) -> list[Path]:
    """Write the trials and the config with the chosen knobs; returns the files, none without a finished trial."""
    if not tunings:
        return []
    trials, config = out / "trials.csv", out / "tuned.yaml"
    with naming(out):
        write_atomic(trials, trials_csv(tunings).encode())
        write_atomic(config, yaml_text(with_chosen(values, tunings)).encode())
    return [trials, config]


def print_tunings(console: Console, tunings: Sequence[Tuning], config: Config) -> None:
    """Print a row per method: validation score of the config's own setting and of the best trial, and its knobs."""

    if not tunings:
        return
    note(console, "")
    note(
        console,
        f"validation macro-F1 in percent of linear probes at ratio {config.ratios[0]:g}, one pretraining "
        "per trial, mean over datasets; C is chosen on the same patients, for every trial alike; no test "
        "patient was scored",
    )
    labels, numbers = ("method", "chosen"), ("own", "best", "trials", "failed")
    columns = [*(("", head, "label") for head in labels), *(("", head, "right") for head in numbers)]
    print_table(console, columns, [list(map(cells_of, tunings))])


def cells_of(tuning: Tuning) -> list[str]:
    """Cells of a method's row; of the knobs those that are not the config's own."""

    first, best = tuning.trials[0], tuning.chosen
    failed = sum(trial.mean is None for trial in tuning.trials)
    return [
        tuning.title,
        changes(tuning),
        percent(first.mean),
        percent(best.mean),
        str(len(tuning.trials)),
        str(failed),
    ]


def percent(score: float | None) -> str:
    """0.5432 -> '54.3'."""
    return "failed" if score is None else f"{100 * score:.1f}"
