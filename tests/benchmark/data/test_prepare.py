"""Preparation and its cache: the same content whatever the workers, made once until a file changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data import prepare as module
from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.wfdb_files import WFDBFolder
from benchmark.data.heartbeats import heartbeats
from benchmark.data.prepare import (
    Prepared,
    cached,
    key_listing,
    open_prepared,
    prepare,
)
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.signals import outline_of, signal_digest, signal_doubts
from benchmark.data.simulate import SimulatedDataset, cohorts
from tests.benchmark.tables import rows_of


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, make_ecg: Callable[..., np.ndarray], write_record: Any) -> Path:
    """Four recordings: two usable ones, one that beats too slowly, one that is missing its signal."""
    folder = tmp_path_factory.mktemp("recorded") / "cpsc2018"
    for name, rate, label in [("A0001", 75, "AF"), ("A0002", 40, "PVC"), ("A0003", 90, "Normal"), ("A0004", 75, "STE")]:
        write_record(folder / "Training_WFDB" / name, make_ecg(rate=rate), comments=[f"Dx: {label}"], mat=True)
    (folder / "Training_WFDB" / "A0004.mat").unlink()
    for path in folder.rglob("*.*"):
        os.utime(path, (1, 1))
    return folder


@pytest.fixture
def dataset(recorded: Path, tmp_path: Path) -> CPSC2018:
    """A copy of them to change."""
    return CPSC2018(shutil.copytree(recorded, tmp_path / "cpsc2018"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def same(a: Prepared, b: Prepared) -> bool:
    tables = rows_of(a.listed), rows_of(b.listed)
    return a.fingerprint == b.fingerprint and np.array_equal(a.windows, b.windows) and tables[0] == tables[1]


CROPS = Segmentation("recordings", 625, stride=625)


@pytest.mark.parametrize("segmentation", [HEARTBEATS, CROPS])
def test_windows_lie_recording_after_recording(dataset: CPSC2018, cache: Path, segmentation: Segmentation) -> None:
    prepared = prepare(dataset, cache, workers=1, segmentation=segmentation)
    beats = segmentation == HEARTBEATS
    assert [*prepared.recordings.recording] == ["A0001", *(["A0002"] if not beats else []), "A0003"]
    assert prepared.windows.dtype == np.float16
    entries = {entry.recording: entry for entry in dataset.listing().entries}
    for index, row in enumerate(rows_of(prepared.recordings)):
        entry = entries[row.recording]
        recording = dataset.read(entry)
        if beats:
            expected = heartbeats(recording.signal, recording.fs).windows
        else:
            expected = CROPS.cut(recording.signal, recording.fs)
        np.testing.assert_array_equal(prepared.windows_of(index), expected.astype(np.float16))
        content, outline = signal_digest(recording.signal), outline_of(recording.signal)
        doubts = "\n".join(signal_doubts(recording.signal, 500, raw=False))
        facts = {"samples": 5000, "digest": content, "outline": outline, "doubts": doubts, "windows": len(expected)}
        assert row == replace(entry, fs=500, **facts)
    assert (prepared.name, prepared.title, prepared.classes) == ("cpsc2018", "CPSC2018", CPSC2018.classes)
    slow = ("A0002", "A0002", (6,), "heart rate below 50/min: median RR 375 samples at 250 Hz")
    missing = ("A0004", "A0004", (8,), "file missing: signal")
    skipped = [(row.recording, row.patient, row.labels, row.reason) for row in rows_of(prepared.skipped)]
    assert skipped == ([slow, missing] if beats else [missing])
    if not beats:
        assert prepare(dataset, cache, workers=1).fingerprint != prepared.fingerprint


def test_a_warm_cache_is_read_until_a_file_changes(
    dataset: CPSC2018, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cached(dataset, cache, dataset.listing(), HEARTBEATS) is None
    first = prepare(dataset, cache, workers=1)
    with monkeypatch.context() as patch:
        patch.delattr(WFDBFolder, "read")
        assert same(prepare(dataset, cache, workers=1), first)
        copy = CPSC2018(shutil.copytree(dataset.root, tmp_path / "copy"))  # with its files' times
        assert prepare(copy, cache, workers=1).folder == first.folder
    for path in dataset.root.rglob("A0001.hea"):
        os.utime(path, (2, 2))
    assert cached(dataset, cache, dataset.listing(), HEARTBEATS) is None
    again = prepare(dataset, cache, workers=1)
    assert (again.folder == first.folder, again.fingerprint) == (False, first.fingerprint)


def test_a_further_file_prepares_nothing_anew(dataset: CPSC2018, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare(dataset, cache, workers=1)
    listing = replace(dataset.listing(), notes=("1 file beside the signals",))
    monkeypatch.setattr(dataset, "listing", lambda: listing)
    monkeypatch.delattr(WFDBFolder, "read")
    assert same(prepare(dataset, cache, workers=1), first)


def test_the_number_of_workers_changes_nothing(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = prepare(dataset, tmp_path / "one", workers=1)
    monkeypatch.setattr(module, "WORTH_A_WORKER", 1)
    monkeypatch.setattr(module, "CHUNK", 1)
    shared = prepare(dataset, tmp_path / "two", workers=2)
    assert same(alone, shared)
    assert alone.folder.name == shared.folder.name


@pytest.mark.parametrize("change", ["package", "signal", "rate", "label"])
def test_what_changes_the_fingerprint(
    dataset: CPSC2018,
    cache: Path,
    make_ecg: Callable[..., np.ndarray],
    write_record: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    """Versions and places alone do not, so that results are found again."""
    before = prepare(dataset, cache, workers=1)
    record = dataset.root / "Training_WFDB" / "A0001"
    if change == "package":
        monkeypatch.setattr(module, "version", lambda name: "0.0")
    elif change == "label":
        record.with_suffix(".hea").write_text(record.with_suffix(".hea").read_text().replace("Dx: AF", "Dx: PAC"))
    elif change == "rate":
        record.with_suffix(".hea").write_text(record.with_suffix(".hea").read_text().replace(" 500 ", " 501 "))
    else:
        write_record(record, make_ecg(rate=80), comments=["Dx: AF"], mat=True)
    after = prepare(dataset, cache, workers=1)
    assert after.folder != before.folder
    assert (after.fingerprint == before.fingerprint) == (change == "package")
    assert np.array_equal(after.recordings.windows, before.recordings.windows) or change in ("signal", "rate")


def test_a_fingerprint_is_of_what_windows_are_computed_from(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another processor rounds windows differently, and finds a recording just too slow that was not."""
    cohort, cut = SimulatedDataset("chapman", 3), Segmentation.cut

    def rounded(segmentation: Segmentation, signal: NDArray[Any], fs: float) -> NDArray[Any]:
        if np.ptp(signal) < 1e-3 * limit:
            raise Unusable("just too slow")
        return cut(segmentation, signal, fs) * np.float32(1.001)

    before = [prepare(data, tmp_path / "before", workers=1) for data in (dataset, cohort)]
    for limit in (0, 1e9):
        with monkeypatch.context() as patch:
            patch.setattr(Segmentation, "cut", rounded)
            after = [prepare(data, tmp_path / f"{limit}", workers=1) for data in (dataset, cohort)]
        for one, other in zip(before, after, strict=True):
            assert not np.array_equal(one.windows, other.windows)
            assert one.fingerprint == other.fingerprint
    reseeded = SimulatedDataset("chapman", 3, seed=2)
    assert prepare(reseeded, tmp_path / "seed", workers=1).fingerprint != before[1].fingerprint
    monkeypatch.setattr(cohorts, "SIMULATOR_VERSION", 0)
    assert prepare(cohort, tmp_path / "version", workers=1).fingerprint != before[1].fingerprint


