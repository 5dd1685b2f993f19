"""The results table of a run: blocks of label ratios, rows of methods, three metrics per dataset, Overall.

The layout is that of Table 1 of the PMQ paper. Bold marks, dashes and footnotes are decided here only.

Printed numbers of other groups are rows in italics, not ranked and part of no statistic. A config names their sources
(`printed`); a number stands where the table has its evaluation, label ratio and column.

Rows whose weights come from elsewhere have a mark on test patients that they saw, footers, dashes and costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pandas as pd

from benchmark.results.metrics import COLUMNS, FURTHER, METRICS, TITLES
from benchmark.results.names import OVERALL
from benchmark.results.printed import Printed, numbers, sources
from benchmark.results.store import Plan, PlannedCell
from reports.results import Layout, Records, Results, mean_over_subsets, role_of, unsupported_reason
from reports.statistics.classes import computed
from reports.statistics.table import TableStatistics
from reports.tables.render import DASH, Block, Column, Line, Score, Table, TextTable, spread_text, text_csv
from reports.tables.verdict import verdict
from reports.tables.words import caption_of, details_of, evaluation_text, footers_of, labels_text, machine_of, unit_text

NO_SCORE = Score(None, None, 0, 0, ())
MILLION = 1e6
LETTERS = "abcdefghijklmnoprstuvwxyz"
"""Footnote marks, without q, which has no superscript in Unicode."""
SAW, NOT_KNOWN = "saw these test patients", "not known whether it saw these test patients"
HEADER = (
    "Encoder", "parameters", "multiplications", "features", "windows a recording", "seconds for 1,000 recordings",
    "licence", "machine",
)  # fmt: skip


def make_table(run: Results, layout: Layout, unit: str, statistics: TableStatistics | None = None) -> Table:
    """A table in one score unit ('heartbeat', 'recording').

    layout: one of `layouts(run.plan, ...)`. statistics: of this layout and unit (`statistics_of`); None marks no ties.
    """
    plan, columns = run.plan, _columns(run.plan, layout)
    scored = mean_over_subsets(run.scores).query("evaluation == @layout.evaluation and unit == @unit")
    further = [metric for metric in layout.metrics if metric in FURTHER]
    if further:
        scored = pd.concat([scored, computed(run, layout.cells, unit, further)], ignore_index=True)
    printed = [] if layout.name else _printed(plan, layout, columns)
    blocks = []
    for ratio in layout.ratios:
        lines = _with_best(_lines(run, scored, ratio, columns, layout), columns)
        if statistics is not None:
            lines = [_with_ties(line, ratio, columns, statistics) for line in lines]
        lines += _printed_lines([number for number in printed if number.ratio == ratio], columns)
        blocks.append(Block(ratio, labels_text(ratio), tuple(lines)))
    remarks = dict.fromkeys(
        score.remark for block in blocks for line in block.lines for score in line.scores if score.remark
    )
    marks = dict(zip(remarks, _marks(), strict=False))
    what = f"{evaluation_text(layout.evaluation)}, scored per {unit_text(plan, unit)}"
    return Table(
        name=table_name(layout, unit),
        evaluation=layout.evaluation,
        unit=unit,
        title=f"{layout.title}: {what[0].lower()}{what[1:]}" if layout.title else what,
        caption=caption_of(plan, layout.cells, layout, sum(map(_counts, columns))),
        columns=columns,
        blocks=tuple(
            replace(block, lines=tuple(_scores(line, lambda n, score: _marked(score, marks)) for line in block.lines))
            for block in blocks
        ),
        footnotes=tuple((mark, text) for text, mark in marks.items()),
        footers=(
            *footers_of(run, layout.cells, unit),
            *_elsewhere_footers(plan, layout),
            *(statistics.words if statistics else ()),
            *_printed_footers(printed),
        ),
        details=(*details_of(run, layout.cells), *(statistics.details if statistics else ())),
        verdict=tuple(verdict(plan, statistics, layout.unchanged)),
    )


def table_name(layout: Layout, unit: str) -> str:
    """Unique within a report, fit for a file name."""
    return "-".join(filter(None, [layout.evaluation, unit, layout.name.replace("_", "-")]))


def _scores(line: Line, change: Callable[[int, Score], Score]) -> Line:
    """The line with each score changed; change: of the column's place and the score."""
    return replace(line, scores=tuple(change(place, score) for place, score in enumerate(line.scores)))


def _marked(score: Score, marks: Mapping[str, str]) -> Score:
    return replace(score, mark=marks.get(score.remark, ""))


def _marks() -> Iterator[str]:
    """a, b, ... z, aa, bb, ..."""
    for repeat in count(1):
        yield from (letter * repeat for letter in LETTERS)


