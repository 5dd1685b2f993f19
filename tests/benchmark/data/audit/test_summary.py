"""Facts of a dataset, before and after its signals have been read, and how they are put."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.data.audit.summary import (
    COLUMNS,
    Summary,
    TaskCounts,
    below_table,
    class_counts,
    class_lines,
    fact_lines,
    lengths_text,
    of_listing,
    of_prepared,
    people_lines,
    rates_text,
    skipped_lines,
    some,
    table_row,
    task_counts,
)
from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import Entry, Listing
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.readers.mimic_iv_ecg import MIMICIVECG
from benchmark.data.tasks.spec import TaskSpec

NUMBERS = ["recordings", "on disk", "usable", "patients", "windows", "Hz", "seconds"]
SNOMED = ("427084000", "17338001")
"""Of Chapman's task `all`: sinus tachycardia and a premature ventricular beat."""
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
    assert [heading for _, heading, _ in COLUMNS[2:]] == NUMBERS
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
    assert f"heartbeats  {len(prepared.windows)}" in lines
    assert not [line for line in lines if line.startswith("cut into")]  # as the paper has it
    assert f"recordings  {summary.listed} listed; {summary.usable} usable, of {summary.usable} patients" in lines
    assert "signals     500 Hz; 10 s" in lines


@pytest.fixture
def of_chapman(make_prepared: Callable[..., Prepared]) -> Prepared:
    """Eleven recordings of ten patients; ten have labels of the task `all`, eight of these two."""
    made = make_prepared("chapman", [(f"p{max(1, number)}", (0,), 2, None) for number in range(11)])
    stated = [SNOMED] * 8 + [SNOMED[:1]] * 2 + [("426177001",)]  # sinus bradycardia is no class of it
    entries = tuple(
        replace(entry, statements=own, sex="f" if number else "", age=40.0 + number if number > 1 else None)
        for number, (entry, own) in enumerate(zip(made.entries, stated, strict=True))
    )
    skipped = (Skipped("s1", "q", (), "file missing: signal"), Skipped("s2", "q", (), "too short: 1 s"))
    return replace(made, entries=entries, skipped=skipped, others=("another",), form="a form", simulated=False)


def test_a_prepared_dataset_is_told_in_full(of_chapman: Prepared) -> None:
    summary = of_prepared(of_chapman, PAPER)
    counts = {"SB": 11, "AFIB": 0, "GSVT": 0, "SR": 0}
    (task,) = summary.tasks
    assert summary == Summary(
        name="chapman",
        title="Chapman",
        form="a form",
        simulated=False,
        listed=13,
        patients=10,
        classes={"single": counts, "multi": counts},
        usable=11,
        windows=22,
        segmentation=of_chapman.segmentation,
        signals=of_chapman.signals,
        skipped=of_chapman.skipped,
        others=("another",),
        sexes=("", *["f"] * 10),
        ages=(None, None, *range(42, 51)),
        tasks=(task,),
    )
    assert table_row(summary) == ("chapman", "a form", "13", "12", "11", "10", "22", "500", "10")
    crops = replace(of_chapman, segmentation=Segmentation("recordings", 1, 100, 1))
    assert "cut into    crops of 0.01 s every 0.01 s of whole recordings, 100 Hz" in fact_lines(
        of_prepared(crops, PAPER)
    )
    assert of_prepared(crops, PAPER).segmentation == crops.segmentation
    assert [line for line in below_table(summary) if "not prepared yet" in line] == []


def test_a_named_task_is_counted_and_split_as_it_is_judged(of_chapman: Prepared) -> None:
    """Shuffled, a fifth of the ten is for testing, a tenth of the eight others for validation, whatever the labels."""
    (task,) = of_prepared(of_chapman, PAPER).tasks
    assert {name: count for name, count in task.classes.items() if count} == {"ST": 10, "VPB": 8}
    assert task.sides == {"training": 7, "validation": 1, "test": 2}
    *_, line = class_lines(of_prepared(of_chapman, PAPER))
    there, _, absent = line.partition("; without a recording: ")
    assert there == "task all: 2 of 38 classes (training 7, validation 1, test 2)"
    assert len(absent.split(", ")) == 36
    assert not {"ST", "VPB"} & set(absent.split(", "))


