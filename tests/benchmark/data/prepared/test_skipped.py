"""Reasons by kind, and the table of skipped recordings."""

from __future__ import annotations

from pathlib import Path

from benchmark.data.prepared.skipped import Skipped, skip_summary, write_skipped

SLOW = [Skipped(f"r{n}", "p", (1,), f"heart rate below 50/min: median RR {n} samples") for n in (313, 402)]
ZERO = Skipped("r,1", "q", (), "all samples zero")


def test_kinds_are_counted_the_most_frequent_first():
    assert list(skip_summary([ZERO, *SLOW]).items()) == [("heart rate below 50/min", 2), ("all samples zero", 1)]
    assert skip_summary([]) == {}


def test_every_dataset_has_its_lines(tmp_path: Path):
    write_skipped({"ptb-xl": SLOW[:1], "chapman": [], "cpsc2018": [ZERO]}, tmp_path / "out" / "skipped.csv")
    assert (tmp_path / "out" / "skipped.csv").read_text() == (
        "dataset,recording,patient,reason\n"
        "ptb-xl,r313,p,heart rate below 50/min: median RR 313 samples\n"
        'cpsc2018,"r,1",q,all samples zero\n'
    )
