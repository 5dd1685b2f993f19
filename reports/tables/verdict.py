"""The verdict on a table, in sentences.

It begins with one sentence: which rows beat the reference. The others say which rows differ in Overall, by how
much, which do not, and what it would take. It is made from the statistics alone (`reports.statistics`): a row is above
another where the difference is significant after Holm's correction over all pairs of the column. `reports.figures`
draws the same differences.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from benchmark.results.names import OVERALL
from benchmark.results.store import Plan
from reports.statistics.estimates import LEVEL, MARGIN, MOST_SEEDS, MOST_TIMES, patients_needed, seeds_needed
from reports.statistics.table import Differences, TableStatistics, differences
from reports.tables.words import labels_text, ratio_text, signed

WITHIN = f"within {100 * MARGIN:g} points"
EQUIVALENT = f"equivalent {WITHIN}"
MOST_RATIOS = 3
"""Label ratios with a sentence of their own: the largest."""
Ordered = tuple[str, str]
"""A row, and one significantly below it."""


def verdict(plan: Plan, statistics: TableStatistics | None, unchanged: str = "") -> Iterator[str]:
    """One sentence for all; what is compared, the rows against the reference at each label ratio, the other pairs, and
    what is left open.

    Nothing where no two rows have the scores for a comparison of Overall. unchanged: as in `differences`.
    """
    found = differences(statistics, unchanged)
    if not found or statistics is None:
        return
    pairs = statistics.frames["pairwise"]
    overall = pairs[(pairs["metric"] == OVERALL) & pairs["p_holm"].notna()]
    first = found[0].reference
    seeds = int(overall["seeds"].max()) if len(overall) else 1
    pretrainings = seeds if of_methods(plan, seeds) else 1
    yield headline([own for own in found if own.reference == first], plan.variants, pretrainings)
    yield _scope(plan, first, seeds)
    yield from (sentence(own, plan.variants) for own in [own for own in found if own.reference == first][:MOST_RATIOS])
    for reference in dict.fromkeys(own.reference for own in found if own.reference != first):
        largest = next(own for own in found if own.reference == reference)
        yield f"From {plan.variants[reference]}, {sentence(largest, plan.variants)}"
    yield from _others(overall, found, plan.variants)
    yield from _open(overall, plan.variants)


def headline(found: Sequence[Differences], titles: Mapping[str, str], pretrainings: int) -> str:
    """'With one pretraining each, only PMQ beats Random at both label shares; BYOL falls behind Random at 1 %.'

    found: the differences from one reference, one per label ratio. pretrainings: of each row.
    """
    ratios, reference = [own.ratio for own in found], titles[found[0].reference]
    rows = {row.variant for own in found for row in own.rows}
    above, below = (
        _at_ratios({own.ratio: [row.variant for row in own.rows if row.told and side * row.mean > 0] for own in found})
        for side in (1, -1)
    )
    clauses: list[str] = []
    for there, names in above.items():
        who, one = _who(names, rows, titles)
        verb = f"beat{'s' if one else ''} {reference}" if not clauses else "does" if one else "do"
        only = "only " if not clauses and len(names) == 1 < len(rows) else ""
        clauses.append(f"{only}{who} {verb} {_where(there, ratios)}")
    for there, names in below.items():
        who, one = _who(names, rows, titles)
        verb = f"fall{'s' if one else ''} behind {reference}"
        clauses.append(f"{who} {verb} {_where(there, ratios)}")
    alike = {own.ratio: [row.variant for row in own.rows if row.equivalent and not row.told] for own in found}
    for there, names in _at_ratios(alike).items():
        who, one = _who(names, rows, titles)
        verb = f"{'is' if one else 'are'} {WITHIN} of {reference}"
        clauses.append(f"{who} {verb} {_where(there, ratios)}")
    if not clauses:
        clauses = [f"no row differs significantly from {reference} {_where(tuple(ratios), ratios)}"]
    each = "one pretraining" if pretrainings == 1 else f"{pretrainings} pretrainings"
    return f"With {each} each, {'; '.join(clauses)}."


def _at_ratios(rows: Mapping[float, Sequence[str]]) -> dict[tuple[float, ...], list[str]]:
    """Label ratios -> the rows that are named at just these; those of most ratios first."""
    at: dict[str, list[float]] = {}
    for ratio, names in rows.items():
        for name in names:
            at.setdefault(name, []).append(ratio)
    found: dict[tuple[float, ...], list[str]] = {}
    for name, ratios in sorted(at.items(), key=lambda item: -len(item[1])):
        found.setdefault(tuple(ratios), []).append(name)
    return found


def _who(names: Sequence[str], rows: Collection[str], titles: Mapping[str, str]) -> tuple[str, bool]:
    """'PMQ, MoCo and BYOL', or 'every row', and whether its verb is in the singular."""
    if len(names) == len(rows) > 2:
        return "every row", True
    *others, last = (titles[name] for name in names)
    return " and ".join(filter(None, [", ".join(others), last])), not others


def _where(there: tuple[float, ...], ratios: Sequence[float]) -> str:
    """'at both label shares', 'at all label shares' or 'at 10 %': some of the label ratios of a table."""
    if len(there) == len(ratios) > 1:
        return f"at {'both' if len(ratios) == 2 else 'all'} label shares"
    return f"at {_amounts(there)}" + ("" if len(ratios) > 1 else " of the labels")


def _scope(plan: Plan, reference: str, seeds: int) -> str:
    return (
        f"Overall minus that of {plan.variants[reference]} in points, with {100 * (1 - LEVEL):g} % intervals, not "
        f"adjusted; significant: after Holm's correction over all pairs of rows. {whose_differences(plan, seeds)}"
    )


def of_methods(plan: Plan, seeds: int) -> bool:
    """Whether every seed has its own pretraining, so that differences are of methods."""
    return bool(plan.config["protocol"] == "strict" and seeds > 1)


def whose_differences(plan: Plan, seeds: int) -> str:
    """Whether differences over so many seeds are of methods or of encoders; one sentence."""
    if of_methods(plan, seeds):
        return f"Differences of methods ({seeds} pretrainings each)."
    return "Differences of these encoders (one pretraining each), not of the methods."


def sentence(found: Differences, titles: Mapping[str, str]) -> str:
    """Rows significantly above and below the reference, equivalent to it, and the others; the largest first."""
    order = ("significantly above", "significantly below", EQUIVALENT, "not significantly different")
    groups: dict[str, list[str]] = {what: [] for what in order}
    for row in sorted(found.rows, key=lambda row: -row.mean):
        what = f"significantly {'above' if row.mean > 0 else 'below'}"
        more = f"; {WITHIN}" if row.told and row.equivalent else ""
        text = f"{titles[row.variant]} {points_text(row.mean, row.low, row.high, more)}"
        groups[what if row.told else EQUIVALENT if row.equivalent else "not significantly different"].append(text)
    parts = [f"{what}: {', '.join(own)}" for what, own in groups.items() if own]
    return f"{labels_text(found.ratio)}: {'; '.join(parts)}."


def points_text(mean: float, low: float, high: float, more: str = "") -> str:
    """'+3.1 (1.2 to 5.0)': a difference in points with its interval and what else is said of it; NaN for none."""
    interval = "interval not estimable" if math.isnan(low) else f"{signed(low, '')} to {signed(high, '')}"
    return f"{signed(mean)} ({interval}{more})"


def _others(overall: pd.DataFrame, found: Sequence[Differences], titles: Mapping[str, str]) -> Iterator[str]:
    """Significant pairs without a reference, 'PCLR above MoCo, PMQ (30, 10 %)', and the number of the others."""
    references = {own.reference for own in found}
    pairs = overall[~overall["first"].isin(references) & ~overall["second"].isin(references)]
    if pairs.empty:
        return
    told = pairs[pairs["p_holm"] < LEVEL]
    shares = pairs["ratio"].nunique() > 1
    above = _by_row(told, titles, shares)
    parts = ["; ".join(above)] if above else []
    count, left = (len({frozenset(pair) for pair in own[["first", "second"]].to_numpy()}) for own in (pairs, told))
    same = pairs[(pairs["p_holm"] >= LEVEL) & (pairs["p_equivalent"] < LEVEL)]
    alike = _by_row(same, titles, shares, word="to")
    parts += [f"{EQUIVALENT}: {'; '.join(alike)}"] if alike else []
    parts.append(f"no significant difference in {count - left} of {count} pairs")
    yield f"Among the other rows: {'. '.join([parts[0], *(part[0].upper() + part[1:] for part in parts[1:])])}."


def _by_row(told: pd.DataFrame, titles: Mapping[str, str], shares: bool, word: str = "above") -> list[str]:
    """'PCLR above MoCo, PMQ (30, 10 %)' of significant pairs; the rows and ratios that say most first."""
    found: dict[Ordered, list[float]] = {}
    for pair in told.to_dict("records"):
        found.setdefault(_ordered(pair), []).append(float(pair["ratio"]))
    by_row: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for (above, below), ratios in found.items():
        by_row.setdefault((above, tuple(ratios)), []).append(titles[below])
    return [
        f"{titles[above]} {word} {', '.join(rows)}" + (f" ({_amounts(ratios)})" if shares else "")
        for (above, ratios), rows in sorted(by_row.items(), key=lambda item: -len(item[1]) * len(item[0][1]))
    ]


def _ordered(pair: Mapping[Any, Any]) -> Ordered:
    return (pair["first"], pair["second"]) if pair["difference"] > 0 else (pair["second"], pair["first"])


def _amounts(ratios: Sequence[float]) -> str:
    """'30, 10 %'."""
    *others, last = ratios
    return ", ".join([*(ratio_text(ratio).split()[0] for ratio in others), ratio_text(last)])


def _open(overall: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """The largest difference that is not significant, and the seeds or patients that it would take."""
    undecided = overall[(overall["p_holm"] >= LEVEL) & (overall["detectable"] > 0)].to_dict("records")
    if not undecided:
        return
    pair = max(undecided, key=lambda line: abs(line["difference"]))
    above, below = _ordered(pair)
    yield (
        f"Largest difference that is not significant: {titles[above]} above {titles[below]} by "
        f"{100 * abs(pair['difference']):.1f} points at {labels_text(pair['ratio'])}. "
        f"{_what_it_takes(pair)}"
    )


def _what_it_takes(pair: Mapping[Any, Any]) -> str:
    """The seeds or test patients for power 80 % if the difference of a pair is true."""
    errors = (float(pair["difference"]), pair["patients_se"], pair["seeds_se"])
    more = seeds_needed(*errors, int(pair["seeds"]), pair["freedom"])
    times = patients_needed(*errors, pair["freedom"])
    condition = "(if it is true; power 80 %, without Holm's correction)"
    if times == 1:
        return f"Enough for one comparison alone, not for all pairs {condition}."
    ways = [*([f"{more} seeds"] if more else []), *([f"{times} times the test patients"] if times else [])]
    if not ways:
        return f"Neither {MOST_SEEDS} seeds nor {MOST_TIMES} times the test patients alone would show it {condition}."
    return f"It would take {' or '.join(ways)} {condition}."
