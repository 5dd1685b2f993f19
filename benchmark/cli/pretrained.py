"""The pretraining of a store that a name means: a row, or the key of one; of several seeds the best on validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark import screen as terminal
from benchmark.config.errors import ConfigError
from benchmark.results.metrics import ranked_classes, score_both_units
from benchmark.results.names import RETRIEVAL, UNIT_OF_PROTOCOL, unknown
from benchmark.results.store import ENCODER_AGAIN, PlannedCell, Store
from benchmark.training.checkpoint import read_record
from reports.results import FinishedCell, Run, run_of

COMPARED = ["evaluation", "dataset", "ratio", "subset"]
"""Coordinates that two cells share whose validation scores are compared."""


@dataclass(frozen=True)
class Pretrained:
    """A finished pretraining in a run."""

    run: Run
    variant: str
    """Row of the run's tables."""
    folder: Path
    """Folder in the store; its name is the key of the pretraining."""
    record: dict[str, Any]
    """Record of its training in the store."""
    cells: list[PlannedCell]
    """The row's finished cells on this encoder."""
    choice: str = ""
    """Reason why it was chosen among the pretrainings of its row; '' where it was named, or is the only one."""


def find(results: Path, name: str, seed: int | None) -> Pretrained:
    """Find the pretraining of a row, by its name or title, or of a key, in the latest run that has it.

    Where a row has several and no seed chooses, it is the one with the best validation score of the headline. Raises
    ConfigError, in one line, for an unknown name or seed, and where validation cannot choose; NoResults if there is no
    run.
    """
    store = Store(results)
    plans, damage = store.load_plans()
    for line in damage:
        terminal.error(f"left out: {line}")
    known: dict[str, None] = {}
    for plan in plans:
        run = run_of(store, plan, results)
        for line in run.damaged.values():
            terminal.error(f"left out: {line}")
        for variant, title in run.plan.variants.items():
            finished = [one for one in run.finished if one.cell.variant == variant and one.row.pretrain_key]
            seeds = {row.pretrain_key: row.pretrain_seed for _, row in finished}  # of several parts the first
            encoders = {key for _, row in finished for key in row.encoders}
            if not seeds:
                continue
            known[variant] = None
            if name not in (variant, title, *encoders):
                continue
            keys = [name] if name in encoders else [key for key in seeds if seed in (None, seeds[key])]
            choice = ""
            if len(keys) > 1:
                scores = validation_scores(run, finished)
                if not scores.empty:
                    keys = [str(scores.idxmax())]
                    choice = choice_text(run, scores, seeds)
            if len(keys) != 1:
                listed = ", ".join(f"{seeds[key]} ({key})" for key in seeds)
                raise ConfigError(f"{variant}: choose one pretraining by --seed N or its key; there are {listed}")
            folder = store.pretrained / keys[0]
            cells = [cell for cell, row in finished if keys[0] in row.encoders]
            return Pretrained(run, variant, folder, record_of(folder), cells, choice)
    if not known:
        raise ConfigError(f"{results}: no encoder is finished yet; `status` shows how far the run is")
    raise ConfigError(unknown("row with a finished encoder", name, list(known)))


def record_of(folder: Path) -> dict[str, Any]:
    """Read the record of a pretraining. Raises Damaged, and ConfigError where its files are gone or from elsewhere."""
    record = read_record(folder)
    if record is None:
        raise ConfigError(f"{folder}: the encoder is not there; {ENCODER_AGAIN}")
    if "external" in record["encoder"]:
        raise ConfigError(f"{folder}: its weights come from elsewhere and are not in the store; use their own file")
    return record


def validation_scores(run: Run, finished: list[FinishedCell]) -> pd.Series[float]:
    """Return key of a pretraining -> its validation score of the headline, in [0, 1], of the cells of one row.

    It is the mean over the evaluations, columns, label shares and labelled subsets in which every pretraining has a
    score. Raises Damaged.
    """
    lines = []
    for cell, row in finished:
        if cell.evaluation != RETRIEVAL:
            facts = {name: getattr(cell, name) for name in COMPARED}
            lines.append(facts | {"key": row.pretrain_key, "score": validation_score(run, cell.key)})
    if not lines:
        return pd.Series(dtype=float)
    table = pd.DataFrame(lines).pivot_table("score", COMPARED, "key", dropna=False)  # several seeds of an encoder: mean
    return table.dropna().mean().dropna()


def validation_score(run: Run, key: str) -> float:
    """Return the headline of a cell's validation windows, in [0, 1]; NaN where it is undefined. Raises Damaged."""
    headline, row = run.plan.headline, run.rows[key]
    validation = run.stores[0].predictions(key, "validation_")
    if not len(validation.truth):
        return np.nan
    scores = score_both_units(
        validation.probability,
        validation.truth,
        validation.recording,
        multi=row.labels == "multi",
        pool=run.plan.pool,
        part=validation.part,
        classes=ranked_classes(validation.truth, validation.patient, headline),
    )[UNIT_OF_PROTOCOL[row.protocol]]
    values = [scores.values[name] for name in headline.metrics]
    return float(np.mean([np.nan if value is None else value for value in values]))


def choice_text(run: Run, scores: pd.Series[float], seeds: Mapping[str, int | None]) -> str:
    """Return 'the best validation mean AUROC of 3 pretrainings: seed 41 71.2, 42 68.0, 43 66.1'.

    Under `strict` it says, too, that a seed may draw validation patients of its own.
    """
    listed = [f"{seeds[str(key)]} {100 * score:.1f}" for key, score in scores.sort_values(ascending=False).items()]
    text = f"the best validation {run.plan.headline.words} of {len(scores)} pretrainings: seed {', '.join(listed)}"
    if run.plan.config["protocol"] == "strict":
        return f"{text} (seeds may differ in validation patients)"
    return text
