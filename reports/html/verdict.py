"""The page's first lines: which rows of its first table differ from the reference row, in one sentence per label ratio.

`reports.figures` draws the same differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from benchmark.results.plan import Plan
from reports.statistics.differences import Difference, Differences, differences
from reports.statistics.interval import LEVEL
from reports.statistics.of_table import TableStatistics
from reports.tables.captions import ratio_text
from reports.tables.table import Table

NOTHING = "No two rows have the scores for a comparison of Overall."


def verdict(plan: Plan, tables: Sequence[Table], statistics: Mapping[str, TableStatistics]) -> Iterator[str]:
    """What is compared, then a sentence per label ratio of the first table."""
    found = differences(statistics.get(tables[0].name)) if tables else []
    if not found:
        yield NOTHING
        return
    yield (
        f"{tables[0].title}: Overall of each row minus that of {plan.variants[found[0].reference]}, in points, with "
        f"{100 * (1 - LEVEL):g} % intervals."
    )
    yield from (sentence(own, plan.variants) for own in found)


def sentence(found: Differences, titles: Mapping[str, str]) -> str:
    """Rows significantly above and below the reference, then the others; the largest difference first."""
    rows = sorted(found.rows, key=lambda row: -row.mean)
    groups = {
        "significantly above": [row for row in rows if row.told and row.mean > 0],
        "significantly below": [row for row in rows if row.told and row.mean <= 0],
        "not significantly different": [row for row in rows if not row.told],
    }
    parts = [f"{what}: {', '.join(_text(row, titles) for row in own)}" for what, own in groups.items() if own]
    return f"{ratio_text(found.ratio)} of the labels: {'; '.join(parts)}."


def _text(row: Difference, titles: Mapping[str, str]) -> str:
    """'PMQ +3.1 (1.2 to 5.0)'."""
    interval = "no interval" if math.isnan(row.low) else f"{_points(row.low)} to {_points(row.high)}"
    return f"{titles[row.variant]} {_points(row.mean, '+')} ({interval})"


def _points(value: float, sign: str = "") -> str:
    return f"{round(value, 1) + 0.0:{sign}.1f}".replace("-", "−")
