"""The tables of a run: one frame of scores per table, and its Markdown, LaTeX and CSV.

The layout is that of Table 1 of the PMQ paper: blocks of label ratios, rows of methods, metrics of each dataset;
Overall, the mean of the columns, comes first. Baselines and printed numbers of other groups are rows in italics, not
ranked and part of no statistic. Rows whose weights come from elsewhere are marked where they saw the test patients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmark.results.metrics import COLUMNS, FURTHER, METRICS, TITLES, per_recording
from benchmark.results.names import HEARTBEAT, OVERALL
from benchmark.results.printed import numbers
from benchmark.results.store import Plan, PlannedCell
from reports.inference import TableStatistics, differences
from reports.results import Layout, Record, Results, coordinates, mean_over_subsets, role_of, unsupported_reason
from reports.words import (
    caption,
    escape_markdown,
    evaluation_text,
    footers,
    labels_text,
    machine_of,
    ratio_text,
    row_title,
    unit_text,
    unlabelled_classes,
    verdict,
)

DASH = "–"
ROUNDING = 1e-9
"""A standard deviation below it, in percent, is rounding."""
LETTERS = "abcdefghijklmnoprstuvwxyz"
"""Footnote marks."""
CSV_COLUMNS = [
    "evaluation", "unit", "ratio", "variant", "title", "dataset", "metric", "mean_percent", "std_percent", "n",
    "planned", "best", "tie", "remark", "keys",
]  # fmt: skip


@dataclass(frozen=True)
class Table:
    """One table in one score unit."""

    name: str
    """Unique within a report, fit for a file name or a LaTeX label."""
    title: str
    layout: Layout
    unit: str
    scores: pd.DataFrame
    """One line per number: `CSV_COLUMNS`, and `baseline`, `mark`. n, planned: seeds in the mean (Overall: columns)."""
    groups: Mapping[str, str]
    """Dataset -> title, in column order; '' for Overall."""
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


def make_table(results: Results, layout: Layout, unit: str, statistics: TableStatistics | None = None) -> Table:
    """Make a table in one score unit; without statistics it has no ties and no verdict."""
    plan = results.plan
    scores = _with_overall(_scores(results, layout, unit))
    scores = _with_best(scores)
    scores["tie"] = False
    if statistics is not None and len(statistics.intervals):
        names = ["ratio", "dataset", "metric", "variant"]
        tied = set(statistics.intervals.query("tie")[names].itertuples(index=False, name=None))
        numbers_at = scores[names].itertuples(index=False, name=None)
        scores["tie"] = np.array([where in tied for where in numbers_at]) & ~scores["best"] & ~scores["baseline"]
    scores = pd.concat([scores, pd.DataFrame(_printed(plan, layout, scores))], ignore_index=True)
    scores["evaluation"], scores["unit"] = layout.evaluation, unit
    named = unlabelled_classes(results, layout.cells)
    marks = dict(zip(dict.fromkeys([*named.values(), *filter(None, scores["remark"])]), _marks(), strict=False))
    scores["mark"] = scores["remark"].map(marks).fillna("")
    datasets = [name for name in plan.datasets if name in set(scores["dataset"])]
    what = f"{evaluation_text(layout.evaluation)}, scored per {unit_text(plan, unit)}"
    tested = statistics or TableStatistics(pd.DataFrame(), pd.DataFrame())
    return Table(
        name="-".join(filter(None, [layout.evaluation, unit, layout.name.replace("_", "-")])),
        title=f"{layout.title}: {what[0].lower()}{what[1:]}" if layout.title else what,
        layout=layout,
        unit=unit,
        scores=scores,
        groups={"": ""} | {name: str(plan.datasets[name]["title"]) for name in datasets},
        headings={(dataset, "f1"): marks[text] for dataset, text in named.items()},
        footnotes={mark: text for text, mark in marks.items()},
        caption=caption(results, layout, len(datasets)),
        verdict=verdict(plan, layout, differences(tested, layout.unchanged)),
        footers=footers(results, layout, unit, tested),
    )


def _marks() -> Iterator[str]:
    """a, b, ... z, aa, bb, ..."""
    for repeat in count(1):
        yield from (letter * repeat for letter in LETTERS)


def further_scores(results: Results, layout: Layout, unit: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Score the predictions of a table's cells by metrics that no row holds: lines like those of `Results.scores`."""
    lines = []
    for cell in layout.cells:
        if cell.key not in results.rows:
            continue
        predictions, multi = results.predictions(cell.key), results.rows[cell.key].labels == "multi"
        probability, truth = predictions.probability, predictions.truth
        if unit != HEARTBEAT and len(truth):
            probability, truth, _ = per_recording(probability, truth, predictions.recording, results.plan.pool)
        for metric in metrics:
            value = METRICS[metric].score(truth, probability, multi) if len(truth) else np.nan
            reason = METRICS[metric].undefined if np.isnan(value) else ""
            lines.append((*coordinates(cell), unit, metric, value, reason, cell.key))
    return pd.DataFrame(lines, columns=list(results.scores.columns)).astype({"value": float})


