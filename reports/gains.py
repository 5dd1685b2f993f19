"""What methods gain from a longer pretraining, and whether one gains more than another: the numbers beside the budget.

The gain of a method is its headline with a longer pretraining minus that with the shortest of its sweep of
`pretrain.epochs`, seed by seed on the same test patients. The difference of two gains is the interaction of method and
budget; it is tested as the difference of two scores is (`reports.inference`), the pairs of one length as a family.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from benchmark.results.names import OVERALL
from benchmark.results.store import PlannedCell
from reports.columns import COLUMN_ID, ScoreColumn, score_columns
from reports.inference import ENDS, difference, means_with_intervals, pairwise
from reports.layouts import evaluations_of, role_of
from reports.results import Run

BUDGET = "pretrain.epochs"
GAINS = ["evaluation", *COLUMN_ID, "epochs", "first", "second", "difference", *ENDS, "p_holm", "detectable", "seeds"]


def budget_gains(results: Run, unit: str) -> pd.DataFrame:
    """Return a line per gain, where `second` is empty, and per difference of two gains, as shares of 1: `GAINS`.

    Empty where fewer than two methods sweep the budget. Raises UnequalTestSets.
    """
    plan = results.plan
    swept = [cell for cell in plan.cells if role_of(plan, cell.variant).get("hyperparameter") == BUDGET]
    lines: list[dict[Hashable, Any]] = []
    for evaluation in evaluations_of(plan):
        cells = [cell for cell in swept if cell.evaluation == evaluation]
        for epochs, column in columns_of_gains(results, cells, unit):
            gains = means_with_intervals([column]).rename(columns={"variant": "first", "mean": "difference"})
            for frame in (gains.assign(second=""), pairwise([column])):
                lines += frame.assign(evaluation=evaluation, epochs=epochs).to_dict("records")
    return pd.DataFrame(lines, columns=GAINS)


def columns_of_gains(results: Run, cells: list[PlannedCell], unit: str) -> Iterator[tuple[float, ScoreColumn]]:
    """Yield each longer pretraining, in epochs, with a column of the gains of all methods that have it."""
    lengths: dict[str, dict[float, str]] = {}  # method -> epochs -> row
    for row in dict.fromkeys(cell.variant for cell in cells):
        role = role_of(results.plan, row)
        lengths.setdefault(role["of"], {})[role["value"]] = row
    if len(lengths) < 2:
        return
    longer = sorted({epochs for rows in lengths.values() for epochs in rows if epochs > min(rows)})
    for column in score_columns(results, cells, [results.plan.headline.curve], unit):
        if column.metric != OVERALL:
            continue
        for epochs in longer:
            rows, seeds = {}, {}
            for method, by_epochs in lengths.items():
                short = by_epochs[min(by_epochs)]
                long = by_epochs.get(epochs, short)
                if long == short or not {short, long} <= column.rows.keys():
                    continue
                rows[method] = difference(column.rows[long], column.rows[short])
                if column.seeds:
                    seeds[method] = column.seeds[long] - column.seeds[short]
            if rows:
                yield epochs, replace(column, rows=rows, seeds=seeds)
