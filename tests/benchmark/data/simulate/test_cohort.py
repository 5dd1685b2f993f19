"""Cohorts as a whole: determinism, prefixes, a test part of its own, all or nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.data.datasets.base import OWN_TEST_PART, Entry
from benchmark.data.datasets.registry import SIMULATED_MARK, source_of
from benchmark.data.simulate import COHORTS, SIMULATOR_VERSION, CohortSettings, cohort, write_cohort
from benchmark.data.splits import Protocol, Split, TaskSpec, columns_of, sides_of, split_recordings

VERSION_2 = {
    "mimic-iv-ecg": "2f11ba8962cf6052",
    "ptb-xl": "0426132afad09e5f",
    "chapman": "a0f7109208bc5649",
    "cpsc2018": "4036d495a6ef71db",
}
"""Cohort of version 2 of the simulator -> digest of twelve patients, from a run of that version's code."""


def _digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("name", COHORTS)
def test_same_seed_same_bytes_and_a_larger_cohort_begins_alike(tmp_path: Path, name: str) -> None:
    for folder, patients, seed in (("a", 4, 3), ("b", 4, 3), ("more", 7, 3), ("other", 4, 4)):
        write_cohort(name, tmp_path / folder, CohortSettings(patients), seed=seed)
    a, b, more, other = (_digests(tmp_path / folder) for folder in ("a", "b", "more", "other"))
    assert a == b
    signals = {path: digest for path, digest in a.items() if path.endswith((".dat", ".mat", ".hea"))}
    assert signals
    assert signals.items() <= more.items()
    assert not {d for p, d in signals.items() if p.endswith((".dat", ".mat"))} & set(other.values())
    mark = json.loads((tmp_path / "a" / SIMULATED_MARK).read_text())
    assert (mark["simulator_version"], mark["cohort"], mark["seed"]) == (SIMULATOR_VERSION, name, 3)


@pytest.mark.parametrize("name", VERSION_2)
def test_signals_labels_and_reports_at_the_defaults_are_those_of_version_2(tmp_path: Path, name: str) -> None:
    write_cohort(name, tmp_path / name, CohortSettings(12), seed=7)
    found = hashlib.sha256()
    for path in sorted((tmp_path / name).rglob("*")):
        found.update(path.read_bytes() if path.suffix in (".dat", ".mat", ".hea") else b"")
    dataset = source_of(name)(tmp_path / name)
    said = [
        [own.recording, own.patient, own.path, [dataset.classes[label] for label in own.labels], own.report, own.fold]
        for own in dataset.listing().entries
    ]
    found.update(json.dumps(said).encode())
    assert found.hexdigest()[:16] == VERSION_2[name]


LABELLED = [name for name in COHORTS if name != "mimic-iv-ecg"]


@pytest.mark.parametrize("name", LABELLED)
def test_patients_of_an_own_test_part_follow_the_others_and_leave_them_as_they_are(tmp_path: Path, name: str) -> None:
    write_cohort(name, tmp_path / "usual", CohortSettings(5), seed=3)
    write_cohort(name, tmp_path / "more", CohortSettings(5), seed=3, test_patients=4)
    usual, more = (_digests(tmp_path / folder) for folder in ("usual", "more"))
    signals = {path: digest for path, digest in usual.items() if path.endswith((".dat", ".mat", ".hea"))}
    assert signals.items() < more.items()
    assert "test_patients" not in json.loads((tmp_path / "usual" / SIMULATED_MARK).read_text())
    assert json.loads((tmp_path / "more" / SIMULATED_MARK).read_text())["test_patients"] == 4
    before, after = (source_of(name)(tmp_path / folder).listing().entries for folder in ("usual", "more"))
    assert after[: len(before)] == before
    own = after[len(before) :]
    assert len({entry.patient for entry in own} - {entry.patient for entry in before}) == 4
    assert {entry.fold for entry in own} == {10 if name == "ptb-xl" else OWN_TEST_PART}


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_an_own_test_part_is_tested_in_addition_and_trained_on_by_no_task(tmp_path: Path, protocol: Protocol) -> None:
    for name in LABELLED:
        write_cohort(name, tmp_path / name, CohortSettings(40), seed=3, test_patients=10)
        dataset = source_of(name)(tmp_path / name)
        every = dataset.listing().entries
        before = every[: -sum(entry.patient in _last_patients(every, 10) for entry in every)]
        for column in columns_of([name], ["default", *(["all"] if name != "cpsc2018" else [])]):
            named, spec = column.named, TaskSpec(6, "multi", protocol)
            own = [replace(entry, labels=named.labels(entry)) if named else entry for entry in every]
            spec = replace(spec, sides=named.sides) if named else spec
            usual = _sides(own[: len(before)], spec)
            with_own = _sides(own, spec)
            further = {entry.recording for entry in own[len(before) :] if entry.labels}
            assert further
            assert with_own == usual | {"test": usual["test"] | further}


