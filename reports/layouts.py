"""The tables of a plan: which rows, columns, label ratios and cells each of them shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.results.metrics import Headline
from benchmark.results.names import ABLATION, BASELINE, METHOD, RETRIEVAL, SWEEP
from benchmark.results.store import Plan, PlannedCell, labels_of


@dataclass(frozen=True)
class Layout:
    """One table of an evaluation: the comparison (name ''), or the ablations or a sweep of a method."""

    evaluation: str
    name: str
    title: str
    variants: tuple[str, ...]
    """Rows, from the top."""
    metrics: tuple[str, ...]
    """Columns of every dataset."""
    cells: tuple[PlannedCell, ...]
    """The planned cells of its rows and label ratios, in plan order."""
    headline: Headline
    baselines: frozenset[str] = frozenset()
    """Rows that are not ranked and are part of no statistic."""
    unchanged: str = ""
    """Row of the method with its unchanged settings, beside ablations or a sweep; '' where it is missing."""

    @property
    def ratios(self) -> tuple[float, ...]:
        """Label ratios of its blocks, from the top."""
        return tuple(dict.fromkeys(cell.ratio for cell in self.cells))


def role_of(plan: Plan, variant: str) -> Mapping[str, Any]:
    """Return role, base variant, hyperparameter and value of a row; role METHOD where the plan names none."""
    return plan.roles.get(variant, {"role": METHOD})


def evaluations_of(plan: Plan) -> tuple[str, ...]:
    """Return the evaluations that have tables, in plan order."""
    return tuple(dict.fromkeys(cell.evaluation for cell in plan.cells if cell.evaluation != RETRIEVAL))


def layouts(plan: Plan, evaluation: str, further: Sequence[str] = ()) -> Iterator[Layout]:
    """Return the tables of an evaluation, the comparison first; each has a planned cell.

    further: metrics of the comparison beside those of the headline, and AUPRC beside AUROC where a task is multi-label.
    """
    cells = [cell for cell in plan.cells if cell.evaluation == evaluation]
    present = {cell.variant for cell in cells}
    compared, baselines = [], []
    groups: dict[tuple[str, str], list[str]] = {}  # method and hyperparameter -> rows
    for name in plan.variants:
        role = role_of(plan, name)
        if name not in present:
            continue
        if role["role"] == METHOD:
            compared.append(name)
        elif role["role"] == BASELINE:
            baselines.append(name)
        elif role["role"] in (ABLATION, SWEEP):
            groups.setdefault((role["of"], role["hyperparameter"]), []).append(name)
    rows = (*compared, *baselines)
    if rows:
        main = tuple(cell for cell in cells if cell.variant in rows)
        metrics = list(plan.headline.columns)
        if "multi" in labels_of(plan) and "auprc" not in metrics:
            metrics.insert(metrics.index("auroc") + 1, "auprc")
        columns = tuple(dict.fromkeys([*metrics, *further]))
        yield Layout(evaluation, "", "", rows, columns, main, plan.headline, frozenset(baselines))
    for (method, hyperparameter), changed in groups.items():
        ratios = {cell.ratio for cell in cells if cell.variant in changed}
        at_ratios = [cell for cell in cells if cell.ratio in ratios]
        unchanged = _unchanged(at_ratios, method, changed)
        rows = tuple(dict.fromkeys([*changed, unchanged] if unchanged else changed))
        shown = tuple(cell for cell in at_ratios if cell.variant in rows)
        group = hyperparameter or "ablations"
        title = f"{plan.variants.get(method, method)}, {group}"
        columns = (plan.headline.curve,)
        yield Layout(evaluation, f"{method}-{group}", title, rows, columns, shown, plan.headline, unchanged=unchanged)


def _unchanged(cells: Sequence[PlannedCell], method: str, changed: Sequence[str]) -> str:
    """Find the row of the method's own settings: a swept value that is its own and has its cells, else the method's."""
    keys: dict[str, set[str]] = {}
    for cell in cells:
        keys.setdefault(cell.variant, set()).add(cell.key)
    if method not in keys:
        return ""
    return next((row for row in changed if keys.get(row) == keys[method]), method)
