"""The results store: one JSON row and one .npz of predictions per finished cell, each written whole or not at all.

    runs/plans/KEY.json        what a run set out to do: its config and its cells
    runs/pretrained/KEY/       one pretraining: weights, history, checkpoint while it runs
    runs/cells/KEY.json        one finished cell; KEY.npz its predictions; KEY.error.json why it failed

Keys are hashes of content, so stores made in different places merge by copying, and a finished cell is one whose
file is there and whose digests match. Nothing here imports torch: reports read the store on any machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROW_FORMAT = 2
KEY_LENGTH = 16
KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a key may look like: it is part of file names, and stores come from other people."""
CARD = "pretraining.json"
"""What a pretraining leaves beside its weights: how it was done, and what it learned."""
ILLUSTRATION = "illustration.npz"
"""Pictures of it, drawn by reports: what its masks do to a window, and how alike its queries and keys are."""
KEY_KINDS = ("other patient", "own key", "attracts", "same patient, does not attract")
"""What a key is to a query, by the number that stands for it in an illustration."""
UNIT_OF_PROTOCOL = {"paper": "heartbeat", "strict": "recording"}
"""What a protocol scores, selects epochs by and reports."""


class CorruptRow(Exception):
    """A row or its predictions are truncated or altered; the message names the file."""


class NoResults(Exception):
    """There is nothing to report; the message says what was looked for."""


@dataclass(frozen=True)
class Row:
    """One finished cell: what was run, what came out, and where it came from. Scores lie in [0, 1]."""

    key: str
    pretrain_key: str
    """Of the encoder; '' where there is none."""
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
    """What a reader of the number must know, e.g. 'no labelled window of class HYP'."""
    counts: dict[str, int]
    """Windows, recordings and patients of each split."""
    coverage: dict[str, Any]
    """Class -> {'patients': of the dataset, 'unscored': {patient: why}} (benchmark.data.coverage)."""
    training: dict[str, Any]
    """Best epoch (or C of the probe), history of the validation score, seconds."""
    provenance: dict[str, Any]
    """Full config, data fingerprints, versions, git state, device, precision, threads."""
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


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a plan; its row, once finished, lies under `key`."""

    key: str
    variant: str
    evaluation: str
    dataset: str
    ratio: float
    seed: int


@dataclass(frozen=True)
class Plan:
    """What a run set out to do, with all that a report needs besides the rows."""

    key: str
    config: dict[str, Any]
    variants: dict[str, str]
    """Variant -> title printed in a table, in the order of the rows."""
    datasets: dict[str, dict[str, Any]]
    """Dataset -> title, classes, simulated (bool), fingerprint, recordings, patients, skipped, in column order."""
    pretraining: dict[str, Any]
    """The same facts of the pretraining corpus, with its name."""
    roles: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Variant -> role ('method', 'ablation', 'sweep' or 'gate'), what it is a change of (of, knob, value), and whether
    it reads reports."""
    warnings: list[str] = field(default_factory=list)
    """What every table must carry, e.g. that test recordings were trained on; one sentence each, without its stop."""
    cells: list[PlannedCell] = field(default_factory=list)


