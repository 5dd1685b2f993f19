"""The tables of a run: one frame of scores per table, and its Markdown, LaTeX and CSV.

The layout is that of Table 1 of the PMQ paper: blocks of label ratios, rows of methods, metrics of each dataset;
Overall, the mean of the columns, comes first. Baselines and printed numbers of other groups are rows in italics, not
ranked and part of no statistic. Rows whose weights come from elsewhere are marked where they saw the test patients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmark.results.metrics import COLUMNS, FURTHER, METRICS, TITLES
from benchmark.results.names import EVALUATION_TITLES, OVERALL, numbers, visible
from benchmark.results.store import Plan, PlannedCell
from reports.computers import computer_text, computers_of
from reports.footers import caption, footers, unlabelled_classes
from reports.inference import LEVEL, NEAR, TableStatistics, both_ways, differences
from reports.results import Layout, Results, coordinates, mean_over_subsets, role_of
from reports.verdict import verdict
from reports.words import escape_markdown, labels_text, mean_text, ratio_text, row_title, unit_text

DASH = "–"
MARKS = [letter * times for times in (1, 2, 3) for letter in "abcdefghijklmnoprstuvwxyz"]
"""Marks of footnotes."""
CSV_COLUMNS = [
    "evaluation", "unit", "ratio", "variant", "title", "dataset", "metric", "mean_percent", "std_percent", "n",
    "planned", "best", "tie", "remark", "keys",
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
    groups: Mapping[str, str]
    """Dataset -> title, in column order."""
    headings: Mapping[tuple[str, str], str]
    """Dataset and metric -> footnote mark of a heading."""
    footnotes: Mapping[str, str]
    """Mark -> text."""
    caption: str
    verdict: Sequence[str]
    footers: Sequence[str]


class Style(NamedTuple):
    """How the parts of a number are written."""

    text: Callable[[str], str]
    bold: str
    italic: str
    spread: str
    tie: str
    mark: str


def make_table(results: Results, layout: Layout, unit: str, statistics: TableStatistics) -> Table:
    """Make a table in one score unit; with empty statistics it has no ties and no verdict."""
    plan = results.plan
    scores = _scores(results, layout, unit)
    scores = pd.concat([scores, pd.DataFrame(_printed(plan, layout, scores))], ignore_index=True)
    scores = with_marks(scores, statistics.pairs)
    scores["evaluation"], scores["unit"] = layout.evaluation, unit
    unlabelled = unlabelled_classes(results, layout.cells)
    footnotes = dict.fromkeys([*unlabelled.values(), *filter(None, scores["remark"])])
    marks = dict(zip(footnotes, MARKS, strict=False))
    scores["mark"] = [marks.get(remark, "") for remark in scores["remark"]]
    datasets = {name: title for name, title in plan.titles.items() if name in set(scores["dataset"])}
    title = f"{EVALUATION_TITLES[layout.evaluation]}, scored per {unit_text(plan, unit)}"
    return Table(
        name="-".join(filter(None, [layout.evaluation, unit, layout.name.replace("_", "-")])),
        title=f"{layout.title}: {title[0].lower()}{title[1:]}" if layout.title else title,
        layout=layout,
        scores=scores,
        groups=datasets,
        headings={(dataset, "f1"): marks[text] for dataset, text in unlabelled.items()},
        footnotes={mark: text for text, mark in marks.items()},
        caption=caption(results, layout),
        verdict=verdict(results, layout, differences(statistics, layout.unchanged), scores),
        footers=footers(results, layout, unit, statistics),
    )


def further_scores(results: Results, layout: Layout, unit: str) -> pd.DataFrame:
    """Score the predictions of a table's cells by the metrics that no row holds: lines like `Results.scores`."""
    metrics = [metric for metric in layout.metrics if metric in FURTHER]
    lines = []
    for cell in (cell for cell in layout.cells if metrics and cell.key in results.rows):
        probability, truth = results.test_outputs(cell.key, unit)
        multi = results.rows[cell.key].labels == "multi"
        for metric in metrics:
            value = METRICS[metric].score(truth, probability, multi) if len(truth) else np.nan
            reason = METRICS[metric].undefined if np.isnan(value) else ""
            lines.append((*coordinates(cell), unit, metric, value, reason, cell.key))
    return pd.DataFrame(lines, columns=list(results.scores.columns)).astype({"value": float})


