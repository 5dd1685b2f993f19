"""Write a simulated cohort in the on-disk form of a real dataset.

Each patient and recording has its own random stream, seeded by (seed, cohort, patient, recording): equal seeds give
equal bytes, a larger cohort begins with the patients of a smaller one, and cohorts share no patients.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmark.data.readers.simulated import SIMULATED_MARK
from benchmark.data.simulate.layouts import LAYOUTS
from benchmark.data.simulate.layouts.layout import Case, CohortSettings, Layout
from benchmark.data.simulate.population import draw_diagnoses, draw_person, keep_or_redraw
from benchmark.data.simulate.recording import MOST_SEVERE, record
from benchmark.results.files.write import naming, temporary_name

SIMULATOR_VERSION = 3
"""Raised with every change that can alter a signal or a label."""
COHORTS: tuple[str, ...] = tuple(LAYOUTS)
FS = 500
CHANGES = 1
"""Marks the stream that changes a patient's conditions, apart from the recording's own."""


def write_cohort(
    name: str,
    folder: Path,
    settings: CohortSettings,
    *,
    seed: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a cohort; the folder is created atomically.

    Args:
        name: one of `COHORTS`.
        folder: output folder; must not exist.
        settings: size and difficulty.
        seed: >= 0.
        on_progress: called after each recording with (written, total).

    Raises:
        ValueError: an unknown cohort or a setting out of range.
        FileExistsError: the folder exists.
    """
    layout = _checked(name, settings, seed)
    if folder.exists():
        raise FileExistsError(f"{folder} exists: remove it or choose another folder for the simulated {name}")
    temporary = temporary_name(folder)
    try:
        with naming(folder):
            temporary.mkdir(parents=True)
            visits = [layout.visits(_stream(seed, name, patient, 0), settings) for patient in range(settings.patients)]
            rows = []
            for case in _cases(name, layout, visits, settings, seed):
                rows.append(layout.write_recording(temporary, case, settings))
                if on_progress is not None:
                    on_progress(len(rows), sum(visits))
            layout.write_tables(temporary, rows)
            mark = {"simulator_version": SIMULATOR_VERSION, "cohort": name, "seed": seed, "settings": asdict(settings)}
            (temporary / SIMULATED_MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8")
        try:
            with naming(folder):
                temporary.rename(folder)
        except OSError:
            if folder.is_dir():
                raise FileExistsError(f"{folder} was written by another process meanwhile") from None
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _cases(name: str, layout: Layout, visits: list[int], settings: CohortSettings, seed: int) -> Iterator[Case]:
    """Yield the cohort's recordings one at a time."""
    number = 0
    for patient, count in enumerate(visits):
        person = draw_person(_stream(seed, name, patient, 1), layout.population, settings.anatomy)
        for visit in range(count):
            rng = _stream(seed, name, patient, 2 + visit)
            shown = person
            if visit > 0:
                changes = np.random.default_rng([seed, COHORTS.index(name), patient, 2 + visit, CHANGES])
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
            yield Case(number, patient, visit, person, diagnoses, recorded, FS, rng)
            number += 1


def _stream(seed: int, name: str, patient: int, part: int) -> np.random.Generator:
    """Random stream of a patient's part: 0 number of recordings, 1 person, 2 onwards the recordings."""
    return np.random.default_rng([seed, COHORTS.index(name), patient, part])


def _checked(name: str, settings: CohortSettings, seed: int) -> Layout:
    if name not in LAYOUTS:
        raise ValueError(f"unknown cohort {name!r}: simulated are {', '.join(COHORTS)}")
    layout = LAYOUTS[name]
    if not 1 <= settings.patients <= layout.most_patients:
        raise ValueError(f"{name}: patients is {settings.patients}, must lie in 1-{layout.most_patients}")
    if settings.recordings_per_patient < 1:
        raise ValueError(f"{name}: recordings_per_patient is {settings.recordings_per_patient}, must be 1 or more")
    for dial in ("noise", "anatomy", "report_errors"):
        if not 0 <= getattr(settings, dial) < np.inf:
            raise ValueError(f"{name}: {dial} is {getattr(settings, dial)}, must be 0 or more")
    if not 0 <= settings.persistence <= 1:
        raise ValueError(f"{name}: persistence is {settings.persistence}, must lie in 0-1")
    if not 0 <= settings.severity <= MOST_SEVERE:
        raise ValueError(f"{name}: severity is {settings.severity}, must lie in 0-{MOST_SEVERE:g}")
    if seed < 0:
        raise ValueError(f"{name}: seed is {seed}, must be 0 or more")
    return layout
