"""Recordings of several datasets as one, a corpus or a transport, whose windows stay where they were prepared.

Recordings and patients are prefixed by their dataset's name, so that equal numbers stay apart.

    cache/KEY/index.json    as of a prepared dataset, with the folder of each dataset and the numbers of its recordings
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, DatasetError
from benchmark.data.prepare import Prepared
from benchmark.results.schema import digest

JOIN = "+"
"""Between the names of the datasets in that of a corpus: 'ptb-xl+chapman'."""
Member = tuple[Prepared, NDArray[np.int64]]
"""A dataset, and numbers of its recordings, ascending."""
Mark = tuple[tuple[int, ...], int | None]
"""Labels and fold of a recording."""


def join(
    name: str,
    members: Sequence[Member],
    cache: Path,
    *,
    title: str = "",
    classes: tuple[str, ...] = (),
    marks: Sequence[Mark] = (),
) -> Prepared:
    """Join some recordings of prepared datasets; nothing is written. Raises DatasetError for none.

    marks: of each recording where there are classes, one dataset after the other; else none has a label or a fold.
    """
    title = title or " + ".join(data.title for data, _ in members)
    if not any(len(numbers) for _, numbers in members):
        raise DatasetError(f"{title}: all recordings belong to validation or test parts")
    recordings = [(data, r) for data, numbers in members for r in numbers]
    entries = [
        replace(
            data.entries[r],
            recording=f"{data.dataset_name}/{data.entries[r].recording}",
            patient=f"{data.dataset_name}/{data.entries[r].patient}",
            path=f"{data.dataset_name}/{data.entries[r].path}",
            labels=labels,
            statements=(),
            fold=fold,
        )
        for (data, r), (labels, fold) in zip(recordings, marks or [((), None)] * len(recordings), strict=True)
    ]
    count = np.concatenate([np.diff(data.first_window)[numbers] for data, numbers in members])  # (R,)
    content = [name, [[data.name, data.fingerprint, numbers.tolist()] for data, numbers in members]]
    fingerprint = digest([*content, *([classes, marks] if classes else [])])
    return Prepared(
        name=name,
        title=title,
        classes=classes,
        form=" + ".join(data.form for data, _ in members),
        simulated=any(data.simulated for data, _ in members),
        windows=np.empty((0, members[0][0].segmentation.samples_per_item, len(LEADS)), np.float16),
        first_window=np.concatenate([[0], np.cumsum(count)]),
        entries=tuple(entries),
        signals=tuple(data.signals[r] for data, r in recordings),
        skipped=(),
        fingerprint=fingerprint,
        folder=cache / digest([fingerprint, [data.folder.name for data, _ in members]]),
        segmentation=members[0][0].segmentation,
        members=tuple(members),
    )


def recut(joined: Prepared, datasets: Sequence[Prepared]) -> Prepared:
    """Join the same recordings of the same datasets, cut otherwise; those that are unusable so are missing."""
    members, marks, entries = [], [], iter(joined.entries)
    for (data, numbers), other in zip(joined.members, datasets, strict=True):
        number_of = {entry.recording: r for r, entry in enumerate(other.entries)}
        pairs = [(number_of.get(data.entries[r].recording), next(entries)) for r in numbers]
        members.append((other, np.array([r for r, _ in pairs if r is not None], np.int64)))
        marks += [(entry.labels, entry.fold) for r, entry in pairs if r is not None]
    cache = joined.folder.parent
    return join(joined.name, members, cache, title=joined.title, classes=joined.classes, marks=marks)
