"""A second opinion: the statistics of the report for anyone's predictions.

A line of the predictions is the score that a model gives a class of a recording; all models have the same test set, and
a recording is one sample. Where each recording has just one of several classes, the most probable class is the
decision; else each class above 0.5 is, and the F1 of a single class is its own. Scores beyond 0 to 1 are no
probabilities: they are ranked, by AUROC and AUPRC alone. Intervals and tests are those of `reports.inference`; the
pairs of models in a metric are one family. Without several seeds they are over patients alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark.results.arrays import Bools, Ints, Texts
from benchmark.results.files import digest
from benchmark.results.metrics import COLUMNS, HEADLINES, TITLES, has_one_patient
from benchmark.results.names import OVERALL, RECORDING
from benchmark.results.store import Plan, Predictions
from reports.answer import Results
from reports.build import TestedTables
from reports.columns import ScoreColumn
from reports.comparison import comparison_of
from reports.inference import POWER, TableStatistics, intervals, judged, pairwise, total_of
from reports.jackknife import JACKKNIFED, leave_one_out, with_contributions
from reports.layouts import Layout
from reports.predictions import (
    NUMBERS,
    Source,
    Training,
    canonical_lines,
    is_paired,
    read_texts,
    reading_notes,
    runs_of,
    with_numbers,
    with_rows,
)
from reports.score_tables import Table, with_intervals, with_marks
from reports.verdict import Verdict, findings_text
from reports.words import ONE_PATIENT

RANKED = ("auroc", "auprc")
"""Metrics that need an order of the scores alone."""
HEADLINE = HEADLINES["strict"]
WORDS = TITLES | {OVERALL: "AUROC"}
PREDICTIONS = "predictions"
"""Name of their table, where that of an evaluation stands in others."""


@dataclass(frozen=True, repr=False)
class ComparedPredictions(Results):
    """The statistics of predictions."""

    plan: Plan
    """Titles of the models alone."""
    scored: Table
    statistics: TableStatistics
    seeds: Sequence[str]
    """Seeds of the models, in the order of the scores of a column."""
    unit: str = RECORDING

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One line per score of a trained model: variant, metric, seed and value in [0, 1]."""
        lines = []
        for column in self.statistics.columns:
            for row, blocks in column.rows.items():
                lines += [(row, column.metric, *score) for score in zip(self.seeds, total_of(blocks), strict=True)]
        scores = pd.DataFrame(lines, columns=["variant", "metric", "seed", "value"])
        return scores.query("metric != @OVERALL").dropna(ignore_index=True)

    @cached_property
    def tested(self) -> TestedTables:
        """The table and its statistics."""
        comparison = comparison_of(self.scored.layout, self.statistics)
        statistics = {self.scored.name: self.statistics}
        return TestedTables([self.scored], statistics, {(PREDICTIONS, RECORDING): comparison}, [])


def second_opinion(file: Path, further: Sequence[str] = (), rows: pd.DataFrame | None = None) -> Results:
    """Test all pairs of models in a table of predictions.

    further: metrics beside F1, AUROC and ACC. rows: predictions of a store that stand beside them (`Run.predicted`), of
    one cell for each row and seed. Raises ValueError, in one line, for a file that cannot be used and for a metric that
    has no interval.
    """
    return results_of(file, read_texts(file), further, rows)


def compare_predictions(predictions: pd.DataFrame, further: Sequence[str] = ()) -> Results:
    """Test all pairs of models in a frame of predictions, of any models; neither torch nor wfdb is loaded.

    predictions: a line per model, recording and class with the columns recording, patient, label (0 or 1), score (a
    probability, or any number that ranks) and model; class where there are several, seed where a model was trained
    several times, and paired ('yes') where equal seeds of two models belong together. further: 'auprc', 'brier'. Raises
    ValueError, in one line, for a frame that cannot be used.

    >>> lines = [("r1", "p1", 0, 0.1, "ours"), ("r2", "p2", 1, 0.8, "ours"), ("r3", "p3", 1, 0.6, "ours")]
    >>> columns = ["recording", "patient", "label", "score", "model"]
    >>> scores = compare_predictions(pd.DataFrame(lines, columns=columns)).scores
    >>> float(scores.set_index("metric").at["auroc", "value"])
    1.0
    """
    written = pd.DataFrame(predictions).reset_index(drop=True)
    others = written.columns.difference(list(NUMBERS))
    written[others] = written[others].astype(str).where(written[others].notna(), "")
    return results_of("predictions", with_numbers("predictions", written), further)