def digest(value: object) -> str:
    """Key of any JSON-like value: the first 16 hex digits of the SHA-256 of its canonical JSON text."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: temporary name in the same folder, fsync, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _check(plan: Plan) -> None:
    """Raise ValueError where a plan names what it does not have, or a key that is none."""
    if plan.config["protocol"] not in UNIT_OF_PROTOCOL:
        raise ValueError(f"unknown protocol {plan.config['protocol']!r}")
    for cell in plan.cells:
        if cell.variant not in plan.variants or cell.dataset not in plan.datasets:
            raise ValueError(f"a cell of {cell.variant!r} on {cell.dataset!r}, which the plan does not list")
    for key in (plan.key, *(cell.key for cell in plan.cells)):
        if not KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key")


def row_bytes(row: Row, predictions: bytes) -> bytes:
    """The file of a row, which vouches for itself and for the file of its predictions."""
    body = asdict(row)
    envelope = {
        "row": body,
        "row_sha256": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest(),
        "predictions_sha256": hashlib.sha256(predictions).hexdigest(),
    }
    return json.dumps(envelope, indent=1, sort_keys=True).encode()


class Store:
    """A results folder. Reading never creates anything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cells = root / "cells"
        self.plans = root / "plans"
        self.pretrained = root / "pretrained"

    def save_row(self, row: Row, predictions: Predictions) -> None:
        """Write predictions first, then the row that vouches for them, then drop an earlier failure's note."""
        arrays = _npz_bytes(
            {name: getattr(predictions, name) for name in ("probability", "truth", "recording", "patient")}
        )
        write_atomic(self.cells / f"{row.key}.npz", arrays)
        write_atomic(self.cells / f"{row.key}.json", row_bytes(row, arrays))
        (self.cells / f"{row.key}.error.json").unlink(missing_ok=True)

    def load_row(self, key: str) -> Row | None:
        """The finished row of a key, or None where there is none. Raises CorruptRow where it is damaged."""
        path = self.cells / f"{key}.json"
        if not path.is_file():
            return None
        try:
            envelope = json.loads(path.read_bytes())
            body = envelope["row"]
            if hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest() != envelope["row_sha256"]:
                raise CorruptRow(f"{path}: the row does not match its digest")
            arrays = (self.cells / f"{key}.npz").read_bytes()
            if hashlib.sha256(arrays).hexdigest() != envelope["predictions_sha256"]:
                raise CorruptRow(f"{path.with_suffix('.npz')}: the predictions do not match their digest")
            if body["format"] != ROW_FORMAT or set(body) != {f.name for f in fields(Row)}:
                raise CorruptRow(f"{path}: row format {body['format']}, this version reads {ROW_FORMAT}")
            if body["key"] != key or not KEY.fullmatch(body["pretrain_key"] or key):
                raise CorruptRow(f"{path}: this is no row of key {key}")
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CorruptRow(f"{path}: {error}") from error
        return Row(**body)

    def load_rows(self, keys: Iterable[str]) -> tuple[list[Row], list[str]]:
        """Rows of the keys that are finished, in that order, and one line per damaged row."""
        rows, problems = [], []
        for key in keys:
            try:
                row = self.load_row(key)
            except CorruptRow as error:
                problems.append(str(error))
                continue
            if row is not None:
                rows.append(row)
        return rows, problems

    def card(self, pretrain_key: str) -> dict[str, Any] | None:
        """How an encoder was pretrained; None where that is not there or damaged. Its weights are not looked at."""
        try:
            card = json.loads((self.pretrained / pretrain_key / CARD).read_bytes())
        except (OSError, ValueError):
            return None
        return card if isinstance(card, dict) else None

    def row_keys(self) -> list[str]:
        """Keys of all rows there are, whole or damaged."""
        return sorted(path.stem for path in self.cells.glob("*.json") if not path.stem.endswith(".error"))

    def predictions(self, key: str) -> Predictions:
        """Predictions of a finished cell."""
        with np.load(self.cells / f"{key}.npz", allow_pickle=False) as arrays:
            return Predictions(arrays["probability"], arrays["truth"], arrays["recording"], arrays["patient"])

    def save_failure(self, key: str, what: str, error: str) -> None:
        """Leave the reason of a failed cell or pretraining beside where its row would be."""
        body = {"key": key, "what": what, "error": error}
        write_atomic(self.cells / f"{key}.error.json", json.dumps(body, indent=1).encode())

    def failures(self, keys: Iterable[str]) -> dict[str, str]:
        """Key -> error text, for those of the keys whose last attempt failed."""
        found = {}
        for key in keys:
            path = self.cells / f"{key}.error.json"
            if path.is_file():
                found[key] = str(json.loads(path.read_text())["error"])
        return found

    def save_plan(self, plan: Plan) -> None:
        """Keep a plan under its key and make it the latest."""
        write_atomic(self.plans / f"{plan.key}.json", json.dumps(asdict(plan), indent=1).encode())
        write_atomic(self.plans / "latest", plan.key.encode())

    def plan_keys(self) -> list[str]:
        """Keys of all plans, the latest first. Raises NoResults where no run was ever started."""
        latest = self.plans / "latest"
        if not latest.is_file():
            raise NoResults(
                f"no results in {self.root}: {latest} is not there; start a run with `python run_benchmark.py`, "
                "or name the folder of results with --results"
            )
        key = latest.read_text().strip()
        return [key, *sorted(path.stem for path in self.plans.glob("*.json") if path.stem != key)]

    def load_plan(self, key: str | None = None) -> Plan:
        """A plan by key, or the latest. Raises NoResults with what was looked for."""
        if key is None:
            key, *_ = self.plan_keys()
        path = self.plans / f"{key}.json"
        if not path.is_file():
            raise NoResults(f"no plan {key} in {self.root}: {path} is not there")
        try:
            body = json.loads(path.read_text())
            cells = [PlannedCell(**cell) for cell in body.pop("cells")]
            plan = Plan(**body, cells=cells)
            _check(plan)
            return plan
        except (ValueError, KeyError, TypeError) as error:
            raise NoResults(f"{path} is damaged ({error}); the same run command writes it again") from None
