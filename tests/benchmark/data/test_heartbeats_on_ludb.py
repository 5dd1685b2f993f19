"""R peaks of LUDB against QRS complexes that cardiologists bounded in every lead: the table of docs/evidence/REAL.md.

A peak is of a complex from 50 ms before its onset to 50 ms after its end; a second one within a complex is a false one,
and peaks before the first complex and after the last are not counted. Beats of a recording are held against lead II.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import wfdb
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.heartbeats import FS, clean, find_r_peaks, heartbeats, resample, standardise

EVIDENCE = Path(__file__).parents[3] / "docs" / "evidence" / "real" / "beats.csv"
TOLERANCE = 0.05 * FS


def complexes_of(record: Path, lead: str) -> NDArray[Any]:
    """Read first and last sample at 250 Hz of the complexes of a lead, (n, 2)."""
    marks = wfdb.rdann(str(record), lead.lower())
    onsets = [number for number in range(len(marks.symbol)) if marks.symbol[number : number + 3] == ["(", "N", ")"]]
    bounds = [marks.sample[[onset, onset + 2]] for onset in onsets]
    return np.array(bounds, float).reshape(-1, 2) * FS / wfdb.rdheader(str(record)).fs


def counted(peaks: NDArray[Any], bounds: NDArray[Any]) -> NDArray[Any]:
    """Count complexes (n, 2), those without a peak, and peaks (k,) that are of none or a second one."""
    if not len(bounds):
        return np.zeros(3, int)
    first, last = bounds[:, 0] - TOLERANCE, bounds[:, 1] + TOLERANCE
    within = peaks[(peaks >= first[0]) & (peaks <= last[-1])]
    is_of = (within >= first[:, None]) & (within <= last[:, None])  # (n, k)
    met = int(is_of.any(axis=1).sum())
    return np.array([len(bounds), len(bounds) - met, len(within) - met])


@pytest.mark.slow
def test_peaks_and_beats_are_those_of_the_page(shared_ecgs: Path) -> None:
    counts = {name: np.zeros(3, int) for name in ("single leads", "authors", "fused")}
    has_beats: dict[str, list[str]] = {"authors": [], "fused": []}
    records = [header.with_suffix("") for header in sorted((shared_ecgs / "ludb" / "data").glob("*.hea"))]
    for record in records:
        recording = read_recording(record)
        cleaned = clean(standardise(resample(recording.signal, recording.fs)))  # (L, n)
        bounds = {lead: complexes_of(record, lead) for lead in LEADS}
        for lead, peaks in zip(LEADS, find_r_peaks(cleaned), strict=True):
            counts["single leads"] += counted(peaks, bounds[lead])
        for beats in ("authors", "fused"):
            try:
                peaks = heartbeats(recording.signal, recording.fs, beats=beats).r_peaks
            except Unusable:
                continue
            counts[beats] += counted(peaks, bounds["II"])
            has_beats[beats].append(record.name)
    expected = pd.read_csv(EVIDENCE).set_index("peaks")
    for name, numbers in counts.items():
        assert numbers.tolist() == expected.loc[name].tolist()
    people = pd.read_csv(shared_ecgs / "ludb" / "ludb.csv", dtype=str)
    is_slow = people["Rhythms"].str.strip() == "Sinus bradycardia"
    slow = set(people["ID"][is_slow]) & {record.name for record in records}
    assert [len(slow), *(len(slow.intersection(names)) for names in has_beats.values())] == [20, 17, 20]