def _scores(results: Results, layout: Layout, unit: str) -> pd.DataFrame:
    """One line per row, label ratio, dataset and metric, in percent, in the order of the table; Overall first."""
    plan = results.plan
    stored = results.scores.query("evaluation == @layout.evaluation and unit == @unit")
    further = further_scores(results, layout, unit)
    values = mean_over_subsets(pd.concat([stored, further], ignore_index=True) if len(further) else stored)
    groups = dict(iter(values.groupby(["ratio", "variant", "dataset", "metric"])))
    datasets = [name for name in plan.datasets if any(cell.dataset == name for cell in layout.cells)]
    lines = []
    for ratio, variant in product(layout.ratios, layout.variants):
        cells = [cell for cell in layout.cells if (cell.variant, cell.ratio) == (variant, ratio)]
        if not cells:
            continue
        row = {"ratio": ratio, "variant": variant, "title": row_title(plan, variant)}
        row["baseline"] = variant in layout.baselines
        columns = []
        for dataset, metric in product(datasets, layout.metrics):
            planned = [cell for cell in cells if cell.dataset == dataset]
            number = NO_NUMBER | {"remark": "not planned"}
            if planned:
                group = groups.get((ratio, variant, dataset, metric), values[:0])
                number = _number(results, planned, group, _seen_in_pretraining(plan, variant, dataset))
            columns.append(row | {"dataset": dataset, "metric": metric} | number)
        lines += [row | _overall([column for column in columns if column["metric"] in COLUMNS]), *columns]
    return pd.DataFrame(lines)


def _number(results: Results, planned: Sequence[PlannedCell], group: pd.DataFrame, seen: str) -> dict[str, Any]:
    """Mean and deviation over seeds of the planned cells of a row and column; group: their scores, a line per seed."""
    finished = [cell for cell in planned if cell.key in results.rows]
    seeds, done = ({cell.seed for cell in cells} for cells in (planned, finished))
    percent = 100 * group["value"].dropna()  # (seeds,)
    deviation = percent.std(ddof=1) if results.varies(group).any() else np.nan
    remarks = [seen] if seen and len(percent) else []
    if len(finished) < len(planned):
        remarks.append(f"{len(finished)} of {len(planned)} cells finished")
    if len(percent) < len(done):
        reasons = ", ".join(dict.fromkeys(group.loc[group["value"].isna(), "undefined"])) or "not scored"
        remarks.append(f"undefined in {len(done) - len(percent)} of {len(done)} finished seeds: {reasons}")
    return {
        "mean_percent": percent.mean(), "std_percent": deviation, "n": len(percent), "planned": len(seeds),
        "remark": "; ".join(remarks), "keys": " ".join(cell.key for cell in finished),
    }  # fmt: skip


