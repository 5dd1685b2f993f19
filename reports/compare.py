"""Compares two runs: differences in settings and in each number.

A number is a mean over the seeds that both runs have, or over a run's own where they share none; a cell is equal when
its scores and predictions are bit-identical. No differences are tested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pandas as pd

from benchmark.results.files import csv_text, write_atomic
from benchmark.results.metrics import COLUMNS, METRICS
from benchmark.results.names import EVALUATION_TITLES, UNIT_OF_PROTOCOL
from benchmark.results.schema import flat
from benchmark.results.store import ARRAYS, PlannedCell
from reports.archive import portable
from reports.load import config_differences, incompatible, load, shown
from reports.results import Results, coordinates, mean_over_subsets
from reports.tables.render import DASH, Sheet, literal, pipe_table, spread_text
from reports.tables.words import ratio_text

Place = tuple[Any, ...]
"""Coordinates of a cell."""
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
        """Second minus first, in points; None where a run does not have the number."""
        return None if self.first is None or self.second is None else self.second.mean - self.first.mean

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
    reasons: Sequence[str]
    """Why the two are not comparable; empty where they are."""
    cells: Mapping[str, int]
    """Number of cells: in both, equal to the bit, only in the first, only in the second."""
    pairs: tuple[Pair, ...]
    """Largest difference first, then those that only one run has."""


def compare(first: Results, second: Results, unit: str | None = None) -> Comparison:
    """Compare two runs in one score unit ('heartbeat', 'recording'), by default that of the first one's protocol."""
    unit = unit or UNIT_OF_PROTOCOL[first.plan.config["protocol"]]
    one, two = _finished_cells(first), _finished_cells(second)
    both = [place for place in one if place in two]
    equal = {place for place in both if same_outcome(first, one[place].key, second, two[place].key)}
    return Comparison(
        names=(portable(first.name), portable(second.name)),
        unit=unit,
        settings=tuple(_settings(first, second)),
        reasons=incompatible(second, first),
        cells={
            "in both": len(both),
            "equal to the bit": len(equal),
            "only in A": len(one) - len(both),
            "only in B": len(two) - len(both),
        },
        pairs=tuple(sorted(_pairs(first, second, unit, equal), key=_rank)),
    )


def same_outcome(one: Results, key: str, other: Results, other_key: str) -> bool:
    """Whether two finished cells have bit-identical scores and predictions; times and machines may differ."""
    first, second = one.rows[key], other.rows[other_key]
    if (first.scores, first.undefined) != (second.scores, second.undefined):
        return False
    pair = one.predictions(key), other.predictions(other_key)
    arrays = ([getattr(predictions, name) for name in ARRAYS] for predictions in pair)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(*arrays, strict=True))


def size_text(facts: Mapping[str, Any]) -> str:
    """How many recordings a dataset has, and its fingerprint."""
    count = f"{facts.get('recordings')} recordings"
    return f"{count}, fingerprint {facts['fingerprint']}" if facts.get("fingerprint") else count


def _finished_cells(run: Results) -> dict[Place, PlannedCell]:
    """The finished cells by place."""
    return {coordinates(cell): cell for cell in run.plan.cells if cell.key in run.rows}


def _settings(first: Results, second: Results) -> Iterator[tuple[str, str, str]]:
    """Config keys that differ, then data, then provenance."""
    for key, own, others in config_differences(first.plan, second.plan):
        yield key, shown(own), shown(others)
    one, two = _facts(first), _facts(second)
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield name, one.get(name, "none"), two.get(name, "none")


def _facts(run: Results) -> dict[str, str]:
    """Data and provenance of the rows, by name; several values of a name are joined."""
    facts = {f"data of {name}": size_text(source) for name, source in run.plan.datasets.items()}
    facts["data of the pretraining corpus"] = size_text(run.plan.pretraining)
    computed: dict[str, set[str]] = {}
    for row in run.rows.values():
        compared = {name: value for name, value in row.provenance.items() if name not in NOT_COMPARED}
        for name, value in flat(portable(compared), "computed with ").items():
            computed.setdefault(name, set()).add(shown(value))
    return facts | {name: ", ".join(sorted(values)) for name, values in sorted(computed.items())}


