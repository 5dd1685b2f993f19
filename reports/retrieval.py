"""Retrieval of the patient by frozen features: scores with intervals, tests of pairs of rows, and their table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from benchmark.results.metrics import NO_OTHER, RECALLS, TITLES
from benchmark.results.names import EVALUATION_TITLES, LINEAR, OVERALL, RECORDING, RETRIEVAL
from benchmark.results.store import PlannedCell
from reports.columns import ScoreColumn, UnequalTestSets, score_columns
from reports.inference import TableStatistics, intervals, pairwise
from reports.layouts import layouts
from reports.results import Run
from reports.score_tables import DASH
from reports.words import and_text, mean_text, row_title

COMPARED_RECALLS = ("recall@1", "patient_auroc")
"""Scores of patient retrieval in which rows are tested against each other."""
RETRIEVAL_TEXT = (
    "Recall@1 and Recall@5: share (%) of the test recordings whose nearest other test recording, or one of whose "
    "nearest five, is of the same patient, by the cosine of frozen features (means over windows). Same-patient AUROC: "
    "how often a recording of the patient is nearer than one of somebody else, whatever their number. Means over the "
    "patients with several test recordings; in brackets 95 % intervals over these patients and the seeds. Chance: "
    "recordings drawn at random. Linear probe: at the smallest label share. `retrieval-pairs.csv` has the tests of "
    "pairs of rows."
)


class Retrieval(NamedTuple):
    """Patient retrieval of a run; all is empty where none was evaluated."""

    scores: pd.DataFrame
    """A line per row and score, as of `intervals`; the headline of the linear probe stands beside them."""
    pairs: pd.DataFrame
    """A line per pair of compared rows, as of `pairwise`."""
    table: pd.DataFrame
    """The scores in percent, a line per row."""
    text: str
    """Meaning of the table."""
    problems: list[str]
    """Why there are no scores or no pairs."""


def retrieval_of(results: Run, unit: str) -> Retrieval:
    """Score patient retrieval, with the headline per `unit` of the linear probe beside it, and test rows in pairs."""
    scores = TableStatistics().intervals
    pairs = TableStatistics().pairs
    problems = []
    try:
        scores = retrieval_scores(results, unit)
        pairs = retrieval_pairs(results)
    except UnequalTestSets as problem:
        problems.append(f"patient retrieval: {problem}")
    return Retrieval(scores, pairs, *retrieval_table(results, scores), problems)


def retrieval_scores(results: Run, unit: str) -> pd.DataFrame:
    """Score patient retrieval with intervals, then the headline, per `unit`, of the linear probe at its smallest share.

    Lines as of `intervals`. Raises UnequalTestSets. Rows are scored apart: an encoder of others may lack recordings.
    """
    headline = results.plan.headline
    columns: list[ScoreColumn] = []
    retrieved: dict[str, list[PlannedCell]] = {}
    for cell in results.plan.cells:
        if cell.evaluation == RETRIEVAL:
            retrieved.setdefault(cell.variant, []).append(cell)
    for cells in retrieved.values():
        columns += score_columns(results, cells, RECALLS, RECORDING)
    probed = [cell for cell in results.plan.cells if cell.variant in retrieved and cell.evaluation == LINEAR]
    smallest = min((cell.ratio for cell in probed), default=0.0)
    at_smallest = [cell for cell in probed if cell.ratio == smallest]
    for column in score_columns(results, at_smallest, headline.metrics, unit):
        if column.metric == OVERALL:
            columns.append(column)
    return intervals(columns)


def retrieval_pairs(results: Run) -> pd.DataFrame:
    """Test the differences in recall and same-patient AUROC of each pair of compared rows, as of `pairwise`.

    Raises UnequalTestSets where an encoder from outside lacks recordings.
    """
    layout = next(layouts(results.plan, RETRIEVAL), None)
    if layout is None:
        return TableStatistics().pairs
    return pairwise(list(score_columns(results, layout.cells, COMPARED_RECALLS, RECORDING)), layout.baselines)


def retrieval_table(results: Run, scores: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the scores of `retrieval_scores` in percent, a line per row, and what they mean."""
    if scores.empty:
        return scores, ""
    titles = results.plan.titles
    is_lacking = scores["mean"].isna()
    is_shown = ~is_lacking | (scores["metric"] == RECALLS[0])
    lacking = scores[is_lacking & is_shown]
    scores = scores[is_shown]
    dataset = scores["dataset"].map(titles).fillna(EVALUATION_TITLES[LINEAR])
    column = dataset + " " + scores["metric"].map(TITLES | {OVERALL: results.plan.headline.words})
    texts = [retrieval_text(score) for score in scores.to_dict("records")]
    lines = scores.assign(column=column, text=texts)
    table = lines.pivot(index="variant", columns="column", values="text").fillna(DASH)
    table = table.loc[scores["variant"].unique(), column.unique()].reset_index(names="Method")
    table["Method"] = [row_title(results.plan, variant) for variant in table["Method"]]
    if lacking.empty:
        return table, RETRIEVAL_TEXT
    without = lacking["dataset"].map(titles).unique().tolist()
    return table, f"{RETRIEVAL_TEXT} {DASH}: {and_text(without)}: {NO_OTHER}."


def retrieval_text(score: Mapping[Any, Any]) -> str:
    """Return '70.1 (68.0 to 72.2)', a score in percent with its interval; chance has none."""
    mean, low, high = (100 * score[name] for name in ("mean", "low", "high"))
    text = mean_text(mean)
    if high > low and not score["metric"].startswith("chance"):
        text += f" ({low:.1f} to {high:.1f})"
    return text