@pytest.mark.parametrize("name", ["windows.f16", "index.safetensors"])
def test_a_cache_that_is_cut_off_or_gone_is_made_anew(dataset: CPSC2018, cache: Path, name: str) -> None:
    before = prepare(dataset, cache, workers=1)
    content = (before.folder / name).read_bytes()
    (before.folder / name).write_bytes(content[:-10])
    prepare(dataset, cache, workers=1)
    assert (before.folder / name).read_bytes() == content
    (before.folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=str(before.folder)):
        open_prepared(before.folder)
    prepare(dataset, cache, workers=1)
    assert open_prepared(before.folder) is open_prepared(before.folder)


def test_a_simulated_dataset_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cohort(**settings: Any) -> SimulatedDataset:
        return SimulatedDataset("mimic-iv-ecg", 2, **settings)

    prepared = prepare(cohort(), tmp_path, workers=1)
    assert prepared.simulated
    assert all(prepared.recordings.report)
    other = prepare(cohort(report_errors=0.0), tmp_path, workers=1)
    assert other.folder != prepared.folder
    assert np.array_equal(other.windows, prepared.windows)
    monkeypatch.setattr(SimulatedDataset, "listing", None)
    monkeypatch.setattr(SimulatedDataset, "read", None)
    assert same(prepare(cohort(), tmp_path, workers=1), prepared)
    assert cached(cohort(noise=0.5), tmp_path, key_listing(cohort()), HEARTBEATS) is None


def test_an_interrupted_preparation_leaves_nothing_behind(dataset: CPSC2018, tmp_path: Path):
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(dataset, tmp_path / "cache", workers=1, on_progress=interrupt)
    assert list((tmp_path / "cache").iterdir()) == []
    assert len(prepare(dataset, tmp_path / "cache", workers=1).recordings) == 2


def test_a_prefix_reads_only_that_part(dataset: CPSC2018, tmp_path: Path):
    whole = prepare(dataset, tmp_path / "cache", workers=1)
    part = prepare(dataset, tmp_path / "cache", workers=1, prefix=whole.recordings.path[0][:-1] + "1")
    assert [*part.recordings.recording] == ["A0001"]
    assert not same(whole, part)
    with pytest.raises(DatasetError, match=r"4 recordings .*'elsewhere/'"):
        prepare(dataset, tmp_path / "cache", workers=1, prefix="elsewhere/")
