"""The datasets by name, built-in or declared by a card, and the search for their folders."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from benchmark.data.readers.base import BuiltIn, DatasetError, Source
from benchmark.data.readers.cards import AnyCard
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.readers.mimic_iv_ecg import MIMICIVECG
from benchmark.data.readers.ningbo import Ningbo
from benchmark.data.readers.ptb_xl import PTBXL

DATASETS: dict[str, BuiltIn] = {
    "mimic-iv-ecg": MIMICIVECG,
    "ptb-xl": PTBXL,
    "chapman": Chapman,
    "cpsc2018": CPSC2018,
    "ningbo": Ningbo,
}
"""The built-in datasets. All others are declared by a card, which a config holds."""


OF_DOWNLOAD = ".download"
"""Folder in a dataset's folder with the notes of `data download`."""
UNFINISHED = f"{OF_DOWNLOAD}/unfinished"
"""File that is there while a download has not ended."""


def source_of(name: str, cards: Mapping[str, AnyCard] | None = None) -> Source:
    """The dataset of a name: that of a card, else a built-in one.

    Raises ValueError for an unknown name, with the nearest known one.
    """
    if cards and name in cards:
        return cards[name]
    if name in DATASETS:
        return DATASETS[name]
    known = [*DATASETS, *(cards or {})]
    near = get_close_matches(name.lower(), known)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise ValueError(f"unknown dataset {name!r}: {hint}")


def refuse_unfinished(source: Source, root: Path) -> None:
    """Raise DatasetError for a folder whose download has not ended: it would read as a smaller dataset."""
    if (root / UNFINISHED).exists():
        raise DatasetError(
            f"{source.title}: the download into {root} has not ended: run `data download {source.name}` again, "
            f"or remove {root / UNFINISHED} to use what is there"
        )


def find_root(source: Source, data_root: Path | None, paths: Mapping[str, Path]) -> Path:
    """The folder of a dataset: the one given for it, else the first of its known folder names under the data root.

    Raises DatasetError if there is no such folder.
    """
    name = source.name
    if name in paths:
        if not paths[name].is_dir():
            raise DatasetError(f"{source.title}: {paths[name]} is not a folder. {source.how_to_get}".rstrip())
        return paths[name]
    if data_root is None:
        remedy = f"use --data-root DIR or --data {name}=DIR. {source.how_to_get}".rstrip()
        raise DatasetError(f"{source.title}: no folder given: {remedy}")
    for folder in source.folders:
        if (data_root / folder).is_dir():
            return data_root / folder
    raise DatasetError(
        f"{source.title}: none of {', '.join(source.folders)} is in {data_root}: "
        f"use --data {name}=DIR. {source.how_to_get}".rstrip()
    )
