"""A command line run in an empty folder, for the tests of the verbs of `data`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from run_benchmark import main


@pytest.fixture
def run_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in an empty folder: exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> tuple[int, str, str]:
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return status, out, err

    return run
