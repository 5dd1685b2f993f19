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
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.results.failures import CorruptRow as CorruptRow
from benchmark.results.failures import Failure
from benchmark.results.failures import NoResults as NoResults
from benchmark.results.files import npz_bytes, write_atomic
from benchmark.results.keys import KEY
from benchmark.results.names import CARD, ERROR
from benchmark.results.plan import Plan, PlannedCell, check_plan, with_todays_keys
from benchmark.results.rows import ARRAYS, ROW_FORMAT, Predictions, Row, row_bytes


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

    def load_row(self, key: str) -> Row | None:
        """The finished row of a key, or None. Raises CorruptRow if it is damaged."""
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

    def card(self, pretrain_key: str) -> dict[str, Any] | None:
        """Card of a pretraining; None if missing or damaged. The weights are not checked."""
        try:
            card = json.loads((self.pretrained / pretrain_key / CARD).read_bytes())
        except (OSError, ValueError):
            return None
        return card if isinstance(card, dict) else None

    def row_keys(self) -> list[str]:
        """Keys of all stored rows, damaged ones included."""
        return sorted(path.stem for path in self.cells.glob("*.json") if not path.stem.endswith(".error"))

    def predictions(self, key: str) -> Predictions:
        """Predictions of a finished cell."""
        with np.load(self.cells / f"{key}.npz", allow_pickle=False) as arrays:
            return Predictions(**{name: arrays[name] for name in ARRAYS})

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
                    body = json.loads(path.read_bytes())
                    found[key] = Failure(str(body["error"]), str(body.get("traceback", "")))
        return found

    def failure_file(self, key: str) -> Path:
        """Path of a cell's failure."""
        return self.cells / f"{key}.error.json"

    def save_plan(self, plan: Plan) -> None:
        """Write a plan under its key and mark it as the latest."""
        write_atomic(self.plans / f"{plan.key}.json", json.dumps(asdict(plan), indent=1).encode())
        write_atomic(self.plans / "latest", plan.key.encode())

    def plan_keys(self) -> list[str]:
        """Keys of all plans, the latest first. Raises NoResults if there is none."""
        latest = self.plans / "latest"
        if not latest.is_file():
            raise NoResults(
                f"no results in {self.root}: {latest} is not there; start a run with `python run_benchmark.py`, "
                "or name the folder of results with --results"
            )
        key = latest.read_text().strip()
        return [key, *sorted(path.stem for path in self.plans.glob("*.json") if path.stem != key)]

    def load_plan(self, key: str | None = None) -> Plan:
        """A plan by key, or the latest. Raises NoResults if it is missing or damaged."""
        if key is None:
            key, *_ = self.plan_keys()
        path = self.plans / f"{key}.json"
        if not path.is_file():
            raise NoResults(f"no plan {key} in {self.root}: {path} is not there")
        try:
            body = json.loads(path.read_text())
            cells = [PlannedCell(**cell) for cell in body.pop("cells")]
            plan = Plan(**body | {"config": with_todays_keys(body["config"])}, cells=cells)
            check_plan(plan)
            return plan
        except (ValueError, KeyError, TypeError) as error:
            raise NoResults(f"{path} is damaged ({error}); the same run command writes it again") from None


def _write_failure(path: Path, key: str, what: str, error: str, traceback: str) -> Path:
    body = {"key": key, "what": what, "error": error, "traceback": traceback}
    write_atomic(path, json.dumps(body, indent=1).encode())
    return path
