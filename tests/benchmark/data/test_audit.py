"""The audit names every planted defect, once and with its gravity, and none where there is none.

Known overlaps: the table agrees with ECGBench's catalogue, and a run that leaks through one is refused.

Sex and age of recordings from tables and headers, in the forms that the simulator writes too.

Facts of a dataset, before and after its signals have been read, and how they are put.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from benchmark.data.audit import (
    COLUMNS,
    HOLDS,
    Finding,
    Summary,
    TaskCounts,
    audit,
    below_table,
    class_counts,
    class_lines,
    fact_lines,
    lengths_text,
    of_listing,
    of_prepared,
    people_lines,
    people_of,
    rates_text,
    skipped_lines,
    some,
    table_row,
    task_counts,
)
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS, Entry, Listing
from benchmark.data.datasets.chapman import Chapman
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.ecgbench import FORM
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG
from benchmark.data.datasets.ptb_xl import PTBXL
from benchmark.data.prepare import Prepared, Signal, Skipped
from benchmark.data.segments import WINDOW, Segmentation
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.data.splits import Labels, TaskSpec
from benchmark.results.store import groups_of

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
    both = [Entry(e.recording, e.patient, "", (*e.labels, 3)) for e in chapman().entries]
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


CATALOGUE = {
    "ptb-xl": "ptbxl",
    "ptb-diagnostic-ecg-database": "ptbdb",
    "st-petersburg-incart-12-lead-arrhythmia-database": "incartdb",
    "cpsc-2018-china-physiological-signal-challenge-2018": "cpsc_2018",
    "chapman-shaoxing-arrhythmia": "ecg_arrhythmia",
    "chapman-shaoxing-ecg-database-10-646-patients": "chapman_shaoxing",
    "physionet-cinc-challenge-2020": "challenge2020",
    "physionet-cinc-challenge-2021": "challenge2021",
    "mimic-iv-ecg": "mimic_iv_ecg",
    "mimic-iv-ecg-demo": "mimic_iv_ecg_demo",
}
"""Name in ECGBench's catalogue -> name of its config."""
FOLDED = [(fold, label) for fold in range(1, 11) for label in range(2)]


def share(one: str, other: str) -> bool:
    return bool(HOLDS.get(f"{FORM}{one}", {}).keys() & HOLDS.get(f"{FORM}{other}", {}).keys())


def test_the_table_says_what_the_catalogue_has_verified() -> None:
    catalogue = pytest.importorskip("ecgbench.catalogue")
    stated = {
        (CATALOGUE[entry.slug], CATALOGUE[link.slug])
        for entry in catalogue.list_datasets()
        for link in entry.related
        if link.shares_records and link.verified and entry.slug in CATALOGUE and link.slug in CATALOGUE
    }
    held = {pair for pair in permutations(CATALOGUE.values(), 2) if share(*pair)}
    assert stated <= held
    through = ("challenge2020", "challenge2021")  # what follows from two relations: part of a part
    assert {pair for pair in held - stated if not set(pair) & set(through)} == set()


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("ptb-xl", "ptbxl"),
        ("cpsc2018", "cpsc_2018"),
        ("chapman", "chapman_shaoxing"),
        ("ningbo", "ecg_arrhythmia"),
        ("mimic-iv-ecg", "mimic_iv_ecg"),
    ],
)
def test_a_built_in_dataset_holds_what_ecgbench_s_of_it_holds(name: str, config: str) -> None:
    assert name in DATASETS
    assert HOLDS[name].keys() <= HOLDS[f"{FORM}{config}"].keys()
    assert len(HOLDS[name]) == 1
    assert (HOLDS[name].keys() <= HOLDS[f"{FORM}challenge2021"].keys()) == (name != "mimic-iv-ecg")


def made(name: str, form: str, paths: Sequence[str]) -> Prepared:
    entries = tuple(
        Entry(f"{name}{number}", f"{name}{number}", f"{path}{number}", (label,), fold=fold)
        for path in paths
        for number, (fold, label) in enumerate(FOLDED, start=100 * len(path))
    )
    return Prepared(
        name=name,
        title=name.upper(),
        classes=("a", "b"),
        form=form,
        simulated=False,
        windows=np.zeros((0, WINDOW, len(LEADS)), np.float16),
        first_window=np.zeros(len(entries) + 1, np.int64),
        entries=entries,
        signals=tuple(Signal(500.0, 5000, entry.recording) for entry in entries),
        skipped=(),
        fingerprint="",
        folder=Path(),
    )


def found(pretrain: str, tested: list[str], *prepared: Prepared) -> list[tuple[str, str]]:
    findings = audit(
        {data.name: data for data in prepared}, TaskSpec(6, "single", "paper"), pretrain=pretrain, tested=tested
    )
    return [(finding.severity, finding.text) for finding in findings]


