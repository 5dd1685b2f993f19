"""docs/own_arrays.ipynb: kept without outputs; every cell runs, in order, in an empty folder, and ends in intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "own_arrays.ipynb"
SECONDS = 600
"""For one cell, on a machine that others use."""


def test_it_is_kept_without_outputs() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
def test_every_cell_runs_and_the_last_shows_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "needs the extra [notebook]: pip install -c constraints.txt -e '.[notebook]'"
    nbformat, nbclient = (pytest.importorskip(name, reason=reason) for name in ("nbformat", "nbclient"))
    pytest.importorskip("ipykernel", reason=reason)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the kernel is a process of its own
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": tmp_path}}).execute()
    pairs = pd.read_csv(tmp_path / "out" / "pairwise.csv")
    compared = pairs[(pairs["dataset"] == "ours") & (pairs["first"] == "pmq") & (pairs["second"] == "moco")]
    assert set(compared["metric"]) == {"auroc", "auprc"}
    assert (compared["low"] <= compared["difference"]).all()
    assert (compared["difference"] <= compared["high"]).all()
    (shown,) = [output["data"]["text/plain"] for output in notebook.cells[-2]["outputs"]]
    assert "pmq" in shown
    assert "moco" in shown
