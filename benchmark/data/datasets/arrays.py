"""Recordings in memory as a dataset: they are written once, with a table and a card, into a folder named by a digest.

From then on they are a dataset by a card like any other (docs/OWN_DATA.md), which the command line reads too.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data.datasets.base import LEADS
from benchmark.results.files import KEY_LENGTH, replacing, write_atomic


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """Recordings, labels and patients in memory, n recordings.

    >>> Arrays(name="ours", x=np.zeros((4, 5000, 12)), y=["AF", "SR"] * 2, patient=[1, 1, 2, 2], rate=500).multi
    False
    """

    name: str
    """Name of the dataset: small letters, digits, _ and -."""
    x: Any
    """Signals (n, samples, leads), or n arrays (samples, leads) of any length, in `unit`."""
    y: Any = None
    """Classes (n,) of the recordings, or (n, C) of 0 and 1 for the C `classes`, of which NaN leaves a recording
    out, or a frame of these with a column per class; None: recordings to pretrain on.
    """
    rate: float
    """Hz."""
    patient: Sequence[Any] | None = None
    """Patients (n,); None: every recording counts as a patient of its own."""
    leads: Sequence[str] = LEADS
    """Names of the last axis, in its order."""
    unit: str = "mV"
    classes: Sequence[str] = ()
    """Classes in their order; by default those in `y`, sorted."""
    split: Sequence[str] | None = None
    """Side (n,) of each recording, 'train', 'validation' or 'test'; None: the suite splits by patient."""
    title: str = ""
    """Title in tables, by default the name."""

    @property
    def multi(self) -> bool:
        """Tell whether a recording can have several classes."""
        return np.ndim(self.y) == 2

    def write(self, folder: Path) -> Path:
        """Write recordings, table and card below a folder, unless they are there; return the file of the card.

        Raises ValueError, in one line, for columns that do not fit the recordings.
        """
        for number, signal in enumerate(self.x):
            if np.ndim(signal) != 2:
                raise ValueError(f"{self.name}: signal {number} has the shape {np.shape(signal)}, not (samples, leads)")
            if np.ma.is_masked(signal):
                raise ValueError(
                    f"{self.name}: signal {number} has masked samples: fill them, with NaN where none is known"
                )
        columns = self._columns()
        for name, values in columns.items():
            if len(values) != len(self.x):
                raise ValueError(f"{self.name}: {name} has {len(values)} entries for {len(self.x)} recordings")
        table = io.StringIO()
        rows = zip(range(len(self.x)), *columns.values(), strict=True)
        csv.writer(table, lineterminator="\n").writerows([["recording", *columns], *rows])
        card = json.dumps(self._card(), indent=1)  # JSON is YAML
        content = hashlib.sha256(f"{card}\n{table.getvalue()}".encode())
        for signal in self.x:
            content.update(f"{np.shape(signal)}".encode() + np.ascontiguousarray(signal).tobytes())
        written = folder / f"{self.name}-{content.hexdigest()[:KEY_LENGTH]}"
        file = written / f"{self.name}.yaml"
        if file.is_file():
            return file
        arrays = {f"{number}.npy": np.asarray(signal) for number, signal in enumerate(self.x)}
        if self._is_stacked:
            arrays = {"all.npy": np.asarray(self.x)}
        for name, array in arrays.items():
            with replacing(written / "signals" / name) as opened:
                np.save(opened, array)
        write_atomic(written / "table.csv", table.getvalue().encode())
        write_atomic(file, card.encode())
        return file

    @property
    def _is_stacked(self) -> bool:
        return len({np.shape(signal) for signal in self.x}) == 1

    def _columns(self) -> dict[str, list[Any]]:
        """Collect the columns of the table beside the recording: name -> values, NaN where one is missing."""
        given = {"patient": self.patient, "split": self.split, "label": None if self.multi else self.y}
        columns = {name: with_nan(values) for name, values in given.items() if values is not None}
        if self.multi:
            columns |= {str(name): with_nan(values) for name, values in self._indicators().items()}
        return columns

    def _indicators(self) -> pd.DataFrame:
        """Return labels of 0, 1 and NaN, a column per class, where a recording can have several classes."""
        indicators = pd.DataFrame(self.y)
        names = list(self.classes) or list(indicators.columns)
        if isinstance(self.y, pd.DataFrame):
            if set(names) != set(indicators.columns):
                raise ValueError(f"{self.name}: y has the columns {list(indicators.columns)}, classes names {names}")
            return indicators[names]
        if len(self.classes) != indicators.shape[1]:
            raise ValueError(f"{self.name}: y has {indicators.shape[1]} columns, classes names {len(self.classes)}")
        return indicators.set_axis(names, axis=1)

    def _card(self) -> dict[str, Any]:
        """Make the content of the card."""
        signals: dict[str, Any] = {"files": "signals/{recording}.npy"}
        if self._is_stacked:
            signals = {"files": "signals/all.npy", "stacked": True}
        signals |= {"rate": float(self.rate), "unit": self.unit, "leads": list(self.leads)}
        table = {"file": "table.csv", "recording": "recording"}
        table |= {name: name for name in ("patient", "split") if getattr(self, name) is not None}
        card: dict[str, Any] = {
            "name": self.name, "title": self.title or self.name, "signals": signals, "table": table,
        }  # fmt: skip
        if self.multi:
            indicators = self._indicators()
            card["labels"] = {"classes": list(map(str, indicators.columns))}
            if indicators.isna().any(axis=None):
                card["labels"]["blank"] = "skip"
        elif self.y is not None:
            present = {str(value) for value in self._columns()["label"]} - {"", "nan", "None"}
            card["labels"] = {"classes": list(map(str, self.classes or sorted(present))), "column": "label"}
        return card


def with_nan(values: Any) -> list[Any]:
    """List the values of an array, a series or a sequence, with NaN where one is masked or missing."""
    return [np.nan if pd.isna(value) else value for value in pd.Series(values)]
