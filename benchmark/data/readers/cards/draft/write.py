"""The text of a first card for a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmark.data.readers.base import DatasetError, Unusable
from benchmark.data.readers.cards.card import RECORDING, Card
from benchmark.data.readers.cards.declared import NAME
from benchmark.data.readers.cards.draft.columns import Columns, Match, comment_lines, label_lines, match_of, table_lines
from benchmark.data.readers.cards.draft.files import Seen, look, with_whole_names
from benchmark.data.readers.cards.draft.line import Line, told
from benchmark.data.readers.cards.draft.signals import signal_lines
from benchmark.data.readers.cards.table import header_of_table, read_columns
from benchmark.data.readers.files.wfdb_record import comments

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
    sections: dict[str, list[Line]] = {"signals": list(signal_lines(folder, pattern, seen.signals, seen.others))}
    labels: list[Line] = []
    if table:
        sections["table"] = list(table_lines(table, columns, match))
        labels = label_lines(columns, [str(line.value) for line in sections["table"] if line.value])
    labels = labels or comment_lines(comments_in(folder, seen.signals))
    sections |= {"labels": labels} if labels else {}
    lines = [
        HEAD.format(file=file),
        told("name", name_of(folder)).text(""),
        told("title", folder.resolve().name).text(""),
    ]
    for name, own in sections.items():
        lines += ["", f"{name}:", *(line.text("  ") for line in own)]
    return "\n".join([*lines, *([] if labels else ["", NO_LABELS])]) + "\n"


def best_look(folder: Path) -> tuple[Seen, Labelling]:
    """What the folder holds and its best table; {recording} is a whole name where a table finds more files so."""
    seen = look(folder)
    found, whole = best_table(folder, seen), with_whole_names(seen)
    if whole.names != seen.names and (of_whole := best_table(folder, whole)).rows > found.rows:
        return whole, of_whole
    return seen, found


def best_table(folder: Path, seen: Seen) -> Labelling:
    """The table whose rows find the most files, with its columns; '' where there is none that can be read."""
    best = Labelling("", {}, None)
    for table in seen.tables:
        try:
            columns = columns_in(folder / table)
        except DatasetError:
            continue
        found = Labelling(table, columns, match_of(columns, seen.names, seen.signals))
        if not best.file or found.rows > best.rows:
            best = found
    return best


def columns_in(path: Path) -> dict[str, list[str]]:
    """The cells of a table by column. Raises DatasetError where it cannot be read."""
    about = Card.model_construct(title=path.name, how_to_get="")
    header = header_of_table(about, path)
    once = [name for name in header if header.count(name) == 1]
    rows = read_columns(about, path, once).rows
    return {name: [row[place] for row in rows] for place, name in enumerate(once)}


def comments_in(folder: Path, signals: Sequence[str]) -> dict[str, list[str]]:
    """Name of `COMMENTS` -> what the headers among the files say under it."""
    headers = [(folder / path).with_suffix("") for path in signals if path.lower().endswith(".hea")]
    return {name: [text for header in headers for text in _said(header, name)] for name in COMMENTS}


def _said(header: Path, name: str) -> tuple[str, ...]:
    """The comments of a header; none of one that cannot be read, which `data check` counts."""
    try:
        return comments(header, name)
    except Unusable:
        return ()


def name_of(folder: Path) -> str:
    """A dataset's name from its folder's."""
    name = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().name.lower()).strip("-_")[:60]
    return name if NAME.fullmatch(name) else "ours"


def questions_in(text: str) -> Iterator[str]:
    """The lines of a card's text that need an answer."""
    yield from (line.strip() for line in text.splitlines() if "QUESTION:" in line and not line.startswith("#"))
