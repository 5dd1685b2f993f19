"""The audit names every planted defect, once and with its gravity, and none where there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark.data.audit import MEASURED, Finding, audit, fact_lines, heart_rate, measured_beats, side_line
from benchmark.data.column import Column
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS, NO_FOLD, Entry
from benchmark.data.heartbeats import WINDOW
from benchmark.data.prepare import Prepared
from benchmark.data.signals import LIMB_LEADS
from benchmark.data.splits import TaskSpec
from tests.benchmark.tables import table, with_cells, with_skipped

FOLDS = 10
PAPER = TaskSpec(6, "single", "paper")


def prepared(name: str, entries: Sequence[Entry], digests: dict[str, str] | None = None) -> Prepared:
    """A prepared dataset without a beat; a recording's digest is its dataset and name unless another is given."""
    given = digests or {}
    digest = [given.get(e.recording, f"{name} {e.recording}") for e in entries]
    return Prepared(
        name=name,
        title=DATASETS[name].title,
        classes=DATASETS[name].classes,
        form="made up",
        simulated=True,
        windows=np.zeros((0, WINDOW, len(LEADS)), np.float16),
        listed=table(entries, fs=[500.0] * len(entries), samples=[5000] * len(entries), digest=digest),
        fingerprint="",
        folder=Path(),
        first_label_counts=DATASETS[name].first_label_counts,
        how_to_get=DATASETS[name].how_to_get,
    )


def ptb_xl(digests: dict[str, str] | None = None, **patients: str) -> Prepared:
    """One recording, named r<fold>-<class>, of a patient of its own, per fold and class, unless a patient is given."""
    entries = [
        Entry(recording, patients.get(recording, recording), recording, (label,), fold=fold)
        for fold in range(1, FOLDS + 1)
        for label in range(len(DATASETS["ptb-xl"].classes))
        for recording in [f"r{fold}_{label}"]
    ]
    return prepared("ptb-xl", entries, digests)


def chapman(digests: dict[str, str] | None = None) -> Prepared:
    """Ten recordings of each class: JS...9 tests, JS...8 validates."""
    entries = [Entry(f"JS{label}{n}", f"JS{label}{n}", "", (label,)) for label in range(4) for n in range(10)]
    return prepared("chapman", entries, digests)


def mimic(digests: dict[str, str] | None = None) -> Prepared:
    return prepared("mimic-iv-ecg", [Entry(f"4{n}", f"1{n // 2}", "") for n in range(6)], digests)


def findings(*data: Prepared, pretrain: str = "mimic-iv-ecg", tested: Sequence[str] | None = None) -> list[Finding]:
    by_name = {one.name: one for one in data}
    labelled = [one.name for one in data if one.classes]
    columns = {name: Column(one, PAPER) for name, one in by_name.items()}
    return audit(columns, pretrain=pretrain, tested=labelled if tested is None else tested, joined={})


def graded(*data: Prepared, **run: Any) -> list[tuple[str, str]]:
    return [(finding.severity, finding.text) for finding in findings(*data, **run)]


def test_sound_data_have_no_finding() -> None:
    assert findings(mimic(), ptb_xl(), chapman()) == []
    assert findings(ptb_xl(), chapman(), pretrain="ptb-xl") == []
    assert findings(ptb_xl(r1_0="p", r2_0="p", r8_3="p")) == []  # a patient of several recordings on one side


def tasks_of(whole: Prepared) -> list[Prepared]:
    """A dataset under its default task and under a named one."""
    return [whole, replace(whole, name=f"{whole.name}.form", title=f"{whole.title} form", dataset=whole.name)]


def test_a_finding_on_files_is_stated_once_for_all_tasks() -> None:
    (result,) = findings(*tasks_of(replace(ptb_xl(), warnings=("a column is odd",))))
    assert (result.datasets, result.text, result.in_tables) == (("ptb-xl",), "a column is odd", True)
    copied = [("warning", "1 signal in more than one recording: PTB-XL r1_0 = PTB-XL r2_0")]
    assert graded(*tasks_of(ptb_xl({"r1_0": "same", "r2_0": "same"}))) == copied