def _columns(plan: Plan, layout: Layout) -> tuple[Column, ...]:
    there = {cell.dataset for cell in layout.cells}
    scores = [
        Column(name, metric, str(facts["title"]), TITLES[metric])
        for name, facts in plan.datasets.items()
        if name in there
        for metric in layout.metrics
    ]
    return (*scores, Column("", OVERALL, "", TITLES[OVERALL]))


def _lines(
    run: Results, scored: pd.DataFrame, ratio: float, columns: Sequence[Column], layout: Layout
) -> Iterator[Line]:
    """The rows at one label ratio; those that the evaluation does not serve stand beside compared rows alone."""
    compared = any(cell.ratio == ratio for cell in layout.competing)
    for variant in layout.variants:
        title, gate = run.plan.variants[variant], variant in layout.gates
        own = [cell for cell in layout.cells if (cell.variant, cell.ratio) == (variant, ratio)]
        why = unsupported_reason(run.plan, variant, layout.evaluation)
        if own:
            at_variant = scored[(scored["ratio"] == ratio) & (scored["variant"] == variant)]
            scores = [_score(run, at_variant, own, column) for column in columns[:-1]]
            overall = _overall([score for score, column in zip(scores, columns, strict=False) if _counts(column)])
            yield _with_remarks(run.plan, Line(variant, title, (*scores, overall), gate), columns)
        elif why and compared:
            yield Line(variant, title, (replace(NO_SCORE, remark=why),) * len(columns))


def _counts(column: Column) -> bool:
    """Whether a column is part of Overall: further metrics are not, in any table."""
    return column.metric in COLUMNS


def _score(run: Results, scored: pd.DataFrame, cells: Sequence[PlannedCell], column: Column) -> Score:
    planned = [cell.key for cell in cells if cell.dataset == column.dataset]
    if not planned:
        return replace(NO_SCORE, remark="not planned")
    keys = tuple(key for key in planned if key in run.rows)
    own = scored[(scored["dataset"] == column.dataset) & (scored["metric"] == column.metric)]
    values = 100 * own["value"].dropna()  # (seeds,)
    seeds = {cell.seed for cell in cells if cell.dataset == column.dataset}
    finished = {cell.seed for cell in cells if cell.key in keys}
    what = "seeds" if len(seeds) == len(planned) else "labelled subsets"
    remarks = [] if len(keys) == len(planned) else [f"{len(keys)} of {len(planned)} {what} finished"]
    if len(values) < len(finished):
        reasons = (
            ", ".join(dict.fromkeys(own.loc[own["value"].isna(), "undefined"])) or f"{column.title} was not scored"
        )
        undefined = len(finished) - len(values)
        remarks.append(f"undefined in {undefined} of {len(finished)} finished seeds: {reasons}")
    mean = float(values.mean()) if len(values) else None
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    return Score(mean, std, len(values), len(seeds), keys, "; ".join(remarks), spread_text(std))


def _overall(scores: Sequence[Score]) -> Score:
    """The mean of the available columns; their number k is printed where some are missing."""
    means = [score.mean for score in scores if score.mean is not None]
    keys = tuple(dict.fromkeys(key for score in scores for key in score.keys))
    if not means:
        return Score(None, None, 0, len(scores), keys, "no column has a number")
    whole = Score(sum(means) / len(means), None, len(means), len(scores), keys)
    if len(means) == len(scores):
        return whole
    return replace(whole, remark=f"k: Overall rests on k of {len(scores)} columns", spread=f" (k={len(means)})")


def _with_best(lines: Iterable[Line], columns: Sequence[Column]) -> list[Line]:
    """Mark the best of each column: all that print the same, none where only one line has a number.

    An Overall competes only if it covers every column that any line of the block has a number in.
    """
    every = list(lines)
    rivals = [
        [line.scores[place] for line in every if not line.gate and line.scores[place].mean is not None]
        for place in range(len(columns))
    ]
    filled = sum(bool(scores) for scores, column in zip(rivals, columns, strict=True) if _counts(column))
    rivals[-1] = [overall for overall in rivals[-1] if overall.n == filled]
    best = [_best_of(scores, column) for scores, column in zip(rivals, columns, strict=True)]
    return [
        line if line.gate else _scores(line, lambda place, score: replace(score, best=score in best[place]))
        for line in every
    ]


def _best_of(scores: Sequence[Score], column: Column) -> list[Score]:
    """All scores that print like the highest, or the lowest where lower is better; none of fewer than two."""
    if len(scores) < 2:
        return []
    lower = column.metric in METRICS and METRICS[column.metric].lower_is_better
    top = (min if lower else max)(float(score.printed) for score in scores)
    return [score for score in scores if float(score.printed) == top]


