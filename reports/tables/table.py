"""The results table of a run: blocks of label ratios, rows of methods, three metrics per dataset, Overall.

The layout is that of Table 1 of the PMQ paper. Bold marks, dashes and footnotes are decided here only; what renders the
table is elsewhere.

Printed numbers of other groups as rows of a table: in italics, not ranked, part of no statistic.

A config names the sources (`printed`); a number stands where the table has its evaluation, label ratio and column.

Rows whose weights come from elsewhere: the mark of test patients that they saw, their footers, dashes and costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pandas as pd

from benchmark.results.metrics import COLUMNS, FURTHER, METRICS, TITLES
from benchmark.results.names import OVERALL, Printed, numbers, sources
from benchmark.results.store import Plan, PlannedCell
from reports.runs import Cards, Layout, Run, machine_of, role_of, unserved
from reports.statistics.classes import computed
from reports.statistics.table import TableStatistics
from reports.tables.render import DASH, Block, Column, Line, Score, Table, TextTable, spread_text, text_csv
from reports.tables.words import caption_of, details_of, evaluation_text, footers_of, labels_text, unit_text, verdict

NOT_PRINTED = Score(None, None, 0, 0, ())


def printed_in(plan: Plan, evaluation: str, ratios: Sequence[float], columns: Sequence[Column]) -> list[Printed]:
    """The printed numbers of the plan's sources that a table has a place for."""
    asked = plan.config.get("printed", [])
    places = {(column.dataset, column.metric) for column in columns}
    return [
        own
        for own in numbers()
        if own.source in asked
        and own.evaluation == evaluation
        and own.ratio in ratios
        and (own.column, own.metric) in places
    ]


def with_printed(block: Block, found: Sequence[Printed], columns: Sequence[Column]) -> Block:
    """The block with a further line per row that was printed at its label ratio."""
    own = [one for one in found if one.ratio == block.ratio]
    rows = list(dict.fromkeys((one.source, one.row) for one in own))
    lines = [_line(row, [one for one in own if (one.source, one.row) == row], columns) for row in rows]
    return replace(block, lines=(*block.lines, *lines))


def _line(row: tuple[str, str], own: Sequence[Printed], columns: Sequence[Column]) -> Line:
    source, title = row
    at = {(one.column, one.metric): one for one in own}
    scores = tuple(_printed_score(at.get((column.dataset, column.metric))) for column in columns)
    return Line(f"printed:{source}:{title}", f"{title} (printed: {source})", scores, gate=True)


def _printed_score(found: Printed | None) -> Score:
    if found is None:
        return NOT_PRINTED
    spread = spread_text(found.std)
    return Score(found.percent, found.std, 0, 0, (), spread=spread)


def printed_footers(found: Sequence[Printed]) -> Iterator[str]:
    """A line per source: what to cite, its protocol, what differs here."""
    for name in dict.fromkeys(one.source for one in found):
        own = sources()[name]
        yield f"Printed, not run here ({name}): {own.cite}. Protocol: {own.protocol}. Differs: {own.differs}."


SAW, NOT_KNOWN = "saw these test patients", "not known whether it saw these test patients"
HEADER = (
    "Encoder", "parameters", "multiplications", "features", "windows a recording", "seconds for 1,000 recordings",
    "licence", "machine",
)  # fmt: skip
MILLION = 1e6


def facts_of(plan: Plan, variant: str) -> Mapping[str, Any] | None:
    """What is known of a row's weights from elsewhere; None for any other row."""
    found: Mapping[str, Any] | None = role_of(plan, variant).get("elsewhere")
    return found


def marked(plan: Plan, line: Line, columns: Sequence[Column]) -> Line:
    """A line with a remark on the numbers whose test patients its weights saw, or may have seen."""
    facts = facts_of(plan, line.variant)
    if facts is None:
        return line
    scores = [_with(score, _remark(facts, column)) for column, score in zip(columns, line.scores, strict=True)]
    return replace(line, scores=tuple(scores))


