"""The command `data new-card`: look at a folder of ECGs and write the text of a first card for it.

The files tell the section `signals`: their pattern, and what the first of them states of leads, rate and unit. A table
beside them tells `table`, and its columns, or comments of headers, `labels`. What nothing tells is a question, and a
card without questions is opened, and its labels are split, before the next command is named.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_card
from benchmark.data.column import Column
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS, LIMB_SHARES, DatasetError, Unusable, some
from benchmark.data.datasets.card import (
    PATIENT,
    QUESTION,
    RECORDING,
    Card,
    CardDataset,
    CardFile,
    files_by_name,
    match_file,
)
from benchmark.data.datasets.card_formats import (
    SUFFIXES,
    WITH_UNIT,
    CardSignals,
    are_names,
    arrays_in,
    read_content,
)
from benchmark.data.datasets.card_labels import labels_of, members
from benchmark.data.datasets.folder_walk import walk_folder
from benchmark.data.datasets.tables import read_table
from benchmark.data.datasets.wfdb_files import MILLIVOLTS, comments, missing_leads, read_header, reasons
from benchmark.data.prepare import unprepared
from benchmark.data.splits import Labels, TaskSpec
from benchmark.results.canonical import alike, identifier, is_shortened, spellings, states_nothing, text, truth
from benchmark.results.files import write_atomic
from benchmark.results.names import command, counted
from benchmark.results.sheets import further_sheets, read_cells
from benchmark.screen import Console, note

MAX_CLASSES = 60
SEPARATORS = (";", "|", ",", "\n")
PATIENT_COLUMN = re.compile(
    r"(patient(en)?|subject|person|pat|mrn|pid)([-_ ]?(id|nr|no|num(ber)?)[.]?)?", re.IGNORECASE
)
LABEL_COLUMN = re.compile(r".*(label|diagnos|rhythm|class|finding|target|\bdx\b).*", re.IGNORECASE)
NO_LABEL = re.compile(
    r"(patient_?)?(sex|gender)|(is_?)?(fe)?male|(patient_?)?age(_?(years|at.*))?|years|split|set|subset|(strat_?)?fold",
    re.IGNORECASE,
)
"""Names of columns that are no labels, however few values they have."""
SPLIT_OR_REPORT = re.compile(r"(data_?)?split|set|subset|partition|(strat_?)?fold|reports?", re.IGNORECASE)
DIAGNOSIS = "Dx"
"""Name that comments of labels have in WFDB headers."""
TABLES = (".csv", ".tsv", ".xlsx", ".parquet")
MAX_TABLES = 4
"""Most text files of a folder that are tables, if they begin with names other than leads; more are signals."""
UNITS = "mV, uV, V or nV, or instead gain: steps per millivolt"
FEWEST_LEADS = len(LEADS) - len(LIMB_SHARES)
UNUSED = "# Not used: "
"""Begins a line of the draft on what lies in the folder and the card leaves out."""
ORDER = f"names of the columns in order, e.g. {', '.join(LEADS)}, '-' for one not used"
HEAD = """\
# A card of the ECGs in this folder, for `--datasets {file}`; the page 'Your own ECGs' says what else a card may hold.
name: {name}
title: {title}
"""
NO_LABELS = """
# No labels were found, so this is a corpus to pretrain on. To score methods on it, say where the labels are:
# labels: {column: COLUMN, classes: [A, B]}
"""
Lines = dict[str, Any]
"""Key of a section -> its value, or a Question."""
CellsByColumn = dict[str, list[str]]
"""Name of a column of a table -> its cells."""


class Question(str):
    """A value that the folder does not tell."""


class FolderScan(NamedTuple):
    """The signals and tables of a folder, by their paths below it."""

    pattern: str
    signals: list[str]
    files: list[CardFile]
    """The recordings; none of a stacked file some array of which may name its rows."""
    tables: list[str]
    shapes: dict[str, tuple[int, ...]]
    """Name -> shape of the arrays of the first file; {} for another format."""
    unused: list[str]
    """Other files and folders there, one line for each sort."""


def scan_folder(folder: Path) -> FolderScan:
    """Find the signals and tables of a folder. Raises DatasetError where it has no files that a card can read."""
    walk = walk_folder(folder)
    shapes = dict[str, tuple[int, ...]]()
    paths = walk.paths
    named = [path for path in paths if path.lower().endswith(TABLES)]
    beside = Counter(map(os.path.dirname, named))
    tables = [path for path in named if beside[os.path.dirname(path)] <= MAX_TABLES and _is_table(folder / path)]
    suffixes = Counter(PurePosixPath(path).suffix for path in paths if path not in tables)
    kinds = [suffix for suffix, _ in suffixes.most_common() if suffix.lower() in SUFFIXES]
    if not kinds:
        raise DatasetError(f"{folder} has no file of a known format: {', '.join(SUFFIXES)}{walk.remark}")
    suffix = ".hea" if ".hea" in kinds else kinds[0]
    signals = [path for path in paths if path not in tables and PurePosixPath(path).suffix == suffix]
    unused = [*walk.warnings, *walk.unread(signals, tables)]
    if SUFFIXES[suffix.lower()] in ("numpy", "hdf5"):
        with suppress(Unusable), reasons(folder / signals[0]):
            shapes = {name: array.shape for name, array in arrays_in(folder / signals[0])[0].items()}
    if stacked := [shape[0] for shape in shapes.values() if len(shape) > 2]:
        pattern = signals[0] if len(signals) == 1 else f"**/*{suffix}"
        rows = range(0 if (stacked[0],) in shapes.values() else stacked[0])
        return FolderScan(pattern, signals, [CardFile(f"{row}", f"{row}") for row in rows], tables, shapes, unused)
    files = [CardFile(path, PurePosixPath(path).stem) for path in signals]
    return FolderScan(f"**/{RECORDING}{suffix}", signals, files, tables, shapes, unused)


def _is_table(path: Path) -> bool:
    """Tell whether a file is a table, and no text that begins with numbers or with names of two leads."""
    with suppress(Exception):  # of a damaged file any
        header = read_cells(path).iloc[0].tolist()
        leads = [WITH_UNIT.sub(r"\1", name) for name in header]
        return are_names(header) and len(missing_leads(leads)) > len(LEADS) - 2
    return False


def best_column(columns: CellsByColumn, scan: FolderScan) -> tuple[str, int]:
    """Find the column whose cells name the most files, each one, and their number; ('', 0) where none finds half.

    Ages and other small numbers can look like names in most rows; they name few files, and those of a stacked file's
    rows name nothing unless all are there.
    """
    files_of = files_by_name(scan.files)
    best = ("", 0)
    for column, cells in columns.items():
        matches = [match_file(cell, files_of) for cell in map(identifier, cells)]
        paths = [files[0].path for files in matches if len(files) == 1]
        is_whole = RECORDING in scan.pattern or {*paths} == {file.path for file in scan.files}
        if is_whole and 2 * len(paths) >= len(cells) and len({*paths}) > best[1]:
            best = column, len({*paths})
    return best


def signal_lines(folder: Path, scan: FolderScan, named: int) -> Lines:
    """Return the lines of `signals`; a table names so many files.

    Raises DatasetError where the first file cannot be read or has too few leads.
    """
    lines: Lines = {"files": scan.pattern}
    first = folder / scan.signals[0]
    if RECORDING not in scan.pattern:
        lines |= {"stacked": True} | ({} if scan.files else {"ids_name": Question("the array of identifiers")})
    elif max(named, len({file.recording for file in scan.files})) < len(scan.signals):
        lines["files"] = Question(f"{scan.pattern} finds several files of one name: use {PATIENT}/{RECORDING}")
    if scan.shapes:  # arrays name nothing
        arrays = [f"{name} {shape}" for name, shape in scan.shapes.items() if len(shape) > 1]
        most = max((min(shape[-2:]) for shape in scan.shapes.values() if len(shape) > 1), default=1)
        refuse_few_leads(first, most, ", ".join(arrays))
        lines |= {"array": Question("the array of the signals")} if len(arrays) > 1 else {}
        rate = Question("Hz; or rate_name: the entry of the file that holds it")
        return lines | {"rate": rate, "unit": Question(UNITS), "leads": Question(f"{ORDER}; {', '.join(arrays)[:300]}")}
    try:
        content = read_content(first, None, CardSignals.model_construct(files=scan.pattern))
    except Unusable as reason:
        raise DatasetError(f"{folder}: the first file cannot be read: {scan.signals[0]}: {reason}") from None
    refuse_few_leads(first, content.signal.shape[1], ", ".join(content.leads))
    missing = missing_leads(content.leads)
    if missing and {*missing} <= LIMB_SHARES.keys():
        lines["derive"] = True
    elif missing:
        present = f"a map {{name in the files: lead}}; there are {', '.join(content.leads)[:300]}"
        lines["leads"] = Question(present if content.leads else ORDER)
    if not content.fs:
        lines["rate"] = Question(f"Hz; the first file has {len(content.signal)} samples")
    if units := {unit for unit in content.units or ("none",) if unit.lower() not in MILLIVOLTS}:
        lines["unit"] = Question(f"{UNITS}; the files state {', '.join(sorted(units))}")
    return lines


def refuse_few_leads(file: Path, count: int, stated: str) -> None:
    """Raise DatasetError for a file from whose leads twelve cannot be made, with what it states of them."""
    if count < FEWEST_LEADS:
        raise DatasetError(
            f"twelve leads are needed, or the eight I, II and V1 to V6, from which the others are computed: the first "
            f"file, {file}, has {counted(count, 'lead')}: {stated[:300]}"
        )


class LabelDraft(NamedTuple):
    """The labels of a draft, by the columns that may hold them."""

    lines: Lines
    """Lines of the section `labels`; {} where no column can hold labels."""
    unused: Sequence[str] = ()
    """Columns that are neither used nor in a question."""


def holds_yes_and_no(cells: Sequence[str]) -> bool:
    """Tell whether each cell says yes or no, a blank one no, and both occur."""
    return {truth("no" if states_nothing(cell) else cell) for cell in cells} == {True, False}


def draft_labels(columns: CellsByColumn) -> LabelDraft:
    """Draft the column of labels that is named so, classes of columns of yes and no, or a question.

    Columns of yes and no are no answer where the values of another column recur, too.
    """
    counts = {name: label_counts(cells)[1] for name, cells in columns.items()}
    binary = [name for name, cells in columns.items() if holds_yes_and_no(cells)]
    classes = {name: len({*map(alike, values)}) for name, values in counts.items()}
    few = [name for name, count in classes.items() if 2 <= count <= MAX_CLASSES and name not in binary]
    named = [name for name in few if LABEL_COLUMN.fullmatch(name)]
    recurring = [name for name in few if 2 * len(counts[name]) <= counts[name].total()]
    if len(binary) > 1 and not named and not recurring:
        return LabelDraft({"classes": binary})
    if not recurring:
        named = named or binary
    if len(named) == 1:
        unused = [name for name in (*binary, *recurring) if name not in named]
        return LabelDraft(named_lines("column", named[0], columns[named[0]]), unused)
    if not few:
        return LabelDraft({})
    question = f"the column of labels, or delete this section; of few values: {', '.join(few)[:300]}"
    values = "the values of that column; or, without a column, the columns of yes and no that are classes"
    if binary:
        values += f": {', '.join(binary)[:300]}"
    return LabelDraft({"column": Question(question), "classes": Question(values)})


def named_lines(key: str, name: str, cells: list[str]) -> Lines:
    """Return the lines of `labels` of a column or comment whose cells name classes, the most frequent first."""
    separator, counts = label_counts(cells)
    if shortened := [*filter(is_shortened, counts)]:
        return {key: name, "classes": Question(f"their digits are lost: {shortened[0]} was shortened by a spreadsheet")}
    class_of = dict[str, str]()
    for word, _ in counts.most_common():
        class_of.setdefault(alike(word), word)
    lines: Lines = {key: name, "classes": [*class_of.values()]}
    several = spellings((class_of[alike(word)], word) for word in counts)
    return lines | ({"values": several} if several else {}) | ({"separator": separator} if separator else {})


def label_counts(cells: list[str]) -> tuple[str | None, Counter[str]]:
    """Return what separates the labels of a column's cells, None for one label or a list, and how often each is."""
    stated = [cell for cell in cells if not states_nothing(cell)]
    whole = Counter(identifier(word) for cell in stated for word in labels_of(cell, None))
    for separator in SEPARATORS if not any(map(members, stated)) else ():
        parts = Counter(word for cell in stated for word in labels_of(cell, separator))
        if len(parts) < len(whole) or (separator in ";|" and any(separator in cell for cell in stated)):
            return separator, parts
    return None, whole


