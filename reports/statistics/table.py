"""The statistics of one table: intervals, paired differences, ties and variance components.

Gates are not tested, so that they enlarge no family of tests. A family is all pairs of rows in one column at one label
ratio, or those of them that are asked for. Holm (1979, "A simple sequentially rejective multiple test procedure")
bounds the probability of any false rejection in that family, not over several columns. test_calibration.py simulates
false rejections and power.

Variance components of a score: test patients, pretraining, labelled subset, fine-tuning (random effects, moments).

The score of run s on the test set is mu + P + r_s + i_s: P the effect of the test patients common to all runs, r_s that
of the run, i_s the interaction of patients and run. Resamples of the patients give var(P) (the covariance of two runs)
and var(i) (the rest of a run's own variance); the variance over runs minus var(i) gives var(r). With several
pretrainings and several runs of one, one-way analysis of variance splits var(r) into pretraining and the rest; with
several fine-tunings on one labelled subset, the rest into subset and fine-tuning. Sources that the runs do not vary, or
vary only together, get a remark.

Differences in Overall are from one reference row. The reference of ablations and of a sweep is the method as it is. Of
the main table it is the untrained encoder where it is compared, else the row with the highest mean Overall; of rows on
a further encoder, the untrained one of that kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.results.metrics import METRICS
from benchmark.results.names import OVERALL, UNTRAINED, is_frozen, name_on
from reports.results import Layout, Results
from reports.statistics.bootstrap import Floats, ScoreColumn, columns_at
from reports.statistics.estimates import (
    LEVEL,
    NOTHING_COMMON,
    bounded,
    common_variance,
    estimate,
    holm,
    method,
    patient_variances,
    reach,
)

PLACE = ["unit", "ratio", "dataset", "metric"]
INTERVAL = [*PLACE, "variant", "mean", "low", "high", "patients_se", "seeds_se", "seeds", "remark"]
PAIR = [
    *PLACE, "first", "second", "difference", "low", "high", "p", "p_holm", "probability_of_improvement",
    "patients_se", "seeds_se", "freedom", "seeds", "detectable", "p_equivalent", "remark",
]  # fmt: skip


def intervals(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """One line per variant of each column, with the columns `INTERVAL`; mean, low, high and errors in [0, 1]."""
    lines = []
    for column in columns:
        for variant, scores in zip(column.variants, column.scores, strict=True):
            found = asdict(estimate(scores, column.patients))
            found |= {name: float(np.clip(found[name], 0, 1)) for name in ("low", "high")}
            lines.append(place_of(column) | {"variant": variant} | found)
    return pd.DataFrame(lines, columns=INTERVAL)


def pairwise(columns: Sequence[ScoreColumn], asked: Collection[tuple[str, str]] | None = None) -> pd.DataFrame:
    """One line per pair of variants of each column, or per pair that is asked for, with the columns `PAIR`.

    difference: first minus second over shared seeds, in [-1, 1]; low and high are not adjusted. seeds_se: moderated by
    all pairs of the column (`reports.statistics.estimates`), with `freedom` degrees of freedom. p_holm: adjusted within
    the column at its ratio. probability_of_improvement: share of (seed, resample) with the first ahead, ties half.
    p_equivalent: of equivalence, adjusted likewise.
    """
    return pd.DataFrame([line for column in columns for line in _pairs(column, asked)], columns=PAIR)


def _pairs(column: ScoreColumn, asked: Collection[tuple[str, str]] | None) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    scores = dict(zip(column.variants, column.scores, strict=True))
    pairs = [*combinations(scores, 2)] if asked is None else [pair for pair in asked if scores.keys() >= set(pair)]
    errors, rows = [seeds_error(scores[first] - scores[second]) for first, second in pairs], len({*sum(pairs, ())})
    whole = len(column.seeds)
    prior = bounded(common_variance(np.array([error for error, seeds in errors if seeds == whole]), whole), whole, rows)
    for (first, second), (_, seeds) in zip(pairs, errors, strict=True):
        difference = scores[first] - scores[second]  # (S, 1+R)
        found = asdict(estimate(difference, column.patients, prior if seeds == whole else NOTHING_COMMON))
        found["difference"] = found.pop("mean")
        found["probability_of_improvement"] = _share_ahead(difference[:, 1:])
        if 0 < found["seeds"] < len(column.seeds):
            both = f"over the {found['seeds']} of {len(column.seeds)} seeds that both have"
            found["remark"] = "; ".join(filter(None, [both, found["remark"]]))
        lines.append(place_of(column) | {"first": first, "second": second} | found)
    p, equivalent = (np.array([line[name] for line in lines]) for name in ("p", "p_equivalent"))
    # A pair whose interval is not estimable stays in the family: a wide one must not make the correction laxer.
    same = np.where(
        np.isfinite(equivalent), holm(np.where(np.isnan(equivalent) & np.isfinite(p), 1.0, equivalent)), np.nan
    )
    adjusted = zip(lines, holm(p), same, strict=True)
    return [line | {"p_holm": one, "p_equivalent": other} for line, one, other in adjusted]


def seeds_error(difference: Floats) -> tuple[float, int]:
    """Standard error over seeds of the mean of (S, 1+R) differences on the test set, and the seeds that have one."""
    seen = difference[np.isfinite(difference[:, 0]), 0]
    return float(seen.std(ddof=1)) / float(np.sqrt(len(seen))) if len(seen) > 1 else np.nan, len(seen)


def place_of(column: ScoreColumn) -> dict[str, Any]:
    """The values of `PLACE` of a column."""
    return {name: getattr(column, name) for name in PLACE}


def _share_ahead(difference: Floats) -> float:
    """Share of (S, R) differences above zero, ties half; NaN where none is defined."""
    defined = difference[np.isfinite(difference)]
    return float((defined > 0).mean() + (defined == 0).mean() / 2) if len(defined) else float("nan")


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


PATIENTS = "test patients"
PATIENTS_OF_ONE_RUN = "test patients, in one run alone"
PRETRAINING, SUBSET, FINE_TUNING = "pretraining", "labelled subset", "fine-tuning"


@dataclass(frozen=True)
class Component:
    """One source of variance, as its standard deviation in a single run's score."""

    source: str
    sd: float
    """In [0, 1]; NaN where it cannot be estimated, with the reason in `remark`."""
    remark: str = ""


