"""Tables as text: CSV in any encoding and with any separator, the first sheet of a workbook (.xlsx) and Parquet."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.results.canonical import text
from benchmark.results.names import unknown

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = ("\t", ";", "|", ",")
WORKBOOK, PARQUET = ".xlsx", ".parquet"
ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""First bytes of a file -> its encoding."""
STATED_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
"""The first line by which a spreadsheet tells its separator."""
AHEAD = 100_000
"""Characters at the beginning of a table in which comments end."""


def encoding_of(content: bytes) -> str:
    """Return the encoding of a text: UTF-16 by its first bytes or zeros, UTF-8, else Latin-1, as any can be read.

    Latin letters in UTF-16 have a zero byte each, at odd positions if the lower byte comes first; other text has none
    or a few, where a program ends its texts with zeros.
    """
    for mark, encoding in ENCODINGS.items():
        if content.startswith(mark):
            return encoding
    zeros = {"utf-16-be": content[::2].count(0), "utf-16-le": content[1::2].count(0)}
    encoding = max(zeros, key=zeros.__getitem__)
    if zeros[encoding] > max(content.count(b"\n"), 0.9 * sum(zeros.values())):  # every line end has one
        return encoding
    try:
        content.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def read_text(path: Path) -> str:
    """Read a text file in its encoding, without zero bytes; every line ends in a line feed. Raises OSError."""
    content = path.read_bytes()
    decoded = content.decode(encoding_of(content)).replace("\0", "")
    return io.StringIO(decoded, newline=None).getvalue()


def present(path: Path) -> Path:
    """Return the file of a path whose name may be in another Unicode form. Raises FileNotFoundError."""
    if path.is_file():  # no folder, and no device that has no end
        return path
    for other in path.parent.glob("*"):
        if other.is_file() and text(other.name) == text(path.name):
            return other
    raise FileNotFoundError(path)


def is_latin(path: Path) -> bool:
    """Tell whether a table is read as Latin-1, which is a guess."""
    return path.suffix.lower() not in (WORKBOOK, PARQUET) and encoding_of(present(path).read_bytes()) == "latin-1"


def separator_of(first: str, second: str) -> str:
    """Return what separates cells: the first that two lines have equally often, e.g. beside decimal commas."""
    fitting = [separator for separator in SEPARATORS if 0 < first.count(separator) == second.count(separator)]
    return fitting[0] if fitting else max(SEPARATORS[::-1], key=first.count)


def lines_ahead(content: str) -> list[str]:
    """List the lines of comment ahead of a table: '#...', up to one of as many cells as the first other line."""
    lines = content[:AHEAD].split("\n")
    header = next((line for line in lines if not line.startswith("#")), "")
    separator = separator_of(header, header)
    is_comment = [line.startswith("#") and line.count(separator) != max(header.count(separator), 1) for line in lines]
    return lines[: is_comment.index(False)] if False in is_comment else []


def read_cells(path: Path) -> pd.DataFrame:
    """Read the rows that are not blank, header first, as text without outer blanks; short ones end in blank cells.

    The index is the line in a text file, from 0. Comments ahead of the header and a first line `sep=;` are no rows.
    Raises any error of a damaged file.
    """
    import pandas as pd  # here, because it loads slowly and the names of datasets need none of it

    if path.suffix.lower() == WORKBOOK:
        with warnings.catch_warnings(action="ignore"):  # of styles and rules of input, which change no cell
            cells = pd.read_excel(path, header=None, dtype=str, keep_default_na=False)
    elif path.suffix.lower() == PARQUET:
        frame = pd.read_parquet(path)
        cells = cells_of(frame.to_csv(index=frame.index.name is not None))  # a named index is a column
    else:
        cells = cells_of(read_text(path))
    stripped: pd.DataFrame = cells.apply(lambda column: column.str.strip())
    return stripped[(stripped != "").any(axis=1)]


def further_sheets(path: Path) -> list[Any]:
    """Name the sheets of a workbook behind the first, which are not read; none of another file."""
    if path.suffix.lower() != WORKBOOK:
        return []
    import pandas as pd

    with pd.ExcelFile(path) as book:
        return book.sheet_names[1:]


def cells_of(content: str) -> pd.DataFrame:
    """Split the text of a table into cells."""
    import pandas as pd

    stated = STATED_SEPARATOR.match(content)
    rest = content[stated.end() if stated else 0 :]
    comments = lines_ahead(rest)
    rest = rest[sum(len(line) + 1 for line in comments) :]
    separator = stated[1] if stated else separator_of(*f"{rest}\n\n".split("\n", 2)[:2])
    cells = pd.read_csv(io.StringIO(rest), sep=separator, header=None, dtype=str, keep_default_na=False)
    return cells.set_axis(cells.index + len(comments) + bool(stated))


def read_columns(
    path: Path, columns: Sequence[str] | None = None, further: re.Pattern[str] | None = None
) -> pd.DataFrame:
    """Read the named columns of a table in the given order, by default all that have a name of their own.

    further: of the names of columns that are read too, where there are such. Names are compared in their canonical
    form. Raises FileNotFoundError for no file, another OSError, and else, for no rows, one longer than the header or a
    missing column, any error.
    """
    cells = read_cells(present(path))
    header = [text(cell) for cell in cells.iloc[0]]
    rows = cells.iloc[1:]
    single = [name for name in header if name and header.count(name) == 1]
    names = single if columns is None else [*columns]
    for name in names:
        if name not in header:
            raise ValueError(unknown("column", name, header))
        if header.count(name) > 1:
            raise ValueError(f"there is more than one column {name}; there are {', '.join(header)}")
    if rows.empty:
        raise ValueError("it has no rows")
    beside = [name for name in single if further and further.fullmatch(name) and name not in names]
    return rows.set_axis(header, axis=1)[[*names, *beside]]