def test_pretraining_on_a_challenge_and_testing_on_ptb_xl_is_a_leak() -> None:
    mixed = made("mixed", "ecgbench:challenge2021, wfdb", ["training/georgia/", "training/ptb-xl/"])
    ptb_xl = made("ptb-xl", "records100", ["records100/"])
    assert found("mixed", ["ptb-xl"], mixed, ptb_xl) == [
        (
            "leak",
            "recordings of PTB-XL are in MIXED in training/ptb-xl/ (20) and PTB-XL (20), and one is pretrained on and "
            "the other tested; leave it out of one by leave_out in a card (docs/DATA.md)",
        )
    ]
    assert found("ptb-xl", ["mixed"], mixed, ptb_xl)[0][0] == "leak"


def test_two_columns_that_share_a_cohort_are_a_warning() -> None:
    mixed = made("mixed", "ecgbench:challenge2020, wfdb", ["training/cpsc_2018/"])
    cpsc, other = made("cpsc2018", "", ["A"]), made("other", "", ["x"])
    assert [severity for severity, _ in found("other", ["mixed", "cpsc2018"], mixed, cpsc, other)] == ["warning"]


def test_a_shared_cohort_that_is_not_tested_is_no_leak() -> None:
    mixed = made("mixed", "ecgbench:challenge2020, wfdb", ["training/cpsc_2018/"])
    cpsc, other = made("cpsc2018", "", ["A"]), made("other", "", ["x"])
    assert [severity for severity, _ in found("mixed", ["other"], mixed, cpsc, other)] == ["warning"]


def test_what_two_challenges_share_is_named_cohort_by_cohort() -> None:
    paths = [f"training/{name}/" for name in ("georgia", "st_petersburg_incart")]
    one, other = made("one", "ecgbench:challenge2020, wfdb", paths), made("other", "ecgbench:challenge2021", paths)
    assert found("neither", ["one", "other"], one, other) == [
        (
            "warning",
            f"recordings of {cohort} are in ONE in {path} (20) and OTHER in {path} (20), "
            "and its recordings count in both",
        )
        for cohort, path in (("INCART", paths[1]), ("Georgia", paths[0]))
    ]


def test_two_tasks_of_a_dataset_share_all_and_are_no_finding() -> None:
    whole = made("ptb-xl", "records100", ["records100/"])
    task = replace(whole, name="ptb-xl.form", dataset="ptb-xl")
    assert found("ptb-xl", ["ptb-xl", "ptb-xl.form"], whole, task) == []


def test_a_cohort_that_is_left_out_is_no_finding() -> None:
    rest = made("rest", "ecgbench:challenge2021, wfdb", ["training/georgia/"])
    assert found("rest", ["ptb-xl"], rest, made("ptb-xl", "records500", ["records500/"])) == []


def test_a_dataset_of_one_s_own_of_a_public_name_is_not_taken_for_it() -> None:
    own = made("challenge2021", "wfdb files of a card", ["training/ptb-xl/"])
    assert found("challenge2021", ["ptb-xl"], own, made("ptb-xl", "records500", ["records500/"])) == []


@pytest.mark.parametrize("name", ["ptb-xl", "chapman", "cpsc2018"])
def test_every_simulated_recording_has_both(name: str, tmp_path: Path) -> None:
    write_cohort(name, tmp_path / name, CohortSettings(patients=6), seed=1)
    dataset = DATASETS[name](tmp_path / name)
    entries = dataset.listing().entries
    people = people_of(dataset, entries)
    assert entries
    assert people.keys() == {entry.recording for entry in entries}
    assert all(sex and band for sex, band in groups_of(people).values())
    assert len({sex for sex, _ in groups_of(people).values()}) == 2


def test_ptb_xl_states_women_as_one_and_ages_over_89_as_300(tmp_path: Path) -> None:
    write_cohort("ptb-xl", tmp_path / "ptb-xl", CohortSettings(patients=4), seed=1)
    table = tmp_path / "ptb-xl" / "ptbxl_database.csv"
    entries = PTBXL(table.parent).listing().entries
    names = [entry.recording for entry in entries][:3]
    table.write_text("ecg_id,age,sex\n" + f"{names[0]},300.0,1\n{names[1]},,0\n{names[2]},old,\n")
    people = people_of(PTBXL(table.parent), entries)
    assert people == {names[0]: ("female", 300.0), names[1]: ("male", None)}
    assert groups_of(people) == {names[0]: ("women", "80 and over"), names[1]: ("men", "")}


def test_a_table_is_read_for_its_own_dataset_alone(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["FileName", "Rhythm", "PatientAge", "Gender"], ["M1", "SB", 85, "MALE"], ["M2", "SB", 59, "FEMALE"]):
        book.active.append(row)
    book.save(tmp_path / "Diagnostics.xlsx")
    entries = [Entry("M2", "M2", "M2"), Entry("M3", "M3", "M3")]
    assert people_of(Chapman(tmp_path), entries) == {"M2": ("FEMALE", 59.0)}
    assert people_of(CPSC2018(tmp_path), entries) == {}


