"""The budget table: each snapshot's epochs, pairs of windows, encoder passes, seconds, and macro F1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from benchmark.results.metrics import TITLES
from benchmark.results.names import EVALUATION_TITLES, OVERALL
from benchmark.results.plain_text import csv_text
from reports.runs.planned_tables import evaluations_of
from reports.runs.run import Run
from reports.statistics.bands import bands
from reports.statistics.budget_curve import PASSES, SECONDS, WINDOWS, BudgetCurve, budget_curves
from reports.tables.captions import labels_text, ratio_stem, unit_text
from reports.tables.latex import latex_table
from reports.tables.text import TextTable
from reports.tables.values import DASH

HEADER = ("Method", "epochs", "window pairs", "encoder passes", "seconds")


def budget_tables(run: Run, units: Sequence[str]) -> list[TextTable]:
    """A table per evaluation, unit of scores and label ratio with snapshots of a method; none without snapshots."""
    return [
        _table(run, evaluation, unit, curve)
        for evaluation in evaluations_of(run.plan)
        for unit in units
        for curve in budget_curves(run, bands(run.tidy, evaluation, unit))
    ]


def _table(run: Run, evaluation: str, unit: str, curve: BudgetCurve) -> TextTable:
    plan, there = run.plan, set(curve.points["dataset"])
    columns = {name: str(facts["title"]) for name, facts in plan.datasets.items() if name in there}
    columns |= {OVERALL: TITLES[OVERALL]} if OVERALL in there else {}
    how = f"{EVALUATION_TITLES.get(evaluation, evaluation)}, per {unit_text(plan, unit)}"
    simulated = any(facts.get("simulated") for facts in (*plan.datasets.values(), plan.pretraining))
    sentences = [
        f"Macro F1 in percent, mean±std over seeds, with {labels_text(curve.ratio, evaluation)}, of pretrainings of "
        "different length, and what each cost alone, shared updates included.",
        "Encoder passes: one per window forwards, two backwards.",
        *([f"Seconds: on {curve.machine}."] if curve.machine else []),
        *(["Simulated ECGs: no ranking of methods follows."] if simulated else []),
    ]
    return TextTable(
        name=f"budget-{evaluation}-{unit}-{ratio_stem(curve.ratio, evaluation)}",
        title=f"Budget curves: {how}, {labels_text(curve.ratio, evaluation)}",
        caption=" ".join(sentences),
        header=(*HEADER, *columns.values()),
        lines=tuple(_lines(run, curve.points, list(columns))),
    )


def _lines(run: Run, points: pd.DataFrame, datasets: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for _, own in points.groupby("variant", sort=False):
        first = own.iloc[0]
        scores = {row["dataset"]: _score(row["mean"], row["std"]) for row in own.to_dict("records")}
        yield (
            run.plan.variants.get(first["of"], str(first["of"])),
            f"{first['epochs']:g}",
            *(DASH if math.isnan(first[cost]) else f"{first[cost]:,.0f}" for cost in (WINDOWS, PASSES, SECONDS)),
            *(scores.get(dataset, DASH) for dataset in datasets),
        )


def _score(mean: float, std: float) -> str:
    return f"{mean:.1f}" if math.isnan(std) else f"{mean:.1f}±{std:.1f}"


def budget_files(tables: Sequence[TextTable]) -> dict[str, str]:
    """File name -> content."""
    tex = [latex_table(table.header, table.lines, table.caption, table.name) for table in tables]
    header = dict.fromkeys(heading for table in tables for heading in table.header)
    plain = []
    for table in tables:
        for line in table.lines:
            told = dict(zip(table.header, line, strict=True))
            plain.append([table.name, *(told.get(heading, DASH).replace(",", "") for heading in header)])
    return {"budget.tex": "\n".join(tex) + "\n", "budget.csv": csv_text(("table", *header), plain)}
