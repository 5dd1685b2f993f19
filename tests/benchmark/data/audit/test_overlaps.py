"""Known overlaps: the table agrees with ECGBench's catalogue, and a run that leaks through one is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from benchmark.data.audit.findings import audit
from benchmark.data.audit.overlaps import HOLDS
from benchmark.data.prepared.beats import WINDOW
from benchmark.data.prepared.cutting import Signal
from benchmark.data.prepared.load import Prepared
from benchmark.data.readers.base import LEADS, Entry
from benchmark.data.readers.cards.ecgbench.card import FORM
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.spec import TaskSpec

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
            "the other tested; leave it out of one by leave_out in a card (docs/DATASETS.md)",
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