def test_what_a_card_has_read_is_taken_and_no_table(tmp_path: Path) -> None:
    (tmp_path / "ptbxl_database.csv").write_text("ecg_id,age,sex\n1,50,0\n2,50,0\n3,50,0\n")
    entries = [Entry("1", "p", "", sex="f"), Entry("2", "p", "", age=0.0), Entry("3", "p", "")]
    assert people_of(PTBXL(tmp_path), entries) == {"1": ("f", None), "2": ("", 0.0)}
    assert people_of(PTBXL(tmp_path), entries[1:2]) == {"2": ("", 0.0)}
    assert people_of(PTBXL(tmp_path), entries[2:]) == {"3": ("male", 50.0)}


def test_of_a_header_the_first_comments_count_and_no_other_line(tmp_path: Path) -> None:
    header = "A1 12 500 5000\nAge: 1\n#Age: 74\n# Sex: Male\n#Age: 20\n#Dx: 1\n"
    (tmp_path / "A1.hea").write_text(header)
    (tmp_path / "A1.mat").write_text("# Sex: Female\n")
    (tmp_path / "A2.hea").write_text("A2 12 500 5000\n#Sex: Unknown\n")
    entries = [Entry(name, name, name) for name in ("A1", "A2", "A3")]
    assert people_of(CPSC2018(tmp_path), entries) == {"A1": ("Male", 74.0), "A2": ("Unknown", None)}


NUMBERS = ["recordings", "on disk", "usable", "patients", "windows", "Hz", "seconds"]
SNOMED = ("427084000", "17338001")
"""Of Chapman's task `all`: sinus tachycardia and a premature ventricular beat."""
SUMMARY_PAPER, STRICT = TaskSpec(6, "single", "paper"), TaskSpec(6, "single", "strict")

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
    return of_listing(CPSC2018(tmp_path), listing, SUMMARY_PAPER)


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
    paper, strict = class_counts(CPSC2018, ENTRIES, SUMMARY_PAPER), class_counts(CPSC2018, ENTRIES, STRICT)
    assert {name: count for name, count in paper["single"].items() if count} == {"AF": 2, "PAC": 1}
    assert {name: count for name, count in strict["single"].items() if count} == {"AF": 1, "PAC": 1}
    assert {name: count for name, count in paper["multi"].items() if count} == {"AF": 2, "PAC": 2}
    assert class_counts(MIMICIVECG, ENTRIES, SUMMARY_PAPER) == {}


def test_preparation_fills_in_the_rest(cohorts: dict[str, Prepared]) -> None:
    prepared = cohorts["chapman"]
    summary = of_prepared(prepared, SUMMARY_PAPER)
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
    summary = of_prepared(of_chapman, SUMMARY_PAPER)
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
        of_prepared(crops, SUMMARY_PAPER)
    )
    assert of_prepared(crops, SUMMARY_PAPER).segmentation == crops.segmentation
    assert [line for line in below_table(summary) if "not prepared yet" in line] == []


def test_a_named_task_is_counted_and_split_as_it_is_judged(of_chapman: Prepared) -> None:
    """Shuffled, a fifth of the ten is for testing, a tenth of the eight others for validation, whatever the labels."""
    (task,) = of_prepared(of_chapman, SUMMARY_PAPER).tasks
    assert {name: count for name, count in task.classes.items() if count} == {"ST": 10, "VPB": 8}
    assert task.sides == {"training": 7, "validation": 1, "test": 2}
    *_, line = class_lines(of_prepared(of_chapman, SUMMARY_PAPER))
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
    assert {task.name: task.sides for task in task_counts("ptb-xl", entries, SUMMARY_PAPER)}["rhythm"] == {}


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
    found = of_listing(
        CPSC2018(tmp_path), Listing(tuple(entries), (("A9", "file missing in the table"),)), SUMMARY_PAPER
    )
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
    lines = list(fact_lines(of_prepared(cohorts["mimic-iv-ecg"], SUMMARY_PAPER)))
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
    lines = list(fact_lines(of_listing(CPSC2018(tmp_path), listing, SUMMARY_PAPER)))
    assert lines[1] == "also there  WFDB_CPSC2018, TrainingSet; not read, forms are never pooled"


@pytest.mark.parametrize("labels", ["single", "multi"])
def test_a_task_of_which_no_two_classes_can_be_scored_is_refused(labels: Labels) -> None:
    """As where most recordings have several labels and one class counts for them."""
    classes = [(0,)] * 30 + [(1,)] * 2 + [(0, 2)] * 8 if labels == "single" else [(0,)] * 40
    entries = [Entry(f"r{number:02}", f"p{number}", "", own) for number, own in enumerate(classes)]
    by_name, spec = {"chapman": prepared("chapman", entries)}, replace(PAPER, labels=labels)
    found = next(own for own in audit(by_name, spec, pretrain="", tested=["chapman"]) if own.severity == "fatal")
    first, remedy = (
        ("fewer than two classes can be scored (SB); recordings for training/test: SB 24/3, AFIB 2/0", "--labels multi")
        if labels == "single"
        else ("fewer than one class can be scored (none)", "`others: ignore`")
    )
    assert found.text.startswith(first)
    assert remedy in found.text
