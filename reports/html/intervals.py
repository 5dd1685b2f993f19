"""The intervals of a table's numbers, as text for the cell panel."""

from __future__ import annotations

import pandas as pd

from reports.statistics.interval import LEVEL
from reports.statistics.of_table import Place, TableStatistics


def interval_texts(statistics: TableStatistics | None) -> dict[Place, str]:
    """Ratio, dataset, metric and variant -> '54.9 to 57.2 at 95 %' (percent), for numbers with an interval."""
    if statistics is None or "intervals" not in statistics.frames:
        return {}
    known = statistics.frames["intervals"].dropna(subset=["low", "high"])
    level = f"at {100 * (1 - LEVEL):g} %"
    return {
        (float(ratio), str(dataset), str(metric), str(variant)): f"{_points(low, high)} {level}"
        for ratio, dataset, metric, variant, low, high in _lines(known)
    }


def _lines(known: pd.DataFrame) -> list[tuple[float, str, str, str, float, float]]:
    columns = ["ratio", "dataset", "metric", "variant", "low", "high"]
    return list(known[columns].itertuples(index=False, name=None))


def _points(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f}"
