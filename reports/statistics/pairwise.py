"""Intervals of all rows of a table, their paired differences with Holm's correction, and ties with the best.

A family of tests is all pairs of rows in one column at one label ratio, or those of them that are asked for. Holm
(1979, "A simple sequentially rejective multiple test procedure") bounds the probability of any false rejection in that
family, not over several columns. test_calibration.py simulates false rejections and power.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.metrics import METRICS
from reports.statistics.another_run.repeat import chance_of_repeat
from reports.statistics.columns import ScoreColumn
from reports.statistics.interval import LEVEL, estimate
from reports.statistics.test_set import Floats

PLACE = ["unit", "ratio", "dataset", "metric"]
INTERVAL = [*PLACE, "variant", "mean", "low", "high", "patients_se", "seeds_se", "seeds", "remark"]
PAIR = [
    *PLACE, "first", "second", "difference", "low", "high", "p", "p_holm", "probability_of_improvement",
    "patients_se", "seeds_se", "seeds", "detectable", "repeat", "remark",
]  # fmt: skip


def intervals(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """One line per variant of each column, with the columns `INTERVAL`; mean, low, high and errors in [0, 1]."""
    lines = []
    for column in columns:
        for variant, scores in zip(column.variants, column.scores, strict=True):
            found = asdict(estimate(scores, column.patients))
            found |= {name: float(np.clip(found[name], 0, 1)) for name in ("low", "high")}
            lines.append(_place(column) | {"variant": variant} | found)
    return pd.DataFrame(lines, columns=INTERVAL)


def pairwise(columns: Sequence[ScoreColumn], asked: Collection[tuple[str, str]] | None = None) -> pd.DataFrame:
    """One line per pair of variants of each column, or per pair that is asked for, with the columns `PAIR`.

    difference: first minus second over shared seeds, in [-1, 1]; low and high are not adjusted. p_holm: adjusted within
    the column at its ratio. probability_of_improvement: share of (seed, resample) with the first ahead, ties half.
    repeat: `chance_of_repeat` of a significant difference, else NaN.
    """
    return pd.DataFrame([line for column in columns for line in _pairs(column, asked)], columns=PAIR)


def _pairs(column: ScoreColumn, asked: Collection[tuple[str, str]] | None) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    scores = dict(zip(column.variants, column.scores, strict=True))
    pairs = combinations(scores, 2) if asked is None else [pair for pair in asked if scores.keys() >= set(pair)]
    for first, second in pairs:
        one, other = scores[first], scores[second]
        difference = one - other  # (S, 1+R)
        found = asdict(estimate(difference, column.patients))
        found["difference"] = found.pop("mean")
        found["probability_of_improvement"] = _share_ahead(difference[:, 1:])
        if 0 < found["seeds"] < len(column.seeds):
            both = f"over the {found['seeds']} of {len(column.seeds)} seeds that both have"
            found["remark"] = "; ".join(filter(None, [both, found["remark"]]))
        lines.append(_place(column) | {"first": first, "second": second} | found)
    adjusted = holm(np.array([line["p"] for line in lines]))
    lines = [line | {"p_holm": p} for line, p in zip(lines, adjusted, strict=True)]
    return [line | {"repeat": _repeat(line, column.patients)} for line in lines]


def _repeat(line: Mapping[str, Any], patients: int) -> float:
    """The chance that a repeat finds the pair again; NaN where it is not significant."""
    if not line["p_holm"] < LEVEL:
        return float("nan")
    errors = (line["patients_se"], line["seeds_se"], line["seeds"])
    share = line["p"] / line["p_holm"] if line["p"] else 1.0
    return chance_of_repeat(line["difference"], *errors, patients, share=share)


def _place(column: ScoreColumn) -> dict[str, object]:
    return {name: getattr(column, name) for name in PLACE}


def _share_ahead(difference: Floats) -> float:
    """Share of (S, R) differences above zero, ties half; NaN where none is defined."""
    defined = difference[np.isfinite(difference)]
    return float((defined > 0).mean() + (defined == 0).mean() / 2) if len(defined) else float("nan")


def holm(p: Floats) -> Floats:
    """Holm's adjusted (n,) p values of one family; NaN stays NaN and does not count."""
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def ties(cells: pd.DataFrame, pairs: pd.DataFrame, level: float = LEVEL) -> pd.DataFrame:
    """The lines of `intervals` with two more columns, `best` and `tie`, decided within each column and ratio.

    best: the highest mean, or the lowest where lower is better. tie: another variant without p_holm below `level`
    against a best one. A variant without a score is neither; nothing is best where only one variant has a score.
    """
    lower = cells["metric"].isin([name for name, metric in METRICS.items() if metric.lower_is_better])
    signed = cells.assign(mean=cells["mean"].where(~lower, -cells["mean"]))
    top = signed.groupby(PLACE)["mean"].transform("max")
    rivals = cells.groupby(PLACE)["mean"].transform("count")
    best = (signed["mean"] == top) & (rivals > 1)
    leaders = {tuple(line) for line in cells.loc[best, [*PLACE, "variant"]].itertuples(index=False)}
    told = pairs.loc[pairs["p_holm"] < level, [*PLACE, "first", "second"]] if len(pairs) else pairs
    behind = set[tuple[object, ...]]()
    for *place, first, second in told.itertuples(index=False):
        behind |= {(*place, second)} if (*place, first) in leaders else set()
        behind |= {(*place, first)} if (*place, second) in leaders else set()
    told_from_best = [tuple(line) in behind for line in cells[[*PLACE, "variant"]].itertuples(index=False)]
    tie = ~best & cells["mean"].notna() & (rivals > 1) & ~np.array(told_from_best, dtype=bool)
    return cells.assign(best=best, tie=tie)