def _scores(results: Results, layout: Layout, unit: str) -> pd.DataFrame:
    """One line per row, label ratio, dataset and metric, in percent, in the order of the table."""
    plan = results.plan
    values = results.scores.query("evaluation == @layout.evaluation and unit == @unit")
    if computed := [metric for metric in layout.metrics if metric in FURTHER]:
        values = pd.concat([values, further_scores(results, layout, unit, computed)], ignore_index=True)
    groups = dict(iter(mean_over_subsets(values).groupby(["ratio", "variant", "dataset", "metric"])))
    datasets = [name for name in plan.datasets if any(cell.dataset == name for cell in layout.cells)]
    lines = []
    for ratio, variant in product(layout.ratios, layout.variants):
        cells = [cell for cell in layout.cells if (cell.variant, cell.ratio) == (variant, ratio)]
        unsupported = unsupported_reason(plan, variant, layout.evaluation)
        if not cells and not (unsupported and any(cell.ratio == ratio for cell in layout.competing)):
            continue
        row = {"ratio": ratio, "variant": variant, "title": row_title(plan, variant)}
        for dataset, metric in product(datasets, layout.metrics):
            planned = [cell for cell in cells if cell.dataset == dataset]
            group = groups.get((ratio, variant, dataset, metric), values[:0])
            number = _number(results, planned, group, metric) if planned else _no_number(unsupported or "not planned")
            if number["n"] and (seen := _seen_in_pretraining(plan, variant, dataset)):
                number["remark"] = "; ".join(filter(None, [seen, number["remark"]]))
            lines.append(row | {"baseline": variant in layout.gates, "dataset": dataset, "metric": metric} | number)
    return pd.DataFrame(lines)


