"""The verb `data new-card`: look at a folder of ECGs and write the text of a first card for it.

The files tell the section `signals`: their pattern, and what the first of them state of leads, rate and unit. A table
beside them tells `table`, and its columns, or comments of headers, `labels`. What nothing tells is a question.
"""

from __future__ import annotations

import math
import os
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from benchmark.config.command_line import OK
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.base import LEADS, DatasetError, Unusable
from benchmark.data.datasets.card import (
    ARRAYS,
    NAME,
    NO_UNITS,
    PATIENT,
    RECORDING,
    SUFFIXES,
    Card,
    DraftLine,
    Format,
    Signals,
    Split,
    open_line,
)
from benchmark.data.datasets.card_dataset import header_of_table, identifier, one_line, read_columns
from benchmark.data.datasets.card_formats import (
    READERS,
    Stored,
    are_names,
    derivable,
    first_line,
    hdf5_identifiers,
    lacking,
    shapes_in,
)
from benchmark.data.datasets.tables import truth
from benchmark.data.datasets.wfdb_files import MILLIVOLTS, comments
from benchmark.results.files import write_atomic
from benchmark.results.names import command
from benchmark.screen import Console, note

MOST_CLASSES = 60
SEPARATORS = (";", "|", ",", "\n")
CLEAR = (";", "|")
"""Separators that stand in no name of a class; others may, so with them there must be fewer parts than cells."""
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
    files: int
    """That are found."""


def match_of(columns: Columns, names: Sequence[str], paths: Sequence[str]) -> Match | None:
    """The column whose cells name the most recordings, else paths; None where none finds half of its rows.

    Ages and other small numbers can look like names in most rows; they name few files.
    """
    known = {"recording": set(names), "path": {own for path in paths for own in (path, _stem(path))}}
    matches = []
    for key, own in known.items():
        for name, cells in columns.items():
            found = [{identifier(cell), cell.removeprefix("./")} & own for cell in cells]
            matches.append(Match(key, name, sum(map(bool, found)), len(set[str]().union(*found))))
    best = max(matches, key=lambda match: match.files, default=None)
    return best if best and 2 * best.rows >= len(next(iter(columns.values()))) > 0 else None


def table_lines(file: str, columns: Columns, match: Match | None) -> Iterator[DraftLine]:
    """The lines of `table`."""
    rows = len(next(iter(columns.values()), ()))
    yield DraftLine("file", file, f"{rows} rows; its columns: {', '.join(columns)[:300]}")
    if match is None:
        yield open_line(
            "recording",
            f"the column whose cells are {RECORDING} of the pattern (or path: that of the paths); of a stacked file "
            "the column of the identifiers of rows, by default 0, 1, ...",
        )
    else:
        yield DraftLine(match.key, match.column, f"{match.rows} of {rows} rows have a file")
    used = {match.column} if match else set()
    for key, meaning in MEANING.items():
        column = next((name for name in columns if name not in used and meaning.fullmatch(name)), None)
        if column is None and key == "patient":
            yield open_line(key, "the column of patients; delete the line if every recording is of another person")
        elif column is None:
            yield DraftLine(key, None)
        elif key == "split":
            yield split_line(column, columns[column])
        else:
            used.add(column)
            yield DraftLine(key, column)


def split_line(column: str, cells: Sequence[str]) -> DraftLine:
    """A column of a split, with the sides of its values where these are not the usual words."""
    values = sorted(set(filter(None, cells)))
    usual = Split(column=column)
    if all(value.lower() in (*usual.train, *usual.validation, *usual.test) for value in values):
        return DraftLine("split", column)
    return DraftLine(
        "split", None, f"of the column {column}: {{column: {column}, train: [], validation: [], test: []}}"
    )


def label_lines(columns: Columns, taken: Sequence[str]) -> list[DraftLine]:
    """The lines of `labels`; none where no column looks like labels."""
    free = {name: cells for name, cells in columns.items() if name not in taken}
    one_each = [name for name, cells in free.items() if _says_yes_or_no(cells)]
    few = [name for name in free if name not in one_each and 2 <= len(words_of(free[name])[1]) <= MOST_CLASSES]
    named = [name for name in few if LABELS.fullmatch(name)]
    if named:
        return column_lines(named[0], free)
    if len(one_each) >= 2:
        marked = [[bool(cell and truth(cell)) for cell in free[name]] for name in one_each]
        counts = ", ".join(f"{name} {sum(own)}" for name, own in zip(one_each, marked, strict=True))
        rows = [[name for name, own in zip(one_each, row, strict=True) if own] for row in zip(*marked, strict=True)]
        several, is_asked = several_labels(rows)
        text = f"a column each, leave out what is no class; recordings: {counts}"
        if is_asked:
            remedy = f"with --labels multi list all, else those that exclude each other: {', '.join(one_each)}"
            return [open_line("classes", f"{several}, which single labels leave out: {remedy}; {text}")]
        return [DraftLine("classes", one_each, "; ".join(filter(None, (text, several))))]
    if not few:
        return []
    without = "delete this section for a corpus without labels"
    return [
        open_line("column", f"the column of labels; {without}. Columns of few values: {', '.join(few)[:300]}"),
        open_line("classes", "the values of that column, as a list"),
    ]