class TableDraft(NamedTuple):
    """The sections of a draft that a table gives."""

    sections: dict[str, Lines]
    """`table` and `labels`; {} where there is no table."""
    named: int
    """Files that its rows name."""
    unused: list[str]
    """Columns and tables that are left out, one line for each sort."""

    def worth(self) -> tuple[int, bool]:
        """Return what makes one table better than another."""
        return self.named, bool(self.sections.get("labels"))


def draft_tables(folder: Path, scan: FolderScan) -> TableDraft:
    """Draft the sections of the table that names the most files, of several the first with labels."""
    unused = list[str]()
    best = TableDraft({}, 0, [])
    for table in scan.tables:
        try:
            cells = read_table(Card.model_construct(title="a table", how_to_get=""), folder / table)
        except DatasetError as problem:
            unused.append(str(problem))
            continue
        header = read_cells(folder / table).iloc[0].map(text)
        if names := [*dict.fromkeys(header[header.duplicated() & (header != "")])]:
            unused.append(f"columns of {table} whose name stands there twice ({some(names)})")
        further = further_sheets(folder / table)
        unused += [f"sheet {name} of {table}, of which the first alone is read" for name in further]
        drafted = draft_table(table, cast(CellsByColumn, cells.to_dict("list")), scan)
        worse, best = sorted((drafted, best), key=TableDraft.worth)
        if worse.sections:
            unused.append(f"{worse.sections['table']['file']}: a card takes one table; join its columns to the other")
    return best._replace(unused=[*unused, *best.unused])