def _number(results: Results, planned: Sequence[PlannedCell], group: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Mean and deviation over seeds of the planned cells of a row and column; group: their scores, a line per seed."""
    finished = [cell for cell in planned if cell.key in results.rows]
    seeds, done = ({cell.seed for cell in cells} for cells in (planned, finished))
    percent = 100 * group["value"].dropna()  # (seeds,)
    remarks = []
    if len(finished) < len(planned):
        what = "seeds" if len(seeds) == len(planned) else "labelled subsets"
        remarks.append(f"{len(finished)} of {len(planned)} {what} finished")
    if len(percent) < len(done):
        reasons = ", ".join(dict.fromkeys(group.loc[group["value"].isna(), "undefined"]))
        reasons = reasons or f"{TITLES[metric]} was not scored"
        remarks.append(f"undefined in {len(done) - len(percent)} of {len(done)} finished seeds: {reasons}")
    return {
        "mean_percent": percent.mean(), "std_percent": percent.std(ddof=1), "n": len(percent), "planned": len(seeds),
        "remark": "; ".join(remarks), "keys": " ".join(cell.key for cell in finished),
    }  # fmt: skip


def _no_number(remark: str) -> dict[str, Any]:
    return {"mean_percent": np.nan, "std_percent": np.nan, "n": 0, "planned": 0, "remark": remark, "keys": ""}


def _with_overall(scores: pd.DataFrame) -> pd.DataFrame:
    """Overall, the mean of each row's columns, as the first line of each row."""
    parts = []
    for _, row in scores.groupby(["ratio", "variant"], sort=False):
        columns = row[row["metric"].isin(COLUMNS)]
        means = columns["mean_percent"].dropna()
        remarks = []
        if means.empty:
            remarks.append("no column has a number" if columns["keys"].any() else columns["remark"].iloc[0])
        elif len(means) < len(columns):
            remarks.append(f"Overall of {len(means)} of {len(columns)} columns")
        if any(SEEN in remark for remark in columns["remark"]):
            remarks.append("it may have seen test patients of these columns in pretraining")
        keys = " ".join(dict.fromkeys(" ".join(columns["keys"]).split()))
        first = row.iloc[[0]].assign(dataset="", metric=OVERALL, mean_percent=means.mean(), std_percent=np.nan)
        first = first.assign(n=len(means), planned=len(columns), remark="; ".join(remarks), keys=keys)
        parts += [first, row]
    return pd.concat(parts, ignore_index=True)


def _with_best(scores: pd.DataFrame) -> pd.DataFrame:
    """Mark the best of each column and label ratio: all that print the same, none where only one row has a number.

    An Overall competes only if it covers every column that any row of the block has a number in.
    """
    competing = scores[~scores["baseline"] & scores["mean_percent"].notna()]
    columns = competing[competing["metric"].isin(COLUMNS)]
    filled = columns.drop_duplicates(["ratio", "dataset", "metric"]).groupby("ratio").size()
    whole = (competing["metric"] != OVERALL) | (competing["n"] == competing["ratio"].map(filled))
    competing = competing[whole]
    lower = competing["metric"].map(lambda name: name in METRICS and METRICS[name].lower_is_better)
    printed = competing["mean_percent"].map(lambda mean: float(f"{mean:.1f}"))
    signed = printed.where(~lower, -printed)
    column = [competing[name] for name in ("ratio", "dataset", "metric")]
    best = (signed == signed.groupby(column).transform("max")) & (signed.groupby(column).transform("count") > 1)
    return scores.assign(best=best.reindex(scores.index, fill_value=False))


SEEN = "saw these test patients"


def _seen_in_pretraining(plan: Plan, variant: str, dataset: str) -> str:
    """The remark on a number whose test patients the row's weights from elsewhere saw, or may have seen."""
    facts = role_of(plan, variant).get("elsewhere")
    answer = facts["saw"].get(dataset, "not known") if facts else "no"
    if answer == "yes":
        return f"{SEEN} in pretraining, on {facts['pretrained_on']}" if facts else ""
    return f"not known whether it {SEEN}" if answer == "not known" else ""


def _printed(plan: Plan, layout: Layout, scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The printed numbers of the plan's sources that the comparison has a column for, as baselines."""
    columns = set(scores[["ratio", "dataset", "metric"]].itertuples(index=False, name=None))
    for number in numbers() if not layout.name else ():
        chosen = number.source in plan.config.get("printed", []) and number.evaluation == layout.evaluation
        if chosen and (number.ratio, number.column, number.metric) in columns:
            again = f"printed; {number.again:g} where it was run again by {number.by}" if number.again else ""
            yield {
                "ratio": number.ratio, "variant": f"printed:{number.source}:{number.row}",
                "title": f"{number.row} (printed: {number.source})", "baseline": True, "dataset": number.column,
                "metric": number.metric, "mean_percent": number.percent, "std_percent": number.std, "n": 0,
                "planned": 0, "best": False, "tie": False, "remark": again, "keys": "",
            }  # fmt: skip


def number_text(score: Mapping[Any, Any], style: Style) -> str:
    """'**70.1**±0.8', '57.2 ≈': a line of `Table.scores` as text; a dash where there is no number."""
    mean = DASH if pd.isna(score["mean_percent"]) else f"{score['mean_percent']:.1f}"
    std = score["std_percent"]
    spread = style.spread.format(f"{std:.1f}") if not pd.isna(std) and std >= ROUNDING else ""
    mark = style.mark.format(score["mark"]) if score["mark"] else ""
    return (style.bold.format(mean) if score["best"] else mean) + spread + style.tie * bool(score["tie"]) + mark


def wide(table: Table, ratio: float, style: Style) -> pd.DataFrame:
    """The block of a label ratio as texts: rows x (dataset, metric), Overall first."""
    block = table.scores[table.scores["ratio"] == ratio]
    titles = {
        variant: style.italic.format(style.text(title)) if baseline else style.text(title)
        for variant, title, baseline in block[["variant", "title", "baseline"]].itertuples(index=False)
    }
    texts = {(s["variant"], s["dataset"], s["metric"]): number_text(s, style) for s in block.to_dict("records")}
    columns = [("", OVERALL)] + [(name, metric) for name in table.groups if name for metric in table.layout.metrics]
    headings = [
        (style.text(table.groups[name]), TITLES[metric] + _raised(table.headings.get((name, metric)), style))
        for name, metric in columns
    ]
    cells = [[texts.get((variant, *column), DASH) for column in columns] for variant in titles]
    index = pd.Index(titles.values(), name="Method")
    return pd.DataFrame(cells, index, pd.MultiIndex.from_tuples(headings))


def _raised(mark: str | None, style: Style) -> str:
    return style.mark.format(mark) if mark else ""


MARKDOWN = Style(
    text=escape_markdown,
    bold="**{}**",
    italic="*{}*",
    spread="±{}",
    tie=" ≈",
    mark="<sup>{}</sup>",
)


def to_markdown(table: Table) -> str:
    """Heading, first sentence of the verdict, caption, one table per label ratio, notes."""
    text = MARKDOWN.text
    parts = [f"## {text(table.title)}", *map(text, table.verdict[:1]), text(table.caption)]
    for ratio in table.layout.ratios:
        block = wide(table, ratio, MARKDOWN)
        block.columns = [" ".join(column).strip() for column in block.columns]
        align = ["left"] + ["right"] * len(block.columns)
        parts += [f"### {labels_text(ratio)}", block.to_markdown(disable_numparse=True, colalign=align)]
    if table.footnotes:
        parts.append("  \n".join(f"<sup>{mark}</sup> {text(note)}" for mark, note in table.footnotes.items()))
    parts.append("\n".join(f"- {text(line)}" for line in (*table.verdict[1:], *table.footers)))
    return "\n\n".join(parts) + "\n"


TEX = {
    "\\": r"\textbackslash{}", **{character: f"\\{character}" for character in "&%$#_{}"}, "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "]": "{]}", "±": r"$\pm$",
    "−": "$-$", "≈": r"$\approx$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "µ": r"$\mu$", "τ": r"$\tau$",
    "λ": r"$\lambda$",
}  # fmt: skip
LATEX = Style(
    text=lambda text: "".join(TEX.get(character, character) for character in text),
    bold=r"\textbf{{{}}}",
    italic=r"\textit{{{}}}",
    spread=r"{{\tiny$\pm${}}}",
    tie=r"\,$\approx$",
    mark=r"$^{{\mathrm{{{}}}}}$",
)


