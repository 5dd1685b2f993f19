"""The sections of `verify-paper`: consistency of the paper's tables, its claims, and comparison with a store.

Disagreement between claims and numbers is reported, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmark.results.store import NoResults
from reports.paper.claims import title_of
from reports.paper.printed import (
    DATASETS,
    HALF_STEP,
    METRICS,
    PMQ,
    RANDOM,
    RATIOS,
    WITHOUT_NEIGHBOUR,
    Column,
    Link,
    columns,
    links,
    load_table,
    methods_of,
    not_above_random,
    overalls,
    printed_cells,
    ranks,
    wrong_marks,
)
from reports.paper.replication import Beside, Replication, beside, load_replication
from reports.paper.verdicts import Judgement, counts, judge_paper, judge_store
from reports.paper.welch import ALPHA, WelchTest, against_the_best

DASH = "–"
SPREAD = (
    "The printed deviations are over five fine-tuning seeds on one pretrained encoder, one labelled subset and one "
    "test set. They do not include variation between pretrainings, labelled patients or test patients: a small p rules "
    "out chance in fine-tuning, but does not show that the difference would replicate."
)
ROUNDING = (
    "Numbers are printed to 0.1, so a deviation of 0.1 may be 0.05 or 0.15. A range is over all values that round to "
    "the printed ones; a result that changes within its range depends on rounding."
)
MEANS = (
    "A claim is judged by the means, as the paper does. Brackets are 95 % intervals and p values are Welch's, both "
    "from the deviations over fine-tuning seeds and not adjusted for the number of claims. F1, AUROC and ACC of a run "
    "are correlated: the deviation of their mean on a dataset is taken as the mean of theirs, its upper bound."
)
JOINT = "Inside: the two means are at most the joint spread √(s₁² + s₂²) apart."


@dataclass(frozen=True)
class Section:
    """A heading, its sentences, and optionally a list of claims or a table."""

    title: str
    said: tuple[str, ...]
    judgements: tuple[Judgement, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Verification:
    """All sections, the verdict first."""

    sections: tuple[Section, ...]
    beside: tuple[Beside, ...]
    """Cells that paper and store both have; empty without a store."""
    simulated: bool = False
    """The store holds simulated ECGs."""


def verification(results: Path | None) -> Verification:
    """Check the paper's tables and claims, and compare them with the store in `results`, if any."""
    of_paper, tests = judge_paper(), best_tests()
    verdict = [*_short(tests), f"Claims against the printed cells: {_counted(of_paper)}"]
    sections = [
        Section("Consistency of the printed tables", tuple(_consistency())),
        _welch_section(tests),
        Section("Claims against the printed cells", (_counted(of_paper), MEANS), tuple(of_paper)),
    ]
    try:
        replication = load_replication(results) if results else None
        absent = "Against a store: none was given."
    except NoResults as error:
        replication, absent = None, f"Against a store: {error}."
    if replication is None:
        return Verification((Section("Verdict", (*verdict, absent)), *sections), ())
    of_store = judge_store(replication)
    pairs = beside(printed_cells(), replication.evidence.cells)
    verdict.append(f"Claims against the store: {_counted(of_store)}")
    sections += [
        Section("Claims against the store", (*_setting(replication), _counted(of_store), MEANS), tuple(of_store)),
        _summary(pairs),
        *(_side_by_side([pair for pair in pairs if pair.place.ratio == ratio], ratio) for ratio in RATIOS),
    ]
    return Verification((Section("Verdict", tuple(verdict)), *sections), tuple(pairs), replication.simulated)


def best_tests() -> list[WelchTest]:
    """Welch's test of PMQ against the best of the seven other rows in each of the 27 cells of Table 1."""
    return against_the_best(printed_cells(), PMQ, _rivals())


def _rivals() -> tuple[str, ...]:
    return tuple(variant for variant in methods_of(1) if variant != PMQ)