def _overall(columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Overall, the mean of the columns of a row that have a number."""
    means = [column["mean_percent"] for column in columns if column["n"]]
    keys = dict.fromkeys(key for column in columns for key in column["keys"].split())
    remarks = []
    if not means:
        remarks.append(columns[0]["remark"])
    elif len(means) < len(columns):
        remarks.append(f"Overall of {len(means)} of {len(columns)} columns")
    if any(SEEN in column["remark"] for column in columns):
        remarks.append("it may have seen test patients of these columns in pretraining")
    return {
        "dataset": "", "metric": OVERALL, "mean_percent": np.mean(means) if means else np.nan, "std_percent": np.nan,
        "n": len(means), "planned": len(columns), "remark": "; ".join(remarks), "keys": " ".join(keys),
    }  # fmt: skip


def with_marks(scores: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Mark the best of each column and label ratio, all that print the same, and what is not separable from them.

    Nothing is marked where only one row has a number. An Overall competes only if it covers every column that any row
    of the block has a number in. tie: a row within `NEAR` of the best that no best row significantly differs from.
    """
    pairs = both_ways(pairs)
    tests_of = dict(iter(pairs.groupby(COLUMN)))
    competing = scores[~scores["baseline"] & scores["mean_percent"].notna()]
    columns = competing[competing["metric"].isin(COLUMNS)].drop_duplicates(COLUMN)
    most = competing["ratio"].map(columns.groupby("ratio").size())
    competing = competing[(competing["metric"] != OVERALL) | (competing["n"] == most)]
    marks = pd.DataFrame({"best": False, "tie": False}, index=scores.index)
    for column, rows in competing.groupby(COLUMN):
        if len(rows) == 1:
            continue
        lower = column[-1] in METRICS and METRICS[column[-1]].lower_is_better
        value = -rows["mean_percent"] if lower else rows["mean_percent"]
        printed = value.map(lambda number: float(f"{number:.1f}"))
        marks.loc[rows.index, "best"] = best = printed == printed.max()
        tests = tests_of.get(column, pairs[:0])
        behind = tests[(tests["p_holm"] < LEVEL) & tests["reference"].isin(rows["variant"][best])]
        near = value >= value.max() - 100 * NEAR
        separable = rows["variant"].isin(behind["variant"])
        marks.loc[rows.index, "tie"] = ~best & near & rows["variant"].isin(tests["variant"]) & ~separable
    return scores.assign(best=marks["best"], tie=marks["tie"])


def _seen_in_pretraining(plan: Plan, variant: str, dataset: str) -> str:
    """The remark on a number whose test patients the row's weights from elsewhere saw, or may have seen."""
    facts = role_of(plan, variant).get("elsewhere", {"saw": {dataset: "no"}})
    known = f"{SEEN} in pretraining, on {facts.get('pretrained_on')}"
    return {"yes": known, "no": ""}.get(facts["saw"][dataset], f"not known whether it {SEEN}")


def _printed(plan: Plan, layout: Layout, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The printed numbers of the plan's sources that the comparison has a column for, as baselines."""
    columns = set(scores[COLUMN].itertuples(index=False, name=None))
    for number in numbers() if not layout.name else ():
        chosen = number.source in plan.config["printed"] and number.evaluation == layout.evaluation
        if chosen and (number.ratio, number.column, number.metric) in columns:
            again = f"printed; {number.again:g} where it was run again by {number.by}" if number.again else ""
            yield NO_NUMBER | {
                "ratio": number.ratio, "variant": f"printed:{number.source}:{number.row}",
                "title": f"{number.row} (printed: {number.source})", "baseline": True, "dataset": number.column,
                "metric": number.metric, "mean_percent": number.percent, "std_percent": number.std or np.nan,
                "remark": again,
            }  # fmt: skip


def number_text(score: Mapping[Any, Any], style: Style) -> str:
    """Return '**70.1**±0.8', '57.2 ≈': a line of `Table.scores` as text; a dash where there is no number."""
    mean, std = mean_text(score["mean_percent"]), score["std_percent"]
    spread = "" if np.isnan(std) else style.spread.format(f"{std:.1f}")
    mark = style.mark.format(score["mark"]) if score["mark"] else ""
    return (style.bold.format(mean) if score["best"] else mean) + spread + style.tie * bool(score["tie"]) + mark


def wide(table: Table, ratio: float, style: Style) -> pd.DataFrame:
    """Return the block of a label ratio as texts: rows x (dataset, metric), Overall first."""
    block = table.scores[table.scores["ratio"] == ratio]
    titles = {
        variant: style.italic.format(style.text(title)) if baseline else style.text(title)
        for variant, title, baseline in block[["variant", "title", "baseline"]].itertuples(index=False)
    }
    texts = {(s["variant"], s["dataset"], s["metric"]): number_text(s, style) for s in block.to_dict("records")}
    columns = [("", OVERALL), *product(table.groups, table.layout.metrics)]
    marks = {column: style.mark.format(mark) for column, mark in table.headings.items()}
    headings = [
        (style.text(table.groups.get(name, "")), TITLES[metric] + marks.get((name, metric), ""))
        for name, metric in columns
    ]
    cells = [[texts.get((variant, *column), DASH) for column in columns] for variant in titles]
    return pd.DataFrame(cells, pd.Index(titles.values(), name="Method"), pd.MultiIndex.from_tuples(headings))


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
    parts = [f"## {text(table.title)}", *map(text, table.verdict[:2]), text(table.caption)]
    for ratio in table.layout.ratios:
        block = wide(table, ratio, MARKDOWN)
        block.columns = [" ".join(column).strip() for column in block.columns]
        align = ["left"] + ["right"] * len(block.columns)
        parts += [f"### {labels_text(ratio)}", block.to_markdown(disable_numparse=True, colalign=align)]
    if table.footnotes:
        parts.append("  \n".join(f"<sup>{mark}</sup> {text(note)}" for mark, note in table.footnotes.items()))
    parts.append("\n".join(f"- {text(line)}" for line in (*table.verdict[2:], *table.footers)))
    return "\n\n".join(parts) + "\n"


TEX = str.maketrans({
    "\\": r"\textbackslash{}", **{character: f"\\{character}" for character in "&%$#_{}"}, "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "]": "{]}", "±": r"$\pm$",
    "−": "$-$", "≈": r"$\approx$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "µ": r"$\mu$", "τ": r"$\tau$",
    "λ": r"$\lambda$", "\n": " ",
})  # fmt: skip
LATEX = Style(
    text=lambda text: visible(text).translate(TEX),
    bold=r"\textbf{{{}}}",
    italic=r"\textit{{{}}}",
    spread=r"{{\tiny$\pm${}}}",
    tie=r"\,$\approx$",
    mark=r"$^{{\mathrm{{{}}}}}$",
)