def comment_lines(comments: Columns) -> list[DraftLine]:
    """The lines of `labels` of the first comment, name -> its texts, that names classes; none where none does."""
    named = [name for name, texts in comments.items() if 2 <= len(words_of(texts)[1]) <= MOST_CLASSES]
    return column_lines(named[0], comments, "comment") if named else []


def column_lines(column: str, columns: Columns, key: str = "column") -> list[DraftLine]:
    """The lines of `labels` of a column, or another `key` of them, whose cells name classes."""
    separator, counts_of = words_of(columns[column])
    others = DraftLine("others", None, "ignore: a label that is no class is ignored; else its recording is skipped")
    counts = f"recordings: {', '.join(f'{word} {count}' for word, count in counts_of.most_common())}"
    several, is_asked = several_labels([parts_of(cell, separator) for cell in columns[column]])
    if is_asked:
        remedies = "answer skip and use --labels multi, or take labels out of classes and answer ignore"
        others = open_line("others", f"{several}, which single labels leave out: {remedies}")
    return [
        DraftLine(key, column),
        *([DraftLine("separator", separator)] if separator else []),
        DraftLine("classes", [word for word, _ in counts_of.most_common()], "; ".join(filter(None, (counts, several)))),
        DraftLine("values", None, "{CLASS: [cell, cell]}: cells that stand for a class, to merge or rename"),
        others,
    ]


def several_labels(rows: Sequence[Sequence[str]]) -> tuple[str, bool]:
    """How many recordings have several labels, '' for none, of the labels of each; whether single labels do not fit.

    They do not where they leave fewer than half of the recordings, or fewer than two classes of two recordings.
    """
    labelled = [labels for labels in rows if labels]
    alone = Counter(labels[0] for labels in labelled if len(labels) == 1)
    several = len(labelled) - alone.total()
    if not several:
        return "", False
    text = f"{several} of {len(labelled)} recordings have several labels"
    return text, 2 * several > len(labelled) or sum(count > 1 for count in alone.values()) < 2


def words_of(cells: Sequence[str]) -> tuple[str | None, Counter[str]]:
    """What separates the labels of a column's cells, None where each has one, and the labels with their numbers."""
    whole = Counter(filter(None, map(one_line, cells)))
    for separator in SEPARATORS:
        parts = Counter(part for cell in cells for part in parts_of(cell, separator))
        if len(parts) < len(whole) or (separator in CLEAR and any(separator in cell for cell in cells)):
            return separator, parts
    return None, whole


def parts_of(cell: str, separator: str | None) -> list[str]:
    """The labels of a cell, each once, none of two lines."""
    return list(dict.fromkeys(filter(None, map(one_line, cell.split(separator) if separator else [cell]))))


def _says_yes_or_no(cells: Sequence[str]) -> bool:
    said = {truth(cell) for cell in cells if cell}
    return bool(said) and None not in said


def _stem(path: str) -> str:
    return PurePosixPath(path).with_suffix("").as_posix()


TABLES = (".csv", ".tsv", ".xlsx", ".parquet")
FEW = 4
"""So many text files of one folder may be tables, if they begin with names other than leads; more are signals."""
MOST_FILES = 1_000_000


class Seen(NamedTuple):
    """What a folder holds."""

    pattern: str
    """Of the signals, with {recording}."""
    signals: tuple[str, ...]
    """Paths below the folder."""
    names: tuple[str, ...]
    """What {recording} is in each of the paths."""
    tables: tuple[str, ...]
    others: tuple[str, ...]
    """Paths of signals with the suffix in other capitals, which the pattern does not find."""
    ids_name: str | None = None
    """Array of the identifiers of a stacked HDF5 file, which are the names."""