def _short(tests: Sequence[WelchTest]) -> Iterator[str]:
    """Summary of the checks of the printed numbers."""
    derived = [*overalls(1), *overalls(2)]
    follow = sum(found.gap <= HALF_STEP for found in derived)
    yield f"Overall: {follow} of {len(derived)} follow from their cells."
    bold = [column for column in columns(1) if column.place.dataset in DATASETS and PMQ in column.bold]
    yield f"PMQ is best in {_ranked()[1]} of the {len(tests)} cells of Table 1, and {len(bold)} are bold."
    remaining = [test for test in tests if test.remains]
    higher = sum(test.difference.points > 0 for test in remaining)
    yield (
        f"PMQ against the best other row (Welch, Holm over {len(tests)} cells): {len(remaining)} differences remain, "
        f"{higher} in favour of PMQ and {len(remaining) - higher} against it."
    )
    same = links(2, WITHOUT_NEIGHBOUR, 1, RANDOM)
    yield (
        f"Row 'w/o neighbor' of Table 2 repeats row 'Random' of Table 1 in {sum(link.same for link in same)} of "
        f"{len(same)} cells."
    )


def _ranked() -> dict[int, int]:
    cells = printed_cells()
    return ranks(cells, [place for place in cells if place.variant == PMQ], _rivals())


def _consistency() -> Iterator[str]:
    """Overalls, bold marks, ranks, rows shared by the tables, rows not above Random."""
    for table in (1, 2):
        derived = overalls(table)
        gap = max(found.gap for found in derived)
        apart = [found for found in derived if found.gap > HALF_STEP]
        named = "".join(f"; not {title_of(found.place.variant)}, {found.place.column}" for found in apart)
        yield (
            f"Table {table}: {len(derived) - len(apart)} of {len(derived)} Overalls are the mean of their cells to "
            f"rounding (largest gap {gap:.3f}){named}."
        )
    wrong, total = wrong_marks(), sum(len(columns(table)) for table in (1, 2))
    marks = " ".join(map(_bold_text, wrong))
    yield f"Bold marks: {total - len(wrong)} of {total} columns mark the highest. {marks}"
    counted = _ranked()
    shown = ", ".join(f"{_ordinal(rank)} in {count}" for rank, count in sorted(counted.items()))
    yield f"PMQ over the {sum(counted.values())} cells of Table 1: {shown}."
    yield _link_text("'w/o neighbor' (Table 2) and 'Random' (Table 1)", links(2, WITHOUT_NEIGHBOUR, 1, RANDOM))
    yield _link_text("'All' (Table 2) and 'Ours' (Table 1)", links(2, PMQ, 1, PMQ))
    below = ", ".join(
        f"{title_of(found.place.variant)} at {100 * found.place.ratio:g} % ({found.printed:.1f})"
        for found in not_above_random()
    )
    yield f"Pretrained rows with an Overall not above Random's: {below}."


def _bold_text(column: Column) -> str:
    cells = load_table(column.table)
    bold, best = (
        ", ".join(
            f"{title_of(variant)} {cells[column.place._replace(variant=variant)].mean:.1f}" for variant in variants
        )
        for variants in (column.bold, column.best)
    )
    return f"{column.place.column} (Table {column.table}): bold is {bold}, highest is {best}."


def _link_text(rows: str, found: Sequence[Link]) -> str:
    apart = [link for link in found if not link.same]
    named = "".join(f"; apart in {link.place.column}: {link.first} and {link.second}" for link in apart)
    return f"Rows {rows}: mean and deviation alike in {len(found) - len(apart)} of {len(found)} cells{named}."


