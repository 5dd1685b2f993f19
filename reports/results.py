"""The results of a run as two pandas frames, `scores` and `cells`, with its plan, predictions and pretrainings.

The plan, not the row, names a cell's variant: two variants with equal settings share one key and one row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmark.results.files import Damaged, file_digest
from benchmark.results.metrics import Headline, pooled_by, ranked_classes, value_of
from benchmark.results.names import HEALTH_AGAIN, HEARTBEAT, MEASURES, RECORDING, RETRIEVAL, WINDOWS_SHA256, Pool
from benchmark.results.store import Failure, Plan, PlannedCell, Predictions, Row, Store
from reports.computers import environment_of

STATES = FINISHED, FAILED, DAMAGED, NOT_RUN = "finished", "failed", "damaged", "not run"
LOSS = "loss"
HEALTH = ("health", "health_sample")
"""Entries of a pretraining record that are health."""
Record = Mapping[str, Any]
"""Record of a pretraining (pretraining.json)."""
Records = Mapping[str, Mapping[str, Record]]
"""Variant -> key of a pretraining -> its record, by seed."""


class Coordinates(NamedTuple):
    """Coordinates of a cell in its grid, independent of its key."""

    variant: str
    evaluation: str
    dataset: str
    ratio: float
    seed: int
    subset: int


COORDINATES = Coordinates._fields
GROUP = ["variant", "evaluation", "dataset", "ratio"]
"""Coordinates of the cells that differ in seed and labelled subset alone."""
SCORES = (*COORDINATES, "unit", "metric", "value", "undefined", "key")


class CellState(NamedTuple):
    """One of `STATES`, and the error of a cell in one line."""

    state: str
    error: str


class FinishedCell(NamedTuple):
    """A planned cell and its row."""

    cell: PlannedCell
    row: Row


class PretrainingRecords(NamedTuple):
    """The records of the pretrainings of a run."""

    readable: dict[str, Record]
    """Key of a pretraining -> its record."""
    unused: list[str]
    """Records, and parts of records, that are not used, one line each."""


@dataclass(frozen=True)
class Run:
    """One run, or several of the same settings and data; `rows`, `failures` and `damaged` are by cell key, disjoint."""

    name: str
    """FOLDER@KEY."""
    plan: Plan
    rows: Mapping[str, Row]
    failures: Mapping[str, Failure]
    """Error and traceback of the cells whose last attempt failed."""
    damaged: Mapping[str, str]
    """Error of the rows that cannot be read."""
    stores: tuple[Store, ...]
    messages: tuple[str, ...] = ()
    """Lines on merged runs, on runs left out and on other runs of a folder."""
    is_archive: bool = False
    """It was read from a file that may come from others."""
    parts: tuple[Run, ...] = ()
    """The runs that it is merged from."""
    marks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Evaluation and row -> what is known of a row with cells of an archive (`reports.second_party`)."""

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One line per stored number with the columns `SCORES`: value in [0, 1], NaN with the reason in `undefined`."""
        lines = []
        for cell, row in self.finished:
            for unit, metrics in row.scores.items():
                for metric, value in metrics.items():
                    reason = row.undefined[unit].get(metric, "")
                    lines.append((*coordinates(cell), unit, metric, value, reason, cell.key))
        return pd.DataFrame(lines, columns=list(SCORES)).astype({"value": float})

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One line per planned cell: coordinates, key, state, error, training choices, counts, notes.

        state: 'finished', 'failed', 'damaged' or 'not run'; notes: lines joined by '; '; seconds: of the evaluation.
        """
        return pd.DataFrame([self._cell_facts(cell) for cell in self.plan.cells])

    def _cell_facts(self, cell: PlannedCell) -> dict[str, Any]:
        facts = coordinates(cell)._asdict()
        facts["key"] = cell.key
        facts |= self.state_of(cell.key)._asdict()
        if facts["state"] != FINISHED:
            return facts
        row = self.rows[cell.key]
        for name in ("method", "protocol", "labels", "pretrain_seed", "pretrain_key"):
            facts[name] = getattr(row, name)
        for name in ("best_epoch", "C", "seconds"):
            facts[name] = row.training.get(name)
        facts |= row.counts
        folds = row.training.get("parts", [row.training])
        rates = [fold["lr"] for fold in folds if "lr" in fold]
        facts["lr"] = float(np.median(rates)) if rates else None
        facts["notes"] = "; ".join(row.notes)
        return facts

    def state_of(self, key: str) -> CellState:
        """Return the state of a cell."""
        if key in self.rows:
            return CellState(FINISHED, "")
        if key in self.failures:
            return CellState(FAILED, self.failures[key].line)
        if key in self.damaged:
            return CellState(DAMAGED, self.damaged[key])
        return CellState(NOT_RUN, "")

    @property
    def finished(self) -> list[FinishedCell]:
        """The planned cells that have a row, in plan order."""
        return [FinishedCell(cell, self.rows[cell.key]) for cell in self.plan.cells if cell.key in self.rows]

    def store_of(self, key: str) -> Store:
        """Return the store that has the predictions of a finished cell."""
        stored = (store for store in self.stores if (store.cells / f"{key}.npz").is_file())
        return next(stored, self.stores[0])

    def predictions(self, key: str) -> Predictions:
        """Read the test-set predictions of a finished cell. Raises Damaged."""
        return self.store_of(key).predictions(key)

    @cached_property
    def first_of_equals(self) -> dict[str, str]:
        """Key of each finished cell -> key of the first one whose file of predictions is the same, to the bit.

        Seeds that share a pretraining and a labelled subset often are: what predictions say is computed once.
        """
        first: dict[str, str] = {}
        files = {key: self.store_of(key).cells / f"{key}.npz" for key in self.rows}
        return {key: first.setdefault(file_digest(file), key) for key, file in files.items()}

    def test_outputs(self, key: str, unit: str) -> Predictions:
        """Read the predictions of a finished cell's windows, or of its recordings, pooled over windows."""
        return in_unit(self.predictions(key), unit, self.plan.pool)

    def predicted(self, cells: Iterable[PlannedCell] | None = None) -> pd.DataFrame:
        """Return the test predictions of finished cells per recording, by default of all that have scores of classes.

        A line per cell, recording and class: `COORDINATES`, model (the row's title), recording, patient, class, label
        and score in [0, 1]. Raises Damaged.
        """
        planned = self.plan.cells if cells is None else cells
        scored = [cell for cell in planned if cell.key in self.rows and cell.evaluation != RETRIEVAL]
        if not scored:
            return pd.DataFrame()
        return pd.concat([self._predicted_by(cell) for cell in scored], ignore_index=True)

    def _predicted_by(self, cell: PlannedCell) -> pd.DataFrame:
        test = self.test_outputs(cell.key, RECORDING)
        classes = self.plan.datasets[cell.dataset]["classes"]
        lines = coordinates(cell)._asdict() | {
            "model": self.plan.variants[cell.variant],
            "recording": np.repeat(test.recording, len(classes)),
            "patient": np.repeat(test.patient, len(classes)),
            "class": np.tile(classes, len(test.recording)),
            "label": test.truth.ravel(),
            "score": test.probability.ravel(),
        }
        return pd.DataFrame(lines)

    @cached_property
    def pretrainings(self) -> dict[str, dict[str, Record]]:
        """Variant -> key of a pretraining -> its record, of the finished cells, by seed; without unreadable ones."""
        readable = self.records.readable
        by_variant: dict[str, dict[str, Record]] = {name: {} for name in self.plan.variants}
        for cell, row in sorted(self.finished, key=lambda finished: finished.row.pretrain_seed or 0):
            for key in row.encoders:
                if key in readable:
                    by_variant[cell.variant][key] = readable[key]
        return {name: records for name, records in by_variant.items() if records}

    def environment_of(self, key: str) -> list[tuple[str, str]]:
        """List what the scores of a cell depend on beside its key; nothing without a row."""
        row = self.rows.get(key)
        if row is None:
            return []
        facts: dict[tuple[str, str], None] = {}
        for encoder in row.encoders or [""]:
            record = self.records.readable.get(encoder)
            facts |= dict.fromkeys(environment_of(row, record))
        return list(facts)

    @cached_property
    def constant(self) -> set[tuple[Any, ...]]:
        """Variant, evaluation, dataset and label ratio whose finished cells have the same predictions for every seed.

        Predictions on one labelled subset are compared, to the bit. Scores of these have no deviation: nothing that a
        seed varies moves them.
        """
        first: dict[tuple[Any, ...], str] = {}
        groups = set()
        varied = set()
        for cell, _ in self.finished:
            group = tuple(getattr(cell, name) for name in GROUP)
            groups.add(group)
            if not is_identical(self, first.setdefault((*group, cell.subset), cell.key), self, cell.key):
                varied.add(group)
        return groups - varied

    def varies(self, lines: pd.DataFrame) -> pd.Series[bool]:
        """Tell of each line with variant, evaluation, dataset and ratio whether the predictions of its cells differ."""
        groups = lines[GROUP].itertuples(index=False, name=None)
        return pd.Series([group not in self.constant for group in groups], lines.index, dtype=bool)

    @cached_property
    def records(self) -> PretrainingRecords:
        """Records of its pretrainings; damaged ones, and health on the windows of another run, are named and unused."""
        records: dict[str, Record] = {}
        unused = []
        for key in sorted({key for row in self.rows.values() for key in row.encoders}):
            for store in self.stores:
                try:
                    record = store.record(key)
                    if record is not None:
                        records.setdefault(key, record)
                except Damaged as error:
                    unused.append(str(error).replace(f"{store.root}/", ""))
        other = 0
        for key, known in records.items():
            if known["health"] and known["health_sample"][WINDOWS_SHA256] != self.plan.health_windows:
                again = known.get(HEALTH_AGAIN, {}).get(self.plan.health_windows)
                rest = {name: value for name, value in known.items() if name not in HEALTH}
                records[key] = rest | {"health": again} if again else rest
                other += not again
        if other:
            unused.append(f"health of pretrainings that was measured on the windows of another run: {other}")
        return PretrainingRecords(records, unused)