def test_a_recording_that_two_tasks_split_differently_is_a_leak() -> None:
    whole, task = tasks_of(ptb_xl())
    moved = with_cells(task, fold=[{1: 10, 10: 1}.get(fold, fold) for fold in task.recordings.fold.tolist()])
    result = findings(whole, moved, pretrain="ptb-xl")[0]
    assert (result.severity, result.datasets) == ("leak", ("ptb-xl", "ptb-xl.form"))
    assert result.text.startswith("5 signals both pretrained on and tested: PTB-XL r1_0 = PTB-XL form r1_0, ")


MIMIC, PTB_XL = "mimic-iv-ecg", "ptb-xl"
COPY, CROSSING, TESTED = (
    "warning: 1 signal in more than one recording",
    "leak: 1 signal on two sides of a split",
    "leak: 1 signal both pretrained on and tested",
)


@pytest.mark.parametrize(
    ("data", "pretrain", "expected"),
    [
        ([mimic({"42": "same"}), chapman({"JS19": "same"})], MIMIC, f"{TESTED}: MIMIC-IV-ECG 42 = Chapman JS19"),
        ([mimic({"42": "same"}), chapman({"JS18": "same"})], MIMIC, f"{COPY}: MIMIC-IV-ECG 42 = Chapman JS18"),
        ([mimic({"42": "same"}), chapman({"JS19": "same"})], "cpsc2018", f"{COPY}: MIMIC-IV-ECG 42 = Chapman JS19"),
        ([ptb_xl({"r1_0": "same"}), chapman({"JS19": "same"})], PTB_XL, f"{TESTED}: PTB-XL r1_0 = Chapman JS19"),
        ([ptb_xl({"r9_0": "same"}), chapman({"JS19": "same"})], PTB_XL, f"{COPY}: PTB-XL r9_0 = Chapman JS19"),
        ([ptb_xl({"r1_0": "same", "r2_0": "same"})], MIMIC, f"{COPY}: PTB-XL r1_0 = PTB-XL r2_0"),
        ([ptb_xl({"r1_0": "same", "r9_0": "same"})], MIMIC, f"{CROSSING}: PTB-XL r1_0 = PTB-XL r9_0"),
        ([ptb_xl({"r1_0": "same", "r10_0": "same"})], MIMIC, f"{CROSSING}: PTB-XL r1_0 = PTB-XL r10_0"),
    ],
)
def test_copies_leak_where_they_cross_a_split(data: list[Prepared], pretrain: str, expected: str) -> None:
    (result,) = findings(*data, pretrain=pretrain)
    assert f"{result.severity}: {result.text}" == expected
    assert result.datasets == tuple(one.name for one in data)


def test_a_patient_on_two_sides_is_a_leak() -> None:
    ((severity, text),) = graded(ptb_xl(r3_1="p", r4_1="p", r10_1="p"))
    assert severity == "leak"
    assert "1 patient on two sides" in text
    assert "(p: training and test)" in text


def test_near_copies_are_a_warning_that_a_table_carries_where_they_cross_a_split() -> None:
    def with_outlines(**outlines: tuple[int, ...]) -> list[tuple[str, str, bool]]:
        data = ptb_xl({"r4_1": "same", "r5_1": "same"})
        result = findings(with_cells(data, outline=[outlines.get(name, ()) for name in data.recordings.recording]))
        return [
            (f.severity, f.text, f.in_tables) for f in result if "in more than one recording: PTB-XL r4" not in f.text
        ]

    near = "1 signal, but for gain, steps or rate, "
    assert with_outlines(r1_0=(1, 2, 3), r2_0=(1, 2, 3 ^ 0xFF), r3_0=(4, 5, 6), r3_1=(5, 4, 7)) == [
        ("warning", f"{near}in more than one recording: PTB-XL r1_0 = PTB-XL r2_0", False)
    ]
    assert with_outlines(r1_0=(1, 2, 3), r10_0=(1, 0, 3)) == [
        ("warning", f"{near}on two sides of a split: PTB-XL r1_0 = PTB-XL r10_0", True)
    ]
    assert with_outlines(r4_1=(1, 2, 3), r5_1=(1, 2, 3)) == []  # equal signals are copies


