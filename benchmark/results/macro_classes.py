"""Which classes the macro means of a row are over, where its test set lacks some: notes of the row.

Macro AUROC leaves out a class without a test window. Macro F1 leaves it out too, unless it is predicted: then its F1 is
0. So rows of one column of a table may be means over different classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark.results.names import HEARTBEAT, RECORDING, Pool
from benchmark.results.scoring.lines import Floats, Ints, decide
from benchmark.results.scoring.pooling import per_recording

UNTESTED = "no test window of class"
"""How the note on classes without a test window begins."""
F1_OVER = "macro F1"
"""How a note on the classes of macro F1 begins."""


def macro_notes(
    probability: Floats,
    truth: Ints,
    recording: NDArray[np.str_],
    classes: Sequence[str],
    *,
    multi: bool,
    pool: Pool,
) -> list[str]:
    """Notes on (n, C) probabilities of n windows; none where every class has a test window."""
    windows = np.asarray(truth.sum(axis=0))  # (C,)
    absent = _named(classes, windows == 0)
    if not absent:
        return []
    scored = _named(classes, (windows > 0) & (windows < len(truth)))
    notes = [f"{UNTESTED} {absent}{f': macro AUROC is over {scored}' if scored else ''}"]
    pooled, pooled_truth, _ = per_recording(probability, truth, recording, pool)
    units = {HEARTBEAT: (probability, truth), RECORDING: (pooled, pooled_truth)}
    over = {unit: _f1_over(*scores, classes, multi=multi) for unit, scores in units.items()}
    if over[HEARTBEAT] == over[RECORDING]:
        return [*notes, f"{F1_OVER} is {over[HEARTBEAT]}"]
    return [*notes, *(f"{F1_OVER} per {unit} is {words}" for unit, words in over.items())]


def _f1_over(probability: Floats, truth: Ints, classes: Sequence[str], *, multi: bool) -> str:
    """'over NORM, MI' and which of these count 0, being predicted without a test window."""
    there = np.asarray(truth.any(axis=0))  # (C,)
    predicted = np.asarray(decide(probability, multi=multi).any(axis=0))  # (C,)
    zeros = _named(classes, predicted & ~there)
    counted = f"over {_named(classes, there | predicted)}"
    return f"{counted}, with 0 for {zeros}, predicted without a test window" if zeros else counted


def _named(classes: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_chosen in zip(classes, chosen, strict=True) if is_chosen)
