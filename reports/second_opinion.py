"""A second opinion: the statistics of the report for anyone's predictions.

A line of the predictions is the score that a model gives a class of a recording; all models have the same test set, and
a recording is one sample. Where each recording has just one of several classes, the most probable class is the
decision; else each class above 0.5 is, and the F1 of a single class is its own. Scores beyond 0 to 1 are no
probabilities: they are ranked, by AUROC and AUPRC alone. Intervals and tests are those of `reports.inference`; the
pairs of models in a metric are one family. Without several seeds they are over patients alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

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
from benchmark.results.metrics import COLUMNS, HEADLINES, TITLES, has_one_patient
from benchmark.results.names import RECORDING
from benchmark.results.sheets import read_columns
from benchmark.results.store import Predictions
from reports.columns import ScoreColumn
from reports.inference import POWER, intervals, judged, pairwise
from reports.jackknife import JACKKNIFED, leave_one_out, with_contributions
from reports.opinion import Opinion
from reports.score_tables import with_marks
from reports.words import ONE_PATIENT

NEEDED = ("recording", "patient", "label", "score", "model")
"""Columns that predictions must have."""
OPTIONAL = {"class": "positive", "seed": "0", "paired": ""}
"""Column that predictions may lack -> its value then."""
CANONICAL = {"recording": identifier, "patient": patient, "class": text, "model": text, "seed": identifier}
"""Column of texts -> what makes its cells canonical."""
NUMBERS = ("label", "score")
ALSO = {
    "recording": ("ecg", "ecgid", "file", "filename", "id", "record", "recordid", "studyid"),
    "patient": ("patientid", "person", "pid", "subject", "subjectid"),
    "label": ("target", "truth", "y", "ytrue"),
    "score": ("logit", "p", "pred", "prediction", "prob", "probability", "ypred", "yscore"),
    "model": ("algorithm", "classifier", "method", "name"),
}
"""Needed column -> other names of it, in letters alone."""
RUN = ["model", "seed"]
SAMPLE = ["recording", "class"]
RANKED = ("auroc", "auprc")
"""Metrics that need an order of the scores alone."""
HEADLINE = HEADLINES["strict"]


Source = Path | str
"""The file of predictions, or what a frame is called in errors."""


class Training(NamedTuple):
    """One training of a model."""

    model: str
    seed: str


def second_opinion(file: Path, further: Sequence[str] = (), rows: pd.DataFrame | None = None) -> Opinion:
    """Test all pairs of models in a table of predictions.

    further: metrics beside F1, AUROC and ACC. rows: predictions of a store that stand beside them (`Run.predicted`), of
    one cell for each row and seed. Raises ValueError, in one line, for a file that cannot be used and for a metric that
    has no interval.
    """
    return opinion_of(file, read_texts(file), further, rows)


def compare_predictions(predictions: pd.DataFrame, further: Sequence[str] = ()) -> Opinion:
    """Test all pairs of models in a frame of predictions, of any models; neither torch nor wfdb is loaded.

    predictions: a line per model, recording and class with the columns recording, patient, label (0 or 1), score (a
    probability, or any number that ranks) and model; class where there are several, seed where a model was trained
    several times, and paired ('yes') where equal seeds of two models belong together. further: 'auprc', 'brier'. Raises
    ValueError, in one line, for a frame that cannot be used.

    >>> lines = [("r1", "p1", 0, 0.1, "ours"), ("r2", "p2", 1, 0.8, "ours"), ("r3", "p3", 1, 0.6, "ours")]
    >>> columns = ["recording", "patient", "label", "score", "model"]
    >>> scores = compare_predictions(pd.DataFrame(lines, columns=columns)).scores
    >>> float(scores.set_index("metric").at["auroc", "mean"])
    1.0
    """
    written = predictions.reset_index(drop=True)
    others = written.columns.difference(list(NUMBERS))
    written[others] = written[others].map(cell_text)
    return opinion_of("predictions", with_numbers("predictions", written), further)


def cell_text(value: Any) -> str:
    """Return the cell of a frame as text: '' for a missing value, '7' for 7.0."""
    if pd.isna(value):
        return ""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def opinion_of(
    source: Source, written: pd.DataFrame, further: Sequence[str], rows: pd.DataFrame | None = None
) -> Opinion:
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
    pairs = judged(pairwise(columns))
    scores = intervals(columns)
    scores = with_marks(scores.assign(mean_percent=100 * scores["mean"], baseline=False, n=1), pairs, HEADLINE)
    notes.append(size_note(runs))
    notes += scale_notes(runs, scaled)
    if len({run.seed for run in runs}) > 1 and not is_paired(written):
        notes.append("Seeds of different models are not paired; a column paired, yes in each line, says that they are.")
    if has_several_labels:
        notes.append("F1 and ACC are those of each class above 0.5.")
    else:
        notes.append("F1 and ACC are those of the most probable class.")
    notes += class_notes(classes, test.truth, test.patient)
    notes += difference_notes(runs, pairs)
    notes += reading_notes(written, lines)
    return Opinion(scores, pairs, notes)


def is_paired(written: pd.DataFrame) -> bool:
    """Tell whether a column says of every line that equal seeds of two models belong together."""
    return "paired" in written and bool(written["paired"].dropna().map(text).isin(["yes", "true", "1"]).all())


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
    models = dict.fromkeys(run.model for run in runs)
    logits = [model for model in models if model not in scaled]
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


def difference_notes(runs: Mapping[Training, Predictions], pairs: pd.DataFrame) -> Iterator[str]:
    """Say what does not follow from the seeds, and which difference can be detected."""
    models = {run.model for run in runs}
    seeds = {run.seed for run in runs}
    if len(seeds) == 1:
        yield "Each model is one run: that one way of training is better than another does not follow."
    elif len(runs) < len(models) * len(seeds):
        yield "Not every model has every seed: a difference is over the seeds that both have."
    detectable = pairs[pairs["detectable"] > 0].groupby("metric", sort=False)["detectable"]
    points = [f"{TITLES[str(name)]} {100 * median:.1f}" for name, median in detectable.median().items()]
    if points:
        power = f"power {100 * POWER:g} %, one test, median"
        yield f"Detectable difference ({power}) in points: {', '.join(points)}."


def class_notes(classes: Sequence[str], truth: Ints, patients: Texts) -> Iterator[str]:
    """Name the classes whose scores say little or nothing: without a positive recording, or of one patient alone."""
    columns = zip(classes, truth.sum(axis=0) > 0, has_one_patient(truth, patients), strict=True)
    for name, has_positive, is_of_one in columns:
        if not has_positive:
            yield f"Class {name} has no positive recording: it counts in no mean over classes, for no model."
        elif is_of_one:
            yield f"{name}: {ONE_PATIENT}."


def canonical_lines(source: Source, written: pd.DataFrame) -> pd.DataFrame:
    """Return lines of predictions with canonical texts; a cell of a patient that names nobody is a person.

    Raises ValueError, in one line, for a number that a spreadsheet shortened.
    """
    lines = written.copy()
    for column, value in OPTIONAL.items():
        if column not in lines:
            lines[column] = value
    for column, canonical in CANONICAL.items():
        lost = f"{column} {{{column}!r}} was shortened by a spreadsheet; write the number as text into the table"
        refuse(source, lines, lines[column].map(is_shortened), lost)
        lines[column] = lines[column].map(canonical)
    names_nobody = lines["patient"] == ""
    lines["patient"] = lines["patient"].mask(names_nobody, "?" + lines["recording"])
    return lines


def reading_notes(written: pd.DataFrame, lines: pd.DataFrame) -> Iterator[str]:
    """Count the recordings that name no patient, and name the texts of `written` that are one in canonical `lines`."""
    names_nobody = written["patient"].map(patient) == ""
    unknown = lines.loc[names_nobody, "recording"].nunique()
    if unknown:
        every = lines["recording"].nunique()
        yield f"{unknown} of {every} recordings name no patient in the column patient and count as a person each."
    for column in written.columns.intersection([*CANONICAL]):
        readings = list(zip(lines[column], written[column], strict=True))
        for remark in remarks(f"texts of the column {column}", readings):
            yield f"{remark}."


def runs_of(source: Source, lines: pd.DataFrame) -> tuple[list[str], dict[Training, Predictions]]:
    """Return the classes, and the predictions of each run, all in the same order of samples and classes.

    Raises ValueError, in one line, where scores are missing or contradict each other.
    """
    person = lines.groupby("recording")["patient"]
    label = lines.groupby(SAMPLE)["label"]
    refuse_contradictions(source, lines, person.transform("first"), label.transform("first"))
    recordings = sorted(set(lines["recording"]))
    classes = sorted(set(lines["class"]))
    samples = pd.MultiIndex.from_product([recordings, classes])
    runs = [Training(*run) for run in lines[RUN].drop_duplicates().itertuples(index=False)]  # in the order of the file
    scores = lines.pivot(index=RUN, columns=SAMPLE, values="score").reindex(columns=samples)  # (runs, n C)
    scores = scores.loc[runs]
    refuse_missing(source, scores)
    shape = (len(recordings), len(classes))
    truth = label.first()[samples].to_numpy(dtype=np.int64).reshape(shape)
    patients = person.first()[recordings].to_numpy(dtype=str)  # (n,)
    predictions = {}
    for run, by_sample in zip(runs, scores.to_numpy(), strict=True):
        predictions[run] = Predictions(by_sample.reshape(shape), truth, np.array(recordings), patients)
    return classes, predictions


def refuse_contradictions(source: Source, lines: pd.DataFrame, person: pd.Series[str], label: pd.Series[float]) -> None:
    """Raise ValueError for the first line that has no label or a second score, or contradicts another line.

    person, label: those of the first line of the same recording, and of the same recording and class.
    """
    sample = "recording {recording} (class {class}, model {model}, seed {seed})"
    again = f"a second score of {sample}; take the mean of its windows, or number runs of a model in a column seed"
    other_person = "recording {recording} is of patient {patient} here and of another above; give it one patient"
    other_label = f"{sample} has label {{label:g}} here and another above; give it one label for all models"
    refuse(source, lines, ~lines["label"].isin([0, 1]), "label {label:g} is neither 0 nor 1")
    refuse(source, lines, lines.duplicated([*RUN, *SAMPLE]), again)
    refuse(source, lines, lines["patient"] != person, other_person)
    refuse(source, lines, lines["label"] != label, other_label)


def refuse_missing(source: Source, scores: pd.DataFrame) -> None:
    """Raise ValueError with the first missing score; scores: (runs, samples)."""
    missing = np.argwhere(scores.isna().to_numpy())
    if len(missing):
        row, column = missing[0]
        model, seed = scores.index[row]
        recording, name = scores.columns[column]
        raise ValueError(
            f"{source}: model {model} has no score of recording {recording} (class {name}, seed {seed}); missing "
            f"scores: {len(missing)}; add them, or leave these recordings out for every model"
        )


def read_texts(file: Path) -> pd.DataFrame:
    """Read predictions as texts, labels and scores as numbers. Raises ValueError, in one line, for another table."""
    try:
        lines = read_columns(file)
    except Exception as error:  # of a damaged workbook any
        fault = "no such file" if isinstance(error, FileNotFoundError) else " ".join(str(error).split())
        raise ValueError(f"{file} cannot be read as a table: {fault}") from None
    return with_numbers(file, lines)


def with_numbers(source: Source, lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines with labels and scores as numbers. Raises ValueError for a missing column and for another cell."""
    missing = [name for name in NEEDED if name not in lines]
    if missing:
        hint = "".join(renaming(name, lines.columns) for name in missing)
        raise ValueError(f"{source} has no {', '.join(missing)}; its columns are {', '.join(lines.columns)}{hint}")
    for name in NUMBERS:
        values = lines[name]
        if not is_numeric_dtype(values):
            cells = values.map(str).tolist()
            try:
                texts = plain_numbers(cells, thousands_mark(cells))
            except TwoReadings as reason:
                raise ValueError(f"{source}: {name}: {reason}") from None
            values = pd.to_numeric(pd.Series(texts, lines.index), errors="coerce")
        refuse(source, lines, ~np.isfinite(values), f"{name} {{{name}!r}} is no number")
        lines[name] = values.astype(float)
    return lines


