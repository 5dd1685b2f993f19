"""The command `tune`: a random search of equal effort for each method, judged on validation patients.

A candidate is one setting of a method's hyperparameters; the candidates of a method are drawn, pretrained and scored.
The search writes candidates.csv, and tuned.yaml: the config with the chosen hyperparameters, which `--config` takes.
A draw depends on the search seed, the number of the candidate and the hyperparameter's name alone. Methods that share a
hyperparameter therefore get the same values of it, and a longer search begins as a shorter one. A candidate's score is
the validation score of the probe at the best of its strengths C, averaged over the datasets; C is chosen on the same
patients for every candidate.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from benchmark import screen as terminal
from benchmark.cli.dry_run import dry_run
from benchmark.cli.main import FAILED, OK, USAGE, Request, config_of, folders_of, machine_of, values_of
from benchmark.cli.refusals import are_refused
from benchmark.cli.run import prepare_all, sole_command, work_off
from benchmark.config.config import Config, laid_over, with_settings
from benchmark.config.errors import ConfigError
from benchmark.config.load import yaml_text
from benchmark.results.files import write_atomic
from benchmark.results.names import CANDIDATE, CRITERIA, LINEAR, counted
from benchmark.results.store import Store
from benchmark.run.datasets import locate, names_of
from benchmark.run.grid import Cell, Grid, make_grid
from benchmark.run.rows import Variant
from benchmark.run.tasks import context_of, missing
from benchmark.run.unsound import remove_unsound
from benchmark.screen import Console, note
from methods.parts.hyperparameters import spaces_of

Values = dict[str, Any]  # tuned hyperparameter -> value; a field of the recipe is named 'recipe.lr'
Draws = Mapping[str, Sequence[Values]]  # method -> the values of each candidate; those of the first are the config's


def tune(arguments: Namespace, console: Console) -> int:
    """Do what is missing of the candidates, choose per method, write and print; or print the cost (--dry-run).

    Raises ConfigError for wrong flags, DatasetError if data are missing.
    """
    values = values_of(arguments)
    config = config_of(arguments, values)
    check_searchable(config)
    draws = draws_of(config, arguments.candidates, arguments.search_seed)
    config = search_config(config, arguments.ratio)
    variants = variants_of_draws(config, draws)
    folders = folders_of(arguments)
    machine = machine_of(arguments, config)
    store = Store(arguments.results)
    request = Request(config, folders, machine, arguments)
    candidates_text = f"{arguments.candidates} candidates of {len(draws)} methods"
    if arguments.dry_run:
        note(console, candidates_text)
        return dry_run(request, console, variants)
    if are_refused(request):
        return USAGE
    datasets = [locate(config, name, folders) for name in names_of(config)]
    with sole_command(store):
        prepared, _ = prepare_all(request, datasets, console)
        grid = make_grid(config, prepared, machine, variants)
        for line in remove_unsound(grid, prepared[config.data.pretrain], prepared, {}, store):
            note(console, line)
        work = missing(grid, store)
        note(console, f"{candidates_text}: {len(work.cells)} of {len(grid.cells)} cells to do")
        context = context_of(config, prepared, store, machine)
        failures = work_off(work, context, prepared, machine, console)
        candidates = candidates_of(draws, grid, store)
    best = candidates[candidates["chosen"] == 1].to_dict("records")
    chosen = {candidate["method"]: draws[candidate["method"]][candidate["candidate"]] for candidate in best}
    for line in choice_lines(candidates, chosen, draws, config):
        note(console, line)
    for file in write_search(candidates, chosen, values, arguments.out):
        note(console, f"wrote {file}")
    without = [name for name in draws if name not in chosen]
    if without:
        terminal.error(f"no candidate of {', '.join(without)} could be finished; nothing is chosen for them")
    if failures:
        terminal.error(
            f"{counted(failures, 'task')} failed; their candidates are not chosen, and the same command tries again"
        )
    return FAILED if without or failures else OK


def choice_lines(candidates: pd.DataFrame, chosen: Mapping[str, Values], draws: Draws, config: Config) -> Iterator[str]:
    """Yield a line on what judged the candidates, and for each method its best score and the chosen values."""
    yield (
        f"validation {CRITERIA[config.protocol]} of linear probes at ratio {config.ratios[0]:g}, mean over datasets; C "
        "is chosen on the same patients, for every candidate alike; no test patient was scored"
    )
    for method, hyperparameters in chosen.items():
        means = candidates.loc[candidates["method"] == method, "mean"]
        of_config = draws[method][0]
        changed = [f"{name} {value:g}" for name, value in hyperparameters.items() if value != of_config[name]]
        scores = f"{means.max():.3f}, the config's setting {means.iloc[0]:.3f}"
        yield f"  {method}: best of {len(means)} {scores}; chosen: {', '.join(changed) or 'that setting'}"


def check_searchable(config: Config) -> None:
    """Raise ConfigError for a config that no search can start from."""
    if config.pretrain.preset == "paper":
        raise ConfigError("tune: the search starts from one recipe for all methods; add --preset unified")
    if not tuned_methods(config):
        raise ConfigError(f"tune: {', '.join(config.compared())} trains nothing; name methods that do with --methods")
    if config.data.folds:
        raise ConfigError(
            f"tune: every patient is tested (data.folds={config.data.folds}), and a search would choose on those who "
            "are tested later; with --set data.folds=null it chooses, and the tuned config tests, on one split"
        )
    if config.encoders:
        raise ConfigError("tune: a search is of one encoder, and several are named; name one with --encoder")


def write_search(
    candidates: pd.DataFrame, chosen: Mapping[str, Values], values: Mapping[str, Any], out: Path
) -> list[Path]:
    """Write the candidates, each method's best first and failed ones last, and the config with the chosen values."""
    hyperparameters = dict(values.get("hyperparameters", {}))
    for method, changed in chosen.items():
        hyperparameters[method] = laid_over(hyperparameters.get(method, {}), changed)
    table = out / "candidates.csv"
    config = out / "tuned.yaml"
    ranked = candidates.sort_values(["method", "mean"], ascending=[True, False], kind="stable")
    write_atomic(table, ranked.to_csv(index=False).encode())
    write_atomic(config, yaml_text({**values, "hyperparameters": hyperparameters}).encode())
    return [table, config]


