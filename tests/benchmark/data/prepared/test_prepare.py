"""Preparation and its cache: same content whatever the workers, redone when files change or the cache is damaged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from benchmark.data.prepared import cache_key, cutting
from benchmark.data.prepared import load as load_module
from benchmark.data.prepared import prepare as prepare_module
from benchmark.data.prepared.beats import heartbeats
from benchmark.data.prepared.cutting import Signal, signal_digest
from benchmark.data.prepared.load import INDEX_FORMAT, Prepared, load_prepared
from benchmark.data.prepared.prepare import cached, prepare
from benchmark.data.prepared.skipped import Skipped, skip_summary
from benchmark.data.prepared.windows import plain_seconds, plain_windows
from benchmark.data.readers.base import DatasetError, Listing
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.readers.ptb_xl import PTBXL
from benchmark.data.readers.simulated import SIMULATED_MARK
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.results.files import verify


@pytest.fixture
def dataset(tmp_path: Path, make_ecg: Callable[..., np.ndarray], write_record: Callable[..., Path]) -> CPSC2018:
    """Four recordings: two usable ones, one that beats too slowly, one that is missing its signal."""
    folder = tmp_path / "cpsc2018" / "Training_WFDB"
    for name, rate, label in [("A0001", 75, "AF"), ("A0002", 40, "PVC"), ("A0003", 90, "Normal"), ("A0004", 75, "STE")]:
        write_record(folder / name, make_ecg(rate=rate), comments=[f"Dx: {label}"], mat=True)
    (folder / "A0004.mat").unlink()
    return CPSC2018(tmp_path / "cpsc2018")


def same(a: Prepared, b: Prepared) -> bool:
    return a.fingerprint == b.fingerprint and np.array_equal(a.windows, b.windows) and a.entries == b.entries


def test_beats_lie_recording_after_recording(dataset: CPSC2018, tmp_path: Path):
    prepared = prepare(dataset, tmp_path / "cache", workers=1)
    assert [entry.recording for entry in prepared.entries] == ["A0001", "A0003"]
    assert prepared.windows.shape == (prepared.first_window[-1], 300, 12)
    assert prepared.windows.dtype == np.float16
    for index, entry in enumerate(prepared.entries):
        recording = dataset.read(entry)
        expected = heartbeats(recording.signal, recording.fs).windows.astype(np.float16)
        first, end = prepared.first_window[index : index + 2]
        np.testing.assert_array_equal(prepared.windows[first:end], expected)
    assert (prepared.name, prepared.title, prepared.classes) == ("cpsc2018", "CPSC2018", CPSC2018.classes)


def test_signals_of_the_usable_recordings_are_kept_in_brief(dataset: CPSC2018, tmp_path: Path):
    prepared = prepare(dataset, tmp_path / "cache", workers=1)
    digests = [signal_digest(dataset.read(entry).signal) for entry in prepared.entries]
    assert prepared.signals == tuple(Signal(500.0, 5000, digest) for digest in digests)
    assert len(set(digests)) == 2


def test_a_cache_of_another_format_is_made_anew(dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    for module in (prepare_module, load_module):
        monkeypatch.setattr(module, "INDEX_FORMAT", INDEX_FORMAT + 1)
    assert load_prepared(before.folder) is None
    assert same(before, prepare(dataset, tmp_path / "cache", workers=1))
    assert load_prepared(before.folder) is not None


def test_skipped_recordings_keep_patient_label_and_reason(dataset: CPSC2018, tmp_path: Path):
    slow, missing = prepare(dataset, tmp_path / "cache", workers=1).skipped
    assert slow == Skipped("A0002", "A0002", (6,), "heart rate below 50/min: median RR 375 samples at 250 Hz")
    assert missing == Skipped("A0004", "A0004", (8,), "file missing: signal")


def test_a_warm_cache_is_read_and_no_signal_is(dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = prepare(dataset, tmp_path / "cache", workers=1)
    monkeypatch.delattr(CPSC2018, "read")
    assert same(first, prepare(dataset, tmp_path / "cache", workers=1))


def test_progress_counts_every_recording(dataset: CPSC2018, tmp_path: Path):
    seen: list[tuple[int, int]] = []
    prepare(dataset, tmp_path / "cache", workers=1, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_reading_for_the_key_is_counted_once_per_change(dataset: CPSC2018, tmp_path: Path):
    """Four headers and three signals; new ones for `prepare`, touched ones for `cached`."""
    seen: list[tuple[int, int]] = []

    def on_reading(done: int, total: int) -> None:
        seen.append((done, total))

    for path in dataset.root.rglob("*.*"):
        os.utime(path, (1, 1))
    prepare(dataset, tmp_path / "cache", workers=1, on_reading=on_reading)
    assert seen == [(done, 7) for done in range(8)]
    os.utime(dataset.root / "Training_WFDB" / "A0001.hea", (2, 2))
    cached(dataset, tmp_path / "cache", dataset.listing(), on_reading=on_reading)
    assert seen[8:] == [(0, 1), (1, 1)]


def test_the_number_of_workers_changes_nothing(dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    alone = prepare(dataset, tmp_path / "one", workers=1)
    monkeypatch.setattr(cutting, "WORTH_A_WORKER", 1)
    monkeypatch.setattr(cutting, "CHUNK", 1)
    shared = prepare(dataset, tmp_path / "two", workers=2)
    assert same(alone, shared)
    assert alone.folder.name == shared.folder.name


def test_another_version_of_a_package_prepares_anew_and_equal_windows_keep_their_results(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    monkeypatch.setattr(cache_key, "version", lambda name: "0.0" if name == "numpy" else version(name))
    after = prepare(dataset, tmp_path / "cache", workers=1)
    assert after.folder != before.folder
    assert same(before, after)  # and the fingerprint is all of the data that a result's key holds


def test_a_copied_or_touched_folder_finds_its_prepared_data(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    monkeypatch.delattr(CPSC2018, "read")
    copy = CPSC2018(shutil.copytree(dataset.root, tmp_path / "copy"))
    for path in dataset.root.rglob("*.*"):
        os.utime(path, (1, 1))
    for same_data in (copy, dataset):
        assert prepare(same_data, tmp_path / "cache", workers=1).folder == before.folder
        assert cached(same_data, tmp_path / "cache", same_data.listing()) is not None


def test_without_reading_only_what_was_read_before_is_found(dataset: CPSC2018, tmp_path: Path):
    for path in dataset.root.rglob("*.*"):
        os.utime(path, (1, 1))
    prepare(dataset, tmp_path / "cache", workers=1)
    listing = dataset.listing()
    assert cached(dataset, tmp_path / "cache", listing, read=False) is not None
    os.utime(dataset.root / "Training_WFDB" / "A0001.hea", (2, 2))
    assert cached(dataset, tmp_path / "cache", listing, read=False) is None
    assert cached(dataset, tmp_path / "cache", listing) is not None


def test_nothing_is_read_for_an_empty_cache(dataset: CPSC2018, tmp_path: Path):
    assert cached(dataset, tmp_path / "cache", dataset.listing()) is None
    assert not (tmp_path / "cache").exists()


def test_as_many_windows_of_other_values_have_another_fingerprint(
    dataset: CPSC2018, tmp_path: Path, make_ecg: Callable[..., np.ndarray], write_record: Callable[..., Path]
):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    signal = make_ecg(rate=75)
    signal[:, -1] *= -1
    write_record(dataset.root / "Training_WFDB" / "A0001", signal, comments=["Dx: AF"], mat=True)
    after = prepare(dataset, tmp_path / "cache", workers=1)
    assert after.entries == before.entries
    assert np.array_equal(after.first_window, before.first_window)
    assert after.fingerprint != before.fingerprint


def test_a_changed_signal_is_noticed(dataset: CPSC2018, tmp_path: Path, make_ecg, write_record):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    record = dataset.root / "Training_WFDB" / "A0001"
    write_record(record, make_ecg(rate=80), comments=["Dx: AF"], mat=True)
    after = prepare(dataset, tmp_path / "cache", workers=1)
    assert after.folder != before.folder
    assert after.fingerprint != before.fingerprint


def test_a_changed_label_changes_the_fingerprint(dataset: CPSC2018, tmp_path: Path):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    header = dataset.root / "Training_WFDB" / "A0001.hea"
    header.write_text(header.read_text().replace("Dx: AF", "Dx: PAC"))
    after = prepare(dataset, tmp_path / "cache", workers=1)
    assert np.array_equal(after.windows, before.windows)
    assert after.fingerprint != before.fingerprint


def test_where_the_files_lie_is_not_in_the_fingerprint(dataset: CPSC2018, tmp_path: Path):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    inside = CPSC2018(dataset.root / "Training_WFDB")
    assert prepare(inside, tmp_path / "cache", workers=1).fingerprint == before.fingerprint


@pytest.mark.attack("prepared data damaged, cut or swapped")
@pytest.mark.parametrize("name", ["windows.f16", "index.json", "index.sha256"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_cache_is_made_anew(dataset: CPSC2018, tmp_path: Path, name: str, damage: str):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    file = before.folder / name
    content = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(content[:-10])
    after = prepare(dataset, tmp_path / "cache", workers=1)
    assert file.read_bytes() == content
    assert after.fingerprint == before.fingerprint


@pytest.mark.attack("prepared data damaged, cut or swapped")
@pytest.mark.parametrize("name", ["windows.f16", "index.json", "index.sha256"])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.999])
def test_a_flipped_bit_is_noticed_and_told(
    dataset: CPSC2018,
    tmp_path: Path,
    name: str,
    share: float,
    flip: Callable[[Path, float], None],
    caplog: pytest.LogCaptureFixture,
):
    before = prepare(dataset, tmp_path / "cache", workers=1)
    before = replace(before, windows=np.array(before.windows))
    file = before.folder / name
    content = file.read_bytes()
    flip(file, share)
    assert same(prepare(dataset, tmp_path / "cache", workers=1), before)
    assert file.read_bytes() == content
    (line,) = caplog.messages
    wrong = "windows.f16" if name == "windows.f16" else "index.json"
    assert line.startswith(f"{before.folder}: {wrong} does not match ")
    assert line.endswith("it is not used, and prepared again from the recordings")


@pytest.mark.attack("prepared data damaged, cut or swapped")
def test_a_swapped_file_or_folder_is_refused(
    dataset: CPSC2018, tmp_path: Path, make_ecg, write_record, caplog: pytest.LogCaptureFixture
):
    cache = tmp_path / "cache"
    first = prepare(dataset, cache, workers=1)
    windows = np.array(first.windows)
    write_record(dataset.root / "Training_WFDB" / "A0001", make_ecg(rate=75) ** 2, comments=["Dx: AF"], mat=True)
    second = prepare(dataset, cache, workers=1)
    assert first.windows.shape == second.windows.shape
    (first.folder / "windows.f16").replace(second.folder / "windows.f16")
    assert same(prepare(dataset, cache, workers=1), second)
    assert not np.array_equal(prepare(dataset, cache, workers=1).windows, windows)
    shutil.rmtree(first.folder)
    second.folder.rename(first.folder)
    assert load_prepared(first.folder) is None
    assert f"{first.folder}: index.json is that of {second.folder.name};" in caplog.text


def test_windows_are_read_once_per_change(dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = prepare(dataset, tmp_path / "cache", workers=1).folder
    monkeypatch.setattr(verify, "FRESH_NS", -1)
    read: list[str] = []

    def counted(file: IO[bytes], kind: str) -> object:
        read.append(file.name)
        return file_digest(file, kind)

    monkeypatch.setattr(verify.hashlib, "file_digest", counted)
    for _ in range(3):
        assert load_prepared(folder) is not None
    assert read == [str(folder / "windows.f16")]
    os.utime(folder / "windows.f16", ns=(1, 1))
    assert load_prepared(folder) is not None
    assert len(read) == 2


@pytest.mark.attack("simulated data passed off as real")
def test_a_mark_deleted_later_does_not_make_it_real(dataset: CPSC2018, tmp_path: Path):
    (dataset.root / SIMULATED_MARK).touch()
    assert prepare(dataset, tmp_path / "cache", workers=1).simulated
    (dataset.root / SIMULATED_MARK).unlink()
    assert prepare(dataset, tmp_path / "cache", workers=1).simulated
    assert not prepare(dataset, tmp_path / "another cache", workers=1).simulated
    (dataset.root / SIMULATED_MARK).touch()
    assert prepare(dataset, tmp_path / "another cache", workers=1).simulated


@pytest.mark.attack("simulated data passed off as real")
def test_a_simulated_cohort_is_known_without_its_mark(tmp_path: Path):
    write_cohort("cpsc2018", tmp_path / "cpsc2018", CohortSettings(patients=2), seed=1)
    (tmp_path / "cpsc2018" / SIMULATED_MARK).unlink()
    assert prepare(CPSC2018(tmp_path / "cpsc2018"), tmp_path / "cache", workers=1).simulated


def test_an_interrupted_preparation_leaves_nothing_behind(dataset: CPSC2018, tmp_path: Path):
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(dataset, tmp_path / "cache", workers=1, on_progress=interrupt)
    assert [path.name for path in (tmp_path / "cache").iterdir()] in ([], ["stamps"])
    assert len(prepare(dataset, tmp_path / "cache", workers=1).entries) == 2


def test_without_a_usable_recording_it_comes_out_empty_with_the_reasons(dataset: CPSC2018, tmp_path: Path):
    for name in ("A0001", "A0003"):
        (dataset.root / "Training_WFDB" / f"{name}.mat").unlink()
    for prepared in (prepare(dataset, tmp_path / "cache", workers=1) for _ in range(2)):  # made, then from the cache
        assert prepared.windows.shape == (0, 300, 12)
        assert not prepared.entries
        assert skip_summary(prepared.skipped) == {"file missing": 3, "heart rate below 50/min": 1}


def test_plain_windows_are_kept_apart_from_heartbeats(dataset: CPSC2018, tmp_path: Path):
    beats = prepare(dataset, tmp_path / "cache", workers=1)
    plain = prepare(dataset, tmp_path / "cache", workers=1, segmentation=plain_seconds(2.5))
    assert plain.segmentation == plain_seconds(2.5)
    assert plain.windows.shape[1:] == (625, 12)
    assert plain.fingerprint != beats.fingerprint
    assert same(prepare(dataset, tmp_path / "cache", workers=1), beats)
    for index, entry in enumerate(plain.entries):
        recording = dataset.read(entry)
        expected = plain_windows(recording.signal, recording.fs, 625).astype(np.float16)
        first, end = plain.first_window[index : index + 2]
        np.testing.assert_array_equal(plain.windows[first:end], expected)
    assert "heart rate below 50/min" not in skip_summary(plain.skipped)


class FirstTen(PTBXL):
    """PTB-XL's first ten recordings."""

    def listing(self) -> Listing:
        listing = super().listing()
        return replace(listing, entries=listing.entries[:10])


