"""`python -m reports` on several sources: files on stdout, what must be said on stderr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.store import CorruptRow, NoResults, Plan
from reports.__main__ import main
from reports.runs import FOLDER

WriteStore = Callable[..., Path]
FEW = 4


def few_cells(plan: Plan) -> Plan:
    return replace(plan, cells=plan.cells[:FEW])


def contents(out: Path) -> dict[str, bytes]:
    """All files of a report but the values kept for the next one."""
    files = (file for file in out.rglob("*") if file.is_file() and FOLDER not in file.parts)
    return {str(file.relative_to(out)): file.read_bytes() for file in files}


def test_stores_are_put_together_packed_and_reported_alike(
    write_store: WriteStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = [str(write_store(name, complete=True, alter_plan=few_cells)) for name in ("one", "two")]
    capsule = str(tmp_path / "both.zip")
    assert main(["--results", *stores, "--out", str(tmp_path / "a"), "--capsule", capsule]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == capsule
    assert shown.err.splitlines()[0] == f"put together: {stores[0]}@plan-of-the-test, {stores[1]}@plan-of-the-test"
    assert main(["--results", capsule, "--out", str(tmp_path / "b")]) == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_two_runs_are_compared(write_store: WriteStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(write_store())
    assert main(["--compare", root, f"{root}@plan-of-the-test", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "out" / name) for name in ("compare.md", "compare.csv")]


@pytest.mark.parametrize("flags", [["--capsule", "x.zip"], ["--unit", "both"]])
def test_a_comparison_takes_no_capsule_and_one_unit(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--compare", "a", "b", *flags])
    assert "--compare takes neither --capsule, --scores nor --unit both" in capsys.readouterr().err


def test_a_bad_capsule_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.zip").write_text("no zip")
    assert main(["--results", str(tmp_path / "bad.zip"), "--out", str(tmp_path / "out")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "bad.zip is no whole results capsule" in line


@pytest.mark.parametrize("error", [MemoryError(), CorruptRow("cells/x.npz: \x1b damaged"), NoResults("none")])
def test_what_cannot_be_read_is_one_line(
    error: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("reports.__main__.open_results", fail)
    assert main(["--results", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line in ("out of memory", "cells/x.npz: ? damaged", "none")