def _ordinal(rank: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(rank, f"{rank}th")


def _welch_section(tests: Sequence[WelchTest]) -> Section:
    unadjusted = sum(test.difference.p < ALPHA for test in tests)
    least = sum(test.holm_range[1] < ALPHA for test in tests)
    most = sum(test.holm_range[0] < ALPHA for test in tests)
    said = (
        "Welch's test from the printed mean and deviation (n = 5), PMQ against the best of the seven other rows.",
        f"p < {ALPHA:g} in {unadjusted} of {len(tests)} cells, and in {sum(test.remains for test in tests)} after Holm "
        f"over all of them; within rounding, in {least} to {most}.",
        ROUNDING,
        SPREAD,
        "The other row is the best of seven, chosen by the same numbers: this favours it and is not corrected for.",
    )
    header = ("Cell", "PMQ", "Best other", "Difference", "95 %", "p", "range of p", "Holm", "range of Holm", "PMQ is")
    cells = printed_cells()
    rows = tuple(
        (
            test.place.column,
            str(cells[test.place]),
            f"{title_of(test.rival)} {cells[test.place._replace(variant=test.rival)]}",
            f"{test.difference.points:+.1f}",
            f"{test.difference.low:.2f} to {test.difference.high:.2f}",
            f"{test.difference.p:.4f}",
            "{:.4f} to {:.4f}".format(*test.p_range),
            f"{test.holm:.3f}",
            "{:.3f} to {:.3f}".format(*test.holm_range),
            _answer(test),
        )
        for test in tests
    )
    return Section("PMQ against the best other row", said, header=header, rows=rows)


def _answer(test: WelchTest) -> str:
    told = "not significantly different"
    if test.remains:
        told = "higher" if test.difference.points > 0 else "lower"
    return f"{told} (depends on rounding)" if test.depends_on_rounding else told


def _counted(judgements: Sequence[Judgement]) -> str:
    shown = ", ".join(f"{number} {verdict}" for verdict, number in counts(judgements).items())
    return f"{shown} (of {len(judgements)})."


def _setting(replication: Replication) -> Iterator[str]:
    """How the store's setting differs from the paper's."""
    yield "Fine-tuned encoders, scores per heartbeat, as in the paper."
    if replication.simulated:
        yield "Simulated ECGs: these numbers neither support nor refute claims about real ones."
    if replication.differences:
        yield f"The run's setting is not the paper's: {'; '.join(replication.differences)}."
    yield from (f"Left out: {problem}." for problem in replication.damaged)


def _summary(pairs: Sequence[Beside]) -> Section:
    """One line per variant: mean difference of its cells from the paper's, in points."""
    rows = []
    for variant in dict.fromkeys(pair.place.variant for pair in pairs):
        own = [pair for pair in pairs if pair.place.variant == variant]
        known = [pair.inside for pair in own if pair.inside is not None]
        rows.append(
            (
                title_of(variant),
                str(len(own)),
                f"{fmean(pair.difference for pair in own):+.1f}",
                f"{fmean(abs(pair.difference) for pair in own):.1f}",
                f"{sum(known)} of {len(known)}",
            )
        )
    header = ("Row", "cells", "mean difference", "mean distance", "inside")
    said = ("Store minus paper, in points.", JOINT) if rows else ("The store has no cell of the paper's tables.",)
    return Section("The store beside the paper", said, header=header if rows else (), rows=tuple(rows))


def _side_by_side(pairs: Sequence[Beside], ratio: float) -> Section:
    """One line per cell."""
    rows = tuple(
        (
            title_of(pair.place.variant),
            f"{DATASETS[pair.place.dataset]} {METRICS[pair.place.metric]}",
            str(pair.paper),
            str(pair.ours),
            str(pair.ours.seeds),
            f"{pair.difference:+.1f}",
            {True: "yes", False: "no", None: DASH}[pair.inside],
        )
        for pair in pairs
    )
    said = () if rows else ("The store has no such cell.",)
    header = ("Row", "Cell", "Paper", "Store", "seeds", "Difference", "Inside") if rows else ()
    return Section(f"Cell by cell, {100 * ratio:g} % of the labels", said, header=header, rows=rows)