def tuned_methods(config: Config) -> list[str]:
    """List the compared methods that train."""
    return [name for name in config.compared() if config.method_class(name).trains]


def draws_of(config: Config, candidates: int, seed: int) -> Draws:
    """Draw the values of each candidate of the compared methods that train."""
    draws = {}
    for method in tuned_methods(config):
        spaces = spaces_of(config.method_class(method).Config)
        of_config = config.method_config(method)
        settings: list[Values] = [{name: attrgetter(name)(of_config) for name in spaces}]
        for number in range(1, candidates):
            settings.append({name: space.draw(Random(f"{seed} {number} {name}")) for name, space in spaces.items()})
        draws[method] = settings
    return draws


def variants_of_draws(config: Config, draws: Draws) -> tuple[Variant, ...]:
    """Make a row per method and candidate, 'pmq#0', 'pmq#1', ... Raises ValueError for a value the method refuses."""
    variants = []
    for name, settings in draws.items():
        method_class = config.method_class(name)
        for number, values in enumerate(settings):
            title = f"{method_class.title}, candidate {number}"
            method_config = config.method_config(name, values)
            variants.append(Variant(f"{name}#{number}", title, method_class, method_config, CANDIDATE, name))
    return tuple(variants)


def search_config(config: Config, ratio: float | None) -> Config:
    """Return the config of the candidates' cells: the first seed, and one label ratio, by default the middle one."""
    middle = sorted(config.ratios, reverse=True)[len(config.ratios) // 2]  # of an even number, the lower of the two
    rows = {"evaluate": [LINEAR], "baselines": [], "ablate": [], "sweeps": {}}
    return with_settings(config, {"ratios": [middle if ratio is None else ratio], "seeds": config.seeds[:1], **rows})


def candidates_of(draws: Draws, grid: Grid, store: Store) -> pd.DataFrame:
    """Judge the candidates: a row each, with method, candidate, chosen, mean, scores by dataset, and values.

    Candidate 0 is the config's setting. chosen: 1 for the earliest of a method's highest means; none where all failed.
    """
    rows: list[dict[str, Any]] = []
    for method, settings in draws.items():
        for number, values in enumerate(settings):
            cells = [cell for cell in grid.cells if cell.variant.name == f"{method}#{number}"]
            scores = judged(cells, store)
            mean = float(np.mean(list(scores.values()))) if scores else None
            facts = {"method": method, "candidate": number, "chosen": 0, "mean": mean}
            rows.append({**facts, **scores, **values})
    candidates = pd.DataFrame(rows)
    means = candidates["mean"].astype(float)
    candidates.loc[means.dropna().groupby(candidates["method"]).idxmax(), "chosen"] = 1
    return candidates


def judged(cells: Sequence[Cell], store: Store) -> dict[str, float]:
    """Score a candidate by its cells, one per dataset: the probe's validation score at the best of its strengths.

    A dataset that cannot be scored, for instance without validation patients, is left out; it is for every candidate. A
    candidate of which a cell is missing has no score.
    """
    rows = {cell.dataset: store.load_row(cell.key) for cell in cells}
    curves = {}
    for dataset, row in rows.items():
        if row:
            curves[dataset] = row.training.get(f"validation_{CRITERIA[row.protocol]}")
    if len(curves) < len(cells):
        return {}
    return {dataset: max(curve) for dataset, curve in curves.items() if curve}
