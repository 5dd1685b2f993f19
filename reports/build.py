"""Writes a report: tables (results.md, .tex, .csv), statistics, cells, classes, costs, figures and the HTML page.

Tables and statistics depend on the rows alone: the same rows give the same bytes, whether they were computed in one run
or in several. Each file is written whole or not at all, the page last. Single classes are scored against the rest,
without intervals: the tables of scores test their macro means. The page needs no network and answers first which rows
beat an untrained encoder; all but the headline, the differences and one table is folded, and its templates escape what
comes from a store.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from scipy.stats import rankdata

from benchmark.results.arrays import Floats, Ints
from benchmark.results.metrics import COLUMNS, NO_OTHER, RECALLS, TITLES, class_f1, macro
from benchmark.results.names import (
    BOTH,
    EVALUATION_TITLES,
    LINEAR,
    MEASURES,
    OVERALL,
    RECORDING,
    RETRIEVAL,
    UNIT_OF_PROTOCOL,
    UNITS,
    collapsed,
)
from reports.footers import warnings
from reports.inference import (
    ScoreColumn,
    TableStatistics,
    UnequalTestSets,
    differences,
    intervals,
    score_columns,
    statistics_of,
)
from reports.jackknife import precision_of_ranking
from reports.results import FAILED, FINISHED, Record, Results, cell_errors, evaluations_of, layouts
from reports.score_tables import DASH, Style, Table, costs_table, make_table, to_csv, to_latex, to_markdown, wide
from reports.words import (
    and_text,
    cell_names,
    labels_text,
    markdown_table,
    mean_text,
    row_title,
    seeds_named,
    write_files,
)

if TYPE_CHECKING:
    from reports.figures import Figure

PAGE = "report.html"
TEMPLATES = Path(__file__).parent / "templates"
HTML = Style(
    text=escape, bold="<strong>{}</strong>", italic="<em>{}</em>", spread="<small>±{}</small>", tie=" ≈",
    mark="<sup>{}</sup>",
)  # fmt: skip
CLASS_ID = ["evaluation", "unit", "dataset", "ratio", "class", "variant"]
OF_A_CLASS = ("auroc", "auprc", "f1")
OF_ONE_COMPUTATION = ["state", "error", "seconds"]
"""Columns of `Results.cells` that differ where the same cells are computed again."""


class Report(NamedTuple):
    """The report of a run."""

    tables: list[Table]
    problems: list[str]
    """One line per damaged row, unreadable record and table without statistics; the error that ended the figures."""
    failures: list[str]
    """One line per error of cells, with the file of the first cell's traceback."""


def build_report(results: Results, out: Path, *, unit: str | None = None, further: Sequence[str] = ()) -> Report:
    """Write the report of a run under `out`.

    unit: 'heartbeat', 'recording' or 'both'; by default the protocol's own (paper: heartbeat, strict: recording).
    further: metrics of the main tables beside F1, AUROC and ACC (`FURTHER`).
    """
    from reports.figures import draw_figures, undrawable_titles  # here, because matplotlib loads slowly

    units = UNITS if unit == BOTH else (unit or UNIT_OF_PROTOCOL[results.plan.config["protocol"]],)
    tables: list[Table] = []
    statistics_of_tables: dict[str, TableStatistics] = {}
    problems = [*results.damaged.values(), *results.unreadable_records]
    differences_of_tables: dict[tuple[str, str], pd.DataFrame] = {}
    every = (layout for name in evaluations_of(results.plan) for layout in layouts(results.plan, name, further))
    for layout, chosen in product(every, units):
        statistics = TableStatistics()
        try:
            statistics = statistics_of(results, layout, chosen)
        except UnequalTestSets as problem:
            problems.append(f"statistics of {layout.evaluation} per {chosen}: {problem}")
        tables.append(make_table(results, layout, chosen, statistics))
        statistics_of_tables[tables[-1].name] = statistics
        differences_of_tables.setdefault((layout.evaluation, chosen), differences(statistics))
    classes, costs = class_scores(results, units), costs_table(results)
    retrieval = TableStatistics().intervals
    try:
        retrieval = retrieval_scores(results, units[0])
    except UnequalTestSets as problem:
        problems.append(f"patient retrieval: {problem}")
    retrieved, retrieval_text = retrieval_table(results, retrieval)
    contents = {
        "results.md": "# Results\n\n" + "\n".join(map(to_markdown, tables)),
        "results.tex": "\n".join(map(to_latex, tables)),
        "results.csv": to_csv(tables),
        "cells.csv": cells_csv(results),
        "intervals.csv": csv(joined({name: one.intervals for name, one in statistics_of_tables.items()})),
        "pairwise.csv": csv(joined({name: one.pairs for name, one in statistics_of_tables.items()})),
        "classes.csv": csv(classes),
        "costs.csv": csv(costs),
    }
    if len(retrieval):
        contents["results.md"] += f"\n## Patient retrieval\n\n{retrieval_text}\n\n{markdown_table(retrieved)}\n"
        contents["retrieval.csv"] = csv(retrieval)
    write_files(out, contents)
    figures: list[Figure] = []
    try:
        figures.extend(draw_figures(results, out / "figures", units, differences_of_tables, retrieval))
    except Exception as error:  # the tables are worth a page with the figures before it
        problems.append(f"further figures: {type(error).__name__}: {error}")
    problems += undrawable_titles(results.plan)
    failed = failures(results)
    by_class = "At the smallest label share; in brackets the prevalence; mean±std over seeds."
    chapters = [
        ("Patient retrieval", retrieval_text, {"": retrieved}),
        ("Scores by class", by_class, class_tables(classes, results)),
        ("Pretrainings", HEALTH_TEXT, {"": pretrainings_table(results)}),
        ("Costs of the pretrainings", "The mean where a row has several pretrainings.", {"": costs}),
        ("Data", "", {"": data_table(results)}),
    ]
    write_files(out, {PAGE: render_page(results, tables, figures, chapters, [*problems, *failed])})
    return Report(tables, problems, failed)


def csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, numbers with six digits."""
    return str(frame.to_csv(index=False, lineterminator="\n", float_format="%.6g"))


def joined(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the frames of tables as one, each line with its table's name."""
    filled = {name: frame for name, frame in frames.items() if len(frame)} or frames
    return pd.concat(filled, names=["table", None]).reset_index("table")


def cells_csv(results: Results) -> str:
    """Return one line per finished cell with its scores in both units, without times and machines."""
    cells = results.cells[results.cells["state"] == FINISHED].drop(columns=OF_ONE_COMPUTATION, errors="ignore")
    columns = results.scores["unit"] + "_" + results.scores["metric"]
    scores = results.scores.assign(column=columns).pivot_table("value", ["variant", "key"], "column", sort=False)
    return str(cells.merge(scores, how="left", on=["variant", "key"]).to_csv(index=False, lineterminator="\n"))


def failures(results: Results) -> list[str]:
    """Return a line per error of failed cells, with the file of the first cell's traceback."""
    lines = []
    for (state, error), cells in cell_errors(results, results.plan.cells).items():
        if state == FAILED:
            files = [store.failure_file(cells[0].key) for store in results.stores]
            there = next((f"; traceback in {file}" for file in files if file.is_file()), "")
            lines.append(f"{'; '.join(cell_names(results.plan, cells))}: {error}{there}")
    return lines


def class_scores(results: Results, units: Sequence[str]) -> pd.DataFrame:
    """Score each class of each finished cell: `CLASS_ID`, prevalence, and mean, deviation and seeds of each metric.

    Scores and prevalences are in [0, 1]; lines are in the order of the tables.
    """
    lines = []
    for cell, row in results.finished:
        for unit in units if row.counts["test_windows"] and cell.evaluation != RETRIEVAL else ():
            test = results.test_outputs(cell.key, unit)
            truth = test.truth  # (n, C)
            f1 = class_f1(truth, test.probability, row.labels == "multi")
            ranked = [ranking_scores(*columns, test.part) for columns in zip(truth.T, test.probability.T, strict=True)]
            for number, name in enumerate(results.plan.datasets[cell.dataset]["classes"]):
                coordinates = (cell.evaluation, unit, cell.dataset, cell.ratio, name, cell.variant)
                lines.append((*coordinates, cell.seed, truth[:, number].mean(), *ranked[number], f1[number]))
    frame = pd.DataFrame(lines, columns=[*CLASS_ID, "seed", "prevalence", *OF_A_CLASS])
    by_seed = frame.groupby([*CLASS_ID, "seed"], sort=False).mean().reset_index()  # over labelled subsets
    how = {f"{metric}_{name}": (metric, name) for metric in OF_A_CLASS for name in ("mean", "std")}
    grouped = by_seed.groupby(CLASS_ID, sort=False)
    scored = grouped.agg(prevalence=("prevalence", "mean"), seeds=("seed", "nunique"), **how).reset_index()
    deviations = [f"{metric}_std" for metric in OF_A_CLASS]
    scored[deviations] = scored[deviations].where(results.varies(scored), axis=0)
    return scored


