"""A run: one plan of a results store with its rows, cards, failures, and the layouts of its tables.

The plan, not the row, names a cell's variant: two variants with equal settings (PMQ and "PMQ with a queue of 16384")
share one key and one row.

Whether a run's data are simulated, and which data they are, as its rows say: a plan can be edited, a row cannot.

A `Layout` fixes a table's rows, columns, label ratios and cells. The table (reports.tables.table) and its statistics
(reports.statistics.table) both read it.

"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import (
    ABLATION,
    GATE,
    METHOD,
    SWEEP,
    measured_elsewhere,
)
from benchmark.results.store import BadCard, CorruptRow, Failure, Plan, PlannedCell, Row, Store

COURSE = ("variant", "key", "epoch", "measure", "value")
LOSS = "loss"
HEALTH = ("health", "health_sample")
"""Facts of a card that are health."""

Card = Mapping[str, Any]
Cards = Mapping[str, Mapping[str, Card]]
"""Row of a table -> key of a pretraining -> its card."""


def read_cards(store: Store, keys: Iterable[str], windows: str) -> tuple[dict[str, Card], list[str]]:
    """Key -> card, and what is left out, one line each without the store's path.

    An altered card, or one of another pretraining, is left out, and health of other windows than those with the digest
    `windows`.
    """
    cards: dict[str, Card] = {}
    left_out = []
    for key in sorted(keys):
        try:
            if (card := store.card(key)) is not None:
                cards[key] = card
        except BadCard as error:
            left_out.append(str(error).replace(f"{store.root}/", ""))
    if elsewhere := measured_elsewhere(cards, windows):
        for key in elsewhere:
            cards[key] = {name: value for name, value in cards[key].items() if name not in HEALTH}
        many = f"{len(elsewhere)} pretraining{'' if len(elsewhere) == 1 else 's'}"
        left_out.append(f"health of {many}: measured on the windows of another run, and not comparable")
    return cards, left_out


def courses(cards: Cards) -> pd.DataFrame:
    """One line per pretraining, epoch and recorded measure, with the columns `COURSE`.

    Losses begin at epoch 1, health measures at epoch 0, the untrained encoder.
    """
    return pd.DataFrame(_courses(cards), columns=list(COURSE)).astype({"value": float})


def _courses(cards: Cards) -> Iterator[tuple[str, str, int, str, float]]:
    for variant, own in cards.items():
        for key, card in own.items():
            for epoch, loss in enumerate(card.get("loss", []), start=1):
                yield variant, key, epoch, LOSS, loss
            for health in card.get("health", []):
                told = {measure: value for measure, value in health.items() if value is not None}
                epoch = told.pop("epoch")
                yield from ((variant, key, epoch, measure, value) for measure, value in told.items())


def machine_of(card: Card) -> str:
    """Device, threads of a CPU, and mode: 'NVIDIA H200, bf16', 'x86_64, 2 then 4 threads, float32'."""
    device = card.get("device") or {}
    counts = card.get("threads") or [device.get("threads")]
    threads = f", {' then '.join(map(str, counts))} thread{'' if counts == [1] else 's'}"
    threads = threads if device.get("type") == "cpu" else ""
    return f"{device.get('name') or device.get('type', 'unknown device')}{threads}, {card.get('precision', '?')}"


MOST_PARTS = 16
"""Different configs, versions, ... of rows that are compared with further ones."""
Parts = dict[str, list[Any]]
"""Name of a part of rows -> the different ones so far."""
CELL = ("key", "variant", "evaluation", "dataset", "ratio", "seed", "subset")
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

    @cached_property
    def tidy(self) -> pd.DataFrame:
        """One line per seed of each row x unit x metric, in plan order, with the columns `TIDY` (`over_subsets`).

        `value` lies in [0, 1] and is NaN where the metric is undefined; `reason` then says why.
        """
        lines = [
            (*_cell(cell).values(), unit, metric, value, row.undefined.get(unit, {}).get(metric, ""))
            for cell, row in self.finished
            for unit, metrics in row.scores.items()
            for metric, value in metrics.items()
        ]
        return over_subsets(pd.DataFrame(lines, columns=list(TIDY)).astype({"value": float}))

    @property
    def finished(self) -> list[tuple[PlannedCell, Row]]:
        """The planned cells that have a row, and their rows, in plan order."""
        return [(cell, self.rows[cell.key]) for cell in self.plan.cells if cell.key in self.rows]

    @cached_property
    def cards(self) -> dict[str, dict[str, Card]]:
        """Variant -> key of a pretraining -> its card, for the finished cells.

        Missing and altered cards are left out (`left_out`).
        """
        cards = self._read_cards[0]
        wanted = sorted((cell.variant, row.pretrain_key) for cell, row in self.finished if row.pretrain_key in cards)
        by_variant = {name: {key: cards[key] for own, key in wanted if own == name} for name in self.plan.variants}
        return {name: own for name, own in by_variant.items() if own}

    @property
    def left_out(self) -> list[str]:
        """What is not used of the cards of the finished cells, one line each."""
        return self._read_cards[1]

    @cached_property
    def _read_cards(self) -> tuple[dict[str, Card], list[str]]:
        keys = {row.pretrain_key for row in self.rows.values() if row.pretrain_key}
        return read_cards(self.store, keys, self.plan.health_windows)


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
    parts: Parts = {}
    for key in dict.fromkeys(cell.key for cell in plan.cells):
        try:
            found = store.load_row(key)
        except CorruptRow as error:
            damaged[key] = str(error)
            continue
        if found is not None:
            rows[key] = with_shared_parts(found, parts)
    missing = [cell.key for cell in plan.cells if cell.key not in rows and cell.key not in damaged]
    return Run(f"{source}@{plan.key}", source, store, plan, rows, store.failures(missing), damaged)


def with_shared_parts(row: Row, parts: Parts) -> Row:
    """The row, with parts that equal those of an earlier one as the same objects: most of its memory."""
    provenance = {
        name: part if name == "key_content" else _shared(part, parts.setdefault(name, []))
        for name, part in row.provenance.items()
    }
    return replace(row, provenance=provenance, coverage=_shared(row.coverage, parts.setdefault("coverage", [])))


def _shared(part: Any, known: list[Any]) -> Any:
    """An equal one of the parts known, else the part itself, which is known from then on."""
    if part in known:
        return known[known.index(part)]
    if len(known) < MOST_PARTS:
        known.append(part)
    return part


def _cell(cell: PlannedCell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in CELL}


def over_subsets(lines: pd.DataFrame) -> pd.DataFrame:
    """One line per seed of lines with the columns `TIDY`, one per cell: the mean over its labelled subsets.

    Subsets without a score are left out of it; key and subset are those of the first.
    """
    if not lines["subset"].any():
        return lines
    place = [name for name in TIDY if name not in ("key", "subset", "value", "reason")]
    how = {"key": "first", "subset": "first", "value": "mean", "reason": "first"}
    return lines.groupby(place, sort=False, as_index=False).agg(how)[list(TIDY)]


def wide(run: Run) -> pd.DataFrame:
    """One line per finished cell, in plan order: its place, its scores in both units, training choices and counts.

    Times are left out, so that a resumed run gives the same bytes as an uninterrupted one.
    """
    lines = [_cell(cell) | _row_facts(row) for cell, row in run.finished]
    return pd.DataFrame(lines) if lines else pd.DataFrame(columns=list(CELL))


def _row_facts(row: Row) -> dict[str, Any]:
    names = "method", "protocol", "labels", "pretrain_seed", "pretrain_key"
    facts: dict[str, Any] = {name: getattr(row, name) for name in names}
    facts |= {f"{unit}_{metric}": value for unit, own in row.scores.items() for metric, value in own.items()}
    facts |= {name: row.training.get(name) for name in ("best_epoch", "C")}
    return facts | row.counts | {"notes": "; ".join(row.notes)}


@dataclass(frozen=True)
class Unfinished:
    """One error, and the cells that ended in it."""

    state: str
    """'failed' or 'damaged'."""
    error: str
    """One line; a cell's own key is replaced by KEY, so that equal errors group."""
    traceback: str
    """Of the first cell; '' if not stored."""
    cells: tuple[PlannedCell, ...]


