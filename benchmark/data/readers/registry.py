"""The datasets by name, and the search for their folders."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from benchmark.data.readers.base import Dataset, DatasetError
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.readers.mimic_iv_ecg import MIMICIVECG
from benchmark.data.readers.ptb_xl import PTBXL

DATASETS: dict[str, type[Dataset]] = {
    "mimic-iv-ecg": MIMICIVECG,
    "ptb-xl": PTBXL,
    "chapman": Chapman,
    "cpsc2018": CPSC2018,
}


OF_DOWNLOAD = ".download"
"""Folder in a dataset's folder with the notes of `data download`."""
UNFINISHED = f"{OF_DOWNLOAD}/unfinished"
"""File that is there while a download has not ended."""


def dataset_class(name: str) -> type[Dataset]:
    """The reader of a dataset. Raises ValueError for an unknown name, with the nearest known one."""
    if name in DATASETS:
        return DATASETS[name]
    near = get_close_matches(name.lower(), DATASETS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(DATASETS)}"
    raise ValueError(f"unknown dataset {name!r}: {hint}")


def open_dataset(name: str, root: Path) -> Dataset:
    """The dataset in a folder; nothing is read yet. Raises ValueError for an unknown name."""
    return dataset_class(name)(root)


def refuse_unfinished(name: str, root: Path) -> None:
    """Raise DatasetError for a folder whose download has not ended: it would read as a smaller dataset."""
    if (root / UNFINISHED).exists():
        raise DatasetError(
            f"{dataset_class(name).title}: the download into {root} has not ended: run `data download {name}` again, "
            f"or remove {root / UNFINISHED} to use what is there"
        )


def find_root(name: str, data_root: Path | None, paths: Mapping[str, Path]) -> Path:
    """The folder of a dataset: the one given for it, else the first of its known folder names under the data root.

    Raises ValueError for an unknown name, DatasetError if there is no such folder.
    """
    reader = dataset_class(name)
    if name in paths:
        if not paths[name].is_dir():
            raise DatasetError(f"{reader.title}: {paths[name]} is not a folder. {reader.how_to_get}")
        return paths[name]
    if data_root is None:
        raise DatasetError(f"{reader.title}: no folder given: use --data-root DIR or --data {name}=DIR")
    for folder in reader.folders:
        if (data_root / folder).is_dir():
            return data_root / folder
    raise DatasetError(
        f"{reader.title}: none of {', '.join(reader.folders)} is in {data_root}: "
        f"use --data {name}=DIR. {reader.how_to_get}"
    )