def draft_table(table: str, columns: CellsByColumn, scan: FolderScan) -> TableDraft:
    """Draft the sections `table` and `labels` of a table."""
    column, named = best_column(columns, scan)
    names = ", ".join(columns)[:300]
    unknown = Question(f"column with what {RECORDING} is, or of paths; of rows: 0, 1 ...; there are {names}")
    nobody = Question(f"the column of patients, or delete it if each recording is a person; there are {names}")
    patients = [name for name in columns if PATIENT_COLUMN.fullmatch(name) and name != column]
    lines: Lines = {"file": table, "recording": column or unknown, "patient": [*patients, nobody][0]}
    free = {
        name: cells for name, cells in columns.items() if name not in lines.values() and not NO_LABEL.fullmatch(name)
    }
    labels = draft_labels(free)
    further = [*labels.unused, *filter(SPLIT_OR_REPORT.fullmatch, columns)]
    unused = [f"columns that may be labels, too, a split or reports ({', '.join(further)})"] if further else []
    return TableDraft({"table": lines, "labels": labels.lines}, named, unused)


def draft(folder: Path, file: str) -> str:
    """Write the text of a card for a folder. Raises DatasetError where it has no files that a card can read."""
    scan = scan_folder(folder)
    sections, named, unused = draft_tables(folder, scan)
    if not sections.get("labels") and scan.pattern.lower().endswith(".hea"):
        with suppress(Unusable):
            stated = [cell for path in scan.signals for cell in comments((folder / path).with_suffix(""), DIAGNOSIS)]
            if 2 <= len(label_counts(stated)[1]) <= MAX_CLASSES:
                sections["labels"] = named_lines("comment", DIAGNOSIS, stated)
    if not sections.get("labels"):
        unused += beside_tables(folder, scan)
    content = HEAD.format(file=file, name=_yaml(name_of(folder)), title=_yaml(folder.resolve().name))
    content += "".join(f"{UNUSED}{' '.join(line.split())}\n" for line in [*scan.unused, *unused])
    for section, lines in {"signals": signal_lines(folder, scan, named), **sections}.items():
        content += f"\n{section}:\n" * bool(lines)
        for key, value in lines.items():
            mark = f"  # QUESTION: {' '.join(value.split())}" if isinstance(value, Question) else ""
            content += f"  {key}: {_yaml(QUESTION if mark else value)}{mark}\n"
    return content if sections.get("labels") else content + NO_LABELS