def to_latex(table: Table) -> str:
    """Write a `table*` with booktabs in \\scriptsize, its notes below it."""
    blocks = {LATEX.text(ratio_text(ratio)): wide(table, ratio, LATEX) for ratio in table.layout.ratios}
    whole = pd.concat(blocks, names=[None, None])
    text = whole.style.to_latex(
        hrules=True,
        multicol_align="c",
        multirow_align="naive",
        column_format="ll" + "r" * len(whole.columns),
        environment="table*",
        position_float="centering",
        caption=LATEX.text(f"{table.title}, by share of the labels. {table.caption}"),
        label=f"tab:{table.name}",
    )
    for label in list(blocks)[1:]:
        text = text.replace(f"\n{label} & ", f"\n\\midrule\n{label} & ")
    notes = [LATEX.mark.format(mark) + LATEX.text(f" {note}.") for mark, note in table.footnotes.items()]
    notes += [LATEX.text(line) for line in table.footers]
    below = "\\par\\smallskip\\raggedright\n" + "\n".join(notes) + "\n\\end{table*}"
    small = "\\scriptsize\\setlength{\\tabcolsep}{3pt}\n\\begin{tabular}"
    return text.replace("\\begin{tabular}", small).replace("\\end{table*}", below)


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


def costs_table(results: Results) -> pd.DataFrame:
    """Return the costs of each row's pretrainings, or their mean; rows that share all encoders are one line."""
    lines: dict[tuple[str, ...], dict[Any, Any]] = {}
    for variant, records in results.pretrainings.items():
        if trained := [record for record in records.values() if record.get("updates")]:
            facts = pd.DataFrame(trained).reindex(columns=[*COSTS.values()]).set_axis([*COSTS], axis=1).astype(float)
            facts["million multiplications"] /= 1e6
            facts["window pairs"] = facts["updates"] * facts["batch"]
            facts["ms an update"] = 1000 * facts["seconds"] / facts["updates"]
            machines = {computer_text(one): None for record in trained for one in computers_of(record)}
            title = {"Pretraining": row_title(results.plan, variant)}
            lines.setdefault(
                tuple(records), {**title, **facts.mean().round(3).to_dict(), "machine": "; ".join(machines)}
            )
    return pd.DataFrame(lines.values())
