"""A run held against another run, or against the numbers that a paper prints.

Of two runs, a number is the mean over the seeds and labelled subsets that both have, or over a run's own where they
share none; a cell is identical where its scores and predictions have the same bits. Differences are not tested:
`report --results A B` puts runs of the same settings into one table, which tests them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmark.results.metrics import COLUMNS, TITLES
from benchmark.results.names import EVALUATION_TITLES, UNIT_OF_PROTOCOL, numbers, sources
from reports.load import differing_facts, incompatible
from reports.results import Run, coordinates, is_identical
from reports.words import mean_text, ratio_text, write_files

NUMBER = ["evaluation", "variant", "ratio", "dataset", "metric"]
MAX_PRINTED = 20
"""Lines of a table on the console; the files have all."""


class Comparison(NamedTuple):
    """Frames and lines that `report --compare` and `report --beside` write and print."""

    name: str
    """Name of the files, without ending."""
    summary: list[str]
    settings: pd.DataFrame
    """The settings that differ; empty beside printed numbers."""
    table: pd.DataFrame
    """A line per number, the largest difference first, for reading."""
    numbers: pd.DataFrame
    """A line per number, in percent, unrounded."""


def compare(first: Run, second: Run, unit: str | None = None) -> Comparison:
    """Compare two runs, A and B, in a score unit; by default that of the first one's protocol."""
    unit = unit or UNIT_OF_PROTOCOL[first.plan.config["protocol"]]
    frame = paired_numbers(first, second, unit)
    in_both = frame.dropna(subset=["difference"])
    differing = in_both[in_both["difference"] != 0]
    equal = len(in_both) - len(differing)
    alone = len(frame) - len(in_both)
    summary = [
        f"A: {first.name}",
        f"B: {second.name}",
        cells_text(first, second),
        f"Numbers per {unit}, mean±std over the seeds and labelled subsets that both runs have: {len(in_both)} in "
        f"both, {equal} of them equal, {alone} in one run only.",
    ]
    reasons = incompatible(second, first)
    if reasons:
        summary.append(f"The runs do not belong into one table: in B {'; '.join(reasons)}.")
    lines = [(name, *values) for name, values in differing_facts(first, second).items()]
    settings = pd.DataFrame(lines, columns=["setting", "A", "B"])
    table = readable(differing, titles_of(second) | titles_of(first))
    return Comparison("compare", summary, settings, table, frame)


def paired_numbers(first: Run, second: Run, unit: str) -> pd.DataFrame:
    """Average the numbers of A and B over the cells that both have, else over their own, the largest difference first.

    Columns: `NUMBER`, mean, deviation and seeds of each run, and the difference B - A.
    """
    identity = [*NUMBER, "seed", "subset"]
    first_percents = percents(first, unit, "a")
    second_percents = percents(second, unit, "b")
    by_cell = first_percents.merge(second_percents, on=identity, how="outer", sort=False)
    is_shared = by_cell[["a", "b"]].notna().all(axis=1)
    number = [by_cell[name] for name in NUMBER]
    has_shared = is_shared.groupby(number).transform("any")
    frame = over_seeds(by_cell[is_shared | ~has_shared])
    frame["a_std"] = frame["a_std"].where(first.varies(frame))
    frame["b_std"] = frame["b_std"].where(second.varies(frame))
    return frame.sort_values("difference", key=abs, ascending=False, kind="stable", ignore_index=True)


def cells_text(first: Run, second: Run) -> str:
    """Count the finished cells of two runs: in both, identical, and in one only."""
    first_keys = {coordinates(cell): cell.key for cell, _ in first.finished}
    second_keys = {coordinates(cell): cell.key for cell, _ in second.finished}
    shared = first_keys.keys() & second_keys.keys()
    identical = sum(is_identical(first, first_keys[cell], second, second_keys[cell]) for cell in shared)
    return (
        f"Cells: {len(shared)} in both, {identical} identical to the bit, {len(first_keys) - len(shared)} "
        f"only in A, {len(second_keys) - len(shared)} only in B."
    )


