"""The results store: one JSON row and one .npz of predictions per finished cell, plans and cards.

    runs/plans/KEY.json        plan of a run: its config and its cells
    runs/pretrained/KEY/       one pretraining: weights, history, checkpoint while it runs, error.json why it failed
    runs/cells/KEY.json        one finished cell; KEY.npz its predictions; KEY.error.json why it failed


Keys are hashes of content, so stores made in different places merge by copying. A cell is finished if its files exist
and their digests match. Without torch: reports read the store on any machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from traceback import format_exception
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.results.files import (
    MEBIBYTE,
    content_digest,
    digested_json,
    npz_bytes,
    read_arrays,
    read_digested_json,
    read_json,
    write_atomic,
)
from benchmark.results.names import CARD, ERROR, Pool, command
from benchmark.results.schema import (
    KEY,
    Count,
    Evaluated,
    Key,
    KeyOrNone,
    Labels,
    Name,
    Protocol,
    Ratio,
    Score,
    Unit,
    checked,
    digest,
)

ROW_FORMAT = 2
LARGEST_PREDICTIONS = 1024 * MEBIBYTE
"""Bytes unpacked; 20,000 windows have 5 MiB."""


@dataclass(frozen=True)
class Row:
    """One finished cell: settings, scores in [0, 1] and provenance."""

    key: Key
    pretrain_key: KeyOrNone
    """Key of the encoder's pretraining; '' for cells without an encoder."""
    variant: str
    """Name of the table's row, e.g. 'pmq' or 'pmq:w/o queue'."""
    method: str
    evaluation: Evaluated
    """One of `EVALUATIONS` or `CLASSICAL_TITLES`, 'supervised', or 'validation' (of `tune`, untested)."""
    dataset: Name
    ratio: Ratio
    """Share of the labels."""
    seed: Count
    pretrain_seed: Count | None
    protocol: Protocol
    labels: Labels
    scores: dict[Unit, dict[Name, Score | None]]
    """Unit ('heartbeat' or 'recording') -> metric -> value; None where the metric is undefined."""
    undefined: dict[Unit, dict[Name, str]]
    """Unit -> metric -> why it is undefined."""
    notes: list[str]
    """Remarks that qualify the scores, e.g. 'no labelled window of class HYP'."""
    counts: dict[Name, Count]
    """Windows, recordings and patients of each split."""
    coverage: dict[str, Any]
    """Class -> {'patients': of the dataset, 'unscored': {patient: why}} (benchmark.data.task)."""
    training: dict[str, Any]
    """Best epoch (or C of the probe), history of the validation score, seconds."""
    provenance: dict[str, Any]
    """Full config, data and corpus (fingerprint, simulated), versions, git state, device, precision, threads."""
    format: int = ROW_FORMAT
    subset: Count = 0
    """Number of its labelled subset, or of its fine-tuning on one, among the runs of the seed."""


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


def cell_key(content: Mapping[str, Any], ratio: float, seed: int, subset: int) -> str:
    """Key of a cell: the digest of what moves its scores; the first labelled subset of a seed is not named in it."""
    return digest([content, ratio, seed, *([subset] if subset else [])])


def row_bytes(row: Row, predictions: bytes) -> bytes:
    """Content of a row's file, with SHA-256 digests of the row and of its predictions file."""
    body = asdict(row)
    envelope = {
        "row": body,
        "row_sha256": content_digest(body),
        "predictions_sha256": hashlib.sha256(predictions).hexdigest(),
    }
    return json.dumps(envelope, indent=1, sort_keys=True).encode()


def read_predictions(content: bytes) -> Predictions:
    """The predictions of an .npz file. Raises ValueError if they are no predictions."""
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
    return found


Answer = Literal["yes", "no", "not known"]