def _pairs(first: Results, second: Results, unit: str, equal: set[Place]) -> Iterator[Pair]:
    """Every number of either run, in the order of the first's plan."""
    plans = (second.plan, first.plan)
    methods = {variant: title for plan in plans for variant, title in plan.variants.items()}
    corpora = {
        dataset: str(facts.get("title") or dataset) for plan in plans for dataset, facts in plan.datasets.items()
    }
    unequal = {place[:-1] for place in _finished_cells(first) if place not in equal}
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
            equal=sum((variant, evaluation, dataset, ratio, seed) not in unequal for seed in shared),
        )


def _scores(run: Results, unit: str) -> dict[tuple[Any, ...], dict[int, float]]:
    """(evaluation, variant, ratio, dataset, metric) -> seed -> score in percent, where it is defined."""
    frame: pd.DataFrame = mean_over_subsets(run.scores)
    scored = frame[(frame["unit"] == unit) & frame["metric"].isin(list(COLUMNS))].dropna(subset=["value"])
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    names = ["evaluation", "variant", "ratio", "dataset", "metric", "seed", "value"]
    for *where, seed, value in scored[names].itertuples(index=False):
        found.setdefault(tuple(where), {})[seed] = 100 * value
    return found


def _side(scores: Mapping[int, float], shared: Collection[int]) -> Side | None:
    if not scores:
        return None
    seeds = tuple(sorted(shared or scores))
    values = [scores[seed] for seed in seeds]
    return Side(fmean(values), stdev(values) if len(values) > 1 else None, seeds)


def _rank(pair: Pair) -> tuple[bool, float]:
    return pair.difference is None, -abs(pair.difference or 0.0)


ON_TERMINAL = 20
"""Numbers shown on a terminal; the files have all."""
CSV_HEADER = (
    "evaluation", "unit", "ratio", "variant", "dataset", "metric", "a_mean", "a_std", "a_seeds", "b_mean", "b_std",
    "b_seeds", "difference", "equal_cells",
)  # fmt: skip


def compare_results(
    first: str, second: str, out: Path, *, unit: str | None = None
) -> tuple[Comparison, list[Path], list[str]]:
    """Compare two runs, named as in reports.load, and write compare.md and compare.csv under `out`.

    unit: 'heartbeat' or 'recording'; by default that of the first run's protocol. Returns the comparison, its files,
    and messages on the sources' other runs and left-out rows, one line each. Raises NoResults.
    """
    one, two = load(first), load(second)
    found = compare(one, two, unit)
    messages = list(dict.fromkeys([*one.messages, *two.messages]))
    files = [out / "compare.md", out / "compare.csv"]
    for file, text in zip(files, (markdown(found), long_csv(found)), strict=True):
        write_atomic(file, text.encode())
    return found, files, messages


def markdown(found: Comparison) -> str:
    """Summary, settings that differ, and the numbers of both runs whose cells are not all equal to the bit."""
    parts = ["# Two runs compared", "\n".join(f"- {literal(text)}" for text in words(found))]
    if found.settings:
        rows = [[literal(cell) for cell in row] for row in found.settings]
        parts += ["## Settings that differ", pipe_table(["Setting", "A", "B"], rows)]
    rows = [
        [
            literal(pair.method), EVALUATION_TITLES.get(pair.evaluation, pair.evaluation), literal(pair.corpus),
            ratio_text(pair.ratio), METRICS[pair.metric].title,
            side_text(pair.first), side_text(pair.second),
            difference_text(pair), _equal_text(pair),
        ]
        for pair in differing(found)
    ]  # fmt: skip
    if rows:
        header = ["Method", "Evaluation", "Dataset", "Labels", "Metric", "A", "B", "B − A", "Equal cells"]
        parts += ["## Numbers, the largest difference first", pipe_table(header, rows)]
    return "\n\n".join(parts) + "\n"


def differing(found: Comparison) -> list[Pair]:
    """The numbers of both runs whose cells are not all equal to the bit."""
    return [pair for pair in found.pairs if pair.difference is not None and not pair.same]