def components(columns: Sequence[ScoreColumn], *, strict: bool, frozen: bool) -> pd.DataFrame:
    """One line per source of variance of each variant and column: place, variant, source, sd in [0, 1], remark.

    strict: each seed draws its own labelled subset; otherwise all runs share one. frozen: nothing is fine-tuned.
    Overall and variants without a score are left out.
    """
    varied = ([SUBSET] if strict else []) + ([] if strict and frozen else [FINE_TUNING])
    lines: list[dict[str, object]] = []
    for column in columns:
        for variant, scores, encoders in zip(column.variants, *column.every_run(), strict=True):
            there = np.isfinite(scores[:, 0])  # (S,)
            if not column.dataset or not there.any():
                continue
            whole = there.all() and column.repeats > 1
            repeats = column.repeats if whole else 1
            for part in sources(scores[there], column.patients, encoders[there], varied, repeats):
                lines.append(place_of(column) | {"variant": variant} | asdict(part))
    return pd.DataFrame(lines, columns=[*PLACE, "variant", "source", "sd", "remark"])


def sources(
    scores: Floats, patients: int, encoders: NDArray[np.str_], varied: Sequence[str], repeats: int = 1
) -> Iterator[Component]:
    """The components of (S, 1+R) scores in [0, 1].

    encoders: (S,) keys of the runs' pretrained encoders. varied: what the runs of one encoder vary. repeats:
    fine-tunings on each labelled subset, which are neighbours among the runs.
    """
    defined = scores[:, 1:][:, np.isfinite(scores[:, 1:]).all(axis=0)]  # (S, R)
    if patients < 2 or defined.shape[1] < 2:
        yield _not_estimated(PATIENTS, "one test patient" if patients < 2 else "undefined in the resamples")
        return
    shared, alone = patient_variances(defined, patients)
    yield Component(PATIENTS, float(np.sqrt(shared)))
    if len(scores) == 1:
        pretrained = [PRETRAINING] if encoders[0] else []
        yield from (_not_estimated(source, "one seed") for source in (*pretrained, SUBSET, FINE_TUNING))
        return
    yield Component(PATIENTS_OF_ONE_RUN, float(np.sqrt(alone)))
    if repeats > 1:
        tunings = scores[:, 0].reshape(-1, repeats)  # (S * L, F)
        within = float(tunings.var(axis=1, ddof=1).mean())
        yield _together([FINE_TUNING], within - alone)
        if len(tunings) > 1:
            yield from _of_runs(tunings.mean(axis=1), encoders[::repeats], within / repeats, [SUBSET])
        else:
            yield from (_not_estimated(source, "one seed") for source in (PRETRAINING, SUBSET))
    else:
        yield from _of_runs(scores[:, 0], encoders, alone, varied)
    if SUBSET not in varied:
        yield _not_estimated(SUBSET, "one labelled subset")


