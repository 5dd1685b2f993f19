"""Stored form of a finished cell: its row, with digests, and its predictions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import with_config
from typing_extensions import TypedDict

from benchmark.results.files.arrays import read_arrays
from benchmark.results.files.read import MEBIBYTE
from benchmark.results.keys import digest
from benchmark.results.schema import (
    OPEN,
    CellContent,
    Count,
    Device,
    Evaluated,
    Git,
    Key,
    KeyOrNone,
    Labelled,
    Labels,
    Line,
    Measured,
    Name,
    Protocol,
    Score,
    Source,
    Unit,
    shaped,
)

ROW_FORMAT = 2
LARGEST_PREDICTIONS = 1024 * MEBIBYTE
"""Bytes, packed and unpacked; 20,000 windows have 5 MiB."""
LONGEST_ID = 250
"""Characters of the id of a recording or patient."""


@with_config(OPEN)
class Coverage(TypedDict):
    """Patients of a class, and those without a score: patient -> why."""

    patients: Count
    unscored: dict[Line, Line]


@with_config(OPEN)
class Training(TypedDict, total=False):
    """What reports print of a cell's training."""

    best_epoch: Count | None
    C: Measured | None
    seconds: Measured | None


@with_config(OPEN)
class Provenance(TypedDict, total=False):
    """What reports print of a row's origin."""

    config: dict[str, Any]
    data: Source
    versions: dict[Line, Line | None]
    git: Git | None
    device: Device | None
    precision: Line | None
    compiled: bool | None
    results_versions: dict[Line, Count]
    corpus: Source
    key_content: CellContent | None


@dataclass(frozen=True)
class Row:
    """One finished cell: settings, scores in [0, 1] and provenance."""

    key: Key
    pretrain_key: KeyOrNone
    """Key of the encoder's pretraining; '' for cells without an encoder."""
    variant: Line
    """Name of the table's row, e.g. 'pmq' or 'pmq:w/o queue'."""
    method: Line
    evaluation: Evaluated
    """One of `EVALUATIONS`, 'features' (hand-crafted, boosted), 'supervised', or 'validation' (of `tune`, untested)."""
    dataset: Name
    ratio: Labelled
    """Share of the labels; of an evaluation that takes shots, labelled patients per class."""
    seed: Count
    pretrain_seed: Count | None
    protocol: Protocol
    labels: Labels
    scores: dict[Unit, dict[Name, Score | None]]
    """Unit ('heartbeat' or 'recording') -> metric -> value; None where the metric is undefined."""
    undefined: dict[Unit, dict[Name, Line]]
    """Unit -> metric -> why it is undefined."""
    notes: list[Line]
    """Remarks that qualify the scores, e.g. 'no labelled window of class HYP'."""
    counts: dict[Name, Count]
    """Windows, recordings and patients of each split."""
    coverage: Annotated[dict[str, Any], shaped(dict[Line, Coverage])]
    """Class -> {'patients': of the dataset, 'unscored': {patient: why}} (benchmark.data.tasks.coverage)."""
    training: Annotated[dict[str, Any], shaped(Training)]
    """Best epoch (or C of the probe), history of the validation score, seconds."""
    provenance: Annotated[dict[str, Any], shaped(Provenance)]
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
IDS = ("recording", "patient")


def key_problem(row: Mapping[str, Any]) -> str:
    """Why the fields of a row do not give its key; '' if they do, or if it holds no content of its key (older rows)."""
    content = row["provenance"].get("key_content")
    if not content:
        return ""
    if digest([content, row["ratio"], row["seed"]]) != row["key"]:
        return "what the row says of its key does not give the key"
    data = row["provenance"].get("data", {})
    _, *rules = content.get("task", [None])
    labels, protocol = rules[:2] if rules else (row["labels"], row["protocol"])
    stated = {
        "evaluation": (row["evaluation"], content.get("evaluation")),
        "pretrain": (row["pretrain_key"] or None, content.get("pretrain")),
        "data": (data.get("fingerprint"), content.get("data")),
        "dataset": (row["dataset"], data.get("name", row["dataset"])),
        "labels": (row["labels"], labels),
        "protocol": (row["protocol"], protocol),
    }
    wrong = [name for name, (own, expected) in stated.items() if own != expected]
    return f"the row's {wrong[0]} is not that of its key" if wrong else ""


def place_problem(row: Row, place: Mapping[str, Any]) -> str:
    """Which field of a row has another value than the place it is read for; '' if none."""
    wrong = [name for name, value in place.items() if getattr(row, name) != value]
    return f"the row's {wrong[0]} is {getattr(row, wrong[0])!r}, not {place[wrong[0]]!r} as planned" if wrong else ""


def row_bytes(row: Row, predictions: bytes) -> bytes:
    """Content of a row's file, with SHA-256 digests of the row and of its predictions file."""
    body = asdict(row)
    envelope = {
        "row": body,
        "row_sha256": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
        "predictions_sha256": hashlib.sha256(predictions).hexdigest(),
    }
    return json.dumps(envelope, indent=1, sort_keys=True).encode()


def read_predictions(content: bytes) -> Predictions:
    """The predictions of an .npz file. Raises ValueError if they are no predictions, or one is outside its range."""
    arrays = read_arrays(content, LARGEST_PREDICTIONS)
    if set(arrays) != set(ARRAYS):
        raise ValueError(f"arrays {', '.join(sorted(arrays))[:100]}, not {', '.join(ARRAYS)}")
    found = Predictions(**arrays)
    shape = found.probability.shape
    forms = (
        ("probability", np.float32, shape),
        ("truth", np.int64, shape),
        *((name, np.str_, shape[:1]) for name in IDS),
    )
    for name, kind, expected in forms:
        array = arrays[name]
        if array.shape != expected or array.dtype.type is not kind or not array.dtype.isnative:
            raise ValueError(f"{name} is {array.dtype} {array.shape}, not {kind.__name__} {expected}")
    if len(shape) != 2 or not shape[1]:
        raise ValueError(f"probability has the shape {shape}, not (windows, classes)")
    if not ((found.probability >= 0) & (found.probability <= 1)).all():  # NaN is neither
        raise ValueError("a probability is outside [0, 1]")
    if not ((found.truth == 0) | (found.truth == 1)).all():
        raise ValueError("a label is neither 0 nor 1")
    for name in IDS:
        if arrays[name].dtype.itemsize > 4 * LONGEST_ID:
            raise ValueError(f"{name} has ids of more than {LONGEST_ID} characters")
        code = np.frombuffer(arrays[name].tobytes(), np.uint32)  # of each character
        if ((code >= 0xD800) & (code <= 0xDFFF) | (code > 0x10FFFF)).any():
            raise ValueError(f"{name} has an id that is no text")
    return found
