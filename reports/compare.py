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
from reports.results import Results, coordinates, is_identical
from reports.words import mean_text, ratio_text, write_files

NUMBER = ["evaluation", "variant", "ratio", "dataset", "metric"]
MAX_PRINTED = 20
"""Lines of a table on the console; the files have all."""


class Comparison(NamedTuple):
    """What `report --compare` and `report --beside` write and print."""

    name: str
    """Name of the files, without ending."""
    summary: list[str]
    settings: pd.DataFrame
    """The settings that differ; empty beside printed numbers."""
    table: pd.DataFrame
    """A line per number, the largest difference first, for reading."""
    numbers: pd.DataFrame
    """A line per number, in percent, unrounded."""


def compare(first: Results, second: Results, unit: str | None = None) -> Comparison:
    """Compare two runs, A and B, in a score unit; by default that of the first one's protocol."""
    unit = unit or UNIT_OF_PROTOCOL[first.plan.config["protocol"]]
    one, two = ({coordinates(cell): cell.key for cell, _ in run.finished} for run in (first, second))
    identical = [is_identical(first, one[cell], second, two[cell]) for cell in one if cell in two]
    sides = [percents(first, unit, "a"), percents(second, unit, "b")]
    by_cell = sides[0].merge(sides[1], on=[*NUMBER, "seed", "subset"], how="outer", sort=False)
    shared = by_cell[["a", "b"]].notna().all(axis=1)
    alone = ~shared.groupby([by_cell[name] for name in NUMBER]).transform("any")
    frame = over_seeds(by_cell[shared | alone])
    for side, run in {"a_std": first, "b_std": second}.items():
        frame[side] = frame[side].where(run.varies(frame))
    frame = frame.sort_values("difference", key=abs, ascending=False, kind="stable", ignore_index=True)
    both = frame.dropna(subset=["difference"])
    differing = both[both["difference"] != 0]
    summary = [
        f"A: {first.name}",
        f"B: {second.name}",
        f"Cells: {len(identical)} in both, {sum(identical)} identical to the bit, {len(one) - len(identical)} "
        f"only in A, {len(two) - len(identical)} only in B.",
        f"Numbers per {unit}, mean±std over the seeds and labelled subsets that both runs have: {len(both)} in both, "
        f"{len(both) - len(differing)} of them equal, {len(frame) - len(both)} in one run only.",
    ]
    if reasons := incompatible(second, first):
        summary.append(f"The runs do not belong into one table: in B {'; '.join(reasons)}.")
    lines = [(name, *values) for name, values in differing_facts(first, second).items()]
    settings = pd.DataFrame(lines, columns=["setting", "A", "B"])
    return Comparison("compare", summary, settings, readable(differing, titles_of(second) | titles_of(first)), frame)


def beside(results: Results, source: str, unit: str | None = None) -> Comparison:
    """Hold the numbers of a run against those that a source prints; rows and datasets are matched by their names."""
    unit = unit or UNIT_OF_PROTOCOL[results.plan.config["protocol"]]
    printed = pd.DataFrame([number for number in numbers() if number.source == source])
    printed = printed.rename(columns={"percent": "b", "std": "b_std", "column": "dataset"})
    printed["variant"] = printed["row"].map({title: name for name, title in results.plan.variants.items()})
    here = over_seeds(percents(results, unit, "a"))
    here["a_std"] = here["a_std"].where(results.varies(here))
    frame = here.merge(printed[[*NUMBER, "b", "b_std"]], on=NUMBER)
    frame["difference"] = frame["b"] - frame["a"]
    facts = sources()[source]
    summary = [
        f"A: {results.name}, per {unit}",
        f"B: {facts.cite}. Protocol: {facts.protocol}. Differs: {facts.differs}.",
        f"{len(frame)} numbers are in both, {len(printed) - len(frame)} of B are not in A.",
    ]
    return Comparison(f"beside-{source}", summary, pd.DataFrame(), readable(frame, titles_of(results)), frame)


def percents(results: Results, unit: str, side: str) -> pd.DataFrame:
    """Return a line per cell of each number of the tables: `NUMBER`, seed, subset, and percent, named `side`."""
    scores = results.scores.dropna(subset=["value"])
    scores = scores[(scores["unit"] == unit) & scores["metric"].isin(list(COLUMNS))]
    return scores.assign(**{side: 100 * scores["value"]})[[*NUMBER, "seed", "subset", side]]


def over_seeds(by_cell: pd.DataFrame) -> pd.DataFrame:
    """Return means and deviations of A, and where it is there of B, over the seeds' means, and B - A."""
    sides = [side for side in ("a", "b") if side in by_cell]
    by_seed = by_cell.groupby([*NUMBER, "seed"], sort=False)[sides].mean().reset_index()
    how: dict[str, Any] = {}
    for side in sides:
        how |= {side: (side, "mean"), f"{side}_std": (side, "std"), f"{side}_seeds": (side, "count")}
    frame: pd.DataFrame = by_seed.groupby(NUMBER, sort=False).agg(**how).reset_index()
    return frame.assign(difference=frame["b"] - frame["a"]) if "b" in frame else frame


def titles_of(results: Results) -> dict[str, str]:
    """Map rows and datasets to their titles."""
    return results.plan.variants | results.plan.titles


def readable(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return numbers as a table to read: titles, percent with deviation, and the difference."""
    table = pd.DataFrame({"Method": frame["variant"].map(titles), "Dataset": frame["dataset"].map(titles)})
    table["Labels"] = frame["ratio"].map(ratio_text)
    table["Metric"] = frame["metric"].map(TITLES)
    table["Evaluation"] = [EVALUATION_TITLES.get(name, name) for name in frame["evaluation"]]
    for side in ("a", "b"):
        pairs = zip(frame[side], frame[f"{side}_std"], strict=True)
        table[side.upper()] = [mean_text(*pair) for pair in pairs]
    table["B − A"] = [f"{difference:+.1f}" for difference in frame["difference"]]
    return table


def write_comparison(comparison: Comparison, out: Path) -> list[Path]:
    """Write a comparison as Markdown and CSV; return the files."""
    parts = [f"- {line}" for line in comparison.summary]
    for title, table in (("Settings that differ", comparison.settings), ("Numbers that differ", comparison.table)):
        if len(table):
            parts += ["", f"## {title}", "", table.to_markdown(index=False, disable_numparse=True)]
    numbers_csv = comparison.numbers.to_csv(index=False, lineterminator="\n")
    return write_files(out, {f"{comparison.name}.md": "\n".join(parts) + "\n", f"{comparison.name}.csv": numbers_csv})


def printed_lines(comparison: Comparison) -> list[str]:
    """Return what the console shows: the summary, the settings that differ, and the largest differences."""
    lines = list(comparison.summary)
    lines += [f"{name}: {one} in A, {two} in B" for name, one, two in comparison.settings.itertuples(index=False)]
    shown_table = comparison.table.head(MAX_PRINTED)
    if len(shown_table):
        lines += ["", shown_table.to_markdown(index=False, tablefmt="simple", disable_numparse=True)]
    return lines