def run_of(store: Store, plan: Plan, source: Path) -> Run:
    """Return the results of a plan, stored or not, in a store; source: the path that the user named."""
    rows: dict[str, Row] = {}
    damaged: dict[str, str] = {}
    keys = list(dict.fromkeys(cell.key for cell in plan.cells))
    equal: dict[str, Any] = {}  # rows share config, versions and coverage, which are most of a row
    for key in keys:
        try:
            row = store.load_row(key)
            if row is not None:
                rows[key] = row
                for facts in (row.provenance, row.coverage):
                    facts |= {name: equal.setdefault(json.dumps(value), value) for name, value in facts.items()}
        except Damaged as error:
            damaged[key] = str(error)
    without_row = [key for key in keys if key not in rows and key not in damaged]
    failures = store.failures(without_row)
    return Run(f"{source}@{plan.key}", plan, rows, failures, damaged, (store,))


def in_unit(test: Predictions, unit: str, pool: Pool = "mean") -> Predictions:
    """Return predictions of windows as they are, or those of their recordings, sorted by name, pooled over windows."""
    if unit == HEARTBEAT:
        return test
    _, first, recording = np.unique(test.recording, return_index=True, return_inverse=True)  # (R,), (R,), (n,)
    return replace(test.taken(first), probability=pooled_by(recording, test.probability, pool))


