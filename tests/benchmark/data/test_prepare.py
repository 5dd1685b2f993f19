"""Preparation and its cache: same content whatever the workers, redone when files change or the cache is damaged.

The key of the cache is a hash of all that determines the outcome; contents of files are read once per change.
Exchanged, inverted, identical and flat leads are found, and nothing in real or simulated recordings.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data import prepare as module
from benchmark.data.datasets.base import LEADS, DatasetError, Entry, Listing
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.ptb_xl import PTBXL
from benchmark.data.datasets.wfdb_files import WFDBFolder, read_recording
from benchmark.data.heartbeats import heartbeats
from benchmark.data.prepare import (
    FLAT,
    IDENTICAL,
    LAWS,
    PIPELINE_VERSION,
    STEP,
    WORTH_A_WORKER,
    Prepared,
    Signal,
    Skipped,
    cache_key,
    cached,
    contents_of,
    doubt_about,
    key_listing,
    load_prepared,
    opened,
    outcomes,
    prepare,
    signal_digest,
    skip_summary,
    write_skipped,
)
from benchmark.data.segments import HEARTBEATS, Segmentation
from benchmark.data.simulate import CohortSettings, SimulatedDataset


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
    seen: list[tuple[int, int]] = []
    prepared = prepare(
        dataset, cache, workers=1, segmentation=segmentation, on_progress=lambda *counts: seen.append(counts)
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
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
        assert prepared.signals[index] == Signal(500.0, 5000, signal_digest(recording.signal))
    assert (prepared.name, prepared.title, prepared.classes) == ("cpsc2018", "CPSC2018", CPSC2018.classes)
    slow = Skipped("A0002", "A0002", (6,), "heart rate below 50/min: median RR 375 samples at 250 Hz")
    missing = Skipped("A0004", "A0004", (8,), "file missing: signal")
    assert prepared.skipped == ((slow, missing) if beats else (missing,))
    if not beats:
        assert prepare(dataset, cache, workers=1).fingerprint != prepared.fingerprint


def test_a_warm_cache_is_read_and_no_signal_is_also_of_a_copied_or_touched_folder(
    dataset: CPSC2018, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prepare(dataset, cache, workers=1)
    monkeypatch.delattr(WFDBFolder, "read")
    copy = CPSC2018(shutil.copytree(dataset.root, tmp_path / "copy"))
    for path in dataset.root.rglob("*.*"):
        os.utime(path, (2, 2))
    for again in (copy, dataset):
        found = prepare(again, cache, workers=1)
        assert same(first, found)
        assert found.folder == first.folder
        assert cached(again, cache, again.listing()) is not None


def test_files_are_read_for_the_key_once_per_change(dataset: CPSC2018, cache: Path) -> None:
    """Four headers and three signals; new ones for `prepare`, touched ones for `cached`."""
    seen: list[tuple[int, int]] = []

    def on_reading(done: int, total: int) -> None:
        seen.append((done, total))

    listing = dataset.listing()
    assert cached(dataset, cache, listing) is None
    assert not cache.exists()  # nothing is read for an empty cache
    prepare(dataset, cache, workers=1, on_reading=on_reading)
    assert seen == [(done, 7) for done in range(8)]
    os.utime(dataset.root / "Training_WFDB" / "A0001.hea", (2, 2))
    assert cached(dataset, cache, listing, on_reading=on_reading) is not None
    assert seen[8:] == [(0, 1), (1, 1)]


def test_the_number_of_workers_changes_nothing(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = prepare(dataset, tmp_path / "one", workers=1)
    monkeypatch.setattr(module, "WORTH_A_WORKER", 1)
    monkeypatch.setattr(module, "CHUNK", 1)
    shared = prepare(dataset, tmp_path / "two", workers=2)
    assert same(alone, shared)
    assert alone.folder.name == shared.folder.name


@pytest.mark.parametrize("change", ["package", "place", "signal", "value", "label"])
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
    elif change == "place":
        dataset = CPSC2018(dataset.root / "Training_WFDB")
    elif change == "label":
        record.with_suffix(".hea").write_text(record.with_suffix(".hea").read_text().replace("Dx: AF", "Dx: PAC"))
    else:
        signal = make_ecg(rate=80 if change == "signal" else 75)
        signal[:, -1] *= -1
        write_record(record, signal, comments=["Dx: AF"], mat=True)
    after = prepare(dataset, cache, workers=1)
    assert after.folder != before.folder or change == "place"
    assert (after.fingerprint == before.fingerprint) == (change in ("package", "place"))
    assert np.array_equal(after.first_window, before.first_window) or change == "signal"


@pytest.mark.parametrize("name", ["windows.f16", "index.json", "index.sha256"])
@pytest.mark.parametrize("damage", ["cut", "gone", "folder", 0.0, 0.4, 0.999])
def test_a_damaged_cache_is_told_and_made_anew(
    dataset: CPSC2018,
    cache: Path,
    name: str,
    damage: str | float,
    flip: Callable[[Path, float], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = prepare(dataset, cache, workers=1)
    before = replace(before, windows=np.array(before.windows))
    file = before.folder / name
    content = file.read_bytes()
    if isinstance(damage, float):
        flip(file, damage)
    else:
        file.unlink()
        if damage == "cut":
            file.write_bytes(content[:-10])
        elif damage == "folder":
            file.mkdir()
    assert same(prepare(dataset, cache, workers=1), before)
    assert file.read_bytes() == content
    (line,) = caplog.messages
    wrong = {"gone": f"{name} is missing", "folder": f"{name} is a folder"}
    other = f"{'windows.f16' if name == 'windows.f16' else 'index.json'} does not match "
    assert line.startswith(f"{before.folder}: {wrong.get(str(damage), other)}")
    assert line.endswith("it is not used, and prepared again from the recordings")


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


def test_a_simulated_dataset_is_drawn_once_and_found_by_its_settings_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cohort(**settings: Any) -> SimulatedDataset:
        return SimulatedDataset("mimic-iv-ecg", CohortSettings(2, **settings))

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
    assert [path.name for path in (tmp_path / "cache").iterdir()] in ([], ["stamps"])
    assert len(prepare(dataset, tmp_path / "cache", workers=1).entries) == 2


def test_without_a_usable_recording_it_comes_out_empty_with_the_reasons(dataset: CPSC2018, tmp_path: Path):
    for name in ("A0001", "A0003"):
        (dataset.root / "Training_WFDB" / f"{name}.mat").unlink()
    for prepared in (prepare(dataset, tmp_path / "cache", workers=1) for _ in range(2)):  # made, then from the cache
        assert prepared.windows.shape == (0, 300, 12)
        assert not prepared.entries
        assert skip_summary(prepared.skipped) == {"file missing": 3, "heart rate below 50/min": 1}


class FirstTen(PTBXL):
    """PTB-XL's first ten recordings."""

    def listing(self) -> Listing:
        listing = super().listing()
        return replace(listing, entries=listing.entries[:10])


