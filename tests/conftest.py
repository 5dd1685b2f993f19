"""Where tests find the shared reference numbers and real ECGs; they skip with a reason where those are absent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SHARED = Path(os.environ.get("ECG_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))


def _folder(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"{name}/ is not beside this checkout (set ECG_SHARED to the folder that holds it)")
    return folder


@pytest.fixture(autouse=True)
def no_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of this process draw no figures, which take most of their time, unless a test is marked `draws`."""
    if request.node.get_closest_marker("draws"):
        return
    figures = ModuleType("reports.figures")
    figures.draw_figures = lambda *_: []  # type: ignore[attr-defined]
    sweeps = ModuleType("reports.sweeps")
    sweeps.draw_swept = lambda *_: []  # type: ignore[attr-defined]
    for module in (figures, sweeps):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture(scope="session")
def shared_reference() -> Path:
    """Numbers from the official functions of the compared methods."""
    return _folder("reference")


@pytest.fixture(scope="session")
def shared_ecgs() -> Path:
    """Real recordings of PTB-XL, Chapman, CPSC2018 and a MIMIC-IV-ECG header."""
    return _folder("ecg-samples")


@pytest.fixture(scope="session")
def real_ptb_xl(shared_ecgs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings of PTB-XL with the table that has all codes of each."""
    folder = tmp_path_factory.mktemp("ptb-xl")
    for name in ("records100", "records500"):
        (folder / name).symlink_to(shared_ecgs / "ptb-xl" / name)
    (folder / "ptbxl_database.csv").symlink_to(shared_ecgs / "ptb-xl" / "ptbxl_database_full.csv")
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 384 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=384k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("a disk can be mounted by root alone")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
