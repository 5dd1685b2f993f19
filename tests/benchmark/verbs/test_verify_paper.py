"""The verb `verify-paper` with its flags: the paper's verdict on the console and in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from run_benchmark import main


def test_the_paper_is_checked_without_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["verify-paper", "--results", str(tmp_path / "nothing"), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "39 of 39" in shown
    assert shown.endswith(f"\nwrote {out / 'verify-paper.md'}\n")
    assert f"no results in {tmp_path / 'nothing'}" in (out / "verify-paper.md").read_text()
