"""What the statistics of a run can and cannot show, in words for below its tables.

Every sentence follows from the runs at hand: how many seeds there are and what they vary, how many patients were
tested, how large a difference must be to be found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from benchmark.results.metrics import TITLES
from reports.runs.run import Run
from reports.statistics.columns import ScoreColumn
from reports.statistics.interval import LEVEL, Tail

MANY = 1_000_000
TWO_SEEDS = (
    "With two seeds their variance is all but unknown: simulated columns of equal methods hold a false claim in up to "
    "13 % of cases, not in 5 %. Take three or more."
)


def reach(run: Run, columns: Sequence[ScoreColumn], pairs: pd.DataFrame) -> list[str]:
    """Sentences on the runs of one table; `pairs` is `pairwise(columns)`. Empty where there are no runs."""
    if not columns:
        return []
    return [
        _method(run, columns),
        *([_family(columns)] if any(len(column.variants) > 1 for column in columns) else []),
        _seeds(run, columns),
        *_few_seeds(len(columns[0].seeds)),
        *_detectable(pairs),
    ]


def _method(run: Run, columns: Sequence[ScoreColumn]) -> str:
    resamples = columns[0].scores.shape[-1] - 1
    tested = {column.dataset: column.patients for column in columns if column.dataset}
    named = ", ".join(f"{run.plan.datasets[name]['title']} {number}" for name, number in tested.items())
    return (
        f"Intervals: 95 %, from {resamples} resamples of the test patients ({named}) and the variance over seeds; "
        "differences are paired by test patient and by seed."
    )


def _family(columns: Sequence[ScoreColumn]) -> str:
    rows = max(len(column.variants) for column in columns)
    count = rows * (rows - 1) // 2
    return (
        f"A tie is what cannot be told from the best at {100 * LEVEL:g} % after Holm's correction over the {count} "
        f"pair{'s' if count != 1 else ''} of rows in one column at one label ratio. A claim over several columns "
        "has more chances to be false than that; Overall is one column."
    )


def _seeds(run: Run, columns: Sequence[ScoreColumn]) -> str:
    count = len(columns[0].seeds)
    if count == 1:
        return "One seed: the intervals cover the test patients alone, and another seed may reverse any difference."
    if run.plan.config["protocol"] == "strict":
        return (
            f"Each of the {count} seeds has its own pretraining, labelled subset and fine-tuning: the intervals cover "
            "all three, and cannot say which of them a difference comes from."
        )
    several = [len({key for key in keys if key}) > 1 for keys in columns[0].encoders]
    drawn = [run.plan.variants[name] for name, many in zip(columns[0].variants, several, strict=True) if many]
    but = f" ({', '.join(drawn)}: an encoder per seed)" if drawn else ""
    return (
        f"The {count} seeds vary the fine-tuning alone: all share one pretraining per method{but} and one labelled "
        "subset. The intervals do not cover what another pretraining or another subset would give, and a difference is "
        "one between these encoders, not yet between the methods."
    )


def _few_seeds(count: int) -> Iterator[str]:
    """How much wider an interval is for resting on few seeds."""
    if count < 2:
        return
    few, many = Tail(1.0, count, MANY).quantile(LEVEL / 2), Tail(0.0, count, MANY).quantile(LEVEL / 2)
    yield (
        f"{count} seeds leave {count - 1} degree{'s' if count > 2 else ''} of freedom: where the seeds scatter more "
        f"than the patients, a difference must reach {few:.1f} standard errors, not {many:.1f}, to count as one."
    )
    if count == 2:
        yield TWO_SEEDS


def _detectable(pairs: pd.DataFrame) -> Iterator[str]:
    """The difference that half of the pairs would miss no more often than one time in five."""
    known = pairs[pairs["detectable"].gt(0)]
    if known.empty:
        return
    medians = known.groupby("metric", sort=False)["detectable"].median()
    named = ", ".join(f"{TITLES[str(metric)]} {100 * value:.1f}" for metric, value in medians.items())
    yield (
        f"Before that correction, a true difference of this many points would be found in four of five such runs "
        f"(median of the pairs): {named}."
    )
