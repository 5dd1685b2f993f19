"""Writes a report: tables (results.md, .tex, .csv), statistics, cells, choices, classes, costs, figures and the page.

Tables and statistics depend on the rows alone: the same rows give the same bytes, whether they were computed in one run
or in several. Each file is written whole or not at all, the page last. Single classes are scored against the rest,
without intervals: the tables of scores test their macro means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pandas as pd

from benchmark.results.metrics import METRICS, class_f1, value_of
from benchmark.results.names import (
    BOTH,
    EVALUATION_TITLES,
    MEASURES,
    RETRIEVAL,
    UNIT_OF_PROTOCOL,
    UNITS,
    collapsed,
)
from benchmark.results.store import Predictions
from reports.columns import UnequalTestSets
from reports.comparison import RowComparison, comparison_of
from reports.gains import budget_gains
from reports.inference import TableStatistics, statistics_of
from reports.latex import latex_file
from reports.layouts import evaluations_of, layouts
from reports.methods_text import bibliography, methods_text
from reports.page import PAGE, Chapter, render_page
from reports.results import FAILED, FINISHED, GROUP, Record, Run, cell_errors
from reports.retrieval import retrieval_of
from reports.score_tables import DASH, Table, costs_table, make_table, to_csv, to_markdown
from reports.words import (
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

CLASS_ID = ["evaluation", "unit", "dataset", "ratio", "class", "variant"]
OF_A_CLASS = ("auroc", "auprc", "f1")
CHOSEN = ("lr", "best_epoch", "C", "neighbours", "penalty", "leaf_windows", "best_iteration")
"""Entries of a cell's training facts that validation chooses."""
OF_ONE_COMPUTATION = ["state", "error", "seconds"]
"""Columns of `Run.cells` that differ where the same cells are computed again."""


class Report(NamedTuple):
    """The report of a run."""

    tables: list[Table]
    problems: list[str]
    """One line per damaged row, unreadable record and table without statistics; the error that ended the figures."""
    failures: list[str]
    """One line per error of cells, with the file of the first cell's traceback."""


class TestedTables(NamedTuple):
    """The tables of a report and their statistics."""

    tables: list[Table]
    statistics: dict[str, TableStatistics]
    """Name of a table -> its statistics."""
    comparisons: dict[tuple[str, str], RowComparison]
    """Evaluation and unit -> what the figures show of the first table."""
    problems: list[str]
    """One line per table without statistics."""


def build_report(results: Run, out: Path, *, unit: str | None = None, further: Sequence[str] = ()) -> Report:
    """Write the report of a run under `out`.

    unit: 'heartbeat', 'recording' or 'both'; by default the protocol's own (paper: heartbeat, strict: recording).
    further: metrics of the main tables beside those of the headline (`FURTHER`).
    """
    from reports.figures import draw_figures  # here, because matplotlib loads slowly
    from reports.sweeps import draw_swept

    units = UNITS if unit == BOTH else (unit or UNIT_OF_PROTOCOL[results.plan.config["protocol"]],)
    problems = [*results.damaged.values(), *results.records.unused]
    tested = tested_tables(results, units, further)
    problems += tested.problems
    classes = class_scores(results, units)
    costs = costs_table(results)
    retrieval = retrieval_of(results, units[0])
    problems += retrieval.problems
    contents = table_files(tested) | {
        "cells.csv": cells_csv(results),
        "choices.csv": csv(choices(results)),
        "classes.csv": csv(classes),
        "costs.csv": csv(costs),
    }
    shown = dict.fromkeys(table.layout for table in tested.tables)
    contents["methods.md"] = methods_text(results, [layout for layout in shown if not layout.name], units[0])
    contents["references.bib"] = bibliography(contents["methods.md"])
    if len(retrieval.scores):
        retrieved = markdown_table(retrieval.table)
        contents["results.md"] += f"\n## Patient retrieval\n\n{retrieval.text}\n\n{retrieved}\n"
        contents["retrieval.csv"] = csv(retrieval.scores)
        contents["retrieval-pairs.csv"] = csv(retrieval.pairs)
    try:
        gains = budget_gains(results, units[0])
        if len(gains):
            contents["gains.csv"] = csv(gains)
    except UnequalTestSets as problem:
        problems.append(f"gains of a longer pretraining: {problem}")
    write_files(out, contents)
    figures: list[Figure] = []
    try:
        figures.extend(draw_figures(results, out / "figures", tested.comparisons, retrieval.scores))
        figures.extend(draw_swept(results, out / "figures", tested.comparisons, intervals_of(tested)))
    except Exception as error:  # the tables are worth a page with the figures before it
        problems.append(f"further figures: {type(error).__name__}: {error}")
    failed = failures(results)
    metric = METRICS[results.plan.headline.curve].title
    by_class = f"{metric} in percent, mean±std over seeds; in brackets the prevalence. classes.csv has all scores."
    chapters = [
        Chapter("Patient retrieval", retrieval.text, {"": retrieval.table}),
        Chapter("Scores by class", by_class, class_tables(classes, results)),
        Chapter("Pretrainings", HEALTH_TEXT, {"": pretrainings_table(results)}),
        Chapter("Costs of the pretrainings", "The mean where a row has several pretrainings.", {"": costs}),
        Chapter("Data", "", {"": data_table(results)}),
    ]
    page = render_page(results, tested.tables, figures, chapters, [*problems, *failed])
    write_files(out, {PAGE: page})
    return Report(tested.tables, problems, failed)