def ranking_scores(truth: Ints, probability: Floats, part: Ints | None = None) -> tuple[float, float]:
    """Return AUROC and average precision of one class from n samples, (n,) and (n,); NaN without both signs.

    Those of scikit-learn, which spends most of its time on checks of its input. part: (n,) of a cross-fitting, over
    which they are means.
    """
    if part is not None:
        scores = [ranking_scores(truth[part == number], probability[part == number]) for number in np.unique(part)]
        auroc, precision = (macro(np.array(values)) for values in zip(*scores, strict=True))
        return auroc, precision
    positives, order = int(truth.sum()), np.argsort(-probability, kind="stable")  # (n,)
    if not 0 < positives < len(truth):
        return np.nan, np.nan
    won = rankdata(probability)[truth == 1].sum() - positives * (positives + 1) / 2
    precision = precision_of_ranking(truth[order] == 1, probability[order])
    return float(won / positives / (len(truth) - positives)), precision


def class_tables(frame: pd.DataFrame, results: Results) -> dict[str, pd.DataFrame]:
    """Return title -> table in percent, one per dataset and evaluation, at its smallest label share."""
    tables = {}
    for identity, group in frame.groupby(["evaluation", "unit", "dataset"], sort=False):
        evaluation, unit, dataset = map(str, identity)
        ratio = group["ratio"].min()
        shown = group[group["ratio"] == ratio].sort_values("class", kind="stable")
        columns = {
            "Class": [f"{name} ({100 * p:.1f} %)" for name, p in zip(shown["class"], shown["prevalence"], strict=True)],
            "Method": [row_title(results.plan, variant) for variant in shown["variant"]],
        }
        for metric in OF_A_CLASS:
            pairs = zip(100 * shown[f"{metric}_mean"], 100 * shown[f"{metric}_std"], strict=True)
            columns[TITLES[metric]] = [mean_text(*pair) for pair in pairs]
        title = f"{EVALUATION_TITLES[evaluation]}, {results.plan.titles[dataset]}, {labels_text(ratio)}"
        tables[f"{title}, per {unit}"] = pd.DataFrame(columns)
    return tables


RETRIEVAL_TEXT = (
    "Share (%) of the test recordings whose nearest other test recording, or one of whose nearest five, is of the same "
    "patient, by the cosine of frozen features (means over windows). Patients with several test recordings alone; in "
    "brackets 95 % intervals over these patients and the seeds. Chance: recordings drawn at random. Overall: at the "
    "smallest label share."
)


def retrieval_scores(results: Results, unit: str) -> pd.DataFrame:
    """Score patient retrieval with intervals, then Overall of the linear probe at its smallest label share, per `unit`.

    Lines as of `intervals`. Raises UnequalTestSets. Rows are scored apart: an encoder of others may lack recordings.
    """
    cells, columns = results.plan.cells, list[ScoreColumn]()
    rows = dict.fromkeys(cell.variant for cell in cells if cell.evaluation == RETRIEVAL)
    for row in rows:
        of_row = [cell for cell in cells if (cell.variant, cell.evaluation) == (row, RETRIEVAL)]
        columns += score_columns(results, of_row, RECALLS, RECORDING)
    probed = [cell for cell in cells if cell.variant in rows and cell.evaluation == LINEAR]
    least = min((cell.ratio for cell in probed), default=0.0)
    at_least = score_columns(results, [cell for cell in probed if cell.ratio == least], COLUMNS, unit)
    columns += [column for column in at_least if column.metric == OVERALL]
    return intervals(columns)