def look(folder: Path) -> Seen:
    """The signals and tables of a folder. Raises DatasetError where it has no files that a card can read."""
    paths = [
        Path(root, name).relative_to(folder).as_posix() for root, _, names in os.walk(folder) for name in sorted(names)
    ]
    if len(paths) > MOST_FILES:
        raise DatasetError(f"{folder} has more than {MOST_FILES:,} files: name the folder of one dataset")
    like_tables = [path for path in paths if PurePosixPath(path).suffix.lower() in TABLES]
    crowded = Counter(map(os.path.dirname, like_tables))
    tables = {
        path for path in like_tables if crowded[os.path.dirname(path)] <= FEW and not _is_of_samples(folder / path)
    }
    signals = [path for path in paths if path not in tables and PurePosixPath(path).suffix.lower() in SUFFIXES]
    kinds = Counter(PurePosixPath(path).suffix for path in signals)
    if not kinds:
        raise DatasetError(f"{folder} has no file of a known format: {', '.join(SUFFIXES)}")
    suffix = max(kinds, key=lambda own: (own.lower() == ".hea", kinds[own]))
    chosen = tuple(path for path in signals if path.endswith(suffix))
    others = tuple(path for path in signals if path.lower().endswith(suffix.lower()) and not path.endswith(suffix))
    pattern, names = pattern_of(chosen)
    return Seen(pattern, chosen, names, tuple(sorted(tables)), others)


def _is_of_samples(path: Path) -> bool:
    """Whether a text file begins with a line of numbers, or with names of which two are leads."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        cells, separator = first_line(path)
    except (OSError, ValueError):
        return False
    lowered = {lead.lower() for lead in LEADS}
    return not are_names(cells, separator) or sum(cell.lower() in lowered for cell in cells) > 1


def pattern_of(paths: Sequence[str], *, whole: bool = False) -> tuple[str, tuple[str, ...]]:
    """The pattern that finds files by their names, and the names; what all end in ('_hr') belongs to it, or to them."""
    folders = {PurePosixPath(path).parent for path in paths}
    common = PurePosixPath(os.path.commonpath([str(folder) for folder in folders]))
    within = "" if len(folders) == 1 else "**/"
    suffix = PurePosixPath(paths[0]).suffix
    stems = [PurePosixPath(path).stem for path in paths]
    end = common_end(stems) if len(stems) > 1 and not whole else ""
    prefix = "" if common == PurePosixPath(".") else f"{common}/"
    names = tuple(stem.removesuffix(end) for stem in stems)
    return f"{prefix}{within}{RECORDING}{end}{suffix}", names


def common_end(names: Sequence[str]) -> str:
    """What all names end in, from an underscore on; '' for nothing."""
    end = names[0][names[0].find("_") :] if "_" in names[0] else ""
    while end and not all(name.endswith(end) and name != end for name in names):
        later = end.find("_", 1)
        end = end[later:] if later > 0 else ""
    return end


LOOKED_AT = 3
"""Files that are read."""
ANY = Signals.model_construct()
"""Of a card that says nothing of its signals."""


def signal_lines(folder: Path, seen: Seen) -> Iterator[DraftLine]:
    """The lines of `signals`. Raises DatasetError where no file can be read."""
    pattern, paths, others = seen.pattern, seen.signals, seen.others
    if others:
        yield open_line(
            "files", f"{pattern} finds {len(paths)} files, not {len(others)} such as {others[0]}: rename these"
        )
    elif RECORDING in pattern and len({Path(path).name for path in paths}) < len(paths):
        yield open_line("files", f"{pattern} finds several files of one name: use {PATIENT}/{RECORDING}, or narrow it")
    else:
        yield DraftLine("files", pattern, f"{len(paths)} file{'s' * (len(paths) > 1)}")
    kind = SUFFIXES[Path(paths[0]).suffix.lower()]
    if kind in ARRAYS:
        yield from array_lines(seen, shapes_of(folder, paths))
        return
    READERS[kind].versions(str(folder))
    stored = first_readable(folder, kind, paths)
    yield from lead_lines(stored)
    if stored.fs is None:
        yield open_line("rate", "Hz; these files do not state it")
    if kind in NO_UNITS or not stored.units or not all(stored.units):
        largest = float(np.nanmax(np.abs(stored.signal))) if stored.signal.size else 0.0
        yield open_line("unit", f"mV, uV, V or nV, or instead gain: steps per millivolt; values go up to {largest:g}")
    elif unknown := sorted({unit for unit in stored.units if unit.lower() not in MILLIVOLTS}):
        yield open_line("unit", f"the files state {', '.join(unknown)}, which is no unit of a voltage")


def first_readable(folder: Path, kind: Format, paths: Sequence[str]) -> Stored:
    """The first of a few files that can be read. Raises DatasetError with the reason where none can."""
    for path in paths[:LOOKED_AT]:
        try:
            return READERS[kind].read(folder / path, ANY)
        except Unusable as reason:
            problem = f"{path}: {reason}"
    raise DatasetError(f"{folder}: none of the first {min(LOOKED_AT, len(paths))} files can be read: {problem}")


def lead_lines(stored: Stored) -> Iterator[DraftLine]:
    """`leads` and `derive`, where the names in a file are not those of the twelve leads."""
    if stored.leads is None:
        yield open_line("leads", f"names of the {stored.signal.shape[1]} columns in their order, '-' for one not used")
        return
    if computed := derivable(stored.leads):
        yield DraftLine("derive", True, f"the files lack {', '.join(computed)}, which follow from the other limb leads")
    elif lacking(stored.leads):
        yield open_line("leads", f"a map {{name in the files: lead}}; the files have {', '.join(stored.leads)[:300]}")


RATES = (100, 250, 400, 500)
"""Hz, in which the length of a recording is said."""


def shapes_of(folder: Path, paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Name -> shape of the arrays of the first NumPy or HDF5 file; {} of another format and where it cannot be read."""
    if SUFFIXES[Path(paths[0]).suffix.lower()] not in ARRAYS:
        return {}
    try:
        return shapes_in(folder / paths[0])
    except (Unusable, ImportError):
        return {}


