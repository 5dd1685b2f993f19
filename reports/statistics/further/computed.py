"""Scores that no row holds, of a run's cells, from their stored predictions: lines like those of `Run.tidy`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmark.results.metrics import METRICS, NO_WINDOW
from benchmark.results.names import HEARTBEAT, Pool
from benchmark.results.plan import PlannedCell
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import Lines
from benchmark.results.scoring.pooling import per_recording
from reports.runs.run import CELL, TIDY, Run


def computed(run: Run, cells: Sequence[PlannedCell], unit: str, metrics: Sequence[str]) -> pd.DataFrame:
    """One line per finished cell and metric, with the columns `TIDY`. Raises CorruptRow."""
    lines = []
    for cell in cells:
        if cell.key not in run.rows:
            continue
        place = {name: getattr(cell, name) for name in CELL} | {"unit": unit}
        multi = run.rows[cell.key].labels == "multi"
        found = lines_of(run.store.predictions(cell.key), unit, run.plan.pool, multi=multi)
        for metric in metrics:
            value = float(METRICS[metric].of(found)) if len(found.truth) else float("nan")
            reason = METRICS[metric].undefined if len(found.truth) else NO_WINDOW
            lines.append(place | {"metric": metric, "value": value, "reason": reason if np.isnan(value) else ""})
    return pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float})


def lines_of(predictions: Predictions, unit: str, pool: Pool, *, multi: bool) -> Lines:
    """The lines of a test set: its windows, or its recordings with the pooled probabilities of their windows."""
    if unit == HEARTBEAT or not len(predictions.truth):
        return Lines(predictions.truth, predictions.probability, multi)
    probability, truth, _ = per_recording(predictions.probability, predictions.truth, predictions.recording, pool)
    return Lines(truth, probability, multi)