def tested_tables(results: Run, units: Sequence[str], further: Sequence[str]) -> TestedTables:
    """Make the tables of all evaluations in each unit; one whose cells have different test sets has no statistics."""
    tested = TestedTables([], {}, {}, [])
    for evaluation in evaluations_of(results.plan):
        for layout, unit in product(layouts(results.plan, evaluation, further), units):
            statistics = TableStatistics()
            try:
                statistics = statistics_of(results, layout, unit)
                if (evaluation, unit) not in tested.comparisons:
                    tested.comparisons[evaluation, unit] = comparison_of(layout, statistics)
            except UnequalTestSets as problem:
                tested.problems.append(f"statistics of {evaluation} per {unit}: {problem}")
            table = make_table(results, layout, unit, statistics)
            tested.tables.append(table)
            tested.statistics[table.name] = statistics
    return tested


def table_files(tested: TestedTables) -> dict[str, str]:
    """Return the files of tables and statistics, by name."""
    pairs = {}
    for name, statistics in tested.statistics.items():
        pairs[name] = statistics.pairs
        pairs[f"{name}-baselines"] = statistics.against_baselines
    return {
        "results.md": "# Results\n\n" + "\n".join(map(to_markdown, tested.tables)),
        "results.tex": latex_file(tested.tables),
        "results.csv": to_csv(tested.tables),
        "intervals.csv": csv(intervals_of(tested)),
        "pairwise.csv": csv(joined(pairs)),
    }


def intervals_of(tested: TestedTables) -> pd.DataFrame:
    """Return the intervals of all tables, each line with its table's name."""
    return joined({name: statistics.intervals for name, statistics in tested.statistics.items()})


def csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, numbers with six digits."""
    return str(frame.to_csv(index=False, lineterminator="\n", float_format="%.6g"))


def joined(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the frames of tables as one, each line with its table's name."""
    filled = {name: frame for name, frame in frames.items() if len(frame)}
    return pd.concat(filled or frames, names=["table", None]).reset_index("table")


def cells_csv(results: Run) -> str:
    """Return one line per finished cell with its scores in both units, without times and machines."""
    cells = results.cells[results.cells["state"] == FINISHED].drop(columns=OF_ONE_COMPUTATION, errors="ignore")
    columns = results.scores["unit"] + "_" + results.scores["metric"]
    scores = results.scores.assign(column=columns)
    scores = scores.pivot_table("value", ["variant", "key"], "column", sort=False)
    frame = cells.merge(scores, how="left", on=["variant", "key"])
    return str(frame.to_csv(index=False, lineterminator="\n"))


