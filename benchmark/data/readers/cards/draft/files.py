"""Which files of a folder are signals, by which pattern they are found, and which tables lie beside them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from benchmark.data.readers.base import LEADS, DatasetError
from benchmark.data.readers.cards.card import RECORDING, SUFFIXES
from benchmark.data.readers.cards.forms.text_files import are_names, first_line

TABLES = (".csv", ".tsv", ".xlsx", ".parquet")
FEW = 4
"""So many text files of one folder may be tables, if they begin with names other than leads; more are signals."""
LOWERED = {lead.lower() for lead in LEADS}
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


def look(folder: Path) -> Seen:
    """The signals and tables of a folder. Raises DatasetError where it has no files that a card can read."""
    paths = [
        Path(root, name).relative_to(folder).as_posix() for root, _, names in os.walk(folder) for name in sorted(names)
    ]
    if len(paths) > MOST_FILES:
        raise DatasetError(f"{folder} has more than {MOST_FILES:,} files: name the folder of one dataset")
    tables = {path for path in paths if PurePosixPath(path).suffix.lower() in TABLES}
    crowded = Counter(PurePosixPath(path).parent for path in tables)
    tables = {
        path for path in tables if crowded[PurePosixPath(path).parent] <= FEW and not _is_of_samples(folder / path)
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
    return not are_names(cells, separator) or sum(cell.lower() in LOWERED for cell in cells) > 1


def with_whole_names(seen: Seen) -> Seen:
    """The same files, where what all names end in ('_hr') belongs to {recording}."""
    pattern, names = pattern_of(seen.signals, whole=True)
    return seen._replace(pattern=pattern, names=names)


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
