"""The tables of a run: one frame of scores per table, and its Markdown and CSV (LaTeX: `reports.latex`).

The layout is that of Table 1 of the PMQ paper: blocks of label ratios, rows of methods, metrics of each dataset;
Overall, the mean of the columns, comes first, with its 95 % interval. Baselines and printed numbers of other groups are
rows in italics, not ranked and part of no statistic. Rows whose weights come from elsewhere are marked where they saw
the test patients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmark.results.metrics import FURTHER, METRICS, TITLES, Headline
from benchmark.results.names import EVALUATION_TITLES, OVERALL, numbers, visible
from benchmark.results.store import Plan, PlannedCell
from reports.computers import computer_text, computers_of
from reports.footers import about_headline, about_scores, footers, unlabelled_classes
from reports.inference import LEVEL, NEAR, TableStatistics, both_ways
from reports.layouts import Layout, role_of
from reports.results import SCORES, Run, coordinates, mean_over_subsets, values_of
from reports.verdict import Verdict, verdict
from reports.words import and_text, escape_markdown, labels_text, mean_text, row_title, unit_text

DASH = "–"
MARKS = [letter * times for times in (1, 2, 3) for letter in "abcdefghijklmnoprstuvwxyz"]
"""Marks of footnotes, in the order in which they are used."""
CSV_COLUMNS = [
    "evaluation", "unit", "ratio", "variant", "title", "dataset", "metric", "mean_percent", "std_percent",
    "low_percent", "high_percent", "n", "planned", "best", "tie", "remark", "keys",
]  # fmt: skip
COLUMN = ["ratio", "dataset", "metric"]
NO_NUMBER: dict[str, Any] = {"mean_percent": np.nan, "std_percent": np.nan, "n": 0, "planned": 0, "keys": ""}
SEEN = "saw these test patients"


@dataclass(frozen=True)
class Table:
    """One table in one score unit."""

    name: str
    """Unique within a report, fit for a file name or a LaTeX label."""
    title: str
    layout: Layout
    scores: pd.DataFrame
    """One line per number: `CSV_COLUMNS`, and `baseline`, `mark`. n, planned: seeds in the mean (Overall: columns)."""
    shares: Mapping[float, str]
    """Label ratio -> heading of its block, from the top."""
    groups: Mapping[str, str]
    """Dataset -> title, in column order."""
    headings: Mapping[tuple[str, str], str]
    """Dataset and metric -> footnote mark of a heading."""
    footnotes: Mapping[str, str]
    """Mark -> text."""
    about: str
    """Cells of which the numbers are means, and meaning of their marks."""
    about_headline: str
    verdict: Verdict
    footers: Sequence[str]

    def caption(self, metrics: Sequence[str] = ()) -> str:
        """Return the caption of all columns, or of those of some metrics."""
        words = and_text([METRICS[metric].words for metric in metrics or self.layout.metrics])
        text = f"{words[0].upper()}{words[1:]} in percent, {self.about}"
        if self.layout.headline.metrics[0] in (metrics or self.layout.metrics):
            text = f"{text} {self.about_headline}".rstrip()
        return text


class Style(NamedTuple):
    """Notation of the parts of a number."""

    text: Callable[[str], str]
    bold: str
    italic: str
    spread: str
    tie: str
    mark: str
    interval: str = " ({} to {})"
    """Interval of the headline."""


def make_table(results: Run, layout: Layout, unit: str, statistics: TableStatistics) -> Table:
    """Make a table in one score unit; with empty statistics it has no ties and no verdict."""
    plan = results.plan
    measured = _scores(results, layout, unit)
    printed = pd.DataFrame(_printed(plan, layout, measured))
    scores = pd.concat([measured, printed], ignore_index=True)
    scores = with_marks(scores, statistics.pairs, plan.headline)
    scores = with_intervals(scores, statistics.intervals)
    scores["evaluation"] = layout.evaluation
    scores["unit"] = unit
    unlabelled = unlabelled_classes(results, layout.cells) if "f1" in layout.metrics else {}
    footnotes = dict.fromkeys([*unlabelled.values(), *filter(None, scores["remark"])])
    marks = dict(zip(footnotes, MARKS, strict=False))
    scores["mark"] = [marks.get(remark, "") for remark in scores["remark"]]
    shown = set(scores["dataset"])
    name = f"{layout.evaluation}-{unit}"
    title = f"{EVALUATION_TITLES[layout.evaluation]}, scored per {unit_text(plan, unit)}"
    if layout.name:
        name += f"-{layout.name.replace('_', '-')}"
        title = f"{layout.title}: {title[0].lower()}{title[1:]}"
    return Table(
        name=name,
        title=title,
        layout=layout,
        scores=scores,
        shares={ratio: labels_text(ratio) for ratio in layout.ratios},
        groups={dataset: title for dataset, title in plan.titles.items() if dataset in shown},
        headings={(dataset, "f1"): marks[text] for dataset, text in unlabelled.items()},
        footnotes={mark: text for text, mark in marks.items()},
        about=about_scores(results, layout),
        about_headline=about_headline(layout, statistics.intervals),
        verdict=verdict(results, layout, statistics),
        footers=footers(results, layout, unit, statistics),
    )


def further_scores(results: Run, layout: Layout, unit: str) -> pd.DataFrame:
    """Score the predictions of a table's cells by the metrics that no row holds: lines like `Run.scores`."""
    metrics = [metric for metric in layout.metrics if metric in FURTHER]
    finished = [cell for cell in layout.cells if cell.key in results.rows]
    lines = []
    computed: dict[str, list[float]] = {}
    for cell in finished if metrics else ():
        equal = results.first_of_equals[cell.key]
        if equal not in computed:
            test = results.test_outputs(cell.key, unit)
            multi = results.rows[cell.key].labels == "multi"
            computed[equal] = values_of(metrics, test, multi, layout.headline)
        for name, value in zip(metrics, computed[equal], strict=True):
            reason = METRICS[name].undefined if np.isnan(value) else ""
            lines.append((*coordinates(cell), unit, name, value, reason, cell.key))
    return pd.DataFrame(lines, columns=list(SCORES)).astype({"value": float})


