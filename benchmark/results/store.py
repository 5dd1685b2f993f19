"""The results store: one JSON row and one .npz of predictions per finished cell, each written atomically.

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
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from benchmark.results.cards import read_card_file
from benchmark.results.failures import CorruptRow as CorruptRow
from benchmark.results.failures import Failure
from benchmark.results.failures import NoResults as NoResults
from benchmark.results.files.arrays import npz_bytes
from benchmark.results.files.read import LARGEST_JSON, bounded_by_text, read_json, read_regular
from benchmark.results.files.write import write_atomic
from benchmark.results.keys import KEY
from benchmark.results.names import CARD, ERROR, command
from benchmark.results.plan import Plan, PlannedCell, check_plan, with_todays_keys
from benchmark.results.rows import (
    ARRAYS,
    LARGEST_PREDICTIONS,
    ROW_FORMAT,
    Predictions,
    Row,
    key_problem,
    place_problem,
    read_predictions,
    row_bytes,
)
from benchmark.results.schema import check_amount, checked

LONGEST_KEY = 100
"""Bytes."""
STORED = ("error", "traceback")


class Store:
    """A results folder. Reading never creates anything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cells = root / "cells"
        self.plans = root / "plans"
        self.pretrained = root / "pretrained"

    def save_row(self, row: Row, predictions: Predictions) -> None:
        """Write predictions, then the row with their digest, then remove an earlier failure's file."""
        arrays = npz_bytes({name: getattr(predictions, name) for name in ARRAYS})
        write_atomic(self.cells / f"{row.key}.npz", arrays)
        write_atomic(self.cells / f"{row.key}.json", row_bytes(row, arrays))
        self.failure_file(row.key).unlink(missing_ok=True)

    def load_row(self, key: str, place: Mapping[str, Any] | None = None) -> Row | None:
        """The finished row of a key, or None. Raises CorruptRow if it is damaged or not of its `place`.

        place: fields of the row -> the values of the cell for which the row is read.
        """
        found = self.load_sealed(key, place)
        return found[0] if found else None

    def load_sealed(self, key: str, place: Mapping[str, Any] | None = None) -> tuple[Row, str] | None:
        """As `load_row`, with the digests of the row and of its predictions, which were compared."""
        path = self.cells / f"{key}.json"
        if not path.is_file():
            return None
        try:
            envelope = json.loads(read_regular(path, LARGEST_JSON))
            body = envelope["row"]
            text = json.dumps(body, sort_keys=True)
            if hashlib.sha256(text.encode()).hexdigest() != envelope["row_sha256"]:
                raise CorruptRow(f"{path}: the row does not match its digest")
            arrays = read_regular(self.cells / f"{key}.npz", LARGEST_PREDICTIONS)
            if hashlib.sha256(arrays).hexdigest() != envelope["predictions_sha256"]:
                raise CorruptRow(f"{path.with_suffix('.npz')}: the predictions do not match their digest")
            if body["format"] != ROW_FORMAT or set(body) != {f.name for f in fields(Row)}:
                raise CorruptRow(f"{path}: row format {body['format']}, this version reads {ROW_FORMAT}")
            row = checked(Row, bounded_by_text(body, text))
            check_amount(row.evaluation, row.ratio)
            if row.key != key:
                raise CorruptRow(f"{path}: this is no row of key {key}")
            if problem := key_problem(body) or place_problem(row, place or {}):
                raise CorruptRow(f"{path}: {problem}")
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
            raise CorruptRow(f"{path}: {error}") from error
        return row, envelope["row_sha256"] + envelope["predictions_sha256"]

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
            return read_predictions(read_regular(path, LARGEST_PREDICTIONS))
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
        contents = {f"{plan.key}.json": json.dumps(asdict(plan), indent=1), "latest": plan.key}
        for name, text in contents.items():
            path = self.plans / name
            if not path.is_file() or path.read_bytes() != text.encode():
                write_atomic(path, text.encode())

    def plan_keys(self) -> list[str]:
        """Keys of all plans, the latest first. Raises NoResults if there is none."""
        latest = self.plans / "latest"
        if not latest.is_file():
            raise NoResults(
                f"no results in {self.root}: {latest} is not there; start a run with `{command()}`, "
                "or name the folder of results with --results"
            )
        try:
            key = read_regular(latest, LONGEST_KEY).decode().strip()
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
            body = read_json(path)
            cells = [checked(PlannedCell, cell) for cell in body["cells"]]
            plan = checked(Plan, body | {"config": with_todays_keys(body["config"]), "cells": cells})
            check_plan(plan, key)
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