def _of_runs(scores: Floats, encoders: NDArray[np.str_], alone: float, varied: Sequence[str]) -> Iterator[Component]:
    """The components of the run; `alone` is the variance within a run, var(i) or that of its fine-tunings."""
    count = len(np.unique(encoders))
    if 1 < count < len(scores):
        between, within = nested_variances(scores, encoders)
        yield Component(PRETRAINING, float(np.sqrt(between)))
        yield _together(varied, within - alone)
    else:
        together = varied if count == 1 else [PRETRAINING, *varied]
        yield _together(together, float(scores.var(ddof=1)) - alone)
    if count == 1 and encoders[0]:
        yield _not_estimated(PRETRAINING, "one pretraining")


def _together(varied: Sequence[str], variance: float) -> Component:
    remark = "cannot be told apart here: each seed changes all of them" if len(varied) > 1 else ""
    return Component(" + ".join(varied), float(np.sqrt(max(0.0, variance))), remark)


def _not_estimated(source: str, reason: str) -> Component:
    return Component(source, np.nan, f"cannot be estimated here: {reason}")


def nested_variances(scores: Floats, group: NDArray[np.str_]) -> tuple[float, float]:
    """Variance between (at least 0) and within groups of (S,) scores, by one-way analysis of variance.

    Needs at least two groups, and fewer groups than scores.
    """
    names, inverse, sizes = np.unique(group, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=scores) / sizes  # (G,)
    within = float(((scores - means[inverse]) ** 2).sum()) / (len(scores) - len(names))
    between = float((sizes * (means - scores.mean()) ** 2).sum()) / (len(names) - 1)
    typical = (len(scores) - (sizes**2).sum() / len(scores)) / (len(names) - 1)
    return max(0.0, (between - within) / float(typical)), within


Place = tuple[float, str, str, str]
"""Ratio, dataset ('' of Overall), metric, variant."""
DIGITS = 6
"""Decimals in a CSV file: further ones differ between processors."""


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table; each frame's first columns are `PLACE`."""

    tied: frozenset[Place] = frozenset()
    """Numbers not significantly different from the best of their column and block."""
    words: tuple[str, ...] = ()
    """Footers."""
    details: tuple[str, ...] = ()
    """How the statistics were computed, for the page."""
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    """'intervals', 'pairwise', 'components'."""


def _tied(frames: Mapping[str, pd.DataFrame]) -> frozenset[Place]:
    if not frames:
        return frozenset()
    marked = frames["intervals"]
    tied = marked.loc[marked["tie"], ["ratio", "dataset", "metric", "variant"]]
    return frozenset((float(r), str(d), str(m), str(v)) for r, d, m, v in tied.itertuples(index=False))


def statistics_of(run: Results, layout: Layout, unit: str) -> TableStatistics:
    """The statistics of a table in one score unit, from the stored predictions. Raises UnequalTestSets."""
    frames: dict[str, list[pd.DataFrame]] = {"intervals": [], "pairwise": [], "components": []}
    outlines: list[ScoreColumn] = []
    details: list[str] = []
    strict, frozen = run.plan.config["protocol"] == "strict", is_frozen(layout.evaluation)
    for ratio in layout.ratios:
        columns = columns_at(run, layout.competing, ratio, unit, metrics=layout.metrics)
        if columns:
            pairs = pairwise(columns)
            frames["intervals"].append(ties(intervals(columns), pairs))
            frames["pairwise"].append(pairs)
            frames["components"].append(components(columns, strict=strict, frozen=frozen))
            outlines += [replace(column, scores=column.scores[..., :1].copy(), runs=None) for column in columns]
            details = details or method(run, columns, pairs)
        del columns  # the resampled scores of one ratio are what has to be in memory at a time
    if not outlines:
        return TableStatistics()
    joined = {what: _joined(own) for what, own in frames.items()}
    footers = reach(run, outlines, joined["pairwise"], frozen=frozen)
    return TableStatistics(_tied(joined), tuple(footers), tuple(details), joined)


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames of equal columns below each other; the empty ones count only where all are."""
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def joined(statistics: Mapping[str, TableStatistics], what: str) -> str:
    """One CSV of the frame `what` of all tables; the first column is the table's name."""
    frames = [found.frames[what].assign(table=name) for name, found in statistics.items() if what in found.frames]
    if not frames:
        return "table\n"
    columns = dict.fromkeys(column for frame in frames for column in frame if column != "table")
    known = [frame.dropna(axis="columns", how="all") for frame in frames]  # pandas warns of columns without a value
    whole = pd.concat(known, ignore_index=True).reindex(columns=["table", *columns])
    return whole.round(DIGITS).to_csv(index=False, lineterminator="\n")