def _scores(results: Run, layout: Layout, unit: str) -> pd.DataFrame:
    """Return a line per row, label ratio, dataset and metric, in percent, in the order of the table; Overall first."""
    plan = results.plan
    values = results.scores.query("evaluation == @layout.evaluation and unit == @unit")
    further = further_scores(results, layout, unit)
    if len(further):
        values = pd.concat([values, further], ignore_index=True)
    values = mean_over_subsets(values)
    groups = dict(iter(values.groupby(["ratio", "variant", "dataset", "metric"])))
    tested = {cell.dataset for cell in layout.cells}
    datasets = [name for name in plan.datasets if name in tested]
    lines = []
    for ratio, variant in product(layout.ratios, layout.variants):
        cells = [cell for cell in layout.cells if cell.variant == variant and cell.ratio == ratio]
        if not cells:
            continue
        title = row_title(plan, variant)
        mark = results.marks.get((layout.evaluation, variant))
        if mark:
            title += f" ({mark})"
        row = {"ratio": ratio, "variant": variant, "title": title, "baseline": variant in layout.baselines}
        columns = []
        for dataset, metric in product(datasets, layout.metrics):
            planned = [cell for cell in cells if cell.dataset == dataset]
            group = groups.get((ratio, variant, dataset, metric), values[:0])
            seen = _seen_in_pretraining(plan, variant, dataset)
            number = _number(results, planned, group, seen)
            columns.append(row | {"dataset": dataset, "metric": metric} | number)
        averaged = [column for column in columns if column["metric"] in layout.headline.metrics]
        lines.append(row | _overall(averaged, layout.headline))
        lines += columns
    return pd.DataFrame(lines)


