"""Room on the disk, and bytes as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.download import space
from benchmark.data.download.space import check_room, disk_of, free_bytes, shown_bytes
from benchmark.data.readers.errors import DatasetError


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *[(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (120_610, "121 kB"), (999_600, "1.0 MB"), (3_400_000, "3.4 MB")],
        *[(99_960_000, "100 MB"), (96_900_000_000, "96.9 GB"), (2 * 10**15, "2000 TB")],
    ],
)
def test_bytes_as_text(count: int, text: str) -> None:
    assert shown_bytes(count) == text


def test_a_folder_that_is_not_there_yet_has_the_room_of_those_above_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "deeper"
    assert free_bytes(folder) > 0
    assert disk_of(folder) == tmp_path.stat().st_dev
    check_room(folder, 0, "nothing")
    with pytest.raises(
        DatasetError, match=r"^all of it takes 2000 TB more and .*deeper has room for .*: free space or"
    ):
        check_room(folder, 2 * 10**15, "all of it")


def test_a_download_that_just_fits_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "free_bytes", lambda folder: 5000)
    check_room(tmp_path, 5000, "all of it")
    with pytest.raises(DatasetError, match="has room for 5 kB"):
        check_room(tmp_path, 5001, "all of it")
