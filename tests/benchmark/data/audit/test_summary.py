"""Facts of a dataset, before and after its signals have been read, and how they are put."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.audit.summary import (
    COLUMNS,
    Summary,
    below_table,
    class_counts,
    fact_lines,
    lengths_text,
    of_listing,
    of_prepared,
    rates_text,
    skipped_lines,
    some,
    table_row,
)
from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.readers.base import Entry, Listing
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.readers.mimic_iv_ecg import MIMICIVECG
from benchmark.data.tasks.spec import TaskSpec

PAPER, STRICT = TaskSpec(6, "single", "paper"), TaskSpec(6, "single", "strict")

ENTRIES = (
    Entry("A1", "A1", "A1", (1, 5)),
    Entry("A2", "A2", "A2", (5,)),
    Entry("A3", "A3", "A3"),
    Entry("A4", "A4", "A4", (1,)),
)


@pytest.fixture
def listed(tmp_path: Path) -> Summary:
    for name in ("A1", "A2", "A3"):
        (tmp_path / f"{name}.hea").touch()
        (tmp_path / f"{name}.mat").touch()
    (tmp_path / "A4.hea").touch()
    listing = Listing(ENTRIES, skipped=(("A5", "not in REFERENCE.csv"),), form="a form")
    return of_listing(CPSC2018(tmp_path), listing, PAPER)


def test_a_listing_tells_no_more_than_its_tables_and_files(listed: Summary) -> None:
    assert (listed.listed, listed.on_disk, listed.patients, listed.simulated) == (5, 4, 3, False)
    assert (listed.usable, listed.windows, listed.signals) == (None, None, None)
    assert table_row(listed) == ("cpsc2018", "a form", "5", "4", "-", "3", "-", "-", "-")
    assert [(heading, kind) for _, heading, kind in COLUMNS[:2]] == [("dataset", "label"), ("form", "label")]
    assert {kind for _, _, kind in COLUMNS[2:]} == {"right"}
    assert len(table_row(listed)) == len(COLUMNS)
    assert list(below_table(listed))[-1].startswith("  not prepared yet")
    assert "  skipped     1 file missing (A4)" in below_table(listed)
    assert listed.classes["multi"]["AF"] == 1  # A1; A4 has no signal
    assert listed.classes["multi"]["PAC"] == 2


def test_classes_are_counted_as_the_task_counts_them() -> None:
    paper, strict = class_counts(CPSC2018, ENTRIES, PAPER), class_counts(CPSC2018, ENTRIES, STRICT)
    assert {name: count for name, count in paper["single"].items() if count} == {"AF": 2, "PAC": 1}
    assert {name: count for name, count in strict["single"].items() if count} == {"AF": 1, "PAC": 1}
    assert {name: count for name, count in paper["multi"].items() if count} == {"AF": 2, "PAC": 2}
    assert class_counts(MIMICIVECG, ENTRIES, PAPER) == {}


def test_preparation_fills_in_the_rest(cohorts: dict[str, Prepared]) -> None:
    prepared = cohorts["chapman"]
    summary = of_prepared(prepared, PAPER)
    assert summary.listed == len(prepared.entries) + len(prepared.skipped)
    assert summary.windows == len(prepared.windows)
    lines = list(fact_lines(summary))
    assert lines[0].endswith("(simulated)")
    assert f"recordings  {summary.listed} listed; {summary.usable} usable, of {summary.usable} patients" in lines
    assert "signals     500 Hz; 10 s" in lines


def test_a_corpus_without_classes_has_no_line_of_them(cohorts: dict[str, Prepared]) -> None:
    lines = list(fact_lines(of_prepared(cohorts["mimic-iv-ecg"], PAPER)))
    assert not [line for line in lines if line.startswith(("single", "multi"))]


def test_rates_and_lengths_that_differ_are_all_said() -> None:
    same = [Signal(500.0, 5000, "")] * 3
    assert (rates_text(same), lengths_text(same)) == ("500", "10")
    mixed = [*same, Signal(257.0, 257 * 60, ""), Signal(500.0, 3000, "")]
    assert rates_text(mixed) == "500 (4 of 5), 257 (1 of 5)"
    assert lengths_text(mixed) == "6 to 60, median 10"


def test_skipped_recordings_are_counted_by_kind_with_examples(listed: Summary) -> None:
    reasons = ["too short: 1 s", "wrong checksum", "too short: 2 s", "too short: 2 s", "too short: 3 s"]
    skipped = tuple(Skipped(f"r{index}", "p", (), reason) for index, reason in enumerate(reasons))
    summary = Summary("x", "X", "", False, 5, 5, {}, skipped=skipped)
    assert list(skipped_lines(summary)) == [
        "skipped     4 too short (r0, r2, r3 and 1 more)",
        "skipped     1 wrong checksum (r1)",
    ]


def test_a_few_names_are_all_given() -> None:
    assert some(["a", "b", "c"]) == "a, b, c"
    assert some(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_forms_that_were_left_alone_are_said(tmp_path: Path) -> None:
    listing = Listing(ENTRIES, form="Training_WFDB", others=("WFDB_CPSC2018", "TrainingSet"))
    lines = list(fact_lines(of_listing(CPSC2018(tmp_path), listing, PAPER)))
    assert lines[1] == "also there  WFDB_CPSC2018, TrainingSet; not read, forms are never pooled"