FIGURE = "differences-in-overall"
"""Last part of the name of the figure that draws them, after the table's name."""


@dataclass(frozen=True)
class Difference:
    """A row minus the reference, in points."""

    variant: str
    mean: float
    low: float
    """NaN, as `high`, where there is no interval."""
    high: float
    told: bool
    """Significant after Holm's correction over all pairs of the column."""
    equivalent: bool = False
    """Within `MARGIN` of zero, after the same correction."""


@dataclass(frozen=True)
class Differences:
    """The differences from one reference at one label ratio."""

    ratio: float
    reference: str
    rows: tuple[Difference, ...]
    """In the order of the table, without the reference."""


def differences(statistics: TableStatistics | None, unchanged: str = "") -> list[Differences]:
    """The differences in Overall from each reference at each ratio that has one, in the order of the table.

    unchanged: the row of a method's own settings, if the table is of changes of them (`Layout.unchanged`).
    """
    if statistics is None or "pairwise" not in statistics.frames:
        return []
    intervals, pairs = (statistics.frames[what] for what in ("intervals", "pairwise"))
    scores = intervals[intervals["metric"] == OVERALL].dropna(subset=["mean"])
    own = pairs[pairs["metric"] == OVERALL].dropna(subset=["difference"])
    if not len(own):
        return []
    return [
        Differences(ratio, reference, rows)
        for reference, variants in rows_of_references(scores, own, unchanged).items()
        for ratio in map(float, own["ratio"].unique())
        if (rows := tuple(_from_reference(own[own["ratio"] == ratio], reference, variants)))
    ]


def rows_of_references(scores: pd.DataFrame, pairs: pd.DataFrame, unchanged: str = "") -> dict[str, list[str]]:
    """Reference -> the rows held against it, of the lines of `intervals` and `pairwise`; the first encoder's first."""
    variants = list(dict.fromkeys([*scores["variant"], *pairs["first"], *pairs["second"]]))
    there = set(scores["variant"])
    if unchanged in there:
        return {unchanged: variants}
    first = UNTRAINED
    if first not in there:
        first = str(scores.groupby("variant", sort=False)["mean"].mean().idxmax())
    found: dict[str, list[str]] = {first: []}
    for variant in variants:
        own = name_on(UNTRAINED, variant.partition("+")[2])
        found.setdefault(own if own in variants else first, []).append(variant)
    return found


def in_one_panel(found: list[Differences]) -> list[Differences]:
    """The differences of each ratio together, from all references."""
    ratios = dict.fromkeys(own.ratio for own in found)
    return [
        Differences(ratio, found[0].reference, tuple(row for own in found if own.ratio == ratio for row in own.rows))
        for ratio in ratios
    ]


def _from_reference(pairs: pd.DataFrame, reference: str, variants: list[str]) -> Iterator[Difference]:
    """Each pair of the reference and one of these rows as row minus reference, in percent."""
    for pair in pairs.to_dict("records"):
        mean, low, high = (100 * pair[name] for name in ("difference", "low", "high"))
        variant = pair["first"]
        if variant == reference:
            variant, mean, low, high = pair["second"], -mean, -high, -low
        if reference in (pair["first"], pair["second"]) and variant in variants:
            told, equivalent = (bool(pair[name] < LEVEL) for name in ("p_holm", "p_equivalent"))
            yield Difference(variant, mean, low, high, told, equivalent)