def _last_patients(entries: Sequence[Entry], count: int) -> set[str]:
    return set(list(dict.fromkeys(entry.patient for entry in entries))[-count:])


def _sides(entries: Sequence[Entry], spec: TaskSpec) -> dict[str, set[str]]:
    split: Split = split_recordings(entries, spec, first_label_counts=False)
    return {side: {entries[index].recording for index in indices} for side, indices in sides_of(split).items()}


def test_the_dial_of_reports_leaves_the_signals_alone(tmp_path: Path) -> None:
    for folder, errors in (("right", 0.0), ("usual", 1.0)):
        write_cohort("mimic-iv-ecg", tmp_path / folder, CohortSettings(12, report_errors=errors), seed=3)
    right, usual = _digests(tmp_path / "right"), _digests(tmp_path / "usual")
    different = {path for path in right if right[path] != usual[path]}
    assert different == {"machine_measurements.csv", SIMULATED_MARK, cohort.SUMS}


def test_findings_that_do_not_persist_change_later_recordings_alone(tmp_path: Path) -> None:
    for folder, share in (("usual", None), ("stay", 1.0), ("change", 0.0)):
        dials = {} if share is None else {"persistence": share}
        write_cohort("mimic-iv-ecg", tmp_path / folder, CohortSettings(8, **dials), seed=3)
    usual, stay, change = (_digests(tmp_path / folder) for folder in ("usual", "stay", "change"))
    assert usual == stay
    table = pd.read_csv(tmp_path / "usual" / "record_list.csv")
    first = set(table.sort_values("ecg_time").groupby("subject_id").head(1)["path"])
    moved = {path.removesuffix(".dat") for path in usual if path.endswith(".dat") and usual[path] != change[path]}
    assert moved
    assert not moved & first
    assert usual.keys() == change.keys()


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cohort, "WORTH_A_WORKER", 1)
    monkeypatch.setattr(cohort, "CHUNK", 2)


@pytest.mark.usefixtures("two_workers")
def test_two_processes_write_the_bytes_of_one_and_count_every_recording(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_cohort("ptb-xl", tmp_path / "one", CohortSettings(7), seed=4)
    write_cohort(
        "ptb-xl", tmp_path / "two", CohortSettings(7), seed=4, workers=2, on_progress=lambda *own: seen.append(own)
    )
    assert _digests(tmp_path / "one") == _digests(tmp_path / "two")
    assert seen == [(done, len(seen)) for done in range(1, len(seen) + 1)]


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_broken_run_leaves_nothing(tmp_path: Path, workers: int) -> None:
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_cohort("chapman", tmp_path / "c", CohortSettings(8), seed=1, workers=workers, on_progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="remove it"):
        write_cohort("chapman", tmp_path, CohortSettings(3), seed=1)


@pytest.mark.parametrize(
    ("name", "settings", "seed", "said"),
    [
        ("mimic", CohortSettings(3), 1, "unknown cohort 'mimic'"),
        ("chapman", CohortSettings(0), 1, "patients is 0"),
        ("chapman", CohortSettings(20_000), 1, "1-10646"),
        ("mimic-iv-ecg", CohortSettings(3, recordings_per_patient=0.5), 1, "recordings_per_patient is 0.5"),
        ("ptb-xl", CohortSettings(3, noise=-1), 1, "noise is -1"),
        ("ptb-xl", CohortSettings(3, anatomy=float("nan")), 1, "anatomy is nan"),
        ("ptb-xl", CohortSettings(3, severity=2.5), 1, "severity is 2.5, must lie in 0-2"),
        ("mimic-iv-ecg", CohortSettings(3, persistence=1.5), 1, "persistence is 1.5, must lie in 0-1"),
        ("mimic-iv-ecg", CohortSettings(3, report_errors=-1), 1, "report_errors is -1"),
        ("ptb-xl", CohortSettings(3), -1, "seed is -1"),
    ],
)
def test_bad_settings_are_refused(tmp_path: Path, name: str, settings: CohortSettings, seed: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        write_cohort(name, tmp_path / "x", settings, seed=seed)
    assert list(tmp_path.iterdir()) == []


def test_more_test_patients_than_can_be_numbered_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cpsc2018: test_patients is 9999, must lie in 0-9996"):
        write_cohort("cpsc2018", tmp_path / "x", CohortSettings(3), seed=1, test_patients=9999)