def test_a_task_with_all_its_classes_or_that_cannot_be_split_says_so() -> None:
    tasks = (TaskCounts("whole", {"a": 1, "b": 2}, {"training": 3}), TaskCounts("broken", {"a": 1, "b": 0}, {}))
    assert list(class_lines(Summary("x", "X", "", False, 3, 3, {"multi": {"a": 1, "b": 2}}, tasks=tasks))) == [
        "multi       a 1, b 2",
        "task whole: 2 of 2 classes (training 3)",
        "task broken: 1 of 2 classes (cannot be split); without a recording: b",
    ]
    entries = [Entry("1", "1", "", (), fold=1, statements=("AFIB",)), Entry("2", "2", "", (), statements=("AFIB",))]
    assert {task.name: task.sides for task in task_counts("ptb-xl", entries, PAPER)}["rhythm"] == {}


def test_sex_and_age_are_told_where_some_recording_states_them() -> None:
    nobody = Summary("x", "X", "", False, 4, 4, {}, sexes=("", "", "", ""), ages=(None,) * 4)
    assert list(people_lines(nobody)) == []
    some_of_them = replace(nobody, sexes=("f", "", "m", "f"), ages=(60.0, None, 0.0, 31.5))
    assert list(people_lines(some_of_them)) == [
        "sex         f 2, not stated 1, m 1",
        "age         0 to 60, median 31.5; 1 not stated",
    ]
    assert list(people_lines(replace(nobody, ages=(1.0, 2.0, 3.0, 4.0)))) == ["age         1 to 4, median 3"]


def test_a_listing_tells_of_people_and_tasks_too(tmp_path: Path) -> None:
    entries = [Entry(f"A{n}", "p", f"A{n}", (1,), sex="m", age=50.0 + n) for n in range(4)]
    for entry in entries[:3]:
        (tmp_path / f"{entry.path}.hea").touch()
        (tmp_path / f"{entry.path}.mat").touch()
    found = of_listing(CPSC2018(tmp_path), Listing(tuple(entries), (("A9", "file missing in the table"),)), PAPER)
    assert (found.sexes, found.ages) == (("m", "m", "m"), (50.0, 51.0, 52.0))
    assert found.skipped == (
        Skipped("A3", "p", (), "file missing"),
        Skipped("A9", "A9", (), "file missing in the table"),
    )
    assert (found.listed, found.on_disk, found.patients) == (5, 3, 1)
    assert [(task.name, task.classes["AF"], task.sides) for task in found.tasks] == [
        ("all", 3, {"training": 1, "validation": 1, "test": 1})
    ]


def test_a_corpus_without_classes_has_no_line_of_them(cohorts: dict[str, Prepared]) -> None:
    lines = list(fact_lines(of_prepared(cohorts["mimic-iv-ecg"], PAPER)))
    assert not [line for line in lines if line.startswith(("single", "multi"))]


def test_rates_and_lengths_that_differ_are_all_said() -> None:
    same = [Signal(500.0, 5000, "")] * 3
    assert (rates_text(same), lengths_text(same)) == ("500", "10")
    mixed = [*same, Signal(257.0, 257 * 60, ""), Signal(500.0, 3000, "")]
    assert rates_text(mixed) == "500 (4 of 5), 257 (1 of 5)"
    assert lengths_text(mixed) == "6 to 60, median 10"
    assert lengths_text(same[:1]) == "10"
    assert lengths_text([*same[:1], Signal(500.0, 3000, "")]) == "6 to 10, median 10"


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
