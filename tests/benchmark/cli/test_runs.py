"""The runs of a store are listed with their command lines, and what no run needs is named, then removed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.cli.main import OK, USAGE
from benchmark.results.store import Store
from run_benchmark import main
from tests.benchmark.run.bench import Bench

OTHER = "0123456789abcdef"


@pytest.fixture
def two_runs(finished_bench: Bench, tmp_path: Path) -> Store:
    """The finished run, a later one of its first cell alone, and prepared data, of which the later run uses one."""
    store = Store(shutil.copytree(finished_bench.store.root, tmp_path / "runs"))
    plan = store.load_plan()
    for folder in (OTHER, "f" * 16):
        (tmp_path / "cache" / folder).mkdir(parents=True)
    (tmp_path / "cache" / "notes").mkdir()
    folders = [OTHER, *(path.name for path in store.pretrained.glob("*"))]
    store.save_plan(replace(plan, folders=folders, command="run --config 'my own.yaml'"))
    store.save_plan(replace(plan, key=OTHER, cells=plan.cells[:1], folders=folders[:2], command="run --jobs 2"))
    return store


def files_in(store: Store) -> set[str]:
    return {str(path.relative_to(store.root.parent)) for path in store.root.parent.rglob("*") if path.name != ".lock"}


def test_runs_are_listed_the_latest_first_with_what_is_done(
    two_runs: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "--results", str(two_runs.root)]) == OK
    later, first = capsys.readouterr().out.splitlines()
    assert f"  {OTHER}  3 rows, 1 of 1 cells done, " in later
    assert later.endswith(": python run_benchmark.py run --jobs 2")
    assert first.endswith("run --config 'my own.yaml'")
    assert "10 of 10 cells done" in first


def test_clean_removes_what_no_run_needs(two_runs: Store, tmp_path: Path) -> None:
    flags = ["--results", str(two_runs.root), "--cache", str(tmp_path / "cache")]
    first = two_runs.plan_keys()[1]
    before, later = files_in(two_runs), two_runs.load_plan()
    assert main(["clean", *flags, "--dry-run"]) == OK
    assert files_in(two_runs) == before
    assert main(["clean", *flags]) == OK
    assert before - files_in(two_runs) == {f"cache/{'f' * 16}"}
    assert main(["clean", OTHER, *flags]) == USAGE, "the latest run cannot be forgotten"
    assert main(["clean", first, *flags]) == OK
    assert {path.name.partition(".")[0] for path in two_runs.cells.iterdir()} == {later.cells[0].key}
    assert {path.name for path in two_runs.pretrained.iterdir()} == {later.folders[1]}
    assert two_runs.plan_keys() == [OTHER]
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {OTHER, "notes"}
