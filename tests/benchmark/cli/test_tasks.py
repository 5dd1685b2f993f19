"""Tasks from the command line: a column each, prepared once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmark.cli.main import OK
from benchmark.results.names import SUPERVISED
from benchmark.results.store import Row, Store
from run_benchmark import main

SMALL = "--evaluate linear --seeds 41 --device cpu --workers 1 --jobs 1"


def rows_of(folder: Path) -> list[Row]:
    """The rows of a run in a folder."""
    store = Store(folder / "runs")
    return [row for path in store.cells.glob("*.json") if (row := store.load_row(path.stem))]


@pytest.fixture
def real(real_ptb_xl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every sixth recording of the real sample, and the flags that find it."""
    folder = tmp_path / "ptb-xl"
    folder.mkdir()
    (folder / "records100").symlink_to(real_ptb_xl / "records100")
    pd.read_csv(real_ptb_xl / "ptbxl_database.csv", dtype=str).iloc[::6].to_csv(
        folder / "ptbxl_database.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    return ["--datasets", "ptb-xl", "--pretrain-dataset", "ptb-xl", "--data", f"ptb-xl={folder}"]


@pytest.mark.slow
def test_real_recordings_under_two_tasks(real: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = "--set encoder.hidden=4 encoder.depth=2 encoder.output=8 linear.strengths=[1.0]"
    grid = f"--tasks superdiagnostic rhythm --methods random --baselines none --ratios 0.5 {SMALL} {sizes}"
    assert main([*real, *grid.split()]) == OK, capsys.readouterr()
    assert len(list(tmp_path.glob("cache/*/index.safetensors"))) == 1
    rows = {row.dataset: row for row in rows_of(tmp_path)}
    assert set(rows) == {"ptb-xl.superdiagnostic", "ptb-xl.rhythm"}
    assert {row.labels for row in rows.values()} == {"multi"}
    assert all(row.scores["recording"]["auroc"] > 0 for row in rows.values())
    assert any(note.startswith("no test window of class ") for note in rows["ptb-xl.rhythm"].notes)
    tables = (tmp_path / "out" / "results.md").read_text()
    assert "PTB-XL superdiagnostic" in tables
    assert "no test window of class " in (tmp_path / "out" / "cells.csv").read_text()


@pytest.mark.slow
def test_supervised_rows_of_the_ptb_xl_benchmark_on_real_recordings(real: list[str], tmp_path: Path) -> None:
    grid = f"--config ptbxl-benchmark --tasks superdiagnostic --baselines supervised {SMALL} --set supervised.epochs=1"
    assert main([*grid.split(), *real]) == OK
    rows = [row for row in rows_of(tmp_path) if row.evaluation == SUPERVISED]
    assert {row.variant for row in rows} == {"supervised", "supervised+resnet1d"}
    assert all(row.training["best_epoch"] == 1 for row in rows)
    assert all(row.scores["recording"]["auroc"] is not None for row in rows)
    assert "ecg-fm-benchmarking-2026" in (tmp_path / "out" / "results.md").read_text()
