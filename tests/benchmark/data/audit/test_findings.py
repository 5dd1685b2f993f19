"""The audit names every planted defect, once and with its gravity, and none where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.audit.findings import Finding, audit
from benchmark.data.prepared.beats import WINDOW
from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.skipped import Skipped
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import LEADS, Entry
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.spec import TaskSpec

FOLDS = 10
PAPER = TaskSpec(6, "single", "paper")


def prepared(name: str, entries: Sequence[Entry], digests: dict[str, str] | None = None, **other: Any) -> Prepared:
    """A prepared dataset without a beat; a recording's digest is its dataset and name unless another is given."""
    given = digests or {}
    return Prepared(
        name=name,
        title=DATASETS[name].title,
        classes=DATASETS[name].classes,
        form="made up",
        simulated=True,
        windows=np.zeros((0, WINDOW, len(LEADS)), np.float16),
        first_window=np.zeros(len(entries) + 1, np.int64),
        entries=tuple(entries),
        signals=tuple(Signal(500.0, 5000, given.get(e.recording, f"{name} {e.recording}")) for e in entries),
        skipped=other.get("skipped", ()),
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


def findings(*data: Prepared, pretrain: str = "mimic-iv-ecg") -> list[Finding]:
    tested = [one.name for one in data if one.classes]
    by_name = {one.name: one for one in data}
    return audit(by_name, PAPER, pretrain=pretrain, tested=tested)


def test_sound_data_have_no_finding() -> None:
    assert findings(mimic(), ptb_xl(), chapman()) == []
    assert findings(ptb_xl(), chapman(), pretrain="ptb-xl") == []


@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.parametrize("labels", ["single", "multi"])
def test_simulated_cohorts_have_no_leak(cohorts: dict[str, Prepared], labels: Any, protocol: Any) -> None:
    tested = [name for name in cohorts if DATASETS[name].classes]
    for pretrain in ("mimic-iv-ecg", "ptb-xl"):
        found = audit(cohorts, TaskSpec(6, labels, protocol), pretrain=pretrain, tested=tested)
        of_few = ("no usable recording of", "1 class has only one patient", "2 classes have only one patient")
        assert [f for f in found if f.severity != "warning" or not f.text.startswith(of_few)] == []


def test_a_class_of_one_patient_is_told_with_its_remedy() -> None:
    entries = [Entry(f"JS{label}{n}", f"P{label}{n}", "", (label,)) for label in range(3) for n in range(10)]
    alone = [Entry(f"JS3{n}", "P", "", (3,)) for n in range(10)]
    found = findings(prepared("chapman", [*entries, *alone]), pretrain="mimic-iv-ecg")
    (severity, one), *_ = [(finding.severity, finding.text) for finding in found if "only one" in finding.text]
    assert severity == "warning"
    assert one.startswith("1 class has only one patient (SR), so no split both trains and tests it: merge it")
    alone += [Entry(f"JS2{n}", "Q", "", (2,)) for n in range(10)]
    found = findings(prepared("chapman", [*entries[:20], *alone]), pretrain="mimic-iv-ecg")
    (both,) = [finding.text for finding in found if "only one patient" in finding.text]
    assert both.startswith("2 classes have only one patient (GSVT, SR), so no split")


def test_of_a_dataset_whose_first_label_counts_the_others_make_no_class() -> None:
    """The task `single` under the paper's protocol; each recording of CPSC2018 here states the last class too."""
    last = len(DATASETS["cpsc2018"].classes) - 1
    labels = [(label, last) if label < last else (label,) for label in range(last + 1) for _ in range(10)]
    entries = [Entry(f"A{n:03}", f"A{n:03}", "", own) for n, own in enumerate(labels[:-10])]
    texts = [finding.text for finding in findings(prepared("cpsc2018", entries))]
    assert texts == ["no usable recording of STE for training and validation and test"]
    one_of_last = [*entries, Entry("A999", "A000", "", (last,))]
    texts = [finding.text for finding in findings(prepared("cpsc2018", one_of_last))]
    assert [text for text in texts if text.startswith("1 class has only one patient (STE)")]


def tasks_of(whole: Prepared) -> list[Prepared]:
    """A dataset under its default task and under a named one."""
    return [whole, replace(whole, name=f"{whole.name}.form", title=f"{whole.title} form", dataset=whole.name)]


def test_what_is_wrong_with_files_is_told_once_for_all_tasks_of_a_dataset() -> None:
    (found,) = findings(*tasks_of(replace(ptb_xl(), warnings=("a column is odd",))))
    assert (found.datasets, found.text) == (("ptb-xl",), "a column is odd")


def test_copies_in_two_tasks_of_a_dataset_are_told_once_unless_they_leak() -> None:
    (found,) = findings(*tasks_of(ptb_xl({"r1_0": "same", "r2_0": "same"})))
    assert (found.severity, found.text) == (
        "warning",
        "1 signal in more than one recording: PTB-XL r1_0 = PTB-XL r2_0",
    )
    whole, task = tasks_of(ptb_xl())
    moved = replace(task, entries=tuple(replace(e, fold={1: 10, 10: 1}.get(e.fold or 0, e.fold)) for e in task.entries))
    found = findings(whole, moved, pretrain="ptb-xl")[0]
    assert (found.severity, found.datasets) == ("leak", ("ptb-xl", "ptb-xl.form"))
    assert found.text.startswith("5 signals both pretrained on and tested: PTB-XL r1_0 = PTB-XL form r1_0, ")


def test_each_task_is_split_by_the_spec_of_its_own() -> None:
    """Chapman's recordings as a task with several labels has them: under `single` none would be left."""
    both = [Entry(e.recording, e.patient, "", (0, 1, 2, 3)) for e in chapman().entries]
    by_name = {"chapman": prepared("chapman", both)}
    spec = replace(PAPER, labels="multi")
    assert audit(by_name, PAPER, pretrain="", tested=["chapman"], specs={"chapman": spec}) == []
    (found,) = audit(by_name, PAPER, pretrain="", tested=["chapman"], specs={"another": spec})
    assert found.severity == "fatal"


def test_a_dataset_that_cannot_be_split_is_fatal_and_its_files_are_audited() -> None:
    entries = [replace(e, fold=None) if e.recording == "r3_0" else e for e in ptb_xl().entries]
    broken = replace(prepared("ptb-xl", entries), warnings=("a column is odd",))
    found = findings(broken, pretrain="ptb-xl")
    assert [(f.severity, f.text) for f in found] == [
        ("fatal", "recording r3_0 has no official fold, others of its dataset have"),
        ("warning", "a column is odd"),
    ]


def test_a_patient_on_two_sides_is_a_leak_with_its_remedy() -> None:
    (found,) = findings(ptb_xl(r3_1="p", r4_1="p", r10_1="p"))
    assert (found.datasets, found.severity) == (("ptb-xl",), "leak")
    assert found.text == "1 patient is on two sides of the split of PTB-XL (p: training and test): correct the folds"


def test_a_patient_of_several_recordings_on_one_side_is_none() -> None:
    assert findings(ptb_xl(r1_0="p", r2_0="p", r8_3="p")) == []


def test_a_pretraining_recording_in_a_test_set_is_a_leak() -> None:
    (found,) = findings(mimic({"42": "same"}), chapman({"JS19": "same"}))
    assert (found.datasets, found.severity) == (("mimic-iv-ecg", "chapman"), "leak")
    assert found.text == "1 signal both pretrained on and tested: MIMIC-IV-ECG 42 = Chapman JS19"
    assert not found.in_tables


@pytest.mark.parametrize("recording", ["JS10", "JS18"])
def test_a_pretraining_recording_on_another_side_is_a_warning(recording: str) -> None:
    (found,) = findings(mimic({"42": "same"}), chapman({recording: "same"}))
    assert (found.severity, found.text) == (
        "warning",
        f"1 signal in more than one recording: MIMIC-IV-ECG 42 = Chapman {recording}",
    )


@pytest.mark.parametrize(("fold", "severity"), [(1, "leak"), (9, "warning"), (10, "warning")])
def test_of_a_labelled_corpus_the_training_part_alone_counts(fold: int, severity: str) -> None:
    (found,) = findings(ptb_xl({f"r{fold}_0": "same"}), chapman({"JS19": "same"}), pretrain="ptb-xl")
    assert found.severity == severity


def test_a_corpus_that_is_not_scored_may_have_a_patient_on_two_sides() -> None:
    corpus, scored = ptb_xl(r3_1="p", r10_1="p"), chapman()
    by_name = {"ptb-xl": corpus, "chapman": scored}
    assert audit(by_name, PAPER, pretrain="ptb-xl", tested=["chapman"]) == []


def test_of_a_corpus_that_is_not_scored_the_training_part_counts_and_its_sides_do_not() -> None:
    corpus = ptb_xl({"r1_0": "tested", "r2_0": "crosses", "r10_0": "crosses"})
    by_name = {"ptb-xl": corpus, "chapman": chapman({"JS19": "tested"})}
    found = audit(by_name, PAPER, pretrain="ptb-xl", tested=["chapman"])
    assert [(f.severity, f.text) for f in found] == [
        ("leak", "1 signal both pretrained on and tested: PTB-XL r1_0 = Chapman JS19"),
        ("warning", "1 signal in more than one recording: PTB-XL r2_0 = PTB-XL r10_0"),
    ]


def test_what_is_not_pretrained_on_cannot_leak_into_a_test_set() -> None:
    data = (mimic({"42": "a"}), ptb_xl({"r1_0": "b"}), chapman({"JS19": "a", "JS29": "b"}))
    assert {f.severity for f in findings(*data, pretrain="cpsc2018")} == {"warning"}


def test_labelled_data_that_a_run_neither_scores_nor_pretrains_on_need_no_split() -> None:
    small = prepared("cpsc2018", [Entry("A1", "A1", "", (0,))])
    by_name = {"cpsc2018": small, "chapman": chapman()}
    assert audit(by_name, PAPER, pretrain="mimic-iv-ecg", tested=["chapman"]) == []


def test_a_copy_on_two_sides_and_in_another_dataset_is_told_as_on_two_sides() -> None:
    (found,) = findings(mimic({"42": "same"}), ptb_xl({"r1_0": "same", "r10_0": "same"}))
    assert (found.severity, found.datasets) == ("leak", ("mimic-iv-ecg", "ptb-xl"))
    assert found.text.startswith("1 signal on two sides of a split: MIMIC-IV-ECG 42 = PTB-XL r1_0 = PTB-XL r10_0")


def test_without_folds_the_remedy_for_patients_on_two_sides_is_the_strict_protocol() -> None:
    shared = {"JS10": "p", "JS19": "p", "JS20": "q", "JS28": "q"}
    entries = [Entry(e.recording, shared.get(e.recording, e.patient), "", e.labels) for e in chapman().entries]
    (found,) = findings(prepared("chapman", entries))
    sides = "p: training and test, q: training and validation"
    assert found.text == f"2 patients are on two sides of the split of Chapman ({sides}): use --protocol strict"


@pytest.mark.parametrize(
    ("copy", "severity", "what"),
    [("r2_0", "warning", "in more than one recording"), ("r9_0", "leak", "on two sides"), ("r10_0", "leak", "on two")],
)
def test_a_copy_within_a_dataset_is_a_leak_where_it_crosses_the_split(copy: str, severity: str, what: str) -> None:
    (found,) = findings(ptb_xl({"r1_0": "same", copy: "same"}))
    assert (found.datasets, found.severity) == (("ptb-xl",), severity)
    assert f"1 signal {what}" in found.text
    assert found.text.endswith(f"PTB-XL r1_0 = PTB-XL {copy}")


def test_copies_of_one_kind_are_counted_together() -> None:
    same = {f"r1_{label}": f"{label}" for label in range(5)}
    (found,) = findings(ptb_xl(same | {f"r2_{label}": f"{label}" for label in range(5)}))
    assert found.text.startswith("5 signals in more than one recording: PTB-XL r1_0 = PTB-XL r2_0, ")
    assert found.text.endswith("and 2 more")


def test_damaged_files_are_a_warning_and_slow_hearts_are_none() -> None:
    reasons = [
        "wrong checksum",
        "heart rate below 50/min: median RR 375",
        "file missing: signal",
        "file missing: header",
    ]
    skipped = tuple(Skipped(f"s{index}", "p", (), reason) for index, reason in enumerate(reasons))
    found = findings(prepared("chapman", chapman().entries, skipped=skipped))
    assert [(f.severity, f.text) for f in found] == [
        ("warning", "1 recording cannot be used: wrong checksum (s0)"),
        ("warning", "2 recordings cannot be used: file missing (s2, s3)"),
    ]


def test_doubtful_leads_are_counted_by_kind_and_printed_under_every_table() -> None:
    corpus = mimic()
    doubts = ["leads exchanged: I and II", "", "leads exchanged: aVL and aVF", "all leads identical", "", ""]
    signals = tuple(s._replace(doubt=doubt) for s, doubt in zip(corpus.signals, doubts, strict=True))
    found = findings(replace(corpus, signals=signals))
    assert [(f.datasets, f.severity, f.in_tables, f.text) for f in found] == [
        (
            ("mimic-iv-ecg",),
            "warning",
            True,
            "2 recordings are used with leads exchanged, by Einthoven's law (40: I and II, 42: aVL and aVF)",
        ),
        (("mimic-iv-ecg",), "warning", True, "1 recording is used with all leads identical (43)"),
    ]


def test_lengthened_recordings_are_counted_and_printed_under_every_table() -> None:
    corpus = mimic()
    signals = tuple(
        s._replace(samples=n) for s, n in zip(corpus.signals, [4999, 5000, 3000, 9, 5000, 6000], strict=True)
    )
    padding = Segmentation("recordings", 1000, 100, 500, pad=True)
    (found,) = findings(replace(corpus, signals=signals, segmentation=padding))
    assert (found.severity, found.in_tables) == ("warning", True)
    assert found.text == "3 recordings shorter than 10 s are lengthened by zeros"
    one_short = (signals[0], *(signal._replace(samples=5000) for signal in signals[1:]))
    (one,) = findings(replace(corpus, signals=one_short, segmentation=padding))
    assert one.text == "1 recording shorter than 10 s is lengthened by zeros"
    assert findings(replace(corpus, signals=signals, segmentation=replace(padding, pad=False))) == []


def test_what_a_reader_found_odd_is_a_warning_under_every_table() -> None:
    (found,) = findings(replace(mimic(), warnings=("a column is odd",)))
    assert (found.severity, found.in_tables, found.text) == ("warning", True, "a column is odd")


def test_a_name_listed_twice_is_a_warning() -> None:
    entries = chapman().entries
    (found,) = findings(prepared("chapman", entries, skipped=(Skipped("JS10", "JS10", (), "too short: 1 s"),)))
    assert (found.severity, found.text) == ("warning", "listed more than once: JS10")


def test_a_name_in_two_datasets_is_a_warning_unless_it_is_a_number() -> None:
    corpus = prepared("mimic-iv-ecg", [Entry("JS10", "p", ""), Entry("7", "q", "")])
    scored = prepared("chapman", [*chapman().entries, Entry("7", "7", "", (0,))])
    (found,) = findings(corpus, scored)
    assert found.severity == "warning"
    assert found.text == "recording names that stand in both MIMIC-IV-ECG and Chapman: JS10"


def test_a_dataset_that_is_too_small_is_fatal_and_the_others_are_audited() -> None:
    small = prepared("cpsc2018", [Entry(f"A{n}", f"A{n}", "", (0,)) for n in range(4)])
    found = findings(small, ptb_xl(r3_1="p", r10_1="p"))
    assert [(f.datasets, f.severity) for f in found] == [(("cpsc2018",), "fatal"), (("ptb-xl",), "leak")]
    assert found[0].text.endswith("the dataset is too small")


def test_a_dataset_without_a_usable_recording_is_fatal_with_the_reasons_and_where_to_get_it() -> None:
    skipped = [Skipped(f"A{n}", f"A{n}", (), "file missing: header") for n in range(3)]
    found, _ = findings(prepared("cpsc2018", [], skipped=tuple(skipped)))
    assert (found.severity, found.datasets) == ("fatal", ("cpsc2018",))
    assert found.text.startswith("no recording is usable: file missing (3). ")
    assert DATASETS["cpsc2018"].how_to_get in found.text


def test_classes_without_recordings_are_named_with_their_sides() -> None:
    entries = [entry for entry in ptb_xl().entries if entry.recording not in ("r9_1", "r9_2", "r10_1", "r10_4")]
    assert [(f.severity, f.text) for f in findings(prepared("ptb-xl", entries))] == [
        ("warning", "no usable recording of MI for validation and test"),
        ("warning", "no usable recording of STTC for validation"),
        ("warning", "no usable recording of HYP for test"),
    ]
