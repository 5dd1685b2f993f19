"""Judge the trials of a search by linear probes on validation patients, and choose one per method.

A trial's score is the validation macro-F1 of the probe, at the best of its strengths C, averaged over the datasets.
C is chosen on the same patients, which favours every trial of every method alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.results.names import LINEAR
from benchmark.results.store import CorruptRow, Store
from benchmark.results.tuned import Trial, Tuning, best_of
from benchmark.run.cell import stored_row
from benchmark.run.grid.cells import Cell, Grid
from benchmark.run.tuning.chosen import tuning_content, tuning_key
from benchmark.run.tuning.draw import Knobs, spaces_told, trial_name

NOT_RUN = "not run"


def middle_ratio(config: Config) -> float:
    """The middle one of a config's label ratios; of an even number, the lower of the two."""
    return sorted(config.ratios, reverse=True)[len(config.ratios) // 2]


def search_config(config: Config, ratio: float) -> Config:
    """The config of the trials' cells: one label ratio, and the first seed."""
    return config.model_copy(
        update={
            "ratios": [ratio],
            "seeds": config.seeds[:1],
            "evaluate": [LINEAR],
            "gates": [],
            "ablate": [],
            "sweeps": {},
            "pretrain": config.pretrain.model_copy(update={"presets": []}),
        }
    )


def tunings_of(
    config: Config,
    draws: Mapping[str, Sequence[Knobs]],
    grid: Grid,
    store: Store,
    *,
    search_seed: int,
    data: Mapping[str, Prepared],
) -> tuple[list[Tuning], list[str]]:
    """The tunings of the methods with a finished trial, and the names of the other methods.

    config: `search_config`. data: the datasets and the corpus by name.
    """
    cells: dict[str, list[Cell]] = {}
    for cell in grid.cells:
        cells.setdefault(cell.variant.name, []).append(cell)
    tunings, without = [], []
    for name, settings in draws.items():
        trials = [judged(cells[trial_name(name, number)], knobs, store) for number, knobs in enumerate(settings)]
        best = best_of(trials)
        if best is None:
            without.append(name)
            continue
        tunings.append(
            Tuning(
                key=tuning_key(config, name),
                content=tuning_content(config, name),
                method=name,
                title=config.method_class(name).title,
                ratio=config.ratios[0],
                seed=config.seeds[0],
                pretrain_seed=pretrain_seed_of(cells[trial_name(name, 0)]),
                search_seed=search_seed,
                data={own: found.fingerprint for own, found in data.items()},
                simulated=any(found.simulated for found in data.values()),
                spaces=spaces_told(config.method_class(name).Config),
                trials=trials,
                best=best,
            )
        )
    return tunings, without


def pretrain_seed_of(cells: Sequence[Cell]) -> int:
    """The seed of the pretraining that a trial's cells share."""
    (seed,) = {cell.pretraining.seed for cell in cells if cell.pretraining}
    return seed


def judged(cells: Sequence[Cell], knobs: Knobs, store: Store) -> Trial:
    """A trial from its cells, one per dataset; failed if one of them is missing, or if none has a score.

    A dataset that cannot be scored, for instance without validation patients, is left out; it is for every trial.
    """
    scores: dict[str, float] = {}
    for cell in cells:
        try:
            row = stored_row(cell, store)
        except CorruptRow as error:
            return Trial(knobs, {}, None, str(error))
        if row is None:
            keys = [cell.key, cell.pretrain_key]
            failures = store.failures(keys)
            return Trial(knobs, {}, None, next((failures[key].line for key in keys if key in failures), NOT_RUN))
        if reached := row.training.get("validation_f1"):
            scores[cell.dataset] = float(max(reached))
    if not scores:
        return Trial(knobs, {}, None, "no dataset can be scored on its validation patients")
    return Trial(knobs, scores, float(np.mean(list(scores.values()))))