def renaming(name: str, columns: Iterable[str]) -> str:
    """Return '; rename ecg_id to recording' where a column may be meant by a needed name."""
    for column in columns:
        letters = re.sub("[^a-z]", "", column.lower())
        is_free = column not in NEEDED and column not in OPTIONAL
        is_similar = letters in ALSO[name] or bool(get_close_matches(letters, [name]))
        if is_free and is_similar:
            return f"; rename {column} to {name}"
    return ""


def with_rows(source: Source, written: pd.DataFrame, rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Put the lines of rows before those of a file, of the recordings and classes that both have; with notes.

    A file without seeds is one run of each model, which stands beside every seed. Raises ValueError where nothing is
    shared, or the file does not name the class that it scores.
    """
    notes = []
    if "class" not in written:
        classes = ", ".join(rows["class"].unique())
        raise ValueError(f"{source} has no class: add a column with the class that it scores, as a row does: {classes}")
    rows = rows[rows["class"].isin(written["class"].map(text))].astype({"seed": str}).assign(paired="yes")
    if "seed" not in written:
        written = pd.concat([written.assign(seed=seed, paired="yes") for seed in rows["seed"].unique()])
        notes.append(f"Each model of {source} is one run, which stands beside every seed.")
    shared = set(written["recording"].map(identifier)) & set(rows["recording"].map(identifier))
    if not shared:
        raise ValueError(f"{source}: no row has its classes and recordings; Results.predicted() has those of the rows")
    every = pd.concat([rows[written.columns.intersection(rows.columns)], written])
    is_shared = every["recording"].map(identifier).isin(shared)
    without = every.loc[~is_shared, "recording"].nunique()
    if without:
        notes.append(f"Recordings that the file or the rows lack, and that are left out: {without}.")
    return every[is_shared], notes


def refuse(source: Source, lines: pd.DataFrame, wrong: pd.Series[bool], why: str) -> None:
    """Raise ValueError with the first wrong line of a file, if there is one; why: a format of its values."""
    if wrong.any():
        first = int(wrong.to_numpy().argmax())
        values = lines.iloc[first].to_dict()
        position = f"line {lines.index[first] + 1}" if isinstance(source, Path) else f"row {lines.index[first]}"
        raise ValueError(f"{source}, {position}: {why.format_map(values)}")


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
        margin = HEADLINE.margin if metric in HEADLINE.metrics else np.nan
        yield ScoreColumn(RECORDING, 1.0, "", metric, rows, {}, margin)
