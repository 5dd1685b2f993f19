"""The results store: one JSON row and one .npz of predictions per finished cell, plans, records and failures.

    runs/plans/KEY.json        plan of a run: its config and its cells
    runs/pretrained/KEY/       one pretraining: weights, its record, checkpoint while it runs, error.json why it failed
    runs/cells/KEY.json        one finished cell; KEY.npz its predictions; KEY.error.json why it failed

Keys are hashes of content, so stores made in different places merge by copying. A cell is finished if its files exist
and match their digests. Needs no torch: reports read the store on any machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field, fields
from dataclasses import dataclass as plain_dataclass
from io import BytesIO
from pathlib import Path
from traceback import format_exception
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmark.results.arrays import Floats, Ints, Texts
from benchmark.results.files import (
    KEY_LENGTH,
    KEY_PATTERN,
    Damaged,
    content_digest,
    digested_json,
    file_digest,
    read_digested_json,
    read_json,
    reading,
    refuse_altered,
    remedy,
    validated,
    write_atomic,
)
from benchmark.results.metrics import HEADLINES, Headline
from benchmark.results.names import (
    CLASSICAL_TITLES,
    ERROR,
    EVALUATION_FACTS,
    RECORD_FILE,
    STRICT,
    SUPERVISED,
    VALIDATION,
    Labels,
    Pool,
    Protocol,
    command,
)

RECORD_DIGEST = "record_sha256"
LATEST = "latest"
"""File beside the plans with the key of the latest."""
CELL_AGAIN = "the run command computes the cell again"
ENCODER_AGAIN = "the run command makes the encoder again"
PLAN_AGAIN = "its run command writes it again"
EVALUATION_NAMES = "|".join((*EVALUATION_FACTS, *CLASSICAL_TITLES, SUPERVISED, VALIDATION))
EvaluationName = Annotated[str, Field(pattern=f"^({EVALUATION_NAMES})$")]
Unit = Annotated[str, Field(pattern="^(heartbeat|recording)$")]
Key = Annotated[str, Field(pattern=f"^{KEY_PATTERN}$")]
KeyOrNone = Annotated[str, Field(pattern=f"^({KEY_PATTERN})?$")]
Ratio = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Score = Annotated[float, Field(ge=0, le=1)]


class NoResults(Exception):
    """There is nothing to report; the message says what was looked for."""


@dataclass(frozen=True, config=STRICT)
class Row:
    """One finished cell: settings, scores in [0, 1] and provenance."""

    key: Key
    pretrain_key: KeyOrNone
    """Key of the encoder's pretraining; '' for cells without an encoder."""
    variant: str
    """Name of the table's row, e.g. 'pmq' or 'pmq:w/o queue'."""
    method: str
    evaluation: EvaluationName
    dataset: str
    ratio: Ratio
    seed: Count
    pretrain_seed: Count | None
    protocol: Protocol
    labels: Labels
    scores: dict[Unit, dict[str, Score | None]]
    """Unit ('heartbeat' or 'recording') -> metric -> value; None where the metric is undefined."""
    undefined: dict[Unit, dict[str, str]]
    """Unit -> metric -> why it is undefined."""
    notes: list[str]
    """Remarks that qualify the scores, e.g. 'no labelled window of class HYP'."""
    counts: dict[str, Count]
    """Windows, recordings and patients of each split."""
    coverage: dict[str, Any]
    """Class -> {'patients': of the dataset, 'unscored': {patient: why}} (benchmark.data.task)."""
    training: dict[str, Any]
    """Best epoch (or C of the probe), history of the validation score, seconds."""
    provenance: dict[str, Any]
    """Full config, data and corpus (fingerprint, simulated), versions, git state, device, precision, threads."""
    format: Literal[2] = 2
    subset: Count = 0
    """Number of its labelled subset among the runs of the seed."""
    part_keys: list[Key] = field(default_factory=list)
    """Keys of the encoders of the parts of a cross-fitting, `pretrain_key` first."""

    @property
    def encoders(self) -> list[str]:
        """Keys of all its pretrainings."""
        return self.part_keys or ([self.pretrain_key] if self.pretrain_key else [])


