"""A second opinion: the statistics of the report for anyone's predictions.

A line of the predictions is the score that a model gives a class of a recording; all models have the same test set, and
a recording is one sample. Where each recording has just one of several classes, the most probable class is the
decision; else each class above 0.5 is, and the F1 of a single class is its own. Scores beyond 0 to 1 are no
probabilities: they are ranked, by AUROC and AUPRC alone. Intervals and tests are those of `reports.inference`; the
pairs of models in a metric are one family. Without several seeds they are over patients alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmark.results.arrays import Bools, Ints, Texts
from benchmark.results.canonical import (
    TwoReadings,
    identifier,
    is_shortened,
    patient,
    plain_numbers,
    remarks,
    text,
    thousands_mark,
)
from benchmark.results.metrics import COLUMNS, TITLES, has_one_patient
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.sheets import read_columns
from benchmark.results.store import Predictions
from reports.build import csv
from reports.inference import COLUMN_ID, POWER, ScoreColumn, intervals, judged, pairwise
from reports.jackknife import JACKKNIFED, leave_one_out
from reports.score_tables import LATEX, MARKDOWN, Style, number_text, with_marks
from reports.verdict import finding_text, points_text
from reports.words import ONE_PATIENT, write_files

NEEDED, OPTIONAL = ("recording", "patient", "label", "score", "model"), {"class": "positive", "seed": "0"}
"""Columns of predictions, and the value of those that a file may lack."""
CANONICAL = {"recording": identifier, "patient": patient, "class": text, "model": text, "seed": identifier}
"""Column of texts -> what makes its cells canonical."""
NUMBERS = ("label", "score")
RUN, SAMPLE = ["model", "seed"], ["recording", "class"]
RANKED = ("auroc", "auprc")
"""Metrics that need an order of the scores alone."""


class Opinion(NamedTuple):
    """What is said of predictions."""

    scores: pd.DataFrame
    """A line per model (`variant`) and metric: `reports.inference.INTERVALS`, mean_percent, best, tie."""
    pairs: pd.DataFrame
    """A line per metric and pair of models: `reports.inference.PAIRS`, significant, equivalent."""
    notes: list[str]
    """What was scored and how, and what can be detected."""


def second_opinion(file: Path, further: Sequence[str] = ()) -> Opinion:
    """Test all pairs of models in a CSV of predictions.

    further: metrics beside F1, AUROC and ACC. Raises ValueError, in one line, for a file that cannot be used and for a
    metric that has no interval.
    """
    if without := [metric for metric in further if metric not in JACKKNIFED]:
        raise ValueError(f"--scores {without[0]}: it has no interval; beside --predictions, name auprc or brier")
    written = read_texts(file)
    lines = canonical_lines(file, written)
    classes, runs = runs_of(file, lines)
    models, seeds = map(set, zip(*runs, strict=True))
    truth, patients = next((test.truth, test.patient) for test in runs.values())
    several_labels = truth.shape[1] == 1 or bool((truth.sum(axis=1) != 1).any())
    ranked_alone = any(test.probability.min() < 0 or test.probability.max() > 1 for test in runs.values())
    metrics = [name for name in dict.fromkeys([*COLUMNS, *further]) if name in RANKED or not ranked_alone]
    has_positive = truth.sum(axis=0) > 0  # (C,)
    columns = list(score_columns(runs, metrics, has_positive, multi=several_labels))
    scores, pairs = intervals(columns), judged(pairwise(columns))
    scores = with_marks(scores.assign(mean_percent=100 * scores["mean"], baseline=False, n=1), pairs)
    decision = "F1 and ACC are those of " + ("each class above 0.5." if several_labels else "the most probable class.")
    notes = [
        f"Models: {len(models)}, seeds: {len(seeds)}, classes: {truth.shape[1]}, recordings: {len(truth)}, patients: "
        f"{len(set(patients))}.",
        "Scores beyond 0 to 1 are no probabilities, so F1 and ACC are left out." if ranked_alone else decision,
    ]
    notes += class_notes(classes, truth, patients)
    if len(seeds) == 1:
        notes.append("Each model is one run: that one way of training is better than another does not follow.")
    elif len(runs) < len(models) * len(seeds):
        notes.append("Not every model has every seed: a difference is over the seeds that both have.")
    medians = pairs[pairs["detectable"] > 0].groupby("metric", sort=False)["detectable"].median()
    if len(medians):
        points = ", ".join(f"{TITLES[str(name)]} {100 * median:.1f}" for name, median in medians.items())
        notes.append(f"Detectable difference (power {100 * POWER:g} %, one test, median) in points: {points}.")
    notes += [f"{line}." for line in reading_notes(written, lines)]
    return Opinion(scores, pairs, notes)


def class_notes(classes: Sequence[str], truth: Ints, patients: Texts) -> Iterator[str]:
    """Name the classes whose scores say little or nothing: without a positive recording, or of one patient alone."""
    columns = zip(classes, truth.sum(axis=0) > 0, has_one_patient(truth, patients), strict=True)
    for name, has_positive, is_of_one in columns:
        if not has_positive:
            yield f"Class {name} has no positive recording: it counts in no mean over classes, for no model."
        elif is_of_one:
            yield f"{name}: {ONE_PATIENT}."


def canonical_lines(file: Path, written: pd.DataFrame) -> pd.DataFrame:
    """Return lines of predictions with canonical texts; a cell of a patient that names nobody is a person.

    Raises ValueError, in one line, for a number that a spreadsheet shortened.
    """
    lines = written.assign(**{name: value for name, value in OPTIONAL.items() if name not in written})
    for column, canonical in CANONICAL.items():
        lost = f"{column} {{{column}!r}} was shortened by a spreadsheet; write the number as text into the table"
        refuse(file, lines, lines[column].map(is_shortened), lost)
        lines[column] = lines[column].map(canonical)
    names_nobody = lines["patient"] == ""
    return lines.assign(patient=lines["patient"].mask(names_nobody, "?" + lines["recording"]))


def reading_notes(written: pd.DataFrame, lines: pd.DataFrame) -> Iterator[str]:
    """Yield how many recordings name no patient, and which texts of `written` are one in the canonical `lines`."""
    if unknown := lines.loc[written["patient"].map(patient) == "", "recording"].nunique():
        count = f"{unknown} of {lines['recording'].nunique()} recordings"
        yield f"{count} name no patient in the column patient and count as a person each"
    for column in written.columns.intersection([*CANONICAL]):
        pairs = zip(lines[column], written[column], strict=True)
        yield from remarks(f"texts of the column {column}", [*pairs])


def runs_of(file: Path, lines: pd.DataFrame) -> tuple[list[str], dict[tuple[str, str], Predictions]]:
    """Return the classes, and the predictions of each model and seed, all in the same order of samples and classes.

    Raises ValueError, in one line, where scores are missing or contradict each other.
    """
    person, label = lines.groupby("recording")["patient"], lines.groupby(SAMPLE)["label"]
    again = "recording {recording} (class {class}, model {model}, seed {seed})"
    checks = {
        "label {label:g} is neither 0 nor 1": ~lines["label"].isin([0, 1]),
        f"a second score of {again}; take the mean of its windows, or number runs of a model in a column seed": (
            lines.duplicated([*RUN, *SAMPLE])
        ),
        "recording {recording} is of patient {patient} here and of another above; give it one patient": (
            lines["patient"] != person.transform("first")
        ),
        f"{again} has label {{label:g}} here and another above; give it one label for all models": (
            lines["label"] != label.transform("first")
        ),
    }
    for why, wrong in checks.items():
        refuse(file, lines, wrong, why)
    names, classes = (sorted(set(lines[column])) for column in SAMPLE)
    samples = pd.MultiIndex.from_product([names, classes])
    scores = lines.pivot(index=RUN, columns=SAMPLE, values="score").reindex(columns=samples)  # (runs, n C)
    scores = scores.loc[[*lines[RUN].drop_duplicates().itertuples(index=False, name=None)]]  # in the order of the file
    if len(missing := np.argwhere(scores.isna().to_numpy())):
        (model, seed), (recording, name) = scores.index[missing[0, 0]], scores.columns[missing[0, 1]]
        raise ValueError(
            f"{file}: model {model} has no score of recording {recording} (class {name}, seed {seed}); missing scores: "
            f"{len(missing)}; add them, or leave these recordings out for every model"
        )
    truth = label.first()[samples].to_numpy(dtype=np.int64).reshape(len(names), len(classes))  # (n, C)
    patients = person.first()[names].to_numpy(dtype=str)  # (n,)
    by_run = scores.to_numpy().reshape(len(scores), *truth.shape)  # (runs, n, C)
    runs = {
        run: Predictions(probability, truth, np.array(names), patients)
        for run, probability in zip(scores.index, by_run, strict=True)
    }
    return classes, runs


def read_texts(file: Path) -> pd.DataFrame:
    """Read predictions as texts, labels and scores as numbers. Raises ValueError, in one line, for another table."""
    try:
        lines = read_columns(file)
    except Exception as error:  # of a damaged workbook any
        fault = "no such file" if isinstance(error, FileNotFoundError) else " ".join(str(error).split())
        raise ValueError(f"{file} cannot be read as a table: {fault}") from None
    if missing := [name for name in NEEDED if name not in lines]:
        raise ValueError(f"{file} has no {', '.join(missing)}; its columns are {', '.join(lines.columns)}")
    for name in NUMBERS:
        try:
            texts = plain_numbers([*lines[name]], thousands_mark([*lines[name]]))
            values = pd.to_numeric(pd.Series(texts, lines.index), errors="coerce")
        except TwoReadings as reason:
            raise ValueError(f"{file}: {name}: {reason}") from None
        refuse(file, lines, ~np.isfinite(values), f"{name} {{{name}!r}} is no number")
        lines[name] = values.astype(float)
    return lines


def refuse(file: Path, lines: pd.DataFrame, wrong: pd.Series[bool], why: str) -> None:
    """Raise ValueError with the first wrong line of a file, if there is one; why: a format of its values."""
    if wrong.any():
        first = int(wrong.to_numpy().argmax())
        raise ValueError(f"{file}, line {lines.index[first] + 1}: {why.format_map(lines.iloc[first].to_dict())}")


def score_columns(
    runs: Mapping[tuple[str, str], Predictions], metrics: Sequence[str], classes: Bools, *, multi: bool
) -> Iterator[ScoreColumn]:
    """Yield a column of scores per metric, with each patient left out; NaN for a seed that a model lacks.

    classes: (C,) those that count in macro means, the same for all models.
    """
    models, seeds = map(dict.fromkeys, zip(*runs, strict=True))  # in the order of the file
    scores = {run: leave_one_out(test, HEARTBEAT, metrics, multi=multi, classes=classes) for run, test in runs.items()}
    for metric in metrics:
        of_run = {run: values[metric] for run, values in scores.items()}  # (1 + P,) each
        missing = np.full_like(next(iter(of_run.values())), np.nan)
        rows = {model: [np.stack([of_run.get((model, seed), missing) for seed in seeds])] for model in models}
        yield ScoreColumn(RECORDING, 1.0, "", metric, rows)


def tables_of(opinion: Opinion, style: Style) -> dict[str, pd.DataFrame]:
    """Return title -> table of texts: the scores, and where there are several models their differences."""

    def score_text(line: Mapping[Any, Any]) -> str:
        number = number_text({**line, "std_percent": np.nan, "mark": ""}, style)
        return number if np.isnan(line["low"]) else f"{number} ({100 * line['low']:.1f} to {100 * line['high']:.1f})"

    scores, pairs = opinion.scores, opinion.pairs.dropna(subset=["p"])
    texts = scores.assign(text=[score_text(line) for line in scores.to_dict("records")])
    by_model = texts.pivot(index="variant", columns="metric", values="text")
    by_model = by_model.loc[scores["variant"].unique(), scores["metric"].unique()]
    tables = {"Scores in percent": by_model.rename(index=style.text, columns=TITLES).rename_axis("Model", axis=0)}
    lines = [
        {
            "Metric": TITLES[line["metric"]],
            "Difference of": style.text(f"{line['first']} − {line['second']}"),
            "Points": style.text(points_text(line)),
            "p": f"{line['p_holm']:.2g}",
            "Test": finding_text(line),
            "Detectable": f"{100 * line['detectable']:.1f}",
        }
        for line in pairs.to_dict("records")
    ]
    if lines:
        tables["Differences, with Holm's correction"] = pd.DataFrame(lines).set_index("Metric")
    return tables


def write_opinion(opinion: Opinion, out: Path) -> list[Path]:
    """Write tables and notes as Markdown, LaTeX and CSV; return the files."""
    markdown, latex = ["# Second opinion"], list[str]()
    for title, table in tables_of(opinion, MARKDOWN).items():
        markdown += [f"## {title}", table.to_markdown(disable_numparse=True)]
    for title, table in tables_of(opinion, LATEX).items():
        styler = table.reset_index().style.hide(axis="index")
        latex.append(styler.to_latex(hrules=True, environment="table", caption=LATEX.text(title)))
    markdown.append("\n".join(f"- {MARKDOWN.text(line)}" for line in opinion.notes))
    constant = [name for name in COLUMN_ID if name != "metric"]
    files = {
        "second-opinion.md": "\n\n".join(markdown) + "\n",
        "second-opinion.tex": "\n".join(latex),
        "second-opinion-scores.csv": csv(opinion.scores.drop(columns=[*constant, "baseline", "n"])),
        "second-opinion-pairs.csv": csv(opinion.pairs.drop(columns=constant)),
    }
    return write_files(out, files)
