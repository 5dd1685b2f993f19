"""Definition of a dataset's on-disk layout: population, recording lengths and file writers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.data.simulate.population import Person, Population
from benchmark.data.simulate.recording import Simulated

Row = dict[str, object]
"""One recording in the dataset's tables: column -> value."""


@dataclass(frozen=True)
class CohortSettings:
    """Size and difficulty of a cohort."""

    patients: int
    recordings_per_patient: float = 3.0
    """Mean recordings per patient (geometric). mimic-iv-ecg only: patients of chapman and cpsc2018 have one, one in
    eight of ptb-xl has more."""
    noise: float = 1.0
    """Scale of all noise: 0 none, 1 a routine hospital recording."""
    anatomy: float = 1.0
    """Scale of the differences between patients: 0 none, 1 realistic."""
    severity: float = 1.0
    """Scale of disease changes of a beat's shape: 0 none, 1 as drawn, at most 2. Rhythms and premature beats are not
    scaled."""
    persistence: float = 1.0
    """Share of a patient's later recordings that show conditions of his own; the others show newly drawn ones. 0: no
    finding says whose recording it is, 1: as in patients."""
    report_errors: float = 1.0
    """Scale of error and hedging rates of machine reports: 0 none, 1 as published. mimic-iv-ecg only."""
    records100: bool = False
    """ptb-xl only: also write the recordings at 100 Hz, as the real dataset does."""


@dataclass(frozen=True)
class Case:
    """A simulated recording to write."""

    number: int
    """Position in the cohort, from 0."""
    patient: int
    """Patient's number, from 0."""
    visit: int
    """Number of the patient's recording, from 0."""
    person: Person
    diagnoses: tuple[str, ...]
    recorded: Simulated
    fs: int
    rng: np.random.Generator
    """The recording's random stream, for the writer."""


@dataclass(frozen=True)
class Layout:
    """One dataset's on-disk form."""

    population: Population
    most_patients: int
    """Limit of the dataset's numbering scheme."""
    mains_hz: float
    visits: Callable[[np.random.Generator, CohortSettings], int]
    """Number of recordings of a patient."""
    seconds: Callable[[np.random.Generator], float]
    write_recording: Callable[[Path, Case, CohortSettings], Row]
    """Write a recording's files below the folder; returns its table row."""
    write_tables: Callable[[Path, Sequence[Row]], None]
    tables: int = 0
    """Raised with every change of the tables that alters no signal and no label of the task `default`."""


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, bom: bool = False) -> None:
    """Write rows as CSV with Unix line ends; missing values are empty; `bom` puts a byte-order mark first."""
    with open(path, "w", encoding="utf-8-sig" if bom else "utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def one_recording(rng: np.random.Generator, settings: CohortSettings) -> int:
    """One recording per patient."""
    return 1


def ten_seconds(rng: np.random.Generator) -> float:
    """Length of a standard resting ECG, seconds."""
    return 10.0