def results_of(
    source: Source, written: pd.DataFrame, further: Sequence[str], rows: pd.DataFrame | None = None
) -> Results:
    """Test all pairs of models in texts of predictions; arguments and errors as of `second_opinion`."""
    for metric in further:
        if metric not in JACKKNIFED:
            raise ValueError(f"--scores {metric}: it has no interval; beside --predictions, name auprc or brier")
    notes: list[str] = []
    if rows is not None:
        written, notes = with_rows(source, written, rows)
    lines = canonical_lines(source, written)
    classes, runs = runs_of(source, lines)
    test = next(iter(runs.values()))  # truth and patients are those of every run
    labels = test.truth.sum(axis=1)  # (n,)
    has_several_labels = len(classes) == 1 or bool((labels != 1).any())
    scaled = models_of_probabilities(source, runs)
    metrics = list(dict.fromkeys([*COLUMNS, *further]))
    has_positive = test.truth.sum(axis=0) > 0  # (C,)
    columns: list[ScoreColumn] = []
    for column in score_columns(runs, metrics, has_positive, multi=has_several_labels):
        models = column.rows if column.metric in RANKED else scaled
        if models:
            blocks = {model: column.rows[model] for model in models}
            columns.append(replace(column, rows=blocks, is_paired=is_paired(written)))
        if column.metric in HEADLINE.metrics:
            columns.append(replace(columns[-1], metric=OVERALL, margin=HEADLINE.margin))
    statistics = TableStatistics(intervals(columns), pairwise(columns), columns=columns)
    notes.append(size_note(runs))
    notes += scale_notes(runs, scaled)
    if len({run.seed for run in runs}) > 1 and not is_paired(written):
        notes.append("Seeds of different models are not paired; a column paired, yes in each line, says that they are.")
    decision = "each class above 0.5" if has_several_labels else "the most probable class"
    notes.append(f"F1 and ACC are those of {decision}.")
    notes += class_notes(classes, test.truth, test.patient)
    notes += reading_notes(written, lines)
    shown = [column.metric for column in columns if column.metric != OVERALL]
    models = list(dict.fromkeys(run.model for run in runs))
    layout = Layout(PREDICTIONS, "", "", tuple(models), tuple(shown), (), HEADLINE)
    limits = " ".join(difference_notes(runs, statistics.pairs, is_paired(written)))
    plan = Plan(digest(models), {"protocol": "strict"}, dict(zip(models, models, strict=True)), {}, {})
    seeds = list(dict.fromkeys(run.seed for run in runs))
    return ComparedPredictions(plan, table_of(layout, statistics, limits, notes), statistics, seeds)


def table_of(layout: Layout, statistics: TableStatistics, limits: str, notes: Sequence[str]) -> Table:
    """Make the table of the scores of models, with a sentence of all pairs per metric."""
    scores = statistics.intervals.drop(columns=["low", "high"])
    scores["title"] = scores["variant"]
    scores["mean_percent"] = 100 * scores["mean"]
    scores["n"] = scores["seeds"].where(scores["metric"] != OVERALL, 1)
    scores["planned"] = scores["n"]
    scores = scores.assign(evaluation=PREDICTIONS, baseline=False, std_percent=np.nan, mark="", remark="", keys="")
    scores = with_marks(scores, statistics.pairs, HEADLINE)
    lines: dict[Any, str] = {}
    pairs = judged(statistics.pairs.dropna(subset=["p"]))
    pairs = pairs[~pairs["metric"].isin(HEADLINE.metrics)]
    for metric, rows in pairs.groupby("metric", sort=False):
        findings = findings_text(rows, rows["first"] + " − " + rows["second"], HEADLINE)
        lines[metric] = f"{WORDS[str(metric)]}, differences in points: {findings}."
    against = [lines.pop(OVERALL)] if OVERALL in lines else []
    return Table(
        name=f"{PREDICTIONS}-{RECORDING}",
        title="Predictions",
        layout=layout,
        scores=with_intervals(scores, statistics.intervals),
        shares={1.0: "All recordings"},
        groups={"": ""},
        headings={},
        footnotes={},
        about="per recording. Bold: best of its column; ≈: not separable from it.",
        about_headline="In brackets: 95 % intervals.",
        verdict=Verdict(against, limits=limits, differences=list(lines.values())),
        footers=notes,
    )


