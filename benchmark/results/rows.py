"""Stored form of a finished cell: its row, with digests, and its predictions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.keys import digest

ROW_FORMAT = 2


@dataclass(frozen=True)
class Row:
    """One finished cell: settings, scores in [0, 1] and provenance."""

    key: str
    pretrain_key: str
    """Key of the encoder's pretraining; '' for cells without an encoder."""
    variant: str
    """Name of the table's row, e.g. 'pmq' or 'pmq:w/o queue'."""
    method: str
    evaluation: str
    """'finetune', 'linear', or 'features' (hand-crafted ones, boosted)."""
    dataset: str
    ratio: float
    seed: int
    pretrain_seed: int | None
    protocol: str
    labels: str
    scores: dict[str, dict[str, float | None]]
    """Unit ('heartbeat' or 'recording') -> metric -> value; None where the metric is undefined."""
    undefined: dict[str, dict[str, str]]
    """Unit -> metric -> why it is undefined."""
    notes: list[str]
    """Remarks that qualify the scores, e.g. 'no labelled window of class HYP'."""
    counts: dict[str, int]
    """Windows, recordings and patients of each split."""
    coverage: dict[str, Any]
    """Class -> {'patients': of the dataset, 'unscored': {patient: why}} (benchmark.data.tasks.coverage)."""
    training: dict[str, Any]
    """Best epoch (or C of the probe), history of the validation score, seconds."""
    provenance: dict[str, Any]
    """Full config, data and corpus (fingerprint, simulated), versions, git state, device, precision, threads."""
    format: int = ROW_FORMAT


@dataclass(frozen=True)
class Predictions:
    """Test-set output of one cell, one line per window (a heartbeat or a plain segment)."""

    probability: NDArray[np.float32]
    """(n, C)"""
    truth: NDArray[np.int64]
    """(n, C) multi-hot; one-hot for single-label tasks."""
    recording: NDArray[np.str_]
    """(n,)"""
    patient: NDArray[np.str_]
    """(n,)"""


ARRAYS = tuple(field.name for field in fields(Predictions))
"""Names of the arrays in a file of predictions."""


def key_problem(row: Mapping[str, Any]) -> str:
    """Why the fields of a row do not give its key; '' if they do, or if it holds no content of its key (older rows)."""
    content = row["provenance"].get("key_content")
    if content is None:
        return ""
    if digest([content, row["ratio"], row["seed"]]) != row["key"]:
        return "what the row says of its key does not give the key"
    stated = {
        "evaluation": row["evaluation"],
        "pretrain": row["pretrain_key"] or None,
        "data": row["provenance"].get("data", {}).get("fingerprint"),
    }
    wrong = [name for name, own in stated.items() if content.get(name) != own]
    return f"the row's {wrong[0]} is not that of its key" if wrong else ""


def row_bytes(row: Row, predictions: bytes) -> bytes:
    """Content of a row's file, with SHA-256 digests of the row and of its predictions file."""
    body = asdict(row)
    envelope = {
        "row": body,
        "row_sha256": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
        "predictions_sha256": hashlib.sha256(predictions).hexdigest(),
    }
    return json.dumps(envelope, indent=1, sort_keys=True).encode()