PAPER_SIGNALS: dict[str, object] = {
    "rate": 250,
    "standardise": "recording",
    "leads": ["I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6"],
    "pool": "mean",
}
"""Key of `data` -> how the paper takes signals: Hz, scaling, leads downstream, vote of a recording's windows."""


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a plan; its finished row is stored under `key`."""

    key: Key
    variant: str
    evaluation: Evaluated
    dataset: Name
    ratio: Ratio
    seed: Count
    subset: Count = 0
    """Number of its labelled subset, or of its fine-tuning on one, among the runs of the seed."""


@dataclass(frozen=True)
class Plan:
    """Plan of a run, with all that a report needs besides the rows."""

    key: Key
    config: dict[str, Any]
    variants: dict[str, str]
    """Variant -> title printed in a table, in the order of the rows."""
    datasets: dict[Name, dict[str, Any]]
    """Dataset -> title, classes, simulated (bool), fingerprint, recordings, patients, skipped, in column order."""
    pretraining: dict[str, Any]
    """The same facts of the pretraining corpus, with its name."""
    roles: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Variant -> role (`ROLES`), what it is a change of (of, knob, value), and whether
    it reads reports."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for every table, e.g. that test recordings were trained on; one sentence each, without full stop."""
    cells: list[PlannedCell] = field(default_factory=list)
    health_windows: str = ""
    """Digest of the windows that the health of the run's pretrainings is measured on."""

    @property
    def pool(self) -> Pool:
        """How the windows of a recording vote."""
        found: Pool = self.config["data"].get("pool", "mean")
        return found

    @property
    def other_signals(self) -> dict[str, Any]:
        """The settings of signals that are not the paper's, by their keys of `data`."""
        return {name: value for name, value in self.config["data"].items() if value != PAPER_SIGNALS.get(name, value)}


def labels_of(plan: Plan) -> str:
    """'single', 'multi' or 'single and multi': the labels of a plan's columns; those of a named task are multi."""
    own = str(plan.config["data"]["labels"])
    kinds = {"multi" if facts.get("task") else own for facts in plan.datasets.values()}
    return " and ".join(sorted(kinds, reverse=True)) or own


OWN_DIGEST = "card_sha256"


class BadCard(Exception):
    """A card is damaged, altered or of another pretraining; the message names the file and what is wrong."""


def card_bytes(card: Mapping[str, Any]) -> bytes:
    """Content of a card's file, with the digest of the card."""
    body = {name: value for name, value in card.items() if name != OWN_DIGEST}
    return json.dumps(body | {OWN_DIGEST: content_digest(body)}, indent=1).encode()


def read_card_file(path: Path) -> dict[str, Any]:
    """The card in the folder of its key. Raises FileNotFoundError, and BadCard if it is altered or of another key."""
    try:
        card: dict[str, Any] = read_json(path)
        if not isinstance(card, dict):
            raise ValueError("this is no card")
        if problem := _own_problem(card, path.parent.name):
            raise ValueError(problem)
        return card
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise BadCard(f"{path}: {error}") from None


def _own_problem(card: Mapping[str, Any], key: str) -> str:
    """Why a card is not that of a key; '' if it is."""
    if content_digest({name: value for name, value in card.items() if name != OWN_DIGEST}) != card.get(OWN_DIGEST):
        return "the card does not match its digest"
    return "" if card.get("key") == key else f"this is the card of {card.get('key')}"


class CorruptRow(Exception):
    """A row or its predictions are truncated or altered; the message names the file."""


class NoResults(Exception):
    """There is nothing to report; the message says what was looked for."""


@dataclass(frozen=True)
class Failure:
    """An error as it is stored."""

    error: str
    """Type and message."""
    traceback: str = ""
    """Includes the worker process's, if raised in one; empty if unknown."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure of an exception caught in this process or from a worker."""
        raised = error.__traceback__ is not None or error.__cause__ is not None
        return cls(f"{type(error).__name__}: {error}", "".join(format_exception(error)) if raised else "")

    @property
    def line(self) -> str:
        """First line of the error's text."""
        return (self.error.strip().splitlines() or ["no error text"])[0]


STORED = ("error", "traceback")