def unfinished(run: Run, cells: Sequence[PlannedCell]) -> Iterator[Unfinished]:
    """One per error, in the order of the cells."""
    groups: dict[tuple[str, str], dict[PlannedCell, str]] = {}
    for cell in cells:
        if cell.key in run.failures:
            state, failure = "failed", run.failures[cell.key]
        elif cell.key in run.damaged:
            state, failure = "damaged", Failure(run.damaged[cell.key])
        else:
            continue
        error = failure.line.replace(cell.key, "KEY")
        groups.setdefault((state, error), {})[cell] = failure.traceback.strip()
    for (state, error), tracebacks in groups.items():
        yield Unfinished(state, error, next(iter(tracebacks.values())), tuple(tracebacks))


CHANGES_SHOW = ("f1",)
"""Metrics of a table of ablations or of a sweep, as in the paper's Table 2."""


@dataclass(frozen=True)
class Layout:
    """One table of an evaluation."""

    evaluation: str
    name: str
    """'' for the main table."""
    title: str
    variants: tuple[str, ...]
    """Rows, from the top."""
    metrics: tuple[str, ...]
    """Columns of every dataset."""
    cells: tuple[PlannedCell, ...]
    """The planned cells of its rows and label ratios, in plan order."""
    gates: frozenset[str] = frozenset()
    """Reference rows; left out of ranking and statistics."""
    unchanged: str = ""
    """Of ablations or a sweep, the row of the method's own settings, if it is there."""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Label ratios of its blocks, from the top."""
        return tuple(dict.fromkeys(cell.ratio for cell in self.cells))

    @property
    def competing(self) -> tuple[PlannedCell, ...]:
        """The cells of the rows that are compared with each other."""
        return tuple(cell for cell in self.cells if cell.variant not in self.gates)


def role_of(plan: Plan, variant: str) -> Mapping[str, Any]:
    """Role, base variant, knob and value of a row; role METHOD where the plan names none."""
    return plan.roles.get(variant, {"role": METHOD, "of": "", "knob": "", "value": None})


def unserved(plan: Plan, variant: str, evaluation: str) -> str:
    """Why a compared row has no cells in the tables of an evaluation; '' for a row that has, or needs no reason."""
    role = role_of(plan, variant)
    reasons: Mapping[str, str] = role.get("elsewhere", {}).get("unserved", {}) if role["role"] == METHOD else {}
    return reasons.get(evaluation, "")


def evaluations_of(plan: Plan) -> tuple[str, ...]:
    """The evaluations that have tables, in plan order."""
    return tuple(dict.fromkeys(cell.evaluation for cell in plan.cells))


def layouts(plan: Plan, evaluation: str, further: Sequence[str] = ()) -> Iterator[Layout]:
    """The tables of an evaluation, the comparison first; each has a planned cell.

    further: metrics of the comparison beside `COLUMNS`.
    """
    cells = [cell for cell in plan.cells if cell.evaluation == evaluation]
    there = {cell.variant for cell in cells}
    compared, gates = [], []
    groups: dict[tuple[str, str], list[str]] = {}
    for name in plan.variants:
        if name not in there and not unserved(plan, name, evaluation):
            continue
        role = role_of(plan, name)
        if role["role"] == METHOD:
            compared.append(name)
        elif role["role"] == GATE:
            gates.append(name)
        elif role["role"] in (ABLATION, SWEEP):
            groups.setdefault((str(role["of"]), str(role["knob"])), []).append(name)
    rows = (*compared, *gates)
    if rows and cells:
        own = tuple(cell for cell in cells if cell.variant in rows)
        yield Layout(evaluation, "", "", rows, (*COLUMNS, *further), own, frozenset(gates))
    for (base, knob), changed in groups.items():
        ratios = {cell.ratio for cell in cells if cell.variant in changed}
        at_ratios = [cell for cell in cells if cell.ratio in ratios]
        unchanged = _unchanged(at_ratios, base, changed)
        rows = tuple(dict.fromkeys(filter(None, (*changed, unchanged))))
        own = tuple(cell for cell in at_ratios if cell.variant in rows)
        title = f"{plan.variants.get(base, base)}, {knob or 'ablations'}"
        yield Layout(evaluation, f"{base}-{knob or 'ablations'}", title, rows, CHANGES_SHOW, own, unchanged=unchanged)


def _unchanged(cells: Sequence[PlannedCell], base: str, changed: Sequence[str]) -> str:
    """The row of the method's own settings: a swept value that is its own and has its cells, else the method's row."""
    keys = {name: {cell.key for cell in cells if cell.variant == name} for name in (base, *changed)}
    return next((name for name in changed if keys[name] == keys[base]), base) if keys[base] else ""
