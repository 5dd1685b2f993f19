"""The pictures that a pretraining left beside its weights (benchmark/training/illustrate.py), read back."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.names import ILLUSTRATION
from reports.runs.run import Run


@dataclass(frozen=True)
class MaskedInput:
    """One window's embedded input under each mask."""

    variant: str
    names: tuple[str, ...]
    """'none', then the masks one by one, then 'all'."""
    values: NDArray[np.float32]
    """(P, S, D)"""


@dataclass(frozen=True)
class Similarity:
    """Cosines of some queries of a batch with their keys and some of the queue's."""

    variant: str
    cosine: NDArray[np.float32]
    """(Q, C)"""
    kind: NDArray[np.uint8]
    """(Q, C) number of a `KEY_KINDS`."""
    query_patient: NDArray[np.int64]
    """(Q,)"""
    key_patient: NDArray[np.int64]
    """(C,)"""
    key_queued: NDArray[np.bool_]
    """(C,) False: a key of the batch."""
    spread: NDArray[np.int64]
    """(KEY_KINDS, bins) how the cosines of all queries and keys are spread between -1 and 1."""


@dataclass(frozen=True)
class Illustrations:
    """What the rows of a plan have, one per row at most: that of its first pretraining."""

    masked: tuple[MaskedInput, ...]
    similarities: tuple[Similarity, ...]


def illustrations_of(run: Run, variants: Sequence[str]) -> Illustrations:
    """The pictures of some rows; those that are missing or damaged are left out."""
    masked: list[MaskedInput] = []
    similarities: list[Similarity] = []
    for variant in variants:
        arrays = _arrays(run, variant)
        if "masked" in arrays:
            names = tuple(map(str, arrays["masked_names"]))
            masked.append(MaskedInput(variant, names, arrays["masked"].astype(np.float32)))
        if "cosine" in arrays:
            shown = ("cosine", "kind", "query_patient", "key_patient", "key_queued", "spread")
            similarities.append(Similarity(variant, *(arrays[name] for name in shown)))
    return Illustrations(tuple(masked), tuple(similarities))


def _arrays(run: Run, variant: str) -> dict[str, NDArray[Any]]:
    """The pictures of a row's first pretraining, in the order of the cells."""
    for cell in run.plan.cells:
        row = run.rows.get(cell.key)
        if cell.variant != variant or row is None or not row.pretrain_key:
            continue
        try:
            body = (run.store.pretrained / row.pretrain_key / ILLUSTRATION).read_bytes()
            with np.load(BytesIO(body), allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile):
            return {}
    return {}
