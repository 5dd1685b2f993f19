"""The key of a dataset's cache: a hash of all that determines the outcome, the same for caches of earlier versions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmark.data.prepared import cache_key as module
from benchmark.data.prepared.cache_key import PIPELINE_VERSION, cache_key
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation
from benchmark.data.readers.base import Entry, Listing
from benchmark.data.readers.cpsc2018 import CPSC2018

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
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    monkeypatch.setattr(module, "version", VERSIONS.__getitem__)
    (tmp_path / "own").mkdir()
    for name in ("r1", "r2"):
        (tmp_path / "own" / f"{name}.dat").write_text(f"signal of {name}")
    return Own(tmp_path / "own")


def by_hand(dataset: Own, about: list[Any], stated: list[dict[str, Any]]) -> str:
    """The hash of what is said of a dataset, then of each entry with its file's name and content."""
    content = json.dumps(about)
    for entry in stated:
        file = dataset.root / f"{entry['path']}.dat"
        content += json.dumps([entry, [(file.name, hashlib.sha256(file.read_bytes()).hexdigest())]])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def test_it_is_a_hash_of_tables_files_versions_and_segmentation(dataset: Own, tmp_path: Path) -> None:
    versions = {"pipeline": PIPELINE_VERSION, **VERSIONS}
    cut = {"kind": "heartbeats", "samples": 300}
    about = ["own", "a form", [["r3", "not listed"]], ["w"], versions, cut]
    stated = [asdict(entry) for entry in LISTING.entries]
    for entry in stated:
        del entry["statements"]  # which earlier versions did not know
    assert cache_key(dataset, LISTING, HEARTBEATS, tmp_path) == by_hand(dataset, about, stated)
    read_as = replace(LISTING, reading="of a card")
    assert cache_key(dataset, read_as, HEARTBEATS, tmp_path) == by_hand(dataset, [*about, "of a card"], stated)
    telling = replace(LISTING, entries=tuple(replace(entry, statements=("s",)) for entry in LISTING.entries))
    stated = [asdict(entry) for entry in telling.entries]
    assert cache_key(dataset, telling, HEARTBEATS, tmp_path) == by_hand(dataset, about, stated)


@pytest.mark.parametrize("other", [Segmentation(raw=True), Segmentation("windows"), Segmentation(rate=500)])
def test_another_segmentation_has_another_key(dataset: Own, tmp_path: Path, other: Segmentation) -> None:
    assert cache_key(dataset, LISTING, other, tmp_path) != cache_key(dataset, LISTING, HEARTBEATS, tmp_path)


def test_without_reading_no_file_is_read_and_reading_is_counted(dataset: Own, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def on_reading(done: int, total: int) -> None:
        told.append((done, total))

    unread = cache_key(dataset, LISTING, HEARTBEATS, tmp_path, read=False, on_reading=on_reading)
    assert told == []
    read = cache_key(dataset, LISTING, HEARTBEATS, tmp_path, on_reading=on_reading)
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert unread != read


@pytest.mark.parametrize("package", VERSIONS)
def test_another_version_of_a_package_has_another_key(
    dataset: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    before = cache_key(dataset, LISTING, HEARTBEATS, tmp_path)
    monkeypatch.setattr(module, "version", (VERSIONS | {package: "0.0"}).__getitem__)
    assert cache_key(dataset, LISTING, HEARTBEATS, tmp_path) != before