@plain_dataclass(frozen=True)
class Predictions:
    """Test-set output of one cell, one entry per window (a heartbeat or a plain segment)."""

    probability: Floats
    """(n, C)"""
    truth: Ints
    """(n, C) multi-hot; one-hot for single-label tasks."""
    recording: Texts
    """(n,)"""
    patient: Texts
    """(n,)"""
    part: Ints | None = None
    """(n,) number of the part of a cross-fitting, whose encoder predicted it; None where one encoder did."""

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that there are, by name."""
        return {name: values for name, values in vars(self).items() if values is not None}

    def taken(self, index: Ints) -> Predictions:
        """Return the numbered windows."""
        return Predictions(**{name: values[index] for name, values in self.arrays().items()})


@dataclass(frozen=True, config=STRICT)
class PlannedCell:
    """One cell of a plan; its row, which repeats these fields, is stored under `key` once it is finished."""

    key: Key
    variant: str
    evaluation: EvaluationName
    dataset: str
    ratio: Ratio
    seed: Count
    subset: Count = 0


@dataclass(frozen=True, config=STRICT)
class Plan:
    """Plan of a run, with all that a report needs besides the rows."""

    key: Key
    config: dict[str, Any]
    variants: dict[str, str]
    """Variant -> title printed in a table, in the order of the rows."""
    datasets: dict[str, dict[str, Any]]
    """Dataset -> title, classes, simulated (bool), fingerprint, recordings, patients, skipped, in column order."""
    pretraining: dict[str, Any]
    """The same facts of the pretraining corpus, with its name."""
    roles: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Variant -> role (`ROLES`), what it is a change of (of, hyperparameter, value), and whether it reads reports."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for every table, e.g. that test recordings were trained on; one sentence each, without full stop."""
    cells: list[PlannedCell] = field(default_factory=list)
    health_windows: str = ""
    """Digest of the windows that the health of the run's pretrainings is measured on."""
    command: str = ""
    """Command line that ran it, without the program's name."""
    folders: list[str] = field(default_factory=list)
    """Names of the folders of its pretrainings in the store, and of its prepared data in the cache."""

    @property
    def titles(self) -> dict[str, str]:
        """Title of each dataset by its name, in column order."""
        return {name: str(facts["title"]) for name, facts in self.datasets.items()}

    @property
    def command_line(self) -> str:
        """Command line that ran it, with the program's name."""
        return f"{command()} {self.command}"

    def has_key(self, starts: Sequence[str]) -> bool:
        """Tell whether the key of a cell or of a pretraining's folder begins with one of `starts`."""
        keys = [*(cell.key for cell in self.cells), *self.folders]
        return any(key.startswith(tuple(starts)) for key in keys)

    @property
    def headline(self) -> Headline:
        """Score by which its rows are compared."""
        return HEADLINES[self.config["protocol"]]

    @property
    def pool(self) -> Pool:
        """Rule by which the windows of a recording vote."""
        pool: Pool = self.config["data"].get("pool", "mean")
        return pool


@plain_dataclass(frozen=True)
class Failure:
    """An error as it is stored."""

    error: str
    """Type and message."""
    traceback: str = ""
    """Includes the worker process's, if raised in one; empty if unknown."""

    @classmethod
    def from_error(cls, error: BaseException) -> Failure:
        """Make the failure of an exception caught in this process or from a worker."""
        raised = error.__traceback__ is not None or error.__cause__ is not None
        text = f"{type(error).__name__}: {error}{remedy(error)}"
        return cls(text, "".join(format_exception(error)) if raised else "")

    @property
    def line(self) -> str:
        """First line of the error's text, with the next one that has words where it ends in a colon."""
        lines = [line.strip() for line in self.error.splitlines() if line.strip()]
        return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def labels_of(plan: Plan) -> str:
    """Return 'single', 'multi' or 'single and multi': the labels of a plan's columns; named tasks are multi-label."""
    default = str(plan.config["data"]["labels"])
    kinds = {"multi" if facts.get("task") else default for facts in plan.datasets.values()}
    return " and ".join(sorted(kinds, reverse=True)) or default


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """Return the content of a record's file, with the digest of the record."""
    return digested_json(record, RECORD_DIGEST)


def read_record_file(path: Path) -> dict[str, Any] | None:
    """Read the record in the folder of its key; None if it is not there. Raises Damaged for any other record."""
    if not path.is_file():
        return None
    with reading(path, ENCODER_AGAIN):
        record = read_digested_json(path, RECORD_DIGEST)
        if record.get("key") != path.parent.name:
            raise ValueError(f"this is the record of {record.get('key')}")
    return record


def read_failure(path: Path) -> Failure:
    """Read the file of a failure; where it is damaged, that is the error."""
    try:
        with reading(path, "the run command tries it again"):
            stored = read_digested_json(path)
            return Failure(str(stored["error"]), str(stored["traceback"]))
    except Damaged as damage:
        return Failure(str(damage))