def test_a_corpus_that_is_not_scored_counts_by_its_training_part() -> None:
    corpus = ptb_xl({"r1_0": "tested", "r2_0": "crosses", "r10_0": "crosses"}, r3_1="p", r10_1="p")
    assert graded(corpus, chapman({"JS19": "tested"}), pretrain="ptb-xl", tested=["chapman"]) == [
        ("leak", "1 signal both pretrained on and tested: PTB-XL r1_0 = Chapman JS19"),
        ("warning", "1 signal in more than one recording: PTB-XL r2_0 = PTB-XL r10_0"),
    ]
    neither = prepared("cpsc2018", [Entry("A1", "A1", "", (0,))])  # too small for a split, and it needs none
    assert graded(neither, chapman(), tested=["chapman"]) == []


def test_damaged_files_are_a_warning() -> None:
    reasons = ["wrong checksum", "heart rate below 50/min: 4", "file missing: signal", "file missing: header"]
    skipped = [Entry(f"s{index}", "", reason=reason) for index, reason in enumerate(reasons)]
    result = findings(with_skipped(chapman(), skipped))
    assert [(f.severity, f.text) for f in result] == [
        ("warning", "2 recordings cannot be used: file missing (s2: signal, s3: header)"),
        ("warning", "1 recording cannot be used: wrong checksum (s0)"),
    ]


def test_doubtful_leads_are_printed_under_every_table() -> None:
    def doubted(form: str, *warnings: str) -> list[Finding]:
        return findings(replace(with_cells(mimic(), doubts=warnings), form=form))

    result = doubted("", LIMB_LEADS, "", LIMB_LEADS, "all leads identical", "", "")
    used = [finding.text.partition(" used with ")[2] for finding in result]
    assert used == [f"{LIMB_LEADS} (40, 42)", "all leads identical (43)"]
    assert {(f.datasets, f.severity, f.in_tables) for f in result} == {(("mimic-iv-ecg",), "warning", True)}
    (most,) = doubted("wfdb files of a card", *[LIMB_LEADS] * 6)
    assert most.text.endswith("probably wrong, correct `signals.leads` of its card")
    (few,) = doubted("wfdb files of a card", *[LIMB_LEADS] * 2, *[""] * 4)
    assert "probably" not in few.text


def test_other_doubts_are_counted_with_their_details() -> None:
    doubts = ["a warning of its reader: odd\nan offset", "", "", "", "a warning of its reader: long", ""]
    texts = [finding.text for finding in findings(with_cells(mimic(), doubts=doubts))]
    assert texts == [
        "2 recordings used with a warning of its reader (40: odd, 44: long)",
        "1 recording used with an offset (40)",
    ]


@pytest.mark.parametrize(
    ("rates", "samples", "text"),
    [
        ([500] * 3 + [250] * 3, [5000] * 3 + [2500] * 3, "two rates, 500 Hz (3) and 250 Hz (3: 43, 44, 45)"),
        ([500] * 6, [5000] * 3 + [2500] * 3, "two lengths, 10 s (3) and 5 s (3: 43, 44, 45)"),
        ([500] * 6, [5000] * 4 + [2500] * 2, ""),
        ([500] * 6, range(5000, 5006), ""),
    ],
)
def test_two_rates_or_lengths_are_named(rates: list[float], samples: list[int], text: str) -> None:
    result = findings(with_cells(mimic(), fs=rates, samples=samples))
    assert len(result) == bool(text)
    assert not text or result[0].text.startswith(f"recordings have {text}")


@pytest.mark.parametrize(
    ("folds", "labels", "reason"),
    [
        (
            [1, 1, 1, 10],
            [(0,)] * 4,
            "(training 3, validation 0, test 1): the split that the dataset states",
        ),
        ([1, 1, 9, 9], [(0,)] * 4, "(training 2, validation 2, test 0): the split that the dataset states"),
        (
            [1, 1, 9, 10],
            [(0,), (0,), (), (0,)],
            "the recordings that the dataset's split has there are without a label",
        ),
        ([1, 1, 9, 10], [(0,), (0,), (0, 1), (0,)], "--labels multi counts the 1 recordings with several labels"),
        ([NO_FOLD] * 4, [()] * 4, "none of the 4 usable recordings has a label"),
    ],
)
def test_an_empty_side_is_told_with_its_cause(folds: list[int], labels: list[tuple[int, ...]], reason: str) -> None:
    pairs = enumerate(zip(folds, labels, strict=True))
    entries = [Entry(f"r{number}", f"p{number}", "", label, fold=fold) for number, (fold, label) in pairs]
    ((severity, text),) = graded(prepared("ptb-xl", entries))
    assert severity == "fatal"
    assert reason in text