def to_latex(table: Table) -> str:
    """A `table*` with booktabs in \\scriptsize, its notes below it."""
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
    """One line per number of the tables: unrounded percent, and the keys of its cells."""
    frames = [table.scores[CSV_COLUMNS].astype({"best": int, "tie": int}) for table in tables]
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=CSV_COLUMNS)
    return str(whole.to_csv(index=False, lineterminator="\n"))


def costs_table(results: Results) -> pd.DataFrame:
    """What each row's pretrainings cost, the mean where it has several; rows that share all encoders are one line."""
    lines: dict[tuple[str, ...], dict[str, Any]] = {}
    for variant, records in results.pretrainings.items():
        trained = [record for record in records.values() if record.get("updates")]
        if trained:
            lines.setdefault(tuple(records), {"Pretraining": row_title(results.plan, variant)} | _costs(trained))
    return pd.DataFrame(lines.values())


def _costs(records: Sequence[Record]) -> dict[str, Any]:
    def mean(of: Callable[[Record], float], needs: str = "updates") -> float:
        known = [of(record) for record in records if record.get(needs) is not None]
        return round(float(np.mean(known)), 3) if known else np.nan

    facts = {
        "parameters": "parameters", "of the encoder": "encoder_parameters", "batch": "batch_size", "updates": "updates",
        "encoder passes": "encoder_passes", "seconds": "seconds", "peak GiB": "peak_memory_gib",
    }  # fmt: skip
    costs: dict[str, Any] = {heading: mean(itemgetter(fact), fact) for heading, fact in facts.items()}
    multiplied = "encoder_multiplications"
    costs["million multiplications"] = mean(lambda record: record[multiplied] / 1e6, multiplied)
    costs["window pairs"] = mean(lambda record: record["updates"] * record["batch_size"])
    costs["ms an update"] = mean(lambda record: 1000 * record["seconds"] / record["updates"], "seconds")
    return costs | {"machine": "; ".join(dict.fromkeys(map(machine_of, records)))}