def beside_tables(folder: Path, scan: FolderScan) -> list[str]:
    """Name what may state labels where no table does: folders of signals, arrays and comments, a line for each sort."""
    lines = list[str]()
    parents = [*dict.fromkeys(map(os.path.dirname, scan.signals))]
    if 2 <= len(parents) <= min(MAX_CLASSES, len(scan.signals) // 2):
        lines.append(f"folders whose names may be labels ({some(parents)}): write them into a table")
    if arrays := [name for name, shape in scan.shapes.items() if len(shape) == 1]:
        lines.append(f"arrays that may be labels or patients ({some(arrays)}): write them into a table")
    first = (folder / scan.signals[0]).with_suffix("")
    with suppress(Unusable):
        if stated := [line for line in read_header(first) if line.startswith("#")]:
            lines.append(f"comments of headers, of which labels.comment takes one ({some(stated)})")
    return lines


def _yaml(value: Any) -> str:
    """Write a value as YAML, of which JSON is a part."""
    return json.dumps(value, ensure_ascii=False)


def name_of(folder: Path) -> str:
    """Return a dataset's name from its folder's, not that of a built-in dataset."""
    name = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()).strip("-_")[:50]
    return f"{name}-own" if name in DATASETS else name or "ours"


def new_card(arguments: Namespace, console: Console) -> int:
    """Write the card, and print its open questions and the next command. Raises ConfigError for a file that exists."""
    folder = Path(arguments.word).expanduser()
    file = arguments.card or folder / f"{name_of(folder)}.yaml"
    if file.exists():
        raise ConfigError(f"{file} exists and is not overwritten: name another by --card FILE, or remove it")
    content = draft(folder, shlex.quote(str(file)))
    lines = content.splitlines()
    questions = [line.strip() for line in lines if "# QUESTION:" in line]
    flags = ["--datasets" if "\nlabels:" in content else "--pretrain-dataset", str(file)]
    write_atomic(file, content.encode("utf-8", "backslashreplace"))
    note(console, f"wrote {file}: {len(questions)} questions are open" if questions else f"wrote {file}")
    if not questions:
        try:
            labels, reason = task_of_labels(load_card(str(file))(folder))
            questions = [f"these labels cannot be scored yet: {reason}"] if reason else []
            flags += ["--labels", labels] * (labels == "multi")
        except (ConfigError, DatasetError) as problem:
            questions = [str(problem)]
    unused = [line.removeprefix("# ") for line in lines if line.startswith(UNUSED)]
    for line in (*questions, *unused):
        note(console, f"  {line}")
    if file.resolve().parent != folder.resolve():
        flags += ["--data", f"{name_of(folder)}={folder}"]
    then = "answer them in the file, then" if questions else "read it, then"
    note(console, f"{then}: {command()} data check {shlex.join(flags)}")
    return OK


def task_of_labels(dataset: CardDataset) -> tuple[Labels, str | None]:
    """Return how the labels are counted, `multi` where most labelled recordings have several, and why a run cannot.

    Raises DatasetError where the card does not find its recordings.
    """
    entries = dataset.listing().entries
    several = [len(entry.labels) > 1 for entry in entries if entry.labels]
    labels: Labels = "multi" if 2 * sum(several) > len(several) else "single"
    spec = TaskSpec(1, labels, "strict" if dataset.card.patients else "paper")
    column = Column(unprepared(dataset, entries), spec)
    return labels, column.problem(column.split) if dataset.classes else None
