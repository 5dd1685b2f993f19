"""The command `tune`: random search over the knobs of each method, as many trials for each, on validation patients.

It writes the trials to trials.csv, and to tuned.yaml the config with the chosen knobs, which `--config` takes.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark import screen as terminal
from benchmark.cli.arguments import config_of, folders_of, machine_of, values_of
from benchmark.cli.dry_run import print_dry_run
from benchmark.cli.main import FAILED, OK
from benchmark.cli.run import open_all, prepare_all, work_off
from benchmark.config.config import Config, laid_over
from benchmark.config.errors import ConfigError
from benchmark.config.load import yaml_text
from benchmark.results.files import write_atomic
from benchmark.results.store import Store
from benchmark.run.datasets import audit_run, with_columns
from benchmark.run.grid import make_grid
from benchmark.run.tasks import missing
from benchmark.run.tuning import (
    Draws,
    Values,
    draws_of,
    middle_ratio,
    search_config,
    trials_of,
    tuned_methods,
    variants_of_draws,
)
from benchmark.screen import Console, note, print_table


def tune(arguments: Namespace, console: Console) -> int:
    """Do what is missing of the trials, choose per method, write and print; or print the cost (--dry-run).

    Raises ConfigError for flags that cannot be meant, DatasetError if data are missing.
    """
    config = config_of(arguments)
    check_searchable(config, arguments.ratio)
    draws = draws_of(config, arguments.trials, arguments.search_seed)
    config = search_config(config, arguments.ratio or middle_ratio(config))
    variants = variants_of_draws(config, draws)
    folders, machine, store = folders_of(arguments), machine_of(arguments, config), Store(arguments.results)
    trials_text = f"{arguments.trials} trials of {len(draws)} methods"
    if arguments.dry_run:
        note(console, trials_text)
        print_dry_run(console, config, folders, machine, store.root, variants)
        return OK
    datasets = open_all(config, folders, arguments, console)
    prepared = with_columns(config, prepare_all(config, folders, datasets, arguments.out, console))
    if leaks := audit_run(config, prepared).leaks:
        terminal.error(f"{'; '.join(leaks)}; `data check` shows more")
        return FAILED
    grid = make_grid(config, prepared, machine, variants)
    work = missing(grid, store)
    note(console, f"{trials_text}: {len(work.cells)} of {len(grid.cells)} cells to do")
    failures = work_off(work, config, prepared, store, machine, console)
    trials = trials_of(draws, grid, store)
    best = trials[trials["chosen"] == 1].to_dict("records")
    chosen = {trial["method"]: draws[trial["method"]][trial["trial"]] for trial in best}
    if chosen:
        print_trials(console, trials, draws, chosen, config)
        for file in write_search(trials, chosen, values_of(arguments), arguments.out):
            note(console, f"wrote {file}")
    if without := [name for name in draws if name not in chosen]:
        terminal.error(f"no trial of {', '.join(without)} could be finished; nothing is chosen for them")
    if failures:
        terminal.error(f"{failures} tasks failed; their trials are not chosen, and the same command tries them again")
    return FAILED if without or failures else OK


def check_searchable(config: Config, ratio: float | None) -> None:
    """Raise ConfigError for a config that no search can start from, or a label ratio that is none."""
    if config.pretrain.preset == "paper":
        raise ConfigError("tune: the search starts from one recipe for all methods; add --preset unified")
    if not tuned_methods(config):
        raise ConfigError(f"tune: {', '.join(config.compared())} trains nothing; name methods that do with --methods")
    if config.encoders:
        raise ConfigError("tune: a search is of one encoder, and several are named; name one with --encoder")
    if ratio is not None and not 0 < ratio <= 1:
        raise ConfigError(f"--ratio {ratio:g} is not a share of the labels; use one above 0 and up to 1")


def write_search(
    trials: pd.DataFrame, chosen: Mapping[str, Values], values: Mapping[str, Any], out: Path
) -> list[Path]:
    """Write the trials, the best of each method first and failed ones last, and the config with the chosen values."""
    knobs = dict(values.get("knobs", {}))
    for method, changed in chosen.items():
        knobs[method] = laid_over(knobs.get(method, {}), changed)
    ranked = [
        rows.sort_values("mean", ascending=False, na_position="last", kind="stable")
        for _, rows in trials.groupby("method", sort=False)
    ]
    table, config = out / "trials.csv", out / "tuned.yaml"
    write_atomic(table, pd.concat(ranked).to_csv(index=False).encode())
    write_atomic(config, yaml_text({**values, "knobs": knobs}).encode())
    return [table, config]


def print_trials(
    console: Console, trials: pd.DataFrame, draws: Draws, chosen: Mapping[str, Values], config: Config
) -> None:
    """Print a row per method: validation score of the config's own setting and of the best trial, and its values."""
    note(
        console,
        f"\nvalidation macro-F1 in percent of linear probes at ratio {config.ratios[0]:g}, one pretraining per trial, "
        "mean over datasets; C is chosen on the same patients, for every trial alike; no test patient was scored",
    )
    rows = []
    for method, values in chosen.items():
        means = trials.loc[trials["method"] == method, "mean"]
        scores = ["failed" if pd.isna(mean) else f"{100 * mean:.1f}" for mean in (means.iloc[0], means.max())]
        changed = [f"{knob} {value:g}" for knob, value in values.items() if value != draws[method][0][knob]]
        changes = ", ".join(changed) or "the config's own setting"
        rows.append([config.method_class(method).title, changes, *scores, str(len(means))])
    print_table(console, ["method", "chosen", "own", "best", "trials"], rows, labels=2)
