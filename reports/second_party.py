"""A mark for each row that an archive brings beside rows that were computed here.

- *claimed*: its numbers alone;
- *re-scored*: the stored predictions give the stored scores, and their recordings, patients, labels and split are those
  of a cell here;
- *re-run*: random cells of the row were computed again here (`report --verify`), and differ by no more than two
  machines do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import HEARTBEAT, RECORDING, RETRIEVAL, UNIT_OF_PROTOCOL, counted, is_frozen
from benchmark.results.store import PlannedCell, Row
from reports.results import Run, values_of

CLAIMED, RESCORED, RERUN = "claimed", "re-scored", "re-run"
MOST_POINTS = {(False, True): 0.2, (False, False): 1.3, (True, True): 4.2, (True, False): 10.4}
"""An encoder was trained or not, and stayed as it is or not -> the largest difference of a score on another
machine, in points per heartbeat (docs/PROTOCOLS.md, The same on another machine)."""


def marks_of(here: Run, others: Sequence[Run]) -> dict[tuple[str, str], str]:
    """Return evaluation and row -> the mark of a row of which an archive brings cells that were not computed here.

    A row has the least mark of its cells. There are no marks where the run `here` is an archive itself.
    """
    marks: dict[tuple[str, str], str] = {}
    if here.is_archive:
        return marks
    alike = {(cell.dataset, cell.ratio, cell.seed, cell.subset): cell.key for cell, _ in here.finished}
    for theirs in others:
        for cell in brought_by(theirs, here):
            reference = alike.get((cell.dataset, cell.ratio, cell.seed, cell.subset))
            is_checked = reference and is_tested_alike(here, reference, theirs, cell.key)
            row = cell.evaluation, cell.variant
            if is_checked and has_its_scores(theirs, cell.key):
                marks.setdefault(row, RESCORED)
            else:
                marks[row] = CLAIMED
    return marks


def brought_by(theirs: Run, here: Run) -> list[PlannedCell]:
    """List the finished cells of an archive that were not computed here; patient retrieval has tables of its own."""
    cells = [cell for cell, _ in theirs.finished if cell.key not in here.rows and cell.evaluation != RETRIEVAL]
    return cells if theirs.is_archive else []


def is_tested_alike(here: Run, reference: str, theirs: Run, key: str) -> bool:
    """Tell whether two cells have one split, and the same test recordings with the same patients and labels."""
    if here.rows[reference].provenance.get("split") != theirs.rows[key].provenance.get("split"):
        return False
    expected = here.test_outputs(reference, RECORDING)
    test = theirs.test_outputs(key, RECORDING)
    return all(
        np.array_equal(getattr(expected, name), getattr(test, name)) for name in ("recording", "patient", "truth")
    )


def has_its_scores(run: Run, key: str) -> bool:
    """Tell whether the predictions of a cell give its stored scores in the metrics of the headline."""
    row, headline = run.rows[key], run.plan.headline
    unit = UNIT_OF_PROTOCOL[run.plan.config["protocol"]]
    scores = [row.scores[unit].get(metric) for metric in headline.metrics]
    values = values_of(headline.metrics, run.test_outputs(key, unit), row.labels == "multi", headline)
    return np.allclose(values, np.array(scores, float), atol=1e-6, equal_nan=True)


def mark_of_rerun(theirs: Run, again: Run, keys: Sequence[str], with_weights: Collection[str]) -> str:
    """Return the mark of a row whose cells of these keys were computed again.

    with_weights: keys of those that were computed from an encoder of the archive.
    """
    points, excess = [], []
    for key in keys:
        row = theirs.rows[key]
        is_trained = bool(row.provenance["corpus"]) and key not in with_weights
        points.append(points_between(row, again.rows[key]))
        excess.append(points[-1] - MOST_POINTS[is_trained, is_frozen(row.evaluation)])
    mark = f"{RERUN} from its weights" if set(keys) & set(with_weights) else RERUN
    if max(excess) > 0:
        return f"{mark} differs by {max(points):.1f} points"
    return f"{mark}: {counted(len(keys), 'cell')} within {max(points):.1f} points"


def points_between(row: Row, other: Row) -> float:
    """Return the largest difference of a score per heartbeat between two rows of a cell, in points."""
    scores = pd.DataFrame([row.scores[HEARTBEAT], other.scores[HEARTBEAT]], columns=COLUMNS, dtype=float)
    return float(np.nanmax(100 * scores.diff().abs(), initial=0))