class Store:
    """A results folder. Reading never creates anything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cells = root / "cells"
        self.plans = root / "plans"
        self.pretrained = root / "pretrained"
        self.lock = root / ".lock"  # held by the command that works on the store

    def save_row(self, row: Row, predictions: Predictions, validation: Predictions | None = None) -> None:
        """Write predictions, then the row with both digests, then remove an earlier failure's file.

        validation: of the windows that settings were chosen on.
        """
        arrays = BytesIO()
        chosen_on = validation.arrays() if validation else {}
        prefixed = {f"{VALIDATION}_{name}": values for name, values in chosen_on.items()}
        np.savez_compressed(arrays, **predictions.arrays(), **prefixed)
        write_atomic(self.cells / f"{row.key}.npz", arrays.getvalue())
        body = asdict(row)
        sha256 = hashlib.sha256(arrays.getvalue()).hexdigest()
        envelope = {"row": body, "row_sha256": content_digest(body), "predictions_sha256": sha256}
        write_atomic(self.row_file(row.key), json.dumps(envelope, indent=1, sort_keys=True).encode())
        self.failure_file(row.key).unlink(missing_ok=True)

    def load_row(self, key: str) -> Row | None:
        """Return the finished row of a key, or None. Raises Damaged for the row or its predictions."""
        path = self.row_file(key)
        if not path.is_file():
            return None
        with reading(path, CELL_AGAIN):
            stored = read_json(path)
            refuse_altered(content_digest(stored["row"]), stored["row_sha256"])
            row = validated(Row, stored["row"])
            if row.key != key:
                raise ValueError(f"this is the row of {row.key}")
        predictions = self.cells / f"{key}.npz"
        with reading(predictions, CELL_AGAIN):
            refuse_altered(file_digest(predictions), stored["predictions_sha256"])
        return row

    def remove_row(self, key: str) -> None:
        """Remove the finished row of a key and its predictions, so that its cell is computed again."""
        for file in (self.row_file(key), self.cells / f"{key}.npz"):
            file.unlink(missing_ok=True)

    def record(self, pretrain_key: str) -> dict[str, Any] | None:
        """Return the record of a pretraining; None if missing. Raises Damaged. The weights are not checked."""
        return read_record_file(self.pretrained / pretrain_key / RECORD_FILE)

    def predictions(self, key: str, prefix: Literal["", "validation_"] = "") -> Predictions:
        """Read the predictions of a finished cell, of its test windows or of those of validation. Raises Damaged."""
        path = self.cells / f"{key}.npz"
        with reading(path, CELL_AGAIN), np.load(path, allow_pickle=False) as arrays:
            names = [entry.name for entry in fields(Predictions) if prefix + entry.name in arrays]
            return Predictions(**{name: arrays[prefix + name] for name in names})

    def save_failure(self, key: str, name: str, failure: Failure, *, pretraining: bool = False) -> Path:
        """Write the failure of a cell beside its row, or of a pretraining into its folder; returns the file."""
        path = self.pretrained / key / ERROR if pretraining else self.failure_file(key)
        write_atomic(path, digested_json({"key": key, "what": name, **asdict(failure)}))
        return path

    def failures(self, keys: Iterable[str]) -> dict[str, Failure]:
        """Return key -> failure, for those cells and pretrainings whose last attempt failed.

        Where its file is damaged, that is the error.
        """
        failures = {}
        for key in keys:
            for path in (self.failure_file(key), self.pretrained / key / ERROR):
                if path.is_file():
                    failures[key] = read_failure(path)
        return failures

    def row_file(self, key: str) -> Path:
        """Return the path of a cell's row."""
        return self.cells / f"{key}.json"

    def failure_file(self, key: str) -> Path:
        """Return the path of a cell's failure."""
        return self.cells / f"{key}.error.json"

    def save_plan(self, plan: Plan) -> None:
        """Write a plan under its key and mark it as the latest; files that are there already are left alone."""
        contents = {f"{plan.key}.json": digested_json(asdict(plan)), LATEST: plan.key.encode()}
        for name, content in contents.items():
            path = self.plans / name
            if not path.is_file() or path.read_bytes() != content:
                write_atomic(path, content)

    def plan_keys(self) -> list[str]:
        """Return the keys of all plans, the latest first. Raises NoResults if there is none, Damaged."""
        latest = self.plans / LATEST
        if not latest.is_file():
            raise NoResults(
                f"no results in {self.root}: {latest} is not there; start a run with `{command()}`, "
                "or name the folder of results with --results"
            )
        keys = sorted(path.stem for path in self.plans.glob("*.json"))
        with reading(latest, PLAN_AGAIN):
            key = latest.read_text(encoding="utf-8").strip()
            if key not in keys:
                raise ValueError(f"it names the plan {key[:KEY_LENGTH]!r}, which is not there")
        return [key, *(other for other in keys if other != key)]

    def load_plans(self) -> tuple[list[Plan], list[str]]:
        """Read the whole plans, the latest first, and say of each other what is wrong with it.

        Raises NoResults if there is no plan, Damaged if none is whole.
        """
        plans, damage = [], []
        for key in self.plan_keys():
            try:
                plans.append(self.load_plan(key))
            except Damaged as problem:
                damage.append(str(problem))
        return plans or [self.load_plan()], damage

    def load_plan(self, key: str | None = None) -> Plan:
        """Read a plan by key, or the latest. Raises NoResults if it is missing, Damaged."""
        key = key or self.plan_keys()[0]
        path = self.plans / f"{key}.json"
        if not re.fullmatch(KEY_PATTERN, key) or not path.is_file():
            raise NoResults(f"no plan {key} in {self.root}: {path} is not there")
        with reading(path, PLAN_AGAIN):
            body = read_digested_json(path)
            plan = validated(Plan, body | {"cells": [validated(PlannedCell, cell) for cell in body["cells"]]})
            if plan.key != key:
                raise ValueError(f"this is the plan {plan.key}, not {key}")
        return plan