def _number(results: Run, planned: Sequence[PlannedCell], group: pd.DataFrame, seen: str) -> dict[str, Any]:
    """Compute mean and deviation over seeds of the planned cells of a row and column.

    group: the scores of these cells in [0, 1], a line per seed. seen: the remark of `_seen_in_pretraining`.
    """
    finished = [cell for cell in planned if cell.key in results.rows]
    seeds = len({cell.seed for cell in finished})
    percent = 100 * group["value"].dropna()  # (seeds that have a score,)
    deviation = percent.std(ddof=1) if results.varies(group).any() else np.nan
    remarks = []
    if not planned:
        remarks.append("not planned")
    if seen and len(percent):
        remarks.append(seen)
    if len(finished) < len(planned):
        remarks.append(f"{len(finished)} of {len(planned)} cells finished")
    if len(percent) < seeds:
        undefined = group.loc[group["value"].isna(), "undefined"]
        reasons = ", ".join(dict.fromkeys(undefined)) or "not scored"
        remarks.append(f"undefined in {seeds - len(percent)} of {seeds} finished seeds: {reasons}")
    return {
        "mean_percent": percent.mean(), "std_percent": deviation, "n": len(percent),
        "planned": len({cell.seed for cell in planned}), "remark": "; ".join(remarks),
        "keys": " ".join(cell.key for cell in finished),
    }  # fmt: skip


def _overall(columns: Sequence[Mapping[str, Any]], headline: Headline) -> dict[str, Any]:
    """Compute the headline, the mean of the columns of a row that have a number."""
    means = [column["mean_percent"] for column in columns if column["n"]]
    keys = " ".join(column["keys"] for column in columns).split()
    remarks = []
    if not means:
        remarks.append(columns[0]["remark"])
    elif len(means) < len(columns):
        remarks.append(f"{headline.title} of {len(means)} of {len(columns)} columns")
    if any(SEEN in column["remark"] for column in columns):
        remarks.append("it may have seen test patients of these columns in pretraining")
    return {
        "dataset": "", "metric": OVERALL, "mean_percent": np.mean(means) if means else np.nan, "std_percent": np.nan,
        "n": len(means), "planned": len(columns), "remark": "; ".join(remarks), "keys": " ".join(dict.fromkeys(keys)),
    }  # fmt: skip


def with_intervals(scores: pd.DataFrame, intervals: pd.DataFrame) -> pd.DataFrame:
    """Add `low_percent` and `high_percent`, the ends of the 95 % interval of each number that has one."""
    names = {"low": "low_percent", "high": "high_percent"}
    ends = intervals[[*COLUMN, "variant", *names]].rename(columns=names)
    ends = ends.astype(dict.fromkeys(("ratio", *names.values()), float))
    ends[[*names.values()]] *= 100
    return scores.merge(ends, "left", [*COLUMN, "variant"])


def with_marks(scores: pd.DataFrame, pairs: pd.DataFrame, headline: Headline) -> pd.DataFrame:
    """Mark the best of each column and label ratio, all that print the same, and what is not separable from them.

    Nothing is marked where only one row has a number. A headline competes only if it covers every column that any row
    of the block has a number in. tie: a row within `NEAR` of the best that no best row significantly differs from.
    """
    pairs = both_ways(pairs)
    tests_of = dict(iter(pairs.groupby(COLUMN)))
    marks = pd.DataFrame({"best": False, "tie": False}, index=scores.index)
    for column, rows in _competing(scores, headline).groupby(COLUMN):
        if len(rows) == 1:
            continue
        tests = tests_of.get(column, pairs[:0])
        value = rows["mean_percent"]
        if column[-1] in METRICS and METRICS[column[-1]].lower_is_better:
            value = -value
        printed = value.map("{:.1f}".format).astype(float)
        is_best = printed == printed.max()
        is_near = value >= value.max() - 100 * NEAR
        against_best = tests[tests["reference"].isin(rows["variant"][is_best])]
        separable = against_best[against_best["p_holm"] < LEVEL]
        is_tested = rows["variant"].isin(tests["variant"])
        is_separable = rows["variant"].isin(separable["variant"])
        marks.loc[rows.index, "best"] = is_best
        marks.loc[rows.index, "tie"] = ~is_best & is_near & is_tested & ~is_separable
    return scores.assign(best=marks["best"], tie=marks["tie"])


