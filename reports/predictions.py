"""Predictions of any models as they are written into a table or a frame, and what is wrong with them.

A line is the score that a model gives a class of a recording; all models have the same test set. Names and patients are
brought into their canonical form, and what was made one is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from benchmark.results.canonical import (
    TwoReadings,
    identifier,
    is_shortened,
    other_capitals,
    patient,
    plain_numbers,
    remarks,
    text,
    thousands_mark,
    truth,
)
from benchmark.results.names import reason_of
from benchmark.results.sheets import read_columns
from benchmark.results.store import Predictions

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
Source = Path | str
"""The file of predictions, or what a frame is called in errors."""


class Training(NamedTuple):
    """One training of a model."""

    model: str
    seed: str


def read_texts(file: Path) -> pd.DataFrame:
    """Read predictions as texts, labels and scores as numbers. Raises ValueError, in one line, for another table."""
    try:
        lines = read_columns(file)
    except Exception as error:  # of a damaged workbook any
        fault = "no such file, or a pipe" if isinstance(error, FileNotFoundError) else reason_of(error)
        raise ValueError(f"{file} cannot be read as a table: {fault}") from None
    return with_numbers(file, lines)


def with_numbers(source: Source, lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines with labels and scores as numbers. Raises ValueError for a missing column and for another cell."""
    missing = [name for name in NEEDED if name not in lines]
    if missing:
        hint = "".join(renaming(name, lines.columns) for name in missing)
        columns = ", ".join(lines.columns)
        raise ValueError(
            f"{source} has no single column {', '.join(missing)}; columns that are single: {columns}{hint}"
        )
    if not lines.columns.is_unique:
        raise ValueError(
            f"{source}: several columns are called {lines.columns[lines.columns.duplicated()][0]}; keep one"
        )
    if lines.empty:
        raise ValueError(f"{source} has no line of predictions")
    for name in NUMBERS:
        values = lines[name]
        if not is_numeric_dtype(values):
            cells = values.map(str).tolist()
            if name == "label":
                cells = [*map(zero_or_one, cells)]
            try:
                texts = plain_numbers(cells, thousands_mark(cells))
            except TwoReadings as reason:
                raise ValueError(f"{source}: {name}: {reason}") from None
            values = pd.to_numeric(pd.Series(texts, lines.index), errors="coerce")
        refuse(source, lines, ~np.isfinite(values), f"{name} {{{name}!r}} is no number")
        lines[name] = values.astype(float)
    return lines


def zero_or_one(cell: str) -> str:
    """Return '1' or '0' for a cell that says yes or no, another cell as it is."""
    is_yes = truth(cell)
    return cell if is_yes is None else str(int(is_yes))


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
    is_scored = rows["class"].isin(written["class"].map(text))
    rows = rows[is_scored].astype({"seed": str}).assign(paired="yes")
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


def is_paired(written: pd.DataFrame) -> bool:
    """Tell whether a column says of every line that equal seeds of two models belong together."""
    return "paired" in written and set(written["paired"].dropna().map(truth)) == {True}


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
    for column in ("recording", "model"):
        refuse(source, lines, lines[column] == "", f"the column {column} is blank")
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
        texts = f"texts of the column {column}"
        for remark in (*remarks(texts, readings), *other_capitals(texts, lines[column])):
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


def refuse(source: Source, lines: pd.DataFrame, wrong: pd.Series[bool], why: str) -> None:
    """Raise ValueError with the first wrong line of a file, if there is one; why: a format of its values."""
    if wrong.any():
        first = int(wrong.to_numpy().argmax())
        values = lines.iloc[first].to_dict()
        position = f"line {lines.index[first] + 1}" if isinstance(source, Path) else f"row {lines.index[first]}"
        raise ValueError(f"{source}, {position}: {why.format_map(values)}")