def _with_ties(line: Line, ratio: float, columns: Sequence[Column], statistics: TableStatistics) -> Line:
    def tied(place: int, score: Score) -> Score:
        where = (ratio, columns[place].dataset, columns[place].metric, line.variant)
        return replace(score, tie=where in statistics.tied and not score.best and not line.gate)

    return _scores(line, tied)


def _printed(plan: Plan, layout: Layout, columns: Sequence[Column]) -> list[Printed]:
    """The printed numbers of the plan's sources that a table has a place for."""
    places = {(column.dataset, column.metric) for column in columns}
    return [
        number
        for number in numbers()
        if number.source in plan.config.get("printed", [])
        and number.evaluation == layout.evaluation
        and number.ratio in layout.ratios
        and (number.column, number.metric) in places
    ]


def _printed_lines(printed: Sequence[Printed], columns: Sequence[Column]) -> Iterator[Line]:
    """A line per row of a source, of the numbers at one label ratio."""
    for source, row in dict.fromkeys((number.source, number.row) for number in printed):
        at = {
            (number.column, number.metric): number for number in printed if (number.source, number.row) == (source, row)
        }
        found = [at.get((column.dataset, column.metric)) for column in columns]
        scores = [_printed_score(number) if number else NO_SCORE for number in found]
        yield Line(f"printed:{source}:{row}", f"{row} (printed: {source})", tuple(scores), gate=True)


def _printed_score(number: Printed) -> Score:
    """The number with, in a footnote, what others found who ran it again."""
    remark = f"printed; {number.again:g} where it was run again by {number.by}" if number.again else ""
    return Score(number.percent, number.std, 0, 0, (), remark=remark, spread=spread_text(number.std))


def _printed_footers(printed: Sequence[Printed]) -> Iterator[str]:
    """A line per source: what to cite, its protocol, what differs here."""
    for name in dict.fromkeys(number.source for number in printed):
        source = sources()[name]
        yield f"Printed, not run here ({name}): {source.cite}. Protocol: {source.protocol}. Differs: {source.differs}."


def _elsewhere(plan: Plan, variant: str) -> Mapping[str, Any] | None:
    """What is known of a row's weights from elsewhere; None for any other row."""
    found: Mapping[str, Any] | None = role_of(plan, variant).get("elsewhere")
    return found


def _with_remarks(plan: Plan, line: Line, columns: Sequence[Column]) -> Line:
    """A line with a remark on the numbers whose test patients its weights saw, or may have seen."""
    facts = _elsewhere(plan, line.variant)
    if facts is None:
        return line

    def remarked(place: int, score: Score) -> Score:
        remark = _remark(facts, columns[place].dataset)
        if not remark or score.mean is None:
            return score
        return replace(score, remark="; ".join(filter(None, [remark, score.remark])))

    return _scores(line, remarked)


def _remark(facts: Mapping[str, Any], dataset: str) -> str:
    """The remark on a column; of Overall (without a dataset) whether any of its columns has one."""
    answers = {facts["saw"].get(dataset, "not known")} if dataset else set(facts["saw"].values())
    if "yes" in answers:
        seen = f"{SAW}: pretrained on {facts['pretrained_on']}"
        return seen if dataset else "it saw test patients of columns that this rests on"
    if "not known" in answers:
        return NOT_KNOWN if dataset else "not known whether it saw the test patients"
    return ""


def _elsewhere_footers(plan: Plan, layout: Layout) -> Iterator[str]:
    """A line for each row with weights from elsewhere: whose patients they saw, licence and signals; one for all."""
    there = {name: facts for name in layout.variants if (facts := _elsewhere(plan, name))}
    datasets = dict.fromkeys(cell.dataset for cell in layout.cells)
    for name, facts in there.items():
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


def elsewhere_costs(plan: Plan, cards: Records) -> list[TextTable]:
    """A table of what weights from elsewhere cost; none without such rows."""
    lines = []
    for variant, own in cards.items():
        facts, card = _elsewhere(plan, variant), next(iter(own.values()), {})
        if facts is None or role_of(plan, variant)["of"] or "embedding" not in card:
            continue
        multiplied = card.get("encoder_multiplications")
        lines.append(
            (
                plan.variants[variant],
                _number(card.get("encoder_parameters")),
                _number(None if multiplied is None else multiplied / MILLION, digits=1),
                _number(facts.get("features")),
                _number(card["embedding"].get("windows")),
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


def _number(value: float | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"


def elsewhere_files(tables: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content; counts without thousands separators."""
    return {"elsewhere.csv": text_csv(tables)} if tables else {}
