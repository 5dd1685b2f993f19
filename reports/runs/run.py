"""A run: one plan of a results store with its rows, failures and damaged rows, opened once per report.

The plan, not the row, names a cell's variant: two variants with equal settings (PMQ and "PMQ with a queue of 16384")
share one key and one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.results.failures import Failure
from benchmark.results.keys import KEY
from benchmark.results.names import evaluation_of, name_on_any
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.rows import Row
from benchmark.results.store import CorruptRow, Store
from benchmark.results.tuned import Tuning
from reports.runs.cards import Card, read_cards
from reports.runs.searches import read_searches
from reports.runs.sources import as_rows_say

MOST_PARTS = 16
"""Different configs, versions, ... of rows that are compared with further ones."""
Parts = dict[str, list[Any]]
"""Name of a part of rows -> the different ones so far."""
CELL = ("key", "variant", "evaluation", "dataset", "ratio", "seed")
TIDY = (*CELL, "unit", "metric", "value", "reason")


@dataclass(frozen=True)
class Run:
    """One plan of a store; the three mappings are by cell key and disjoint."""

    name: str
    """FOLDER@KEY."""
    source: Path
    """The folder or capsule."""
    store: Store
    plan: Plan
    rows: Mapping[str, Row]
    failures: Mapping[str, Failure]
    """Error and traceback of the cells whose last attempt failed."""
    damaged: Mapping[str, str]
    """Errors of the rows left out."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digests of rows and their predictions, by cell key, as far as they are known."""

    @cached_property
    def tidy(self) -> pd.DataFrame:
        """One line per finished cell x unit x metric, in plan order, with the columns `TIDY`.

        `value` lies in [0, 1] and is NaN where the metric is undefined; `reason` then says why.
        """
        lines = [
            _cell(cell)
            | {"unit": unit, "metric": metric, "value": value, "reason": row.undefined.get(unit, {}).get(metric, "")}
            for cell in self.plan.cells
            if (row := self.rows.get(cell.key)) is not None
            for unit, metrics in row.scores.items()
            for metric, value in metrics.items()
        ]
        return pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float})

    @cached_property
    def cards(self) -> dict[str, dict[str, Card]]:
        """Variant -> key of a pretraining -> its card, for the finished cells.

        Missing and altered cards are left out (`left_out`).
        """
        wanted = {(cell.variant, row.pretrain_key) for cell in self.plan.cells if (row := self.rows.get(cell.key))}
        found: dict[str, dict[str, Card]] = {}
        for variant in self.plan.variants:
            for key in sorted(key for name, key in wanted if name == variant and key):
                if key in self._read_cards[0]:
                    found.setdefault(variant, {})[key] = self._read_cards[0][key]
        return found

    @property
    def searches(self) -> list[Tuning]:
        """The searches that knobs of the run are from; damaged ones are left out (`left_out`)."""
        return self._read_searches[0]

    @property
    def left_out(self) -> list[str]:
        """What is not used of the cards of the finished cells and of the searches, one line each."""
        return [*self._read_cards[1], *self._read_searches[1]]

    @cached_property
    def _read_searches(self) -> tuple[list[Tuning], list[str]]:
        return read_searches(self.store.root, self.plan.tunings)

    @cached_property
    def _read_cards(self) -> tuple[dict[str, Card], list[str]]:
        return read_cards(self.store, {row.pretrain_key for row in self.rows.values() if row.pretrain_key})


def open_run(root: Path, plan_key: str | None = None, *, source: Path | None = None) -> Run:
    """The run of a plan in a results folder, the latest without a key.

    source: the path that the user named, if not the folder. Raises NoResults where the folder holds no such plan.
    """
    store = Store(root)
    return run_of(store, store.load_plan(plan_key), source or root)


