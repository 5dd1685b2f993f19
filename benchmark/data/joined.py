"""A corpus of several datasets: recordings of one after the other, whose windows stay where they were prepared.

Recordings and patients are prefixed by their dataset's name, so that equal numbers stay apart.

    cache/KEY/members.json    the corpus's name; of each dataset its folder and the numbers of its recordings
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, DatasetError
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.results.files import write_atomic
from benchmark.results.schema import digest

JOIN = "+"
"""Between the names of the datasets in that of the corpus: 'ptb-xl+chapman'."""
MEMBERS = "members.json"
Member = tuple[Prepared, NDArray[np.int64]]
"""A dataset, and numbers of its recordings, ascending."""


def join(name: str, members: Sequence[Member], cache: Path) -> Prepared:
    """The corpus of some recordings of prepared datasets; nothing is written. Raises DatasetError for none."""
    datasets = [data for data, _ in members]
    title = " + ".join(data.title for data in datasets)
    if not any(len(numbers) for _, numbers in members):
        raise DatasetError(f"{title}: all recordings belong to validation or test parts")
    entries = [
        replace(
            data.entries[r],
            recording=f"{data.name}/{data.entries[r].recording}",
            patient=f"{data.name}/{data.entries[r].patient}",
            path=f"{data.name}/{data.entries[r].path}",
            labels=(),
            statements=(),
            fold=None,
        )
        for data, numbers in members
        for r in numbers
    ]
    count = np.concatenate([np.diff(data.first_window)[numbers] for data, numbers in members])  # (R,)
    fingerprint = digest([name, [[data.name, data.fingerprint, numbers.tolist()] for data, numbers in members]])
    return Prepared(
        name=name,
        title=title,
        classes=(),
        form=" + ".join(data.form for data in datasets),
        simulated=any(data.simulated for data in datasets),
        windows=np.empty((0, datasets[0].segmentation.unit, len(LEADS)), np.float16),
        first_window=np.concatenate([[0], np.cumsum(count)]),
        entries=tuple(entries),
        signals=tuple(data.signals[r] for data, numbers in members for r in numbers),
        skipped=(),
        fingerprint=fingerprint,
        folder=cache / digest([fingerprint, [data.folder.name for data in datasets]]),
        segmentation=datasets[0].segmentation,
        members=tuple(members),
    )


def write_members(corpus: Prepared) -> None:
    """Write what `opened_corpus` needs, so that other processes find the corpus."""
    members = [[data.folder.name, numbers.tolist()] for data, numbers in corpus.members]
    write_atomic(corpus.folder / MEMBERS, json.dumps([corpus.name, members]).encode())


@lru_cache(maxsize=4)
def opened_corpus(folder: Path) -> Prepared:
    """The prepared dataset or the corpus of several in a folder, opened once. Raises FileNotFoundError."""
    path = folder / MEMBERS
    if not path.is_file():
        return open_prepared(folder)
    name, members = json.loads(path.read_bytes())
    return join(
        name, [(open_prepared(folder.parent / own), np.array(r, np.int64)) for own, r in members], folder.parent
    )
