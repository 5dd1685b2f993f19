"""The datasets by name, built in (`DATASETS`) or declared by a card (docs/OWN_DATA.md), and their folders.

To add a built-in dataset, add its file and a line here. A reader is imported when it is needed, so that the names are
there without pandas.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark.data.datasets.base import DatasetError, DatasetKind
from methods import ClassTable

DATASETS: ClassTable[DatasetKind] = ClassTable(
    {
        "mimic-iv-ecg": "benchmark.data.datasets.mimic_iv_ecg:MIMICIVECG",
        "ptb-xl": "benchmark.data.datasets.ptb_xl:PTBXL",
        "chapman": "benchmark.data.datasets.chapman:Chapman",
        "cpsc2018": "benchmark.data.datasets.cpsc2018:CPSC2018",
        "ningbo": "benchmark.data.datasets.chapman:Ningbo",
    }
)
UNFINISHED = ".download"
"""Folder in a dataset's folder that is there while a download has not ended."""


def refuse_unfinished(source: DatasetKind, root: Path) -> None:
    """Raise DatasetError for a folder whose download has not ended: it would read as a smaller dataset."""
    if (root / UNFINISHED).exists():
        raise DatasetError(
            f"{source.title}: the download into {root} has not ended: run `data download {source.name}` again, "
            f"or remove {root / UNFINISHED} to use what is there"
        )


def find_root(source: DatasetKind, data_root: Path | None, paths: Mapping[str, Path]) -> Path:
    """Find the folder of a dataset: the one given for it, else the first of its known folder names under the data root.

    Raises DatasetError if there is no such folder.
    """
    folders = [data_root / name for name in source.folders] if data_root else []
    folders = [paths[source.name]] if source.name in paths else folders
    for folder in folders:
        if folder.is_dir():
            return folder
    fault = f"no folder {', '.join(map(str, folders)) or 'is given'}: use --data-root DIR or --data {source.name}=DIR."
    raise DatasetError(f"{source.title}: {fault} {source.how_to_get}".rstrip())
