"""Measure the R peaks on LUDB and write docs/evidence/BEATS.md: python docs/evidence/beats/make.py --data-root DIR

LUDB 1.0.1 (Kalyakulina et al., IEEE Access 2020) has the bounds of every QRS complex in every lead, set by
cardiologists. The peaks of `benchmark.data.heartbeats` are held against them, lead by lead as the authors of PMQ and
COMET find them, and as beats of the whole recording, the authors' and those of all leads together.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import wfdb
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.heartbeats import FS, Beats, clean, find_r_peaks, heartbeats, resample, standardise

TOLERANCE = round(0.05 * FS)
"""Samples before the onset and after the end of a QRS complex within which a peak is of it, 50 ms."""
OF_LEADS, AUTHORS, FUSED = "peaks of all leads", "beats, authors", "beats, fused"
REFERENCE = "II"
"""Lead whose bounds beats of a whole recording are held against."""
HEAD = """# Heartbeats, measured on LUDB

For a reader: **heartbeats found in all leads together miss {lost} of {beats:,} and add {false}; the authors' way,
which takes the median of the leads' i-th peaks, misses {missed} of {fewer:,} and adds {added}.** It also leaves
out every heart slower than 50/min. Under `protocol: strict` heartbeats are found in all leads together and slow hearts
are kept (`data.beats: fused`); under `paper` they are the authors' (`data.beats: authors`).

{recordings} of the 200 recordings of LUDB 1.0.1, whose QRS complexes cardiologists bounded in every lead. Written
by `python docs/evidence/beats/make.py --data-root DIR`, where DIR has the folder `ludb`. A peak is of a complex from
50 ms before its onset to 50 ms after its end; a second peak within a complex is a false one. Peaks before the first
bounded complex and after the last are not counted, since their complexes have no bounds. Beats of a recording are held
against the bounds in lead II, in the recordings from which they are cut.
"""
SLOW = """
## Hearts slower than 50/min

Recordings from which heartbeats are cut, by LUDB's rhythms of five recordings or more.

| rhythm | recordings | authors | fused |
| --- | ---: | ---: | ---: |
"""


def qrs_bounds(record: Path, lead: str) -> NDArray[np.float64]:
    """(n, 2) first and last sample at 250 Hz of the QRS complexes of a lead."""
    found = wfdb.rdann(str(record), lead.lower())
    rate = wfdb.rdheader(str(record)).fs
    marks = ["".join(found.symbol[place : place + 3]) for place in range(len(found.symbol))]
    bounds = [found.sample[[place, place + 2]] for place, mark in enumerate(marks) if mark == "(N)"]
    return np.array(bounds, float).reshape(-1, 2) * FS / rate


def counted(peaks: NDArray[np.integer], bounds: NDArray[np.float64]) -> dict[str, int]:
    """Complexes (n, 2), those with a peak, and the peaks (k,) between first and last that are of none or second."""
    if not len(bounds):
        return {"complexes": 0, "found": 0, "false": 0}
    low, high = bounds[:, 0] - TOLERANCE, bounds[:, 1] + TOLERANCE
    peaks = peaks[(peaks >= low[0]) & (peaks <= high[-1])]
    of = (peaks >= low[:, None]) & (peaks <= high[:, None])  # (n, k)
    found = int(of.any(axis=1).sum())
    return {"complexes": len(bounds), "found": found, "false": len(peaks) - found}


def beats_of(signal: NDArray[np.floating], fs: float, how: Beats) -> NDArray[np.int64] | None:
    """R peaks (n,) of a recording; None where it has none to use."""
    try:
        return heartbeats(signal, fs, beats=how).r_peaks
    except Unusable:
        return None


def measured(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lines per recording and row: complexes, found, false; lines per recording: rhythm, usable by authors, fused."""
    people = pd.read_csv(folder / "ludb.csv", dtype=str).set_index("ID")
    lines, usable = [], []
    for header in sorted((folder / "data").glob("*.hea"), key=lambda file: int(file.stem)):
        record = header.with_suffix("")
        recording = read_recording(record)
        cleaned = clean(standardise(resample(recording.signal, recording.fs)))  # (L, n)
        bounds = {lead: qrs_bounds(record, lead) for lead in LEADS}
        for lead, peaks in zip(LEADS, find_r_peaks(cleaned, FS), strict=True):
            lines.append({"recording": header.stem, "row": lead, **counted(peaks, bounds[lead])})
        ways: dict[str, Beats] = {AUTHORS: "authors", FUSED: "fused"}
        beats = {row: beats_of(recording.signal, recording.fs, how) for row, how in ways.items()}
        lines += [
            {"recording": header.stem, "row": row, **counted(found, bounds[REFERENCE])}
            for row, found in beats.items()
            if found is not None
        ]
        rhythm = people.loc[header.stem, "Rhythms"].strip().replace("\n", ", ")
        usable.append({"rhythm": rhythm, **{row: found is not None for row, found in beats.items()}})
    return pd.DataFrame(lines), pd.DataFrame(usable)


