"""Reads the illustration arrays stored beside pretrained weights (benchmark/training/illustrate.py)."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.cards import BadCard
from reports.runs.cards import illustration_of
from reports.runs.run import Run


@dataclass(frozen=True)
class MaskedInput:
    """One window's embedded input under each mask."""

    variant: str
    names: tuple[str, ...]
    """'none', then the masks one by one, then 'all'."""
    values: NDArray[np.float32]
    """(P, S, D): panels in the order of `names`, time steps, dimensions."""


@dataclass(frozen=True)
class Similarity:
    """Cosine similarity of Q queries of a batch with C keys of the batch and the queue."""

    variant: str
    cosine: NDArray[np.float32]
    """(Q, C)"""
    kind: NDArray[np.uint8]
    """(Q, C) index into `KEY_KINDS`."""
    query_patient: NDArray[np.int64]
    """(Q,)"""
    key_patient: NDArray[np.int64]
    """(C,)"""
    key_queued: NDArray[np.bool_]
    """(C,) False: a key of the batch."""
    spread: NDArray[np.int64]
    """(KEY_KINDS, bins) histogram of the cosines of all queries and keys over [-1, 1]."""


@dataclass(frozen=True)
class Illustrations:
    """The illustrations of a plan, at most one per row, from its first pretraining."""

    masked: tuple[MaskedInput, ...]
    similarities: tuple[Similarity, ...]


def illustrations_of(run: Run, variants: Sequence[str]) -> Illustrations:
    """The illustrations of some rows; missing or damaged ones are left out."""
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
    """The arrays of a row's first pretraining in plan order; empty where missing or damaged."""
    for cell in run.plan.cells:
        row = run.rows.get(cell.key)
        if cell.variant != variant or row is None or not row.pretrain_key:
            continue
        try:
            card = run.cards.get(variant, {}).get(row.pretrain_key, {})
            body = illustration_of(run.store, row.pretrain_key, card)
            with np.load(BytesIO(body or b""), allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, BadCard):
            return {}
    return {}