def _remark(facts: Mapping[str, Any], column: Column) -> str:
    """The remark on a column; of Overall (without a dataset) whether any of its columns has one."""
    if not column.dataset:
        answers = set(facts["saw"].values())
        if "yes" in answers:
            return "it saw test patients of columns that this rests on"
        return "not known whether it saw the test patients" if "not known" in answers else ""
    answer = facts["saw"].get(column.dataset, "not known")
    if answer == "yes":
        return f"{SAW}: pretrained on {facts['pretrained_on']}"
    return NOT_KNOWN if answer == "not known" else ""


def _with(score: Score, remark: str) -> Score:
    if not remark or score.mean is None:
        return score
    return replace(score, remark="; ".join(filter(None, [remark, score.remark])))


def dashes(plan: Plan, layout: Layout, variant: str, ratio: float, columns: Sequence[Column]) -> Line | None:
    """The line of a row that an evaluation does not serve, dashes with the reason; None elsewhere.

    It stands in the blocks of the compared rows, not in those of gates alone.
    """
    why = unserved(plan, variant, layout.evaluation)
    if not why or not any(cell.ratio == ratio for cell in layout.competing):
        return None
    scores = [Score(None, None, 0, 0, (), why)] * len(columns)
    return Line(variant, plan.variants[variant], tuple(scores))


def elsewhere_footers(plan: Plan, layout: Layout, cells: Sequence[PlannedCell]) -> Iterator[str]:
    """A line for each row with weights from elsewhere: whose patients they saw, licence and signals; one for all."""
    there = [name for name in layout.variants if facts_of(plan, name)]
    datasets = dict.fromkeys(cell.dataset for cell in cells)
    for name in there:
        facts = facts_of(plan, name) or {}
        seen = ", ".join(
            f"{plan.datasets[dataset]['title']} {facts['saw'].get(dataset, 'not known')}" for dataset in datasets
        )
        yield (
            f"{plan.variants[name]}: weights from elsewhere (licence {facts['licence']}), pretrained on "
            f"{facts['pretrained_on']}; {SAW}: {seen}. Reads {facts['signals']}."
        )
    if there:
        yield (
            "Weights from elsewhere read windows of their own of the same recordings: they learn from all windows of "
            "the labelled recordings, and their prediction of a recording stands for each of its windows."
        )


def elsewhere_costs(plan: Plan, cards: Cards) -> list[TextTable]:
    """A table of what weights from elsewhere cost; none without such rows."""
    lines = []
    for variant, own in cards.items():
        facts, card = facts_of(plan, variant), next(iter(own.values()), {})
        if facts is None or role_of(plan, variant)["of"] or "embedding" not in card:
            continue
        lines.append(
            (
                plan.variants[variant],
                _count(card.get("encoder_parameters")),
                DASH if "encoder_multiplications" not in card else f"{card['encoder_multiplications'] / MILLION:,.1f}",
                _count(facts.get("features")),
                _count(card["embedding"].get("windows")),
                f"{card['embedding'].get('seconds', 0):z.2f}",
                str(facts["licence"]),
                machine_of({**card, "precision": "float32"}),
            )
        )
    caption = (
        "What it costs to embed with weights from elsewhere; their pretraining is not known here. Multiplications: "
        "millions in convolutions and matrix products for a window; a dash where they cannot be counted. Seconds: for "
        "1,000 recordings of 10 s in the encoder alone, without reading and cutting, all cores."
    )
    table = TextTable("elsewhere", "Weights from elsewhere", caption, HEADER, tuple(lines))
    return [table] if lines else []


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def elsewhere_files(tables: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content; counts without thousands separators."""
    return {"elsewhere.csv": text_csv(tables)} if tables else {}


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
    what = f"{evaluation_text(layout.evaluation)}, scored per {unit_text(run.plan, unit)}"
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
    spread = spread_text(std)
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
