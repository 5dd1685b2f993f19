"""Rows whose weights come from elsewhere: the mark of test patients that they saw, their footers, dashes and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmark.results.plain_text import csv_text
from benchmark.results.plan import Plan, PlannedCell
from reports.runs.cards import Cards, machine_of
from reports.runs.planned_tables import Layout, role_of, unserved
from reports.tables.text import TextTable
from reports.tables.values import DASH, Column, Line, Score

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
                f"{card['embedding'].get('seconds', 0):.2f}",
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
    lines = [[_plain(text) for text in line] for own in tables for line in own.lines]
    return {"elsewhere.csv": csv_text(HEADER, lines)} if lines else {}


def _plain(text: str) -> str:
    return text.replace(",", "") if text.replace(",", "").replace(".", "").isdigit() else text
