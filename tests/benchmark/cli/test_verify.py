"""Rows of another group, from their archive to cells that are computed again here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark.results.store import Store
from reports import load
from run_benchmark import main
from tests.basic import TINY

COMMAND = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs", "1"]


@pytest.mark.slow
def test_a_row_of_an_archive_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(TINY)
    assert main([*COMMAND, "--methods", "random"]) == 0
    assert main([*COMMAND, "--methods", "pmq", "--results", "theirs", "--out", "theirs/out"]) == 0
    assert main(["report", "--results", "theirs", "--archive", "theirs.zip", "--out", "theirs/out"]) == 0
    assert main(["report", "--results", "theirs", "--archive", "weights.zip", "--weights", "--out", "theirs/out"]) == 0
    capsys.readouterr()
    for archive, encoders, how in (("theirs.zip", "1 of 1", ""), ("weights.zip", "0 of 1", " from its weights")):
        out = Path(archive).stem
        assert main(["report", "--results", "runs", archive, "--verify", "--out", out]) == 0
        shown = capsys.readouterr().out
        assert f"to do: 1 of 1 cells, {encoders} pretrainings\n" in shown
        assert re.search("estimate for cpu in float32.*: pretraining ", shown)
        assert f"PMQ (re-run{how}: 1 cell within 0.0 points)" in Path(out, "results.md").read_text()
    results = load(["runs", "theirs.zip"]).verify(again="theirs/again")
    assert set(results.marks.values()) == {"re-run: 1 cell within 0.0 points"}
    assert len(Store(Path("theirs/again")).load_plan().cells) == 1
