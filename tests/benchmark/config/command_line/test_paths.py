from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from benchmark.config.command_line import paths


def test_what_is_there_or_can_be_made_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    assert paths.folder(f"{tmp_path}/new/deep") == tmp_path / "new" / "deep"
    assert paths.folder("~/new") == tmp_path / "new"
    assert paths.folder("new") == Path("new")
    assert paths.folder(f"{tmp_path}/link") == tmp_path / "link"
    assert paths.file_to_read("~/file") == tmp_path / "file"
    assert paths.file_to_write(f"{tmp_path}/file") == tmp_path / "file"
    assert paths.file_to_write(f"{tmp_path}/new/file") == tmp_path / "new" / "file"
    assert paths.results_named("runs@3f2a") == "runs@3f2a"


def test_a_device_is_no_file_to_write_for_a_rename_would_remove_it() -> None:
    with pytest.raises(ArgumentTypeError, match="'/dev/null' is a device or a pipe: name a file"):
        paths.file_to_write("/dev/null")


def test_a_path_through_a_file_or_a_dead_link_names_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(ArgumentTypeError, match=r"cannot be made: .*/file is a file, not a folder"):
        paths.folder(f"{tmp_path}/file/a/b")
    with pytest.raises(ArgumentTypeError, match="/link' is a link to nothing"):
        paths.file_to_write(f"{tmp_path}/link/a")
