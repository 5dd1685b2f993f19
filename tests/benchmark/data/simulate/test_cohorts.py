"""Cohorts as datasets: stored digests, prefixes, a test part, and what each dial leaves alone."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from benchmark.data.datasets.base import ALWAYS_TESTED, NO_FOLD, Entry, Recording
from benchmark.data.simulate import COHORTS, SimulatedDataset
from benchmark.results.files import digest
from tests.benchmark.data.simulate.signed_mean import signed_mean

STORED = {
    "mimic-iv-ecg": ("f186c3874b84f110", 0.000063455),
    "ptb-xl": ("9b2ed00a6a3cf1ce", -0.000057779),
    "chapman": ("3ce268236c668d9a", 0.000274887),
    "cpsc2018": ("b59f3caf7dd81ad3", -0.000243350),
    "ningbo": ("619e0111faf4f924", -0.000111561),
}
"""Cohort -> of twelve patients and three of a test part, by version 3 of the simulator: digest of the entries, and mean
over recordings of the `signed_mean` of samples, mV."""
LABELLED = [name for name in COHORTS if name != "mimic-iv-ecg"]


def cohort(name: str, patients: int, **settings: float) -> SimulatedDataset:
    return SimulatedDataset(name, patients, **settings)  # type: ignore[arg-type]


def drawn(dataset: SimulatedDataset) -> dict[str, tuple[Entry, Recording]]:
    """Every recording by name."""
    return {entry.recording: (entry, dataset.read(entry)) for entry in dataset.listing().entries}


def digests(dataset: SimulatedDataset) -> dict[str, tuple[str, str]]:
    """Name of every recording -> digest of its samples, and its report."""
    return {
        name: (hashlib.sha256(recording.signal.tobytes()).hexdigest(), recording.report or entry.report)
        for name, (entry, recording) in drawn(dataset).items()
    }


@pytest.mark.parametrize("name", COHORTS)
def test_recordings_are_the_stored_ones(name: str) -> None:
    entries, means = [], []
    for entry, recording in drawn(cohort(name, 12, seed=7, test_patients=3 if name in LABELLED else 0)).values():
        report = recording.report or entry.report
        fold = None if entry.fold == NO_FOLD else entry.fold
        entries.append([entry.recording, entry.patient, entry.labels, report, fold])
        means.append(signed_mean(recording.signal))
    stored_digest, stored_mean = STORED[name]
    assert digest(entries) == stored_digest
    assert np.mean(means) == pytest.approx(stored_mean, rel=0, abs=2e-8)


@pytest.mark.parametrize("name", COHORTS)
def test_a_larger_cohort_begins_as_a_smaller_one(name: str) -> None:
    few, more, other = (digests(cohort(name, patients, seed=seed)) for patients, seed in ((4, 3), (7, 3), (4, 4)))
    assert few.items() < more.items()
    assert not {signal for signal, _ in few.values()} & {signal for signal, _ in other.values()}


@pytest.mark.parametrize("name", LABELLED)
def test_patients_of_a_test_part_change_no_other(name: str) -> None:
    before, after = (cohort(name, 5, seed=3, test_patients=count).listing().entries for count in (0, 4))
    assert after[: len(before)] == before
    tested = after[len(before) :]
    assert len({entry.patient for entry in tested} - {entry.patient for entry in before}) == 4
    assert {entry.fold for entry in tested} == {10 if name == "ptb-xl" else ALWAYS_TESTED}


def test_findings_that_do_not_persist_change_later_recordings_alone() -> None:
    stay, change = (cohort("mimic-iv-ecg", 8, seed=3, persistence=share) for share in (1.0, 0.0))
    before, after = digests(stay), digests(change)
    first = {entry.recording for entry in stay.listing().entries if entry.path.endswith("/0")}
    assert before.keys() == after.keys()
    moved = {name for name in before if before[name] != after[name]}
    assert moved
    assert not moved & first
