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
from benchmark.cli.run import prepare_all, work_off
from benchmark.config.config import Config, laid_over
from benchmark.config.errors import ConfigError
from benchmark.config.load import yaml_text
from benchmark.results.files import write_atomic
from benchmark.results.store import Store
from benchmark.run.grid import make_grid
from benchmark.run.tasks import missing
from benchmark.run.tuning import (
    Values,
    draws_of,
    search_config,
    trials_of,
    tuned_methods,
    variants_of_draws,
)
from benchmark.screen import Console, note


def tune(arguments: Namespace, console: Console) -> int:
    """Do what is missing of the trials, choose per method, write and print; or print the cost (--dry-run).

    Raises ConfigError for flags that cannot be meant, DatasetError if data are missing.
    """
    values = values_of(arguments)
    config = config_of(arguments, values)
    check_searchable(config, arguments.ratio)
    draws = draws_of(config, arguments.trials, arguments.search_seed)
    config = search_config(config, arguments.ratio)
    variants = variants_of_draws(config, draws)
    folders, machine, store = folders_of(arguments), machine_of(arguments, config), Store(arguments.results)
    trials_text = f"{arguments.trials} trials of {len(draws)} methods"
    if arguments.dry_run:
        note(console, trials_text)
        print_dry_run(console, config, folders, machine, store.root, variants)
        return OK
    _, prepared, _ = prepare_all(config, folders, arguments, console)
    grid = make_grid(config, prepared, machine, variants)
    work = missing(grid, store)
    note(console, f"{trials_text}: {len(work.cells)} of {len(grid.cells)} cells to do")
    failures = work_off(work, config, prepared, store, machine, console)
    trials = trials_of(draws, grid, store)
    best = trials[trials["chosen"] == 1].to_dict("records")
    chosen = {trial["method"]: draws[trial["method"]][trial["trial"]] for trial in best}
    note(
        console,
        f"validation macro-F1 of linear probes at ratio {config.ratios[0]:g}, mean over datasets; C is chosen on "
        "the same patients, for every trial alike; no test patient was scored",
    )
    for method, knobs in chosen.items():
        means = trials.loc[trials["method"] == method, "mean"]
        changed = [f"{knob} {value:g}" for knob, value in knobs.items() if value != draws[method][0][knob]]
        scores = f"{100 * means.max():.1f} %, the config's own setting {100 * means.iloc[0]:.1f} %"
        note(console, f"  {method}: best of {len(means)} {scores}; chosen: {', '.join(changed) or 'that setting'}")
    for file in write_search(trials, chosen, values, arguments.out):
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
    table, config = out / "trials.csv", out / "tuned.yaml"
    ranked = trials.sort_values(["method", "mean"], ascending=[True, False], kind="stable")
    write_atomic(table, ranked.to_csv(index=False).encode())
    write_atomic(config, yaml_text({**values, "knobs": knobs}).encode())
    return [table, config]