def values_of(metrics: Sequence[str], test: Predictions, multi: bool, headline: Headline) -> list[float]:
    """Return metrics of predictions; NaN without a test window."""
    if not len(test.truth):
        return [np.nan] * len(metrics)
    classes = ranked_classes(test.truth, test.patient, headline)
    return [value_of(name, test.truth, test.probability, multi, test.part, classes) for name in metrics]


def coordinates(cell: PlannedCell) -> Coordinates:
    """Return the coordinates of a cell."""
    return Coordinates(*(getattr(cell, name) for name in COORDINATES))


def is_identical(first: Run, first_key: str, second: Run, second_key: str) -> bool:
    """Tell whether two finished cells have bit-identical scores and predictions; times and machines may differ."""
    if first.rows[first_key].scores != second.rows[second_key].scores:
        return False
    if first is second and first.first_of_equals[first_key] == first.first_of_equals[second_key]:
        return True
    arrays = first.predictions(first_key).arrays()
    others = second.predictions(second_key).arrays()
    for name, values in arrays.items():
        other = others.get(name)
        if other is None or values.shape != other.shape or values.tobytes() != other.tobytes():
            return False
    return True


def mean_over_subsets(scores: pd.DataFrame) -> pd.DataFrame:
    """Average lines with the columns `SCORES` to one per seed, over its labelled subsets that have a score."""
    shared = [name for name in SCORES if name not in ("key", "subset", "value", "undefined")]
    how = {"key": "first", "subset": "first", "value": "mean", "undefined": "first"}
    return scores.groupby(shared, sort=False, as_index=False).agg(how)[list(SCORES)]


def learning_curves(pretrainings: Records) -> pd.DataFrame:
    """Return one line per measure, pretraining and epoch: variant, key, epoch, measure, value.

    Losses begin at epoch 1, health measures at epoch 0, the untrained encoder.
    """
    lines: list[dict[str, Any]] = []
    for variant, records in pretrainings.items():
        for key, record in records.items():
            facts = {"variant": variant, "key": key}
            lines += [
                facts | {"epoch": epoch, LOSS: loss} for epoch, loss in enumerate(record.get("loss", []), start=1)
            ]
            lines += [facts | health for health in record.get("health", [])]
    identity = ["variant", "key", "epoch"]
    epochs = pd.DataFrame(lines, columns=[*identity, LOSS, *MEASURES])
    return epochs.melt(identity, var_name="measure").dropna()


def cell_errors(results: Run, cells: Iterable[PlannedCell]) -> dict[CellState, list[PlannedCell]]:
    """Group cells by their error; a cell's key reads KEY in it, so that equal errors are one."""
    groups: dict[CellState, list[PlannedCell]] = {}
    for cell in cells:
        state, error = results.state_of(cell.key)
        if error:
            group = CellState(state, error.replace(cell.key, "KEY"))
            groups.setdefault(group, []).append(cell)
    return groups
