"""Write a simulated cohort in the on-disk form of a real dataset.

Each patient and recording has its own random stream, seeded by (seed, cohort, patient, recording): equal seeds give
equal bytes, a larger cohort begins with the patients of a smaller one, and cohorts share no patients.

Patients of a test part of its own follow the others, whom they leave as they are: in PTB-XL's form they have fold 10,
in that of a dataset without folds a file names their recordings (`SIMULATED_TEST_PART`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.data.datasets.registry import SIMULATED_MARK
from benchmark.data.datasets.wfdb_files import SIMULATED_TEST_PART
from benchmark.data.simulate.layouts import FOLDS, LAYOUTS, Case, CohortSettings, Layout, Row
from benchmark.data.simulate.patient import draw_diagnoses, draw_person, keep_or_redraw
from benchmark.data.simulate.recording import MOST_SEVERE, record
from benchmark.machine.process import shared_map
from benchmark.results.files import naming, temporary_name

SIMULATOR_VERSION = 3
"""Raised with every change that can alter a signal or a label."""
COHORTS: tuple[str, ...] = tuple(LAYOUTS)
FS = 500
SUMS = "SHA256SUMS.txt"
CHANGES = 1
"""Marks the stream that changes a patient's conditions, apart from the recording's own."""
CHUNK = 16
"""Patients a worker takes at a time."""
WORTH_A_WORKER = 256
"""Least recordings per process: starting one takes as long as some 100 recordings."""


def versions_of(name: str) -> list[int]:
    """What a cohort's content depends on besides its settings: versions of the simulator and, where raised, of tables.

    A cohort with new tables is written anew; its signals and labels of the task `default` stay as they were.
    """
    return [SIMULATOR_VERSION, *([LAYOUTS[name].tables] if LAYOUTS[name].tables else [])]


class Patient(NamedTuple):
    """A patient to simulate."""

    number: int
    """From 0."""
    first: int
    """Position of his first recording in the cohort, from 0."""
    recordings: int


def write_cohort(
    name: str,
    folder: Path,
    settings: CohortSettings,
    *,
    seed: int,
    test_patients: int = 0,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a cohort; the folder is created atomically.

    Args:
        name: one of `COHORTS`.
        folder: output folder; must not exist.
        settings: size and difficulty.
        seed: >= 0.
        test_patients: further patients, who are tested however the others are split.
        workers: most processes that share the patients; the bytes do not depend on it.
        on_progress: called with (written, total) recordings as they are written.

    Raises:
        ValueError: an unknown cohort or a setting out of range.
        FileExistsError: the folder exists.
    """
    layout = _checked(name, settings, seed, test_patients)
    if folder.exists():
        raise FileExistsError(f"{folder} exists: remove it or choose another folder for the simulated {name}")
    temporary = temporary_name(folder)
    try:
        with naming(folder):
            temporary.mkdir(parents=True)
            rows = _write_recordings(temporary, name, settings, seed, test_patients, workers, on_progress)
            layout.write_tables(temporary, rows)
            mark = {"simulator_version": SIMULATOR_VERSION, "cohort": name, "seed": seed, "settings": asdict(settings)}
            if test_patients:
                mark["test_patients"] = test_patients
                _write_test_part(temporary, rows)
            (temporary / SIMULATED_MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
            _write_sums(temporary)
        try:
            with naming(folder):
                temporary.rename(folder)
        except OSError:
            if folder.is_dir():
                raise FileExistsError(f"{folder} was written by another process meanwhile") from None
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_test_part(folder: Path, rows: Sequence[Row]) -> None:
    """Name the recordings of the test part, of a dataset whose tables have no fold."""
    tested = [row["Recording"] for row in rows if "strat_fold" in row and "Recording" in row]
    if tested:
        (folder / SIMULATED_TEST_PART).write_text("\n".join(tested) + "\n", encoding="ascii")


def _write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file, in the form of PhysioNet and sha256sum."""
    files = sorted(map(Path, _files(folder)))
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}" for path in files)
    (folder / SUMS).write_text("\n".join(sums) + "\n", encoding="utf-8")


def read_sums(folder: Path) -> dict[Path, str]:
    """File of a written cohort -> its SHA-256; {} where they cannot be read or are of other files than there are."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        found = {folder / name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except (OSError, ValueError):
        return {}
    return found if {os.fspath(path) for path in found} == _files(folder) else {}


def _files(folder: Path) -> set[str]:
    """Paths of all files of a cohort but that of the sums; as text, since there are thousands."""
    return {os.path.join(at, name) for at, _, own in os.walk(folder) for name in own} - {str(folder / SUMS)}


def _write_recordings(
    folder: Path,
    name: str,
    settings: CohortSettings,
    seed: int,
    test_patients: int,
    workers: int,
    on_progress: Callable[[int, int], None] | None,
) -> list[Row]:
    """Write the files of all recordings, patients shared by processes; the tables' rows in order."""
    layout = LAYOUTS[name]
    numbers = range(settings.patients + test_patients)
    visits = [layout.visits(_stream(seed, name, patient, 0), settings) for patient in numbers]
    patients = [
        Patient(number, first, count)
        for number, (first, count) in enumerate(zip(accumulate(visits, initial=0), visits, strict=False))
    ]
    chunks = [patients[start : start + CHUNK] for start in range(0, len(patients), CHUNK)]
    write = partial(_write_patients, folder, name, settings, seed)
    rows: list[Row] = []
    with closing(shared_map(write, chunks, min(workers, sum(visits) // WORTH_A_WORKER))) as each:
        for row in chain.from_iterable(each):
            rows.append(row)
            if on_progress is not None:
                on_progress(len(rows), sum(visits))
    return rows


def _write_patients(
    folder: Path, name: str, settings: CohortSettings, seed: int, patients: Sequence[Patient]
) -> list[Row]:
    """Write the files of some patients' recordings; their rows of the tables, of the test part's own with its fold."""
    layout, tested = LAYOUTS[name], {"strat_fold": FOLDS}
    return [
        layout.write_recording(folder, case, settings) | (tested if case.patient >= settings.patients else {})
        for patient in patients
        for case in _cases(name, layout, patient, settings, seed)
    ]


def _cases(name: str, layout: Layout, patient: Patient, settings: CohortSettings, seed: int) -> Iterator[Case]:
    """Yield a patient's recordings one at a time."""
    person = draw_person(_stream(seed, name, patient.number, 1), layout.population, settings.anatomy)
    for visit in range(patient.recordings):
        rng = _stream(seed, name, patient.number, 2 + visit)
        shown = person
        if visit > 0:
            changes = np.random.default_rng([seed, COHORTS.index(name), patient.number, 2 + visit, CHANGES])
            shown = keep_or_redraw(changes, person, layout.population, settings.persistence)
        diagnoses = draw_diagnoses(rng, shown, layout.population, first=visit == 0)
        recorded = record(
            person.anatomy,
            diagnoses,
            rng,
            seconds=layout.seconds(rng),
            fs=FS,
            noise=settings.noise,
            severity=settings.severity,
            mains_hz=layout.mains_hz,
        )
        yield Case(patient.first + visit, patient.number, visit, person, diagnoses, recorded, FS, rng)


def _stream(seed: int, name: str, patient: int, part: int) -> np.random.Generator:
    """Random stream of a patient's part: 0 number of recordings, 1 person, 2 onwards the recordings."""
    return np.random.default_rng([seed, COHORTS.index(name), patient, part])


def _checked(name: str, settings: CohortSettings, seed: int, test_patients: int) -> Layout:
    if name not in LAYOUTS:
        raise ValueError(f"unknown cohort {name!r}: simulated are {', '.join(COHORTS)}")
    layout = LAYOUTS[name]
    limits = {
        "patients": (1, layout.most_patients),
        "test_patients": (0, layout.most_patients - settings.patients),
        "recordings_per_patient": (1, np.inf),
        **dict.fromkeys(("noise", "anatomy", "report_errors"), (0, np.inf)),
        "persistence": (0, 1),
        "severity": (0, MOST_SEVERE),
        "seed": (0, np.inf),
    }
    values = asdict(settings) | {"seed": seed, "test_patients": test_patients}
    for dial, (low, high) in limits.items():
        if not low <= values[dial] <= high or values[dial] == np.inf:
            allowed = f"be {low} or more" if high == np.inf else f"lie in {low}-{high:.15g}"
            raise ValueError(f"{name}: {dial} is {values[dial]}, must {allowed}")
    return layout
