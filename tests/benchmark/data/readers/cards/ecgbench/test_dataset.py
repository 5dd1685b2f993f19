"""Public datasets by the package ecgbench: signals in mV, labels, patients, sides, and nothing written beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from benchmark.data.prepared.prepare import prepare
from benchmark.data.readers.base import DatasetError, Unusable
from benchmark.data.readers.cards.ecgbench import package
from benchmark.data.readers.cards.ecgbench.dataset import AGE, SEX, ECGBenchDataset
from benchmark.data.readers.mimic_iv_ecg import MIMICIVECG
from benchmark.data.readers.ptb_xl import PTBXL
from benchmark.data.simulate import CohortSettings, write_cohort
from tests.benchmark.data.readers.cards.ecgbench.conftest import PADDED, SPH

Open = Callable[..., ECGBenchDataset]


def labels_in(dataset: ECGBenchDataset) -> Counter[tuple[str, ...]]:
    return Counter(tuple(dataset.classes[label] for label in entry.labels) for entry in dataset.listing().entries)


def test_sph_an_hdf5_file_a_record(sph: Path, opened: Open, make_ecg: Callable[..., Any]) -> None:
    dataset = opened("ecgbench:sph", sph)
    assert dataset.classes == ("1", "22", "60")  # counted, numbers in their order; a modifier is no label
    listing = dataset.listing()
    assert listing.skipped == ()
    assert labels_in(dataset) == {("1",): 20, ("22",): 10, ("22", "60"): 10}
    first = listing.entries[0]
    assert (first.recording, first.patient, first.path) == ("A00000", "S1", "records/A00000.h5")
    assert (first.sex, first.age) == ("F", 60)
    assert listing.entries[1].patient == "S1"
    recording = dataset.read(first)
    assert recording.fs == 500
    np.testing.assert_allclose(recording.signal, make_ecg(seconds=10.0), atol=2e-3)  # a step of float16
    assert dataset.files(first) == (sph / "records/A00000.h5",)
    assert len(SPH) == len(listing.entries)


def test_their_folds_hold_patients_together_and_ours_are_none(sph: Path, opened: Open, tmp_path: Path) -> None:
    entries = opened("ecgbench:sph", sph).listing().entries
    assert {entry.fold for entry in entries} == {1, 9, 10}
    sides: dict[str, set[int | None]] = {}
    for entry in entries:
        sides.setdefault(entry.patient, set()).add(entry.fold)
    assert max(map(len, sides.values())) == 1
    (sph / "ours.yaml").write_text(
        "kind: ecgbench\ndataset: sph\nname: mine\nsplit: ours\nlabels: {classes: ['1', '22']}\n"
    )
    ours = opened(str(sph / "ours.yaml"), sph)
    assert ours.name == "mine"
    assert {entry.fold for entry in ours.listing().entries} == {None}
    assert ours.listing().warnings == ("1 label is no class and left out of 10 statements, most often 60 10",)


def test_a_recording_on_no_side_of_their_split_is_skipped(
    sph: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds = package._folds
    monkeypatch.setattr(
        package, "_folds", lambda *given: {name: own for name, own in folds(*given).items() if name != "A00003"}
    )
    listing = opened("ecgbench:sph", sph).listing()
    assert "A00003" not in {entry.recording for entry in listing.entries}
    assert list(listing.skipped) == [("A00003", "on no side of ecgbench's split")]


def test_the_folder_stays_as_it_is_and_an_old_table_of_the_package_is_not_read(sph: Path, opened: Open) -> None:
    (sph / "ecgbench_metadata.csv").write_text("ecg_id\nA99999\n")
    before = sorted(path.name for path in sph.iterdir())
    assert len(opened("ecgbench:sph", sph).listing().entries) == 40
    assert sorted(path.name for path in sph.iterdir()) == before
    assert (sph / "ecgbench_metadata.csv").read_text() == "ecg_id\nA99999\n"


def test_code15_one_hdf5_file_of_many(code15: Path, opened: Open, make_ecg: Callable[..., Any]) -> None:
    dataset = opened("ecgbench:code15", code15)
    assert dataset.classes == ("1dAVb", "RBBB", "LBBB", "SB", "ST", "AF")  # of the package, nothing counted
    listing = dataset.listing()
    assert len(listing.entries) == 30
    assert {len(entry.labels) for entry in listing.entries} == {0, 1}
    assert len({entry.patient for entry in listing.entries}) == 16
    recording = dataset.read(listing.entries[20])
    assert recording.signal.shape == (4096 - 2 * PADDED, 12)  # without the zeros at the ends
    ecg = make_ecg(seconds=10.24, fs=400)[: 4096 - 2 * PADDED] + 0.01
    np.testing.assert_allclose(recording.signal, ecg, atol=1e-6)
    assert recording.fs == 400
    assert {dataset.files(entry) for entry in listing.entries} == {
        (code15 / f"exams_part{part}.hdf5",) for part in range(2)
    }


def test_challenge_2021_wfdb(challenge: Path, opened: Open, make_ecg: Callable[..., Any]) -> None:
    dataset = opened("ecgbench:challenge2021", challenge)
    assert len(dataset.classes) == 30
    listing = dataset.listing()
    assert labels_in(dataset) == {("NSR",): 10, ("AF",): 10}
    assert any(line.startswith("ecgbench: 1 SNOMED code(s) absent") for line in listing.warnings)
    assert (
        "no patients are named beside the recordings, so every recording counts as a person of its own"
        in listing.warnings
    )
    assert all(entry.patient == entry.recording for entry in listing.entries)
    entry = listing.entries[0]
    np.testing.assert_allclose(dataset.read(entry).signal, make_ecg(seconds=2.0), atol=6e-4)
    assert [path.suffix for path in dataset.files(entry)] == [".hea", ".mat"]


def test_recordings_are_left_out_by_their_paths(challenge: Path, opened: Open) -> None:
    (challenge / "rest.yaml").write_text(
        "kind: ecgbench\ndataset: challenge2021\nleave_out: [training/ptb-xl/]\nlabels: null\n"
    )
    dataset = opened(str(challenge / "rest.yaml"), challenge)
    listing = dataset.listing()
    assert {entry.path.split("/")[1] for entry in listing.entries} == {"georgia"}
    assert "10 recordings are left out by the card (training/ptb-xl/)" in listing.warnings
    assert dataset.classes == ()
    assert {entry.labels for entry in listing.entries} == {()}


def test_chapman_shaoxing_csv(shaoxing: Path, opened: Open, make_ecg: Callable[..., Any]) -> None:
    dataset = opened("ecgbench:chapman_shaoxing", shaoxing)
    assert dataset.classes == ("AFIB", "SB")
    entry = dataset.listing().entries[0]
    np.testing.assert_allclose(dataset.read(entry).signal, make_ecg(seconds=2.0), atol=1e-6)


def test_echonext_numpy_of_many_with_its_own_sides(echonext: Path, opened: Open, make_ecg: Callable[..., Any]) -> None:
    (echonext / "card.yaml").write_text("kind: ecgbench\ndataset: echonext\nlabels: {classes: [0, 1]}\n")
    dataset = opened(str(echonext / "card.yaml"), echonext)
    listing = dataset.listing()
    assert labels_in(dataset) == {("0",): 6, ("1",): 6}
    assert Counter(entry.fold for entry in listing.entries) == {1: 6, 9: 3, 10: 3}
    assert {(entry.sex, entry.age) for entry in listing.entries} == {("F", 60)}
    assert any(line.startswith("samples are standard scores") for line in listing.warnings)
    np.testing.assert_allclose(dataset.read(listing.entries[2]).signal, make_ecg(fs=250) * 3, atol=1e-6)


def test_damage_is_a_reason_and_a_foreign_folder_an_error(sph: Path, opened: Open, tmp_path: Path) -> None:
    dataset = opened("ecgbench:sph", sph)
    entries = dataset.listing().entries
    (sph / "records/A00000.h5").unlink()
    with pytest.raises(Unusable, match="file missing"):
        dataset.read(entries[0])
    with h5py.File(sph / "records/A00001.h5", "w") as file:
        file["ecg"] = np.ones((9, 5000))
    with pytest.raises(Unusable, match="not one axis"):
        dataset.read(entries[1])
    (sph / "code.csv").unlink()
    with pytest.raises(
        DatasetError, match=r"SPH: ecgbench cannot use .*codebook code\.csv is not in .*Get SPH .* licence"
    ):
        dataset.listing()


def test_a_row_that_is_not_there_is_a_reason(code15: Path, opened: Open) -> None:
    dataset = opened("ecgbench:code15", code15)
    entry = dataset.listing().entries[14]
    with h5py.File(code15 / "exams_part0.hdf5", "r+") as file:
        kept = file["tracings"][:10]
        del file["tracings"]
        file["tracings"] = kept
    with pytest.raises(Unusable, match="unreadable or truncated"):
        dataset.read(entry)


def test_it_is_prepared_as_every_dataset(sph: Path, opened: Open, tmp_path: Path) -> None:
    prepared = prepare(opened("ecgbench:sph", sph), tmp_path / "cache", workers=1)
    assert len(prepared.entries) == 40
    assert prepared.form == "ecgbench:sph, hdf5"
    assert len(prepared.windows) > 300


def test_reports_are_read_as_our_reader_reads_them(opened: Open, tmp_path: Path, sph: Path) -> None:
    root = tmp_path / "mimic"
    write_cohort("mimic-iv-ecg", root, CohortSettings(6), seed=1)
    theirs = {entry.recording: entry.report for entry in opened("ecgbench:mimic_iv_ecg:none", root).listing().entries}
    ours = {entry.recording: entry.report for entry in MIMICIVECG(root).listing().entries}
    assert theirs == ours
    assert any(". " in report for report in ours.values())
    assert {entry.report for entry in opened("ecgbench:sph", sph).listing().entries} == {""}


def test_the_sample_of_ptb_xl_is_as_our_reader_reads_it(shared_ecgs: Path, opened: Open) -> None:
    root = shared_ecgs / "ptb-xl"
    ours, theirs = PTBXL(root), opened("ecgbench:ptbxl", root)
    assert ours.classes == theirs.classes
    by_name = {entry.recording: entry for entry in theirs.listing().entries}
    listed = ours.listing()
    assert len(listed.entries) == len(by_name)
    sides = {9: 9, 10: 10}
    for entry in listed.entries:
        other = by_name[entry.recording]
        assert (set(other.labels), other.patient) == (set(entry.labels), entry.patient), entry.recording
        assert other.report == entry.report
        assert other.fold == sides.get(entry.fold or 0, 1)
    there = [entry for entry in by_name.values() if all(path.is_file() for path in theirs.files(entry))]
    assert len(there) > 50
    for entry in there:  # 500 Hz; of a sample with more files of 100 Hz our reader would list those
        assert ours.files(entry) == theirs.files(entry)
        one, other_recording = ours.read(entry), theirs.read(entry)
        assert one.fs == other_recording.fs == 500
        assert np.array_equal(one.signal, other_recording.signal)


def test_titles_and_where_to_get_the_data_are_no_part_of_the_reading(sph: Path, opened: Open) -> None:
    dataset = opened("ecgbench:sph", sph)
    reading = dataset.listing().reading
    for changed in ({"how_to_get": "ask"}, {"title": "Other"}):
        same = ECGBenchDataset(dataset.card.model_copy(update=changed), sph)
        assert same.listing().reading == reading
    other = ECGBenchDataset(dataset.card.model_copy(update={"leave_out": ["records/A00000"]}), sph)
    assert other.listing().reading != reading


def test_the_columns_of_sex_and_age_are_those_of_the_datasets_tables() -> None:
    assert SEX == ("sex", "Sex", "gender", "Gender")
    assert AGE == ("age", "age_years", "age_at_ecg", "PatientAge")
