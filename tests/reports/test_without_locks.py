"""A system without file locks, as Windows: results are read and compared there, and a run is refused in one line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.docs.pages import PREDICTIONS
from tests.reports.conftest import Scatter, simulated_predictions

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import os, signal, sys
sys.modules |= {"fcntl": None, "resource": None}
for name in ("SIGALRM", "alarm", "pthread_sigmask"):
    delattr(signal, name)
from run_benchmark import main
sys.exit(main())
"""
RUN = ["--methods", "random", "--set", "data.simulation.patients.chapman=9", "--datasets", "chapman"]


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command line in an empty folder on such a system."""

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}){WITHOUT}", *words]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.slow
def test_a_store_is_reported_without_locks(
    command: Callable[..., subprocess.CompletedProcess[str]], write_predictions: Callable[..., Path], tmp_path: Path
) -> None:
    simulated = simulated_predictions(np.random.default_rng(5), methods=2, seeds=2, patients=20, scatter=Scatter())
    root = write_predictions({(("random", "pmq")[m], "ptb-xl", 0.1, seed): one for (m, seed), one in simulated.items()})
    assert command("report", "--results", root).returncode == 0
    assert (tmp_path / "out" / "report.html").is_file()
    (tmp_path / "theirs.csv").write_text(PREDICTIONS)
    assert command("report", "--predictions", "theirs.csv").returncode == 0
    assert (tmp_path / "out" / "second-opinion" / "results.md").is_file()


def test_a_run_without_locks_is_refused_in_one_line(
    command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    refused = command(*RUN)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert line.startswith("error: runs/.lock: ")
    assert not (tmp_path / "cache").exists()