def words(found: Comparison) -> Iterator[str]:
    """The runs, and how many of their cells and numbers agree, one line each."""
    yield f"A: {found.names[0]}"
    yield f"B: {found.names[1]}"
    counts = ", ".join(f"{number} {what}" for what, number in found.cells.items())
    yield f"Finished cells: {counts}. Equal: the same scores and predictions to the bit."
    yield f"Numbers: percent, scored per {found.unit}, mean±std over the seeds that both runs have."
    both = [pair for pair in found.pairs if pair.difference is not None]
    same = sum(pair.same for pair in both)
    yield f"{same} of {len(both)} numbers have equal cells only and are left out below."
    yield from alone("A", [pair for pair in found.pairs if pair.second is None])
    yield from alone("B", [pair for pair in found.pairs if pair.first is None])
    if found.reasons:
        yield f"The two are not comparable in one table: in B {'; '.join(found.reasons)}."


def alone(name: str, pairs: Sequence[Pair]) -> Iterator[str]:
    """What only one of the runs has, in one line; nothing where the other has all of it."""
    if pairs:
        by_ratio = sorted(pairs, key=lambda pair: -pair.ratio)
        kinds = {
            "methods": [pair.method for pair in pairs],
            "datasets": [pair.corpus for pair in pairs],
            "labels": [ratio_text(pair.ratio) for pair in by_ratio],
            "evaluations": [EVALUATION_TITLES.get(pair.evaluation, pair.evaluation) for pair in pairs],
        }
        places = "; ".join(f"{kind} {', '.join(dict.fromkeys(names))}" for kind, names in kinds.items())
        yield f"{len(pairs)} numbers are in {name} alone, left out below, and in compare.csv: {places}."


def side_text(side: Side | None) -> str:
    """'70.1±0.8', or a dash where there is no number."""
    if side is None:
        return DASH
    return f"{side.mean:z.1f}{spread_text(side.std)}"


def difference_text(pair: Pair) -> str:
    """'+1.2', or a dash."""
    return DASH if pair.difference is None else f"{pair.difference:+z.1f}"


def _equal_text(pair: Pair) -> str:
    """'1 of 2': how many cells of a number are equal to the bit."""
    return f"{pair.equal} of {max(len(side.seeds) for side in (pair.first, pair.second) if side)}"


def long_csv(found: Comparison) -> str:
    """One line per number that either run has, in percent, unrounded."""
    return csv_text(CSV_HEADER, (_csv_line(pair, found.unit) for pair in found.pairs))


def _csv_line(pair: Pair, unit: str) -> tuple[object, ...]:
    place = (pair.evaluation, unit, pair.ratio, pair.variant, pair.dataset, pair.metric)
    sides = [
        ("", "", "") if side is None else (side.mean, side.std, " ".join(map(str, side.seeds)))
        for side in (pair.first, pair.second)
    ]
    return (*place, *sides[0], *sides[1], pair.difference, pair.equal)


def comparison_sheet(found: Comparison) -> Sheet:
    """Summary, settings that differ and the largest differences."""
    settings = [f"{name}: {one} in A, {two} in B" for name, one, two in found.settings]
    rows = differing(found)
    more = len(rows) - ON_TERMINAL
    return Sheet(
        above=(("Two runs compared", "title"), *((text, "faint") for text in [*words(found), *settings])),
        columns=(("", "Number", "label"), ("", "A", "right"), ("", "B", "right"), ("", "B − A", "right")),
        blocks=(tuple(tuple([(text, "")] for text in _pair_cells(pair)) for pair in rows[:ON_TERMINAL]),),
        below=((f"and {more} more in compare.md", "faint"),) if more > 0 else (),
    )


def _pair_cells(pair: Pair) -> tuple[str, ...]:
    how = EVALUATION_TITLES.get(pair.evaluation, pair.evaluation).lower()
    label = f"{pair.method}, {pair.corpus} {ratio_text(pair.ratio)}, {METRICS[pair.metric].title}, {how}"
    return label, side_text(pair.first), side_text(pair.second), difference_text(pair)
