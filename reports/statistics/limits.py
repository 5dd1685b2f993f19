"""Sentences on the limits of a table's statistics, for its footers and details.

They depend on the number of seeds and what these vary, the number of test patients and the detectable difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from benchmark.results.metrics import TITLES
from reports.runs.run import Run
from reports.statistics.columns import ScoreColumn
from reports.statistics.interval import LEVEL, Tail

MANY = 1_000_000
TWO_SEEDS = "With two seeds, up to 13 % of simulated columns of equal methods had a false rejection, instead of 5 %."
ENCODERS = "With one pretraining per method, a difference is between these encoders and need not hold for the methods."


def reach(run: Run, columns: Sequence[ScoreColumn], pairs: pd.DataFrame) -> list[str]:
    """Footers of one table; `pairs` is `pairwise(columns)`. Empty without columns."""
    if not columns:
        return []
    return [_patients(run, columns), *_family(columns), _seeds(run, columns), *_detectable(pairs)]


def method(run: Run, columns: Sequence[ScoreColumn]) -> list[str]:
    """Details of one table: how its statistics were computed, and what they leave out. Empty without columns."""
    if not columns:
        return []
    count = len(columns[0].seeds)
    shared = count > 1 and run.plan.config["protocol"] != "strict"
    resamples = columns[0].scores.shape[-1] - 1
    return [
        f"Intervals: {100 * (1 - LEVEL):g} %, from {resamples} resamples of the test patients and the variance over "
        "seeds; differences are paired by test patient and by seed.",
        "Holm's correction is within each column (Overall is one); conclusions from several columns are not corrected.",
        *([ENCODERS] if shared else []),
        *_few_seeds(count),
    ]


def _patients(run: Run, columns: Sequence[ScoreColumn]) -> str:
    tested = {column.dataset: column.patients for column in columns if column.dataset}
    named = ", ".join(f"{run.plan.datasets[name]['title']} {number}" for name, number in tested.items())
    return f"Test patients: {named}."


def _family(columns: Sequence[ScoreColumn]) -> Iterator[str]:
    """What ≈ means, where two rows or more compete."""
    rows = max(len(column.variants) for column in columns)
    count = rows * (rows - 1) // 2
    if count:
        pairs = f"{count} pair{'s' if count != 1 else ''}"
        yield (
            f"≈: not significantly different from the best (level {100 * LEVEL:g} %, Holm's correction over {pairs} of "
            "rows per column)."
        )


def _seeds(run: Run, columns: Sequence[ScoreColumn]) -> str:
    count = len(columns[0].seeds)
    few = " Two seeds are too few to estimate a variance: use three or more." if count == 2 else ""
    if count == 1:
        return "One seed: the intervals cover the test patients alone; another seed may reverse any difference."
    if run.plan.config["protocol"] == "strict":
        return (
            f"{count} seeds, each with its own pretraining, labelled subset and fine-tuning: the intervals cover the "
            f"variation of all three.{few}"
        )
    several = [len({key for key in keys if key}) > 1 for keys in columns[0].encoders]
    drawn = [run.plan.variants[name] for name, many in zip(columns[0].variants, several, strict=True) if many]
    but = f" ({', '.join(drawn)}: one per seed)" if drawn else ""
    return (
        f"{count} seeds of fine-tuning on one pretraining per method{but} and one labelled subset: the intervals do "
        f"not cover the variation between pretrainings or subsets.{few}"
    )


def _few_seeds(count: int) -> Iterator[str]:
    """How much few seeds widen an interval."""
    if count < 2:
        return
    few, many = Tail(1.0, count, MANY).quantile(LEVEL / 2), Tail(0.0, count, MANY).quantile(LEVEL / 2)
    yield (
        f"{count} seeds leave {count - 1} degree{'s' if count > 2 else ''} of freedom: where the variance over seeds "
        f"dominates, a difference is significant from {few:.1f} standard errors, instead of {many:.1f}."
    )
    if count == 2:
        yield TWO_SEEDS


def _detectable(pairs: pd.DataFrame) -> Iterator[str]:
    """Median over the pairs of the difference detectable with power 80 %, per metric in points."""
    known = pairs[pairs["detectable"].gt(0)]
    if known.empty:
        return
    medians = known.groupby("metric", sort=False)["detectable"].median()
    named = ", ".join(f"{TITLES[str(metric)]} {100 * value:.1f}" for metric, value in medians.items())
    yield f"Detectable difference in points (power 80 %, without Holm's correction, median of the pairs): {named}."
