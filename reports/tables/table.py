"""The results table: one block per label ratio, one line per variant, three metrics per dataset, Overall.

The layout is that of Table 1 of the PMQ paper. Bold marks, dashes and footnotes are decided here only; what renders the
table is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import pandas as pd

from benchmark.results.metrics import COLUMNS, FURTHER, METRICS, TITLES
from benchmark.results.names import EVALUATION_TITLES, OVERALL
from benchmark.results.plan import Plan, PlannedCell
from reports.runs.planned_tables import Layout
from reports.runs.run import Run
from reports.statistics.further.computed import computed
from reports.statistics.of_table import TableStatistics
from reports.tables.captions import caption_of, details_of, footers_of, labels_text, unit_text
from reports.tables.elsewhere import dashes, elsewhere_footers, marked
from reports.tables.printed import printed_footers, printed_in, with_printed
from reports.tables.values import Block, Column, Line, Score, Table
from reports.tables.verdict import verdict

LETTERS = "abcdefghijklmnoprstuvwxyz"
"""Footnote marks, without q, which has no superscript in Unicode."""


def make_table(run: Run, layout: Layout, unit: str, statistics: TableStatistics | None = None) -> Table:
    """A table in one score unit ('heartbeat', 'recording').

    layout: one of `layouts(run.plan, ...)`. statistics: of this layout and unit (`statistics_of`); None marks no ties.
    """
    columns = _columns(run.plan, layout)
    scored = run.tidy[(run.tidy["evaluation"] == layout.evaluation) & (run.tidy["unit"] == unit)]
    asked = [metric for metric in layout.metrics if metric in FURTHER]
    if asked:
        scored = pd.concat([scored, computed(run, layout.cells, unit, asked)], ignore_index=True)
    blocks = [_block(run, scored, ratio, columns, layout) for ratio in layout.ratios]
    if statistics is not None:
        blocks = [_with_ties(block, columns, statistics) for block in blocks]
    printed = [] if layout.name else printed_in(run.plan, layout.evaluation, layout.ratios, columns)
    blocks = [with_printed(block, printed, columns) for block in blocks]
    footnotes = _footnotes(blocks)
    what = f"{EVALUATION_TITLES.get(layout.evaluation, layout.evaluation)}, scored per {unit_text(run.plan, unit)}"
    return Table(
        name=table_name(layout, unit),
        evaluation=layout.evaluation,
        unit=unit,
        title=f"{layout.title}: {what[0].lower()}{what[1:]}" if layout.title else what,
        caption=caption_of(run.plan, layout.cells, layout, sum(map(_counts, columns))),
        columns=columns,
        blocks=tuple(_with_marks(block, footnotes) for block in blocks),
        footnotes=tuple((mark, text) for text, mark in footnotes.items()),
        footers=(
            *footers_of(run, layout.cells, unit),
            *elsewhere_footers(run.plan, layout, layout.cells),
            *(statistics.words if statistics else ()),
            *printed_footers(printed),
        ),
        details=(*details_of(run, layout.cells), *(statistics.details if statistics else ())),
        verdict=tuple(verdict(run.plan, statistics, layout.evaluation, layout.unchanged)),
    )


def table_name(layout: Layout, unit: str) -> str:
    """Unique within a report, fit for a file name."""
    return "-".join(filter(None, [layout.evaluation, unit, layout.name.replace("_", "-")]))


def _with_ties(block: Block, columns: Sequence[Column], statistics: TableStatistics) -> Block:
    """The block with ties marked."""

    def tied(line: Line, column: Column, score: Score) -> bool:
        place = (block.ratio, column.dataset, column.metric, line.variant)
        return place in statistics.tied and not score.best and not line.gate

    lines = [
        replace(
            line,
            scores=tuple(
                replace(score, tie=tied(line, column, score))
                for column, score in zip(columns, line.scores, strict=True)
            ),
        )
        for line in block.lines
    ]
    return replace(block, lines=tuple(lines))


def _columns(plan: Plan, layout: Layout) -> tuple[Column, ...]:
    there = {cell.dataset for cell in layout.cells}
    scores = [
        Column(name, metric, str(facts["title"]), TITLES[metric])
        for name, facts in plan.datasets.items()
        if name in there
        for metric in layout.metrics
    ]
    return (*scores, Column("", OVERALL, "", TITLES[OVERALL]))


def _block(run: Run, scored: pd.DataFrame, ratio: float, columns: Sequence[Column], layout: Layout) -> Block:
    lines = []
    for variant in layout.variants:
        own = [cell for cell in layout.cells if (cell.variant, cell.ratio) == (variant, ratio)]
        if not own:
            unserved_line = dashes(run.plan, layout, variant, ratio, columns)
            lines += [unserved_line] if unserved_line else []
            continue
        at_variant = scored[(scored["ratio"] == ratio) & (scored["variant"] == variant)]
        scores = [_score(run, at_variant, own, column) for column in columns[:-1]]
        overall = _overall([score for score, column in zip(scores, columns, strict=False) if _counts(column)])
        line = Line(variant, run.plan.variants[variant], (*scores, overall), gate=variant in layout.gates)
        lines.append(marked(run.plan, line, columns))
    return Block(ratio, labels_text(ratio, layout.evaluation), _with_best(lines, columns))


def _counts(column: Column) -> bool:
    """Whether a column is part of Overall: further metrics are not, in any table."""
    return column.metric in COLUMNS


def _score(run: Run, scored: pd.DataFrame, cells: Sequence[PlannedCell], column: Column) -> Score:
    planned = [cell.key for cell in cells if cell.dataset == column.dataset]
    if not planned:
        return Score(None, None, 0, 0, (), "not planned")
    keys = tuple(key for key in planned if key in run.rows)
    own = scored[(scored["dataset"] == column.dataset) & (scored["metric"] == column.metric)]
    values = 100 * own["value"].dropna()  # (seeds,)
    remarks = [] if len(keys) == len(planned) else [f"{len(keys)} of {len(planned)} seeds finished"]
    if len(values) < len(keys):
        reasons = ", ".join(dict.fromkeys(own.loc[own["value"].isna(), "reason"])) or f"{column.title} was not scored"
        undefined = len(keys) - len(values)
        remarks.append(f"undefined in {undefined} of {len(keys)} finished seeds: {reasons}")
    mean = float(values.mean()) if len(values) else None
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    spread = "" if std is None else f"±{std:.1f}"
    return Score(mean, std, len(values), len(planned), keys, "; ".join(remarks), spread)


def _overall(scores: Sequence[Score]) -> Score:
    """The mean of the available columns; their number k is printed where some are missing."""
    means = [score.mean for score in scores if score.mean is not None]
    keys = tuple(dict.fromkeys(key for score in scores for key in score.keys))
    if not means:
        return Score(None, None, 0, len(scores), keys, "no column has a number")
    if len(means) == len(scores):
        return Score(sum(means) / len(means), None, len(means), len(scores), keys)
    remark = f"k: Overall rests on k of {len(scores)} columns"
    return Score(sum(means) / len(means), None, len(means), len(scores), keys, remark, f" (k={len(means)})")


def _with_best(lines: Sequence[Line], columns: Sequence[Column]) -> tuple[Line, ...]:
    """Mark the best of each column: all that print the same, none where only one line has a number.

    An Overall competes only if it covers every column that any line of the block has a number in.
    """
    width = len(lines[0].scores)
    rivals = [line for line in lines if not line.gate]
    by_column = [
        [line.scores[index] for line in rivals if line.scores[index].mean is not None] for index in range(width)
    ]
    filled = sum(bool(scores) for scores, column in zip(by_column, columns, strict=True) if _counts(column))
    by_column[-1] = [overall for overall in by_column[-1] if overall.n == filled]
    best = [_best_of(scores, column) for scores, column in zip(by_column, columns, strict=True)]
    return tuple(
        replace(
            line,
            scores=tuple(
                replace(score, best=score in tops and not line.gate)
                for score, tops in zip(line.scores, best, strict=True)
            ),
        )
        for line in lines
    )


def _best_of(scores: Sequence[Score], column: Column) -> list[Score]:
    """All scores that print like the highest, or the lowest where lower is better; none of fewer than two."""
    if len(scores) < 2:
        return []
    lower = column.metric in METRICS and METRICS[column.metric].lower_is_better
    top = (min if lower else max)(float(score.printed) for score in scores)
    return [score for score in scores if float(score.printed) == top]


def _marks() -> Iterator[str]:
    """a, b, ... z, aa, bb, ..."""
    for repeat in count(1):
        yield from (letter * repeat for letter in LETTERS)


def _footnotes(blocks: Sequence[Block]) -> dict[str, str]:
    """Remark -> mark, in reading order."""
    remarks = dict.fromkeys(
        score.remark for block in blocks for line in block.lines for score in line.scores if score.remark
    )
    return dict(zip(remarks, _marks(), strict=False))


def _with_marks(block: Block, footnotes: dict[str, str]) -> Block:
    lines = [
        replace(line, scores=tuple(replace(score, mark=footnotes.get(score.remark, "")) for score in line.scores))
        for line in block.lines
    ]
    return replace(block, lines=tuple(lines))