class Store:
    """A results folder. Reading never creates anything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cells = root / "cells"
        self.plans = root / "plans"
        self.pretrained = root / "pretrained"
        self.lock = root / ".lock"
        """Held by the command that works on the store."""

    def save_row(self, row: Row, predictions: Predictions) -> None:
        """Write predictions, then the row with their digest, then remove an earlier failure's file."""
        arrays = npz_bytes({name: getattr(predictions, name) for name in ARRAYS})
        write_atomic(self.cells / f"{row.key}.npz", arrays)
        write_atomic(self.cells / f"{row.key}.json", row_bytes(row, arrays))
        self.failure_file(row.key).unlink(missing_ok=True)

    def load_row(self, key: str) -> Row | None:
        """The finished row of a key, or None. Raises CorruptRow if it is damaged."""
        path = self.cells / f"{key}.json"
        if not path.is_file():
            return None
        try:
            envelope = read_json(path)
            body = envelope["row"]
            if content_digest(body) != envelope["row_sha256"]:
                raise CorruptRow(f"{path}: the row does not match its digest")
            arrays = (self.cells / f"{key}.npz").read_bytes()
            if hashlib.sha256(arrays).hexdigest() != envelope["predictions_sha256"]:
                raise CorruptRow(f"{path.with_suffix('.npz')}: the predictions do not match their digest")
            if body["format"] != ROW_FORMAT or set(body) != {f.name for f in fields(Row)}:
                raise CorruptRow(f"{path}: row format {body['format']}, this version reads {ROW_FORMAT}")
            row = checked(Row, body)
            if row.key != key:
                raise CorruptRow(f"{path}: this is no row of key {key}")
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise CorruptRow(f"{path}: {error}") from error
        return row

    def card(self, pretrain_key: str) -> dict[str, Any] | None:
        """Card of a pretraining; None if missing. The weights are not checked.

        Raises BadCard if it is damaged, altered or of another pretraining.
        """
        try:
            return read_card_file(self.pretrained / pretrain_key / CARD)
        except FileNotFoundError:
            return None

    def row_keys(self) -> list[str]:
        """Keys of all stored rows, damaged ones included."""
        return sorted(path.stem for path in self.cells.glob("*.json") if not path.stem.endswith(".error"))

    def predictions(self, key: str) -> Predictions:
        """Predictions of a finished cell. Raises CorruptRow if they are damaged or no predictions."""
        path = self.cells / f"{key}.npz"
        try:
            return read_predictions(path.read_bytes())
        except (OSError, ValueError) as error:
            raise CorruptRow(f"{path}: {error}") from error

    def save_failure(self, key: str, what: str, error: str, traceback: str = "") -> Path:
        """Write a cell's failure beside the path of its row; returns the file."""
        return _write_failure(self.failure_file(key), key, what, error, traceback)

    def save_pretraining_failure(self, key: str, what: str, error: str, traceback: str = "") -> Path:
        """Write a pretraining's failure into its folder; returns the file."""
        return _write_failure(self.pretrained / key / ERROR, key, what, error, traceback)

    def failures(self, keys: Iterable[str]) -> dict[str, Failure]:
        """Key -> failure, for those cells and pretrainings whose last attempt failed."""
        found = {}
        for key in keys:
            for path in (self.failure_file(key), self.pretrained / key / ERROR):
                if path.is_file():
                    found[key] = _failure(path)
        return found

    def failure_file(self, key: str) -> Path:
        """Path of a cell's failure."""
        return self.cells / f"{key}.error.json"

    def save_plan(self, plan: Plan) -> None:
        """Write a plan under its key and mark it as the latest; files that are there already are left alone."""
        contents = {f"{plan.key}.json": digested_json(asdict(plan)), "latest": plan.key.encode()}
        for name, content in contents.items():
            path = self.plans / name
            if not path.is_file() or path.read_bytes() != content:
                write_atomic(path, content)

    def plan_keys(self) -> list[str]:
        """Keys of all plans, the latest first. Raises NoResults if there is none."""
        latest = self.plans / "latest"
        if not latest.is_file():
            raise NoResults(
                f"no results in {self.root}: {latest} is not there; start a run with `{command()}`, "
                "or name the folder of results with --results"
            )
        try:
            key = latest.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            key = ""
        if not KEY.fullmatch(key):
            raise NoResults(f"{latest} is damaged: it names no plan; the same run command writes it again")
        return [key, *sorted(path.stem for path in self.plans.glob("*.json") if path.stem != key)]

    def load_plan(self, key: str | None = None) -> Plan:
        """A plan by key, or the latest. Raises NoResults if it is missing or damaged."""
        if key is None:
            key, *_ = self.plan_keys()
        path = self.plans / f"{key}.json"
        if not path.is_file():
            raise NoResults(f"no plan {key} in {self.root}: {path} is not there")
        try:
            body = read_digested_json(path)
            cells = [checked(PlannedCell, cell) for cell in body["cells"]]
            plan = checked(Plan, body | {"cells": cells})
            if plan.key != key:
                raise ValueError(f"this is the plan {plan.key}, not {key}")
            return plan
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NoResults(f"{path} is damaged ({error}); the same run command writes it again") from None


def _failure(path: Path) -> Failure:
    """A stored failure; of a damaged file, that it is damaged."""
    try:
        return checked(Failure, {name: text for name, text in read_json(path).items() if name in STORED})
    except (OSError, ValueError, AttributeError) as error:
        return Failure(f"{path.name} is damaged: {error}")


def _write_failure(path: Path, key: str, what: str, error: str, traceback: str) -> Path:
    body = {"key": key, "what": what, "error": error, "traceback": traceback}
    write_atomic(path, json.dumps(body, indent=1).encode())
    return path