def choices(results: Run) -> pd.DataFrame:
    """Count how often cells chose each value of a setting on validation: `GROUP`, setting, value, cells."""
    lines = []
    for cell, row in results.finished:
        group = [getattr(cell, name) for name in GROUP]
        for part in row.training.get("parts", [row.training]):
            lines += [(*group, name, part[name]) for name in CHOSEN if name in part]
    names = [*GROUP, "setting", "value"]
    frame = pd.DataFrame(lines, columns=names)
    return frame.groupby(names, sort=False).size().reset_index(name="cells")


def failures(results: Run) -> list[str]:
    """Return a line per error of failed cells, with the file of the first cell's traceback."""
    lines = []
    for (state, error), cells in cell_errors(results, results.plan.cells).items():
        if state != FAILED:
            continue
        line = f"{'; '.join(cell_names(results.plan, cells))}: {error}"
        files = [store.failure_file(cells[0].key) for store in results.stores]
        existing = [file for file in files if file.is_file()]
        if existing:
            line += f"; traceback in {existing[0]}"
        lines.append(line)
    return lines


def class_scores(results: Run, units: Sequence[str]) -> pd.DataFrame:
    """Score each class of each finished cell: `CLASS_ID`, prevalence, and mean, deviation and seeds of each metric.

    Scores and prevalences are in [0, 1]; lines are in the order of the tables.
    """
    lines = []
    computed: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for (cell, row), unit in product(results.finished, units):
        if not row.counts["test_windows"] or cell.evaluation == RETRIEVAL:
            continue
        equal = results.first_of_equals[cell.key], unit
        if equal not in computed:
            computed[equal] = scores_by_class(results.test_outputs(cell.key, unit), row.labels == "multi")
        for name, values in zip(results.plan.datasets[cell.dataset]["classes"], computed[equal], strict=True):
            lines.append((cell.evaluation, unit, cell.dataset, cell.ratio, name, cell.variant, cell.seed, *values))
    frame = pd.DataFrame(lines, columns=[*CLASS_ID, "seed", "prevalence", *OF_A_CLASS])
    over_subsets = frame.groupby([*CLASS_ID, "seed"], sort=False).mean().reset_index()
    how: dict[str, Any] = {"prevalence": ("prevalence", "mean"), "seeds": ("seed", "nunique")}
    for metric in OF_A_CLASS:
        how[f"{metric}_mean"] = (metric, "mean")
        how[f"{metric}_std"] = (metric, "std")
    scores: pd.DataFrame = over_subsets.groupby(CLASS_ID, sort=False).agg(**how).reset_index()
    deviations = [f"{metric}_std" for metric in OF_A_CLASS]
    scores[deviations] = scores[deviations].where(results.varies(scores), axis=0)
    return scores


def scores_by_class(test: Predictions, multi: bool) -> list[tuple[float, ...]]:
    """Return prevalence, AUROC, average precision and F1 of each class; rankings are NaN without both signs."""
    f1 = class_f1(test.truth, test.probability, multi)  # (C,)
    lines: list[tuple[float, ...]] = []
    for number in range(len(f1)):
        truth, probability = test.truth[:, [number]], test.probability[:, [number]]  # (n, 1)
        rankings = [value_of(name, truth, probability, multi, test.part) for name in ("auroc", "auprc")]
        lines.append((truth.mean(), *rankings, f1[number]))
    return lines