def test_recordings_that_a_task_leaves_out_are_counted() -> None:
    labels: list[tuple[int, ...]] = [(0,), (0, 1), (0, 1), ()]
    data = prepared("ptb-xl", [Entry(f"r{number}", f"p{number}", "", label) for number, label in enumerate(labels)])
    lines = [line for line in fact_lines(Column(data, PAPER)) if line.startswith("left out")]
    several, none = lines
    assert "2 of 4 recordings have several labels" in several
    assert "1 of 4 recordings have no label" in none
    multi = [line for line in fact_lines(Column(data, replace(PAPER, labels="multi"))) if line.startswith("left out")]
    assert multi == lines[1:]


def test_the_audit_goes_on_after_a_fatal_finding() -> None:
    small = prepared("cpsc2018", [Entry(f"A{n}", f"A{n}", "", (0,)) for n in range(4)])
    result = findings(small, ptb_xl(r3_1="p", r10_1="p"))
    assert [(f.datasets, f.severity) for f in result] == [(("cpsc2018",), "fatal"), (("ptb-xl",), "leak")]


def test_a_dataset_without_a_usable_recording_is_fatal() -> None:
    skipped = [Entry(f"A{n}", "", reason="file missing: header") for n in range(3)]
    (severity, text), _ = graded(with_skipped(prepared("cpsc2018", []), skipped))
    assert severity == "fatal"
    assert text == f"no recording is usable: file missing (3). {DATASETS['cpsc2018'].how_to_get}"


def test_beats_are_measured_in_a_part_of_the_recordings() -> None:
    time, heights = np.arange(2030) % 160, np.linspace(0.5, 1.5, 12)
    heights[-1] = 0.0  # a constant lead counts for nothing
    signal = (np.exp(-0.5 * ((time[:, None] - 80) / 4) ** 2) * heights).astype(np.float32)
    assert heart_rate(signal, 200) == 75
    assert heart_rate(0 * signal, 200) == heart_rate(np.cumsum(np.ones((2030, 12), np.float32), axis=0), 200) == 0
    dataset: Any = SimpleNamespace(read=lambda entry: SimpleNamespace(signal=signal, fs=200 * entry))
    for count, step in ((MEASURED, 1), (MEASURED + 1, 2), (3, 1)):
        amplitudes, rates = zip(*measured_beats(dataset, range(1, count + 1)), strict=True)  # type: ignore[arg-type]
        assert rates == tuple(75 * number for number in range(1, count + 1, step))
    assert amplitudes[0] == pytest.approx(np.median(heights[:-1]), rel=1e-3)


def test_the_line_of_sides_names_classes_that_one_lacks() -> None:
    assert side_line(Column(ptb_xl(), PAPER)) == "training 40, validation 5, test 5"
    data = prepared("ptb-xl", [Entry(f"r{fold}", f"p{fold}", "", (fold % 2,), fold=fold) for fold in (1, 2, 9, 10)])
    lacking = ("STTC, CD, HYP", "NORM, STTC, CD and 1 more", "MI, STTC, CD and 1 more")
    expected = "training 2 (without {}), validation 1 (without {}), test 1 (without {})".format(*lacking)
    assert side_line(Column(data, PAPER)) == expected


@pytest.mark.parametrize(
    ("labels", "classes", "text"),
    [
        ("single", [(0,)] * 30 + [(1,)] * 2 + [(0, 2)] * 8, "fewer than two classes can be scored; .* AFIB 2/0"),
        ("multi", [(0,)] * 40, "fewer than one class can be scored"),
    ],
)
def test_a_task_of_which_no_two_classes_can_be_scored_is_refused(labels: Any, classes: Any, text: str) -> None:
    """As where most recordings have several labels and one class counts for them."""
    entries = [Entry(f"r{number:02}", f"p{number}", "", item) for number, item in enumerate(classes)]
    column = Column(prepared("chapman", entries), replace(PAPER, labels=labels))
    result = audit({"chapman": column}, pretrain="", tested=["chapman"], joined={})
    assert result[0].severity == "fatal"
    assert re.match(text, result[0].text)
