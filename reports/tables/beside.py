"""The table of presets side by side: Overall of each method under its own and further presets, and the differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields

from benchmark.results.names import EVALUATION_TITLES, OVERALL
from benchmark.results.plain_text import csv_text
from benchmark.results.plan import Plan
from reports.runs.kept import Kept
from reports.runs.planned_tables import evaluations_of
from reports.runs.run import Run
from reports.statistics.beside import SAME, Beside, beside
from reports.statistics.interval import LEVEL
from reports.statistics.of_table import DIGITS
from reports.tables.captions import ratio_text, unit_text
from reports.tables.latex import latex_table
from reports.tables.text import TextTable
from reports.tables.values import DASH
from reports.tables.verdict import points_text, whose_differences

MINUS = "\N{MINUS SIGN}"
Place = tuple[str, str]
"""Evaluation and unit of scores."""


def beside_of(run: Run, units: Sequence[str], kept: Kept | None = None) -> dict[Place, list[Beside]]:
    """The presets side by side, per evaluation and unit of scores; none without further presets."""
    places = [(evaluation, unit) for evaluation in evaluations_of(run.plan) for unit in units]
    found = {place: beside(run, *place, kept) for place in places}
    return {place: lines for place, lines in found.items() if lines}


def beside_tables(plan: Plan, found: Mapping[Place, Sequence[Beside]]) -> list[TextTable]:
    """A table of Overall per evaluation and unit. found: `beside_of`."""
    return [_table(plan, place, [line for line in lines if line.metric == OVERALL]) for place, lines in found.items()]


def _table(plan: Plan, place: Place, overall: Sequence[Beside]) -> TextTable:
    evaluation, unit = place
    own = str(plan.config["pretrain"]["preset"])
    presets = list(dict.fromkeys(line.preset for line in overall))
    simulated = any(facts.get("simulated") for facts in (*plan.datasets.values(), plan.pretraining))
    sentences = [
        f"Overall (mean of all columns) in percent of each method under preset {own} and beside it, mean over seeds; "
        f"differences in points with {100 * (1 - LEVEL):g} % intervals, not adjusted.",
        f"*: beyond chance, significant at {100 * LEVEL:g} % after Holm's correction over all differences at the label "
        "ratio.",
        whose_differences(plan, max(line.seeds for line in overall)),
        *(["Simulated ECGs: no ranking of methods follows."] if simulated else []),
    ]
    return TextTable(
        name=f"presets-{evaluation}-{unit}",
        title=f"Presets side by side: {EVALUATION_TITLES.get(evaluation, evaluation)}, per {unit_text(plan, unit)}",
        caption=" ".join(sentences),
        header=("Method", "labels", own, *presets, *(f"{preset} {MINUS} {own}" for preset in presets)),
        lines=tuple(_lines(plan, overall, presets, evaluation)),
    )


def _lines(plan: Plan, overall: Sequence[Beside], presets: Sequence[str], evaluation: str) -> Iterator[tuple[str, ...]]:
    of_row: dict[tuple[str, float], dict[str, Beside]] = {}
    for line in overall:
        of_row.setdefault((line.of, line.ratio), {})[line.preset] = line
    for (of, ratio), found in of_row.items():
        own = next(iter(found.values())).own
        means = (found[preset].mean for preset in presets)
        yield (
            plan.variants[of],
            ratio_text(ratio, evaluation),
            *map(_percent, (own, *means)),
            *(_difference(found[preset]) for preset in presets),
        )


def _percent(score: float) -> str:
    return DASH if math.isnan(score) else f"{100 * score:.1f}"


def _difference(line: Beside) -> str:
    """'+3.1 (1.2 to 5.0)*'."""
    if line.remark == SAME or math.isnan(line.difference):
        return SAME if line.remark == SAME else DASH
    text = points_text(100 * line.difference, 100 * line.low, 100 * line.high)
    return f"{text}*" if line.p_holm < LEVEL else text


def beside_files(found: Mapping[Place, Sequence[Beside]], tables: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content: the tables for LaTeX, and every column of theirs as CSV."""
    header = ("evaluation", *(own.name for own in fields(Beside)))
    rows = [(place[0], *map(_plain, asdict(line).values())) for place, lines in found.items() for line in lines]
    tex = [latex_table(table.header, table.lines, table.caption, table.name) for table in tables]
    return {"presets.tex": "\n".join(tex) + "\n", "presets.csv": csv_text(header, rows)}


def _plain(value: object) -> object:
    """A cell of the CSV file: a number rounded, nothing for NaN."""
    return ("" if math.isnan(value) else round(value, DIGITS)) if isinstance(value, float) else value
