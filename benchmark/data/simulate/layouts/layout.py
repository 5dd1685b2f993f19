"""What a dataset's on-disk form has to say: whom it holds, how long its recordings are, and how they are written."""

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
    """How large a cohort is and how hard."""

    patients: int
    recordings_per_patient: float = 3.0
    """Mean number of a patient's recordings, of which many have one (geometric). mimic-iv-ecg only: in chapman and
    cpsc2018 everybody has one, in ptb-xl one patient in eight has more."""
    noise: float = 1.0
    """Dial of all noise: 0 none, 1 a routine hospital recording."""
    anatomy: float = 1.0
    """Dial of the differences between patients: 0 all hearts alike, 1 as people differ."""
    severity: float = 1.0
    """Dial of disease against anatomy: every change of a beat's shape goes this share of its way, 0 not at all, 1 as
    drawn, at most 2. Rhythms and premature beats are there or not, whatever the dial."""
    report_errors: float = 1.0
    """Dial of what machine reports omit, hedge and make up: 0 nothing, 1 as machines err. mimic-iv-ecg only."""
    records100: bool = False
    """ptb-xl only: also write the recordings at 100 Hz, as the real dataset does."""


@dataclass(frozen=True)
class Case:
    """One simulated recording on its way to disk."""

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
    """The rest of the recording's own stream."""


@dataclass(frozen=True)
class Layout:
    """One dataset's on-disk form."""

    population: Population
    most_patients: int
    """As many as the dataset's way of numbering allows."""
    mains_hz: float
    visits: Callable[[np.random.Generator, CohortSettings], int]
    """Number of recordings of a patient."""
    seconds: Callable[[np.random.Generator], float]
    write_recording: Callable[[Path, Case, CohortSettings], Row]
    """Write one recording's files below the folder; its row in the tables comes back."""
    write_tables: Callable[[Path, Sequence[Row]], None]


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]], *, bom: bool = False) -> None:
    """Write rows as CSV with Unix line ends; missing values are empty; `bom` puts a byte-order mark first."""
    with open(path, "w", encoding="utf-8-sig" if bom else "utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def one_recording(rng: np.random.Generator, settings: CohortSettings) -> int:
    """Datasets without patients' histories: one recording each."""
    return 1


def ten_seconds(rng: np.random.Generator) -> float:
    """The usual length of a resting ECG."""
    return 10.0
