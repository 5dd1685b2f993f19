"""CPSC2018 in the early Challenge-2020 form: Training_WFDB/Annnn.{hea,mat} with text labels, and REFERENCE.csv.

Nine classes, up to three labels a recording, 6 to 60 seconds, no patient identifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmark.data.readers.base import LEADS
from benchmark.data.simulate.layouts.layout import Case, CohortSettings, Layout, Row, one_recording, write_csv
from benchmark.data.simulate.population import Population
from benchmark.data.simulate.wfdb_files import Units, digitise, write_mat

UNITS = Units(1000, "1000/mV")
CLASSES: dict[str, tuple[int, str]] = {
    "NORM": (1, "Normal"),
    "AFIB": (2, "AF"),
    "AVB1": (3, "I-AVB"),
    "LBBB": (4, "LBBB"),
    "RBBB": (5, "RBBB"),
    "PAC": (6, "PAC"),
    "PVC": (7, "PVC"),
    "STD": (8, "STD"),
    "STE-ANT": (9, "STE"),
    "STE-INF": (9, "STE"),
}
"""Diagnosis -> code in REFERENCE.csv and label in the header."""

POPULATION = Population(
    conditions={
        "NORM": 918,
        "AFIB": 1098,
        "AVB1": 704,
        "LBBB": 207,
        "RBBB": 1695,
        "PAC": 574,
        "PVC": 653,
        "STD": 826,
        "STE-ANT": 110,
        "STE-INF": 92,
    },
    companion=0.08,
    rhythms={"SR": 1.0},
)
"""First labels as often as in the real REFERENCE.csv, where 7 % of the recordings have a second label."""


def _seconds(rng: np.random.Generator) -> float:
    shortest, longest = ((6, 9.5), (9.5, 15), (15, 35), (35, 60))[
        int(np.searchsorted([0.02, 0.77, 0.96], rng.random()))
    ]
    return round(2 * rng.uniform(shortest, longest)) / 2


def _write_recording(folder: Path, case: Case, settings: CohortSettings) -> Row:
    name = f"A{case.number + 1:04d}"
    labels = [CLASSES[diagnosis] for diagnosis in case.diagnoses if diagnosis in CLASSES][:3]
    notes = (
        f"Age: {case.person.age}",
        f"Sex: {'Female' if case.person.woman else 'Male'}",
        f"Dx: {','.join(text for _, text in labels)}",
        "Rx: Unknown",
        "Hx: Unknown",
        "Sx: Unknows",  # spelt so in the real files
    )
    stem = folder / "Training_WFDB" / name
    stem.parent.mkdir(parents=True, exist_ok=True)
    digital = digitise(case.recorded.signal, UNITS)  # (n, 12)
    write_mat(stem, digital, LEADS, case.fs, UNITS, start="05-Feb-2020 11:39:16", notes=notes)
    columns = ("First_label", "Second_label", "Third_label")
    return {"Recording": name, **{column: code for column, (code, _) in zip(columns, labels, strict=False)}}


def _write_tables(folder: Path, rows: Sequence[Row]) -> None:
    write_csv(folder / "REFERENCE.csv", ("Recording", "First_label", "Second_label", "Third_label"), rows)


LAYOUT = Layout(
    population=POPULATION,
    most_patients=9_999,
    mains_hz=50.0,
    visits=one_recording,
    seconds=_seconds,
    write_recording=_write_recording,
    write_tables=_write_tables,
)