def test_real_recordings(shared_ecgs: Path, tmp_path: Path):
    prepared = prepare(FirstTen(shared_ecgs / "ptb-xl"), tmp_path, workers=1)
    assert prepared.form == "records100"
    assert len(prepared.entries) + len(prepared.skipped) == 10
    assert [skip.recording for skip in prepared.skipped] == ["2"]
    assert np.isfinite(prepared.windows).all()


def test_what_the_tables_rule_out_alone_is_skipped_by_its_name(dataset: CPSC2018, tmp_path: Path):
    """No entry is left, so that no file is read and nothing else makes the cache's folder."""
    empty = Listing((), (("A0009", "not in REFERENCE.csv"),), "a form", ("another",), ("odd",))
    dataset.listing = lambda: empty  # type: ignore[method-assign]
    prepared = prepare(dataset, tmp_path / "new" / "cache", workers=1)
    assert prepared.skipped == (Skipped("A0009", "A0009", (), "not in REFERENCE.csv"),)
    assert (prepared.form, prepared.others, prepared.warnings) == ("a form", ("another",), ("odd",))
    assert prepared.how_to_get == CPSC2018.how_to_get


def test_an_index_is_kept_without_blanks(dataset: CPSC2018, tmp_path: Path):
    """MIMIC-IV-ECG's holds 800 000 recordings."""
    content = (prepare(dataset, tmp_path / "cache", workers=1).folder / "index.json").read_text()
    assert content == json.dumps(json.loads(content), separators=(",", ":"))