def _competing(scores: pd.DataFrame, headline: Headline) -> pd.DataFrame:
    """Return the numbers that are ranked: no baseline, and no headline that lacks a column of its block."""
    ranked = scores[~scores["baseline"] & scores["mean_percent"].notna()]
    columns = ranked[ranked["metric"].isin(headline.metrics)].drop_duplicates(COLUMN)
    most = ranked["ratio"].map(columns.groupby("ratio").size())
    return ranked[(ranked["metric"] != OVERALL) | (ranked["n"] == most)]


def _seen_in_pretraining(plan: Plan, variant: str, dataset: str) -> str:
    """Return the remark on a number whose test patients the row's weights from elsewhere saw, or may have seen."""
    weights = role_of(plan, variant).get("external")
    if weights is None or weights["saw"][dataset] == "no":
        return ""
    if weights["saw"][dataset] == "yes":
        return f"{SEEN} in pretraining, on {weights['pretrained_on']}"
    return f"not known whether it {SEEN}"


def _printed(plan: Plan, layout: Layout, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the printed numbers of the plan's sources that the comparison has a column for, as baselines."""
    if layout.name:
        return
    columns = set(scores[COLUMN].itertuples(index=False, name=None))
    for number in numbers():
        is_chosen = number.source in plan.config["printed"] and number.evaluation == layout.evaluation
        column = (number.ratio, number.column, number.metric)
        if not is_chosen or column not in columns:
            continue
        line = NO_NUMBER | dict(zip(COLUMN, column, strict=True))
        line["variant"] = f"printed:{number.source}:{number.row}"
        line["title"] = f"{number.row} (printed: {number.source})"
        line["baseline"] = True
        line["mean_percent"] = number.percent
        line["std_percent"] = number.std or np.nan
        line["remark"] = ""
        if number.again:
            line["remark"] = f"printed; {number.again:g} where it was run again by {number.by}"
        yield line


def number_text(score: Mapping[Any, Any], style: Style) -> str:
    """Return '**70.1**±0.8', '57.2 (55.0 to 59.3) ≈': a line of `Table.scores`; a dash where there is no number."""
    text = mean_text(score["mean_percent"])
    if score["best"]:
        text = style.bold.format(text)
    if not np.isnan(score["std_percent"]):
        text += style.spread.format(f"{score['std_percent']:.1f}")
    if not score["dataset"] and score["low_percent"] < score["high_percent"]:
        text += style.interval.format(f"{score['low_percent']:.1f}", f"{score['high_percent']:.1f}")
    if score["tie"]:
        text += style.tie
    if score["mark"]:
        text += style.mark.format(score["mark"])
    return text


def wide(table: Table, ratio: float, style: Style, columns: Sequence[tuple[str, str]] = ()) -> pd.DataFrame:
    """Return the block of a label ratio as texts: rows x (dataset, metric), Overall first.

    columns: by default all of the table, the dataset of the headline being ''.
    """
    titles: dict[str, str] = {}
    texts: dict[tuple[str, str, str], str] = {}
    block = table.scores[table.scores["ratio"] == ratio]
    for score in block.to_dict("records"):
        variant = score["variant"]
        title = style.text(score["title"])
        titles[variant] = style.italic.format(title) if score["baseline"] else title
        texts[variant, score["dataset"], score["metric"]] = number_text(score, style)
    rows: dict[str, list[str]] = {variant: [] for variant in titles}
    headings = []
    for dataset, metric in columns or [("", OVERALL), *product(table.groups, table.layout.metrics)]:
        heading = table.layout.headline.title if metric == OVERALL else TITLES[metric]
        if (dataset, metric) in table.headings:
            heading += style.mark.format(table.headings[dataset, metric])
        headings.append((style.text(table.groups.get(dataset, "")), heading))
        for variant, row in rows.items():
            row.append(texts.get((variant, dataset, metric), DASH))
    index = pd.Index(titles.values(), name="Method")
    return pd.DataFrame(list(rows.values()), index, pd.MultiIndex.from_tuples(headings))


MARKDOWN = Style(
    text=escape_markdown,
    bold="**{}**",
    italic="*{}*",
    spread="±{}",
    tie=" ≈",
    mark="<sup>{}</sup>",
)


def to_markdown(table: Table) -> str:
    """Write heading, answer of the verdict, caption, one table per label ratio, notes."""
    text = MARKDOWN.text
    parts = [f"## {text(table.title)}", *map(text, table.verdict.lines), text(table.caption())]
    for ratio, share in table.shares.items():
        block = wide(table, ratio, MARKDOWN)
        block.columns = [" ".join(column).strip() for column in block.columns]
        align = ["left"] + ["right"] * len(block.columns)
        parts.append(f"### {share}")
        parts.append(block.to_markdown(disable_numparse=True, colalign=align))
    if table.footnotes:
        notes = [f"<sup>{mark}</sup> {text(note)}" for mark, note in table.footnotes.items()]
        parts.append("  \n".join(notes))
    lines = [f"- {text(line)}" for line in (*table.verdict.differences, *table.footers)]
    parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


TEX = str.maketrans({
    "\\": r"\textbackslash{}", **{character: f"\\{character}" for character in "&%$#_{}"}, "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "]": "{]}", "±": r"$\pm$",
    "−": "$-$", "≈": r"$\approx$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "µ": r"$\mu$", "τ": r"$\tau$",
    "λ": r"$\lambda$", "\n": " ",
})  # fmt: skip