def array_lines(seen: Seen, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[DraftLine]:
    """Lines of NumPy and HDF5 files, which name nothing; the first file says how many samples and columns there are."""
    first = Path(seen.signals[0]).name
    signals = {name: shape for name, shape in shapes.items() if len(shape) > 1}
    shape = max(signals.values(), key=math.prod, default=())
    samples, columns = (max(shape[-2:]), min(shape[-2:])) if shape else (0, 0)
    lengths = ", ".join(f"{samples / rate:.3g} s at {rate} Hz" for rate in RATES)
    counted = f"; the {samples} samples of {first} are {lengths}" if shape else ""
    yield open_line("rate", f"Hz; or rate_name: the name of the entry of the file that holds it{counted}")
    yield open_line("unit", "mV, uV, V or nV, or instead gain: steps per millivolt")
    names = f"names of the {columns} columns" if shape else "names of the columns"
    yield open_line("leads", f"{names} in their order, e.g. [{', '.join(LEADS)}], '-' for one not used")
    if not first.lower().endswith(".npz"):
        if len(shape) > 2:
            yield DraftLine("stacked", True, f"{first} holds {shape[0]} recordings, a row each")
        elif not shape:
            yield DraftLine(
                "stacked", None, f"true, if a file holds many recordings, a row each; then no {RECORDING} in files"
            )
    if seen.ids_name:
        yield DraftLine("ids_name", seen.ids_name, "the array with the identifiers of the rows")
    if len(signals) > 1:
        there = ", ".join(f"{name} {shape}" for name, shape in signals.items())[:300]
        yield open_line("array", f"which of the arrays of {first} holds the signals: {there}")


HEAD = """\
# A card of the ECGs in this folder, for `--datasets {file}`; docs/OWN_DATA.md says what else a card may hold.
# Lines with QUESTION need an answer in place of the "?"; lines with # are a choice.
"""
COMMENTS = ("Dx", "Diagnosis")
"""Names that comments of labels have in WFDB headers."""
NO_LABELS = """\
# No labels were found, so this is a corpus to pretrain on. To score methods on it, say where the labels are:
# labels: {column: COLUMN, classes: [A, B]}
"""


class Labelling(NamedTuple):
    """A table of a folder, and how its rows find the files."""

    file: str
    """'' where there is none that can be read."""
    columns: Columns
    match: Match | None

    @property
    def rows(self) -> int:
        """That find a file."""
        return self.match.rows if self.match else 0


def draft(folder: Path, file: str) -> str:
    """The text of a card for a folder. Raises DatasetError where it has no files that a card can read."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder")
    seen, (table, columns, match) = best_look(folder)
    pattern = seen.pattern.replace(RECORDING, "*") if match and match.key == "path" else seen.pattern
    sections: dict[str, list[DraftLine]] = {"signals": list(signal_lines(folder, seen._replace(pattern=pattern)))}
    labels: list[DraftLine] = []
    if table:
        sections["table"] = list(table_lines(table, columns, match))
        labels = label_lines(columns, [str(line.value) for line in sections["table"] if line.value])
    labels = labels or comment_lines(comments_in(folder, seen.signals))
    sections |= {"labels": labels} if labels else {}
    lines = [
        HEAD.format(file=file),
        DraftLine("name", name_of(folder)).text(""),
        DraftLine("title", folder.resolve().name).text(""),
    ]
    for name, own in sections.items():
        lines += ["", f"{name}:", *(line.text("  ") for line in own)]
    return "\n".join([*lines, *([] if labels else ["", NO_LABELS])]) + "\n"


def best_look(folder: Path) -> tuple[Seen, Labelling]:
    """What the folder holds and its best table; {recording} is a whole name where a table finds more files so."""
    seen = look(folder)
    shapes = shapes_of(folder, seen.signals)
    if not seen.signals[0].lower().endswith(".npz") and any(len(shape) > 2 for shape in shapes.values()):
        seen = stacked(folder, seen, shapes)
        return seen, best_table(folder, seen)
    pattern, names = pattern_of(seen.signals, whole=True)
    looks = [seen] if names == seen.names else [seen, seen._replace(pattern=pattern, names=names)]
    return max(((own, best_table(folder, own)) for own in looks), key=lambda pair: pair[1].rows)


def stacked(folder: Path, seen: Seen, shapes: Mapping[str, tuple[int, ...]]) -> Seen:
    """What a folder of files with many recordings holds; names are the identifiers of HDF5 rows, none without these."""
    pattern = seen.signals[0] if len(seen.signals) == 1 else seen.pattern.replace(RECORDING, "*")
    array, count = next((name, shape[0]) for name, shape in shapes.items() if len(shape) > 2)
    for name in (name for name, shape in shapes.items() if shape == (count,)):
        signals = Signals.model_construct(array=array, ids_name=name)
        with suppress(Unusable):
            identifiers = hdf5_identifiers(folder / seen.signals[0], signals)
            if len(set(identifiers)) == count:
                return seen._replace(pattern=pattern, names=tuple(identifiers), ids_name=name)
    return seen._replace(pattern=pattern, names=())


def best_table(folder: Path, seen: Seen) -> Labelling:
    """The table whose rows find the most files, with its columns; '' where there is none that can be read."""
    found = []
    for table in seen.tables:
        with suppress(DatasetError):
            columns = columns_in(folder / table)
            found.append(Labelling(table, columns, match_of(columns, seen.names, seen.signals)))
    return max(found, key=lambda own: own.rows, default=Labelling("", {}, None))


def columns_in(path: Path) -> dict[str, list[str]]:
    """The cells of a table by column. Raises DatasetError where it cannot be read."""
    about = Card.model_construct(title=path.name, how_to_get="")
    header = header_of_table(about, path)
    once = [name for name in header if header.count(name) == 1]
    rows = read_columns(about, path, once).rows
    return {name: [row[place] for row in rows] for place, name in enumerate(once)}


def comments_in(folder: Path, signals: Sequence[str]) -> dict[str, list[str]]:
    """Name of `COMMENTS` -> what the headers among the files say under it; `data check` counts unreadable ones."""
    texts: dict[str, list[str]] = {name: [] for name in COMMENTS}
    for header in ((folder / path).with_suffix("") for path in signals if path.lower().endswith(".hea")):
        with suppress(Unusable):
            for name in COMMENTS:
                texts[name] += comments(header, name)
    return texts


def name_of(folder: Path) -> str:
    """A dataset's name from its folder's."""
    name = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()).strip("-_")[:60]
    return name if NAME.fullmatch(name) else "ours"


def questions_in(text: str) -> Iterator[str]:
    """The lines of a card's text that need an answer."""
    yield from (line.strip() for line in text.splitlines() if "QUESTION:" in line and not line.startswith("#"))


def new_card(arguments: Namespace, console: Console) -> int:
    """Write the card, and print its open questions and the next command. Raises ConfigError for a file that exists."""
    folder = Path(arguments.word).expanduser()
    file = arguments.card or folder / f"{name_of(folder)}.yaml"
    if file.exists():
        raise ConfigError(f"{file} exists and is not overwritten: name another by --card FILE, or remove it")
    text = draft(folder, str(file))
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        line = next(line for line in text.splitlines() if text[error.start] in line)
        raise ConfigError(
            f"{folder}: a name is not UTF-8, which a card cannot hold ({line.strip()}): rename what it "
            "names, e.g. with convmv"
        ) from None
    write_atomic(file, content)
    questions = list(questions_in(text))
    note(console, f"wrote {file}: {len(questions)} questions are open" if questions else f"wrote {file}")
    for question in questions:
        note(console, f"  {question}")
    if file.resolve().parent != folder.resolve():
        note(console, f"the card is not in the folder: add --data {name_of(folder)}={folder} to every command")
    then = "answer them in the file, then" if questions else "read it, then"
    note(console, f"{then}: {command()} data check --datasets {file}")
    return OK
