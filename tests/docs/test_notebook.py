"""docs/own_arrays.ipynb: kept without outputs; every cell runs, in order, in an empty folder, and ends in a verdict."""

from __future__ import annotations

import json
from pathlib import Path

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
def test_every_cell_runs_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "needs the extra [notebook]: pip install -c constraints.txt -e '.[notebook]'"
    nbformat, nbclient = (pytest.importorskip(name, reason=reason) for name in ("nbformat", "nbclient"))
    pytest.importorskip("ipykernel", reason=reason)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the kernel is a process of its own
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": tmp_path}}).execute()
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text", "") + str(output.get("data", {}).get("text/plain", "")))
    printed = "\n".join(texts)
    assert "warning" not in printed.lower()
    assert "\x1b" not in printed, "the stream of a kernel is no terminal"
    assert "FAILED" not in printed
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    assert "Pull" in texts[-1]