def class_tables(frame: pd.DataFrame, results: Run) -> dict[str, pd.DataFrame]:
    """Return title -> table of classes and rows in percent, one per evaluation, dataset and label share."""
    metric = results.plan.headline.curve
    tables = {}
    for identity, group in frame.groupby(["evaluation", "unit", "dataset", "ratio"], sort=False):
        evaluation, unit, dataset, ratio = cast(tuple[str, str, str, float], identity)
        prevalence = (100 * group["prevalence"]).map(" ({:.1f} %)".format)
        means = 100 * group[f"{metric}_mean"]
        stds = 100 * group[f"{metric}_std"]
        texts = [mean_text(mean, std) for mean, std in zip(means, stds, strict=True)]
        lines = group.assign(Class=group["class"] + prevalence, text=texts)
        table = lines.pivot(index="Class", columns="variant", values="text").fillna(DASH)
        titles = {row: row_title(results.plan, row) for row in lines["variant"].unique()}
        title = f"{EVALUATION_TITLES[evaluation]}, {results.plan.titles[dataset]}, {labels_text(ratio)}, per {unit}"
        tables[title] = table[[*titles]].rename(columns=titles).rename_axis(columns=None).reset_index()
    return tables


HEALTH_TEXT = (
    "From the untrained encoder to the last epoch. Retrieval: share of the held-out windows whose nearest window is of "
    "the same patient; chance: if it were drawn at random. Positives: of a query in the last batch, its own pair "
    "included; beyond the pair: share of the queries that have more, for methods with patients."
)
HEALTH_COLUMNS = MEASURES | {
    "retrieval_chance": "Chance", "positives": "Positives", "beyond_pair": "Beyond the pair",
}  # fmt: skip
"""Measure -> column."""


def pretrainings_table(results: Run) -> pd.DataFrame:
    """Return loss and health of each pretraining, by row and seed; the untrained encoders of a row are one line."""
    lines = []
    shown: set[str] = set()
    for variant, records in results.pretrainings.items():
        title = row_title(results.plan, variant)
        new = [record for key, record in records.items() if key not in shown]
        shown |= records.keys()
        lines += [pretraining_line(title, [record]) for record in new if record.get("loss")]
        untrained = [record for record in new if not record.get("loss")]
        if untrained:
            lines.append(pretraining_line(title, untrained))
    return pd.DataFrame(lines)


def pretraining_line(title: str, records: Sequence[Record]) -> dict[str, str]:
    """Return the texts of one pretraining, or the means of several encoders that were not trained."""
    epochs: list[dict[str, float]] = []
    for record in records:
        epochs += record.get("health") or [{}]
    health = pd.DataFrame(epochs, columns=list(HEALTH_COLUMNS)).astype(float)
    loss = records[0].get("loss")
    if loss:
        training = f"{len(loss)} epochs, {records[0]['updates']} updates, {records[0]['seconds']:.0f} s"
        remark = "; collapsed"
        losses = [loss[0], loss[-1]]
        shown = health.iloc[[0, -1]]
    else:
        training = "untrained"
        remark = "; features hardly differ between windows"
        losses = []
        shown = health.mean().to_frame().T
    last = shown.iloc[-1]
    if collapsed(last["effective_rank"], last["mean_cosine"]):
        training += remark
    line = {"Pretraining": title, "Seed": seeds_named([record["seed"] for record in records]), "Training": training}
    line["Loss"] = course(losses)
    for measure, heading in HEALTH_COLUMNS.items():
        line[heading] = course(shown[measure].dropna())
    return line


def course(values: Iterable[float]) -> str:
    """Return '6.70 → 2.30'; a dash where there is no value."""
    return " → ".join(f"{value:.2f}" for value in values) or DASH


def data_table(results: Run) -> pd.DataFrame:
    """Return sizes of the pretraining corpus and the datasets, and why recordings were skipped, as often first."""
    corpus = results.plan.pretraining
    sources = {corpus["name"]: corpus} | results.plan.datasets
    lines = []
    for facts in sources.values():
        skipped = Counter(facts["skipped"])
        reasons = [f"{reason}: {count}" for reason, count in skipped.most_common()]
        line = {
            "Dataset": facts["title"], "Kind": "simulated" if facts["simulated"] else "real",
            "Recordings": facts["recordings"], "Patients": facts["patients"],
            "Skipped": skipped.total(), "Why": ", ".join(reasons) or DASH,
        }  # fmt: skip
        lines.append(line)
    return pd.DataFrame(lines)