def test_real_recordings(real_ptb_xl: Path, tmp_path: Path):
    prepared = prepare(FirstTen(real_ptb_xl), tmp_path, workers=1)
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


def test_a_disk_that_keeps_half_is_told(dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def lose_the_end(unfinished: Path, folder: Path) -> Path:
        os.truncate(unfinished / "windows.f16", 1000)
        return rename(unfinished, folder)

    monkeypatch.setattr(Path, "rename", lose_the_end)
    with pytest.raises(DatasetError, match=r"^CPSC2018: .*/cache/[0-9a-f]{16} is damaged right after it was written"):
        prepare(dataset, tmp_path / "cache", workers=1)


def by_hand(prepared: Prepared) -> str:
    """The fingerprint of what a folder of the cache holds, without paths, sex, age and statements."""
    index = json.loads((prepared.folder / "index.json").read_bytes())
    hashed = {name: index[name] for name in ("name", "classes", "segmentation", "first_window", "first_label_counts")}
    for part, told in (("entries", ("path", "sex", "age", "statements")), ("skipped", ("statements",))):
        hashed[part] = [{name: value for name, value in one.items() if name not in told} for one in index[part]]
    content = json.dumps([index["windows_sha256"], hashed], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def test_statements_are_kept_and_are_in_no_fingerprint(tmp_path: Path) -> None:
    prepared = prepare(SimulatedDataset("ptb-xl", CohortSettings(6)), tmp_path, workers=1)
    assert all(entry.statements for entry in prepared.entries)
    assert prepared.fingerprint == by_hand(prepared)


@pytest.mark.parametrize("first", [True, False])
def test_the_rule_of_the_first_label_is_in_the_fingerprint(
    dataset: CPSC2018, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    monkeypatch.setattr(CPSC2018, "first_label_counts", first)
    prepared = prepare(dataset, tmp_path / "cache", workers=1)
    assert prepared.fingerprint == by_hand(prepared)
    assert prepared.first_label_counts == first


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


def test_a_digest_is_that_of_the_leads_one_after_the_other() -> None:
    signal = np.array([[0.5, -1.25], [0.0004, 2.0]], np.float32)  # two leads of two samples, mV
    microvolts = struct.pack("<4f", 500, 0, -1250, 2000)
    assert signal_digest(signal) == hashlib.sha256(microvolts).hexdigest()[:16]


@pytest.mark.parametrize(
    ("recordings", "workers", "processes"),
    [(WORTH_A_WORKER - 1, 4, 0), (2 * WORTH_A_WORKER, 4, 2), (4 * WORTH_A_WORKER, 3, 3)],
)
def test_a_process_is_started_where_it_is_worth_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recordings: int, workers: int, processes: int
) -> None:
    def shared_map(work: object, chunks: Iterable[Sequence[Entry]], asked: int) -> Iterator[Any]:
        assert asked == processes
        yield from chunks

    monkeypatch.setattr(module, "shared_map", shared_map)
    entries = [Entry(f"r{number}", "p", "") for number in range(recordings)]
    assert list(outcomes(CPSC2018(tmp_path), entries, HEARTBEATS, workers)) == entries


VERSIONS = {"numpy": "1", "scipy": "2", "wfdb": "3", "pandas": "4"}
LISTING = Listing(
    (Entry("r1", "p", "r1", (1,), fold=2), Entry("r2", "q", "r2")),
    (("r3", "not listed"),),
    "a form",
    ("other",),
    ("w",),
)


class Own(CPSC2018):
    """A file per recording."""

    name: ClassVar[str] = "own"

    def files(self, entry: Entry) -> tuple[Path, ...]:
        return (self.root / f"{entry.path}.dat",)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    monkeypatch.setattr(module, "version", VERSIONS.__getitem__)
    (tmp_path / "own").mkdir()
    for name in ("r1", "r2"):
        (tmp_path / "own" / f"{name}.dat").write_text(f"signal of {name}")
    return Own(tmp_path / "own")


def key_by_hand(dataset: Own, about: list[Any], stated: list[dict[str, Any]]) -> str:
    """The hash of what is said of a dataset, then of each entry with its file's name and content."""
    content = json.dumps(about)
    for entry in stated:
        file = dataset.root / f"{entry['path']}.dat"
        content += json.dumps([entry, [(file.name, hashlib.sha256(file.read_bytes()).hexdigest())]])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def test_it_is_a_hash_of_tables_files_versions_and_segmentation(own: Own, tmp_path: Path) -> None:
    versions = {"pipeline": PIPELINE_VERSION, **VERSIONS}
    about = ["own", "a form", [["r3", "not listed"]], ["w"], versions, asdict(HEARTBEATS)]
    stating = replace(LISTING, entries=tuple(replace(entry, statements=("s",)) for entry in LISTING.entries))
    for listing in (LISTING, replace(LISTING, reading="of a card"), stating):
        stated = [asdict(entry) for entry in listing.entries]
        assert cache_key(own, listing, HEARTBEATS, tmp_path) == key_by_hand(own, [*about, listing.reading], stated)


@pytest.mark.parametrize("other", [Segmentation(raw=True), CROPS, Segmentation(rate=500)])
def test_another_segmentation_has_another_key(own: Own, tmp_path: Path, other: Segmentation) -> None:
    assert cache_key(own, LISTING, other, tmp_path) != cache_key(own, LISTING, HEARTBEATS, tmp_path)


class Folder:
    """Three files of long ago, and how many of them were read."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        root.mkdir()
        self.files = [root / name for name in "abc"]
        for path in self.files:
            self.write(path, f"content of {path.name}")

    def write(self, path: Path, text: str, seconds: int = 1) -> None:
        path.write_text(text)
        os.utime(path, (seconds, seconds))

    def look(self) -> tuple[dict[str, str | None], int]:
        """Contents by name, and the number of files that were read."""
        heard: list[tuple[int, int]] = []
        found = contents_of("x", self.root, self.files, self.cache, on_reading=lambda *counts: heard.append(counts))
        assert [done for done, _ in heard] == list(range(len(heard)))
        return {path.name: content for path, content in found.items()}, heard[-1][1] if heard else 0

    def truth(self) -> dict[str, str | None]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.files}

    @property
    def stamps(self) -> Path:
        (file,) = (self.cache / "stamps").iterdir()
        return file


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "data", tmp_path / "cache")


@pytest.mark.parametrize("change", ["size", "time", "inode"])
def test_a_changed_file_alone_is_read_again(folder: Folder, change: str) -> None:
    folder.look()
    path = folder.files[1]
    if change == "inode":
        path.rename(path.with_name("old"))
    folder.write(path, "b of content" if change != "size" else "longer content of b", 2 if change == "time" else 1)
    assert folder.look() == (folder.truth(), 1)


@pytest.mark.parametrize(("age_ns", "read"), [(2_000_000_000, 1), (2_000_000_001, 0)])
def test_a_file_is_vouched_for_once_it_is_older_than_two_seconds(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, age_ns: int, read: int
) -> None:
    """The coarsest file systems count in steps of two seconds."""
    changed = folder.files[0].stat().st_mtime_ns
    for path in folder.files[1:]:
        os.utime(path, ns=(0, 0))
    monkeypatch.setattr(module.time, "time_ns", lambda: changed + age_ns)
    folder.look()
    assert folder.look() == (folder.truth(), read)


def test_an_interrupted_reading_keeps_what_was_read(folder: Folder) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        contents_of("x", folder.root, folder.files, folder.cache, on_reading=interrupt)
    assert folder.look() == (folder.truth(), 1)


SLOW = [Skipped(f"r{n}", "p", (1,), f"heart rate below 50/min: median RR {n} samples") for n in (313, 402)]
ZERO = Skipped("r,1", "q", (), "all samples zero")


def test_kinds_are_counted_the_most_frequent_first():
    assert list(skip_summary([ZERO, *SLOW]).items()) == [("heart rate below 50/min", 2), ("all samples zero", 1)]
    assert skip_summary([]) == {}


def test_every_dataset_has_its_lines(tmp_path: Path):
    write_skipped({"ptb-xl": SLOW[:1], "chapman": [], "cpsc2018": [ZERO]}, tmp_path / "out" / "skipped.csv")
    assert (tmp_path / "out" / "skipped.csv").read_text() == (
        "dataset,recording,patient,reason\n"
        "ptb-xl,r313,p,heart rate below 50/min: median RR 313 samples\n"
        'cpsc2018,"r,1",q,all samples zero\n'
    )


MakePrepared = Callable[..., Prepared]
WINDOWS = np.arange(3 * 4 * 12, dtype=np.float16).reshape(3, 4, 12)
INDEX: dict[str, Any] = {
    "name": "own",
    "title": "Own",
    "classes": ["a", "b"],
    "form": "wfdb",
    "simulated": True,
    "segmentation": {"kind": "heartbeats", "samples": 4, "rate": 100},
    "first_window": [0, 1, 3],
    "entries": [
        {"recording": "r1", "patient": "p", "path": "x/r1", "labels": [1, 0], "statements": ["s"]},
        {
            "recording": "r2",
            "patient": "q",
            "path": "x/r2",
            "labels": [],
            "statements": [],
            "report": "fine",
            "fold": 3,
        },
    ],
    "signals": [[500.0, 5000, "0123", "lead inverted: II"], [100.0, 1000, "4567"]],
    "skipped": [{"recording": "r3", "patient": "p", "labels": [1], "reason": "too short: 1 s", "statements": ["t"]}],
    "fingerprint": "0123456789abcdef",
    "others": ["csv"],
    "warnings": ["a column is odd"],
    "first_label_counts": True,
    "how_to_get": "Ask.",
    "format": 6,
}


def kept(folder: Path, **changed: Any) -> Path:
    """A folder of the cache with these windows and this index."""
    folder.mkdir()
    (folder / "windows.f16").write_bytes(WINDOWS.tobytes())
    index = INDEX | {"key": folder.name, "windows_sha256": hashlib.sha256(WINDOWS.tobytes()).hexdigest()} | changed
    content = json.dumps(index).encode()
    (folder / "index.json").write_bytes(content)
    (folder / "index.sha256").write_text(hashlib.sha256(content).hexdigest())
    return folder


@pytest.mark.parametrize("number", [None, 5, 7])
def test_an_index_of_another_format_is_none_and_no_damage(
    tmp_path: Path, number: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert load_prepared(kept(tmp_path / "key", format=number)) is None
    assert load_prepared(tmp_path / "no folder") is None
    assert caplog.messages == []


def test_a_folder_is_opened_once_per_process_and_one_that_is_gone_says_so(tmp_path: Path) -> None:
    folder = kept(tmp_path / "key")
    assert opened(folder) is opened(folder)
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path / 'gone'} are gone or damaged; the same command makes"):
        opened(tmp_path / "gone")


def test_windows_are_counted_over_all_recordings(make_prepared: MakePrepared) -> None:
    beats = make_prepared("ptb-xl", [("a", (0,), 3, 1), ("b", (1,), 1, 2), ("c", (2,), 4, 3)])
    assert beats.window_count == 8
    assert beats.trials_of_each(2).tolist() == [1, 0, 2]
    crops = replace(beats, segmentation=Segmentation("recordings", 2, 100, 1), first_window=np.array([0, 3, 4, 8]))
    assert crops.window_count == 2 + 0 + 3


LeadsSignal = NDArray[np.float32]


@pytest.fixture
def ecg() -> LeadsSignal:
    """(2000, 12) mV: noise of three electrodes and six chest leads, with the limb leads by their definition."""
    random = np.random.default_rng(0)
    right, left, foot, *chest = random.normal(0, 0.3, (9, 2000)) * np.linspace(1, 2, 9)[:, None]
    wilson = (right + left + foot) / 3
    limbs = [left - right, foot - right, foot - left]
    augmented = [1.5 * (electrode - wilson) for electrode in (right, left, foot)]
    return np.stack([*limbs, *augmented, *chest], axis=1).astype(np.float32)


def test_the_laws_hold_for_leads_between_electrodes(ecg: LeadsSignal) -> None:
    assert np.abs(ecg @ LAWS.T).max() < 1e-6
    assert doubt_about(ecg) == ""
    assert doubt_about(ecg + np.linspace(-2, 2, 12, dtype=np.float32)) == ""  # offsets of amplifiers


def test_an_exchange_with_a_limb_lead_and_an_inverted_one_are_named(ecg: LeadsSignal) -> None:
    for first, second in (*combinations(range(6), 2), (0, 6), (1, 11), (5, 8)):
        exchanged = ecg.copy()
        exchanged[:, [first, second]] = ecg[:, [second, first]]
        assert doubt_about(exchanged) == f"leads exchanged: {LEADS[first]} and {LEADS[second]}"
    for lead in range(6):
        inverted = ecg.copy()
        inverted[:, lead] *= -1
        assert doubt_about(inverted) == f"lead inverted: {LEADS[lead]}"


def test_leads_that_break_the_laws_otherwise_are_not_called_exchanged(ecg: LeadsSignal) -> None:
    assert doubt_about(ecg / ecg.std(axis=0)) == ""  # scaled one by one, as some publishers do
    ecg[:, 1] = ecg[::-1, 7]
    assert doubt_about(ecg) == ""


def test_equal_leads_are_told_and_equal_pairs_are_not(ecg: LeadsSignal) -> None:
    equal = np.repeat(ecg[:, :1], 12, axis=1)
    assert doubt_about(equal) == IDENTICAL
    equal[0] = 0.0
    equal[0, 4] = STEP  # of the coarsest signals
    assert doubt_about(equal) == IDENTICAL
    ecg[:, 7] = ecg[:, 6]
    assert doubt_about(ecg) == ""


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("share", "told"), [(0.045, "leads exchanged: I and III"), (0.055, "")])
def test_an_exchange_is_told_where_its_repair_leaves_less_than_a_twentieth(
    ecg: LeadsSignal, size: float, share: float, told: str
) -> None:
    """Noise in aVF alone breaks one law of four: their root mean square is half of it."""
    limbs = np.sqrt(np.square(ecg[:, :6] - ecg[:, :6].mean(axis=0)).mean())
    noise = np.random.default_rng(1).normal(size=len(ecg))
    noise = (noise - noise.mean()) / noise.std()
    ecg[:, 5] += 2 * share * limbs * noise
    ecg[:, [0, 2]] = ecg[:, [2, 0]]
    assert doubt_about(size * ecg) == told


def test_an_amplifier_s_offset_is_no_broken_law(ecg: LeadsSignal) -> None:
    """300 mV, as far as amplifiers go, in a recording of ten minutes at 500 Hz: their sum needs double precision."""
    long = np.tile(ecg, (150, 1))
    long[:, [0, 1]] = long[:, [1, 0]]
    assert doubt_about(long + np.float32(300) * np.arange(12, dtype=np.float32)) == "leads exchanged: I and II"


@pytest.mark.parametrize("level", [0.0, -1.5])
def test_six_flat_leads_are_told_and_five_are_not(ecg: LeadsSignal, level: float) -> None:
    ecg[:, 6:11] = level
    assert doubt_about(ecg) == ""
    ecg[:, 0] = level
    assert doubt_about(ecg) == FLAT


def test_nothing_is_said_of_the_simulated_cohorts(cohorts: dict[str, Prepared]) -> None:
    doubts = {signal.doubt for prepared in cohorts.values() for signal in prepared.signals}
    assert doubts == {""}


@pytest.mark.parametrize(
    ("folder", "step"),
    [
        ("ptb-xl/records100", 20),
        ("ptb-xl/records500", 4),
        ("cpsc2018/Training_WFDB", 4),
        ("cpsc2018/WFDB_CPSC2018", 1),
        ("chapman/ecg-arrhythmia-1.0.0", 1),
        ("chapman/WFDB_ChapmanShaoxing", 1),
    ],
)
def test_nothing_is_said_of_real_recordings_but_for_an_exchange(shared_ecgs: Path, folder: str, step: int) -> None:
    headers = sorted((shared_ecgs / folder).rglob("*.hea"))[::step]
    signals = [read_recording(header.with_suffix("")).signal for header in headers]
    assert {doubt_about(signal) for signal in signals} == {""}
    lawful = [signal for signal in signals if np.abs(signal @ LAWS.T).max() < 0.02]  # mV; others were scaled by lead
    assert lawful
    for signal in lawful:
        signal[:, [0, 1]] = signal[:, [1, 0]]
    assert {doubt_about(signal) for signal in lawful} == {"leads exchanged: I and II"}