def beside(results: Run, source: str, unit: str | None = None) -> Comparison:
    """Hold the numbers of a run against those that a source prints; rows and datasets are matched by their names."""
    unit = unit or UNIT_OF_PROTOCOL[results.plan.config["protocol"]]
    variant_of = {title: name for name, title in results.plan.variants.items()}
    printed = pd.DataFrame([number for number in numbers() if number.source == source])
    printed = printed.rename(columns={"percent": "b", "std": "b_std", "column": "dataset"})
    printed["variant"] = printed["row"].map(variant_of)
    printed = printed[[*NUMBER, "b", "b_std"]]
    measured = over_seeds(percents(results, unit, "a"))
    measured["a_std"] = measured["a_std"].where(results.varies(measured))
    frame = measured.merge(printed, on=NUMBER)
    frame["difference"] = frame["b"] - frame["a"]
    facts = sources()[source]
    summary = [
        f"A: {results.name}, per {unit}",
        f"B: {facts.cite}. Protocol: {facts.protocol}. Differs: {facts.differs}.",
        f"{len(frame)} numbers are in both, {len(printed) - len(frame)} of B are not in A.",
    ]
    table = readable(frame, titles_of(results))
    return Comparison(f"beside-{source}", summary, pd.DataFrame(), table, frame)


def percents(results: Run, unit: str, side: str) -> pd.DataFrame:
    """Return a line per cell of each number of the tables: `NUMBER`, seed, subset, and percent, named `side`."""
    scores = results.scores.dropna(subset=["value"])
    is_shown = scores["metric"].isin(list(COLUMNS))
    scores = scores[is_shown & (scores["unit"] == unit)]
    scores = scores.assign(**{side: 100 * scores["value"]})
    return scores[[*NUMBER, "seed", "subset", side]]


def over_seeds(by_cell: pd.DataFrame) -> pd.DataFrame:
    """Return means and deviations of A, and where it is there of B, over the seeds' means, and B - A."""
    sides = [side for side in ("a", "b") if side in by_cell]
    by_seed = by_cell.groupby([*NUMBER, "seed"], sort=False)[sides].mean().reset_index()
    how: dict[str, Any] = {}
    for side in sides:
        how[side] = (side, "mean")
        how[f"{side}_std"] = (side, "std")
        how[f"{side}_seeds"] = (side, "count")
    frame: pd.DataFrame = by_seed.groupby(NUMBER, sort=False).agg(**how).reset_index()
    if "b" in frame:
        frame["difference"] = frame["b"] - frame["a"]
    return frame


def titles_of(results: Run) -> dict[str, str]:
    """Map rows and datasets to their titles."""
    return results.plan.variants | results.plan.titles


def readable(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return numbers as a table to read: titles, percent with deviation, and the difference."""
    table = pd.DataFrame()
    table["Method"] = frame["variant"].map(titles)
    table["Dataset"] = frame["dataset"].map(titles)
    table["Labels"] = frame["ratio"].map(ratio_text)
    table["Metric"] = frame["metric"].map(TITLES)
    table["Evaluation"] = [EVALUATION_TITLES.get(name, name) for name in frame["evaluation"]]
    for side in ("a", "b"):
        pairs = zip(frame[side], frame[f"{side}_std"], strict=True)
        table[side.upper()] = [mean_text(mean, std) for mean, std in pairs]
    table["B − A"] = [f"{difference:+.1f}" for difference in frame["difference"]]
    return table


def write_comparison(comparison: Comparison, out: Path) -> list[Path]:
    """Write a comparison as Markdown and CSV; return the files."""
    parts = [f"- {line}" for line in comparison.summary]
    chapters = {"Settings that differ": comparison.settings, "Numbers that differ": comparison.table}
    for title, table in chapters.items():
        if len(table):
            markdown = table.to_markdown(index=False, disable_numparse=True)
            parts += ["", f"## {title}", "", markdown]
    files = {
        f"{comparison.name}.md": "\n".join(parts) + "\n",
        f"{comparison.name}.csv": comparison.numbers.to_csv(index=False, lineterminator="\n"),
    }
    return write_files(out, files)


def printed_lines(comparison: Comparison) -> list[str]:
    """Return what the console shows: the summary, the settings that differ, and the largest differences."""
    lines = list(comparison.summary)
    for name, first, second in comparison.settings.itertuples(index=False):
        lines.append(f"{name}: {first} in A, {second} in B")
    shown_table = comparison.table.head(MAX_PRINTED)
    if len(shown_table):
        text = shown_table.to_markdown(index=False, tablefmt="simple", disable_numparse=True)
        lines += ["", text]
    return lines