def escape_latex(text: str) -> str:
    """Return text whose characters have no meaning in LaTeX."""
    return visible(text).translate(TEX)


LATEX = Style(
    text=escape_latex,
    bold=r"\textbf{{{}}}",
    italic=r"\textit{{{}}}",
    spread=r"{{\tiny$\pm${}}}",
    tie=r"\,$\approx$",
    mark=r"$^{{\mathrm{{{}}}}}$",
    interval=r" {{\tiny({}--{})}}",
)


def to_csv(tables: Sequence[Table]) -> str:
    """Write one line per number of the tables: unrounded percent, and the keys of its cells."""
    frames = [table.scores[CSV_COLUMNS].astype({"best": int, "tie": int}) for table in tables]
    return str(pd.concat(frames).to_csv(index=False, lineterminator="\n"))


COSTS = {
    "parameters": "parameters", "of the encoder": "encoder_parameters", "batch": "batch_size", "updates": "updates",
    "encoder passes": "encoder_passes", "seconds": "seconds", "peak GiB": "peak_memory_gib",
    "million multiplications": "encoder_multiplications",
}  # fmt: skip
"""Column -> entry of a pretraining's record."""


def costs_table(results: Run) -> pd.DataFrame:
    """Return the costs of each row's pretrainings, or their mean; rows that share all encoders are one line."""
    lines: dict[tuple[str, ...], dict[Any, Any]] = {}
    for variant, records in results.pretrainings.items():
        trained = [record for record in records.values() if record.get("updates")]
        keys = tuple(records)
        if not trained or keys in lines:
            continue
        facts = pd.DataFrame(trained).reindex(columns=[*COSTS.values()])
        facts = facts.set_axis([*COSTS], axis=1).astype(float)
        facts["million multiplications"] /= 1e6
        facts["window pairs"] = facts["updates"] * facts["batch"]
        facts["ms an update"] = 1000 * facts["seconds"] / facts["updates"]
        machines = dict.fromkeys(computer_text(computer) for record in trained for computer in computers_of(record))
        line = {"Pretraining": row_title(results.plan, variant)} | facts.mean().round(3).to_dict()
        lines[keys] = line | {"machine": "; ".join(machines)}
    return pd.DataFrame(lines.values())