def retrieval_table(results: Results, scores: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the scores of `retrieval_scores` in percent, a line per row, and what they mean."""
    if scores.empty:
        return scores, ""
    titles = results.plan.titles
    scores = scores[scores["mean"].notna() | (scores["metric"] == RECALLS[0])]
    column = scores["dataset"].map(titles).fillna(EVALUATION_TITLES[LINEAR]) + " " + scores["metric"].map(TITLES)
    ends = (100 * scores[["low", "high"]]).where(~scores["metric"].str.startswith("chance"))
    brackets = [f" ({low:.1f} to {high:.1f})" if high > low else "" for low, high in ends.to_numpy()]
    lines = scores.assign(column=column, text=(100 * scores["mean"]).map(mean_text) + brackets)
    table = lines.pivot(index="variant", columns="column", values="text").fillna(DASH)
    table = table.loc[scores["variant"].unique(), column.unique()].reset_index(names="Method")
    table["Method"] = [row_title(results.plan, variant) for variant in table["Method"]]
    lacking = scores[scores["mean"].isna()]["dataset"].map(titles).unique().tolist()
    return table, RETRIEVAL_TEXT + (f" {DASH}: {and_text(lacking)}: {NO_OTHER}." if lacking else "")


def render_page(
    results: Results,
    tables: Sequence[Table],
    figures: Sequence[Figure],
    chapters: Sequence[tuple[str, str, Mapping[str, pd.DataFrame]]],
    problems: Sequence[str],
) -> str:
    """Render the page of a run. problems: one line each.

    chapters: title, text, and heading -> table of texts; those without a line are not shown.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("report.html").render(
        style=(TEMPLATES / "report.css").read_text(),
        name=results.plan.config["name"],
        warnings=warnings(results, results.plan.cells),
        tables=[(table, blocks(table)) for table in tables],
        answers=[embedded(figure) for figure in figures if figure.answers],
        figures=[embedded(figure) for figure in figures if not figure.answers],
        chapters=[(*words, shown) for *words, shown in chapters if any(map(len, shown.values()))],
        html=html,
        problems=problems,
    )  # fmt: skip


def html(frame: pd.DataFrame) -> str:
    """Return a frame of texts as a table."""
    return str(frame.to_html(index=False, border=0, na_rep=DASH, float_format="{:,.6g}".format))


def blocks(table: Table) -> list[tuple[str, str]]:
    """Return title and table of each label share."""
    return [
        (labels_text(ratio), wide(table, ratio, HTML).to_html(escape=False, border=0, index_names=False))
        for ratio in table.layout.ratios
    ]


def embedded(figure: Figure) -> tuple[str, str]:
    """Return the data URI of a figure and its caption."""
    return f"data:image/png;base64,{b64encode(figure.png.read_bytes()).decode()}", figure.caption


HEALTH_TEXT = (
    "From the untrained encoder to the last epoch. Retrieval: share of the held-out windows whose nearest window is of "
    "the same patient; chance: if it were drawn at random. Positives: of a query in the last batch, its own pair "
    "included; beyond the pair: share of the queries that have more, for methods with patients."
)
HEALTH_COLUMNS = MEASURES | {
    "retrieval_chance": "Chance", "positives": "Positives", "beyond_pair": "Beyond the pair",
}  # fmt: skip
"""Measure -> column."""


def pretrainings_table(results: Results) -> pd.DataFrame:
    """Return loss and health of each pretraining, by row and seed; the untrained encoders of a row are one line."""
    lines, seen = [], set[str]()
    for variant, records in results.pretrainings.items():
        new = [record for key, record in records.items() if key not in seen]
        trained, untrained = ([record for record in new if bool(record.get("loss")) is it] for it in (True, False))
        groups = [*([record] for record in trained), untrained]
        lines += [pretraining_line(row_title(results.plan, variant), group) for group in groups if group]
        seen |= records.keys()
    return pd.DataFrame(lines)


def pretraining_line(title: str, records: Sequence[Record]) -> dict[str, str]:
    """Return the texts of one pretraining, or the means of several encoders that were not trained."""
    record, loss = records[0], records[0].get("loss")
    health = pd.DataFrame([epoch for of in records for epoch in of.get("health") or [{}]], columns=list(HEALTH_COLUMNS))
    health = health.astype(float)
    ends = health.iloc[[0, -1]] if loss else health.mean().to_frame().T
    training = "untrained"
    if loss:
        training = f"{len(loss)} epochs, {record['updates']} updates, {record['seconds']:.0f} s"
    if collapsed(ends["effective_rank"].iloc[-1], ends["mean_cosine"].iloc[-1]):
        training += "; collapsed" if loss else "; features hardly differ between windows"
    line = {"Pretraining": title, "Seed": seeds_named([of["seed"] for of in records]), "Training": training}
    line["Loss"] = course([loss[0], loss[-1]] if loss else [])
    return line | {heading: course(ends[measure].dropna()) for measure, heading in HEALTH_COLUMNS.items()}


def course(values: Iterable[float]) -> str:
    """Return '6.70 → 2.30'; a dash where there is no value."""
    return " → ".join(f"{value:.2f}" for value in values) or DASH


def data_table(results: Results) -> pd.DataFrame:
    """Return sizes of the pretraining corpus and the datasets, and why recordings were skipped, as often first."""
    plan = results.plan
    return pd.DataFrame(
        {
            "Dataset": facts["title"], "Kind": "simulated" if facts["simulated"] else "real",
            "Recordings": facts["recordings"], "Patients": facts["patients"],
            "Skipped": sum(facts["skipped"].values()),
            "Why": ", ".join(f"{why}: {count}" for why, count in Counter(facts["skipped"]).most_common()) or DASH,
        }
        for facts in ({plan.pretraining["name"]: plan.pretraining} | plan.datasets).values()
    )  # fmt: skip
