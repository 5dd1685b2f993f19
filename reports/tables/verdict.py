"""The sentences above a table: which rows differ in Overall, by how much, which do not, and what it would take.

Made from the statistics alone (`reports.statistics`): a row is above another where the difference is significant after
Holm's correction over all pairs of the column. Where every seed has its own pretraining, those that a repeat with other
seeds is expected to find are told from those that it may miss. `reports.figures` draws the same differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from benchmark.results.names import OVERALL
from benchmark.results.plan import Plan
from reports.statistics.another_run.needed import MOST_SEEDS, MOST_TIMES, patients_needed, seeds_needed
from reports.statistics.another_run.repeat import EXPECTED
from reports.statistics.differences import Difference, Differences, differences
from reports.statistics.interval import LEVEL
from reports.statistics.of_table import TableStatistics
from reports.tables.captions import labels_text, ratio_text

MOST_RATIOS = 3
"""Label ratios with a sentence of their own: the largest."""
Ordered = tuple[str, str]
"""A row, and one significantly below it."""


def verdict(plan: Plan, statistics: TableStatistics | None, evaluation: str = "", unchanged: str = "") -> Iterator[str]:
    """What is compared, the rows against the reference at each label ratio, the other pairs, and what is left open.

    Nothing where no two rows have the scores for a comparison of Overall. unchanged: as in `differences`.
    """
    found = differences(statistics, unchanged)
    if not found or statistics is None:
        return
    pairs = statistics.frames["pairwise"]
    overall = pairs[(pairs["metric"] == OVERALL) & pairs["p_holm"].notna()]
    first = found[0].reference
    seeds = int(overall["seeds"].max()) if len(overall) else 1
    again = of_methods(plan, seeds)
    yield _scope(plan, first, seeds)
    yield from (
        sentence(own, plan.variants, evaluation, again)
        for own in [own for own in found if own.reference == first][:MOST_RATIOS]
    )
    for reference in dict.fromkeys(own.reference for own in found if own.reference != first):
        largest = next(own for own in found if own.reference == reference)
        yield f"From {plan.variants[reference]}, {sentence(largest, plan.variants, evaluation, again)}"
    yield from _others(overall, found, plan.variants, evaluation, again)
    yield from _open(overall, plan.variants, evaluation)


def _scope(plan: Plan, reference: str, seeds: int) -> str:
    repeat = (
        f" Expected again: other {seeds} seeds on the same test patients would find it significant too, with a chance "
        f"of {100 * EXPECTED:g} % or more; a lower chance is given."
    )
    return (
        f"Overall minus that of {plan.variants[reference]} in points, with {100 * (1 - LEVEL):g} % intervals, not "
        f"adjusted; significant: after Holm's correction over all pairs of rows. {whose_differences(plan, seeds)}"
        f"{repeat if of_methods(plan, seeds) else ''}"
    )


def of_methods(plan: Plan, seeds: int) -> bool:
    """Whether every seed has its own pretraining: differences are of methods, and a repeat has other pretrainings."""
    return bool(plan.config["protocol"] == "strict" and seeds > 1)


def whose_differences(plan: Plan, seeds: int) -> str:
    """Whether differences over so many seeds are of methods or of encoders; one sentence."""
    if of_methods(plan, seeds):
        return f"Differences of methods ({seeds} pretrainings each)."
    return "Differences of these encoders (one pretraining each), not of the methods."


def sentence(found: Differences, titles: Mapping[str, str], evaluation: str = "", again: bool = False) -> str:
    """Rows significantly above and below the reference, then the others; the largest difference first.

    again: tell those that are expected in a repeat from those that it may miss, these with their chance.
    """
    rows = sorted(found.rows, key=lambda row: -row.mean)
    groups: dict[str, list[str]] = {}
    for side in ("above", "below"):
        own = [row for row in rows if row.told and (row.mean > 0) == (side == "above")]
        unsure = [row for row in own if again and row.repeat < EXPECTED]
        expected = f"significantly {side}, expected again" if again else f"significantly {side}"
        groups[expected] = [_text(row, titles) for row in own if row not in unsure]
        groups[f"significantly {side}, a repeat may miss it"] = [
            _text(row, titles, f"; chance {int(100 * row.repeat)} %") for row in unsure
        ]
    groups["not significantly different"] = [_text(row, titles) for row in rows if not row.told]
    parts = [f"{what}: {', '.join(own)}" for what, own in groups.items() if own]
    return f"{labels_text(found.ratio, evaluation)}: {'; '.join(parts)}."


def _text(row: Difference, titles: Mapping[str, str], more: str = "") -> str:
    return f"{titles[row.variant]} {points_text(row.mean, row.low, row.high, more)}"


def points_text(mean: float, low: float, high: float, more: str = "") -> str:
    """'+3.1 (1.2 to 5.0)': a difference in points with its interval and what else is said of it; NaN for none."""
    interval = "no interval" if math.isnan(low) else f"{_points(low)} to {_points(high)}"
    return f"{_points(mean, '+')} ({interval}{more})"


def _points(value: float, sign: str = "") -> str:
    return f"{round(value, 1) + 0.0:{sign}.1f}".replace("-", "−")


def _others(
    overall: pd.DataFrame, found: Sequence[Differences], titles: Mapping[str, str], evaluation: str, again: bool
) -> Iterator[str]:
    """Significant pairs without a reference, 'PCLR above MoCo, PMQ (30, 10 %)', and the number of the others."""
    references = {own.reference for own in found}
    pairs = overall[~overall["first"].isin(references) & ~overall["second"].isin(references)]
    if pairs.empty:
        return
    told = pairs[pairs["p_holm"] < LEVEL]
    unsure = told["repeat"].lt(EXPECTED) & again
    shares = pairs["ratio"].nunique() > 1
    groups = {
        "expected again: " if again else "": _by_row(told[~unsure], titles, evaluation, shares),
        "a repeat may miss: ": _by_row(told[unsure], titles, evaluation, shares),
    }
    parts = [f"{what}{'; '.join(own)}" for what, own in groups.items() if own]
    count, left = (len({frozenset(pair) for pair in own[["first", "second"]].to_numpy()}) for own in (pairs, told))
    parts.append(f"no significant difference in {count - left} of {count} pairs")
    yield f"Among the other rows: {'. '.join([parts[0], *(part[0].upper() + part[1:] for part in parts[1:])])}."


def _by_row(told: pd.DataFrame, titles: Mapping[str, str], evaluation: str, shares: bool) -> list[str]:
    """'PCLR above MoCo, PMQ (30, 10 %)' of significant pairs; the rows and ratios that say most first."""
    found: dict[Ordered, list[float]] = {}
    for pair in told.to_dict("records"):
        above, below = (pair["first"], pair["second"])[:: 1 if pair["difference"] > 0 else -1]
        found.setdefault((above, below), []).append(float(pair["ratio"]))
    by_row: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for (above, below), ratios in found.items():
        by_row.setdefault((above, tuple(ratios)), []).append(titles[below])
    return [
        f"{titles[above]} above {', '.join(rows)}" + (f" ({_amounts(ratios, evaluation)})" if shares else "")
        for (above, ratios), rows in sorted(by_row.items(), key=lambda item: -len(item[1]) * len(item[0][1]))
    ]


def _amounts(ratios: Sequence[float], evaluation: str) -> str:
    """'30, 10 %' or '10, 5 patients per class'."""
    *others, last = ratios
    return ", ".join([*(ratio_text(ratio, evaluation).split()[0] for ratio in others), ratio_text(last, evaluation)])


def _open(overall: pd.DataFrame, titles: Mapping[str, str], evaluation: str) -> Iterator[str]:
    """The largest difference that is not significant, and the seeds or patients that it would take."""
    undecided = overall[(overall["p_holm"] >= LEVEL) & (overall["detectable"] > 0)].to_dict("records")
    if not undecided:
        return
    pair = max(undecided, key=lambda line: abs(line["difference"]))
    above, below = (pair["first"], pair["second"])[:: 1 if pair["difference"] > 0 else -1]
    yield (
        f"Largest difference that is not significant: {titles[above]} above {titles[below]} by "
        f"{_points(100 * abs(pair['difference']))} points at {labels_text(pair['ratio'], evaluation)}. "
        f"{_what_it_takes(float(pair['difference']), pair['patients_se'], pair['seeds_se'], int(pair['seeds']))}"
    )


def _what_it_takes(difference: float, patients_se: float, seeds_se: float, seeds: int) -> str:
    """The seeds or test patients for power 80 % if the difference is true."""
    more = seeds_needed(difference, patients_se, seeds_se, seeds)
    times = patients_needed(difference, patients_se, seeds_se, seeds)
    condition = "(if it is true; power 80 %, without Holm's correction)"
    if times == 1:
        return f"Enough for one comparison alone, not for all pairs {condition}."
    ways = [*([f"{more} seeds"] if more else []), *([f"{times} times the test patients"] if times else [])]
    if not ways:
        return f"Neither {MOST_SEEDS} seeds nor {MOST_TIMES} times the test patients alone would show it {condition}."
    return f"It would take {' or '.join(ways)} {condition}."
