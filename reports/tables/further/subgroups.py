"""Tables of scores by sex and age band as texts, LaTeX, Markdown and CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmark.results.metrics import METRICS
from benchmark.results.people.groups import BANDS
from benchmark.results.plain_text import csv_text
from benchmark.results.plan import Plan
from reports.statistics.further.lines import Estimated
from reports.statistics.further.subgroups import FEWEST_OF_CLASS, FEWEST_PATIENTS, SCORES, Group, SubgroupTable
from reports.tables.further.classes import intervals_text, place_name, place_text, plain, shown, text_files
from reports.tables.text import TextTable
from reports.tables.values import DASH
from reports.tables.verdict import points_text

CSV_HEADER = (
    "evaluation", "unit", "dataset", "ratio", "variant", "attribute", "group", "patients", "classes", "reference",
    "metric", "mean", "low", "high", "gap", "gap_low", "gap_high", "seeds", "remark",
)  # fmt: skip
UNKNOWN = (
    "Sex and age of the recordings are not in this store: the same run command adds them, or report --data-root DIR "
    "(--data NAME=DIR)."
)


def subgroup_texts(plan: Plan, found: Sequence[SubgroupTable]) -> list[TextTable]:
    """A table of each place whose patients' groups are known, all but the first folded; else one that says so."""
    if not found:
        return []
    known = sorted((table for table in found if table.groups), key=lambda own: _rank(own, found))
    tables = [_table(plan, table) for table in known]
    without = dict.fromkeys(own.place.dataset for own in found if not own.groups)
    if without:
        titles = ", ".join(str(plan.datasets[name]["title"]) for name in without)
        tables.append(TextTable("subgroups-unknown", titles, UNKNOWN, (), ()))
    return [replace(table, folded=number > 0 and bool(table.lines)) for number, table in enumerate(tables)]


def _rank(own: SubgroupTable, found: Sequence[SubgroupTable]) -> tuple[int, float]:
    order = [(table.place.evaluation, table.place.unit, table.place.dataset) for table in found]
    return order.index((own.place.evaluation, own.place.unit, own.place.dataset)), own.place.ratio


def _table(plan: Plan, table: SubgroupTable) -> TextTable:
    headings = [title for name in SCORES for title in (METRICS[name].title, f"{METRICS[name].title} gap")]
    counted = "; ".join(
        f"{attribute}: {max(own.classes for own in table.groups if own.attribute == attribute)} of {table.all_classes}"
        for attribute in dict.fromkeys(own.attribute for own in table.groups)
    )
    caption = (
        f"{place_text(plan, table.place)}. {intervals_text(plan)} Gap: points to the largest group of the attribute. "
        f"Macro means over the classes with {FEWEST_OF_CLASS} patients with it and {FEWEST_OF_CLASS} without in every "
        f"scored group ({counted} classes), so not those of the results tables. Dash: fewer than {FEWEST_PATIENTS} "
        f"test patients, no such class, or no second group. Age in years, in bands: {', '.join(BANDS)}."
    )
    return TextTable(
        name=f"subgroups-{place_name(table.place)}",
        title=place_text(plan, table.place),
        caption=caption,
        header=("Group and method", "patients", *headings),
        lines=tuple(_lines(plan, table)),
    )


def _lines(plan: Plan, table: SubgroupTable) -> Iterator[tuple[str, ...]]:
    variants = dict.fromkeys(variant for variant, _, _ in table.scores)
    for group in table.groups:
        if not group.classes:
            yield (group.name, f"{group.patients}", *[DASH] * (2 * len(SCORES)))
            continue
        for variant in variants:
            cells = (text for name in SCORES for text in _both(table, variant, group, name))
            yield (f"{group.name}: {plan.variants[variant]}", f"{group.patients}", *cells)


def _both(table: SubgroupTable, variant: str, group: Group, name: str) -> tuple[str, str]:
    own, gap = table.scores[variant, group.name, name]
    return shown(own), "reference" if group.reference else _points(gap)


def _points(gap: Estimated) -> str:
    """'+3.1 (1.2 to 5.0)': a gap in points; a dash where it is not known."""
    if math.isnan(gap.mean):
        return DASH
    if math.isnan(gap.low):
        return f"{100 * gap.mean:+.1f}"
    return points_text(100 * gap.mean, 100 * gap.low, 100 * gap.high)


def subgroup_files(found: Sequence[SubgroupTable], texts: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content: the tables for Markdown and LaTeX, and every number as CSV."""
    there = [text for text in texts if text.lines]
    if not there:
        return {}
    lines = (line for table in found for line in _csv_lines(table))
    return {**text_files("subgroups", "Scores by subgroup", there), "subgroups.csv": csv_text(CSV_HEADER, lines)}


def _csv_lines(table: SubgroupTable) -> Iterator[tuple[object, ...]]:
    place, groups = table.place, {group.name: group for group in table.groups}
    for (variant, name, score), (own, gap) in table.scores.items():
        group = groups[name]
        where = (place.evaluation, place.unit, place.dataset, place.ratio, variant, group.attribute, name)
        facts = (group.patients, group.classes, int(group.reference), score)
        numbers = map(plain, (own.mean, own.low, own.high, gap.mean, gap.low, gap.high))
        yield (*where, *facts, *numbers, own.seeds, "; ".join(filter(None, [own.remark, gap.remark])))
