"""Which tables a plan calls for: the comparison (PMQ, Table 1), ablations (Table 2), and a table per swept knob.

A layout is data: the rows, their columns, and what the table is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import ABLATION, GATE, METHOD, SWEEP
from benchmark.results.plan import Plan

CHANGES_SHOW = ("f1",)
"""Metrics of a table of changes, as in the paper's Table 2."""


@dataclass(frozen=True)
class Layout:
    """One table of an evaluation."""

    name: str
    """'' is the main table's."""
    title: str
    variants: tuple[str, ...]
    """Rows, from the top."""
    metrics: tuple[str, ...]
    """Columns of every dataset."""
    gates: frozenset[str] = frozenset()
    """Rows that the others are read against; they do not compete."""
    changed: frozenset[str] = frozenset()
    """Rows of changes: the ratios they were run at are those of the table. Empty: all ratios are."""


def role_of(plan: Plan, variant: str) -> Mapping[str, Any]:
    """What a row is for; a plan that says nothing of a row has it compared."""
    return plan.roles.get(variant, {"role": METHOD, "of": "", "knob": "", "value": None})


def layouts(plan: Plan, evaluation: str) -> Iterator[Layout]:
    """The tables of an evaluation, the comparison first. None of them is without a planned cell."""
    there = {cell.variant for cell in plan.cells if cell.evaluation == evaluation}
    variants = [name for name in plan.variants if name in there]
    roles = {name: role_of(plan, name) for name in variants}
    compared = [name for name in variants if roles[name]["role"] == METHOD]
    gates = [name for name in variants if roles[name]["role"] == GATE]
    if compared or gates:
        yield Layout("", "", (*compared, *gates), COLUMNS, frozenset(gates))
    yield from _changes(plan, variants, roles)


def _changes(plan: Plan, variants: list[str], roles: Mapping[str, Mapping[str, Any]]) -> Iterator[Layout]:
    """One table per method with ablations, and per knob that is swept; the unchanged method stands last."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in variants:
        if roles[name]["role"] in (ABLATION, SWEEP):
            groups.setdefault((str(roles[name]["of"]), str(roles[name]["knob"])), []).append(name)
    for (base, knob), changed in groups.items():
        rows = tuple([*changed, *([base] if base in variants else [])])
        title = plan.variants.get(base, base)
        if knob:
            yield Layout(f"{base}-{knob}", f"{title}, {knob}", rows, CHANGES_SHOW, changed=frozenset(changed))
        else:
            yield Layout(f"{base}-ablations", f"{title}, ablations", rows, CHANGES_SHOW, changed=frozenset(changed))
