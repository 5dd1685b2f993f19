"""Which columns of a table are recordings, patients, labels and the rest, and which comments of headers are labels: the
lines of `table` and `labels`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from benchmark.data.readers.cards.card import RECORDING, Split
from benchmark.data.readers.cards.cells import identifier
from benchmark.data.readers.cards.draft.line import Line, asked, told
from benchmark.data.readers.files.tables import truth

MOST_CLASSES = 60
SEPARATORS = (";", "|", ",")
CLEAR = (";", "|")
"""Separators that stand in no name of a class; a comma may, so with it there must be fewer parts than cells."""
MEANING = {
    "patient": re.compile(r"(patient|subject|person|pat|mrn|pid)(_?(id|nr|no|number|num))?", re.IGNORECASE),
    "report": re.compile(r"(report|interpretation|conclusion|statement|befund)(_?text)?", re.IGNORECASE),
    "sex": re.compile(r"(patient_?)?(sex|gender)", re.IGNORECASE),
    "age": re.compile(r"(patient_?)?age(_?(years|at.*))?|years", re.IGNORECASE),
    "split": re.compile(r"split|set|subset|partition|(strat_?)?fold", re.IGNORECASE),
}
"""Key of `table` -> what its column may be called."""
LABELS = re.compile(r".*(label|diagnos|rhythm|class|finding|target|\bdx\b).*", re.IGNORECASE)

Columns = Mapping[str, Sequence[str]]
"""Name -> cells."""


class Match(NamedTuple):
    """How a table's rows find the files."""

    key: str
    """'recording' or 'path'."""
    column: str
    rows: int
    """That find a file."""


def match_of(columns: Columns, names: Sequence[str], paths: Sequence[str]) -> Match | None:
    """The column whose cells are most often recordings, else paths; None where none finds half of its rows."""
    known = {"recording": set(names), "path": {own for path in paths for own in (path, _stem(path))}}
    matches = [
        Match(key, name, sum(identifier(cell) in own or cell.removeprefix("./") in own for cell in cells))
        for key, own in known.items()
        for name, cells in columns.items()
    ]
    best = max(matches, key=lambda match: match.rows, default=None)
    return best if best and 2 * best.rows >= len(next(iter(columns.values()))) > 0 else None


def table_lines(file: str, columns: Columns, match: Match | None) -> Iterator[Line]:
    """The lines of `table`."""
    rows = len(next(iter(columns.values()), ()))
    yield told("file", file, f"{rows} rows; its columns: {', '.join(columns)[:300]}")
    if match is None:
        yield asked("recording", f"the column whose cells are {RECORDING} of the pattern (or path: that of the paths)")
    else:
        yield told(match.key, match.column, f"{match.rows} of {rows} rows have a file")
    used = {match.column} if match else set()
    for key, meaning in MEANING.items():
        column = next((name for name in columns if name not in used and meaning.fullmatch(name)), None)
        if column is None and key == "patient":
            yield asked(key, "the column of patients; delete the line if every recording is of another person")
        elif column is None:
            yield Line(key, None)
        elif key == "split":
            yield split_line(column, columns[column])
        else:
            used.add(column)
            yield told(key, column)


def split_line(column: str, cells: Sequence[str]) -> Line:
    """A column of a split, with the sides of its values where these are not the usual words."""
    values = sorted(set(filter(None, cells)))
    usual = Split(column=column)
    if all(value.lower() in (*usual.train, *usual.validation, *usual.test) for value in values):
        return told("split", column)
    return Line("split", None, f"of the column {column}: {{column: {column}, train: [], validation: [], test: []}}")


def label_lines(columns: Columns, taken: Sequence[str]) -> list[Line]:
    """The lines of `labels`; none where no column looks like labels."""
    free = {name: cells for name, cells in columns.items() if name not in taken}
    one_each = [name for name, cells in free.items() if _says_yes_or_no(cells)]
    few = [name for name in free if name not in one_each and 2 <= len(words_of(free[name])[1]) <= MOST_CLASSES]
    named = [name for name in few if LABELS.fullmatch(name)]
    if named:
        return column_lines(named[0], free)
    if len(one_each) >= 2:
        counts = ", ".join(f"{name} {sum(bool(cell and truth(cell)) for cell in free[name])}" for name in one_each)
        return [told("classes", one_each, f"a column each, leave out what is no class; recordings: {counts}")]
    if not few:
        return []
    without = "delete this section for a corpus without labels"
    return [
        asked("column", f"the column of labels; {without}. Columns of few values: {', '.join(few)[:300]}"),
        asked("classes", "the values of that column, as a list"),
    ]


def comment_lines(comments: Columns) -> list[Line]:
    """The lines of `labels` of the first comment, name -> its texts, that names classes; none where none does."""
    named = [name for name, texts in comments.items() if 2 <= len(words_of(texts)[1]) <= MOST_CLASSES]
    return column_lines(named[0], comments, "comment") if named else []


def column_lines(column: str, columns: Columns, key: str = "column") -> list[Line]:
    """The lines of `labels` of a column, or another `key` of them, whose cells name classes."""
    separator, counts_of = words_of(columns[column])
    counts = ", ".join(f"{word} {count}" for word, count in counts_of.most_common())
    return [
        told(key, column),
        *([told("separator", separator)] if separator else []),
        told("classes", [word for word, _ in counts_of.most_common()], f"recordings: {counts}"),
        Line("values", None, "{CLASS: [cell, cell]}: cells that stand for a class, to merge or rename"),
        Line("others", None, "ignore: a label that is no class is ignored; else its recording is skipped"),
    ]


def words_of(cells: Sequence[str]) -> tuple[str | None, Counter[str]]:
    """What separates the labels of a column's cells, None where each has one, and the labels with their numbers."""
    whole = Counter(filter(None, cells))
    for separator in SEPARATORS:
        parts = Counter(part.strip() for cell in cells for part in cell.split(separator) if part.strip())
        if len(parts) < len(whole) or (separator in CLEAR and any(separator in cell for cell in cells)):
            return separator, parts
    return None, whole


def _says_yes_or_no(cells: Sequence[str]) -> bool:
    said = {truth(cell) for cell in cells if cell}
    return bool(said) and None not in said


def _stem(path: str) -> str:
    return PurePosixPath(path).with_suffix("").as_posix()
