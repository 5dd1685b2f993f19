"""The walk of a folder: nothing that it cannot enter or follow is lost, and it ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.folder_walk import walk_folder


def test_links_to_nothing_are_counted_with_what_fetches_them(tmp_path: Path) -> None:
    (tmp_path / "r0.dat").touch()
    (tmp_path / "r1.dat").symlink_to(".git/annex/objects/k1.dat")
    (tmp_path / "r2.dat").symlink_to(".git/annex/objects/k2.dat")
    (tmp_path / "ward").symlink_to("/mnt/share/ward")
    walk = walk_folder(tmp_path)
    assert walk.paths == ["r0.dat"]
    (warning,) = walk.warnings
    assert warning.startswith("3 links to nothing (r1.dat, r2.dat, ward)")
    assert "datalad get" in warning


def test_a_link_to_its_own_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "r0.hea").touch()
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to("a")
    walk = walk_folder(tmp_path)
    assert walk.paths == ["a/r0.hea", "b/r0.hea"]
    assert ["2 links to folders that they lie in" in warning for warning in walk.warnings] == [True]


def test_folders_without_rights_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "r0.hea").touch()
    scandir = os.scandir

    def refused(path: str) -> os._ScandirIterator[str]:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)  # root may enter any folder
    walk = walk_folder(tmp_path)
    assert walk.paths == ["r0.hea"]
    assert walk.warnings[0].startswith("1 folder that cannot be entered (closed): ")


def test_a_builtin_dataset_says_what_it_could_not_follow(tmp_path: Path) -> None:
    (tmp_path / "A0001.hea").symlink_to("/gone/A0001.hea")
    with pytest.raises(DatasetError, match=r"1 link to nothing \(A0001\.hea\)"):
        CPSC2018(tmp_path).listing()
    (tmp_path / "A0002.hea").write_text("A0002 12 500 5000\n#Dx: 426783006\n")
    assert "A0001.hea" in CPSC2018(tmp_path).listing().warnings[0]