def run_of(store: Store, plan: Plan, source: Path) -> Run:
    """The run of a plan, stored or not, in a store; source: the path that the user named."""
    rows: dict[str, Row] = {}
    damaged: dict[str, str] = {}
    digests: dict[str, str] = {}
    parts: Parts = {}
    first: dict[str, PlannedCell] = {}
    for cell in plan.cells:
        first.setdefault(cell.key, cell)
    for key, cell in first.items():
        try:
            found = store.load_sealed(key, place_of(cell, plan))
        except CorruptRow as error:
            damaged[key] = str(error)
            continue
        if found is not None:
            rows[key], digests[key] = with_shared_parts(found[0], parts), found[1]
    missing = [cell.key for cell in plan.cells if cell.key not in rows and cell.key not in damaged]
    plan = as_rows_say(plan, rows.values())
    return Run(f"{source}@{plan.key}", source, store, plan, rows, store.failures(missing), damaged, digests)


def with_shared_parts(row: Row, parts: Parts) -> Row:
    """The row, with parts that equal those of an earlier one as the same objects: most of its memory."""
    told = {
        name: part if name == "key_content" else _shared(part, parts.setdefault(name, []))
        for name, part in row.provenance.items()
    }
    return replace(row, provenance=told, coverage=_shared(row.coverage, parts.setdefault("coverage", [])))


def _shared(part: Any, known: list[Any]) -> Any:
    """An equal one of the parts known, else the part itself, which is known from then on."""
    for own in known:
        if own == part:
            return own
    if len(known) < MOST_PARTS:
        known.append(part)
    return part


def place_of(cell: PlannedCell, plan: Plan) -> dict[str, Any]:
    """Fields of a row and the values they must have to be that of a planned cell."""
    role = plan.roles.get(cell.variant, {})
    of, row = (name_on_any(name, str(role.get("encoder", ""))) for name in (str(role.get("of", "")), cell.variant))
    place = {
        "evaluation": evaluation_of(row, cell.evaluation),
        "dataset": cell.dataset,
        "ratio": cell.ratio,
        "seed": cell.seed,
    }
    return place | ({"method": of or row} if role else {})


def fingerprints_of(run: Run, dataset: str | None = None) -> list[str]:
    """Fingerprints of the data that the finished cells were computed on: all, or those of one dataset."""
    rows = [row for row in run.rows.values() if dataset in (None, row.dataset)]
    told = (row.provenance.get("data", {}).get("fingerprint") for row in rows)
    return list(dict.fromkeys(str(own) for own in told if own and KEY.fullmatch(str(own))))


def tested_recordings(run: Run, dataset: str) -> dict[str, dict[str, str]]:
    """Fingerprint of the data -> test recording -> patient, of the finished cells on a dataset."""
    found: dict[str, dict[str, str]] = {own: {} for own in fingerprints_of(run, dataset)}
    for key, row in run.rows.items():
        fingerprint = str(row.provenance.get("data", {}).get("fingerprint"))
        if row.dataset == dataset and fingerprint in found and not found[fingerprint]:
            own = run.store.predictions(key)
            found[fingerprint] = dict(zip(own.recording.tolist(), own.patient.tolist(), strict=True))
    return found


def _cell(cell: PlannedCell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in CELL}


def wide(run: Run) -> pd.DataFrame:
    """One line per finished cell, in plan order: its place, its scores in both units, training choices and counts.

    Times are left out, so that a resumed run gives the same bytes as an uninterrupted one.
    """
    lines = [_cell(cell) | _row_facts(row) for cell in run.plan.cells if (row := run.rows.get(cell.key)) is not None]
    return pd.DataFrame(lines) if lines else pd.DataFrame(columns=list(CELL))


def _row_facts(row: Row) -> dict[str, Any]:
    facts: dict[str, Any] = {
        name: getattr(row, name) for name in ("method", "protocol", "labels", "pretrain_seed", "pretrain_key")
    }
    for unit, metrics in row.scores.items():
        facts |= {f"{unit}_{metric}": value for metric, value in metrics.items()}
    chosen = {name: row.training.get(name) for name in ("best_epoch", "C")}
    return facts | chosen | row.counts | {"notes": "; ".join(row.notes)}