def models_of_probabilities(source: Source, runs: Mapping[Training, Predictions]) -> list[str]:
    """Return the models whose scores lie between 0 and 1. Raises ValueError for one of which some runs alone do."""
    scales: dict[str, set[bool]] = {}
    for run, test in runs.items():
        lowest = test.probability.min()
        highest = test.probability.max()
        scales.setdefault(run.model, set()).add(bool(lowest >= 0 and highest <= 1))
    mixed = [model for model, within in scales.items() if len(within) > 1]
    if mixed:
        raise ValueError(
            f"{source}: model {mixed[0]} has scores between 0 and 1 in some seeds and beyond in others; write all of "
            "them as probabilities, or all as logits"
        )
    return [model for model, within in scales.items() if within == {True}]


def scale_notes(runs: Mapping[Training, Predictions], scaled: Collection[str]) -> Iterator[str]:
    """Name the models whose scores are no probabilities, and those whose scores are decisions."""
    logits = dict.fromkeys(run.model for run in runs if run.model not in scaled)
    if logits:
        yield f"Scores beyond 0 to 1 are no probabilities, so F1 and ACC are left out: {', '.join(logits)}."
    for model in scaled:
        values = [np.unique(test.probability) for run, test in runs.items() if run.model == model]
        if np.isin(np.concatenate(values), [0, 1]).all():
            yield f"{model}: every score is 0 or 1, so its AUROC is that of decisions, not of probabilities."


def size_note(runs: Mapping[Training, Predictions]) -> str:
    """Count models, seeds, classes, recordings and patients."""
    test = next(iter(runs.values()))
    models = len({run.model for run in runs})
    seeds = len({run.seed for run in runs})
    recordings, classes = test.truth.shape
    patients = len(set(test.patient))
    return f"Models: {models}, seeds: {seeds}, classes: {classes}, recordings: {recordings}, patients: {patients}."


def difference_notes(runs: Mapping[Training, Predictions], pairs: pd.DataFrame, paired: bool) -> Iterator[str]:
    """Say what does not follow from the seeds, and which difference can be detected."""
    models = {run.model for run in runs}
    seeds = {run.seed for run in runs}
    if len(seeds) == 1:
        yield "Each model is one run: that one way of training is better than another does not follow."
    elif paired and len(runs) < len(models) * len(seeds):
        yield "Not every model has every seed: a difference is over the seeds that both have."
    is_shown = (pairs["metric"] != OVERALL) & (pairs["detectable"] > 0)
    detectable = pairs[is_shown].groupby("metric", sort=False)["detectable"]
    medians = dict[Any, float](100 * detectable.median())
    points = [f"{TITLES[metric]} {median:.1f}" for metric, median in medians.items()]
    if points:
        power = f"power {100 * POWER:g} %, one test, median"
        yield f"Detectable difference ({power}) in points: {', '.join(points)}."


def class_notes(classes: Sequence[str], truth: Ints, patients: Texts) -> Iterator[str]:
    """Name the classes whose scores say little or nothing: recordings of one sign are missing or of one patient."""
    for sign, samples, means in (("positive", truth, "classes"), ("negative", 1 - truth, "AUROC or AUPRC")):
        columns = zip(classes, samples.sum(axis=0) > 0, has_one_patient(samples, patients), strict=True)
        for name, is_there, is_of_one in columns:
            if not is_there:
                yield f"Class {name} has no {sign} recording: it counts in no mean over {means}, for no model."
            elif is_of_one:
                yield f"{name}: {ONE_PATIENT.replace('positive', sign)}."


def score_columns(
    runs: Mapping[Training, Predictions], metrics: Sequence[str], classes: Bools, *, multi: bool
) -> Iterator[ScoreColumn]:
    """Yield a column of scores per metric, with each patient left out; NaN for a seed that a model lacks.

    classes: (C,) those that count in macro means, the same for all models.
    """
    models = dict.fromkeys(run.model for run in runs)  # in the order of the file
    seeds = dict.fromkeys(run.seed for run in runs)
    scores = {run: leave_one_out(test, metrics, multi=multi, classes=classes) for run, test in runs.items()}
    for metric in metrics:
        by_run = {run: with_contributions(values[metric]) for run, values in scores.items()}  # (1 + P,) each
        missing = np.full_like(next(iter(by_run.values())), np.nan)
        rows = {}
        for model in models:
            by_seed = [by_run.get(Training(model, seed), missing) for seed in seeds]
            rows[model] = [np.stack(by_seed)]
        yield ScoreColumn(RECORDING, 1.0, "", metric, rows)