def summed(lines: pd.DataFrame) -> pd.DataFrame:
    """Row -> complexes, found, false, sensitivity, positive predictive value."""
    sums = lines.groupby("row", sort=False)[["complexes", "found", "false"]].sum()
    sums.loc[OF_LEADS] = sums.loc[list(LEADS)].sum()
    sums = sums.loc[[*LEADS, OF_LEADS, AUTHORS, FUSED]]
    shares = {"sensitivity": sums["found"] / sums["complexes"], "ppv": sums["found"] / (sums["found"] + sums["false"])}
    return sums.assign(**shares).reset_index()


def of_rhythms(usable: pd.DataFrame) -> pd.DataFrame:
    """Rhythm -> recordings, and those usable by each way; of five recordings or more."""
    counts = usable.groupby("rhythm").agg(recordings=(AUTHORS, "size"), authors=(AUTHORS, "sum"), fused=(FUSED, "sum"))
    return counts[counts["recordings"] >= 5].sort_values("recordings", ascending=False).reset_index()


def page(sums: pd.DataFrame, rhythms: pd.DataFrame, recordings: int) -> Iterator[str]:
    """The page."""
    by_row = sums.set_index("row")
    authors, fused = by_row.loc[AUTHORS], by_row.loc[FUSED]
    yield HEAD.format(
        lost=int(fused["complexes"] - fused["found"]) or "none",
        beats=int(fused["complexes"]),
        fewer=int(authors["complexes"]),
        false=int(fused["false"]),
        missed=int(authors["complexes"] - authors["found"]),
        added=int(authors["false"]),
        recordings=recordings,
    )
    yield "\n| R peaks | complexes | missed | false | sensitivity | positive predictive value |\n"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |\n"
    for row in sums.itertuples():
        name = f"lead {row.row}" if row.row in LEADS else row.row
        missed = row.complexes - row.found
        yield f"| {name} | {row.complexes:,} | {missed} | {row.false} | {row.sensitivity:.3f} | {row.ppv:.3f} |\n"
    yield SLOW
    yield from (f"| {row.rhythm} | {row.recordings} | {row.authors} | {row.fused} |\n" for row in rhythms.itertuples())


def study() -> None:
    """Measure and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data-root", type=Path, required=True, help="folder that has ludb")
    asked.add_argument("--page", type=Path, default=Path("docs/evidence/BEATS.md"), help="page that is written")
    found = asked.parse_args()
    lines, usable = measured(found.data_root / "ludb")
    sums, rhythms = summed(lines), of_rhythms(usable)
    tables = found.page.parent / "beats"
    tables.mkdir(parents=True, exist_ok=True)
    sums.to_csv(tables / "leads.csv", index=False)
    rhythms.to_csv(tables / "rhythms.csv", index=False)
    found.page.write_text("".join(page(sums, rhythms, len(usable))), encoding="utf-8")


if __name__ == "__main__":
    study()
