"""What a word or card leaves open is decided before the run; what cannot be decided is one line with the choices.

Public datasets by the package ecgbench: signals in mV, labels, patients, sides, and nothing written beside them.

Labels of a cell in the forms that ECGBench's tables have, and the labels that enough patients have.

ECGBench's references to signals, and text files with a line a lead.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from benchmark.cli import VERBS
from benchmark.config.command_line import Verb, parse, refuse_unknown
from benchmark.config.config import Config, validate
from benchmark.config.errors import ConfigError
from benchmark.config.flags import config_of, place_of
from benchmark.config.words import load_card, names_of
from benchmark.data.datasets import ecgbench
from benchmark.data.datasets.base import LEADS, DatasetError, Unusable
from benchmark.data.datasets.ecgbench import (
    ECGBenchDataset,
    ECGBenchSource,
    Reference,
    counted,
    flags,
    meaning_of,
    read_signal,
    reference_of,
    stated,
)
from benchmark.data.datasets.ecgbench import config_of as signals_config_of
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG
from benchmark.data.datasets.ptb_xl import PTBXL
from benchmark.data.simulate import CohortSettings, write_cohort
from tests.benchmark.data.datasets.cards.ecgbench.conftest import PADDED, SPH

VERBS: dict[str, Verb] = {"run": VERBS["run"]}


def read(*words: str | Path) -> Config:
    verb, arguments = parse(VERBS, ["run", *map(str, words)])
    refuse_unknown(verb, arguments)
    return config_of(arguments)


def refusal(word: str, root: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_card(word, None, root)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def written(path: Path, **keys: Any) -> str:
    path.write_text(json.dumps({"kind": "ecgbench", **keys}))
    return str(path)


def test_a_word_is_a_card_with_counted_classes_in_the_config(sph: Path) -> None:
    config = read(
        "--datasets", "ecgbench:sph", "ptb-xl", "--pretrain-dataset", "ecgbench:sph", "--data-root", sph.parent
    )
    assert (config.data.datasets, config.data.pretrain) == (["ecgbench-sph", "ptb-xl"], "ecgbench-sph")
    assert config.data.simulation is None
    card = config.data.cards["ecgbench-sph"]
    assert isinstance(card, ECGBenchSource)
    assert card.labels is not None
    assert (card.labels.field, card.labels.separator, card.classes) == ("aha_primary_codes", ";", ("1", "22", "60"))
    assert (card.title, card.split, card.labels.least_patients) == ("SPH", "theirs", 10)
    assert "licence CC BY 4.0; cite Liu, H." in card.how_to_get
    assert card.licence == "CC BY 4.0"
    stored = json.loads(json.dumps(config.model_dump(mode="json")))
    assert str(sph) not in json.dumps(stored)
    assert validate(stored) == config  # without the folder, and without the package


@pytest.mark.parametrize("dataset", ["SPH!", "", "../sph"])
def test_what_is_no_name_of_a_dataset_is_none_of_the_package(dataset: str) -> None:
    with pytest.raises(ValidationError, match=r"a dataset in the package ecgbench was expected, e\.g\. sph"):
        ECGBenchSource.model_validate({"kind": "ecgbench", "name": "sph", "dataset": dataset})


def test_the_number_of_patients_decides_the_classes(sph: Path) -> None:
    fewer = written(sph / "fewer.yaml", dataset="sph", labels={"least_patients": 11})
    assert load_card(fewer, None, sph.parent).classes == ("1", "22")
    none = written(sph / "none.yaml", dataset="sph", labels={"least_patients": 21})
    assert "0 have at least 21 patients" in refusal(none, sph.parent)
    (sph / "one.yaml").write_text("kind: ecgbench\ndataset: sph\nlabels: {field: aha_primary_categories}\n")
    read_card = load_card(str(sph / "one.yaml"), {"ecgbench-sph": sph})
    assert read_card.classes == ("A", "C", "F")


def test_a_card_s_folder_is_its_dataset_s(sph: Path) -> None:
    word = written(sph / "mine.yaml", dataset="sph", name="mine")
    verb, arguments = parse(VERBS, ["run", "--datasets", word, "--pretrain-dataset", word])
    refuse_unknown(verb, arguments)
    assert config_of(arguments).data.datasets == ["mine"]
    assert place_of(arguments).paths == {"mine": sph}
    assert names_of([word, "ecgbench:sph:x", "chapman"]) == ["mine", "ecgbench-sph", "chapman"]


def test_classes_of_the_package_need_no_folder() -> None:
    assert load_card("ecgbench:challenge2021").classes[:3] == ("AF", "AFL", "BBB")
    assert load_card("ecgbench:cpsc_2018:dx").classes[0] == "426783006"
    assert load_card("ecgbench:code15:none").classes == ()
    assert load_card("ecgbench:ikem").classes == ()


def test_columns_of_yes_and_no_are_classes(tmp_path: Path) -> None:
    fields = ["lvef_lte_45_flag", "pasp_gte_45_flag"]
    card = load_card(written(tmp_path / "card.yaml", dataset="echonext", labels={"field": fields}))
    assert card.classes == tuple(fields)
    word = written(tmp_path / "card.yaml", dataset="echonext", labels={"field": fields, "classes": ["a", "b"]})
    assert "'a' is not in labels.field" in refusal(word)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("ecgbench:sphh", ["unknown dataset 'sphh' of ecgbench (did you mean 'sph'?)"]),
        ("ecgbench:", ["unknown dataset ''"]),
        ("ecgbench:mitdb", ["not the twelve leads: 2 (MLII, V1)", "docs/DATA.md"]),
        ("ecgbench:ludb", ["your choice: ecgbench:ludb:rhythms, ", "ecgbench:ludb:none"]),
        ("ecgbench:sph:stratify_code", ["made to balance folds", "ecgbench:sph:aha_primary_codes"]),
        ("ecgbench:sph", ["its classes are counted in its labels", "--data ecgbench-sph=DIR"]),
    ],
)
def test_what_cannot_be_decided_is_one_line(word: str, parts: Sequence[str]) -> None:
    said = refusal(word)
    assert said.startswith(f"card {word}: ")
    assert all(part in said for part in parts), said


def test_an_unknown_column_is_named_with_those_that_are_there(sph: Path) -> None:
    said = refusal("ecgbench:sph:rhythm", sph.parent)
    assert "no column 'rhythm'; there are ecg_id, patient_id, age, sex" in said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"labels": {"classes": ["1", "2"], "others": 1}}, "unknown config key 'labels.others'"),
        ({"labels": {"classes": ["1", "1"]}}, "class '1' stands twice"),
        ({"labels": {"classes": ["1"]}}, "labels.classes"),
        ({"labels": {"classes": ["1", "2"]}, "split": "mine"}, "split: input should be 'theirs' or 'ours'"),
        ({"labels": None, "name": "Über"}, "name: a name has"),
        ({"labels": "aha"}, "labels: "),
    ],
)
def test_a_wrong_key_is_one_line(keys: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in refusal(written(tmp_path / "card.yaml", dataset="sph", **keys))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(ecgbench, "version", missing)
    assert refusal("ecgbench:sph").endswith("datasets of ecgbench need the package: pip install '.[datasets]'")
    with pytest.raises(DatasetError, match="datasets"):
        ecgbench.package_version()


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
    folds = ecgbench._folds
    monkeypatch.setattr(
        ecgbench, "_folds", lambda *given: {name: own for name, own in folds(*given).items() if name != "A00003"}
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


@pytest.mark.parametrize(
    ("cell", "separator", "labels"),
    [
        ("22;60;22", ";", ["22", "60"]),
        ("AF, LBBB,", ",", ["AF", "LBBB"]),
        ("RVOT", None, ["RVOT"]),
        (["MI", "STTC"], None, ["MI", "STTC"]),
        ({"NORM": 100.0, "SR": 0.0}, None, ["NORM", "SR"]),
        ([], None, []),
        ("", ",", []),
        (np.nan, ";", []),
        (None, None, []),
        (pd.NA, None, []),
        (np.int64(1), None, ["1"]),
        (1.0, None, ["1"]),
        (True, None, ["True"]),
    ],
)
def test_labels_of_a_cell(cell: Any, separator: str | None, labels: list[str]) -> None:
    assert stated(cell, separator) == labels


def test_columns_of_yes_and_no() -> None:
    row = {"a": 1, "b": 0.0, "c": "True", "d": np.nan, "e": pd.NA}
    assert flags(row, list("abcde")) == ["a", "c"]
    with pytest.raises(Unusable, match="neither yes nor no"):
        flags({"a": 2}, ["a"])


def test_a_class_needs_patients_not_recordings() -> None:
    rows = [("p1", ["AF"]), ("p1", ["AF"]), ("p1", ["10", "9"]), ("p2", ["9", "10"])]
    assert counted(iter(rows), 2) == ["9", "10"]
    assert counted(iter(rows), 1) == ["9", "10", "AF"]
    long = ["1" * 18, "2" * 17, "1" * 19]
    assert counted(iter([("p1", [*long, "AF"])]), 1) == ["2" * 17, "1" * 18, "1" * 19, "AF"]
    assert counted(iter([("p1", ["9" * 19, "8" + "0" * 19])]), 1) == ["8" + "0" * 19, "9" * 19], "as words"


@pytest.mark.parametrize(
    ("text", "form", "reference"),
    [
        ("training/g1/A0001.mat", "wfdb", Reference("training/g1/A0001.hea")),
        ("data/1", "wfdb", Reference("data/1.hea")),
        ("files/x.y/1.2", "wfdb", Reference("files/x.y/1.2.hea")),
        ("records/A1.h5", "hdf5", Reference("records/A1.h5")),
        ("records/A1.h5:ecg", "hdf5", Reference("records/A1.h5", "ecg")),
        ("parts.hdf5:tracings:417", "hdf5", Reference("parts.hdf5", "tracings", 417)),
        ("many.npy:7", "npy", Reference("many.npy", None, 7)),
        ("a:b/1.csv", "csv", Reference("a:b/1.csv")),
    ],
)
def test_references(text: str, form: str, reference: Reference) -> None:
    assert reference_of(text, form) == reference


def test_a_line_a_lead_without_names(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    ecg = make_ecg(seconds=2.0)
    np.savetxt(tmp_path / "run.csv", ecg.T, delimiter=",")
    config = signals_config_of("medalcare_xl")
    recording = read_signal(tmp_path, "run.csv", config)
    np.testing.assert_allclose(recording.signal, ecg, atol=1e-6)
    (tmp_path / "run.csv").write_text("1,2,3\n")
    with pytest.raises(Unusable, match="array has not one axis"):
        read_signal(tmp_path, "run.csv", config)
    (tmp_path / "run.csv").write_text("a,b\n")
    with pytest.raises(Unusable, match="unreadable or not numbers"):
        read_signal(tmp_path, "run.csv", config)


def test_a_lead_of_another_name_is_not_used() -> None:
    config = replace(signals_config_of("ikem"), lead_names=["I", "ii", "X", "V1"])
    assert meaning_of(config).leads == ["I", "II", "-", "V1"]


def test_eight_leads_determine_the_others(tmp_path: Path, make_ecg: Callable[..., Any]) -> None:
    ecg = make_ecg(seconds=2.0)
    stored = ecg[:, [6, 7, 8, 9, 10, 11, 1, 0]] * 1000  # V1 to V6, II, I in microvolts, as IKEM stores them
    with h5py.File(tmp_path / "many.h5", "w") as file:
        file["ecg"] = stored[None]
    recording = read_signal(tmp_path, "many.h5:ecg:0", signals_config_of("ikem"))
    np.testing.assert_allclose(recording.signal[:, [0, 1, 6, 11]], ecg[:, [0, 1, 6, 11]], atol=1e-6)
    np.testing.assert_allclose(recording.signal[:, 2], ecg[:, 1] - ecg[:, 0], atol=1e-6)


def test_limb_electrodes_and_raw_copies_are_not_taken_for_leads(
    tmp_path: Path, make_ecg: Callable[..., Any], write_record: Callable[..., Path]
) -> None:
    config = signals_config_of("wctecgdb")
    ecg = make_ecg(seconds=2.0, fs=800)
    column = {name: LEADS.index(name) for name in config.lead_names if name in LEADS}
    channels = [ecg[:, column[name]] if name in column else ecg[:, 5] * 3 for name in config.lead_names]
    write_record(tmp_path / "seg01", np.stack(channels, axis=1), fs=800, leads=config.lead_names)
    signal = read_signal(tmp_path, "seg01", config).signal  # (n, 12)
    measured = list(column.values())
    assert len(measured) == 9
    np.testing.assert_allclose(signal[:, measured], ecg[:, measured], atol=2e-3)
    np.testing.assert_allclose(signal[:, 3], -(signal[:, 0] + signal[:, 1]) / 2, atol=1e-6)