def test_a_prefix_reads_only_that_part(dataset: CPSC2018, tmp_path: Path):
    whole = prepare(dataset, tmp_path / "cache", workers=1)
    part = prepare(dataset, tmp_path / "cache", workers=1, prefix=whole.entries[0].path[:-1] + "1")
    assert [entry.recording for entry in part.entries] == ["A0001"]
    assert not same(whole, part)
    with pytest.raises(DatasetError, match=r"none of 4 recordings .* 'elsewhere/'"):
        prepare(dataset, tmp_path / "cache", workers=1, prefix="elsewhere/")


def test_a_process_that_finishes_second_takes_what_the_first_has_made(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def second(unfinished: Path, folder: Path) -> Path:
        monkeypatch.undo()
        first.append(prepare(dataset, tmp_path / "cache", workers=1))
        return rename(unfinished, folder)

    first: list[Prepared] = []
    monkeypatch.setattr(Path, "rename", second)
    assert same(prepare(dataset, tmp_path / "cache", workers=1), first[0])
    assert [path for path in (tmp_path / "cache").iterdir() if path.name.endswith(".tmp")] == []


def test_a_process_leaves_what_another_has_finished_meanwhile(dataset: CPSC2018, tmp_path: Path) -> None:
    first: list[Prepared] = []

    def and_the_other(done: int, total: int) -> None:
        if not first:
            first.append(prepare(dataset, tmp_path / "cache", workers=1))
            inode.append(first[0].folder.stat().st_ino)

    inode: list[int] = []
    assert same(prepare(dataset, tmp_path / "cache", workers=1, on_progress=and_the_other), first[0])
    assert first[0].folder.stat().st_ino == inode[0]


def test_a_folder_that_cannot_be_put_in_place_says_why(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(unfinished: Path, folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError):
        prepare(dataset, tmp_path / "cache", workers=1)


def test_a_disk_that_keeps_half_is_told(dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def lose_the_end(unfinished: Path, folder: Path) -> Path:
        os.truncate(unfinished / "windows.f16", 1000)
        return rename(unfinished, folder)

    monkeypatch.setattr(Path, "rename", lose_the_end)
    with pytest.raises(DatasetError, match=r"^CPSC2018: .*/cache/[0-9a-f]{16} is damaged right after it was written"):
        prepare(dataset, tmp_path / "cache", workers=1)


def by_hand(prepared: Prepared, **rule: bool) -> str:
    """The fingerprint of what a folder of the cache holds, without paths, sex, age and statements."""
    index = json.loads((prepared.folder / "index.json").read_bytes())
    hashed = {name: index[name] for name in ("name", "classes", "segmentation", "first_window")} | rule
    for part, told in (("entries", ("path", "sex", "age", "statements")), ("skipped", ("statements",))):
        hashed[part] = [{name: value for name, value in one.items() if name not in told} for one in index[part]]
    content = json.dumps([index["windows_sha256"], hashed], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def test_statements_are_kept_and_are_in_no_fingerprint(tmp_path: Path) -> None:
    write_cohort("ptb-xl", tmp_path / "ptb-xl", CohortSettings(6), seed=1)
    prepared = prepare(PTBXL(tmp_path / "ptb-xl"), tmp_path / "cache", workers=1)
    assert all(entry.statements for entry in prepared.entries)
    assert prepared.fingerprint == by_hand(prepared)


@pytest.mark.parametrize(("name", "first", "rule"), [
    ("own", True, {"first_label_counts": True}), ("own", False, {}), ("cpsc2018", True, {}),
])  # fmt: skip
def test_the_rule_of_the_first_label_is_in_the_fingerprint_where_the_name_does_not_tell_it(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: bool, rule: dict[str, bool]
) -> None:
    monkeypatch.setattr(CPSC2018, "name", name)
    monkeypatch.setattr(CPSC2018, "first_label_counts", first)
    prepared = prepare(dataset, tmp_path / "cache", workers=1)
    assert prepared.fingerprint == by_hand(prepared, **rule)
    assert prepared.first_label_counts == first
