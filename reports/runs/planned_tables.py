"""The tables of a plan: the comparison (PMQ, Table 1), ablations (Table 2), and a table per swept knob.

A `Layout` fixes a table's rows, columns, label ratios and cells. The table (reports.tables.table) and its statistics
(reports.statistics.of_table) both read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import ABLATION, GATE, METHOD, SWEEP
from benchmark.results.plan import Plan, PlannedCell

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
    variants = [name for name in plan.variants if name in there or unserved(plan, name, evaluation)]
    roles = {name: role_of(plan, name) for name in variants}
    compared = [name for name in variants if roles[name]["role"] == METHOD]
    gates = [name for name in variants if roles[name]["role"] == GATE]
    rows = (*compared, *gates)
    if rows and cells:
        own = tuple(cell for cell in cells if cell.variant in rows)
        yield Layout(evaluation, "", "", rows, (*COLUMNS, *further), own, frozenset(gates))
    groups: dict[tuple[str, str], list[str]] = {}
    for name in variants:
        if roles[name]["role"] in (ABLATION, SWEEP):
            groups.setdefault((str(roles[name]["of"]), str(roles[name]["knob"])), []).append(name)
    for (base, knob), changed in groups.items():
        unchanged = _unchanged(cells, base, changed)
        rows = tuple(dict.fromkeys((*changed, *([unchanged] if unchanged else []))))
        what = (f"{base}-{knob}", knob) if knob else (f"{base}-ablations", "ablations")
        title, own = f"{plan.variants.get(base, base)}, {what[1]}", _at_changes(cells, rows, changed)
        yield Layout(evaluation, what[0], title, rows, CHANGES_SHOW, own, unchanged=unchanged)


def _unchanged(cells: Sequence[PlannedCell], base: str, changed: Sequence[str]) -> str:
    """The row of the method's own settings: a swept value that is its own and has its cells, else the method's row."""
    ratios = {cell.ratio for cell in cells if cell.variant in changed}
    keys = {
        name: {cell.key for cell in cells if cell.variant == name and cell.ratio in ratios} for name in (base, *changed)
    }
    return next((name for name in changed if keys[name] == keys[base]), base) if keys[base] else ""


def _at_changes(cells: Sequence[PlannedCell], rows: Sequence[str], changed: Sequence[str]) -> tuple[PlannedCell, ...]:
    """The cells of the rows at the ratios that a changed row has."""
    ratios = {cell.ratio for cell in cells if cell.variant in changed}
    return tuple(cell for cell in cells if cell.variant in rows and cell.ratio in ratios)
