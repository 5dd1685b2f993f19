"""Preparation and its cache: the same content whatever the workers, made once until a file changes.

Digests are of whole microvolts; exchanged, inverted and equal leads are seen, and nothing in real recordings.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from collections.abc import Callable
from itertools import combinations
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data import prepare as module
from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.wfdb_files import WFDBFolder, read_recording
from benchmark.data.heartbeats import heartbeats
from benchmark.data.prepare import (
    FLAT_BELOW_MV,
    IDENTICAL,
    LARGEST_ERROR,
    LIMB_LEADS,
    Prepared,
    SignalFacts,
    Skipped,
    cached,
    key_listing,
    lead_problem,
    open_prepared,
    outline_of,
    prepare,
    signal_digest,
)
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.simulate import SimulatedDataset, cohorts, simulate


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
    return a.fingerprint == b.fingerprint and np.array_equal(a.windows, b.windows) and a.entries == b.entries


CROPS = Segmentation("recordings", 625, stride=625)


@pytest.mark.parametrize("segmentation", [HEARTBEATS, CROPS])
def test_windows_lie_recording_after_recording_with_signals_and_reasons(
    dataset: CPSC2018, cache: Path, segmentation: Segmentation
) -> None:
    prepared = prepare(dataset, cache, workers=1, segmentation=segmentation)
    beats = segmentation == HEARTBEATS
    assert [entry.recording for entry in prepared.entries] == ["A0001", *(["A0002"] if not beats else []), "A0003"]
    assert prepared.windows.dtype == np.float16
    for index, entry in enumerate(prepared.entries):
        recording = dataset.read(entry)
        if beats:
            expected = heartbeats(recording.signal, recording.fs).windows
        else:
            expected = CROPS.cut(recording.signal, recording.fs)
        first, end = prepared.first_window[index : index + 2]
        np.testing.assert_array_equal(prepared.windows[first:end], expected.astype(np.float16))
        checks = (check(recording.signal) for check in (signal_digest, lead_problem, outline_of))
        assert prepared.signals[index] == SignalFacts(500.0, 5000, *checks)  # type: ignore[arg-type]
    assert (prepared.name, prepared.title, prepared.classes) == ("cpsc2018", "CPSC2018", CPSC2018.classes)
    slow = Skipped("A0002", "A0002", (6,), "heart rate below 50/min: median RR 375 samples at 250 Hz")
    missing = Skipped("A0004", "A0004", (8,), "file missing: signal")
    assert prepared.skipped == ((slow, missing) if beats else (missing,))
    if not beats:
        assert prepare(dataset, cache, workers=1).fingerprint != prepared.fingerprint


def test_a_warm_cache_is_read_until_a_file_changes_and_a_copy_is_recognised_by_its_fingerprint(
    dataset: CPSC2018, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cached(dataset, cache, dataset.listing()) is None
    first = prepare(dataset, cache, workers=1)
    with monkeypatch.context() as patch:
        patch.delattr(WFDBFolder, "read")
        assert same(prepare(dataset, cache, workers=1), first)
        copy = CPSC2018(shutil.copytree(dataset.root, tmp_path / "copy"))  # with its files' times
        assert prepare(copy, cache, workers=1).folder == first.folder
    for path in dataset.root.rglob("A0001.hea"):
        os.utime(path, (2, 2))
    assert cached(dataset, cache, dataset.listing()) is None
    again = prepare(dataset, cache, workers=1)
    assert (again.folder == first.folder, again.fingerprint) == (False, first.fingerprint)


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
    assert np.array_equal(after.first_window, before.first_window) or change in ("signal", "rate")


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


@pytest.mark.parametrize("name", ["windows.f16", "index.json"])
def test_a_cache_that_is_cut_off_or_gone_is_made_anew(dataset: CPSC2018, cache: Path, name: str) -> None:
    before = prepare(dataset, cache, workers=1)
    content = (before.folder / name).read_bytes()
    (before.folder / name).write_bytes(content[:-10])
    prepare(dataset, cache, workers=1)
    assert (before.folder / name).read_bytes() == content
    (before.folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{before.folder} are gone or damaged; the same command makes"):
        open_prepared(before.folder)
    prepare(dataset, cache, workers=1)
    assert open_prepared(before.folder) is open_prepared(before.folder)


def test_a_simulated_dataset_is_drawn_once_and_found_by_its_settings_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cohort(**settings: Any) -> SimulatedDataset:
        return SimulatedDataset("mimic-iv-ecg", 2, **settings)

    prepared = prepare(cohort(), tmp_path, workers=1)
    assert prepared.simulated
    assert all(entry.report for entry in prepared.entries)
    other = prepare(cohort(report_errors=0.0), tmp_path, workers=1)
    assert other.folder != prepared.folder
    assert np.array_equal(other.windows, prepared.windows)
    monkeypatch.setattr(SimulatedDataset, "listing", None)
    monkeypatch.setattr(SimulatedDataset, "read", None)
    assert same(prepare(cohort(), tmp_path, workers=1), prepared)
    assert cached(cohort(noise=0.5), tmp_path, key_listing(cohort())) is None


def test_an_interrupted_preparation_leaves_nothing_behind(dataset: CPSC2018, tmp_path: Path):
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(dataset, tmp_path / "cache", workers=1, on_progress=interrupt)
    assert list((tmp_path / "cache").iterdir()) == []
    assert len(prepare(dataset, tmp_path / "cache", workers=1).entries) == 2


def test_a_prefix_reads_only_that_part(dataset: CPSC2018, tmp_path: Path):
    whole = prepare(dataset, tmp_path / "cache", workers=1)
    part = prepare(dataset, tmp_path / "cache", workers=1, prefix=whole.entries[0].path[:-1] + "1")
    assert [entry.recording for entry in part.entries] == ["A0001"]
    assert not same(whole, part)
    with pytest.raises(DatasetError, match=r"none of 4 recordings .* 'elsewhere/'"):
        prepare(dataset, tmp_path / "cache", workers=1, prefix="elsewhere/")


def test_a_digest_is_of_whole_microvolts(make_ecg):
    signal = make_ecg().astype(np.float32)
    signal[0] = 0.0
    rounded = np.asfortranarray(np.rint(signal * 1000) / 1000)
    rounded[0] = -0.0
    assert signal_digest(rounded) == signal_digest(signal)
    assert signal_digest(-signal) != signal_digest(signal)
    changed = signal.copy()
    changed[17, 3] += 1e-3
    assert signal_digest(changed) != signal_digest(signal)
    two_leads = np.array([[0.5, -1.25], [0.0004, 2.0]], np.float32)  # of two samples, mV; one after the other
    assert signal_digest(two_leads) == hashlib.sha256(struct.pack("<4f", 500, 0, -1250, 2000)).hexdigest()[:16]


LeadsSignal = NDArray[np.float32]


def test_the_mean_error_of_four_limb_leads_may_be_a_share_of_their_size(ecg: LeadsSignal) -> None:
    noise = np.random.default_rng(1).normal(size=2000)
    limit = 2 * LARGEST_ERROR * np.linalg.norm(ecg[:, :6] - ecg[:, :6].mean(axis=0)) / 6**0.5
    for share, problem in ((0.9, ""), (1.1, LIMB_LEADS)):
        noisy = ecg.copy()
        noisy[:, 3] += (share * limit * noise / np.linalg.norm(noise)).astype(np.float32)
        assert lead_problem(noisy) == problem


@pytest.fixture
def ecg() -> LeadsSignal:
    """(2000, 12) mV: noise of three electrodes and six chest leads, with the limb leads by their definition."""
    random = np.random.default_rng(0)
    ra, la, ll, *chest = random.normal(0, 0.3, (9, 2000)) * np.linspace(1, 2, 9)[:, None]
    wilson = (ra + la + ll) / 3
    limbs = [la - ra, ll - ra, ll - la]
    augmented = [1.5 * (electrode - wilson) for electrode in (ra, la, ll)]
    return np.stack([*limbs, *augmented, *chest], axis=1).astype(np.float32)


def test_limb_leads_of_three_electrodes_are_sound_whatever_their_offsets_and_scales(ecg: LeadsSignal) -> None:
    assert lead_problem(ecg) == ""
    assert lead_problem(ecg + np.float32(300) * np.arange(12, dtype=np.float32)) == ""  # offsets of amplifiers, mV
    assert lead_problem(ecg / ecg.std(axis=0)) == ""  # scaled one by one, as some publishers do


@pytest.mark.parametrize("scaled", [False, True])
def test_leads_that_are_exchanged_inverted_or_of_another_place_break_einthoven_s_laws(
    ecg: LeadsSignal, scaled: bool
) -> None:
    ecg = ecg / ecg.std(axis=0) if scaled else ecg
    for first, second in (*combinations(range(6), 2), (0, 6), (5, 8)):
        order = np.arange(12)
        order[[first, second]] = second, first
        assert lead_problem(ecg[:, order]) == LIMB_LEADS
    for lead in range(6):
        assert lead_problem(ecg * np.where(np.arange(12) == lead, -1, 1).astype(np.float32)) == LIMB_LEADS
    assert lead_problem(ecg[:, [0, 1, 6, 7, 8, 9, 10, 11, 2, 3, 4, 5]]) == LIMB_LEADS  # I, II, V1 to V6, III, ...


@pytest.mark.parametrize(
    "change",
    [
        lambda ecg: ecg * 1.37,
        lambda ecg: np.rint(ecg * 200) / 200,
        lambda ecg: np.trunc(ecg * 100) / 100,
        lambda ecg: ecg + 0.3,
        lambda ecg: ecg[::2],
    ],
    ids=["gain", "steps of 5 uV", "cut to 10 uV", "offset", "half the rate"],
)
def test_near_copies_have_an_outline_in_common_and_other_ecgs_have_not(change: Callable[[Any], Any]) -> None:
    signals = [simulate(rhythm, seed=seed) for rhythm in ("SR", "AFIB", "SB") for seed in (1, 2)]
    outlines = [outline_of(signal) for signal in signals]
    changed = [outline_of(np.ascontiguousarray(change(signal), np.float32)) for signal in signals]
    shared = [[any(map(eq, one, other)) for other in outlines] for one in changed]
    assert np.array_equal(shared, np.eye(len(signals), dtype=bool))


def test_equal_leads_are_seen_and_equal_pairs_are_sound(ecg: LeadsSignal) -> None:
    equal = np.repeat(ecg[:, :1], 12, axis=1)
    assert lead_problem(equal) == IDENTICAL
    equal[0] = 0.0
    equal[0, 4] = FLAT_BELOW_MV  # of the coarsest signals
    assert lead_problem(equal) == IDENTICAL
    ecg[:, 7] = ecg[:, 6]
    assert lead_problem(ecg) == ""


@pytest.mark.parametrize(
    ("folder", "step"),
    [
        ("ptb-xl/records100", 40),
        ("ptb-xl/records500", 4),
        ("cpsc2018/WFDB_CPSC2018", 1),
        ("chapman/WFDB_ChapmanShaoxing", 1),
    ],
)
def test_nothing_is_said_of_real_recordings_but_for_an_exchange(shared_ecgs: Path, folder: str, step: int) -> None:
    headers = sorted((shared_ecgs / folder).rglob("*.hea"))[::step]
    signals = [read_recording(header.with_suffix("")).signal for header in headers]
    assert {lead_problem(signal) for signal in signals} == {""}
    assert {lead_problem(signal[:, [1, 0, *range(2, 12)]]) for signal in signals} == {LIMB_LEADS}
