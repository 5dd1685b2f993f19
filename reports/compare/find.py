"""Compares two runs: differences in settings and in each number.

A number is a mean over the seeds that both runs have, or over a run's own where they share none; a cell is equal when
its scores and predictions are bit-identical. No differences are tested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import pandas as pd

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import UNIT_OF_PROTOCOL
from benchmark.results.plan import PlannedCell
from reports.runs.compatible import config_differences, flat, same_outcome, shown, size_text, why_not
from reports.runs.merge import Place, place_of
from reports.runs.run import Run
from reports.runs.scrub_paths import portable

NOT_COMPARED = ("config", "data", "key_content")
"""Parts of a row's provenance that are compared by other means."""


@dataclass(frozen=True)
class Side:
    """One run's number, in percent."""

    mean: float
    std: float | None
    """With ddof = 1; None for a single seed."""
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """One number of both runs; None where a run does not have it."""

    evaluation: str
    variant: str
    method: str
    """Title of the variant."""
    ratio: float
    dataset: str
    corpus: str
    """Title of the dataset."""
    metric: str
    first: Side | None
    second: Side | None
    equal: int
    """Seeds whose cells are equal to the bit."""

    @property
    def difference(self) -> float | None:
        """Second minus first, in points."""
        return None if self.first is None or self.second is None else self.second.mean - self.first.mean

    @property
    def shared(self) -> bool:
        """Both runs have the number."""
        return self.first is not None and self.second is not None

    @property
    def same(self) -> bool:
        """Both numbers rest on the same seeds, and all their cells are equal to the bit."""
        if self.first is None or self.second is None:
            return False
        return self.first.seeds == self.second.seeds and self.equal == len(self.first.seeds)


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs, A (first) and B (second)."""

    names: tuple[str, str]
    unit: str
    settings: tuple[tuple[str, str, str], ...]
    """Those that differ: name, value in the first, in the second."""
    reasons: tuple[str, ...]
    """Why the two are not comparable; empty where they are."""
    cells: Mapping[str, int]
    """Number of cells: in both, equal to the bit, only in the first, only in the second."""
    pairs: tuple[Pair, ...]
    """Largest difference first, then those that only one run has."""


def compare(first: Run, second: Run, unit: str | None = None) -> Comparison:
    """Compare two runs in one score unit ('heartbeat', 'recording'), by default that of the first one's protocol."""
    unit = unit or UNIT_OF_PROTOCOL[first.plan.config["protocol"]]
    one, two = _cells(first), _cells(second)
    both = [place for place in one if place in two]
    equal = {place for place in both if same_outcome(first, one[place].key, second, two[place].key)}
    return Comparison(
        names=(portable(first.name), portable(second.name)),
        unit=unit,
        settings=tuple(_settings(first, second)),
        reasons=why_not(second, first),
        cells={
            "in both": len(both),
            "equal to the bit": len(equal),
            "only in A": len(one) - len(both),
            "only in B": len(two) - len(both),
        },
        pairs=tuple(sorted(_pairs(first, second, unit, equal), key=_rank)),
    )


def _cells(run: Run) -> dict[Place, PlannedCell]:
    """The finished cells by place."""
    return {place_of(cell): cell for cell in run.plan.cells if cell.key in run.rows}


def _settings(first: Run, second: Run) -> Iterator[tuple[str, str, str]]:
    """Config keys that differ, then data, then provenance."""
    for key, own, others in config_differences(first.plan, second.plan):
        yield key, shown(own), shown(others)
    one, two = _facts(first), _facts(second)
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield name, one.get(name, "none"), two.get(name, "none")


def _facts(run: Run) -> dict[str, str]:
    """Data and provenance of the rows, by name; several values of a name are joined."""
    plan = run.plan
    facts = {f"data of {name}": size_text(found) for name, found in plan.datasets.items()}
    facts["data of the pretraining corpus"] = size_text(plan.pretraining)
    computed: dict[str, set[str]] = {}
    for row in run.rows.values():
        told = {name: value for name, value in row.provenance.items() if name not in NOT_COMPARED}
        for name, value in flat(portable(told)).items():
            computed.setdefault(f"computed with {name}", set()).add(shown(value))
    return facts | {name: ", ".join(sorted(values)) for name, values in sorted(computed.items())}


def _pairs(first: Run, second: Run, unit: str, equal: set[Place]) -> Iterator[Pair]:
    """Every number of either run, in the order of the first's plan."""
    plans = (second.plan, first.plan)
    methods = {variant: title for plan in plans for variant, title in plan.variants.items()}
    corpora = {
        dataset: str(facts.get("title") or dataset) for plan in plans for dataset, facts in plan.datasets.items()
    }
    one, two = _scores(first, unit), _scores(second, unit)
    for where in dict.fromkeys([*one, *two]):
        evaluation, variant, ratio, dataset, metric = where
        own, others = one.get(where, {}), two.get(where, {})
        shared = own.keys() & others.keys()
        yield Pair(
            evaluation,
            variant,
            methods[variant],
            ratio,
            dataset,
            corpora[dataset],
            metric,
            first=_side(own, shared),
            second=_side(others, shared),
            equal=sum((evaluation, variant, dataset, ratio, seed) in equal for seed in shared),
        )


def _scores(run: Run, unit: str) -> dict[tuple[Any, ...], dict[int, float]]:
    """(evaluation, variant, ratio, dataset, metric) -> seed -> score in percent, where it is defined."""
    frame: pd.DataFrame = run.tidy
    scored = frame[(frame["unit"] == unit) & frame["metric"].isin(list(COLUMNS))].dropna(subset=["value"])
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    names = ["evaluation", "variant", "ratio", "dataset", "metric", "seed", "value"]
    for *where, seed, value in scored[names].itertuples(index=False):
        found.setdefault(tuple(where), {})[seed] = 100 * value
    return found


def _side(scores: Mapping[int, float], shared: Collection[int]) -> Side | None:
    seeds = tuple(sorted(shared or scores))
    if not seeds or not scores:
        return None
    values = [scores[seed] for seed in seeds]
    return Side(fmean(values), stdev(values) if len(values) > 1 else None, seeds)


def _rank(pair: Pair) -> tuple[bool, float]:
    return pair.difference is None, -abs(pair.difference or 0.0)
